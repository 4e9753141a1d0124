-- M: the figures that the rules name.
local measure = require "luhip.tune.measure"
local support = require "spec.support"
local work = require "spec.server.work"

local testing = require("luhip.core").testing

support.each_device(function(id)
  local dev
  before_each(function()
    dev = support.open(id)
  end)

  it("M: 128 streams, a drop queue of 64 items (16 integrated) or 64 MiB, 4096 tables of 2048 bytes", function()
    assert.same({
      streams = 128,
      drops = 64,
      drops_integrated = 16,
      drops_bytes = 64 << 20,
      metadata_bytes = 2048,
      metadata_entries = 4096,
      skips = 16,
      anchor_ms = 1000,
      chunked_from = 100 << 20,
    }, testing.figures())
  end)

  it("M: 128 streams may be live, and one more may not", function()
    local live = {}
    for i = 1, 128 do
      live[i] = dev:stream()
    end
    support.assert_error_kind("too_many_streams", function()
      live[129] = dev:stream()
    end, "128 streams")
    live[7]:free()
    live[7] = dev:stream()
    for _, s in ipairs(live) do
      s:free()
    end
  end)

  it("M: buffers are aligned to 32 bytes or more", function()
    assert.is_true(dev.alignment >= 32)
    for _, bytes in ipairs { 1, 31, 33, 100, 4097 } do
      assert.equal(0, dev:resource(dev:buffer("u8", bytes, 0)).pointer % 32)
    end
  end)

  it("M: the newest 16 skip records are kept, all are counted", function()
    local k = work.kernels(dev)
    local x, y = dev:buffer("f32", 8, 1), dev:buffer("f32", 8, 1)
    dev:sync()
    testing.driver_reset()
    testing.driver_fail { call = "hipModuleLaunchKernel", error = "hipErrorInvalidValue" }
    k.set:launch(work.over(8), x, 8, 2)
    testing.driver_reset()
    for _ = 1, 20 do
      k.accumulate:launch(work.over(8), x, y, 8)
    end
    local e = support.assert_error_kind("launch", function()
      y:read()
    end)
    local carried = #e.failures > 0 and e.failures[1] or e
    assert.equal(16, #carried.skips)
    assert.equal(20, carried.skipped)
  end)
end)

describe("tuning", function()
  it("M: one warm-up, 3 to 10 samples, what is beyond 1.5 times the best dropped but for two, 2 % twice", function()
    local rules = measure.defaults
    assert.same(
      { 1, 3, 10, 1.5, 2, 0.02, 2 },
      { rules.warmup, rules.min_samples, rules.max_samples, rules.drop, rules.keep, rules.converge, rules.converged }
    )
    assert.same({ 1, 1.5 }, measure.kept { 1.6, 1, 1.5, 3 })
    assert.same({ 1, 5 }, measure.kept { 7, 1, 5 })
    local calls = 0
    local result = measure.run(function()
      calls = calls + 1
      return 2
    end)
    assert.equal(6, calls) -- a warm-up, three samples, and the score twice more the same
    assert.equal(5, #result.samples)
    calls = 0
    measure.run(function()
      calls = calls + 1
      return 1 + 0.4 / calls ^ 2 * (calls % 2) + 0.5 * 0.7 ^ calls
    end)
    assert.is_true(calls >= 4 and calls <= 11)
  end)

  it("M: the score is (0.8 min + 0.2 median) (1 + sigma / (1 + mean))", function()
    assert.equal(2, measure.score { 2, 2, 2 })
    local sigma = math.sqrt(((1 - 2) ^ 2 + 0 + (3 - 2) ^ 2) / 3)
    local wanted = (0.8 * 1 + 0.2 * 2) * (1 + sigma / 3)
    assert.is_true(math.abs(measure.score { 3, 1, 2 } - wanted) < 1e-12)
  end)
end)
