local evaluator = require "luhip.tune.evaluator"
local recorded = require "luhip.tune.recorded"
local space = require "luhip.tune.space"
local strategies = require "luhip.tune.strategies"
local support = require "spec.support"
local tune = require "luhip.tune"

-- A recorded run of a made-up cost over params; nil is a failure.
local function made(params, cost, where, metrics_of)
  local all, rows = space.new { params = params, where = where }, {}
  for i, config in all:each() do
    local ms = cost(config)
    rows[i] = { params = config, status = ms and "ok" or "compile", ms = ms, compile_ms = 2000 }
    rows[i].metrics = metrics_of and metrics_of(config)
  end
  local listed = {}
  for k, param in ipairs(all.params) do
    listed[k] = param
  end
  return recorded.of { format = "luhip.tune.result/1", space = { params = listed }, rows = rows, name = "made" }
end

local function bowl(p)
  if p.X == 5 and p.Y > 6 then
    return nil
  end
  return 1 + (p.X - 9) ^ 2 / 10 + math.abs(p.Y - 3) / 4 + (p.K == "b" and 0 or 0.5)
end

local function ten(n)
  return tune.range(1, n)
end

local BOWL = { X = ten(12), Y = ten(9), K = { "a", "b", "c" } }

local function order(result)
  local list = {}
  for k, row in ipairs(result.rows) do
    list[k] = ("%s %s %s"):format(row.params.X, row.params.Y, row.params.K)
  end
  return table.concat(list, ";")
end

