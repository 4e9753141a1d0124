-- What specs share: the devices to run on, clean-up, errors by kind, child processes, temporary directories.
--
--   local support = require "spec.support"
--   support.each_device(function(id)
--     it("D3 says this", function()
--       local dev = support.open(id) -- closed after the spec
--       local e = support.assert_error_kind("range", function() dev:buffer("f32", -1) end, "-1")
--     end)
--   end)
--
-- LUHIP_TEST_DEVICES   ids to run on, separated by commas, instead of every device present

local busted = require "busted"

local support = {}

-- The repository, which is where specs are run.
support.root = io.popen("pwd"):read "l"
support.build = os.getenv "LUHIP_BUILD" or "build/test"
if support.build:sub(1, 1) ~= "/" then
  support.build = support.root .. "/" .. support.build
end
-- The interpreter for child processes: a sanitised build has one of its own.
support.interpreter = os.getenv "LUHIP_TEST_LUA" or "/usr/bin/lua5.4"
-- "address", "thread", "valgrind" or nil: for the rare spec that a sanitiser cannot run.
support.sanitizer = os.getenv "LUHIP_TEST_SANITIZER"

--- In a spec: ends it here, as skipped, where this sanitiser runs. `pending` is the spec's own, `why` what keeps it
--- from running the rest.
function support.not_under(sanitizer, pending, why)
  if support.sanitizer == sanitizer then
    pending(("under %s: %s"):format(sanitizer, why))
  end
end

--- The step of a loop over every one of many cases: n in the runs that are a hundred times slower than the others
--- (--tsan, --stress, --valgrind), which take every nth, and 1 in all others.
function support.every(n)
  return os.getenv "LUHIP_TEST_SLOW" and n or 1
end

---- Clean-up --------------------------------------------------------------------------------------------------

-- Innermost last; the first one lasts as long as the spec file.
local scopes = { {} }

local function close_scope(scope)
  local first_error
  for i = #scope, 1, -1 do
    local ok, e = pcall(scope[i])
    first_error = first_error or (not ok and e) or nil
  end
  if first_error then
    error(first_error, 0)
  end
end

local file_end
file_end = busted.subscribe({ "file", "end" }, function()
  busted.unsubscribe(file_end.id, { "file", "end" })
  close_scope(scopes[1])
  return nil, true
end)

