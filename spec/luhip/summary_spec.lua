local support = require "spec.support"

support.each_device(function(id)
  it("print of a buffer shows dtype, shape, device, values and statistics", function()
    local dev = support.open(id)
    local x = dev:from("f32", { { 1, 2.5, 3 }, { 4, 5, 6 } })
    local text = tostring(x)
    for _, part in ipairs { "f32[2, 3]", id, "1, 2.5, 3, 4, 5, 6", "min 1", "mean 3.58333", "max 6" } do
      assert.truthy(text:find(part, 1, true), text)
    end
    assert.is_nil(text:find("...", 1, true))
    assert.truthy(tostring(dev:buffer("i32", 7, 3)):find("3, 3, 3, 3, 3, 3, ... (min 3, mean 3, max 3)", 1, true))
  end)

  it("print of a buffer counts NaN and does not average it", function()
    local dev = support.open(id)
    local text = tostring(dev:from("f32", { 1, 0 / 0, 3 }))
    assert.truthy(text:find("1, nan, 3", 1, true), text)
    assert.truthy(text:find("min 1, mean 2, max 3, 1 NaN", 1, true), text)
    assert.truthy(tostring(dev:from("f32", { 0 / 0 })):find("(1 NaN)", 1, true))
  end)

  it("print works for every dtype and for views", function()
    local dev = support.open(id)
    assert.truthy(tostring(dev:from("bool", { true, false })):find("bool[2] on " .. id .. ": true, false", 1, true))
    assert.truthy(tostring(dev:from("c64", { { 1, -2 } })):find("1-2i", 1, true))
    assert.truthy(tostring(dev:from("u64", { -1 })):find("max 1.84467e+19", 1, true))
    for _, dtype in ipairs { "i8", "u8", "i16", "u16", "i32", "u32", "i64", "f16", "bf16", "f32", "f64" } do
      local text = tostring(dev:buffer(dtype, 2, 1))
      assert.truthy(text:find("max 1)", 1, true), text)
    end
    local m = dev:from("i32", { { 1, 2 }, { 3, 4 } })
    assert.truthy(tostring(m:row(2)):find("3, 4", 1, true))
  end)

  it("print shows the values of views that no single copy reads", function()
    local dev = support.open(id)
    local m = dev:from("i32", { { 1, 2, 3 }, { 4, 5, 6 } })
    local text = tostring(m:transpose())
    assert.truthy(text:find("i32[3, 2] on " .. id .. ": 1, 4, 2, 5, 3, 6 (min 1, mean 3.5, max 6)", 1, true), text)
    local large = dev:buffer("u8", { 2, (1 << 20) + 5 }, 3):transpose()
    assert.truthy(tostring(large):find("max 3 of the first 1048576)", 1, true), tostring(large))
    local s = dev:stream()
    s:prepare_capture()
    s:begin_capture()
    dev:with(s, function()
      assert.truthy(tostring(m:transpose()):find("records", 1, true), tostring(m:transpose()))
    end)
    local g = s:end_capture()
    assert.equal(0, #g:nodes())
  end)

  it("print never fails: empty and freed buffers", function()
    local dev = support.open(id)
    assert.truthy(tostring(dev:buffer("f32", 0)):find("empty", 1, true))
    assert.truthy(tostring(dev:buffer("f32", { 3, 0 })):find("empty", 1, true))
    local x = dev:buffer("f32", 4, 1)
    x:free()
    assert.truthy(tostring(x):find("freed", 1, true), tostring(x))
  end)

  if id:find "^cpu" then
    it("print of a tainted buffer says why it has no values", function()
      local dev = support.open(id)
      local x = dev:buffer("f32", 4, 1)
      local bad = dev:kernel 'extern "C" __global__ void bad(float *x) { x[0] = 2.0f; __builtin_trap(); }'
      bad:launch({ grid = 1, block = 1 }, x)
      local text = tostring(x)
      assert.truthy(text:find("f32[4]", 1, true), text)
      assert.truthy(text:find("bad", 1, true), text)
      assert.is_nil(text:find("mean", 1, true), text)
    end)
  end

  it("print of a kernel shows its parameters", function()
    local dev = support.open(id)
    local k = dev:kernel 'extern "C" __global__ void scale(float a, const float *x, float *y) { y[0] = a * x[0]; }'
    local text = tostring(k)
    for _, part in ipairs { "scale on " .. id .. " (float a, ", "const float *x", "float *y" } do
      assert.truthy(text:find(part, 1, true), text)
    end
  end)
end)

describe("print of a host array", function()
  it("shows dtype, shape, values and statistics", function()
    local a = require("luhip").array("f32", { 2, 2 })
    a[2] = 8
    assert.truthy(tostring(a):find("luhip.array: f32[2, 2]: 0, 8, 0, 0 (min 0, mean 2, max 8)", 1, true), tostring(a))
  end)
end)
