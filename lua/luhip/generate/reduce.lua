--- Reductions: many elements to one, or one for each row.
--
--    local dot = luhip.reduce("f32 x, f32 y", "f32 result", "x * y", "a + b", "0")
--    local d = dot(x, y)                     -- a buffer of one element, which stays on the device
--    local norms = luhip.reduce("f32 x", "f32 y", "x * x", "a + b", "0", { post = "sqrtf(a)" })
--    local rows = norms(m, { axis = 2 })     -- one for each row of a matrix
--
-- `map` makes a value of the parameters (and of `i`, the index, and `n`, the number of elements); `reduce` combines
-- two of them, `a` and `b`, and must be associative and commutative, with `identity` as its neutral value; `post` makes
-- the result of the last `a`. The order of combining depends on sizes alone: the same input gives the same bits again
-- on the same device.
--
-- All of an array is reduced in two launches: blocks leave a partial result each, and one block combines those.
-- Dependencies: luhip.generate.parameters, luhip.errors.
-- @module luhip.generate.reduce

local errors = require "luhip.errors"
local parameters = require "luhip.generate.parameters"

local Reduce = { __name = "luhip.reduce" }
Reduce.__index = errors.strict(Reduce, "luhip.reduce", { "name", "inputs", "output", "preamble" })

local BLOCK, PARTIALS, PER_THREAD = 256, 256, 16

-- ---- the text --------------------------------------------------------------------------------------------------

-- part[] holds a value of each thread; afterwards part[0] that of all.
local TEMPLATE = [[
${includes}${preamble}typedef ${accumulator} luhip_value;
static __device__ luhip_value luhip_map(${parameters}, const long long i, const long long n) { return ${map}; }
static __device__ luhip_value luhip_combine(const luhip_value a, const luhip_value b) { return ${reduce}; }
static __device__ ${output} luhip_post(const luhip_value a, const long long n) { return ${post}; }

static __device__ luhip_value luhip_reduce_block(luhip_value *part, const luhip_value mine) {
  part[threadIdx.x] = mine;
  for (unsigned half = ${block} / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] = luhip_combine(part[threadIdx.x], part[threadIdx.x + half]);
  }
  __syncthreads();
  return part[0];
}

// Result r is that of the elements first(r) + k * inner, k = 0 .. count - 1.
extern "C" __global__ void ${name}(${pointers}, ${output} *result, const long long results, const long long count,
                                   const long long inner) {
  __shared__ luhip_value part[${block}];
  for (long long r = blockIdx.x; r < results; r += gridDim.x) {
    const long long first = r / inner * inner * count + r % inner;
    luhip_value mine = ${identity};
    for (long long k = threadIdx.x; k < count; k += ${block}) {
      const long long i = first + k * inner;
      mine = luhip_combine(mine, luhip_map(${arguments}, i, count));
    }
    const luhip_value all = luhip_reduce_block(part, mine);
    if (threadIdx.x == 0) result[r] = luhip_post(all, count);
    __syncthreads();
  }
}

extern "C" __global__ void ${name}_partial(${pointers}, luhip_value *partial, const long long count) {
  __shared__ luhip_value part[${block}];
  luhip_value mine = ${identity};
  for (long long i = (long long)blockIdx.x * ${block} + threadIdx.x; i < count; i += (long long)gridDim.x * ${block})
    mine = luhip_combine(mine, luhip_map(${arguments}, i, count));
  const luhip_value all = luhip_reduce_block(part, mine);
  if (threadIdx.x == 0) partial[blockIdx.x] = all;
}

extern "C" __global__ void ${name}_final(const luhip_value *partial, ${output} *result, const long long partials,
                                         const long long count) {
  __shared__ luhip_value part[${block}];
  luhip_value mine = ${identity};
  for (long long i = threadIdx.x; i < partials; i += ${block}) mine = luhip_combine(mine, partial[i]);
  const luhip_value all = luhip_reduce_block(part, mine);
  if (threadIdx.x == 0) result[0] = luhip_post(all, count);
}
]]

