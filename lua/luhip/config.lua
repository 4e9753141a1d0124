--- Settings: files, the environment and what the script sets, and where log lines go.
--
--    luhip.config { timeout = 5000, log = { compile = "full" } }
--    luhip.config "timeout" -- 5000
--
-- The table of settings and their values are the core's (src/base/settings.h), which reads the environment. Here are
-- the two files: $XDG_CONFIG_HOME/luhip/config.lua, and the nearest luhip.conf.lua from the working directory upwards.
-- Each holds one table constructor and is read when luhip is first used. It is text for us, not a program: nothing is
-- there to be called, and the steps and the memory that evaluating it may take are limited.
-- Dependencies: luhip.core.
-- @module luhip.config

local core = require "luhip.core"
local errors = require "luhip.errors"
local nearest = require "luhip.nearest"

local config = {}

local MOST_STEPS = 100000
local MOST_KILOBYTES = 16 * 1024

-- ---- the table of settings -------------------------------------------------------------------------------------

local settings = core.settings()
local by_key, keys, sections = {}, {}, {}
for i, setting in ipairs(settings) do
  setting.index = i
  by_key[setting.key] = setting
  keys[i] = setting.key
  local section = setting.key:match "^(.*)%."
  if section then
    sections[section] = true
  end
end

--- The table of settings: a list of { key, variable, type, standard, meaning, own }.
config.settings = settings

local function fail(where, format, ...)
  errors.raise("config", "%s %s", where, format:format(...))
end

