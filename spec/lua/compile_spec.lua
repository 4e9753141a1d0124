-- Compiling from Lua: options, programs, kernels by name, globals, lazy kernels.

local support = require "spec.support"

local fails = support.assert_error_kind

local TWO = [[
extern "C" __global__ void one(int *x) { x[0] = 1; }
extern "C" __global__ void two(int *x) { x[0] = 2; }
]]

support.each_device(function(id)
  local dev, x
  before_each(function()
    dev = support.open(id)
    x = dev:buffer("i32", 4, 0)
  end)

  local function run(kernel, ...)
    kernel:launch({ grid = 1, block = 1 }, ...)
    return x:totable()
  end

  it("a program lists its kernels, and gives the same object for the same one", function()
    local program = dev:compile(TWO)
    local names = program:kernels()
    table.sort(names)
    assert.same({ "one", "two" }, names)
    local one = program:kernel "one"
    assert.equal(one, program:kernel "one")
    assert.is_false(one == program:kernel "two")
    assert.equal("", program.log)
    assert.equal(2, run(program:kernel "two", x)[1])
    one:free()
    local again = program:kernel "one"
    assert.is_false(rawequal(one, again))
    assert.equal(1, run(again, x)[1])
    fails("not_found", function()
      program:kernel "three"
    end, "three", "one", "two")
    fails("argument", function()
      program:kernel "one\0"
    end)
    fails("type", function()
      program:kernel(5)
    end)
  end)

  it("a name may be left out when there is one kernel", function()
    local only = dev:kernel 'extern "C" __global__ void only(int *x) { x[0] = 3; }'
    assert.equal("only", only.name)
    assert.equal(3, run(only, x)[1])
    local ok, e = pcall(dev.kernel, dev, TWO)
    assert.is_false(ok)
    assert.truthy(tostring(e):find "one")
    assert.equal(2, run(dev:kernel(TWO, "two"), x)[1])
  end)

  it("defines are numbers, booleans and strings", function()
    local source = [[
      extern "C" __global__ void k(int *x, double *y) {
        x[0] = N; x[1] = YES; x[2] = NO; x[3] = TEXT;
        y[0] = HALF; y[1] = WHOLE / 2; y[2] = TENTH;
      }
    ]]
    local y = dev:buffer("f64", 3, 0)
    local k = dev:kernel(source, {
      defines = { N = -7, YES = true, NO = false, TEXT = "(3 + 4)", HALF = 0.5, WHOLE = 3.0, TENTH = 0.1 },
    })
    assert.same({ -7, 1, 0, 7 }, run(k, x, y))
    assert.same({ 0.5, 1.5, 0.1 }, y:totable())
    fails("type", function()
      dev:kernel(source, { defines = { N = {} } })
    end, "'N'", "table")
    fails("argument", function()
      dev:kernel(source, { defines = { N = 1 / 0 } })
    end, "'N'", "inf")
    fails("argument", function()
      dev:kernel(source, { defines = { [""] = 1 } })
    end)
    fails("type", function()
      dev:kernel(source, { defines = { "N" } })
    end)
  end)

  it("K2 equal options are one compile, whatever order their tables have", function()
    local core = require "luhip.core"
    local source = 'extern "C" __global__ void k(int *x) { x[0] = A + B + C + D + E + F; } // ' .. tostring({})
    local names = { "A", "B", "C", "D", "E", "F" }
    local function options(first)
      local defines = {}
      for i = 0, #names - 1 do
        defines[names[(first + i) % #names + 1]] = (first + i) % #names + 1
      end
      return { defines = defines }
    end
    dev:kernel(source, options(0))
    local compiles = core.compile_stats().compiles
    for first = 1, 5 do
      assert.equal(21, run(dev:kernel(source, options(first)), x)[1])
    end
    assert.equal(compiles, core.compile_stats().compiles)
  end)

  it("headers are given as text, include_dirs as a list or one string, flags as a list", function()
    local directory = support.temporary_directory()
    support.write_file(directory .. "/disk.h", "#define DISK 4\n")
    local source = [[
      #include "my.h"
      #include "disk.h"
      extern "C" __global__ void k(int *x) { x[0] = MINE + DISK + FLAG; }
    ]]
    for _, dirs in ipairs { directory, { directory } } do
      local headers = { ["my.h"] = "#define MINE 3\n" }
      local k = dev:kernel(source, { headers = headers, include_dirs = dirs, flags = { "-DFLAG=5" } })
      assert.equal(12, run(k, x)[1])
    end
  end)

  it("template kernels are asked for by name expression, listed in names or not", function()
    local source = "template <typename T, int N> __global__ void scale(T *x) { x[0] = T(N); }"
    local program = dev:compile(source, { names = { "scale<int, 4>", "scale<float, 2>" } })
    local k = program:kernel "scale<int, 4>"
    assert.equal(4, run(k, x)[1])
    assert.equal(k, program:kernel "scale<int,4>")
    assert.equal(9, run(dev:kernel(source, "scale<int, 9>"), x)[1])
  end)

  it("D9 access is declared by kernel and parameter", function()
    local source = 'extern "C" __global__ void k(const int *a, int *b, int *c) { b[0] = a[0]; c[0] = 1; }'
    local k = dev:kernel(source, { access = { k = { b = "out" } } })
    assert.same({ "in", "out", "inout" }, { k.params[1].kind, k.params[2].kind, k.params[3].kind })
    fails("argument", function()
      dev:kernel(source, { access = { k = { b = "write" } } })
    end, "'b'", "'k'", "'write'")
    fails("type", function()
      dev:kernel(source, { access = { k = "out" } })
    end, "access")
  end)

  it("options that are unknown or of the wrong type are named", function()
    local function refuse(kind, options, ...)
      fails(kind, function()
        dev:compile(TWO, options)
      end, ...)
    end
    refuse("argument", { define = {} }, "'define'", "'defines'")
    refuse("argument", { colour = 1 }, "'colour'", "include_dirs")
    refuse("argument", { lazy = true }, "lazy")
    refuse("type", "name", "options", "string")
    refuse("type", { defines = "X" }, "defines")
    refuse("type", { flags = 5 }, "flags")
    refuse("type", { flags = { 5 } }, "flags")
    refuse("type", { name = 5 }, "name")
    refuse("type", { headers = { ["a.h"] = 5 } }, "headers")
    refuse("type", { cache = 1 }, "cache")
    refuse("range", { timeout = 0 }, "timeout")
    refuse("argument", { name = "a\0b" }, "zero byte")
    fails("argument", function()
      dev:compile "a\0b"
    end, "zero byte")
    fails("type", function()
      dev:compile(5)
    end, "source")
  end)

  it("cache = false compiles anew", function()
    local core = require "luhip.core"
    dev:compile(TWO)
    local compiles = core.compile_stats().compiles
    dev:compile(TWO)
    assert.equal(compiles, core.compile_stats().compiles)
    dev:compile(TWO, { cache = false })
    assert.equal(compiles + 1, core.compile_stats().compiles)
  end)

  it("globals of the module are buffers", function()
    local program = dev:compile [[
      __device__ int table[4] = {1, 2, 3, 4};
      extern "C" __global__ void k(int *x) { x[threadIdx.x] = table[threadIdx.x]; table[threadIdx.x] = 0; }
    ]]
    local table_ = program:global("table", "i32")
    assert.same({ 1, 2, 3, 4 }, table_:totable())
    table_:write({ 20, 30 }, 2)
    program:kernel():launch({ grid = 1, block = 4 }, x)
    assert.same({ 1, 20, 30, 4 }, x:totable())
    assert.same({ 0, 0, 0, 0 }, table_:totable())
    assert.equal("u8", program:global("table").dtype)
    assert.equal(16, #program:global "table")
    fails("not_found", function()
      program:global "other"
    end, "other")
    program = nil
    collectgarbage()
    collectgarbage()
    assert.same({ 0, 0, 0, 0 }, table_:totable())
    assert.is_nil(program)
  end)

  it("D1 a lazy kernel compiles at its first use, once", function()
    local core = require "luhip.core"
    local source = 'extern "C" __global__ void k(int *x) { x[0] = 6; } // ' .. tostring({})
    local before = core.compile_stats().compiles
    local k = dev:kernel(source, nil, { lazy = true, cache = false })
    assert.truthy(tostring(k):find("not compiled", 1, true))
    assert.equal(before, core.compile_stats().compiles)
    assert.equal(6, run(k, x)[1])
    assert.equal("k", k.name)
    run(k, x)
    assert.equal(before + 1, core.compile_stats().compiles)
    local broken = dev:kernel('extern "C" __global__ void k(int *x) { x[0] = nothing; }', { lazy = true })
    for _ = 1, 2 do
      fails("compile", function()
        broken(1, 1)
      end, "nothing")
      fails("compile", function()
        return broken.params
      end, "nothing")
    end
    fails("argument", function()
      dev:kernel(source, { lazy = true, nam = "x" })
    end, "'nam'")
    local freed = dev:kernel(source, { lazy = true })
    freed:free()
    fails("freed", function()
      freed(1, 1)
    end)
  end)
end)
