--- What a run is given to work on and to compare with: `args`, `expect` and `tolerance` of its options.
-- Dependencies: luhip.errors, luhip.tune.verify.
-- @module luhip.tune.inputs

local errors = require "luhip.errors"
local verify = require "luhip.tune.verify"

local inputs = {}

--- Reads `expect`.
-- @param given a table of outputs, a function, or nil
-- @tparam boolean has_reference whether there is a kernel that says what is right
-- @return what luhip.tune.arguments takes as `expect`
-- @raise kinds "type" and "argument"
function inputs.expect(given, has_reference)
  if given == nil and has_reference then
    return {} -- all that it writes
  elseif has_reference and type(given) == "function" then
    errors.raise("argument", "tune: reference: 'expect' is a function, which needs none")
  elseif type(given) ~= "table" then
    return given
  end
  if next(given) == nil then
    errors.raise("argument", "tune: expect: at least one output expected")
  end
  for key, value in pairs(given) do
    if type(key) ~= "string" and not math.tointeger(key) then
      errors.raise("type", "tune: expect: '%s' is neither a parameter's name nor its position", tostring(key))
    end
    local kind = type(value)
    if value == true then
      if not has_reference then
        errors.raise("argument", "tune: expect: %s: true needs a reference kernel, 'reference'", tostring(key))
      end
    elseif kind ~= "table" and kind ~= "userdata" and kind ~= "function" then
      errors.raise("type", "tune: expect: %s: a table, array, buffer or function expected, not a %s", key, kind)
    end
  end
  return given
end

--- Reads `tolerance`.
-- @param given as luhip.tune.verify has it
-- @param expect what it is for: nil for nothing
-- @treturn function as of `verify.tolerances`
-- @raise kinds "type" and "argument"
function inputs.tolerance(given, expect)
  if given ~= nil and expect == nil then
    errors.raise("argument", "tune: tolerance without expect")
  end
  return verify.tolerances(given, expect)
end

local function positions(list)
  local n = list.n or 0
  for key in pairs(list) do
    if math.type(key) == "integer" and key >= 1 then
      n = math.max(n, key)
    elseif key ~= "n" then
      errors.raise("argument", "tune: args: a list expected, not a table with the key '%s'", tostring(key))
    end
  end
  return n
end

-- A buffer of another device can be no candidate's argument.
local function check_place(value, i, device)
  local place = getmetatable(value) == "luhip.buffer" and value.device
  if place and place.id ~= device.id then
    local format = "tune: args: the buffer of entry %d is on %s, the run on %s; copy it there"
    errors.raise("argument", format, i, place.id, device.id)
  end
end

--- Reads `args`.
-- @tparam ?table given
-- @tparam device device that the run begins on
-- @treturn {any,...} with `n`
-- @raise kind "argument" for what is no list, has a hole, or holds a buffer of another device
function inputs.args(given, device)
  local args = { n = positions(given or {}) }
  for i = 1, args.n do
    if given[i] == nil then
      errors.raise("argument", "tune: args: entry %d is nil; luhip.null is a null pointer", i)
    end
    check_place(given[i], i, device)
    args[i] = given[i]
  end
  return args
end

return inputs
