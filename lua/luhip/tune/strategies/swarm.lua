--- Particle swarm optimisation (Kennedy and Eberhart, 1995) over the digits.
--
-- Options: `particles` (16), `inertia` (0.6), `own` (pull to a particle's best, 1.4), `all` (to the swarm's, 1.4).
-- Dependencies: none.
-- @module luhip.tune.strategies.swarm

local function make(search, i)
  local particle = { position = search:digits(i), velocity = {}, best = search:digits(i), cost = math.huge }
  for axis, size in ipairs(search.sizes) do
    particle.velocity[axis] = (search.random:unit() - 0.5) * size * 0.5
  end
  return particle
end

local function move(search, particle, leader, o)
  local rng = search.random
  for axis, size in ipairs(search.sizes) do
    local x = particle.position[axis]
    local own, all = o.own * rng:unit() * (particle.best[axis] - x), o.all * rng:unit() * (leader.best[axis] - x)
    local v = o.inertia * particle.velocity[axis] + own + all
    particle.velocity[axis] = math.max(-size / 2, math.min(size / 2, v))
    particle.position[axis] = math.max(1, math.min(size, x + particle.velocity[axis]))
  end
  local i = search:at(particle.position)
  if search.costs[i] ~= nil then
    i = search:mutate(i)
  end
  return i
end

local function judge(search, particles, list, costs)
  local leader = particles[1]
  for k, particle in ipairs(particles) do
    if costs[k] < particle.cost then
      particle.cost, particle.best = costs[k], search:digits(list[k])
    end
    if particle.cost < leader.cost then
      leader = particle
    end
  end
  return leader
end

return function(search, options)
  local o = { inertia = options.inertia or 0.6, own = options.own or 1.4, all = options.all or 1.4 }
  local list, particles = search:spread(options.particles or 16), {}
  for k, i in ipairs(list) do
    particles[k] = make(search, i)
  end
  while true do
    local leader = judge(search, particles, list, (search:evaluate_all(list)))
    for k, particle in ipairs(particles) do
      list[k] = move(search, particle, leader, o)
    end
  end
end
