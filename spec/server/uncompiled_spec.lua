-- D2: a lazy kernel that does not compile at its first launch.

local luhip = require "luhip"
local support = require "spec.support"

local N = 64

support.each_device(function(id)
  local dev
  local over = { grid = 1, block = N }

  before_each(function()
    dev = support.open(id)
  end)

  local function zeros()
    return dev:buffer("f32", N, 0)
  end

  local function lazy(source, name, options)
    options = options or {}
    options.lazy = true
    return dev:kernel(source, name, options)
  end

  local BROKEN = [[
    extern "C" __global__ void broken(const float *x, float *y, LUHIP_OUT float *z, int n) { y[0] = no_such_thing; }
  ]]

  local function carries(buffer, ...)
    local ok, e = buffer:check()
    assert.is_nil(ok)
    assert.equal("compile", e.kind)
    for _, fragment in ipairs { "cannot compile", ... } do
      assert.truthy(tostring(e):find(fragment, 1, true), tostring(e))
    end
  end

  it("D2 what would have been written carries the compile error, what is read does not", function()
    local x, y, z, other = zeros(), zeros(), zeros(), zeros()
    local broken = lazy(BROKEN, "broken", { name = "broken.hip" })
    for _ = 1, 2 do
      broken:launch(over, x, y, z, N)
      carries(y, "broken.hip", "no_such_thing")
      carries(z)
      assert.is_true(x:check())
      assert.is_true(other:check())
    end
    support.assert_error_kind("compile", function()
      y:read()
    end, "no_such_thing")
    support.assert_error_kind("compile", function()
      dev:sync { x, z }
    end, "no_such_thing")
    dev:sync()
    assert.equal(0, x:read()[1])
    y:fill(3)
    assert.equal(3, y:read()[1])
    carries(z)
  end)

  it("D2 a lazy kernel that does not compile is compiled once, however often it is launched", function()
    local core = require "luhip.core"
    local broken = lazy(BROKEN .. "// once\n", "broken")
    local before = core.compile_stats().compiles
    for _ = 1, 3 do
      local y, z = zeros(), zeros()
      broken:launch(over, zeros(), y, z, N)
      carries(y, "no_such_thing")
    end
    assert.equal(before + 1, core.compile_stats().compiles)
  end)

  it("D2 the error goes on to what is made of those buffers", function()
    local x, y, z, w = zeros(), zeros(), zeros(), zeros()
    lazy(BROKEN):launch(over, x, y, z, N)
    local copy = dev:kernel [[
      extern "C" __global__ void copy(const float *x, LUHIP_OUT float *y) { y[threadIdx.x] = x[threadIdx.x]; }
    ]]
    copy:launch(over, y, w)
    carries(w, "copy", "skipped")
    copy:launch(over, x, y) -- repairs
    assert.is_true(y:check())
  end)

  it("D2 a slice of a buffer is claimed as far as it goes, and memory that is not there yet is, too", function()
    local x, y = zeros(), zeros()
    local unmade = dev:buffer("f32", N)
    lazy(BROKEN):launch(over, x, y:slice(1, 8), unmade, N)
    carries(y:slice(8, 8))
    assert.is_true(y:slice(9, N):check())
    carries(unmade)
  end)

  it("D2 touched buffers are written, a grid is read", function()
    local touched, grid = zeros(), dev:buffer("u32", 3, 1)
    lazy(BROKEN):launch({ grid = grid, block = 1, touches = { touched } }, zeros(), zeros(), zeros(), N)
    carries(touched)
    assert.is_true(grid:check())
  end)

  it("D2 what the source does not tell counts as written, unless access says in", function()
    local parameters = {
      -- declaration, whether it is known to be read only
      { "const float *x", true },
      { "float const *__restrict__ x", true },
      { "const float *const x", true },
      { "const float x[]", true },
      { "float *x", false },
      { "float *const x", false },
      { "const float **x", false },
      { "alias x", false },
      { "holder<const float> *x", false },
      { "LUHIP_OUT float *x", false },
      { "float *x", true, "in" },
      { "alias x", true, "in" },
      { "float *x", false, "inout" },
    }
    for _, case in ipairs(parameters) do
      local access = case[3] and { broken = { x = case[3] } }
      local source = ('extern "C" __global__ void broken(%s) { no_such_thing }'):format(case[1])
      local x = zeros()
      lazy(source, "broken", { access = access }):launch(over, x)
      assert.equal(case[2], x:check() == true, case[1])
    end
  end)

  it("D2 a kernel that the source does not show counts as writing all it is given", function()
    for _, source in ipairs {
      "#define MAKE(name) __global__ void name(const float *x) { no_such_thing }\nMAKE(broken)",
      "#error nothing here",
      'extern "C" __global__ void another(const float *x) { no_such_thing }',
    } do
      local x = zeros()
      lazy(source, "broken"):launch(over, x)
      carries(x)
    end
  end)

  it("D2 kernels of one name are read only where all of them are", function()
    local source = [[
      #ifdef SOMETHING
      extern "C" __global__ void broken(const float *x, const float *y) {
      #else
      extern "C" __global__ void broken(const float *x, float *y) {
      #endif
        no_such_thing
      }
      extern "C" __global__ void another(float *x, const float *y) {}
    ]]
    local x, y = zeros(), zeros()
    lazy(source, "broken"):launch(over, x, y)
    assert.is_true(x:check())
    carries(y)
    x, y = zeros(), zeros()
    lazy(source):launch(over, x, y) -- which one?
    carries(x)
    carries(y)
  end)

  it("D2 kernels of templates and of headers are found", function()
    local source = [[
      template <typename T> __global__ void scale(const T *x, T *y, T factor) { no_such_thing }
    ]]
    local x, y = zeros(), zeros()
    lazy(source, "scale<float>"):launch(over, x, y, 2)
    assert.is_true(x:check())
    carries(y)
    x, y = zeros(), zeros()
    lazy(source, "scale<float>", { access = { ["scale<int>"] = { y = "in" } } }):launch(over, x, y, 2)
    carries(y)
    x, y = zeros(), zeros()
    lazy('#include "scale.h"', "scale<float>", { headers = { ["scale.h"] = source } }):launch(over, x, y, 2)
    assert.is_true(x:check())
    carries(y)
  end)

  it("D2 the caller's own errors are raised, and claim nothing", function()
    local x, freed = zeros(), zeros()
    freed:free()
    support.assert_error_kind("freed", function()
      lazy(BROKEN):launch(over, x, x, freed, N)
    end, "argument 3")
    support.assert_error_kind("argument", function()
      lazy(BROKEN):launch({ grid = 1 }, x, x, x, N)
    end, "block")
    support.assert_error_kind("not_found", function()
      lazy('extern "C" __global__ void other(float *x) {}', "fine"):launch(over, x)
    end, "other")
    support.assert_error_kind("not_found", function()
      local source = 'extern "C" __global__ void other(float *x) {}'
      lazy(source, "other", { access = { other = { y = "out" } } }):launch(over, x)
    end, "'y'")
    assert.is_true(x:check())
  end)

  it("D2 what a kernel is asked, or bound for, is raised: there is nothing to carry it", function()
    local broken = lazy(BROKEN)
    support.assert_error_kind("compile", function()
      broken:bind(over)
    end)
    support.assert_error_kind("compile", function()
      return broken.params
    end)
  end)

  it("D2 a dry run raises it and claims nothing", function()
    local x, y, z = zeros(), zeros(), zeros()
    support.assert_error_kind("compile", function()
      dev:dry_run(function()
        lazy(BROKEN):launch(over, x, y, z, N)
      end)
    end, "no_such_thing", "uncompiled_spec.lua")
    assert.is_true(y:check())
    assert.is_true(z:check())
  end)

  it("D2 an open profile is worthless, in a dry run as well", function()
    for _, dry in ipairs { false, true } do
      local window = dev:start_profile()
      local function launch()
        lazy(BROKEN):launch(over, zeros(), zeros(), zeros(), N)
      end
      if dry then
        support.assert_error_kind("compile", function()
          dev:dry_run(launch)
        end)
      else
        launch()
      end
      support.assert_error_kind("compile", function()
        window:stop():wait()
      end)
    end
  end)

  it("D2 a kernel that compiles the next time is launched then", function()
    local directory = support.temporary_directory()
    support.write_file(directory .. "/late.h", "#error not yet\n")
    local late = lazy('#include "late.h"\n', "late", { include_dirs = { directory } })
    local x = dev:buffer("i32", 4, 0)
    late:launch({ grid = 1, block = 4 }, x)
    carries(x, "not yet")
    support.write_file(
      directory .. "/late.h",
      'extern "C" __global__ void late(LUHIP_OUT int *x) { x[threadIdx.x] = 7; }\n'
    )
    late:launch({ grid = 1, block = 4 }, x)
    assert.same({ 7, 7, 7, 7 }, x:totable())
    assert.equal("late", late.name)
  end)

  it("D2 works on a named stream, and takes as many arguments as any launch", function()
    local s = dev:stream()
    local y = zeros()
    local many = {}
    for i = 1, 128 do
      many[i] = i == 128 and y or luhip.null
    end
    lazy("nothing"):launch({ grid = 1, block = 1, stream = s }, table.unpack(many))
    carries(y)
    s:sync()
    many[129] = 1
    support.assert_error_kind("argument", function()
      lazy("nothing"):launch({ grid = 1, block = 1 }, table.unpack(many))
    end)
  end)
end)
