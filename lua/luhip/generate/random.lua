--- Random numbers: the same on every device.
--
--    local rng = luhip.random(42)
--    local u = rng:uniform(dev, "f32", { 512, 256 })          -- in [0, 1)
--    local z = rng:normal(dev, "f32", 1000, 10, 2)            -- mean 10, standard deviation 2
--    local d = rng:integers(dev, "i32", 1000, 1, 6)           -- 1 to 6
--    rng:uniform(x)                                           -- fills a buffer that is there
--
-- The generator is counter-based: Philox 4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
-- easy as 1, 2, 3", 2011). Element i of a call depends on the seed, on how many numbers were drawn before, and on i:
-- not on the device, nor on how it spreads the work. Normal numbers are Box and Muller's, in operations that round the
-- same everywhere (IEEE 754 multiply-add, division and square root of doubles; logarithm, sine and cosine are series of
-- those), so they too are the same to the last bit.
-- Dependencies: luhip.core, luhip.errors, luhip.generate.parameters.
-- @module luhip.generate.random

local core = require "luhip.core"
local errors = require "luhip.errors"
local parameters = require "luhip.generate.parameters"

local Random = { __name = "luhip.random" }
Random.__index = errors.strict(Random, "luhip.random", { "seed", "drawn" })

local BLOCK = 256

-- Two of a block's four words make one 64-bit number, so a counter serves two elements.
local COMMON = [[
${includes}typedef unsigned int luhip_word;
typedef unsigned long long luhip_long;

// The pair of 64-bit numbers with this index.
static __device__ void luhip_philox(luhip_long seed, luhip_long index, luhip_long pair[2]) {
  luhip_word c0 = (luhip_word)index, c1 = (luhip_word)(index >> 32), c2 = 0, c3 = 0;
  luhip_word k0 = (luhip_word)seed, k1 = (luhip_word)(seed >> 32);
  for (int round = 0; round < 10; round++) {
    const luhip_long p0 = (luhip_long)0xD2511F53u * c0, p1 = (luhip_long)0xCD9E8D57u * c2;
    c0 = (luhip_word)(p1 >> 32) ^ c1 ^ k0;
    c2 = (luhip_word)(p0 >> 32) ^ c3 ^ k1;
    c1 = (luhip_word)p1;
    c3 = (luhip_word)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  pair[0] = (luhip_long)c1 << 32 | c0;
  pair[1] = (luhip_long)c3 << 32 | c2;
}

// In [0, 1), a multiple of 2^-53.
static __device__ double luhip_unit(luhip_long bits) { return (double)(bits >> 11) * (1.0 / 9007199254740992.0); }
]]

local UNIFORM = COMMON
  .. [[

// low + unit * range, rounded once more to the element type.
static __device__ ${type} luhip_make(const luhip_long pair[2], int which, ${bound} low, ${bound} range) {
  return (${type})fma(${unit}(pair[which]), range, low);
}
]]

local INTEGERS = COMMON
  .. [[

// low + floor(bits * range / 2^64); a range of 0 is all 2^64.
static __device__ ${type} luhip_make(const luhip_long pair[2], int which, ${bound} low, ${bound} range) {
  const luhip_long bits = pair[which], wide = (luhip_long)range;
  return (${type})((luhip_long)low + (wide ? __umul64hi(bits, wide) : bits));
}
]]

-- Series over doubles, by Horner's rule with fma alone. ln m = 2 artanh s, s = (m - 1) / (m + 1), for m in [sqrt 1/2,
-- sqrt 2): s^2 <= 0.0295, so 12 terms leave less than 2^-60. Sine and cosine of up to pi / 4: terms to x^19 and x^18.
local NORMAL = COMMON
  .. [[

static __device__ double luhip_log(double x) { // of a normal number above 0
  luhip_long bits = (luhip_long)__double_as_longlong(x);
  int e = (int)(bits >> 52) - 1023;
  double m = __longlong_as_double((long long)((bits & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull));
  if (m > 1.4142135623730951) {
    m = m * 0.5;
    e = e + 1;
  }
  const double s = (m - 1.0) / (m + 1.0), z = fma(s, s, 0.0);
  double sum = 1.0 / 25.0;
  for (int k = 23; k >= 1; k -= 2) sum = fma(sum, z, 1.0 / k);
  return fma((double)e, 0.6931471805599453, fma(s, 2.0, 0.0) * sum);
}

// sin and cos of 2 pi v, v in [0, 1).
static __device__ void luhip_turn(double v, double *sine, double *cosine) {
  const int quarter = (int)fma(v, 4.0, 0.5);
  const double x = fma(v, 4.0, -(double)quarter) * 1.5707963267948966, z = fma(x, x, 0.0);
  double s = 0.0, c = 0.0;
  for (int k = 19; k >= 3; k -= 2) s = fma(s, z, 1.0) / (double)(-(k * (k - 1)));
  s = fma(s, z, 1.0);
  for (int k = 18; k >= 2; k -= 2) c = fma(c, z, 1.0) / (double)(-(k * (k - 1)));
  c = fma(c, z, 1.0);
  s = fma(s, x, 0.0);
  const int q = quarter & 3;
  *sine = q == 0 ? s : q == 1 ? c : q == 2 ? -s : -c;
  *cosine = q == 0 ? c : q == 1 ? -s : q == 2 ? -c : s;
}

static __device__ ${type} luhip_make(const luhip_long pair[2], int which, double low, double range) {
  const double u = 1.0 - luhip_unit(pair[0]); // in (0, 1]
  double sine, cosine;
  luhip_turn(luhip_unit(pair[1]), &sine, &cosine);
  const double radius = sqrt(-2.0 * luhip_log(u));
  return (${type})fma(fma(radius, which ? sine : cosine, 0.0), range, low);
}
]]

local KERNEL = [[

extern "C" __global__ void luhip_random(${type} *y, const luhip_long seed, const luhip_long drawn, const long long n,
                                        const ${bound} low, const ${bound} range) {
  const long long pairs = (n + 1) / 2;
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long p = (long long)blockIdx.x * blockDim.x + threadIdx.x; p < pairs; p += stride) {
    luhip_long pair[2];
    luhip_philox(seed, drawn + (luhip_long)p, pair);
    y[2 * p] = luhip_make(pair, 0, low, range);
    if (2 * p + 1 < n) y[2 * p + 1] = luhip_make(pair, 1, low, range);
  }
}
]]

