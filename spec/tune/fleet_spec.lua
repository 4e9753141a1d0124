-- Compilers that run ahead and devices that share a run: more at once, and the same rows in the same order.
local fake = require "spec.tune.fake"
local options = require "luhip.tune.options"
local result = require "luhip.tune.result"
local runner = require "luhip.tune.runner"
local support = require "spec.support"
local tune = require "luhip.tune"

support.scope()

local function device_of(id, log)
  return fake.device {
    device = { id = id },
    params = { { name = "x", kind = "in" }, { name = "y", kind = "out" } },
    ms = function(defines)
      return 1 + (defines.A * 7 + defines.B * 3) % 11
    end,
    compile = function(defines)
      if defines.A == "5" and defines.B == "2" then
        error(fake.error("compile", "expected ';'"), 0)
      end
    end,
    run = function(defines, x, y)
      log[id] = (log[id] or 0) + 1
      y.values[1] = 2 * x.values[1]
      if defines.A == "7" then
        y.values[1] = 0
      end
    end,
  }
end

-- Runs with so many compilers ahead on so many devices.
local function run(ahead, count, given)
  local log, devices = {}, {}
  for k = 1, count do
    devices[k] = device_of("fake:" .. k - 1, log)
  end
  local all = {
    name = "k",
    device = count == 1 and devices[1] or devices,
    ahead = ahead,
    source = "text",
    kernel = "k",
    params = { A = tune.range(1, 9), B = { 1, 2, 3 } },
    grid = 1,
    block = 1,
    args = { fake.buffer { 1 }, fake.buffer { 0 } },
    expect = { y = { 2 } },
    metrics = {
      cost = function(row)
        return (row.params.A * 7 + row.params.B * 3) % 11
      end,
    },
    objective = "cost",
  }
  for key, value in pairs(given or {}) do
    all[key] = value
  end
  local r = result.new(runner.run(options.read(all), fake.host(devices[1])))
  return r, devices, log
end

local function order(r)
  local list = {}
  for i, row in ipairs(r.rows) do
    list[i] = ("%d %d %s"):format(row.params.A, row.params.B, row.status)
  end
  return list
end

