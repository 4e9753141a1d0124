-- HIP's integer intrinsics in kernels, against the same in Lua.

local support = require("spec.support")

local WORDS = { 0, 1, 2, 0x80000000, 0xffffffff, 0x7fffffff, 0x12345678, 0xdeadbeef, 0x00ff00ff, 0x80000001 }

local function signed(x)
  return (x & 0xffffffff ~ 0x80000000) - 0x80000000
end
local function popc(x)
  local n = 0
  while x ~= 0 do
    x, n = x & (x - 1), n + 1
  end
  return n
end
local function clz(x, bits)
  for i = bits - 1, 0, -1 do
    if x >> i & 1 == 1 then
      return bits - 1 - i
    end
  end
  return bits
end
local function ffs(x, bits)
  for i = 0, bits - 1 do
    if x >> i & 1 == 1 then
      return i + 1
    end
  end
  return 0
end
local function reverse(x, bits)
  local r = 0
  for i = 0, bits - 1 do
    r = r | (x >> i & 1) << (bits - 1 - i)
  end
  return r
end
local function low24(x)
  return (x & 0xffffff ~ 0x800000) - 0x800000
end
local function byte_perm(x, y, s)
  local bytes, r = y << 32 | x, 0
  for i = 0, 3 do
    r = r | (bytes >> ((s >> 4 * i & 7) * 8) & 255) << 8 * i
  end
  return r
end

-- C expressions of x, y (unsigned, and a = int x, b = int y) and the same in Lua, as unsigned 32-bit results.
local CASES = {
  { "__popc(x)", popc },
  {
    "__clz(a)",
    function(x)
      return clz(x, 32)
    end,
  },
  {
    "__ffs(a)",
    function(x)
      return ffs(x, 32)
    end,
  },
  {
    "__brev(x)",
    function(x)
      return reverse(x, 32)
    end,
  },
  {
    "__mulhi(a, b)",
    function(x, y)
      return signed(x) * signed(y) >> 32
    end,
  },
  {
    "__umulhi(x, y)",
    function(x, y)
      return x * y >> 32
    end,
  },
  {
    "__mul24(a, b)",
    function(x, y)
      return low24(x) * low24(y)
    end,
  },
  {
    "__umul24(x, y)",
    function(x, y)
      return (x & 0xffffff) * (y & 0xffffff)
    end,
  },
  {
    "__sad(a, b, 7u)",
    function(x, y)
      return math.abs(signed(x) - signed(y)) + 7
    end,
  },
  {
    "__usad(x, y, 7u)",
    function(x, y)
      return math.abs(x - y) + 7
    end,
  },
  {
    "__hadd(a, b)",
    function(x, y)
      return (signed(x) + signed(y)) >> 1
    end,
  },
  {
    "__rhadd(a, b)",
    function(x, y)
      return (signed(x) + signed(y) + 1) >> 1
    end,
  },
  {
    "__uhadd(x, y)",
    function(x, y)
      return (x + y) >> 1
    end,
  },
  {
    "__byte_perm(x, y, 0x7531)",
    function(x, y)
      return byte_perm(x, y, 0x7531)
    end,
  },
  {
    "__byte_perm(x, y, y)",
    function(x, y)
      return byte_perm(x, y, y)
    end,
  },
  {
    "__funnelshift_l(x, y, 36)",
    function(x, y)
      return (y << 4 | x >> 28)
    end,
  },
  {
    "__funnelshift_r(x, y, 4)",
    function(x, y)
      return x >> 4 | y << 28
    end,
  },
  {
    "__funnelshift_lc(x, y, 40)",
    function(x)
      return x
    end,
  },
  {
    "__funnelshift_rc(x, y, 40)",
    function(_, y)
      return y
    end,
  },
  {
    "__rotl32(x, 8)",
    function(x)
      return x << 8 | x >> 24
    end,
  },
  {
    "__rotr32(x, 8)",
    function(x)
      return x >> 8 | x << 24
    end,
  },
  {
    "__bitextract_u32(x, 4, 8)",
    function(x)
      return x >> 4 & 255
    end,
  },
  {
    "__bitinsert_u32(x, y, 4, 8)",
    function(x, y)
      return x & ~0xff0 | (y & 255) << 4
    end,
  },
  {
    "__popcll(w)",
    function(x, y)
      return popc(y << 32 | x)
    end,
  },
  {
    "__clzll((long long)w)",
    function(x, y)
      return clz(y << 32 | x, 64)
    end,
  },
  {
    "__ffsll((long long)w)",
    function(x, y)
      return ffs(y << 32 | x, 64)
    end,
  },
  {
    "unsigned(__brevll(w) >> 32)",
    function(x)
      return reverse(x, 32)
    end,
  },
  {
    "unsigned(__umul64hi(w, 1ull << 32))",
    function(_, y)
      return y
    end,
  },
  {
    "unsigned(__mul64hi((long long)w, 1ll << 32))",
    function(_, y)
      return y
    end,
  },
  {
    "__dp4a(a, 0x01010101, 5)",
    function(x)
      local sum = 5
      for i = 0, 24, 8 do
        sum = sum + ((x >> i & 255 ~ 128) - 128)
      end
      return sum
    end,
  },
}

