--- The arguments of a tuning run: their first content, and how to bring it back.
--
-- Every buffer among the arguments is read once, before the first candidate, and written back before each candidate
-- and after the last, so that no candidate sees what another left. Buffers that a kernel both reads and writes are
-- also written back before each sample, since an in-place kernel would otherwise be timed on its own output.
-- Dependencies: luhip.errors, luhip.nearest, luhip.tune.{callback,verify}.
-- @module luhip.tune.arguments

local callback = require "luhip.tune.callback"
local errors = require "luhip.errors"
local nearest = require "luhip.nearest"
local verify = require "luhip.tune.verify"

local arguments = {}

local Arguments = {}
Arguments.__index = Arguments

--- Whether a value is a buffer.
-- @param value anything
-- @treturn boolean
function arguments.is_buffer(value)
  return getmetatable(value) == "luhip.buffer"
end

-- ---- poison ----------------------------------------------------------------------------------------------------

local COMPLEX = { c64 = true, c128 = true }
local FLOATS = { f16 = true, bf16 = true, f32 = true, f64 = true }

-- A value that a correct kernel is not expected to leave: NaN, or an integer that differs from the reference.
local function poison_value(dtype, reference)
  local nan = 0.0 / 0.0
  if COMPLEX[dtype] then
    return { nan, nan }
  elseif FLOATS[dtype] then
    return nan
  elseif dtype == "bool" then
    return not (reference == true or reference == 1)
  end
  return reference == 85 and 42 or 85
end

-- ---- outputs ---------------------------------------------------------------------------------------------------

local function position_of(key, params, n)
  if math.tointeger(key) then
    if key < 1 or key > n then
      errors.raise("argument", "tune: expect: there is no argument %d; there are %d", key, n)
    end
    return math.tointeger(key)
  end
  local names = {}
  for i, param in ipairs(params) do
    if param.name == key then
      return i
    end
    names[i] = param.name
  end
  local near = nearest(key, names)
  local hint = near and (", did you mean '%s'?"):format(near) or "; there are " .. table.concat(names, ", ")
  errors.raise("argument", "tune: expect: the kernel has no parameter '%s'%s", key, hint)
end

local function make_output(self, key, reference, params)
  local index = position_of(key, params, self.n)
  local buffer = self.values[index]
  local what = ("tune: expect: '%s'"):format(key)
  if not arguments.is_buffer(buffer) then
    errors.raise("type", "%s is no buffer", what)
  end
  local output = { index = index, buffer = buffer, key = key, name = tostring(key) }
  if type(reference) == "function" then
    output.check = reference
  else
    output.reference = verify.flat(self.references[key], buffer.dtype)
    verify.check_reference(output.reference, buffer.dtype, buffer.count, what)
  end
  return output
end

local function compare(self, output, actual)
  return verify.compare(actual, output.reference, {
    dtype = output.buffer.dtype,
    shape = output.buffer.shape,
    tolerance = self.tolerance(output.key),
  })
end

-- What is right before any kernel ran proves nothing. An output that the kernel only writes is poisoned, so that no
-- part of it passes that was not written; where the kernel also reads it, it is said when all of it is right already.
local function guard(self, output, param)
  local snapshot = self.snapshots[output.index]
  if not output.reference or not snapshot or not snapshot.content then
    return
  end
  if param.kind == "out" then
    snapshot.content, snapshot.poison = nil, poison_value(output.buffer.dtype, output.reference[1])
  elseif #output.reference > 0 and not compare(self, output, snapshot.content) then
    self.warnings[#self.warnings + 1] = (
      "'%s' holds the expected values before any kernel ran: a kernel that does nothing would pass; "
      .. 'declare access = { %s = "out" } if the kernel only writes it'
    ):format(output.name, output.name)
  end
end

