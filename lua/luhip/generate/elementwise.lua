--- Kernels of one expression per element.
--
--    local axpy = luhip.elementwise("f32 a, f32 x, f32 y", "f32 z", "z = a * x + y")
--    local z = axpy(2.0, x, y)        -- a new buffer, shaped like x
--    axpy(2.0, x, y, z)               -- into z
--    print(axpy:source(2.0, x, y))    -- the HIP C++ that this call runs
--
-- An input is a buffer or a number; buffers have one shape, or a single element that serves all. In the expression
-- stand the parameters' names, `i` (the element's index, counted through the whole shape) and `n` (how many there are).
-- Parameters with `raw` are arrays: `x[i + 1]`. Outputs with `inout` have their old value, others none.
-- Dependencies: luhip.generate.parameters, luhip.errors.
-- @module luhip.generate.elementwise

local errors = require "luhip.errors"
local parameters = require "luhip.generate.parameters"

local Elementwise = { __name = "luhip.elementwise" }
Elementwise.__index = errors.strict(Elementwise, "luhip.elementwise", { "name", "inputs", "outputs", "preamble" })

local BLOCK = 256

-- ---- the text --------------------------------------------------------------------------------------------------

-- One line of the kernel's parameter list, of what is read before and of what is written after the expression.
local function input_text(parameter, dtype, mode)
  local ctype, name = parameters.ctype(dtype), parameter.name
  if mode == "raw" then
    return ("const %s *%s"):format(ctype, name)
  elseif mode == "scalar" then
    return ("const %s %s"):format(ctype, name)
  end
  local index = mode == "one" and "0" or "i"
  return ("const %s *%s_"):format(ctype, name), ("const %s %s = %s_[%s];"):format(ctype, name, name, index)
end

local function output_text(parameter, dtype)
  local ctype, name = parameters.ctype(dtype), parameter.name
  if parameter.raw then
    return ("%s *%s"):format(ctype, name)
  end
  local before = parameter.inout and ("%s %s = %s_[i];"):format(ctype, name, name) or ("%s %s;"):format(ctype, name)
  return ("%s *%s_"):format(ctype, name), before, ("%s_[i] = %s;"):format(name, name)
end

local TEMPLATE = [[
%s%sextern "C" __global__ void %s(%s, const long long n) {
  const long long luhip_stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += luhip_stride) {
%s  }
}
]]

