--- The arguments of a tuning run: their first content, and how to bring it back.
--
-- Every buffer among the arguments is read once, before the first candidate, and written back before each candidate
-- and after the last, so that no candidate sees what another left. Buffers that a kernel both reads and writes are
-- also written back before each sample, since an in-place kernel would otherwise be timed on its own output. With
-- `rotate`, launches take turns with copies of the buffers that the kernel only reads or only writes.
-- Dependencies: luhip.errors, luhip.nearest, luhip.tune.{callback,cold,reference,verify}.
-- @module luhip.tune.arguments

local callback = require "luhip.tune.callback"
local cold = require "luhip.tune.cold"
local errors = require "luhip.errors"
local nearest = require "luhip.nearest"
local reference = require "luhip.tune.reference"
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

--- The value of a function among the arguments.
-- @tparam function fn
-- @tparam table config
-- @tparam integer i its position
-- @return the value
-- @raise what the function raises, and when it gives nothing, wrapped (luhip.tune.callback)
function arguments.value_of(fn, config, i)
  local value = callback.call(fn, config)
  if value == nil then
    local format = "tune: args: the function of entry %d gives nothing; luhip.null is a null pointer"
    callback.call(errors.raise, "type", format, i)
  end
  return value
end

-- ---- poison ----------------------------------------------------------------------------------------------------

local COMPLEX = { c64 = true, c128 = true }
local FLOATS = { f16 = true, bf16 = true, f32 = true, f64 = true }

-- A value that a correct kernel is not expected to leave: NaN, or an integer that differs from the reference.
local function poison_value(dtype, expected)
  local nan = 0.0 / 0.0
  if COMPLEX[dtype] then
    return { nan, nan }
  elseif FLOATS[dtype] then
    return nan
  elseif dtype == "bool" then
    return not (expected == true or expected == 1)
  end
  return expected == 85 and 42 or 85
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

local function make_output(self, key, expected, params)
  local index = position_of(key, params, self.n)
  local buffer = self.values[index]
  local what = ("tune: expect: '%s'"):format(key)
  if not arguments.is_buffer(buffer) then
    errors.raise("type", "%s is no buffer", what)
  end
  local named = type(key) == "string" and key or params[index] and params[index].name
  local output = { index = index, buffer = buffer, key = key, name = named or tostring(key) }
  if type(expected) == "function" then
    output.check = expected
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

-- Whether a buffer may be another one in another launch: at no place is it both read and written.
local function may_rotate(self, buffer, params)
  for i = 1, self.n do
    local kind = params[i] and params[i].kind
    if self.values[i] == buffer and kind ~= "in" and kind ~= "out" then
      return false
    end
  end
  return true
end

