--- A bandit over strategies: each is given turns, more of them the more often it found something better.
--
-- The credit is the area under the curve of successes in the last `window` (60) turns, with a bonus for what was tried
-- seldom (Fialho, Da Costa, Schoenauer and Sebag, 2010; as used by OpenTuner). All arms share what was measured: an arm
-- is a coroutine of its own that is only resumed with the costs it asked for. Options: `arms` (names; annealing,
-- genetic, differential, greywolf, local), `exploration` (0.05). Dependencies: luhip.tune.strategies.
-- @module luhip.tune.strategies.bandit

local DEFAULT = { "annealing", "genetic", "differential", "greywolf", "local" }

local function make_arms(search, names)
  local strategies = require "luhip.tune.strategies" -- which requires this file
  local arms = {}
  for k, name in ipairs(names) do
    local body = strategies.find(name)
    arms[k] = { co = coroutine.create(body), first = { search, {} } }
  end
  return arms
end

-- Area under the curve of an arm's successes within the window: late ones count more.
local function credit(history, k)
  local area, turns = 0, 0
  for _, turn in ipairs(history) do
    if turn.arm == k then
      turns = turns + 1
      area = area + (turn.success and turns or 0)
    end
  end
  return turns == 0 and 0 or 2 * area / (turns * (turns + 1)), turns
end

local function choose(arms, history, exploration)
  local best, most = nil, -math.huge
  for k, arm in ipairs(arms) do
    if not arm.dead then
      local value, turns = credit(history, k)
      value = turns == 0 and math.huge or value + exploration * math.sqrt(2 * math.log(#history) / turns)
      if value > most then
        best, most = k, value
      end
    end
  end
  return best
end

-- Takes what the arm asks for next to the evaluator; whether anything better was found.
local function turn(search, arm)
  local before = search.best_cost or math.huge
  local ok, wanted = coroutine.resume(arm.co, table.unpack(arm.first or arm.answer, 1, 2))
  arm.first = nil
  if not ok then
    error(wanted, 0)
  elseif coroutine.status(arm.co) == "dead" then
    arm.dead = true
    return false
  end
  arm.answer = { coroutine.yield(wanted) }
  return (search.best_cost or math.huge) < before
end

return function(search, options)
  local arms = make_arms(search, options.arms or DEFAULT)
  local history, window = {}, options.window or 60
  while true do
    local k = choose(arms, history, options.exploration or 0.05)
    if not k then
      return
    end
    history[#history + 1] = { arm = k, success = turn(search, arms[k]) }
    if #history > window then
      table.remove(history, 1)
    end
  end
end
