--- Constraint functions: what they read, and what they answer.
--
-- A function is called with a proxy that gives a parameter's value and notes that it was read. Which parameters it
-- reads
-- may depend on the values: `p.A == 1 or p.B > 2`. So it is tried on a number of configurations first, and where it
-- reads something new later, the caller is told to start again with more. What it writes into its argument is its own.
--
-- A function that raises is not satisfied, as is one that divides by zero; both are counted. Only a name that is no
-- parameter is an error of the whole. Dependencies: luhip.errors, luhip.nearest.
-- @module luhip.tune.probe

local errors = require "luhip.errors"
local nearest = require "luhip.nearest"

local probe = {}

local Probe = {}
Probe.__index = Probe

-- Configurations to try a function on: the first one, those that differ from it in one value, some random ones.
local SINGLE, RANDOM = 256, 64

-- Lua's own messages for an integer division or modulo by zero.
local ZERO_DIVISOR = { "attempt to perform 'n//0'", "attempt to perform 'n%0'", "attempt to divide by zero" }

local function divided_by_zero(message)
  for _, text in ipairs(ZERO_DIVISOR) do
    if type(message) == "string" and message:find(text, 1, true) then
      return true
    end
  end
  return false
end

local function is_interrupt(e)
  return errors.kind(e) == "interrupted" or (type(e) == "string" and e:find "interrupted!" ~= nil)
end

--- Names a function in messages: "function #1 (file.lua:12)".
-- @tparam function f
-- @tparam integer i its place among the constraints
-- @treturn string
function probe.describe(f, i)
  local info = debug.getinfo(f, "S")
  if info.what == "C" then
    return ("function #%d"):format(i)
  end
  return ("function #%d (%s:%d)"):format(i, info.short_src, info.linedefined)
end

-- ---- the proxy --------------------------------------------------------------------------------------------------

local function read(self, name)
  local k = self.depth[name]
  if not k then
    local near = nearest(tostring(name), self.names)
    local hint = near and (", did you mean '%s'?"):format(near) or ""
    self.unknown = ("'%s' is no parameter%s"):format(tostring(name), hint)
    error(self.unknown, 0)
  end
  if not self.reads[k] then
    self.reads[k], self.widened = true, true
  end
  return self.params[k].values[self.digits[k]]
end

local function make_proxy(self)
  local proxy = {}
  return setmetatable(proxy, {
    __index = function(_, name)
      return read(self, name)
    end,
    __newindex = function(t, name, value)
      self.proxy = nil -- it holds something of this call now
      rawset(t, name, value)
    end,
    __pairs = function()
      local i = 0
      return function()
        i = i + 1
        local name = self.names[i]
        if name then
          return name, proxy[name]
        end
      end
    end,
  })
end

-- Calls the function on the values that the digits say: true or false, and whether it raised, and what.
local function call(self, digits)
  self.digits = digits
  self.proxy = self.proxy or make_proxy(self)
  local ok, result = pcall(self.f, self.proxy)
  if not ok and is_interrupt(result) then
    error(result, 0)
  elseif self.unknown then
    errors.raise("argument", "where, %s: %s", self.text, self.unknown)
  elseif ok then
    return result and true or false
  end
  return false, true, result
end

-- ---- what it reads -----------------------------------------------------------------------------------------------

local function first_digits(self)
  local digits = {}
  for k in ipairs(self.params) do
    digits[k] = 1
  end
  return digits
end

-- Configurations that differ from the first one in one value; where those are too many, each parameter's last values.
local function try_single(self)
  local digits = first_digits(self)
  call(self, digits)
  local each = math.max(1, SINGLE // #self.params)
  for k, param in ipairs(self.params) do
    for d = math.max(2, #param.values - each + 1), #param.values do
      digits[k] = d
      call(self, digits)
    end
    digits[k] = 1
  end
end

local function try_random(self)
  local digits, state = first_digits(self), 1
  for _ = 1, RANDOM do
    for k, param in ipairs(self.params) do
      state = state * 6364136223846793005 + 1442695040888963407
      digits[k] = (state >> 33) % #param.values + 1
    end
    call(self, digits)
  end
end

--- Finds out what the function reads, as far as trying it can tell.
-- @raise kind "argument" for a name that is no parameter
function Probe:discover()
  try_single(self)
  try_random(self)
  self.widened = false
end

--- The parameters that it was seen to read and that have more than one value.
-- @treturn {integer,...} ascending
function Probe:axes()
  local list = {}
  for k, param in ipairs(self.params) do
    if self.reads[k] and #param.values > 1 then
      list[#list + 1] = k
    end
  end
  return list
end

-- ---- what it answers -----------------------------------------------------------------------------------------------

local function count(self, e)
  if divided_by_zero(e) then
    self.undefined = self.undefined + 1
    return
  end
  self.bad = self.bad + 1
  self.why = self.why or tostring(errors.kind(e) and errors.message(e) or e)
end

--- Asks the function.
-- @tparam {integer,...} digits of every parameter that it is known to read
-- @treturn boolean its answer
-- @treturn boolean whether it read something new: the answer is then worth nothing
-- @raise kind "argument" for a name that is no parameter; "interrupted"
function Probe:answer(digits)
  local result, raised, e = call(self, digits)
  if self.widened then
    self.widened, self.undefined, self.bad, self.why = false, 0, 0, nil
    return false, true
  end
  if raised then
    count(self, e)
  end
  return result, false
end

--- The answer of a function that reads nothing that varies.
-- @treturn boolean
function Probe:constant()
  return (self:answer(first_digits(self)))
end

--- Makes a probe.
-- @tparam function f takes a configuration; anything but false and nil is a yes
-- @tparam string text names it in messages
-- @tparam {table,...} params { name =, values = }, in order
-- @treturn Probe with the counts `undefined` and `bad` (answers that raised), and `why`, what the first of these raised
function probe.new(f, text, params)
  local self = { f = f, text = text, params = params, reads = {}, names = {}, depth = {}, undefined = 0, bad = 0 }
  for k, param in ipairs(params) do
    self.names[k], self.depth[param.name] = param.name, k
  end
  return setmetatable(self, Probe)
end

return probe