--- Binds expectations and accesses to a kernel's parameters. The first call counts, later ones do nothing.
-- @tparam table params the kernel's parameters: `name`, `kind`
-- @raise kinds "argument", "type", "shape" for an expectation that cannot be met by any candidate
function Arguments:resolve(params)
  if self.outputs then
    return
  end
  local outputs = {}
  if type(self.expect) == "table" then
    for key, reference in pairs(self.expect) do
      outputs[#outputs + 1] = make_output(self, key, reference, params)
    end
    table.sort(outputs, function(a, b)
      return a.index < b.index
    end)
  end
  for index, snapshot in pairs(self.snapshots) do
    snapshot.kind = params[index] and params[index].kind or "inout"
  end
  for _, output in ipairs(outputs) do
    guard(self, output, params[output.index] or {})
  end
  self.params, self.outputs = params, outputs
end

-- ---- content ---------------------------------------------------------------------------------------------------

local function write_back(snapshot)
  if snapshot.poison ~= nil then
    snapshot.buffer:fill(snapshot.poison)
  elseif snapshot.content then
    snapshot.buffer:write(snapshot.content)
  end
end

--- Brings all buffers back to their first content.
function Arguments:restore()
  for _, snapshot in pairs(self.snapshots) do
    write_back(snapshot)
  end
end

--- Brings back what the kernel both reads and writes.
function Arguments:restore_inout()
  for _, snapshot in pairs(self.snapshots) do
    if snapshot.kind == "inout" then
      write_back(snapshot)
    end
  end
end

--- Leaves the buffers as they were found, as far as possible: nothing is raised.
function Arguments:leave()
  for _, snapshot in pairs(self.snapshots) do
    pcall(function()
      snapshot.buffer:write(snapshot.original)
    end)
  end
end

--- The arguments of one candidate.
-- @tparam table config a function among the arguments is called with it
-- @treturn {any,...} with `n`
function Arguments:list(config)
  local list = { n = self.n }
  for i = 1, self.n do
    local value = self.values[i]
    if type(value) == "function" then
      value = callback.call(value, config)
    end
    list[i] = value
  end
  return list
end

-- ---- verification ----------------------------------------------------------------------------------------------

local function fail(output, message)
  errors.raise("verify", "'%s': %s", output.name, message)
end

local function check_output(self, output, config)
  local actual = output.buffer:read()
  if output.reference then
    local difference = compare(self, output, actual)
    if difference then
      fail(output, difference.message)
    end
    return
  end
  local ok, message = output.check(actual, config)
  if not ok then
    fail(output, message and tostring(message) or "the check function returned " .. tostring(ok))
  end
end

-- What a check function for all outputs gets: arguments by name or position, read when asked for.
local function reader(self)
  return setmetatable({}, {
    __index = function(cache, key)
      local buffer = self.values[position_of(key, self.params, self.n)]
      local value = arguments.is_buffer(buffer) and buffer:read() or buffer
      rawset(cache, key, value)
      return value
    end,
  })
end

--- Checks what the last launch wrote.
-- @tparam table config
-- @raise kind "verify" for what differs; failures of the launch come out of the reads
function Arguments:verify(config)
  if type(self.expect) == "function" then
    local ok, message = self.expect(reader(self), config)
    if not ok then
      errors.raise("verify", "%s", message and tostring(message) or "the check function returned " .. tostring(ok))
    end
    return
  end
  for _, output in ipairs(self.outputs) do
    check_output(self, output, config)
  end
end

-- ---- making ----------------------------------------------------------------------------------------------------

-- Reference buffers are read before any candidate runs; tables and host arrays stay what they are.
local function read_references(expect)
  local references = {}
  for key, reference in pairs(expect) do
    references[key] = arguments.is_buffer(reference) and reference:read() or reference
  end
  return references
end

local function declared_out(access)
  for _, how in pairs(access or {}) do
    if how == "out" then
      return true
    end
  end
  return false
end

-- First content of one buffer. One that cannot be read, since an earlier failure claims it, can only be an output.
local function take_snapshot(buffer, access)
  local ok, content = pcall(buffer.read, buffer)
  if ok then
    return { buffer = buffer, content = content, original = content, kind = "inout" }
  elseif declared_out(access) then
    return { buffer = buffer, poison = poison_value(buffer.dtype), kind = "inout" }
  end
  error(content, 0)
end

--- Takes the arguments in: reads every buffer and every reference once.
-- @tparam table plan `args`, `expect`, `tolerance`, `access`
-- @treturn Arguments with `buffers` (each once) and `warnings`
-- @raise what reading a buffer raises
function arguments.new(plan)
  local self = setmetatable({
    n = plan.args.n,
    values = plan.args,
    expect = plan.expect,
    tolerance = plan.tolerance,
    snapshots = {},
    buffers = {},
    warnings = {},
  }, Arguments)
  local seen = {}
  for i = 1, self.n do
    local value = plan.args[i]
    if arguments.is_buffer(value) and not seen[value] then
      seen[value] = true
      self.buffers[#self.buffers + 1] = value
      self.snapshots[i] = take_snapshot(value, plan.access)
    end
  end
  if type(self.expect) == "table" then
    self.references = read_references(self.expect)
  end
  return self
end

return arguments
