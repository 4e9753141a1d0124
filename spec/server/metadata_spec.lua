local support = require "spec.support"
local testing = require("luhip.core").testing

local source = [[
template <typename T> __device__ void gather(const T *table, long long *out, int n) {
  for (int i = 0; i < n; i++) out[i] = (long long)table[i];
}
extern "C" __global__ void i8(const signed char *t, long long *out, int n) { gather(t, out, n); }
extern "C" __global__ void u8(const unsigned char *t, long long *out, int n) { gather(t, out, n); }
extern "C" __global__ void i16(const short *t, long long *out, int n) { gather(t, out, n); }
extern "C" __global__ void u16(const unsigned short *t, long long *out, int n) { gather(t, out, n); }
extern "C" __global__ void i32(const int *t, long long *out, int n) { gather(t, out, n); }
extern "C" __global__ void u32(const unsigned *t, long long *out, int n) { gather(t, out, n); }
extern "C" __global__ void i64(const long long *t, long long *out, int n) { gather(t, out, n); }
extern "C" __global__ void u64(const unsigned long long *t, long long *out, int n) { gather(t, out, n); }
extern "C" __global__ void two(const int *a, const unsigned *b, long long *out, int n) {
  for (int i = 0; i < n; i++) out[i] = a[i] * 1000ll + b[i];
}
extern "C" __global__ void null(const int *t, long long *out) { out[0] = t == nullptr; }
extern "C" __global__ void floats(const float *t, long long *out) {}
extern "C" __global__ void writes(int *t, long long *out) {}
extern "C" __global__ void pairs(const int2 *t, long long *out) {}
extern "C" __global__ void anything(const void *t, long long *out) {}
extern "C" __global__ void flags(const bool *t, long long *out) {}
]]

local one = { grid = 1, block = 1 }

local function range(n, first)
  local list = {}
  for i = 1, n do
    list[i] = first + i - 1
  end
  return list
end