local FLOATING = { f32 = true, f64 = true, f16 = true, bf16 = true }
local LIMITS = {
  i8 = { -128, 127 },
  u8 = { 0, 255 },
  i16 = { -32768, 32767 },
  u16 = { 0, 65535 },
  i32 = { -(1 << 31), (1 << 31) - 1 },
  u32 = { 0, (1 << 32) - 1 },
  i64 = { math.mininteger, math.maxinteger },
  u64 = { 0, math.maxinteger },
}
local TEXTS = { uniform = UNIFORM, normal = NORMAL, integers = INTEGERS }

local cached = parameters.cache()

-- f32 numbers are of 24 bits and made in float, so that they stay below 1; half types are rounded from those.
local UNIT32 = [[

static __device__ float luhip_unit32(luhip_long bits) { return (float)(bits >> 40) * (1.0f / 16777216.0f); }
]]

local function text_of(what, dtype)
  local single = what == "uniform" and dtype ~= "f64"
  local text = TEXTS[what] .. KERNEL
  if single then
    text = text:gsub("\n// low %+ unit", function(found)
      return UNIT32 .. found
    end, 1)
  end
  return (
    text:gsub("%${(%w+)}", {
      includes = parameters.includes { [dtype] = true },
      type = parameters.ctype(dtype),
      bound = what == "integers" and "long long" or single and "float" or "double",
      unit = single and "luhip_unit32" or "luhip_unit",
    })
  )
end

local function kernel_of(device, what, dtype)
  return cached(device, what .. dtype, function()
    return device:kernel(text_of(what, dtype), "luhip_random", {
      name = ("random_%s_%s.hip"):format(what, dtype),
      access = { luhip_random = { y = "out" } },
    })
  end)
end

-- (buffer, a, b) or (device, dtype, shape, a, b): the buffer, a, b.
local function target_of(what, first, ...)
  if parameters.is_buffer(first) then
    if not first.is_contiguous then
      errors.raise("unsupported_strides", "random:%s: the buffer is a view with gaps", what)
    end
    errors.check_no_more("random:" .. what, select(3, ...))
    return first, ...
  elseif debug.getmetatable(first) ~= core.metatables.device then
    errors.raise(
      "type",
      "random:%s: a buffer, or a device, a type and a shape expected, not %s",
      what,
      errors.describe(first)
    )
  end
  local dtype, shape = ...
  if dtype == nil or shape == nil then
    errors.raise("argument", "random:%s: after the device come an element type and a shape", what)
  end
  errors.check_no_more("random:" .. what, select(5, ...))
  return first:buffer(dtype, shape), select(3, ...)
end

