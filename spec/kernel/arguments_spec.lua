-- Lua values made into a kernel's declared types (src/kernel/arguments.c): kernels store what they were given.

local luhip = require "luhip"
local support = require "spec.support"

local source = [[
#include <hip/hip_fp16.h>
struct Pair { float x; int n; char c; };
STORE(store_bool, bool) STORE(store_char, char) STORE(store_i8, signed char) STORE(store_u8, unsigned char)
STORE(store_i16, short) STORE(store_u16, unsigned short) STORE(store_i32, int) STORE(store_u32, unsigned)
STORE(store_i64, long long) STORE(store_u64, unsigned long long) STORE(store_f32, float) STORE(store_f64, double)
STORE(store_f16, __half) STORE(store_float4, float4) STORE(store_float3, float3) STORE(store_char2, char2)
STORE(store_pair, Pair)
extern "C" __global__ void mixed(bool a, int x, bool b, double y, int *out) { *out = a * 1000 + x * 10 + b + (int)y; }
extern "C" __global__ void many(const float *f32, const int *i32, const void *any, const char *text,
                                const unsigned char *bytes, const __half *f16, const float4 *f4, const float2 *f2,
                                const Pair *pairs, float **table, bool *flags) {}
extern "C" __global__ void is_null(const float *p, int *out) { *out = p == nullptr; }
]]
-- By hand: not every back end finds kernels that macros make.
source = source:gsub("STORE%((%S+), (.-)%)", function(name, kind)
  return ('extern "C" __global__ void %s(%s value, %s *out) { *out = value; }'):format(name, kind, kind)
end)