describe("a run with compilers ahead", function()
  for _, strategy in ipairs { "exhaustive", "genetic", "differential", "latin", "random", "annealing" } do
    it(("gives %s the same rows in the same order, on one device or three"):format(strategy), function()
      for _, budget in ipairs { 26, 11, 1 } do
        local given = { strategy = strategy, seed = 3, budget = budget }
        local alone = run(0, 1, given)
        assert.equal(budget, #alone.rows)
        for _, how in ipairs { { 1, 1 }, { 4, 1 }, { 64, 1 }, { 0, 3 }, { 2, 3 } } do
          local other = run(how[1], how[2], given)
          assert.same(order(alone), order(other))
          assert.equal(alone.stopped, other.stopped)
          assert.same(alone.best and alone.best.params, other.best and other.best.params)
        end
      end
    end)
  end

  it("compiles those behind the one that is measured, and every one once", function()
    local r, devices = run(3, 1)
    assert.equal(27, #r.rows)
    assert.equal(26, devices[1].early) -- the first tells whether what was asked for is possible at all
    assert.equal(27, devices[1].compiles)
    assert.equal(26, devices[1].freed) -- one does not compile
    assert.equal(1, r.counts.compile)
    assert.equal(3, r.counts.verify)
    for _, row in ipairs(r.rows) do
      assert.is_true(row.status == "compile" or row.compile_ms >= 0)
    end
  end)

  it("ends with what is asked wrongly", function()
    support.assert_error_kind("argument", function()
      run(3, 1, { expect = { z = { 2 } } })
    end, "the kernel has no parameter 'z'")
  end)

  it("stops in the middle of a list when the configuration at hand is the last", function()
    local r = run(3, 2, {
      metrics = {
        cost = function(row)
          return row.params.A
        end,
      },
      budget = 5,
    })
    assert.equal(5, #r.rows)
    assert.equal("configs", r.stopped)
  end)
end)

describe("a run on several devices", function()
  it("shares the configurations, with arguments copied to each, which are freed", function()
    local r, devices, log = run(0, 3)
    local places = {}
    for _, row in ipairs(r.rows) do
      places[row.place] = (places[row.place] or 0) + 1
    end
    for k = 1, 3 do
      assert.is_true(places["fake:" .. k - 1] >= 1)
      assert.is_true(log["fake:" .. k - 1] >= 1)
    end
    assert.equal(0, devices[2].buffers)
    assert.equal(0, devices[3].buffers)
    assert.same({}, r.warnings)
  end)

  it("is used by a search with a model too", function()
    for _, strategy in ipairs { "auto", "bayesian" } do
      local r = run(0, 3, { strategy = strategy, budget = 24, seed = 1 })
      assert.equal(24, #r.rows)
      local places, seen = {}, {}
      for i, row in ipairs(r.rows) do
        local text = row.params.A .. " " .. row.params.B
        assert.is_nil(seen[text])
        seen[text] = true
        if i > 9 then -- behind the first draws
          places[row.place] = true
        end
      end
      assert.same({ ["fake:0"] = true, ["fake:1"] = true, ["fake:2"] = true }, places)
    end
  end)

  it("says that devices of different kinds are compared", function()
    local log = {}
    local one, other = device_of("fake:0", log), device_of("fake:1", log)
    other.arch = "other"
    local r = run(0, 2, { device = { one, other } })
    assert.truthy(r.warnings[1]:find("fake:1 is another kind of device than fake:0", 1, true))
  end)

  it("refuses lists that are none", function()
    local log = {}
    local one = device_of("fake:0", log)
    support.assert_error_kind("argument", function()
      run(0, 2, { device = { one, one } })
    end, "fake:0 is there twice")
    support.assert_error_kind("type", function()
      run(0, 2, { device = { one, 7 } })
    end, "entry 2: a device expected")
    support.assert_error_kind("argument", function()
      run(0, 2, { device = {} })
    end)
    support.assert_error_kind("argument", function()
      run(-1, 1)
    end, "ahead: a whole number from 0 to 64 expected")
  end)

  it("keeps what each of them measured in one store, from which all of it is found again", function()
    local path = support.temporary_directory() .. "/k.tune"
    local first = run(2, 2, { store = path })
    assert.equal(27, #first.rows)
    local again, devices = run(2, 2, { store = path })
    assert.equal(27, again.reused)
    assert.equal(0, devices[1].launches + devices[2].launches)
    assert.same(order(first), order(again))
  end)
end)

support.each_device(function(id)
  it("compilers run ahead of a real device, and a second one takes its share", function()
    local devices = { support.open(id) }
    devices[2] = id == "cpu:0" and support.open "cpu:0/64" or nil
    for _, list in ipairs { { devices[1] }, devices } do
      local dev = list[1]
      local x = dev:buffer("f32", 64, function(i)
        return i
      end)
      local y, expected = dev:buffer("f32", 64), {}
      for i = 1, 64 do
        expected[i] = 2 * i
      end
      local r = tune {
        device = #list > 1 and list or dev,
        ahead = 2,
        source = [[
          #if A == 3
          #error three
          #endif
          extern "C" __global__ void k(const float *x, float *y) { y[threadIdx.x] = (A == 4 ? 3 : 2) * x[threadIdx.x]; }
        ]],
        kernel = "k",
        params = { A = { 1, 2, 3, 4, 5, 6 } },
        grid = 1,
        block = 64,
        args = { x, y },
        expect = { y = expected },
        measure = { max_samples = 4 },
        progress = false,
      }
      local statuses = {}
      for i, row in ipairs(r.rows) do
        assert.equal(i, row.params.A)
        statuses[i] = row.status
      end
      assert.same({ "ok", "ok", "compile", "verify", "ok", "ok" }, statuses)
      assert.truthy(tostring(r.rows[3].error):find("three", 1, true))
      if #list > 1 then
        local places = {}
        for _, row in ipairs(r.rows) do
          places[row.place] = true
        end
        assert.same({ ["cpu:0"] = true, ["cpu:0/64"] = true }, places)
      end
    end
  end)
end)
