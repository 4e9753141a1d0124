-- HIP's mathematical functions in kernels, float and double, against Lua's and against known values.

local support = require("spec.support")

-- Functions of one argument: name, what it is, the inputs. Values far from what Lua computes exactly are left out.
local UNARY = {
  { "sin", math.sin, { -100, -3, -0.5, 0, 1e-3, 1, 2, 50 } },
  { "cos", math.cos, { -100, -3, -0.5, 0, 1e-3, 1, 2, 50 } },
  { "tan", math.tan, { -1.5, -0.5, 0, 0.25, 1, 3 } },
  { "asin", math.asin, { -1, -0.5, 0, 0.25, 1 } },
  { "acos", math.acos, { -1, -0.5, 0, 0.25, 1 } },
  { "atan", math.atan, { -9, -0.5, 0, 0.25, 100 } },
  { "exp", math.exp, { -20, -1, 0, 0.5, 1, 20 } },
  { "log", math.log, { 1e-3, 0.5, 1, 2.5, 1e5 } },
  { "sqrt", math.sqrt, { 0, 0.25, 2, 1e6 } },
  { "fabs", math.abs, { -3.5, 0, 2 } },
  { "floor", math.floor, { -2.5, -2, -0.5, 0.5, 3.75 } },
  { "ceil", math.ceil, { -2.5, -2, -0.5, 0.5, 3.75 } },
  {
    "exp2",
    function(x)
      return 2.0 ^ x
    end,
    { -10, -0.5, 0, 3, 9.5 },
  },
  {
    "exp10",
    function(x)
      return 10.0 ^ x
    end,
    { -3, -0.5, 0, 2, 4.5 },
  },
  {
    "log2",
    function(x)
      return math.log(x, 2)
    end,
    { 0.25, 1, 3, 1024 },
  },
  {
    "log10",
    function(x)
      return math.log(x, 10)
    end,
    { 0.01, 1, 3, 1000 },
  },
  {
    "expm1",
    function(x)
      return math.exp(x) - 1
    end,
    { -3, 0.5, 2 },
  },
  {
    "log1p",
    function(x)
      return math.log(1 + x)
    end,
    { -0.5, 1, 9 },
  },
  {
    "cbrt",
    function(x)
      return x < 0 and -((-x) ^ (1 / 3)) or x ^ (1 / 3)
    end,
    { -27, 1, 2, 1000 },
  },
  {
    "sinh",
    function(x)
      return (math.exp(x) - math.exp(-x)) / 2
    end,
    { -2, 0.5, 3 },
  },
  {
    "cosh",
    function(x)
      return (math.exp(x) + math.exp(-x)) / 2
    end,
    { -2, 0.5, 3 },
  },
  {
    "tanh",
    function(x)
      return 1 - 2 / (math.exp(2 * x) + 1)
    end,
    { -2, 0.5, 3 },
  },
  {
    "asinh",
    function(x)
      return math.log(x + math.sqrt(x * x + 1))
    end,
    { 0.5, 1, 30 },
  },
  {
    "acosh",
    function(x)
      return math.log(x + math.sqrt(x * x - 1))
    end,
    { 1.5, 2, 30 },
  },
  {
    "atanh",
    function(x)
      return math.log((1 + x) / (1 - x)) / 2
    end,
    { -0.5, 0.25, 0.75 },
  },
  {
    "rsqrt",
    function(x)
      return 1 / math.sqrt(x)
    end,
    { 0.25, 2, 100 },
  },
  {
    "rcbrt",
    function(x)
      return x ^ (-1 / 3)
    end,
    { 0.125, 2, 1000 },
  },
  {
    "sinpi",
    function(x)
      return math.sin(math.pi * x)
    end,
    { -0.25, 0.1, 0.5, 1.3 },
  },
  {
    "cospi",
    function(x)
      return math.cos(math.pi * x)
    end,
    { -0.25, 0.1, 0.75, 1.3 },
  },
  {
    "trunc",
    function(x)
      return (math.modf(x))
    end,
    { -2.75, -0.5, 0.5, 3.75 },
  },
  {
    "rint",
    function(x)
      local f = math.floor(x + 0.5)
      return x + 0.5 == f and f % 2 == 1 and f - 1 or f
    end,
    { -2.5, -1.5, -0.4, 0.5, 1.5, 2.5, 7.3 },
  },
  {
    "round",
    function(x)
      return x < 0 and math.ceil(x - 0.5) or math.floor(x + 0.5)
    end,
    { -2.5, -0.4, 0.5, 2.5, 7.3 },
  },
}

