-- Public reports about compiling, includes, logs and the cache; each spec is named after them.
local luhip = require "luhip"
local support = require "spec.support"

local fails = support.assert_error_kind
local testing = require("luhip.core").testing
local ONE = { grid = 1, block = 1 }

support.each_device(function(id)
  local dev
  before_each(function()
    dev = support.open(id)
  end)

  -- Runs Lua in a process of its own, whose compile cache is `folder`.
  local function run(folder, code, env)
    local all = { LUHIP_CACHE_DIR = folder }
    for name, value in pairs(env or {}) do
      all[name] = value
    end
    return support.lua("local luhip = require 'luhip'\nlocal dev = luhip.open(...)\n" .. code, { env = all }, id)
  end

  local KERNEL = [[
    local x = dev:buffer("i32", 1, 0)
    dev:kernel('extern "C" __global__ void k(int *x) { x[0] = 6 * 7; }'):launch({ grid = 1, block = 1 }, x)
    print(x:read()[1])
  ]]

  local function entries(folder)
    return tonumber(support.run("ls " .. folder .. "/*.kernel | wc -l").stdout)
  end

  it("cupy#7391 five identical runs leave one cache entry", function()
    local folder = support.temporary_directory()
    for _ = 1, 5 do
      local result = run(folder, KERNEL .. "print(require('luhip.core').compile_stats().compiles)")
      assert.matches("^42\n[01]\n$", result.stdout, 1, false, result.stderr)
    end
    assert.equal(1, entries(folder))
  end)

  it("pyopencl#276, pyopencl#60 a second run is as good as the first, damaged entries or not", function()
    local folder = support.temporary_directory()
    for _, damage in ipairs {
      "true",
      "true",
      "for f in *.kernel; do printf x | dd of=$f bs=1 seek=300 conv=notrunc; done",
      "for f in *.kernel; do : > $f; done",
      "for f in *.kernel; do truncate -s 100 $f; done",
      "for f in *.kernel; do head -c 4096 /dev/urandom > $f; done",
      "for f in *.kernel; do rm $f; mkdir $f; done",
    } do
      support.run(damage, { directory = folder })
      local result = run(folder, KERNEL)
      assert.equal("42\n", result.stdout, damage .. result.stderr)
    end
  end)

  it("pyopencl PR#306 the toolchain is part of the key", function()
    if not id:find "^cpu" then
      pending "the compiler is the driver's"
    end
    local folder, tools = support.temporary_directory(), support.temporary_directory()
    local clang = support.run("command -v clang++-19").stdout:match "%S+"
    local compiles = KERNEL .. "print(require('luhip.core').compile_stats().compiles)"
    for i = 1, 2 do -- another compiler of the same name, later another version of it
      support.write_file(tools .. "/clang++", ('#!/bin/sh\n# %s\nexec %s "$@"\n'):format(("x"):rep(i), clang))
      support.run({ "chmod", "+x", tools .. "/clang++" })
      local env = { LUHIP_CLANG = tools .. "/clang++" }
      assert.equal("42\n1\n", run(folder, compiles, env).stdout)
      assert.equal("42\n0\n", run(folder, compiles, env).stdout)
    end
    assert.equal(2, entries(folder))
  end)

  it("nativelibs4java#453 programs of one length never share a cache entry", function()
    local folder = support.temporary_directory()
    local code = [[
      local x = dev:buffer("i32", 1, 0)
      for i = 1, 4 do
        for _, op in ipairs { "+", "-", "*" } do
          local source = 'extern "C" __global__ void k(int *x) { x[0] = 7 ' .. op .. ' 3; }'
          dev:kernel(source, { cache = i > 0 }):launch({ grid = 1, block = 1 }, x)
          io.stdout:write(x:read()[1], " ")
        end
      end
    ]]
    for _ = 1, 2 do
      local result = run(folder, code)
      assert.equal(("10 4 21 "):rep(4), result.stdout, result.stderr)
    end
  end)

  it("pyopencl#15 an error has its whole log with the cache on, off and read-only", function()
    local folder = support.temporary_directory()
    local code = [[
      local ok, e = pcall(dev.kernel, dev, '\n\n   int x = undefined_name;\n', { name = "bad.hip" })
      local d = e.diagnostics[1]
      print(ok, e.kind, d.file, d.line, d.column, d.severity, e.log:find("undefined_name", 1, true) ~= nil)
    ]]
    local wanted = "false\tcompile\tbad.hip\t3\t12\terror\ttrue\n"
    for _ = 1, 2 do
      assert.equal(wanted, run(folder, code).stdout)
      assert.equal(wanted, run(folder, code, { LUHIP_CACHE = "off" }).stdout)
    end
    support.run({ "chmod", "500", folder })
    assert.equal(wanted, run(folder, code).stdout)
    support.run({ "chmod", "700", folder })
  end)

  it("hip#2182 headers are found beside the script, in folders with spaces, relative ones and as text", function()
    local folder = support.temporary_directory()
    support.run("mkdir -p 'a b/inner' other", { directory = folder })
    support.write_file(folder .. "/here.h", "#define HERE 1\n")
    support.write_file(folder .. "/a b/spaced.h", '#include "inner/deep.h"\n')
    support.write_file(folder .. "/a b/inner/deep.h", "#define DEEP 20\n")
    local code = [[
      local luhip = require "luhip"
      local dev = luhip.open(...)
      local x = dev:buffer("i32", 1, 0)
      local source = '#include "here.h"\n#include <spaced.h>\n#include "text.h"\n'
        .. 'extern "C" __global__ void k(int *x) { x[0] = HERE + DEEP + TEXT; }'
      local headers = { ["text.h"] = "#define TEXT 300\n" }
      local function sum(options)
        dev:kernel(source, options):launch({ grid = 1, block = 1 }, x)
        print(x:read()[1])
      end
      sum { include_dirs = { ".", "a b" }, headers = headers }
      sum { flags = { "-I.", "-Ia b" }, headers = headers }
      sum { include_dirs = { "./other/..", "other/../a b" }, headers = headers }
      local ok, e = pcall(dev.kernel, dev, '#include "gone.h"\n', { include_dirs = { "a b" }, name = "n.hip" })
      print(e.kind, e.message:find("gone.h", 1, true) ~= nil, tostring(e):find("/a b", 1, true) ~= nil)
    ]]
    local result = support.lua(code, { directory = folder }, id)
    assert.equal("321\n321\n321\ncompile\ttrue\ttrue\n", result.stdout, result.stderr)
  end)

  it("ROCm#1611 sources that include the usual headers compile unchanged", function()
    local x = dev:buffer("f32", 1, 0)
    for _, header in ipairs {
      "hip/hip_runtime.h",
      "cuda_runtime.h",
      "stdio.h",
      "math.h",
      "stdint.h",
      "hip/hip_cooperative_groups.h",
    } do
      local ok, e = pcall(dev.kernel, dev, ("#include <%s>\n"):format(header) .. [[
        extern "C" __global__ void k(float *x) { x[0] = sqrtf(16.0f) + blockIdx.x; }
      ]])
      assert.is_true(ok, header .. ": " .. tostring(e))
      x:fill(0)
      e:launch(ONE, x)
      assert.equal(4, x:read()[1])
    end
  end)

  it("futhark#2480, chipStar#515 hip_fp16.h may come first, and the user's macros clash with nothing", function()
    local k = dev:kernel [[
      #include <hip/hip_fp16.h>
      #define __local __shared__
      #define abs2(x) ((x) * (x))
      extern "C" __global__ void k(__half h, float *x) {
        __local float s;
        if (threadIdx.x == 0) s = abs2(__half2float(h));
        __syncthreads();
        x[threadIdx.x] = s + threadIdx.x;
      }
    ]]
    local x = dev:buffer("f32", 4, 0)
    k:launch({ grid = 1, block = 4 }, 1.5, x)
    assert.same({ 2.25, 3.25, 4.25, 5.25 }, x:totable())
    local m = dev:kernel [[
      #define min(a, b) ((a) < (b) ? (a) : (b))
      extern "C" __global__ void k(float *x) { x[0] = min(3.0f, x[1]); }
    ]]
    m:launch(ONE, x)
    assert.equal(3, x:read()[1])
  end)

  it("cupy#5436, cupy PR#5920 name expressions are compared by meaning, and duplicates are one", function()
    local source = [[
      namespace ns {
        template <typename T> struct pair { T a, b; };
        template <typename T> __global__ void k(T *x) { x[threadIdx.x] = (T)(threadIdx.x + 1); }
        template <typename T, int N> __global__ void wide(T *x) { x[0].a = N; }
      }
      template <typename A, typename B> __global__ void two(A *a, B *b) { a[0] = (A)b[0]; }
    ]]
    local names = {
      "ns::k<int>",
      "&ns::k<int>",
      "ns::k< int >",
      "ns::k<int>",
      "ns::wide<ns::pair<ns::pair<float>>, 3>",
      "ns::wide<ns::pair<float>, 3>",
      "two<float, long long>",
      "two<float,long long>",
    }
    local ok, prog = pcall(dev.compile, dev, source, { names = names })
    if not ok then -- pair<pair<float>>::a takes no int: the rest is what counts
      table.remove(names, 5)
      prog = dev:compile(source, { names = names })
    end
    assert.equal(prog:kernel "ns::k<int>", prog:kernel "ns::k< int >")
    local x = dev:buffer("i32", 4, 0)
    prog:kernel("&ns::k<int>"):launch({ grid = 1, block = 4 }, x)
    assert.same({ 1, 2, 3, 4 }, x:totable())
    local f, l = dev:buffer("f32", 1, 0), dev:buffer("i64", 1, 9)
    prog:kernel("two<float, long long>"):launch(ONE, f, l)
    assert.equal(9, f:read()[1])
    fails("not_found", function()
      prog:kernel "ns::q<int>"
    end, "ns::q<int>", "ns::k<int>")
    local bad = fails("compile", function()
      dev:compile(source, { names = { "ns::nothing<int>" } })
    end, "ns::nothing<int>")
    assert.truthy(tostring(bad):find("k", 1, true))
  end)

  it("chipStar#1062, hip#1837, hip#1107 constants keep their value, can be set, and missing ones are named", function()
    local prog = dev:compile [[
      __constant__ int four = 4;
      __constant__ float list[8] = { 1, 2, 3 };
      __constant__ int unused = 5;
      __device__ int counter = 7;
      extern "C" __global__ void k(float *x) { x[threadIdx.x] = four + list[threadIdx.x]; counter++; }
    ]]
    local k, x = prog:kernel "k", dev:buffer("f32", 8, 0)
    k:launch({ grid = 1, block = 8 }, x)
    assert.same({ 5, 6, 7, 4, 4, 4, 4, 4 }, x:read():totable())
    prog:global("four", "i32"):write { 100 }
    prog:global("list", "f32"):write({ 20, 30 }, 4)
    k:launch({ grid = 1, block = 8 }, x)
    assert.same({ 101, 102, 103, 120, 130, 100, 100, 100 }, x:read():totable())
    fails("range", function()
      prog:global("list", "f32"):write({ 1, 2 }, 8)
    end)
    fails("not_found", function()
      prog:global "nowhere"
    end, "nowhere")
    local ok, e = pcall(prog.global, prog, "unused", "i32") -- a compiler may drop what no kernel uses
    if ok then
      assert.equal(5, e:read()[1])
    else
      assert.equal("not_found", e.kind)
      assert.truthy(tostring(e):find("unused", 1, true))
    end
  end)

  it("terra#367, terra#288 errors of a header come first and counted, a missing kernel is named", function()
    local lines = {}
    for i = 1, 60 do
      lines[i] = ("int f%d() { return missing_%d; }"):format(i, i)
    end
    local e = fails("compile", function()
      dev:kernel('#include "many.h"\nextern "C" __global__ void k(int *x) {}', {
        name = "user.hip",
        headers = { ["many.h"] = table.concat(lines, "\n") },
      })
    end, "missing_1", "many.h:1")
    assert.matches("and %d+ more error", e.message)
    assert.equal("many.h", e.diagnostics[1].file:match "[^/]*$")
    assert.equal("error", e.diagnostics[1].severity)
    local _, shown = tostring(e):gsub("\n", "\n")
    assert.is_true(shown < 200, "a flood of " .. shown .. " lines")
    fails("not_found", function()
      dev
        :compile('extern "C" __global__ void there(int *x) {}\nextern "C" __global__ void also(int *x) {}')
        :kernel "absent"
    end, "'absent'", "there", "also")
  end)

  it("hip#3826, hip#1846, ROCm#6577, cccl PR#9998 two states in two threads compile and load at once", function()
    local rounds = support.sanitizer and 3 or 12
    local code = ([[
      local core = require "luhip.core"
      local dev <close> = core.open(...)
      local x = dev:buffer("i32", 1, 0)
      for i = 1, %d do
        local source = ('extern "C" __global__ void k(int *x) { x[0] += %%d; } // %%s'):format(i, tostring(x):sub(-6))
        local k = dev:kernel(source, "k", { cache = i %% 2 == 0 })
        k:launch({ grid = 1, block = 1 }, x)
      end
      assert(x:read()[1] == %d * (%d + 1) // 2)
    ]]):format(rounds, rounds, rounds)
    for _, r in ipairs(testing.threads(code, 2, id)) do
      assert.is_true(r.ok, r.message)
    end
  end)
end)

describe("hiprtc without a GPU", function()
  it("Debian HIP 5.2 a log's lines are those of the named program", function()
    local ok, e = pcall(luhip.compile, { arch = "gfx90a", source = "int x = y;", name = "saxpy.hip" })
    assert.is_false(ok)
    if e.kind == "not_found" then
      pending "there is no hiprtc here"
    end
    assert.equal("compile", e.kind)
    local d = e.diagnostics[1]
    assert.same({ "saxpy.hip", 1, 9, "error" }, { d.file, d.line, d.column, d.severity })
    assert.truthy(d.text:find("'y'", 1, true))
    for _, text in ipairs { tostring(e), e.message, e.log } do
      assert.is_nil(text:find("comgr", 1, true), text)
      assert.is_nil(text:find("CompileSource", 1, true), text)
    end
  end)
end)
