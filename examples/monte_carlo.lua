-- The area of a circle, and the price of an option, by random points: random numbers, one-expression kernels and
-- reductions, with no kernel text.
--
--   luhip examples/monte_carlo.lua            LUHIP_SIZE: how many points (default 2^20)

local luhip = require "luhip"

local n = luhip.config "size" or 1 << 20
local dev = luhip.open()
local rng = luhip.random(2024)

-- Points in the unit square; how many of them lie in the circle?
local inside = luhip.reduce("f32 x, f32 y", "i64 count", "x * x + y * y <= 1.0f", "a + b", "0", { name = "inside" })
local count = inside(rng:uniform(dev, "f32", n), rng:uniform(dev, "f32", n)):read()[1]
local pi, error_of_pi = 4 * count / n, 4 * math.sqrt(0.1685 / n)
print(("pi    %.5f +- %.5f (of %d points)"):format(pi, error_of_pi, n))

-- A European call of strike 100 in a year's time: price now 100, rate 5 %, volatility 20 % (Black and Scholes).
local payoff = luhip.elementwise(
  "f32 z, f32 price, f32 drift, f32 volatility, f32 strike",
  "f32 value",
  "value = fmaxf(price * expf(drift + volatility * z) - strike, 0.0f)",
  { name = "payoff" }
)
local mean = luhip.reduce("f32 x", "f64 y", "x", "a + b", "0", { post = "a / n", name = "mean" })
local square = luhip.reduce("f32 x", "f64 y", "(double)x * x", "a + b", "0", { post = "a / n", name = "square" })
local values = payoff(rng:normal(dev, "f32", n), 100, 0.05 - 0.2 ^ 2 / 2, 0.2, 100)
local average, squares = mean(values):read()[1], square(values):read()[1]
local discount = math.exp(-0.05)
local spread = math.max(squares - average ^ 2, 14 ^ 2) -- a few points alone do not tell how far they scatter
local price, error_of_price = discount * average, discount * math.sqrt(spread / n)
print(("call  %.4f +- %.4f (exact: 10.4506)"):format(price, error_of_price))

assert(math.abs(pi - math.pi) < 5 * error_of_pi, "pi is far off")
assert(math.abs(price - 10.4506) < 5 * error_of_price, "the price is far off")
