-- Launching from Lua: geometry, arguments, launchers, and what kernels say of themselves.

local luhip = require "luhip"
local support = require "spec.support"

local fails = support.assert_error_kind

local AXPY = [[
extern "C" __global__ void axpy(float a, const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
]]
local SIZES = [[
extern "C" __global__ void sizes(int *out) {
  if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y + threadIdx.z == 0) {
    out[0] = gridDim.x; out[1] = gridDim.y; out[2] = gridDim.z;
    out[3] = blockDim.x; out[4] = blockDim.y; out[5] = blockDim.z;
  }
}
]]

support.each_device(function(id)
  local dev
  before_each(function()
    dev = support.open(id)
  end)

  it("launch, bind and the short form do the same", function()
    local axpy = dev:kernel(AXPY)
    local x, y = dev:from("f32", { 1, 2, 3, 4 }), dev:buffer("f32", 4, 0)
    axpy:launch({ grid = 1, block = 4 }, 2.0, x, y, 4)
    assert.same({ 2.0, 4.0, 6.0, 8.0 }, y:totable())
    local run = axpy:bind { grid = 2, block = 2 }
    run(1, x, y, 4)
    run(1, x, y, 4)
    axpy(4, 1)(1.0, x, y, 3)
    axpy({ 1, 1, 1 }, { 4, 1 }, 0)(0.5, x, y, 4)
    assert.same({ 5.5, 11.0, 16.5, 18.0 }, y:totable())
    assert.equal(axpy, run.kernel)
    assert.is_nil(run(0, x, y, 4))
  end)

  it("geometry has up to three dimensions, from numbers or lists", function()
    local sizes = dev:kernel(SIZES)
    local out = dev:buffer("i32", 6, 0)
    for _, case in ipairs {
      { 2, 3, { 2, 1, 1, 3, 1, 1 } },
      { { 2 }, { 3, 2 }, { 2, 1, 1, 3, 2, 1 } },
      { { 2, 3, 4 }, { 1, 2, 3 }, { 2, 3, 4, 1, 2, 3 } },
      { 2.0, { 4.0 }, { 2, 1, 1, 4, 1, 1 } },
    } do
      sizes:launch({ grid = case[1], block = case[2] }, out)
      assert.same(case[3], out:totable())
      out:fill(0)
      sizes(case[1], case[2])(out)
      assert.same(case[3], out:totable())
    end
  end)

  it("D5 a grid may be a buffer of three u32", function()
    local sizes = dev:kernel(SIZES)
    local out, grid = dev:buffer("i32", 6, 0), dev:from("u32", { 3, 2, 1 })
    sizes:launch({ grid = grid, block = 2 }, out)
    assert.same({ 3, 2, 1, 2, 1, 1 }, out:totable())
    local run = sizes(grid, 4)
    grid:write { 1, 1, 5 }
    run(out)
    assert.same({ 1, 1, 5, 4, 1, 1 }, out:totable())
    fails("type", function()
      sizes:launch({ grid = 1, block = grid }, out)
    end, "block")
  end)

  it("D3 geometry that cannot be is an error that says why, and nothing runs", function()
    local sizes = dev:kernel(SIZES)
    local out = dev:buffer("i32", 6, 7)
    local function refuse(kind, config, ...)
      fails(kind, function()
        sizes:launch(config, out)
      end, "sizes", ...)
      fails(kind, function()
        sizes:bind(config)(out)
      end, "sizes", ...)
    end
    refuse("argument", { grid = 1.5, block = 1 }, "grid", "1.5")
    refuse("argument", { grid = 1, block = { 1, 0.5 } }, "block", "0.5")
    refuse("argument", { grid = { 1, 1, 1, 1 }, block = 1 }, "grid", "4")
    refuse("argument", { grid = {}, block = 1 }, "grid", "0")
    refuse("argument", { block = 1 }, "grid")
    refuse("argument", { grid = 1 }, "block")
    refuse("type", { grid = "1", block = 1 }, "grid", "string")
    refuse("type", { grid = 1, block = true }, "block", "boolean")
    refuse("range", { grid = 1e30, block = 1 }, "grid")
    for _, config in ipairs {
      { grid = -1, block = 1 },
      { grid = 1, block = 0 },
      { grid = 1, block = -1 },
      { grid = 1, block = dev.max_threads + 1 },
      { grid = math.maxinteger, block = 1 },
      { grid = 1, block = 1, shared = -1 },
      { grid = 1, block = 1, shared = dev.shared_bytes + 1 },
    } do
      local ok, e = pcall(sizes.launch, sizes, config, out)
      assert.is_false(ok)
      assert.is_true(luhip.is_error(e) and (e.kind == "limits" or e.kind == "range"), tostring(e))
      assert.truthy(tostring(e):find("sizes", 1, true))
    end
    assert.same({ 7, 7, 7, 7, 7, 7 }, out:totable())
  end)

  it("D6 a grid with a zero runs nothing", function()
    local sizes = dev:kernel(SIZES)
    local out = dev:buffer("i32", 6, 7)
    sizes:launch({ grid = 0, block = 1 }, out)
    sizes:launch({ grid = { 1, 0 }, block = 1 }, out)
    assert.same({ 7, 7, 7, 7, 7, 7 }, out:totable())
  end)

  it("wrong keys and values of the configuration are named", function()
    local axpy = dev:kernel(AXPY)
    local x = dev:buffer("f32", 4, 0)
    local function refuse(kind, config, ...)
      fails(kind, function()
        axpy:launch(config, 1, x, x, 4)
      end, ...)
    end
    refuse("argument", { grid = 1, blok = 4 }, "'blok'", "'block'")
    refuse("argument", { grid = 1, block = 4, colour = 1 }, "'colour'", "grid, block, shared, stream, touches")
    refuse("argument", { 1, 4 }, "number")
    refuse("type", 4, "kernel:launch", "number")
    refuse("type", { grid = 1, block = 4, stream = x }, "stream", "luhip.buffer")
    refuse("type", { grid = 1, block = 4, touches = 5 }, "touches")
    refuse("type", { grid = 1, block = 4, touches = { x, 5 } }, "touches", "entry 2")
    local s = dev:stream()
    s:free()
    refuse("freed", { grid = 1, block = 4, stream = s }, "stream")
  end)

  it("D3 wrong arguments are named by kernel, position and parameter", function()
    local axpy = dev:kernel(AXPY)
    local x = dev:buffer("f32", 4, 0)
    for _, wrong in ipairs { false, {}, print, luhip.array("f32", 4), dev, coroutine.create(print) } do
      local e = fails("type", function()
        axpy:launch({ grid = 1, block = 4 }, 1, x, wrong, 4)
      end, "axpy", "argument 3 ('y')")
      assert.is_true(#e.message > 0)
    end
    fails("argument", function()
      axpy:launch({ grid = 1, block = 4 }, 1, x, x)
    end, "axpy", "4")
    fails("argument", function()
      axpy:launch({ grid = 1, block = 4 }, 1, x, x, 4, 5)
    end, "axpy")
    local many = {}
    for i = 1, 200 do
      many[i] = i
    end
    fails("argument", function()
      axpy:launch({ grid = 1, block = 4 }, table.unpack(many))
    end, "200")
    fails("type", function()
      axpy:launch({ grid = 1, block = 4 }, 1, x, nil, 4)
    end, "argument 3 ('y')", "nil")
    fails("type", function()
      axpy:launch({ grid = 1, block = 4 }, 1, x, dev:buffer("f64", 4), 4)
    end, "argument 3 ('y')", "f64")
    x:free()
    fails("freed", function()
      axpy:launch({ grid = 1, block = 4 }, 1, x, x, 4)
    end, "argument 2 ('x')")
  end)

  it("null pointers, booleans, vectors and structs are arguments too", function()
    local k = dev:kernel [[
      struct pair { int a; float b; };
      extern "C" __global__ void k(const int *none, bool flag, float4 v, pair p, double *out) {
        out[0] = none == nullptr; out[1] = flag; out[2] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w;
        out[3] = p.a; out[4] = p.b;
      }
    ]]
    local out = dev:buffer("f64", 5, -1)
    k:launch({ grid = 1, block = 1 }, luhip.null, true, { 1, 2, 3, 4.5 }, string.pack("<i4f", 7, 0.25), out)
    assert.same({ 1.0, 1.0, 4821.0, 7.0, 0.25 }, out:totable())
    fails("type", function()
      k:launch({ grid = 1, block = 1 }, luhip.null, true, { 1, 2, 3, "4" }, string.pack("<i4f", 7, 0.25), out)
    end, "argument 3", "element 4", "string")
  end)

  it("a list that is no argument of its parameter is an error, however long it is", function()
    local k = dev:kernel 'extern "C" __global__ void k(float4 v, float4 w, float *x) { x[0] = v.x + w.x; }'
    local x = dev:buffer("f32", 1, 0)
    local long = {}
    for i = 1, 300 do
      long[i] = i
    end
    k:launch({ grid = 1, block = 1 }, { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, x)
    assert.same({ 6.0 }, x:totable())
    fails("type", function()
      k:launch({ grid = 1, block = 1 }, { 1, 2, 3, 4 }, long, x)
    end, "argument 2 ('w')", "300")
    fails("type", function()
      k:launch({ grid = 1, block = 1 }, { 1, 2, 3, 4 }, {}, x)
    end, "argument 2 ('w')")
  end)

  it("touched buffers are kept and checked", function()
    local k = dev:kernel 'extern "C" __global__ void k(int *x) { x[0] = 1; }'
    local x, y = dev:buffer("i32", 1, 0), dev:buffer("i32", 1, 0)
    k:launch({ grid = 1, block = 1, touches = { y } }, x)
    k:bind { grid = 1, block = 1, touches = { y } }(x)
    assert.same({ 1 }, x:totable())
    y:free()
    fails("freed", function()
      k:launch({ grid = 1, block = 1, touches = { y } }, x)
    end, "touches")
  end)

  it("kernels tell their parameters and what they need", function()
    local axpy = dev:kernel(AXPY)
    assert.equal("axpy", axpy.name)
    local params = axpy.params
    assert.same({ name = "a", type = "float", kind = "value", bytes = 4 }, params[1])
    assert.same({ "in", "inout", "value" }, { params[2].kind, params[3].kind, params[4].kind })
    assert.same({ "const float *", "float *", "int" }, { params[2].type, params[3].type, params[4].type })
    for _, name in ipairs { "registers", "shared_bytes", "local_bytes", "const_bytes", "max_threads" } do
      assert.equal("integer", math.type(axpy[name]), name)
    end
    assert.is_true(axpy:occupancy(dev.warp_size) >= 1)
    local block = axpy:suggest_block()
    assert.is_true(block >= 1 and block <= axpy.max_threads)
    assert.is_true(block % dev.warp_size == 0)
    fails("range", function()
      axpy:occupancy(0)
    end)
  end)

  it("freed kernels, programs and launchers say so; launchers keep their kernel", function()
    local program = dev:compile(AXPY)
    local axpy = program:kernel()
    local run = axpy(1, 4)
    local x = dev:buffer("f32", 4, 0)
    program:free()
    axpy:free()
    axpy:free()
    run(1, x, x, 4)
    run:free()
    run:free()
    fails("freed", function()
      run(1, x, x, 4)
    end, "launcher")
    fails("freed", function()
      axpy:launch({ grid = 1, block = 1 }, 1, x, x, 4)
    end)
    fails("freed", function()
      return axpy.params
    end)
    fails("freed", function()
      program:kernels()
    end)
    for _, object in ipairs { program, axpy, run } do
      assert.truthy(tostring(object):find("freed", 1, true))
    end
  end)

  it("B6 launches go to the stream of their configuration, else to the current one", function()
    local axpy = dev:kernel(AXPY)
    local s = dev:stream()
    local x, y = dev:buffer("f32", 4, 1), dev:buffer("f32", 4, 0)
    axpy:launch({ grid = 1, block = 4, stream = s }, 1, x, y, 4)
    local run = axpy:bind { grid = 1, block = 4, stream = s }
    run(1, x, y, 4)
    dev:with(s, run, 1, x, y, 4)
    s:sync()
    assert.same({ 3.0, 3.0, 3.0, 3.0 }, y:totable())
  end)
end)