local function text_of(self, call)
  local list, body, tail = {}, {}, {}
  local function add(parameter, before, after)
    list[#list + 1] = parameter
    body[#body + 1] = before and ("    %s\n"):format(before)
    tail[#tail + 1] = after and ("    %s\n"):format(after)
  end
  for k, parameter in ipairs(self.inputs) do
    add(input_text(parameter, call.dtypes[k], call.modes[k]))
  end
  for k, parameter in ipairs(self.outputs) do
    add(output_text(parameter, call.dtypes[#self.inputs + k]))
  end
  local used = {}
  for _, dtype in ipairs(call.dtypes) do
    used[dtype] = true
  end
  local preamble = self.preamble ~= "" and self.preamble .. "\n" or ""
  return TEMPLATE:format(
    parameters.includes(used),
    preamble,
    self.name,
    table.concat(list, ", "),
    table.concat(body) .. ("    %s;\n"):format(self.operation) .. table.concat(tail)
  )
end

-- ---- a call ----------------------------------------------------------------------------------------------------

local function mode_of(self, parameter, value)
  if not parameters.is_buffer(value) then
    local kind = type(value)
    if parameter.raw or (kind ~= "number" and kind ~= "boolean") then
      errors.raise(
        "type",
        "%s: '%s' is %s, not %s",
        self.name,
        parameter.name,
        parameter.raw and "a buffer" or "a buffer or a number",
        errors.describe(value)
      )
    end
    return "scalar"
  end
  return parameter.raw and "raw" or "each"
end

-- The shape that all of the call have; buffers of one element serve any.
local function shape_of(self, values, modes)
  local shape, name
  for k, parameter in ipairs(self.all) do
    local value = values[k]
    if parameters.is_buffer(value) and modes[k] == "each" and (value.count ~= 1 or k > #self.inputs) then
      if not shape then
        shape, name = value.shape, parameter.name
      elseif not parameters.same_shape(shape, value.shape) then
        errors.raise(
          "shape",
          "%s: '%s' is %s and '%s' is %s",
          self.name,
          name,
          parameters.shape_text(shape),
          parameter.name,
          parameters.shape_text(value.shape)
        )
      end
    end
  end
  for k = 1, #self.inputs do
    if not shape and modes[k] == "each" then
      shape = values[k].shape
    end
  end
  if not shape then
    errors.raise("argument", "%s: no buffer tells how many elements there are; give the output", self.name)
  end
  return shape
end

local function resolve_types(self, values)
  local known, dtypes = parameters.bind(self.name, self.all, values), {}
  for k, parameter in ipairs(self.all) do
    dtypes[k] = parameters.resolve(self.name, parameter, known)
  end
  return dtypes
end

local function check_count(self, given)
  local inputs, all = #self.inputs, #self.all
  if given < inputs or given > all then
    errors.raise(
      "argument",
      "%s: %d arguments; it takes %d inputs (%s)%s",
      self.name,
      given,
      inputs,
      parameters.describe(self.inputs),
      (" and %d outputs that may be left out (%s)"):format(#self.outputs, parameters.describe(self.outputs))
    )
  end
end

-- Everything that is known of a call before anything is made.
local function prepare(self, ...)
  local given = select("#", ...)
  check_count(self, given)
  local call = { values = { ... }, modes = {} }
  for k, parameter in ipairs(self.inputs) do
    call.modes[k] = mode_of(self, parameter, call.values[k])
  end
  for k, parameter in ipairs(self.outputs) do
    local at = #self.inputs + k
    local value = call.values[at]
    if value ~= nil and not parameters.is_buffer(value) then
      errors.raise("type", "%s: the output '%s' is a buffer, not %s", self.name, parameter.name, errors.describe(value))
    elseif value == nil and (parameter.raw or parameter.inout) then
      errors.raise(
        "argument",
        "%s: '%s' is %s, and must be given",
        self.name,
        parameter.name,
        parameter.raw and "raw" or "read too"
      )
    end
    call.modes[at] = parameter.raw and "raw" or "each"
  end
  call.device = parameters.device(self.name, call.values, #self.all)
  call.dtypes = resolve_types(self, call.values)
  call.shape = shape_of(self, call.values, call.modes)
  call.count = 1
  for _, size in ipairs(call.shape) do
    call.count = call.count * size
  end
  for k = 1, #self.inputs do
    if call.modes[k] == "each" and call.values[k].count == 1 and call.count ~= 1 then
      call.modes[k] = "one"
    end
  end
  return call
end

local function kernel_of(self, call)
  local key = table.concat(call.dtypes, ",") .. ";" .. table.concat(call.modes, ",")
  return self.cache(call.device, key, function()
    local access = {}
    for _, parameter in ipairs(self.outputs) do
      if not parameter.inout and not parameter.raw then
        access[parameter.name .. "_"] = "out"
      end
    end
    return call.device:kernel(text_of(self, call), self.name, {
      name = self.name .. ".hip",
      access = { [self.name] = access },
    })
  end)
end

local function grid_of(device, count)
  local blocks = -(-count // BLOCK)
  return math.min(blocks, math.max(1, device.units) * 64, device.max_grid[1])
end

--- Runs it.
-- @param ... the inputs, then the outputs; outputs at the end may be left out
-- @return the outputs: those given, or new buffers of the inputs' shape
-- @raise kinds "argument", "type", "shape" for the call; "compile" with the expression's diagnostics
function Elementwise:__call(...)
  local call = prepare(self, ...)
  local arguments = {}
  for k, parameter in ipairs(self.all) do
    local value = call.values[k]
    if value == nil then
      value = call.device:buffer(call.dtypes[k], call.shape)
      call.values[k] = value
    elseif call.modes[k] ~= "scalar" and not value.is_contiguous then
      if k > #self.inputs then
        errors.raise("unsupported_strides", "%s: the output '%s' is a view with gaps", self.name, parameter.name)
      end
      value = value:contiguous()
    end
    arguments[k] = value
  end
  arguments[#self.all + 1] = call.count
  local kernel = kernel_of(self, call)
  kernel:launch({ grid = grid_of(call.device, call.count), block = BLOCK }, table.unpack(arguments, 1, #self.all + 1))
  return table.unpack(call.values, #self.inputs + 1, #self.all)
end

--- The HIP C++ text for a call with these arguments.
-- @param ... as for the call
-- @treturn string
function Elementwise:source(...)
  return text_of(self, prepare(self, ...))
end

function Elementwise:__tostring()
  return ("luhip.elementwise: %s(%s) -> %s: %s"):format(
    self.name,
    parameters.describe(self.inputs),
    parameters.describe(self.outputs),
    self.operation
  )
end

local OPTIONS = { { "name", "identifier" }, { "preamble", "text" } }

--- Makes a kernel of one expression.
-- @tparam string inputs "f32 x, f32 y"
-- @tparam string outputs "f32 z"
-- @tparam string operation statements that set the outputs: "z = x * y + 1"
-- @tparam[opt] table options `name` of the kernel, `preamble`: text before it (functions, includes)
-- @treturn function-like object; nothing is compiled before the first call
-- @raise kinds "type", "argument"
local function elementwise(inputs, outputs, operation, options)
  parameters.check_options("elementwise", options or {}, OPTIONS)
  if type(operation) ~= "string" or not operation:match "%S" then
    errors.raise(
      "type",
      "elementwise: the operation is text like 'z = x + y', not %s",
      type(operation) == "string" and "nothing" or "a " .. type(operation)
    )
  end
  local self = setmetatable({
    name = options and options.name or "elementwise",
    preamble = options and options.preamble or "",
    inputs = parameters.parse("elementwise", inputs),
    outputs = parameters.parse("elementwise", outputs),
    operation = operation:match "^%s*(.-)[%s;]*$",
    cache = parameters.cache(),
  }, Elementwise)
  if #self.outputs == 0 then
    errors.raise("argument", "elementwise: there is no output")
  end
  self.all =
    table.move(self.outputs, 1, #self.outputs, #self.inputs + 1, table.move(self.inputs, 1, #self.inputs, 1, {}))
  for k = 2, #self.all do
    for j = 1, k - 1 do
      if self.all[k].name == self.all[j].name then
        errors.raise("argument", "elementwise: two parameters are called '%s'", self.all[k].name)
      end
    end
  end
  return self
end

return elementwise
