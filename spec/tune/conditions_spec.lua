local fake = require "spec.tune.fake"
local options = require "luhip.tune.options"
local result = require "luhip.tune.result"
local runner = require "luhip.tune.runner"
local support = require "spec.support"
local tune = require "luhip.tune"

local PARAMS = { { name = "x", kind = "in" }, { name = "y", kind = "out" } }

local function double(_, x, y)
  for i = 1, x.count do
    y.values[i] = 2 * x.values[i]
  end
end

local function run(script, given)
  script.params, script.run = script.params or PARAMS, script.run or double
  local device = fake.device(script)
  local x, y = fake.buffer { 1, 2, 3 }, fake.buffer { 0, 0, 0 }
  local all = {
    device = device,
    source = "text",
    kernel = "double",
    params = { A = { 1, 2 } },
    grid = 1,
    block = 32,
    args = { x, y },
    expect = { y = { 2, 4, 6 } },
  }
  for key, value in pairs(given or {}) do
    all[key] = value ~= "none" and value or nil
  end
  return result.new(runner.run(options.read(all), fake.host(device))), device, x, y
end

local function refuse(kind, given, ...)
  support.assert_error_kind(kind, function()
    run({}, given)
  end, ...)
end

describe("what a sample finds", function()
  it("cold samples begin behind a write of twice the last-level cache, one launch each", function()
    local fills, sizes = 0, {}
    local script = { device = { cache_bytes = 8 } }
    local launches_at = {}
    function script.run(_, x, y)
      launches_at[#launches_at + 1] = fills
      double(_, x, y)
    end
    local device = fake.device(script)
    local plain = getmetatable(device).__index.buffer
    script.device.buffer = function(self, dtype, shape)
      sizes[#sizes + 1] = shape[1]
      local buffer = plain(self, dtype, shape)
      function buffer.fill()
        fills = fills + 1
      end
      return buffer
    end
    local r, used = run(script, { cache = "cold", params = { A = { 1 } } })
    assert.equal("ok", r.rows[1].status)
    assert.same({ 16 }, sizes)
    assert.equal(0, used.buffers)
    assert.equal(#launches_at - 1, fills) -- all but the one that is verified
    for k, at in ipairs(launches_at) do
      assert.equal(k - 1, at)
    end
  end)

  it("a number of bytes stands for the cache that a device does not tell", function()
    refuse("argument", { cache = "cold" }, "cache", "bytes")
    local r = run({}, { cache = 4096 })
    assert.equal("ok", r.rows[1].status)
    refuse("argument", { cache = "warm" }, "warm", "cold")
    refuse("argument", { cache = 0 }, "cache")
    refuse("argument", { cache = 1.5 }, "cache")
  end)

  it("launches take turns with copies of what is only read or only written", function()
    local seen, order = {}, {}
    local r, device, x = run({
      run = function(_, a, b)
        assert.same({ 1, 2, 3 }, a.values)
        if not seen[a] then
          seen[a], order[#order + 1] = b, a
        end
        assert.equal(seen[a], b)
        double(_, a, b)
      end,
    }, { rotate = 3 })
    assert.equal("ok", r.rows[2].status)
    assert.equal(3, #order)
    assert.equal(x, order[1])
    assert.equal(0, device.buffers)
  end)

  it("nothing that is both read and written is copied, which is said", function()
    local inout = { { name = "x", kind = "in" }, { name = "x2", kind = "inout" }, { name = "y", kind = "out" } }
    local x, y = fake.buffer { 1, 2, 3 }, fake.buffer { 0, 0, 0 }
    local seen, count = {}, 0
    local r = run({
      params = inout,
      run = function(_, a, b, c)
        assert.equal(a, b)
        count, seen[a] = count + (seen[a] and 0 or 1), true
        double(_, a, c)
      end,
    }, { rotate = 2, args = { x, x, y } })
    assert.equal("ok", r.rows[1].status)
    assert.equal(1, count)
    local alone = run({
      params = { { name = "y", kind = "inout" } },
      run = function(_, a)
        a.values = { 2, 4, 6 }
      end,
    }, { rotate = 2, args = { fake.buffer { 0, 0, 0 } } })
    assert.truthy(table.concat(alone.warnings, "\n"):find("rotate", 1, true))
    refuse("argument", { rotate = 0 }, "rotate")
    refuse("argument", { rotate = 1.5 }, "rotate")
    refuse("argument", { rotate = 65 }, "rotate", "64")
  end)

  it("the rows that the noise does not tell from the best are told beyond the finalists", function()
    local n = 0
    local r = run({
      ms = function()
        n = n + 1
        return 1 + 0.01 * (n % 5)
      end,
    }, { params = { A = tune.range(1, 9) }, measure = { finalists = 2, min_samples = 6, max_samples = 10 } })
    assert.equal(2, #r.near)
    assert.is_true(#r.alike > 2)
    for _, row in ipairs(r.alike) do
      assert.is_true(row.low <= r.best.high)
    end
  end)
end)

describe("a reference kernel", function()
  it("runs once, and candidates are compared with what it wrote", function()
    local compiled = 0
    local r, device, _, y = run({
      compile = function(defines)
        compiled = compiled + (defines.REF and 1 or 0)
      end,
      run = function(defines, a, b)
        double(defines, a, b)
        if defines.A == "2" then
          b.values[3] = 7
        end
      end,
    }, { expect = "none", reference = { grid = 1, block = 1, params = { A = 1 }, defines = { REF = 1 } } })
    assert.equal(1, compiled)
    assert.equal("ok", r.rows[1].status)
    assert.equal("verify", r.rows[2].status)
    assert.truthy(tostring(r.rows[2].error):find("'y': 1 of 3 values differ: 3 is 7, not 6", 1, true))
    assert.is_true(r.verified)
    assert.same({ 0, 0, 0 }, y.values)
    assert.equal(device.compiles, device.freed)
  end)

  it("is asked for the outputs that are said to be true, beside values of others", function()
    local r = run({}, { expect = { y = true }, reference = { grid = 1, block = 1 } })
    assert.equal("ok", r.rows[1].status)
    refuse("argument", { expect = { y = true } }, "y", "reference")
    refuse("argument", { expect = { z = true }, reference = { grid = 1, block = 1 } }, "z")
  end)

  it("that fails ends the run, and says that it was the reference", function()
    local script = {
      compile = function(defines)
        if not defines.A then
          error(fake.error("compile", "no such thing"), 0)
        end
      end,
    }
    support.assert_error_kind("compile", function()
      run(script, { expect = "none", reference = { grid = 1, block = 1 } })
    end, "reference: no such thing")
    refuse("argument", { expect = "none", reference = { block = 1 } }, "grid")
    refuse("argument", { expect = "none", reference = { grid = 1, block = 1, blok = 1 } }, "blok", "block")
    refuse("type", { expect = "none", reference = { grid = "1", block = 1 } }, "grid")
    refuse("argument", {
      reference = { grid = 1, block = 1 },
      expect = function()
        return true
      end,
    }, "reference")
  end)
end)

support.each_device(function(id)
  it("cold, rotated and checked by a kernel on a device", function()
    local dev = support.open(id)
    assert.is_true(dev.cache_bytes >= 0)
    local n = 4
    local x, y = dev:from("f32", { 1, 2, 3, 4 }), dev:buffer("f32", n)
    local r = tune {
      device = dev,
      source = [[
        extern "C" __global__ void twice(const float *x, float *y, int n) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i < n) y[i] = FACTOR * x[i];
        }
      ]],
      kernel = "twice",
      access = { y = "out" },
      params = { FACTOR = { 2, 3 } },
      grid = 2,
      block = 32,
      args = { x, y, n },
      reference = { grid = 1, block = 64, params = { FACTOR = 2 } },
      cache = 65536,
      rotate = 2,
      measure = { min_samples = 3, max_samples = 3, rounds = 0 },
      progress = false,
    }
    assert.equal("ok", r.rows[1].status)
    assert.equal("verify", r.rows[2].status)
  end)
end)