-- What Lua cannot compute, by value.
local KNOWN = {
  { "erf(0.5)", 0.5204998778130465 },
  { "erf(-1.0)", -0.8427007929497149 },
  { "erfc(2.0)", 0.004677734981047266 },
  { "erfcx(10.0)", 0.05614099274382259 },
  { "erfinv(0.5)", 0.4769362762044699 },
  { "erfcinv(0.1)", 1.1630871536766743 },
  { "normcdf(1.0)", 0.8413447460685429 },
  { "normcdf(-6.0)", 9.865876450376946e-10 },
  { "normcdfinv(0.975)", 1.959963984540054 },
  { "tgamma(5.0)", 24 },
  { "tgamma(0.5)", 1.772453850905516 },
  { "lgamma(10.0)", 12.801827480081469 },
  { "j0(1.0)", 0.7651976865579666 },
  { "j1(1.0)", 0.44005058574493355 },
  { "y0(1.0)", 0.08825696421567698 },
  { "y1(1.0)", -0.7812128213002887 },
  { "jn(2, 1.0)", 0.1149034849319005 },
  { "cyl_bessel_i0(1.0)", 1.2660658777520084 },
  { "cyl_bessel_i1(-1.0)", -0.5651591039924850 },
  { "pow(2.0, 0.5)", 1.4142135623730951 },
  { "pow(3.0, 4)", 81 },
  { "pow(2, 10)", 1024 },
  { "atan2(1.0, -1.0)", 2.356194490192345 },
  { "fmod(7.5, 2.0)", 1.5 },
  { "remainder(7.5, 2.0)", -0.5 },
  { "hypot(3.0, 4.0)", 5 },
  { "rhypot(3.0, 4.0)", 0.2 },
  { "norm3d(2.0, 3.0, 6.0)", 7 },
  { "norm3d(2e300, 3e300, 6e300)", 7e300 },
  { "rnorm4d(1.0, 1.0, 1.0, 1.0)", 0.5 },
  { "fma(2.0, 3.0, 4.0)", 10 },
  { "fdim(3.0, 5.0)", 0 },
  { "copysign(3.0, -0.0)", -3 },
  { "nextafter(1.0, 2.0)", 1 + 2.0 ^ -52 },
  { "ldexp(0.75, 4)", 12 },
  { "scalbn(0.75, -2)", 0.1875 },
  { "ilogb(10.0)", 3 },
  { "logb(0.25)", -2 },
  { "lrint(2.5)", 2 },
  { "llround(-2.5)", -3 },
  { "fmin(NAN, 2.0)", 2 },
  { "fmax(1.0, NAN)", 1 },
  { "isnan(NAN) + 2 * isinf(-INFINITY) + 4 * isfinite(1.0) + 8 * signbit(-0.0) + 16 * isnormal(DBL_MIN)", 31 },
  { "isnan(1.0f) + isinf(NAN) + isfinite(INFINITY) + signbit(0.0f) + isnormal(1e-40f)", 0 },
  { "DBL_MAX / 1e308", 1.7976931348623157 },
  { "M_PI - 3.0", math.pi - 3 },
  { "__saturatef(1.5f) + __saturatef(-2.0f) + __saturatef(NAN)", 1 },
  { "__fdividef(1.0f, 4.0f)", 0.25 },
  { "abs(-3) + abs(-2LL) + abs(-1.5f) + abs(-0.25)", 6.75 },
  { "sqrt(16)", 4 }, -- integers go to double
}

-- inputs[name] per function, padded to one length, as one buffer: the kernel's threads run over them.
local WIDTH = 8