for _, name in ipairs(strategies.names()) do
  describe("strategy " .. name, function()
    it("spends the budget exactly, on valid configurations, none twice", function()
      local run = made(BOWL, bowl, "X + Y ~= 10")
      for _, n in ipairs { 1, 2, 7, 60, 150 } do
        local r = tune.simulate(run, { strategy = name, budget = n, seed = 3 })
        assert.equal(n, #r.rows)
        assert.equal("configs", r.stopped)
        local there = {}
        for _, row in ipairs(r.rows) do
          local i = assert(run.space:index(row.params))
          assert.is_nil(there[i])
          there[i] = true
        end
      end
    end)

    it("goes through a whole space, also one with axes of one and two values", function()
      for _, params in ipairs {
        { A = { 7 } },
        { A = { 1, 2 } },
        { A = { 7 }, B = { true, false } },
        { A = ten(30), B = { 1 } },
      } do
        local run = made(params, function(p)
          return p.A
        end)
        local r = tune.simulate(run, { strategy = name, budget = { configs = 1000 } })
        assert.equal(run.space.count, #r.rows)
        assert.equal(params.A[1], r.best.params.A)
      end
    end)

    it("the same seed gives the same run, another one another", function()
      local run = made(BOWL, bowl)
      local function go(seed)
        return order(tune.simulate(run, { strategy = name, budget = 50, seed = seed }))
      end
      assert.equal(go(11), go(11))
      if name ~= "exhaustive" then
        assert.not_equal(go(11), go(12))
      end
    end)

    it("lives with failures, even when there is nothing else", function()
      local run = made(BOWL, function() end)
      local r = tune.simulate(run, { strategy = name, budget = 40 })
      assert.equal(40, #r.rows)
      assert.is_nil(r.best)
      assert.equal(40, r.counts.compile)
    end)

    it("does not mind negative costs, zero and enormous ones", function()
      for _, cost in ipairs {
        function(p)
          return -100 - p.X
        end,
        function(p)
          return p.X - 6.0
        end,
        function(p)
          return 10.0 ^ (p.X * 20)
        end,
      } do
        local costs = space.new { params = BOWL }
        local stopped, search = evaluator.run {
          space = costs,
          strategy = strategies.find(name),
          budget = { configs = 40 },
          clock = os.clock,
          cost = cost,
          evaluate = function(i)
            return costs:nth(i)
          end,
        }
        assert.equal("configs", stopped)
        assert.equal(40, search.measured)
      end
    end)
  end)
end

describe("searches that learn", function()
  for _, name in ipairs { "auto", "bayesian", "annealing", "genetic", "greywolf", "local", "swarm" } do
    it(name .. " beats random search on a bowl", function()
      local run, better = made(BOWL, bowl), 0
      for seed = 1, 9 do
        local found = tune.simulate(run, { strategy = name, budget = 70, seed = seed }).best.ms
        local chance = tune.simulate(run, { strategy = "random", budget = 70, seed = seed }).best.ms
        better = better + (found < chance and 1 or found > chance and -1 or 0)
      end
      assert.is_true(better > 0, better)
    end)
  end

  it("auto comes close to the best of a bowl of 324 within 60 evaluations", function()
    local run = made(BOWL, bowl)
    for seed = 1, 5 do
      local best = tune.simulate(run, { budget = 60, seed = seed }).best
      assert.is_true(best.ms <= 1.4, best.ms) -- 1 is the best, one of ten is below 2
    end
  end)

  it("auto takes the same way on every processor, whatever its instructions and library round", function()
    local way = {}
    for k, row in ipairs(tune.simulate(made(BOWL, bowl), { budget = 40, seed = 7 }).rows) do
      way[k] = row.params.X .. row.params.K .. row.params.Y
    end
    assert.equal(
      "3b1 1a6 9c4 9b9 12c9 8b8 7c8 10a2 11b4 11a4 10b4 6b4 10b5 10b8 12b4 8c4 10c4 8b1 10b1 9b2 7b2 9b3 9a3 4b3 10b3 "
        .. "8b3 9b6 9c3 7b3 9b4 11b3 10a7 9a1 9b7 6b3 8b4 9b1 8b2 9b5 10b2",
      table.concat(way, " ")
    )
  end)

  it("auto goes on where the model has forgotten, and spends budgets of many hundreds", function()
    local run = made({ X = ten(20), Y = ten(20), Z = { 1, 2, 4, 8 } }, function(p)
      return 1 + (p.X - 13) ^ 2 + (p.Y - 4) ^ 2 / 3 + 8 / p.Z
    end)
    local r = tune.simulate(run, { budget = 500, seed = 2 })
    assert.equal(500, #r.rows)
    assert.same({ X = 13, Y = 4, Z = 8 }, r.best.params)
  end)

  it("auto learns where an axis has more values than a group of the model takes, and of texts", function()
    for _, params in ipairs {
      { X = ten(400), K = { "a", "b", "c" } },
      { X = ten(70), Y = ten(70) },
      { X = ten(3), Y = ten(90), Z = ten(4) },
    } do
      local run = made(params, function(p)
        return 1 + math.abs(p.X - 3) + math.abs((p.Y or 5) - 5) + (p.K == "c" and 0 or 1)
      end)
      local found = tune.simulate(run, { budget = 100, seed = 1 }).best
      local chance = tune.simulate(run, { strategy = "random", budget = 100, seed = 1 }).best
      assert.is_true(found.ms <= chance.ms and found.params.X <= 5, found.ms)
    end
  end)

  it("auto searches spaces that are too large to list", function()
    local huge = {}
    for k = 1, 12 do
      huge["P" .. k] = ten(10)
    end
    local all = space.new { params = huge }
    local _, search = evaluator.run {
      space = all,
      strategy = strategies.find "auto",
      budget = { configs = 60 },
      clock = os.clock,
      evaluate = function(i)
        return all:nth(i)
      end,
      cost = function(p)
        local sum = 1
        for k = 1, 12 do
          sum = sum + math.abs(p["P" .. k] - 5)
        end
        return sum
      end,
    }
    assert.equal(60, search.measured)
    assert.is_true(search.best_cost < 25, search.best_cost) -- a random one costs 31 on average
  end)
end)

describe("a budget", function()
  it("in seconds counts what was recorded", function()
    local run = made(BOWL, bowl)
    local r = tune.simulate(run, { strategy = "random", budget = { seconds = 21 } })
    assert.equal(11, #r.rows) -- about two seconds each; the last one begins before the end
    assert.equal("seconds", r.stopped)
    assert.is_true(r.seconds > 21 and r.seconds < 24)
  end)

  it("of both ends with the first", function()
    local run = made(BOWL, bowl)
    assert.equal(
      "configs",
      tune.simulate(run, { strategy = "random", budget = { seconds = 100, configs = 5 } }).stopped
    )
    assert.equal("seconds", tune.simulate(run, { strategy = "random", budget = { seconds = 3, configs = 50 } }).stopped)
  end)

  it("is refused when it makes no sense", function()
    local run = made(BOWL, bowl)
    for _, case in ipairs {
      { "argument", { configs = 0 }, "configs" },
      { "argument", { configs = 2.5 }, "configs" },
      { "argument", { seconds = -1 }, "seconds" },
      { "argument", { second = 1 }, "'seconds'" },
      { "type", { configs = "many" }, "configs" },
      { "type", "5", "budget" },
      { "argument", 0, "configs" },
    } do
      support.assert_error_kind(case[1], function()
        tune.simulate(run, { budget = case[2] })
      end, case[3])
    end
  end)
end)

describe("a strategy of the user's", function()
  local run = made(BOWL, bowl)

  it("yields positions and configurations and is told costs and rows", function()
    local told
    local r = tune.simulate(run, {
      strategy = function(search)
        local cost, row = coroutine.yield(5)
        told = { cost, row.ms, search.count }
        coroutine.yield { X = 9, Y = 3, K = "b" }
      end,
    })
    assert.equal("strategy", r.stopped)
    assert.truthy(tostring(r):find("; stopped: the strategy ended early", 1, true), tostring(r))
    assert.same({ told[2], told[2], 324 }, told)
    assert.equal(2, #r.rows)
    assert.equal(1.0, r.best.ms)
  end)

  it("yields lists and is told lists, with math.huge for failures", function()
    local costs, rows
    tune.simulate(run, {
      strategy = function()
        costs, rows = coroutine.yield { { X = 9, Y = 3, K = "b" }, { X = 5, Y = 7, K = "a" }, 1 }
      end,
    })
    assert.same({ 1.0, math.huge, rows[3].ms }, costs)
    assert.equal("compile", rows[2].status)
  end)

  it("that asks for what is known gets it again, and something new after a while", function()
    local asked = 0
    local r = tune.simulate(run, {
      budget = 3,
      strategy = function()
        while true do
          asked = asked + 1
          coroutine.yield(1)
        end
      end,
    })
    assert.equal(3, #r.rows)
    assert.is_true(asked > 100)
  end)

  it("hears what is wrong with what it asks for", function()
    for _, case in ipairs {
      { "range", 0, "0 of 324" },
      { "range", 325, "325 of 324" },
      { "type", "X", "string" },
      { "argument", { X = 1, Y = 1, K = "z" }, "not in the space", "K=z" },
      { "argument", { X = 1 }, "what the strategy asks for", "is missing" },
      { "argument", { X = 99 }, "what the strategy asks for", "is missing" },
      { "argument", { X = 1, Z = 1 }, "what the strategy asks for", "'Z' is no parameter" },
    } do
      support.assert_error_kind(case[1], function()
        tune.simulate(run, {
          strategy = function()
            coroutine.yield(case[2])
          end,
        })
      end, case[3], case[4])
    end
  end)

  it("that raises ends the run with what it raised", function()
    local ok, e = pcall(tune.simulate, run, {
      strategy = function()
        error({ mine = true }, 0)
      end,
    })
    assert.is_false(ok)
    assert.same({ mine = true }, e)
  end)
end)

describe("options of strategies", function()
  local run = made(BOWL, bowl)

  it("are given in a table behind the name", function()
    local r = tune.simulate(run, { strategy = { "genetic", population = 6, mutation = 0.5 }, budget = 30 })
    assert.equal("genetic", r.strategy)
    assert.equal(30, #r.rows)
  end)

  it("must be known and possible", function()
    for _, case in ipairs {
      { "argument", { "genetic", populatoin = 6 }, "'populatoin'", "'population'" },
      { "argument", { "genetic", population = 2 }, "at least 4" },
      { "type", { "genetic", population = "6" }, "population" },
      { "argument", { "random", x = 1 }, "it has none" },
      { "argument", { "genetics" }, "'genetic'" },
      { "argument", { population = 6 }, "name" },
      { "argument", { "bandit", arms = { "anealing" } }, "'annealing'" },
      { "type", 5, "strategy" },
    } do
      support.assert_error_kind(case[1], function()
        tune.simulate(run, { strategy = case[2] })
      end, case[3], case[4])
    end
  end)
end)

describe("several objectives", function()
  -- small X is fast, large X is accurate; Y is bad for both
  local function rows()
    return made(
      { X = ten(20), Y = ten(10) },
      function(p)
        return 1.0 * p.X + p.Y - 1
      end,
      nil,
      function(p)
        return { accuracy = p.X * 2.0 - p.Y }
      end
    )
  end

  it("give the front: what no other beats in all of them", function()
    local r = tune.simulate(rows(), { objective = { "ms", "accuracy" }, higher = { accuracy = true } })
    assert.equal(200, #r.rows)
    assert.equal(20, #r.pareto)
    assert.truthy(
      tostring(r):find("\n20 that no other beats in all of [%w_, ]+:\n  [%w_]+=[^\n]+: [%w_]+ [%d.e-]+, "),
      tostring(r)
    )
    for k, row in ipairs(r.pareto) do
      assert.same({ X = k, Y = 1 }, row.params)
    end
  end)

  it("are searched by default so that the front is found", function()
    local r = tune.simulate(rows(), { objective = { "ms", "accuracy" }, higher = { accuracy = true }, budget = 120 })
    local on_front = 0
    for _, row in ipairs(r.pareto) do
      on_front = on_front + (row.params.Y == 1 and 1 or 0)
    end
    assert.is_true(on_front >= 12, on_front) -- of 20, when six in ten are measured
  end)

  it("must be names, each once", function()
    local run = rows()
    support.assert_error_kind("argument", function()
      tune.simulate(run, { objective = { "ms", "ms" } })
    end, "twice")
    support.assert_error_kind("argument", function()
      tune.simulate(run, { objective = { "ms", "accuracy" }, higher = { acuracy = true } })
    end, "'acuracy' is no objective")
    support.assert_error_kind("type", function()
      tune.simulate(run, { objective = {} })
    end)
  end)
end)