local function draw(self, what, buffer, low, range)
  local count = buffer.count
  local pairs_of = (count + 1) // 2
  local device = buffer.device
  local kernel = kernel_of(device, what, buffer.dtype)
  local grid = math.min(-(-pairs_of // BLOCK), math.max(1, device.units) * 64, device.max_grid[1])
  kernel:launch({ grid = grid, block = BLOCK }, buffer, self.seed, self.drawn, count, low, range)
  self.drawn = self.drawn + pairs_of
  return buffer
end

local function check_number(what, name, value)
  if math.type(value) == nil or value ~= value or value == math.huge or value == -math.huge then
    errors.raise("type", "random:%s: %s is a finite number, not %s", what, name, errors.describe(value))
  end
end

local function check_floating(what, buffer)
  if not FLOATING[buffer.dtype] then
    errors.raise("type", "random:%s: f32, f64, f16 or bf16 expected, not %s", what, buffer.dtype)
  end
end

--- Numbers spread evenly over [low, high).
-- @param ... a buffer, or a device, an element type (f32, f64, f16, bf16) and a shape; then
-- @tparam[opt=0] number low
-- @tparam[opt=1] number high rounding may give it for half types, and for ranges that a float cannot resolve
-- @treturn buffer
function Random:uniform(...)
  local buffer, low, high = target_of("uniform", ...)
  low, high = low or 0, high or 1
  check_number("uniform", "low", low)
  check_number("uniform", "high", high)
  check_floating("uniform", buffer)
  if high < low then
    errors.raise("range", "random:uniform: the range from %s to %s is empty", tostring(low), tostring(high))
  end
  return draw(self, "uniform", buffer, low, high - low)
end

--- Numbers of a normal distribution.
-- @param ... a buffer, or a device, an element type (f32, f64, f16, bf16) and a shape; then
-- @tparam[opt=0] number mean
-- @tparam[opt=1] number deviation the standard deviation
-- @treturn buffer
function Random:normal(...)
  local buffer, mean, deviation = target_of("normal", ...)
  mean, deviation = mean or 0, deviation or 1
  check_number("normal", "the mean", mean)
  check_number("normal", "the standard deviation", deviation)
  check_floating("normal", buffer)
  if deviation < 0 then
    errors.raise("range", "random:normal: the standard deviation is %s, and cannot be negative", tostring(deviation))
  end
  return draw(self, "normal", buffer, mean, deviation)
end

--- Whole numbers from low to high, both included.
-- @param ... a buffer, or a device, an integer type and a shape; then
-- @tparam integer low
-- @tparam integer high
-- @treturn buffer
function Random:integers(...)
  local buffer, low, high = target_of("integers", ...)
  local limits = LIMITS[buffer.dtype]
  if not limits then
    errors.raise("type", "random:integers: an integer type expected, not %s", buffer.dtype)
  end
  local first, last = math.tointeger(low), math.tointeger(high)
  if not first or not last then
    errors.raise(
      "type",
      "random:integers: low and high are whole numbers, not %s and %s",
      errors.describe(low),
      errors.describe(high)
    )
  elseif last < first then
    errors.raise("range", "random:integers: there is no number from %d to %d", first, last)
  elseif first < limits[1] or last > limits[2] then
    errors.raise("range", "random:integers: %d to %d does not fit %s", first, last, buffer.dtype)
  end
  return draw(self, "integers", buffer, first, last - first + 1)
end

--- The HIP C++ text that makes such numbers.
-- @tparam string what "uniform", "normal" or "integers"
-- @tparam string dtype
-- @treturn string
function Random.source(_, what, dtype)
  local known = what == "integers" and LIMITS[dtype] or TEXTS[what] and what ~= "integers" and FLOATING[dtype]
  if not known then
    errors.raise("argument", "random:source: there are no numbers '%s' of type %s", tostring(what), tostring(dtype))
  end
  return text_of(what, dtype)
end

function Random:__tostring()
  return ("luhip.random: seed %d, %d pairs drawn"):format(self.seed, self.drawn)
end

--- Makes a generator. Its `seed` and `drawn` (pairs of numbers so far) are fields: setting `drawn` goes back or ahead.
-- @tparam[opt=0] integer seed 64 bits
-- @treturn generator with uniform, normal, integers, source
-- @raise kind "type"
local function random(seed, ...)
  errors.check_no_more("random", ...)
  local bits = seed == nil and 0 or math.tointeger(seed)
  if not bits or type(seed) == "string" then
    errors.raise("type", "random: the seed is a whole number, not %s", errors.describe(seed))
  end
  return setmetatable({ seed = bits, drawn = 0 }, Random)
end

return random