local function padded()
  local flat = {}
  for _, f in ipairs(UNARY) do
    for i = 1, WIDTH do
      flat[#flat + 1] = f[3][i] or f[3][1]
    end
  end
  return flat
end

local function unary_source(real)
  local cases = {}
  for i, f in ipairs(UNARY) do
    cases[i] = ("  out[%d + i] = %s(x[%d + i]);"):format((i - 1) * WIDTH, f[1], (i - 1) * WIDTH)
  end
  return ([[extern "C" __global__ void unary(const REAL *x, REAL *out) {
    int i = threadIdx.x;
    %s
  }]]):gsub("REAL", real):format(table.concat(cases, "\n"))
end

local function values(dev, dtype, ctype, expressions)
  local lines = {}
  for i, expression in ipairs(expressions) do
    lines[i] = ("  out[%d] = %s;"):format(i - 1, expression)
  end
  local k = dev:kernel(('extern "C" __global__ void values(%s *out) {\n%s\n}'):format(ctype, table.concat(lines, "\n")))
  local out = dev:buffer(dtype, #expressions)
  k:launch({ grid = 1, block = 1 }, out)
  return out:read():totable()
end

support.each_device(function(id)
  if not id:find("^cpu") then
    return
  end

  for dtype, real in pairs({ f32 = "float", f64 = "double" }) do
    it("math: functions of one " .. real .. " over a block", function()
      local dev = support.open(id)
      local flat = padded()
      local x, out = dev:buffer(dtype, #flat, flat), dev:buffer(dtype, #flat)
      dev:kernel(unary_source(real)):launch({ grid = 1, block = WIDTH }, x, out)
      local given, got = x:read():totable(), out:read():totable() -- as rounded to the type
      local tolerance = dtype == "f32" and 3e-7 or 2e-15
      for i, f in ipairs(UNARY) do
        for j = (i - 1) * WIDTH + 1, i * WIDTH do
          local wanted = f[2](given[j])
          assert.is_true(
            math.abs(got[j] - wanted) <= tolerance * math.max(math.abs(wanted), 0.1),
            ("%s(%.17g) is %.17g, not %.17g"):format(f[1], given[j], got[j], wanted)
          )
        end
      end
    end)
  end

  it("math: functions with known values", function()
    local dev = support.open(id)
    local expressions = {}
    for i, case in ipairs(KNOWN) do
      expressions[i] = case[1]
    end
    for i, got in ipairs(values(dev, "f64", "double", expressions)) do
      local wanted = KNOWN[i][2]
      assert.is_true(
        math.abs(got - wanted) <= 4e-15 * math.max(math.abs(wanted), 1e-10),
        ("%s is %.17g, not %.17g"):format(KNOWN[i][1], got, wanted)
      )
    end
  end)

  it("math: functions that return through a pointer", function()
    local dev = support.open(id)
    local k = dev:kernel([[
      extern "C" __global__ void k(double *out, double x) {
        int e; double whole, s, c; float fwhole, fs, fc;
        out[0] = frexp(x, &e); out[1] = e;
        out[2] = modf(x, &whole); out[3] = whole;
        sincos(x, &s, &c); out[4] = s * s + c * c;
        out[5] = remquo(x, 3.0, &e); out[6] = e & 7;
        out[7] = modff(-2.5f, &fwhole); out[8] = fwhole;
        __sincosf(0.0f, &fs, &fc); out[9] = fs; out[10] = fc;
        sincospi(0.5, &s, &c); out[11] = s; out[12] = c;
      }]])
    local out = dev:buffer("f64", 13)
    k:launch({ grid = 1, block = 1 }, out, 10.75)
    local got = out:read():totable()
    assert.near(1, got[5], 1e-15)
    got[5] = 1
    assert.same({ 0.671875, 4, 0.75, 10, 1, -1.25, 4, -0.5, -2, 0, 1, 1, 0 }, got)
  end)

  it("math: special values", function()
    local dev = support.open(id)
    local infinite =
      { "exp(1000.0)", "-log(0.0)", "rsqrt(0.0)", "1.0 / fabs(-0.0)", "erfinv(1.0)", "tgamma(200.0)", "HUGE_VAL" }
    local nan = { "sqrt(-1.0)", "log(-1.0)", "sin(INFINITY)", "sinpi(INFINITY)", "erfinv(2.0)", "acos(2.0)", 'nan("")' }
    for _, got in ipairs(values(dev, "f64", "double", infinite)) do
      assert.equal(math.huge, got)
    end
    for i, got in ipairs(values(dev, "f64", "double", nan)) do
      assert.is_true(got ~= got, nan[i])
    end
  end)

  it("math: min and max of equal and of mixed types", function()
    local dev = support.open(id)
    local source = [[
      template <class T, class U> constexpr bool same = std::is_same<T, U>::value;
      static_assert(same<decltype(max(1, 2)), int> && same<decltype(max(1.0f, 2.0f)), float>, "one type stays");
      static_assert(same<decltype(min(1u, 2)), unsigned> && same<decltype(min(1, 2ll)), long long>, "integers");
      static_assert(same<decltype(max(1.0f, 2.0)), double> && same<decltype(max(1, 2.0f)), double>, "others");
      namespace inner { __device__ int least(int a, long b) { return min(a, b) + std::max(a, 2); } }
      extern "C" __global__ void k(double *out, float nan) {
        out[0] = min(3u, 2); out[1] = max(-1, 1ll); out[2] = min(1.5f, 2); out[3] = inner::least(1, 5);
        out[4] = max(nan, 1.0f); out[5] = min((unsigned char)3, (unsigned char)7); out[6] = std::min(2.5, 1.5);
      }]]
    local out = dev:buffer("f64", 7)
    dev:kernel(source):launch({ grid = 1, block = 1 }, out, 0 / 0)
    assert.same({ 2, 1, 1.5, 3, 1, 3, 1.5 }, out:read():totable())
  end)

  it("math: conversions round as their names say, saturate, and make 0 of NaN", function()
    local dev = support.open(id)
    local cases = {
      { "__float2int_rn(2.5f)", 2 },
      { "__float2int_rn(3.5f)", 4 },
      { "__float2int_rz(-2.7f)", -2 },
      { "__float2int_rd(-2.1f)", -3 },
      { "__float2int_ru(2.1f)", 3 },
      { "__float2int_rn(3e9f)", 2147483647 },
      { "__float2int_rn(-3e9f)", -2147483648 },
      { "__float2int_rn(NAN)", 0 },
      { "__float2uint_rz(-1.5f)", 0 },
      { "__float2uint_rn(4e9f)", 4000000000 },
      { "__double2uint_rn(1e12)", 4294967295 },
      { "__double2ll_rd(-0.5)", -1 },
      { "__double2ll_rn(1e300)", math.maxinteger },
      { "__double2ll_rn(-1e300)", math.mininteger },
      { "__float2ll_ru(1e-30f)", 1 },
      { "(long long)__int2float_rd(16777219)", 16777218 },
      { "(long long)__int2float_ru(16777217)", 16777218 },
      { "(long long)__int2float_rz(-16777219)", -16777218 },
      { "(long long)__ll2double_rz((1ll << 53) + 1)", 1 << 53 },
      { "(long long)__ll2double_ru((1ll << 53) + 1)", (1 << 53) + 2 },
      { "__float_as_int(1.0f)", 0x3f800000 },
      { "__float_as_uint(-0.0f)", 0x80000000 },
      { "__double_as_longlong(1.0)", 0x3ff0000000000000 },
      { "(long long)__longlong_as_double(0x4008000000000000ll)", 3 },
      { "(long long)__int_as_float(0x40400000)", 3 },
      { "__double2hiint(-1.0)", -1074790400 },
      { "__double2loint(__hiloint2double(0x3ff00000, 5))", 5 },
      { "__float_as_uint(__double2float_rd(1.0 - 1e-12))", 0x3f7fffff },
      { "__float_as_uint(__double2float_ru(1.0 + 1e-12))", 0x3f800001 },
      { "__float_as_uint(__double2float_rz(1e300))", 0x7f7fffff },
    }
    local expressions = {}
    for i, case in ipairs(cases) do
      expressions[i] = case[1]
    end
    for i, got in ipairs(values(dev, "i64", "long long", expressions)) do
      assert.equal(cases[i][2], got, cases[i][1])
    end
  end)
end)