support.each_device(function(id)
  local dev, program

  before_each(function()
    dev = support.open(id)
    program = dev:compile(source, { name = "arguments.hip" })
  end)

  -- What the kernel's parameter became, read back as dtype.
  local function stored(type, dtype, value, count)
    local out = dev:buffer(dtype, count or 1)
    program:kernel("store_" .. type):launch({ grid = 1, block = 1 }, value, out)
    local list = out:totable()
    return count and list or list[1]
  end

  local function refused(kind, type, dtype, value, ...)
    return support.assert_error_kind(kind, function()
      stored(type, dtype, value)
    end, "argument 1 ('value') of kernel 'store_" .. type .. "'", ...)
  end

  it("D3 integers keep their value up to the ends of their type", function()
    for _, case in ipairs {
      { "i8", "i8", -128, 127 },
      { "char", "i8", -128, 127 },
      { "u8", "u8", 0, 255 },
      { "i16", "i16", -32768, 32767 },
      { "u16", "u16", 0, 65535 },
      { "i32", "i32", -2147483648, 2147483647 },
      { "u32", "u32", 0, 4294967295 },
      { "i64", "i64", math.mininteger, math.maxinteger },
    } do
      local type, dtype, low, high = table.unpack(case)
      assert.equal(low, stored(type, dtype, low))
      assert.equal(high, stored(type, dtype, high))
      assert.equal(1, stored(type, dtype, 1.0))
      if math.type(low - 1) == "integer" and low > math.mininteger then
        refused("range", type, dtype, low - 1, tostring(low - 1), tostring(low), tostring(high))
        refused("range", type, dtype, high + 1)
        refused("range", type, dtype, high + 1.0)
      end
    end
    refused("range", "i64", "i64", 2.0 ^ 63)
  end)

  it("D3 u64 takes negative integers as the same bits, and floats up to 2^64", function()
    assert.equal(-1, stored("u64", "u64", -1))
    assert.equal(math.mininteger, stored("u64", "u64", 2.0 ^ 63))
    refused("range", "u64", "u64", 2.0 ^ 64)
  end)

  it("D3 a fraction, NaN or infinity is no integer", function()
    for _, value in ipairs { 2.5, -0.1, 1 / 0, -1 / 0, 0 / 0 } do
      refused("type", "i32", "i32", value, "wanted an integer from")
    end
    refused("type", "i32", "i32", "7", "string")
    refused("type", "i32", "i32", true, "given true")
  end)

  it("D3 floats are rounded; finite numbers never become infinite", function()
    assert.equal(3.0, stored("f64", "f64", 3))
    assert.equal(string.unpack("<f", string.pack("<f", 0.1)), stored("f32", "f32", 0.1))
    assert.equal(16777216.0, stored("f32", "f32", 16777217))
    assert.equal(1 / 0, stored("f32", "f32", 1 / 0))
    assert.equal(-1 / 0, stored("f32", "f32", -1 / 0))
    assert.is_true(stored("f32", "f32", 0 / 0) ~= stored("f32", "f32", 0 / 0))
    assert.equal(-1 / 0, 1 / stored("f32", "f32", -0.0))
    assert.equal(1e300, stored("f64", "f64", 1e300))
    refused("range", "f32", "f32", 1e300, "1e+300")
    refused("range", "f32", "f32", 3.4028236e38)
    refused("type", "f32", "f32", "1.5", "wanted a number")
    refused("type", "f64", "f64", false)
  end)

  it("D3 half rounds to nearest even, passes inf and NaN, refuses what is too large", function()
    assert.equal(0.5, stored("f16", "f16", 0.5))
    assert.equal(65504.0, stored("f16", "f16", 65504))
    assert.equal(1.0, stored("f16", "f16", 1 + 2 ^ -11))
    assert.equal(1 + 2 ^ -9, stored("f16", "f16", 1 + 3 * 2 ^ -11))
    assert.equal(-1 / 0, 1 / stored("f16", "f16", -0.0))
    assert.equal(1 / 0, stored("f16", "f16", 1 / 0))
    local nan = stored("f16", "f16", 0 / 0)
    assert.is_true(nan ~= nan)
    refused("range", "f16", "f16", 1e6, "65504")
    refused("range", "f16", "f16", 65520)
  end)

  it("D3 bool takes true and false only, one byte among its neighbours", function()
    assert.equal(true, stored("bool", "bool", true))
    assert.equal(false, stored("bool", "bool", false))
    refused("type", "bool", "bool", 1, "given 1, wanted true or false")
    refused("type", "bool", "bool", nil, "nil")
    local out = dev:buffer("i32", 1)
    program:kernel("mixed"):launch({ grid = 1, block = 1 }, true, 23, true, 4.9, out)
    assert.equal(1235, out:totable()[1])
  end)

  it("D3 vectors take as many numbers as they have lanes, or their bytes", function()
    assert.same({ 1.0, 2.0, 3.0, 4.5 }, stored("float4", "f32", { 1, 2, 3, 4.5 }, 4))
    assert.same({ 1.0, 2.0, 3.0 }, stored("float3", "f32", { 1, 2, 3 }, 3))
    assert.same({ -1, 2 }, stored("char2", "i8", { -1, 2 }, 2))
    assert.same({ 1.0, 2.0, 3.0, 4.0 }, stored("float4", "f32", string.pack("<ffff", 1, 2, 3, 4), 4))
    for _, case in ipairs {
      { "type", { 1, 2, 3 }, "a list of 3" },
      { "type", { 1, 2, "x", 4 }, "element 3" },
      { "range", { 1, 2, 1e300, 4 }, "element 3" },
      { "type", 1.0, "a list of 4 numbers" },
      { "type", "abc", "a string of 3 bytes" },
    } do
      support.assert_error_kind(case[1], function()
        stored("float4", "f32", case[2], 4)
      end, case[3])
    end
  end)

  it("D3 structs take exactly their bytes", function()
    local bytes = string.pack("<fi4i1xxx", 1.5, 7, -1)
    local out = dev:buffer("u8", #bytes)
    program:kernel("store_pair"):launch({ grid = 1, block = 1 }, bytes, out)
    assert.equal(bytes:sub(1, 9), out:bytes_string():sub(1, 9))
    refused("type", "pair", "u8", bytes:sub(1, 11), "11 bytes", "12 bytes", "'Pair'")
    refused("type", "pair", "u8", 1, "12 bytes")
    refused("type", "pair", "u8", { x = 1 }, "wanted a string of its 12 bytes (luhip.struct(...):pack makes it)")
  end)

  it("D3 the number of arguments is checked first, and the parameters are shown", function()
    support.assert_error_kind("argument", function()
      program:kernel("store_i32"):launch({ grid = 1, block = 1 }, 1)
    end, "kernel 'store_i32' takes 2 arguments (int value, int * out), given 1")
    support.assert_error_kind("argument", function()
      program:kernel("store_i32"):launch({ grid = 1, block = 1 }, 1, dev:buffer("i32", 1), 2)
    end, "given 3")
  end)

  describe("a pointer", function()
    local order = { "f32", "i32", "any", "text", "bytes", "f16", "f4", "f2", "pairs", "table", "flags" }

    -- Launches `many` with null for all pointers but one.
    local function pass(name, value)
      local args = {}
      for i, parameter in ipairs(order) do
        args[i] = parameter == name and value or luhip.null
      end
      program:kernel("many"):launch({ grid = 1, block = 1 }, table.unpack(args))
      dev:sync()
    end

    it("D3 takes a buffer of the pointee's dtype", function()
      for name, dtypes in pairs {
        f32 = { "f32" },
        i32 = { "i32" },
        f16 = { "f16" },
        flags = { "bool" },
        f4 = { "f32" },
        f2 = { "f32", "c64" },
        table = { "u64", "i64" },
        any = { "u8", "f64", "c128", "bool" },
        text = { "i8", "u8", "i32", "f64" },
        bytes = { "u8", "i8", "f32" },
        pairs = { "u8", "i32", "f32" },
      } do
        for _, dtype in ipairs(dtypes) do
          pass(name, dev:buffer(dtype, 12))
        end
      end
    end)

    it("D3 refuses other dtypes, naming both, and says how to reinterpret", function()
      for name, dtypes in pairs {
        f32 = { "f64", "i32", "f16", "u8" },
        i32 = { "u32", "f32", "i64" },
        f16 = { "bf16", "u16", "f32" },
        f4 = { "f64", "c64", "i32" },
        flags = { "u8", "i32" },
        table = { "f64", "i32" },
      } do
        for _, dtype in ipairs(dtypes) do
          support.assert_error_kind("type", function()
            pass(name, dev:buffer(dtype, 16))
          end, "('" .. name .. "') of kernel 'many'", dtype .. " buffer", "view(")
        end
      end
    end)

    it("D3 wants whole vectors and structs, suitably aligned", function()
      support.assert_error_kind("shape", function()
        pass("f4", dev:buffer("f32", 6))
      end, "24 bytes", "multiple of 16")
      support.assert_error_kind("shape", function()
        pass("pairs", dev:buffer("u8", 13))
      end, "multiple of 12")
      support.assert_error_kind("argument", function()
        pass("f4", dev:buffer("f32", 9):slice(2, 9))
      end, "multiple of 16 bytes")
      pass("f4", dev:buffer("f32", 12):slice(5, 12))
    end)

    it("D3 refuses a view that is not contiguous, and takes its packed copy", function()
      local m = dev:buffer("f32", { 4, 4 }, 1)
      support.assert_error_kind("unsupported_strides", function()
        pass("f32", m:columns(2, 3))
      end, "'f32'", "contiguous")
      support.assert_error_kind("unsupported_strides", function()
        pass("any", m:transpose())
      end)
      pass("f32", m:columns(2, 3):contiguous())
      pass("f32", m:row(2))
    end)

    it("A5 refuses a freed buffer by name, and takes an empty one", function()
      local x = dev:buffer("f32", 4)
      x:free()
      support.assert_error_kind("freed", function()
        pass("f32", x)
      end, "argument 1 ('f32') of kernel 'many'")
      pass("f32", dev:buffer("f32", 0))
    end)

    it("D3 takes luhip.null as the null pointer", function()
      local out = dev:buffer("i32", 1)
      program:kernel("is_null"):launch({ grid = 1, block = 1 }, luhip.null, out)
      assert.equal(1, out:totable()[1])
      program:kernel("is_null"):launch({ grid = 1, block = 1 }, dev:buffer("f32", 1), out)
      assert.equal(0, out:totable()[1])
    end)

    it("D3 names what else was given", function()
      for _, case in ipairs {
        { 5, "given 5" },
        { 1.5, "given 1.5" },
        { true, "given true" },
        { "bytes", "a string of 5 bytes" },
        { print, "function" },
        { { 1, 2 }, "a list of 2" },
        { luhip.array("f32", 4), "array" },
      } do
        support.assert_error_kind("type", function()
          pass("f32", case[1])
        end, "argument 1 ('f32') of kernel 'many'", case[2], "wanted an f32 buffer ('const float *')")
      end
    end)
  end)
end)