local function text_of(self, types)
  local list, pointers, arguments, used = {}, {}, {}, {}
  for k, parameter in ipairs(self.inputs) do
    local ctype = parameters.ctype(types.inputs[k])
    pointers[k] = ("const %s *%s_"):format(ctype, parameter.name)
    list[k] = (parameter.raw and "const %s *%s" or "const %s %s"):format(ctype, parameter.name)
    arguments[k] = parameter.raw and parameter.name .. "_" or parameter.name .. "_[i]"
    used[types.inputs[k]] = true
  end
  used[types.output], used[types.accumulator] = true, true
  return (
    TEMPLATE:gsub("%${(%w+)}", {
      includes = parameters.includes(used),
      preamble = self.preamble ~= "" and self.preamble .. "\n" or "",
      accumulator = parameters.ctype(types.accumulator),
      output = parameters.ctype(types.output),
      parameters = table.concat(list, ", "),
      pointers = table.concat(pointers, ", "),
      arguments = table.concat(arguments, ", "),
      map = self.map,
      reduce = self.reduce,
      identity = self.identity,
      post = self.post,
      name = self.name,
      block = tostring(BLOCK),
    })
  )
end

-- ---- a call ----------------------------------------------------------------------------------------------------

local function check_inputs(self, values)
  local shape
  for k, parameter in ipairs(self.inputs) do
    local value = values[k]
    if not parameters.is_buffer(value) then
      errors.raise(
        "type",
        "%s: '%s' is a buffer, not %s",
        self.name,
        parameter.name,
        value == nil and "missing" or errors.describe(value)
      )
    elseif not parameter.raw then
      if shape and not parameters.same_shape(shape, value.shape) then
        errors.raise(
          "shape",
          "%s: '%s' is %s, others are %s",
          self.name,
          parameter.name,
          parameters.shape_text(value.shape),
          parameters.shape_text(shape)
        )
      end
      shape = shape or value.shape
    end
  end
  return shape
end