support.each_device(function(id)
  local dev, program, out

  before_each(function()
    dev = support.open(id, { pools = "direct" }) -- so that it is known what needs new memory
    program = dev:compile(source, { name = "tables.hip" })
    out = dev:buffer("i64", 4096, 0)
  end)

  local function run(kernel, table, ...)
    program:kernel(kernel):launch(one, table, ...)
  end

  local function counts(stream)
    return testing.metadata_counts(dev, stream)
  end

  it("H1 a table of integers is what a pointer to constant integers points to", function()
    local tables = {
      i8 = { -128, 0, 127 },
      u8 = { 0, 1, 255 },
      i16 = { -32768, 5, 32767 },
      u16 = { 0, 40000, 65535 },
      i32 = { -2147483648, 7.0, 2147483647 },
      u32 = { 0, 3000000000, 4294967295 },
      i64 = { math.mininteger, -1, math.maxinteger },
      u64 = { 0, -1, math.maxinteger },
    }
    for kernel, list in pairs(tables) do
      run(kernel, list, out, #list)
      assert.same({ list[1], math.tointeger(list[2]), list[3] }, out:slice(1, 3):totable(), kernel)
    end
  end)

  it("H1 two tables in one launch, and buffers beside them", function()
    program:kernel("two"):launch(one, { 1, 2, 3 }, { 10, 20, 30 }, out, 3)
    assert.same({ 1010, 2020, 3030 }, out:slice(1, 3):totable())
    program:kernel("two"):launch(one, dev:from("i32", { 4, 5 }), { 1, 2 }, out, 2)
    assert.same({ 4001, 5002 }, out:slice(1, 2):totable())
  end)

  it("H1 what does not fit is an error that names argument and element", function()
    local nested = { 1, { 2 } }
    local cases = {
      { "u8", { 1, 256 }, "range", "256", "element 2", "0 to 255" },
      { "u8", { -1 }, "range", "-1", "element 1" },
      { "i32", { 1, 2, 2 ^ 31 }, "range", "element 3", "'t'" },
      { "i32", { 1.5 }, "type", "1.5", "element 1", "'i32'" },
      { "i32", { 1, "2" }, "type", "string", "element 2" },
      { "i32", nested, "type", "table", "element 2" },
      { "i32", { true }, "type", "true", "element 1" },
      { "i32", { x = 1 }, "type", "'t'", "a table with keys" },
      { "floats", { 1, 2 }, "type", "a list of 2", "f32 buffer" },
      { "writes", { 1, 2 }, "type", "a list of 2", "argument 1 ('t')" },
      { "pairs", { 1, 2 }, "type", "a list of 2" },
      { "anything", { 1, 2 }, "type", "a list of 2" },
      { "flags", { 1, 2 }, "type", "a list of 2" },
    }
    for _, case in ipairs(cases) do
      support.assert_error_kind(case[3], function()
        if case[1]:find "^[iu]%d" then
          run(case[1], case[2], out, 1)
        else
          run(case[1], case[2], out)
        end
      end, table.unpack(case, 4))
    end
    assert.same({ entries = 0, pinned = 0, hits = 0, uploads = 0 }, counts())
  end)

  it("H1 an empty table is a null pointer", function()
    program:kernel("null"):launch(one, {}, out)
    assert.equal(1, out:read()[1])
  end)

  it("H1 the same words are uploaded once for all kernels of a stream", function()
    for _ = 1, 3 do
      run("i32", { 1, 2, 3 }, out, 3)
      run("u32", { 1, 2, 3 }, out, 3)
    end
    assert.same({ entries = 1, pinned = 0, hits = 5, uploads = 1 }, counts())
    run("i16", { 1, 0, 2, 0, 3, 0 }, out, 6) -- the same bytes
    assert.same({ entries = 1, pinned = 0, hits = 6, uploads = 1 }, counts())
    run("i32", { 1, 2, 4 }, out, 3)
    run("i32", { 1, 2 }, out, 2)
    assert.same({ entries = 3, pinned = 0, hits = 6, uploads = 3 }, counts())
    local s = dev:stream()
    dev:with(s, run, "i32", { 1, 2, 3 }, out, 3)
    assert.same({ entries = 1, pinned = 0, hits = 0, uploads = 1 }, counts(s))
  end)

  it("H1 tables of more than 2048 bytes are not kept, and are right", function()
    run("i64", range(256, 1), out, 256)
    assert.equal(1, counts().entries)
    for _ = 1, 2 do
      run("i64", range(257, 5), out, 257)
    end
    assert.same({ entries = 1, pinned = 0, hits = 0, uploads = 3 }, counts())
    assert.same(range(257, 5), out:slice(1, 257):totable())
    local bytes = {}
    for i = 1, 4000 do
      bytes[i] = i % 251
    end
    run("u8", bytes, out, 4000)
    assert.same({ 1, 2, 3 }, out:slice(1, 3):totable())
    assert.equal(4000 % 251, out:slice(4000, 4000):totable()[1])
  end)

  it("H1 at most 4096 are kept: the one used least recently goes", function()
    local bound = program:kernel("i32"):bind(one)
    for i = 1, 4096 do
      bound({ i }, out, 1)
    end
    assert.same({ entries = 4096, pinned = 0, hits = 0, uploads = 4096 }, counts())
    bound({ 1 }, out, 1) -- now the newest
    bound({ 5000 }, out, 1) -- 2 goes
    assert.same({ entries = 4096, pinned = 0, hits = 1, uploads = 4097 }, counts())
    bound({ 1 }, out, 1)
    assert.equal(2, counts().hits)
    bound({ 2 }, out, 1)
    assert.equal(4098, counts().uploads)
    assert.equal(2, out:read()[1])
  end)

  it("H1 a dry run uploads nothing, an empty grid neither", function()
    dev:dry_run(run, "i32", { 1, 2 }, out, 2)
    program:kernel("i32"):launch({ grid = 0, block = 1 }, { 1, 2 }, out, 2)
    assert.equal(0, counts().uploads)
    assert.has_error(function()
      dev:dry_run(run, "i32", { 1, 2.5 }, out, 2)
    end)
  end)

  it("H1 tables are no buffers of memory(), and cleanup forgets them", function()
    local before = dev:memory()
    for i = 1, 10 do
      run("i32", { i }, out, 1)
    end
    assert.equal(before.buffers, dev:memory().buffers)
    dev:sync()
    dev:memory_cleanup()
    assert.equal(0, counts().entries)
    assert.equal(before.in_use, dev:memory().in_use)
    run("i32", { 10 }, out, 1)
    assert.equal(10, out:read()[1])
  end)

  it("H1 a table that cannot have memory is a failure of what would have been written", function()
    dev:close()
    local small = support.open(id, { limit = 1 << 16 })
    local k = small:kernel(source, "i32")
    local y = small:buffer("i64", 1, 0)
    local all = small:buffer("u8", (1 << 16) - small:memory().reserved, 0)
    k:launch(one, { 1, 2 }, y, 1)
    local ok, e = y:check()
    assert.is_nil(ok)
    assert.equal("oom", e.kind)
    all:free()
    small:memory_cleanup()
    y:fill(0)
    k:launch(one, { 7, 2 }, y, 1)
    assert.same({ 7 }, y:totable())
  end)

  it("H1 a table that finds no memory is tried again when garbage was collected", function()
    dev:close()
    local small = support.open(id, { limit = 1 << 16 })
    local k = small:kernel(source, "i32")
    local y = small:buffer("i64", 1, 0)
    small:buffer("u8", (1 << 16) - small:memory().reserved, 0) -- garbage
    k:launch(one, { 3, 2 }, y, 1)
    assert.is_true(y:check())
    assert.same({ 3 }, y:totable())
  end)

  local function captured(fn, options)
    local s = dev:stream()
    options = options or {}
    options.stream = s
    return dev:capture(fn, options), s
  end

  it("H2 a graph pins what it uses, and takes it along when it is freed", function()
    local g, s = captured(function()
      run("i32", { 4, 5, 6 }, out, 3)
    end)
    assert.same({ entries = 0, pinned = 1, hits = 1, uploads = 1 }, counts(s))
    dev:memory_cleanup()
    assert.equal(1, counts(s).pinned)
    out:fill(0)
    g:replay(s)
    assert.same({ 4, 5, 6 }, out:slice(1, 3):totable())
    g:free()
    assert.same({ entries = 0, pinned = 0, hits = 1, uploads = 1 }, counts(s))
  end)

  it("H2 pins are counted over graphs, and survive their stream", function()
    local s = dev:stream()
    local function record()
      return dev:capture(function()
        run("i32", { 7, 8 }, out, 2)
      end, { stream = s })
    end
    local a, b = record(), record()
    assert.equal(1, counts(s).pinned)
    a:free()
    assert.equal(1, counts(s).pinned)
    s:free()
    out:fill(0)
    b:replay()
    assert.same({ 7, 8 }, out:slice(1, 2):totable())
    b:free()
  end)

  it("H2 in a capture tables of any size are kept", function()
    local big = range(1000, 3)
    local g, s = captured(function()
      run("i64", big, out, 1000)
      run("i64", big, out, 1000)
    end)
    assert.same({ entries = 0, pinned = 1, hits = 3, uploads = 1 }, counts(s))
    out:fill(0)
    g:replay(s)
    assert.same(big, out:slice(1, 1000):totable())
    g:free()
    assert.equal(0, counts(s).pinned)
  end)

  it("H2 a cancelled capture leaves ordinary entries", function()
    local s = dev:stream()
    s:prepare_capture()
    dev:with(s, run, "i32", { 1, 2 }, out, 2)
    dev:with(s, run, "i64", range(1000, 1), out, 1000) -- too large for one
    assert.equal(2, counts(s).pinned)
    s:begin_capture()
    dev:with(s, run, "i32", { 1, 2 }, out, 2)
    s:cancel_capture()
    assert.same({ entries = 1, pinned = 0, hits = 1, uploads = 2 }, counts(s))
  end)

  it("H2 a table that needs new memory is refused in a recording, which goes on", function()
    local s = dev:stream()
    dev:memory_cleanup()
    s:prepare_capture()
    s:begin_capture()
    support.assert_error_kind("capture", function()
      dev:with(s, run, "i64", range(777, 1), out, 777)
    end, "a table of integers", "warm-up")
    dev:with(s, function()
      out:fill(5)
    end)
    local g = s:end_capture()
    g:replay()
    assert.equal(5, out:read()[1])
  end)

  it("H2 an update with other tables leaks none", function()
    local g, s = captured(function()
      run("i32", { 0, 0 }, out, 2)
    end)
    for i = 1, 300 do
      g:update(1, { i, i + 1 }, out, 2)
    end
    assert.equal(1, counts(s).pinned)
    g:replay()
    assert.same({ 300, 301 }, out:slice(1, 2):totable())
    support.assert_error_kind("range", function()
      g:update(1, { 1, 2 ^ 40 }, out, 2)
    end, "element 2")
    g:replay()
    assert.same({ 300, 301 }, out:slice(1, 2):totable())
    g:free()
    assert.equal(0, counts(s).pinned)
  end)

  it("H1 threads share the tables of a stream", function()
    local results = testing.threads(
      [[
        local id = ...
        local dev = require("luhip").open(id)
        local k = dev:kernel [=[
          extern "C" __global__ void pick(const int *t, long long *out, int i) { out[0] = t[i]; }
        ]=]
        local out = dev:buffer("i64", 1, 0)
        for i = 1, 100 do
          k:launch({ grid = 1, block = 1 }, { i % 7, i % 5, 9 }, out, i % 3)
          assert(out:read()[1] == ({ [0] = i % 7, i % 5, 9 })[i % 3])
          if i % 20 == 0 then dev:memory_cleanup() end
        end
        dev:close()
      ]],
      3,
      id
    )
    for _, r in ipairs(results) do
      assert.is_true(r.ok, r.message)
    end
  end)
end)
