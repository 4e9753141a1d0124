--- Error objects raised by the Lua side: those of the core, with the place in the user's code.
-- Dependencies: luhip.core, luhip.nearest.
-- @module luhip.errors

local core = require "luhip.core"
local nearest = require "luhip.nearest"

local errors = {}

-- "…/luhip/": what lies below it is luhip's own code, where a user has nothing to look for.
local own = debug.getinfo(1, "S").source:match "^(@.*[/\\])errors%.lua$"

core.own_sources(own)

-- By coroutine, where it was started.
local starts = setmetatable({}, { __mode = "k" })

-- "script.lua:12: " for the innermost Lua function that is the user's. A coroutine whose function ended in a call
-- (return f()) has none left; there it is where that coroutine was started.
local function user_position()
  for level = 3, math.huge do
    local info = debug.getinfo(level, "Sl")
    if not info then
      return starts[coroutine.running()] or ""
    elseif info.currentline > 0 and not (own and info.source:sub(1, #own) == own) then
      return ("%s:%d: "):format(info.short_src, info.currentline)
    end
  end
end

--- Remembers the user's line as the place where a coroutine was started.
-- @tparam thread thread
function errors.started(thread)
  starts[thread] = user_position()
end

--- Makes an error object.
-- @tparam string kind one of the closed set of kinds: "argument", "type", "range", "verify", ...
-- @tparam string format a sentence without a final full stop, as for string.format
-- @param ... its values
-- @treturn userdata the object; nothing is raised
function errors.new(kind, format, ...)
  return core.error(kind, select("#", ...) > 0 and format:format(...) or format)
end

--- Raises an error object that names the user's line.
-- @tparam string kind as for `errors.new`
-- @tparam string format as for `errors.new`
-- @param ... its values
function errors.raise(kind, format, ...)
  local message = select("#", ...) > 0 and format:format(...) or format
  error(core.error(kind, message, { position = user_position() }), 0)
end

--- What a value is, for "..., not %s": `nothing`, `'text'`, `3`, `a table`, `a luhip.device`.
-- @param value anything
-- @treturn string
function errors.describe(value)
  local of = type(value)
  if value == nil then
    return "nothing"
  elseif of == "string" then
    return #value > 40 and ("'%s...'"):format(value:sub(1, 40)) or ("'%s'"):format(value)
  elseif of == "number" or of == "boolean" then
    return tostring(value)
  end
  local meta = of == "userdata" and debug.getmetatable(value)
  local name = meta and meta.__name
  return "a " .. (name or of)
end

--- Raises kind "type" unless a value is an object of a class, as the methods that are written in C do.
-- @param value the first argument
-- @tparam string class "device"
-- @tparam string method its name
function errors.check_self(value, class, method)
  if debug.getmetatable(value) ~= core.metatables[class] then
    local format = "bad argument #1 to '%s:%s' (luhip.%s expected, got %s)"
    local got = value == nil and "no value" or errors.describe(value):gsub("^a (luhip%.)", "%1")
    errors.raise("type", format, class, method, class, got)
  end
end

--- Raises kind "type" unless a value can be called.
-- @param fn the value
-- @tparam string what it is for: "time"
function errors.check_function(fn, what)
  local meta = type(fn) ~= "function" and debug.getmetatable(fn)
  if type(fn) ~= "function" and not (type(meta) == "table" and meta.__call) then
    errors.raise("type", "%s: a function expected, not %s", what, errors.describe(fn))
  end
end

--- Raises kind "argument" where something is given behind a function's last argument: options that it does not have.
-- @tparam string what the function: "profile"
-- @param ... what is there
function errors.check_no_more(what, ...)
  local more = ...
  if more ~= nil then
    errors.raise("argument", "%s: nothing expected behind its last argument, got %s", what, errors.describe(more))
  end
end

--- Makes a name that neither an object nor its class has an error, and not nil, as it is for the core's objects. Costs
-- nothing where a name is found. Names that begin with "__" stay nil: libraries look for metamethods by them.
-- @tparam table methods where the class's metatable looks names up
-- @tparam string what the class, for messages: "luhip.struct"
-- @tparam {string,...} fields of the objects, for messages
-- @treturn table methods
function errors.strict(methods, what, fields)
  return setmetatable(methods, {
    __index = function(_, key)
      if type(key) ~= "string" or key:find "^__" then
        return nil
      end
      local names = table.move(fields, 1, #fields, 1, {})
      for name in pairs(methods) do
        names[#names + 1] = not name:find "^__" and name or nil
      end
      table.sort(names)
      local near = nearest(key, names)
      local hint = near and ("did you mean '%s'?"):format(near) or "there are " .. table.concat(names, ", ")
      errors.raise("argument", "a %s has no field or method '%s'; %s", what, key, hint)
    end,
  })
end

--- The kind of any error value.
-- @param value an error object, or whatever else was raised
-- @treturn ?string nil for a value that has no kind, such as a string
function errors.kind(value)
  return core.is_error(value) and value.kind or nil
end

--- The one sentence of any error value.
-- @param value as for `errors.kind`
-- @treturn string the message, or the first line of its text
function errors.message(value)
  if core.is_error(value) then
    return value.message
  end
  return (tostring(value):match "^[^\n]*")
end

return errors