-- Copies for launches to take turns with, by buffer.
local function make_copies(self, params)
  for _, snapshot in pairs(self.rotate > 1 and self.snapshots or {}) do
    local buffer = snapshot.buffer
    if may_rotate(self, buffer, params) then
      local list = {}
      self.copies[buffer] = list
      for k = 2, self.rotate do
        list[k] = self.device:buffer(buffer.dtype, buffer.shape)
        if snapshot.original then
          list[k]:write(snapshot.original)
        end
      end
    end
  end
  if self.rotate > 1 and next(self.copies) == nil then
    self.warnings[#self.warnings + 1] = "rotate: there is no buffer that the kernel only reads or only writes"
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
    for key, expected in pairs(self.expect) do
      outputs[#outputs + 1] = make_output(self, key, expected, params)
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
  make_copies(self, params)
end

-- ---- content ---------------------------------------------------------------------------------------------------

local function write_back(snapshot)
  if snapshot.poison ~= nil then
    snapshot.buffer:fill(snapshot.poison)
  elseif snapshot.content then
    snapshot.buffer:write(snapshot.content)
  end
end

--- The first content of a buffer among the arguments.
-- @tparam buffer buffer
-- @treturn ?array nil where it could not be read
function Arguments:original(buffer)
  for _, snapshot in pairs(self.snapshots) do
    if snapshot.buffer == buffer then
      return snapshot.original
    end
  end
  return nil
end

--- What an argument holds now.
-- @param key the name of the kernel's parameter, or its position
-- @tparam table config a function among the arguments is called with it
-- @return a host array of a buffer's content, or the value
-- @raise kind "argument" when there is none; what reading raises
function Arguments:content(key, config)
  local value = self.values[position_of(key, self.params, self.n)]
  if type(value) == "function" then
    value = callback.call(value, config)
  end
  return arguments.is_buffer(value) and value:read() or value
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

--- Frees what was taken for the run besides.
function Arguments:free()
  for _, list in pairs(self.copies) do
    for _, copy in pairs(list) do
      pcall(copy.free, copy)
    end
  end
  if self.scratch then
    pcall(self.scratch.free, self.scratch)
  end
  self.copies, self.scratch = {}, nil
end

--- Leaves the buffers as they were found, as far as possible: nothing is raised.
function Arguments:leave()
  self:free()
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
      value = arguments.value_of(value, config, i)
    end
    list[i] = value
  end
  return list
end

--- The arguments of one candidate, once for each turn of `rotate`.
-- @tparam table config
-- @treturn {{any,...},...} the first are the run's own
function Arguments:lists(config)
  local lists = { self:list(config) }
  for k = 2, next(self.copies) and self.rotate or 1 do
    local list = { n = self.n }
    for i = 1, self.n do
      local copies = self.copies[lists[1][i]]
      list[i] = copies and copies[k] or lists[1][i]
    end
    lists[k] = list
  end
  return lists
end

--- Times launches, in the state that the run wants them to find.
-- @tparam integer count how many
-- @tparam function run launches once
-- @tparam function sample times a function
-- @treturn number ms of all together
function Arguments:sample(count, run, sample)
  if self.scratch then
    return cold.sample(self.scratch, count, function()
      self:restore_inout()
    end, function()
      return sample(run)
    end)
  end
  self:restore_inout()
  return sample(function()
    for _ = 1, count do
      run()
    end
  end)
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
local function reader(self, config)
  return setmetatable({}, {
    __index = function(cache, key)
      local value = self:content(key, config)
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
    local ok, message = self.expect(reader(self, config), config)
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
  for key, expected in pairs(expect) do
    references[key] = arguments.is_buffer(expected) and expected:read() or expected
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

-- Which outputs the reference kernel is asked for: those that are said to be `true`; without any, all that it writes.
local function asked_for(self, params)
  local list = {}
  for key, expected in pairs(self.expect) do
    if expected == true then
      list[key] = position_of(key, params, self.n)
    end
  end
  if next(self.expect) == nil then
    for i, param in ipairs(params) do
      list[i] = param.kind ~= "in" and arguments.is_buffer(self.values[i]) and i or nil
    end
  end
  return list
end

-- Runs the reference kernel, and keeps what it wrote.
local function refer(self, plan)
  local ok, why = pcall(function()
    local params, expect = reference.run(plan, self), {}
    for key, expected in pairs(self.expect) do
      expect[key] = expected
    end
    for key, i in pairs(asked_for(self, params)) do
      if not arguments.is_buffer(self.values[i]) then
        errors.raise("type", "tune: expect: '%s' is no buffer", tostring(key))
      end
      expect[key], self.references[key] = true, self.values[i]:read()
    end
    if next(expect) == nil then
      errors.raise("argument", "tune: reference: the kernel writes none of its parameters")
    end
    self.expect = expect
    self:restore()
  end)
  if not ok then
    self:leave()
    error(why, 0)
  end
end

--- Takes the arguments in: reads every buffer and every reference once, and runs the reference kernel.
-- @tparam table plan `args`, `expect`, `tolerance`, `access`, `device`, `rotate`, `cold` and `reference`
-- @treturn Arguments with `buffers` (each once) and `warnings`
-- @raise what reading a buffer raises
function arguments.new(plan)
  local self = setmetatable({
    n = plan.args.n,
    values = plan.args,
    expect = plan.expect,
    tolerance = plan.tolerance,
    device = plan.device,
    rotate = plan.rotate or 1,
    copies = {},
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
  if plan.reference then
    refer(self, plan)
  end
  self.scratch = plan.cold and cold.scratch(plan.device, plan.cold) or nil
  return self
end

return arguments