support.each_device(function(id)
  if not id:find("^cpu") then
    return
  end

  it("integers: intrinsics over a block", function()
    local dev = support.open(id)
    local lines, xs, ys = {}, {}, {}
    for i, case in ipairs(CASES) do
      lines[i] = ("  out[%d * n + i] = (unsigned)(%s);"):format(i - 1, case[1])
    end
    for _, x in ipairs(WORDS) do
      for _, y in ipairs(WORDS) do
        xs[#xs + 1], ys[#ys + 1] = x, y
      end
    end
    local n = #xs
    local k = dev:kernel(([[
    extern "C" __global__ void k(const unsigned *xs, const unsigned *ys, unsigned *out, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      unsigned x = xs[i], y = ys[i];
      int a = (int)x, b = (int)y;
      unsigned long long w = (unsigned long long)y << 32 | x;
      (void)a, (void)b, (void)w;
      %s
    }]]):format(table.concat(lines, "\n")))
    local out = dev:buffer("u32", n * #CASES)
    k:launch({ grid = 4, block = 32 }, dev:from("u32", xs), dev:from("u32", ys), out, n)
    local got = out:read():totable()
    for c, case in ipairs(CASES) do
      for i = 1, n do
        local wanted = case[2](xs[i], ys[i]) & 0xffffffff
        assert.equal(wanted, got[(c - 1) * n + i], ("%s, x = 0x%x, y = 0x%x"):format(case[1], xs[i], ys[i]))
      end
    end
  end)

  it("integers: intrinsics are constant expressions, limits and types are there", function()
    local dev = support.open(id)
    dev:compile([[
      static_assert(__clz(0) == 32 && __clzll(0) == 64 && __ffs(0) == 0 && __popc(~0u) == 32, "");
      static_assert(__fns32(0x16, 1, 1) == 1 && __fns32(0x16, 0, 3) == 4 && __fns32(0x16, 4, -2) == 2, "");
      static_assert(__fns32(1, 5, 1) == -1 && __fns64(1ull << 40, 0, 1) == 40, "");
      static_assert(sizeof(int8_t) == 1 && sizeof(uint16_t) == 2 && sizeof(int32_t) == 4 && sizeof(uint64_t) == 8, "");
      static_assert(sizeof(size_t) == 8 && sizeof(uint) == 4 && sizeof(ulong) == 8 && sizeof(uchar) == 1, "");
      static_assert(INT_MAX == 2147483647 && UINT_MAX == 4294967295u && INT64_MIN == -9223372036854775807ll - 1, "");
      static_assert(SIZE_MAX == ~size_t(0) && UINT8_MAX == 255 && UINT32_C(1) << 31 != 0 && LLONG_MAX > LONG_MIN, "");
      static_assert(std::numeric_limits<int>::max() == INT_MAX, "");
      static_assert(std::numeric_limits<unsigned char>::digits10 == 2, "");
      static_assert(std::numeric_limits<float>::lowest() == -FLT_MAX && std::numeric_limits<double>::epsilon() < 1, "");
      extern "C" __global__ void k() {}
    ]])
  end)
end)