local function unknown(where, key)
  local known = table.move(keys, 1, #keys, 1, {})
  for section in pairs(sections) do
    known[#known + 1] = section
  end
  local near = nearest(key, known)
  if near then
    fail(where, "is no setting; did you mean '%s'?", near)
  end
  fail(where, "is no setting; `luhip doctor` lists them")
end

-- ---- values ------------------------------------------------------------------------------------------------------

-- What each type of setting takes in Lua; the core looks at the value itself.
local WANTED = {
  text = "a string",
  path = "a string",
  sink = "a string, or in a script a function",
  level = '"off", "basic" or "full"',
  word = "a string",
  switch = "true or false",
  count = "a whole number",
  milliseconds = "a whole number of milliseconds",
  size = 'a number of bytes, or a string such as "4G"',
}

local function whole(value)
  local number = math.type(value) and math.tointeger(value)
  return number and ("%d"):format(number)
end

local TEXT = {
  switch = function(value)
    return type(value) == "boolean" and (value and "on" or "off") or nil
  end,
  count = whole,
  milliseconds = whole,
  size = function(value)
    return whole(value) or (type(value) == "string" and value ~= "" and value or nil)
  end,
}

local function text_of(setting, value, where)
  local convert = TEXT[setting.type]
  local text
  if convert then
    text = convert(value)
  elseif type(value) == "string" then
    text = value
  end
  if not text then
    local shown = type(value) == "number" and tostring(value) or ("a %s"):format(type(value))
    fail(where, "is %s; %s is wanted", shown, WANTED[setting.type])
  elseif text:find "\0" then
    fail(where, "holds a zero byte")
  end
  return text
end

-- Flattens { cpu = { threads = 4 } } into a list of { setting, text, where }. A function as log.sink is taken as it is.
-- `seen` holds the keys that were there: { cpu = { threads = 4 }, ["cpu.threads"] = 5 } says two things.
local function flatten(values, prefix, source, into, scripted, seen)
  for key, value in pairs(values) do
    local name = prefix .. tostring(key)
    local where = source and ("%s: %s"):format(source, name) or ("setting '%s'"):format(name)
    local setting = by_key[name]
    if type(key) ~= "string" then
      fail(where, "is no setting: keys are names such as 'timeout'")
    elseif sections[name] then
      if type(value) ~= "table" then
        fail(where, "is a %s; a table of settings is wanted", type(value))
      end
      flatten(value, name .. ".", source, into, scripted, seen)
    elseif not setting then
      unknown(where, name)
    elseif seen[name] then
      fail(where, "is given twice, in its section and by its whole key")
    elseif scripted and setting.type == "sink" and type(value) == "function" then
      into.sink, seen[name] = value, true
    else
      into[#into + 1] = { setting = setting, text = text_of(setting, value, where), where = where }
      seen[name] = true
    end
  end
  return into
end

-- All of them or none: each is tried before the first is set.
local function apply(layer, list)
  for _, trial in ipairs { true, false } do
    for _, entry in ipairs(list) do
      core.config_set(layer, entry.setting.key, entry.text, entry.where, trial)
    end
  end
end

-- ---- files -------------------------------------------------------------------------------------------------------

-- Runs in a coroutine: a hook that looks at every step cannot be avoided there.
local function limited(chunk)
  local thread = coroutine.create(chunk)
  local steps, most = 0, collectgarbage "count" + MOST_KILOBYTES
  debug.sethook(thread, function()
    steps = steps + 1
    if steps > MOST_STEPS or collectgarbage "count" > most then
      error("it takes too long or too much memory to evaluate", 0)
    end
  end, "", 1)
  -- Strings have methods without any environment, among them some that are slow in one step. Nobody else, such as a
  -- finaliser, may run while they have none.
  local collecting = collectgarbage "isrunning"
  collectgarbage "stop"
  local meta = debug.getmetatable ""
  debug.setmetatable("", nil)
  local results = table.pack(coroutine.resume(thread))
  debug.setmetatable("", meta)
  if collecting then
    collectgarbage "restart"
  end
  return results, coroutine.status(thread) == "dead"
end

-- Whether a text begins with `return`, comments aside.
local function returns(text)
  local at = 1
  repeat
    local comment = text:match("^%s*%-%-%[(=*)%[", at)
    local _, stop = text:find(comment and "%]" .. comment .. "%]" or "^%s*%-%-[^\n]*", at)
    at = stop and stop + 1 or at
  until not stop
  return text:find("^%s*return%f[^%w_]", at) ~= nil
end

--- Evaluates the text of a configuration file.
-- @tparam string text one table constructor, `return` may stand before it
-- @tparam string path its name, for messages
-- @treturn table
-- @raise kind "config"
function config.evaluate(text, path)
  local name = "@" .. path
  local chunk, message = load((returns(text) and "" or "return ") .. text, name, "t", {})
  if not chunk then
    errors.raise("config", "%s", message)
  end
  local results, done = limited(chunk)
  if not results[1] then
    errors.raise("config", "%s: %s", path, tostring(results[2]))
  elseif not done or results.n ~= 2 or type(results[2]) ~= "table" then
    errors.raise("config", "%s: one table is wanted: { timeout = 5000 }", path)
  end
  return results[2]
end

-- Reads and applies one file; true when there is one.
local function read(layer, path, own)
  local text, why = core.config_file(path, own)
  if text == nil then
    return false
  elseif not text and own then
    core.warning(("%s is not read: %s"):format(path, why))
    return false
  elseif not text then
    fail(path, "cannot be read: %s", why)
  end
  apply(layer, flatten(config.evaluate(text, path), "", path, {}, false, {}))
  return true
end

--- Where the user's file is looked for.
-- @treturn ?string nil when the environment names no home
function config.user_path()
  local base = os.getenv "XDG_CONFIG_HOME"
  if not base or base:sub(1, 1) ~= "/" then
    local home = os.getenv "HOME"
    base = home and home:sub(1, 1) == "/" and home .. "/.config" or nil
  end
  return base and base .. "/luhip/config.lua"
end

-- The nearest luhip.conf.lua that may be read, from a folder upwards.
local function read_project(folder)
  while folder do
    local path = (folder == "/" and "" or folder) .. "/luhip.conf.lua"
    if read("project", path, true) then
      return path
    end
    folder = folder ~= "/" and (folder:match "^(.+)/[^/]*$" or "/") or nil
  end
end

--- The files that were read: { user = path, project = path }, once luhip was used.
config.files = {}

local loaded = false

--- Reads the files, once for each Lua state; a file that has an error is read again at the next call.
-- @raise kind "config" with the file and the key
function config.load()
  if loaded then
    return
  end
  local user = config.user_path()
  config.files.user = user and read("user", user, false) and user or nil
  config.files.project = read_project(core.working_folder())
  loaded = true
end

-- ---- the face ----------------------------------------------------------------------------------------------------

local NUMBERS = { count = true, milliseconds = true, size = true }

-- The value that holds, as Lua has it.
local function value_of(setting)
  local text, layer, origin = core.config_get(setting.index)
  if NUMBERS[setting.type] then
    return core.config_number(setting.index), layer, origin
  elseif setting.type == "switch" then
    return core.config_number(setting.index) == 1, layer, origin
  end
  return text ~= "" and text or nil, layer, origin
end

-- luhip.config { ... }
local function set(values)
  local list = flatten(values, "", nil, {}, true, {})
  apply("script", list)
  if list.sink then
    core.log_sink(list.sink)
    return
  end
  for _, entry in ipairs(list) do
    if entry.setting.type == "sink" then
      core.log_sink(nil)
    end
  end
end

--- Sets settings for this process, or asks for one.
--
-- Loggers change at once, settings of a device with its next open. Wrong keys and values raise, and then nothing is
-- changed.
-- @tparam table|string what settings by key, sections as tables or as "cpu.threads"; or one key
-- @return with a key: its value (nil where nothing is set), the layer that it comes from ("default", "user", "project",
--   "environment", "script"), and the variable or file
-- @raise kind "config"
function config.config(what)
  config.load()
  if type(what) == "table" then
    return set(what)
  elseif type(what) ~= "string" then
    errors.raise("type", "luhip.config takes a table of settings or the name of one, not a %s", type(what))
  end
  local setting = by_key[what]
  if not setting then
    unknown(("'%s'"):format(what), what)
  end
  return value_of(setting)
end

return config
