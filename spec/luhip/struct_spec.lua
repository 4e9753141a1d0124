-- luhip.struct: layouts, one struct as bytes, buffers of structs, and what a kernel makes of them.

local luhip = require "luhip"
local support = require "spec.support"

local fails = support.assert_error_kind

describe("struct layouts", function()
  local V = luhip.struct("vec", { { "x", "f32" }, { "y", "f32" } })
  local P = luhip.struct("particle", {
    { "tag", "i8" },
    { "pos", "f32", 3 },
    { "id", "i64" },
    { "q", "float4" },
    { "ends", V, 2 },
    { "m", "u16", { 2, 3 } },
    { "on", "bool" },
  })
  local one = {
    tag = -1,
    pos = { 1.5, 2, -0.25 },
    id = math.mininteger,
    q = { 1, 2, 3, 4 },
    ends = { { x = 1, y = 2 }, { x = 3, y = 4 } },
    m = { { 1, 2, 3 }, { 4, 5, 65535 } },
    on = true,
  }

  it("refuse what a field has beside its name, type and count", function()
    support.assert_error_kind("argument", function()
      luhip.struct("s", { { "x", "f32", 2, 3 } })
    end, "struct s, field 1", "the key '4'")
    support.assert_error_kind("argument", function()
      luhip.struct("s", { { "x", "f32", align = 16 } })
    end, "the key 'align'")
  end)

  it("say how they are declared when the name was forgotten", function()
    fails("type", function()
      luhip.struct { { "a", "f32" } }
    end, 'luhip.struct takes a name and a list of fields: luhip.struct("S", { {"a", "f32"} })')
  end)

  it("place fields as C does", function()
    local offsets = {}
    for i, field in ipairs(P.fields) do
      offsets[i] = field.offset
    end
    assert.same({ 0, 4, 16, 32, 48, 64, 76 }, offsets)
    assert.same({ 80, 16, 48 }, { P.bytes, P.align, P:offset "ends" })
    assert.equal(12, luhip.struct("s", { { "v", "float3" } }).bytes)
    assert.equal(4, luhip.struct("s", { { "v", "float3" } }).align)
    assert.equal(32, luhip.struct("s", { { "a", "i8" }, { "v", "double2" } }).bytes)
    assert.equal(24, luhip.struct("s", { { "a", "i8" }, { "b", "f64" }, { "c", "i8" } }).bytes)
  end)

  it("print their offsets", function()
    local text = tostring(P)
    assert.matches("struct particle %(80 bytes, alignment 16%)", text)
    assert.matches("48  vec ends%[2%]", text)
    assert.matches("64  unsigned short m%[2%]%[3%]", text)
  end)

  it("pack and unpack every field, padding zero", function()
    local bytes = P:pack(one)
    assert.equal(80, #bytes)
    assert.equal("\0\0\0", bytes:sub(2, 4))
    assert.same({ 1.5, 2.0, -0.25 }, P:unpack(bytes).pos)
    assert.same(one, P:unpack(bytes))
    assert.same(one, P:unpack("abc" .. bytes, 4))
  end)

  it("pack every dtype at its limits", function()
    local limits = {
      i8 = { -128, 127 },
      u8 = { 0, 255 },
      i16 = { -32768, 32767 },
      u16 = { 0, 65535 },
      i32 = { -0x80000000, 0x7fffffff },
      u32 = { 0, 0xffffffff },
      i64 = { math.mininteger, math.maxinteger },
      u64 = { 0, -1, math.mininteger },
      f16 = { 65504.0, 0x1p-24, -1 / 0 },
      bf16 = { 0x1.fep127, 0x1p-133 },
      f32 = { 0x1.fffffep127, 0x1p-149, 1 / 0 },
      f64 = { 0x1.fffffffffffffp1023, 0x1p-1074 },
      bool = { true, false },
      c64 = { { 1.5, -2.5 } },
      c128 = { { 0.1, -0.2 } },
    }
    for _, dtype in ipairs(luhip.dtypes) do
      local S = luhip.struct("s", { { "v", dtype } })
      for _, value in ipairs(limits[dtype]) do
        assert.same(value, S:unpack(S:pack { v = value }).v)
      end
    end
    local F = luhip.struct("s", { { "v", "f32" } })
    local nan = F:unpack(F:pack { v = 0 / 0 }).v
    assert.is_true(nan ~= nan)
    assert.equal(-1 / 0, 1 / F:unpack(F:pack { v = -0.0 }).v)
  end)

  it("refuse what does not fit, and name the field", function()
    local function with(name, value)
      local copy = {}
      for key, old in pairs(one) do
        copy[key] = old
      end
      copy[name] = value
      return function()
        P:pack(copy)
      end
    end
    fails("range", with("tag", 128), "particle.tag", "128")
    fails("range", with("tag", 1.5), "particle.tag")
    fails("type", with("tag", "1"), "particle.tag", "string")
    fails("type", with("pos", 1), "particle.pos")
    fails("shape", with("pos", { 1, 2 }), "particle.pos", "3")
    fails("range", with("pos", { 1, 2, 1e39 }), "particle.pos[3]")
    fails("range", with("m", { { 1, 2, 3 }, { 4, 5, 65536 } }), "particle.m[2][3]")
    fails("argument", with("ends", { { x = 1 }, { x = 1, y = 2 } }), "particle.ends[1]", "y")
    fails("argument", with("extra", 1), "extra", "particle")
    fails("type", function()
      P:pack(7)
    end)
    fails("shape", function()
      P:unpack "short"
    end)
  end)

  it("are refused for names and types that are none", function()
    local wrong = {
      { "argument", "two words", { { "a", "i32" } } },
      { "argument", "s", {} },
      { "type", "s", 5 },
      { "type", "s", { "a" } },
      { "argument", "s", { { "a", "int5" } } },
      { "argument", "s", { { "a", "i32" }, { "a", "i32" } } },
      { "type", "s", { { "a", 5 } } },
      { "range", "s", { { "a", "i32", 0 } } },
      { "type", "s", { { "a", "i32", 1.5 } } },
      { "shape", "s", { { "a", "i32", {} } } },
      { "too_big", "s", { { "a", "f64", { 1 << 20, 1 << 20 } } } },
    }
    for _, case in ipairs(wrong) do
      fails(case[1], function()
        luhip.struct(case[2], case[3])
      end)
    end
    fails("argument", function()
      luhip.struct("vec", { { "v", V } }):declaration()
    end, "vec")
  end)

  support.each_device(function(id)
    local dev
    before_each(function()
      dev = support.open(id)
    end)

    it("declare themselves so that the compiler agrees with every offset", function()
      local every = {}
      for i, dtype in ipairs(luhip.dtypes) do
        every[i] = { "f_" .. dtype, dtype }
      end
      for _, base in ipairs {
        "char",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "longlong",
        "ulonglong",
        "float",
        "double",
      } do
        -- CUDA aligns the wide ones of four to 16 bytes, HIP to their size.
        local wide = id:find "^cuda" and (base:find "long" or base == "double")
        for lanes = 2, wide and 3 or 4 do
          every[#every + 1] = { ("v_%s%d"):format(base, lanes), base .. lanes }
          every[#every + 1] = { ("pad_%s%d"):format(base, lanes), "i8" }
        end
      end
      local E = luhip.struct("every", every)
      dev:kernel(P:declaration() .. E:declaration() .. [[extern "C" __global__ void k(every *e, particle *p) {}]])
      fails("compile", function()
        local text = P:declaration():gsub("float pos%[3%]", "float pos[4]")
        dev:kernel(text .. [[extern "C" __global__ void k(particle *p) {}]])
      end, "particle.id lies at byte 16 in Lua")
    end)

    it("pass structs by value and in buffers", function()
      local k = dev:kernel(P:declaration() .. [[
        extern "C" __global__ void k(particle *p, particle by) {
          int i = threadIdx.x;
          p[i].id += 1;
          p[i].pos[1] += by.pos[2];
          p[i].q.w = by.q.x;
          p[i].m[1][0] = by.m[1][2];
          p[i].ends[0].y = -p[i].ends[1].x;
          p[i].on = !by.on;
        }
      ]])
      local x = dev:buffer(P, 3, one)
      assert.equal(P, x.dtype)
      assert.same({ 3, { 3 }, { 1 }, 240, 3 }, { x.count, x.shape, x.strides, x.bytes, #x })
      k:launch({ grid = 1, block = 3 }, x, P:pack(one))
      for _, value in ipairs(x:totable()) do
        assert.equal(math.mininteger + 1, value.id)
        assert.same({ 1.5, 1.75, -0.25 }, value.pos)
        assert.same({ 1.0, 2.0, 3.0, 1.0 }, value.q)
        assert.same({ { 1, 2, 3 }, { 65535, 5, 65535 } }, value.m)
        assert.same({ { x = 1.0, y = -3.0 }, { x = 3.0, y = 4.0 } }, value.ends)
        assert.is_false(value.on)
      end
    end)

    it("refuse buffers and bytes of another size, naming both", function()
      local k = dev:kernel [[
        struct other { float a; long long b; };
        extern "C" __global__ void k(other *p, other by, void *any, const unsigned char *bytes) {}
      ]]
      local O = luhip.struct("other", { { "a", "f32" }, { "b", "f64" } })
      local good, bad = dev:buffer(O, 4), dev:buffer(P, 1)
      local value = O:pack { a = 1, b = 2 }
      k:launch({ grid = 1, block = 1 }, good, value, good, good)
      k:launch({ grid = 1, block = 1 }, bad:view "u8", value, bad, bad)
      fails("type", function()
        k:launch({ grid = 1, block = 1 }, bad, value, bad, bad)
      end, "structs of 80 bytes", "structs of 16 bytes", "'p'")
      fails("type", function()
        k:launch({ grid = 1, block = 1 }, good, P:pack(one), bad, bad)
      end, "80 bytes", "16 bytes", "'by'")
      local floats = dev:kernel [[extern "C" __global__ void k(float *p) {}]]
      fails("type", function()
        floats:launch({ grid = 1, block = 1 }, good)
      end, "structs of 16 bytes", "f32")
    end)

    it("that look like a vector pass as one", function()
      local k = dev:kernel [[
        struct vec { float x, y; };
        extern "C" __global__ void k(const vec *p, float2 *q, vec by, float *out) {
          out[0] = p[1].x + q[1].y + by.y;
        }
      ]]
      local x, out = dev:from(V, { { x = 1, y = 2 }, { x = 10, y = 20 } }), dev:buffer("f32", 1)
      k:launch({ grid = 1, block = 1 }, x, x, V:pack { x = 100, y = 200 }, out)
      assert.same({ 230.0 }, out:totable())
    end)

    it("are written from tables, functions, bytes and what was read", function()
      local x = dev:buffer(V, 4, function(i)
        return { x = i, y = -i }
      end)
      assert.same({ x = 3.0, y = -3.0 }, x:totable()[3])
      x:write({ { x = 7, y = 8 }, { x = 9, y = 10 } }, 2)
      assert.same({ { x = 1.0, y = -1.0 }, { x = 7.0, y = 8.0 } }, x:totable(1, 2))
      x:write(V:pack { x = 5, y = 6 }, 4)
      assert.same({ { x = 9.0, y = 10.0 }, { x = 5.0, y = 6.0 } }, x:totable(3, 4))
      local y = dev:buffer(V, 4, x:read())
      assert.same(x:totable(), y:totable())
      y:fill { x = 0.5, y = 1 }
      assert.same({ x = 0.5, y = 1.0 }, y:totable()[4])
      dev:write { { y, x:totable() } }
      assert.same(x:totable(), y:totable())
      x:fill { x = 0, y = 0 }
      x:copy(y)
      assert.same(y:bytes_string(), x:bytes_string())
      assert.equal(2, #dev:from(V, x:bytes_string(1, 2)))
      assert.equal(0, #dev:from(V, {}))
      fails("shape", function()
        x:write { { x = 1, y = 2 } }
      end, "1 structs", "4")
      fails("range", function()
        x:write({ { x = 1, y = 2 }, { x = 1, y = 2 } }, 4)
      end)
      fails("type", function()
        x:write(5)
      end)
      fails("type", function()
        x:fill(5)
      end)
      fails("type", function()
        dev:buffer(V, 1, { { x = "1", y = 2 } })
      end, "vec[1].x")
      fails("type", function()
        x:copy(dev:buffer(luhip.struct("w", { { "a", "f32" } }), 8))
      end)
      fails("shape", function()
        dev:from(V, "odd")
      end)
      fails("type", function()
        dev:buffer({}, 1)
      end)
    end)

    it("are read lazily, as a copy", function()
      local x = dev:buffer(V, 5, function(i)
        return { x = i, y = 0 }
      end)
      local read = x:read(2, 4)
      x:fill { x = 0, y = 0 }
      assert.equal(3, #read)
      assert.equal(2.0, read[1].x)
      assert.is_nil(read[4])
      local sum = 0
      for _, value in ipairs(read) do
        sum = sum + value.x
      end
      assert.equal(9.0, sum)
      assert.equal(24, #read:bytes_string())
      fails("argument", function()
        read[1] = {}
      end)
    end)

    it("have views that are counted in structs", function()
      local y = dev:buffer(V, { 2, 3 }, function(i)
        return { x = i, y = 0 }
      end)
      local function xs(buffer)
        local list = {}
        for _, value in ipairs(buffer:reshape(#buffer):totable()) do
          list[#list + 1] = value.x
        end
        return list
      end
      assert.same({ { 2, 3 }, { 3, 1 }, 6 }, { y.shape, y.strides, #y })
      assert.same({ 4, 5, 6 }, xs(y:slice(2)))
      assert.same({ 4, 5, 6 }, xs(y:row(2)))
      assert.same({ 2, 3, 5, 6 }, xs(y:columns(2, 3):contiguous()))
      assert.same({ 1, 4, 2, 5, 3, 6 }, xs(y:transpose():contiguous()))
      assert.same({ { 3, 2 }, V }, { y:transpose().shape, y:transpose().dtype })
      assert.same({ { { x = 2.0, y = 0.0 } }, { { x = 5.0, y = 0.0 } } }, y:columns(2, 2):totable())
      assert.same({ { 2, 3, 2 }, "f32" }, { y:view("f32").shape, y:view("f32").dtype })
      assert.same(y:totable(), y:view("f32"):view(V):totable())
      assert.same({ 6 }, y:view("f32"):reshape(12):view(V).shape)
      fails("shape", function()
        y:row(1):row(1)
      end)
      fails("shape", function()
        dev:buffer("u8", 12):view(V)
      end, "8")
      fails("type", function()
        y:astype "f32"
      end)
      fails("unsupported_strides", function()
        y:transpose():totable()
      end)
    end)

    it("print a few values and never fail", function()
      local x = dev:from(V, { { x = 1, y = 2 }, { x = 3, y = 4 }, { x = 5, y = 6 } })
      assert.matches("vec%[3%] on .*: {x = 1, y = 2}, {x = 3, y = 4}, %.%.%.", tostring(x))
      assert.matches("empty", tostring(dev:buffer(V, 0)))
      assert.matches("vec%[3%]", tostring(x:read()))
      x:free()
      assert.matches("freed", tostring(x))
    end)

    it("leave no allocation behind a free", function()
      local before = dev:memory().in_use
      local x = dev:buffer(P, 100)
      x:fill(one)
      x:free()
      dev:sync()
      assert.equal(before, dev:memory().in_use)
      fails("freed", function()
        x:totable()
      end)
    end)
  end)
end)