-- How the elements lie: results, elements of each, distance between them.
local function geometry_of(self, shape, axis)
  local total = 1
  for _, size in ipairs(shape) do
    total = total * size
  end
  if not axis then
    return { results = 1, count = total, inner = 1, shape = { 1 } }
  elseif math.type(axis) ~= "integer" or axis < 1 or axis > #shape then
    errors.raise("range", "%s: axis %s is outside 1..%d", self.name, tostring(axis), #shape)
  end
  local inner, rest = 1, {}
  for k, size in ipairs(shape) do
    if k > axis then
      inner = inner * size
    end
    if k ~= axis then
      rest[#rest + 1] = size
    end
  end
  local results = 1
  for _, size in ipairs(rest) do
    results = results * size
  end
  return { results = results, count = shape[axis], inner = inner, shape = #rest > 0 and rest or { 1 } }
end

local function split_arguments(self, ...)
  local values, count = { ... }, select("#", ...)
  local options = {}
  if type(values[count]) == "table" then
    options, values[count], count = values[count], nil, count - 1
  end
  for key in pairs(options) do
    if key ~= "axis" then
      errors.raise("argument", "%s: no option '%s'; there is axis", self.name, tostring(key))
    end
  end
  if count > #self.inputs + 1 then
    errors.raise(
      "argument",
      "%s: %d arguments; it takes (%s) and an output that may be left out",
      self.name,
      count,
      parameters.describe(self.inputs)
    )
  end
  return values, values[#self.inputs + 1], options
end

local function prepare(self, ...)
  local values, out, options = split_arguments(self, ...)
  local shape = check_inputs(self, values)
  if out ~= nil and not parameters.is_buffer(out) then
    errors.raise("type", "%s: the output is a buffer, not %s", self.name, errors.describe(out))
  end
  local call = { values = values, out = out, device = parameters.device(self.name, values, #self.inputs) }
  local known = parameters.bind(self.name, self.inputs, values)
  parameters.bind(self.name, { self.output }, { out }, known)
  call.types = { inputs = {}, output = parameters.resolve(self.name, self.output, known) }
  for k, parameter in ipairs(self.inputs) do
    call.types.inputs[k] = parameters.resolve(self.name, parameter, known)
  end
  call.types.accumulator = self.accumulate or call.types.output
  call.geometry = geometry_of(self, shape, options.axis)
  if out and out.count ~= call.geometry.results then
    errors.raise("shape", "%s: the output has %d elements, not %d", self.name, out.count, call.geometry.results)
  elseif out and not out.is_contiguous then
    errors.raise("unsupported_strides", "%s: the output is a view with gaps", self.name)
  end
  return call
end

local function program_of(self, call)
  local key = table.concat(call.types.inputs, ",") .. ">" .. call.types.output .. ">" .. call.types.accumulator
  return self.cache(call.device, key, function()
    local program = call.device:compile(text_of(self, call.types), {
      name = self.name .. ".hip",
      access = {
        [self.name] = { result = "out" },
        [self.name .. "_partial"] = { partial = "out" },
        [self.name .. "_final"] = { result = "out" },
      },
    })
    return {
      rows = program:kernel(self.name),
      partial = program:kernel(self.name .. "_partial"),
      final = program:kernel(self.name .. "_final"),
    }
  end)
end

local function reduce_all(call, kernels, arguments, out)
  local count = call.geometry.count
  local partials = math.max(1, math.min(PARTIALS, -(-count // (BLOCK * PER_THREAD))))
  local partial <close> = call.device:buffer(call.types.accumulator, partials)
  local n = #arguments
  arguments[n + 1], arguments[n + 2] = partial, count
  kernels.partial:launch({ grid = partials, block = BLOCK }, table.unpack(arguments))
  kernels.final:launch({ grid = 1, block = BLOCK }, partial, out, partials, count)
end

local function reduce_rows(call, kernels, arguments, out)
  local geometry, n = call.geometry, #arguments
  arguments[n + 1], arguments[n + 2] = out, geometry.results
  arguments[n + 3], arguments[n + 4] = geometry.count, geometry.inner
  local grid = math.min(geometry.results, math.max(1, call.device.units) * 64, call.device.max_grid[1])
  kernels.rows:launch({ grid = grid, block = BLOCK }, table.unpack(arguments))
end

--- Runs it.
-- @param ... the inputs, then the output, which may be left out, then a table with `axis`
-- @treturn buffer of one element, or of the shape without the axis
-- @raise kinds "argument", "type", "shape", "range" for the call; "compile" with the expressions' diagnostics
function Reduce:__call(...)
  local call = prepare(self, ...)
  local arguments = {}
  for k in ipairs(self.inputs) do
    local value = call.values[k]
    arguments[k] = value.is_contiguous and value or value:contiguous()
  end
  local kernels = program_of(self, call)
  local out = call.out or call.device:buffer(call.types.output, call.geometry.shape)
  local run = call.geometry.results == 1 and reduce_all or reduce_rows
  run(call, kernels, arguments, out)
  return out
end

--- The HIP C++ text for a call with these arguments.
-- @param ... as for the call
-- @treturn string
function Reduce:source(...)
  return text_of(self, prepare(self, ...).types)
end

function Reduce:__tostring()
  return ("luhip.reduce: %s(%s) -> %s: %s, %s from %s"):format(
    self.name,
    parameters.describe(self.inputs),
    parameters.describe { self.output },
    self.map,
    self.reduce,
    self.identity
  )
end

local OPTIONS = { { "name", "identifier" }, { "preamble", "text" }, { "post", "text" }, { "accumulate", "text" } }

--- Makes a reduction.
-- @tparam string inputs "f32 x, f32 y"
-- @tparam string output "f32 y"
-- @tparam string map an expression of the inputs' names: "x * y"
-- @tparam string reduce an expression of a and b: "a + b"
-- @tparam string identity its neutral value: "0"
-- @tparam[opt] table options `post`: an expression of a; `accumulate`: the element type to combine in, the output's if
--   there is none; `name`; `preamble`
-- @treturn function-like object; nothing is compiled before the first call
local function reduce(inputs, output, map, combine, identity, options)
  options = options or {}
  parameters.check_options("reduce", options, OPTIONS)
  if options.accumulate and not parameters.ctype(options.accumulate) then
    errors.raise("argument", "reduce: accumulate: no element type '%s'", options.accumulate)
  end
  for what, text in pairs { map = map or false, reduce = combine or false, identity = identity or false } do
    if type(text) ~= "string" or not text:match "%S" then
      errors.raise(
        "type",
        "reduce: %s is an expression, not %s",
        what,
        (not text or type(text) == "string") and "nothing" or errors.describe(text)
      )
    end
  end
  local outputs = parameters.parse("reduce", output)
  local self = setmetatable({
    name = options.name or "reduce",
    preamble = options.preamble or "",
    post = options.post or "a",
    accumulate = options.accumulate or false,
    inputs = parameters.parse("reduce", inputs),
    output = outputs[1],
    map = map,
    reduce = combine,
    identity = identity,
    cache = parameters.cache(),
  }, Reduce)
  if #outputs ~= 1 then
    errors.raise("argument", "reduce: there is one output, not %d", #outputs)
  end
  local counted = false
  for _, parameter in ipairs(self.inputs) do
    counted = counted or not parameter.raw
  end
  if not counted then
    errors.raise("argument", "reduce: no input tells how many elements there are")
  end
  return self
end

return reduce
