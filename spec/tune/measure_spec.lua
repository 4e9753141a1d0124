local measure = require "luhip.tune.measure"
local support = require "spec.support"

-- A timer that gives these times in turn, the last one for ever.
local function timer(...)
  local times, calls = { ... }, 0
  return function(count)
    calls = calls + 1
    return times[math.min(calls, #times)] * count
  end, function()
    return calls
  end
end

describe("measuring", function()
  it("warms up once and takes three samples of a steady time, then two that change nothing", function()
    local sample, calls = timer(100, 1)
    local m = measure.run(sample)
    assert.equal(6, calls())
    assert.same({ 1, 1, 1, 1, 1 }, m.samples)
    assert.equal(1.0, m.ms)
  end)

  it("never takes more than ten samples", function()
    local n = 0
    local m = measure.run(function()
      n = n + 1
      return n % 2 == 0 and 1 or 1.45 + n / 1000
    end)
    assert.equal(10, #m.samples)
    assert.equal(11, n)
  end)

  it("drops samples beyond 1.5 times the fastest, so that a slow start does not count", function()
    local m = measure.run((timer(9, 5.79, 3.99, 3.02, 1.45, 1.56, 1.46, 1.46)))
    assert.is_true(m.ms < 1.6, m.ms)
    assert.equal(1.45, m.min)
    assert.is_true(m.kept < #m.samples)
  end)

  it("keeps two samples whatever they are", function()
    assert.same({ 1, 100 }, measure.kept { 100, 200, 1, 300 })
    assert.same({ 5 }, measure.kept { 5 })
  end)

  it("scores (0.8 min + 0.2 median) (1 + sigma / (1 + mean))", function()
    assert.equal(2.0, measure.score { 2, 2, 2 })
    local sigma = math.sqrt(2 / 3)
    assert.near((0.8 * 1 + 0.2 * 2) * (1 + sigma / 3), measure.score { 1, 2, 3 }, 1e-12)
  end)

  it("takes the median of even and odd counts", function()
    assert.equal(2, measure.median { 3, 1, 2 })
    assert.equal(2.5, measure.median { 4, 1, 3, 2 })
    local list = { 3, 1, 2 }
    measure.median(list)
    assert.same({ 3, 1, 2 }, list)
  end)

  it("repeats work that the clock does not see", function()
    local counts = {}
    local m = measure.run(function(count)
      counts[#counts + 1] = count
      return count < 100 and 0 or 0.001 * count
    end)
    assert.near(0.001, m.ms, 1e-9)
    assert.equal(100, counts[#counts])
  end)

  it("refuses what takes no time at all, and what is no time", function()
    support.assert_error_kind("argument", function()
      measure.run(function()
        return 0
      end)
    end, "no measurable time")
    support.assert_error_kind("argument", function()
      measure.run(function()
        return 0 / 0
      end)
    end, "no time")
    support.assert_error_kind("argument", function()
      measure.run(function()
        return -1
      end)
    end, "no time")
  end)

  it("stops early with a candidate that cannot win", function()
    local rules = setmetatable({ converge = 0 }, { __index = measure.defaults })
    local n = 0
    local function falling()
      n = n + 1
      return 10 - n / 10
    end
    local hopeless = measure.run(falling, rules, 1) -- no ramp is that high
    assert.same({ 1, true }, { #hopeless.samples, hopeless.given_up })
    -- a first run may be twice as slow as the rest, a third not
    assert.equal(3, #measure.run(falling, rules, 4).samples)
    local near = measure.run(falling, rules, 8.5)
    assert.is_nil(near.given_up)
    assert.equal(10, #near.samples - near.ramp)
  end)

  it("lets errors of the work through", function()
    assert.has_error(function()
      measure.run(function()
        error("work failed", 0)
      end)
    end, "work failed")
  end)
end)
