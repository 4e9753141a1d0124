--- Scans: each element combined with all before it.
--
--    local cumsum = luhip.scan("f32", "a + b", "0")
--    local sums = cumsum(x)                                   -- inclusive: x1, x1 + x2, ...
--    local offsets = luhip.scan("i32", "a + b", "0", { exclusive = true })(counts)
--
-- The operation must be associative, with `identity` as its neutral value; it need not be commutative. An array of any
-- shape is scanned in the order of its elements.
--
-- Each block scans a tile (Hillis and Steele, "Data parallel algorithms", 1986, over its threads' own sums); the tiles'
-- totals are scanned the same way, and put in front of each tile.
-- Dependencies: luhip.core, luhip.errors, luhip.generate.parameters.
-- @module luhip.generate.scan

local core = require "luhip.core"
local errors = require "luhip.errors"
local parameters = require "luhip.generate.parameters"

local Scan = { __name = "luhip.scan" }
Scan.__index = errors.strict(Scan, "luhip.scan", { "name", "exclusive", "preamble" })

local BLOCK, PER_THREAD = 256, 4
local TILE = BLOCK * PER_THREAD

local TEMPLATE = [[
${includes}${preamble}typedef ${type} luhip_value;
static __device__ luhip_value luhip_combine(const luhip_value a, const luhip_value b) { return ${combine}; }

// Scans each tile by itself; totals (when there are any) gets what a tile's elements combine to.
extern "C" __global__ void ${name}(const luhip_value *x, luhip_value *y, luhip_value *totals, const long long n,
                                   const int exclusive) {
  __shared__ luhip_value sums[2][${block}];
  const unsigned t = threadIdx.x;
  const long long first = (long long)blockIdx.x * ${tile} + (long long)t * ${each};
  luhip_value own[${each}], sum = ${identity};
  for (int k = 0; k < ${each}; k++) {
    own[k] = first + k < n ? x[first + k] : (luhip_value)(${identity});
    sum = luhip_combine(sum, own[k]);
  }
  int from = 0;
  sums[0][t] = sum;
  __syncthreads();
  for (unsigned step = 1; step < ${block}; step *= 2) {
    sums[1 - from][t] = t >= step ? luhip_combine(sums[from][t - step], sums[from][t]) : sums[from][t];
    from = 1 - from;
    __syncthreads();
  }
  luhip_value before = t > 0 ? sums[from][t - 1] : (luhip_value)(${identity});
  for (int k = 0; k < ${each}; k++) {
    const luhip_value with = luhip_combine(before, own[k]);
    if (first + k < n) y[first + k] = exclusive ? before : with;
    before = with;
  }
  if (totals && t == ${block} - 1) totals[blockIdx.x] = sums[from][t];
}

// before[tile] is what all earlier tiles combine to.
extern "C" __global__ void ${name}_shift(const luhip_value *before, luhip_value *y, const long long n) {
  const luhip_value a = before[blockIdx.x];
  for (int k = 0; k < ${each}; k++) {
    const long long i = (long long)blockIdx.x * ${tile} + (long long)k * ${block} + threadIdx.x;
    if (i < n) y[i] = luhip_combine(a, y[i]);
  }
}
]]

local function text_of(self, dtype)
  return (
    TEMPLATE:gsub("%${(%w+)}", {
      includes = parameters.includes { [dtype] = true },
      preamble = self.preamble ~= "" and self.preamble .. "\n" or "",
      type = parameters.ctype(dtype),
      combine = self.combine,
      identity = self.identity,
      name = self.name,
      block = tostring(BLOCK),
      tile = tostring(TILE),
      each = tostring(PER_THREAD),
    })
  )
end

local function kernels_of(self, device, dtype)
  return self.cache(device, dtype, function()
    local program = device:compile(text_of(self, dtype), {
      name = self.name .. ".hip",
      access = { [self.name] = { y = "out", totals = "out" } },
    })
    return { scan = program:kernel(self.name), shift = program:kernel(self.name .. "_shift") }
  end)
end

-- From x into y; the tiles' totals are scanned, exclusively, in place.
local function run(kernels, x, y, count, exclusive)
  local tiles = -(-count // TILE)
  if tiles <= 1 then
    kernels.scan:launch({ grid = tiles, block = BLOCK }, x, y, core.null, count, exclusive)
    return
  end
  local totals <close> = x.device:buffer(x.dtype, tiles)
  kernels.scan:launch({ grid = tiles, block = BLOCK }, x, y, totals, count, exclusive)
  run(kernels, totals, totals, tiles, 1)
  kernels.shift:launch({ grid = tiles, block = BLOCK }, totals, y, count)
end

local function dtype_of(self, x)
  if not parameters.is_buffer(x) then
    errors.raise("type", "%s: a buffer expected, not %s", self.name, errors.describe(x))
  end
  return parameters.resolve(self.name, self.parameter, parameters.bind(self.name, { self.parameter }, { x }))
end

--- Runs it.
-- @tparam buffer x
-- @tparam[opt] buffer y where the result goes; x itself is allowed
-- @treturn buffer y, or a new buffer of x's shape
-- @raise kinds "type", "shape" for the call; "compile" with the expression's diagnostics
function Scan:__call(x, y, ...)
  errors.check_no_more(self.name, ...)
  local dtype = dtype_of(self, x)
  if y ~= nil and not parameters.is_buffer(y) then
    errors.raise("type", "%s: the output is a buffer, not %s", self.name, errors.describe(y))
  elseif y and (y.dtype ~= dtype or y.count ~= x.count) then
    errors.raise("shape", "%s: the output is %s[%d], not %s[%d]", self.name, y.dtype, y.count, dtype, x.count)
  elseif y and not y.is_contiguous then
    errors.raise("unsupported_strides", "%s: the output is a view with gaps", self.name)
  end
  local out = y or x.device:buffer(dtype, x.shape)
  local input = x.is_contiguous and x or x:contiguous()
  run(kernels_of(self, x.device, dtype), input, out, x.count, self.exclusive and 1 or 0)
  return out
end

--- The HIP C++ text for a call with this buffer.
-- @tparam buffer x
-- @treturn string
function Scan:source(x)
  return text_of(self, dtype_of(self, x))
end

function Scan:__tostring()
  return ("luhip.scan: %s of %s: %s from %s%s"):format(
    self.name,
    self.parameter.type,
    self.combine,
    self.identity,
    self.exclusive and ", exclusive" or ""
  )
end

local OPTIONS = { { "exclusive", "boolean" }, { "name", "identifier" }, { "preamble", "text" } }

--- Makes a scan.
-- @tparam string dtype an element type, or a capital letter for any
-- @tparam string combine an expression of a and b: "a + b", "a > b ? a : b"
-- @tparam string identity its neutral value: "0"
-- @tparam[opt] table options `exclusive`: without the element itself; `name`; `preamble`
-- @treturn function-like object; nothing is compiled before the first call
-- @raise kinds "type", "argument"
local function scan(dtype, combine, identity, options)
  options = options or {}
  parameters.check_options("scan", options, OPTIONS)
  for what, text in pairs { operation = combine or false, identity = identity or false } do
    if type(text) ~= "string" or not text:match "%S" then
      errors.raise(
        "type",
        "scan: the %s is an expression, not %s",
        what,
        (not text or type(text) == "string") and "nothing" or errors.describe(text)
      )
    end
  end
  if type(dtype) ~= "string" then
    errors.raise("type", "scan: an element type expected, not %s", errors.describe(dtype))
  end
  return setmetatable({
    name = options.name or "scan",
    preamble = options.preamble or "",
    exclusive = options.exclusive or false,
    parameter = parameters.parse("scan", dtype .. " x")[1],
    combine = combine,
    identity = identity,
    cache = parameters.cache(),
  }, Scan)
end

return scan