--- Calls fn after the current spec; outside one, or where support.scope was not called, at the end of the file.
function support.defer(fn)
  table.insert(scopes[#scopes], fn)
end

--- In a describe: what its specs defer is done after each of them. each_device does it already.
function support.scope()
  busted.before_each(function()
    table.insert(scopes, {})
  end)
  busted.after_each(function()
    close_scope(table.remove(scopes))
  end)
end

---- Devices ---------------------------------------------------------------------------------------------------

--- Ids of the devices to run on. options.warp64 adds the CPU device with a warp of 64.
function support.devices(options)
  local ids = {}
  local wanted = os.getenv "LUHIP_TEST_DEVICES"
  if wanted then
    for id in wanted:gmatch "[^,%s]+" do
      table.insert(ids, id)
    end
    return ids
  end
  for _, device in ipairs(require("luhip").devices()) do
    if not device.reason then
      table.insert(ids, device.id)
      if options and options.warp64 and device.id == "cpu:0" then
        table.insert(ids, "cpu:0/64")
      end
    end
  end
  return ids
end

--- A describe for each device: fn(id) holds the specs. options as in support.devices.
function support.each_device(fn, options)
  for _, id in ipairs(support.devices(options)) do
    busted.describe("on " .. id, function()
      support.scope()
      fn(id)
    end)
  end
end

--- Opens a device that is closed after the spec. options: what luhip.open takes beside `device`.
function support.open(id, options)
  local wanted = { device = id }
  for name, value in pairs(options or {}) do
    wanted[name] = value
  end
  local dev = require("luhip").open(wanted)
  support.defer(function()
    dev:close()
  end)
  return dev
end

--- A buffer of u8 that there is no memory for, whatever the pools: as much as the device has, some of which is in use.
--- Using it fails with "oom".
function support.beyond_memory(dev)
  local some = dev:buffer("u8", 1, 0)
  support.defer(function()
    some:free()
  end)
  return dev:buffer("u8", dev.memory_bytes // 64 * 64)
end

---- Errors ----------------------------------------------------------------------------------------------------

--- fn must raise an error object of this kind whose text holds each fragment. Returns the error.
function support.assert_error_kind(kind, fn, ...)
  local luhip = require "luhip"
  local ok, e = pcall(fn)
  if ok then
    error(("expected an error of kind %q, but none was raised"):format(kind), 2)
  end
  if not luhip.is_error(e) then
    error(("expected an error of kind %q, got: %s"):format(kind, tostring(e)), 2)
  end
  if e.kind ~= kind then
    error(("expected an error of kind %q, got %q: %s"):format(kind, tostring(e.kind), tostring(e)), 2)
  end
  for _, fragment in ipairs { ... } do
    if not tostring(e):find(fragment, 1, true) then
      error(("expected %q in the error, got: %s"):format(fragment, tostring(e)), 2)
    end
  end
  return e
end

---- Files and processes ---------------------------------------------------------------------------------------

function support.quote(text)
  return "'" .. tostring(text):gsub("'", "'\\''") .. "'"
end

--- A directory that is removed after the spec.
function support.temporary_directory()
  local pipe = assert(io.popen("mktemp -d", "r"))
  local path = pipe:read "l"
  pipe:close()
  assert(path and path ~= "", "mktemp failed")
  support.defer(function()
    os.execute("rm -rf " .. support.quote(path))
  end)
  return path
end

function support.read_file(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

function support.write_file(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

--- Runs a shell command, or a list of words, to its end. Returns { code=, signal=, stdout=, stderr= }; code is nil
--- where a signal ended it. options: env (table of name to value, false unsets), stdin (text), directory,
--- timeout (seconds, 120; the code is 124 when it is over).
function support.run(command, options)
  options = options or {}
  local scratch = os.tmpname()
  local words = {}
  if options.directory then
    table.insert(words, "cd " .. support.quote(options.directory) .. " &&")
  end
  table.insert(words, "exec env")
  local first = #words + 1
  for name, value in pairs(options.env or {}) do
    if value then
      table.insert(words, support.quote(name .. "=" .. value))
    else
      table.insert(words, first, "-u " .. support.quote(name)) -- env takes no option behind an assignment
    end
  end
  local slowdown = support.sanitizer == "valgrind" and 20 or 1
  table.insert(words, ("timeout %d"):format((options.timeout or 120) * slowdown))
  if type(command) == "table" then
    for _, word in ipairs(command) do
      table.insert(words, support.quote(word))
    end
  else
    table.insert(words, "sh -c " .. support.quote(command))
  end
  if options.stdin then
    support.write_file(scratch .. ".in", options.stdin)
  end
  local streams =
    { ">", scratch .. ".out", "2>", scratch .. ".err", "<", options.stdin and scratch .. ".in" or "/dev/null" }
  local _, what, status = os.execute("(" .. table.concat(words, " ") .. ") " .. table.concat(streams, " "))
  local result = { stdout = support.read_file(scratch .. ".out"), stderr = support.read_file(scratch .. ".err") }
  -- A shell gives 128 + n for a child that signal n ended.
  if what == "signal" then
    result.signal = status
  elseif status > 128 then
    result.signal = status - 128
  else
    result.code = status
  end
  for _, suffix in ipairs { "", ".in", ".out", ".err" } do
    os.remove(scratch .. suffix)
  end
  local violation = result.stderr:match "driver contract violated:[^\n]*" -- see spec/support/helper.lua
  if violation then
    error("in a child process: " .. violation, 2)
  end
  return result
end

--- Environment in which a child finds this tree's luhip, with `more` on top.
function support.environment(more)
  local root = support.root
  local env = {
    LUA_PATH_5_4 = ("%s/lua/?.lua;%s/lua/?/init.lua;;"):format(root, root),
    LUA_CPATH_5_4 = support.build .. "/?.so;;",
  }
  for name, value in pairs(more or {}) do
    env[name] = value
  end
  return env
end

--- Runs Lua code in a process of its own that can require luhip; further words are its arguments.
function support.lua(code, options, ...)
  options = options or {}
  local script = os.tmpname()
  support.write_file(script, code)
  local result = support.run({ support.interpreter, script, ... }, {
    env = support.environment(options.env),
    stdin = options.stdin,
    directory = options.directory,
    timeout = options.timeout,
  })
  os.remove(script)
  return result
end

return support
