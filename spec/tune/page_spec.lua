-- The page and the picture of a result, as texts; spec/hosts/chromium_spec.lua has them drawn.
local core = require "luhip.core"
local fake = require "spec.tune.fake"
local importance = require "luhip.tune.importance"
local options = require "luhip.tune.options"
local result = require "luhip.tune.result"
local runner = require "luhip.tune.runner"
local support = require "spec.support"

local function run(given)
  local device = fake.device {
    run = function() end,
    ms = function(defines)
      return tonumber(defines.A) * 0.125
    end,
    compile = function(defines)
      if defines.A == "3" then
        error(fake.error("compile", "</script><script>alert(1)</script> expected"), 0)
      end
    end,
  }
  local all = {
    name = "<job> & 'co'",
    device = device,
    source = "text",
    params = { A = { 2, 3, 1 }, T = { "float", "</script>" }, B = { true } },
    grid = 1,
    block = 1,
    metrics = {
      rate = function(row)
        return 1 / row.ms
      end,
      odd = function()
        return 0 / 0
      end,
    },
  }
  for key, value in pairs(given or {}) do
    all[key] = value
  end
  return result.new(runner.run(options.read(all), fake.host(device)))
end

local function page_of(r)
  local path = support.temporary_directory() .. "/out.html"
  r:report(path)
  local text = support.read_file(path)
  local embedded = text:match '<script type="application/json" id="data">(.-)</script>'
  return text, core.json(embedded)
end

local function count(text, pattern)
  return select(2, text:gsub(pattern, ""))
end

describe("the page of a result", function()
  it("holds all rows as JSON, with values, objective, metrics and errors", function()
    local r = run()
    local _, data = page_of(r)
    assert.equal(#r.rows, #data.rows)
    assert.equal(6, #data.rows)
    for i, row in ipairs(r.rows) do
      local kept = data.rows[i]
      assert.equal(row.status, kept.status)
      assert.equal(row.status == "ok" and row.ms or nil, kept.value)
      for p, param in ipairs(data.params) do
        assert.equal(row.params[param.name], param.values[kept.at[p]])
      end
      if row.status == "ok" then
        assert.equal(row.rate, kept.metrics.rate)
        assert.is_nil(kept.metrics.odd)
      else
        assert.equal("</script><script>alert(1)</script> expected", kept.error)
      end
    end
    assert.equal("ms", data.objective)
    assert.equal(r.best, r.rows[data.best])
    assert.equal(6, data.total)
  end)

  it("cannot be broken by what the rows say: no text of theirs is markup", function()
    local text = page_of(run())
    assert.equal(2, count(text, "</script>"))
    assert.equal(2, count(text, "<script"))
    assert.equal(2, count(text, "&lt;job&gt; &amp; &#39;co&#39; on fake:0"))
    assert.is_nil(text:find("<job>", 1, true))
  end)

  it("asks for nothing from elsewhere", function()
    local text = page_of(run())
    local outside =
      text:gsub('<script type="application/json" id="data">.-</script>', ""):gsub("http://www%.w3%.org/2000/svg", "")
    assert.is_nil(outside:find "https?://")
    assert.is_nil(outside:find "src=")
    assert.is_nil(outside:find "@import")
    assert.truthy(text:find("default-src 'none'", 1, true))
  end)

  it("is whole when nothing works, and when a search stopped after one configuration", function()
    local _, data = page_of(run { params = { A = { 3 } } })
    assert.equal("compile", data.rows[1].status)
    assert.equal(0, data.params[1].share)
    _, data = page_of(run { budget = 1 })
    assert.equal(1, #data.rows)
    assert.equal("configs", data.stopped)
  end)

  it("says of results whether they were verified only where there are some", function()
    local text = page_of(run { params = { A = { 3 } } })
    assert.truthy(text:find('ok && (data.verified ? "every result verified" : "results not verified")', 1, true))
  end)

  it("keeps values that the space does not have", function()
    local r = run()
    r.rows[1].params = { A = 77, T = "float", B = false }
    local _, data = page_of(r)
    local shown = {}
    for p, param in ipairs(data.params) do
      shown[param.name] = param.values[data.rows[1].at[p]]
    end
    assert.same({ A = 77, T = "float", B = false }, shown)
  end)
end)

describe("importance", function()
  -- log(objective) = 3a + b, a and b in 0..3, c without influence: a has 9 parts of 10 of the variance.
  local function grid(f)
    local values, places = {}, {}
    for a = 0, 3 do
      for b = 0, 3 do
        for c = 0, 1 do
          values[#values + 1], places[#places + 1] = math.exp(f(a, b, c)), { a + 1, b + 1, c + 1 }
        end
      end
    end
    return values, places
  end

  it("is the share of the variance of the logarithm that a parameter explains", function()
    local values, places = grid(function(a, b)
      return 3 * a + b
    end)
    local shares = importance.single(values, places, 3)
    -- eta squared 0.9 and 0.1; less what as many groups explain by chance: (k - 1) / (n - k) of the rest
    assert.near(0.9 - 3 / 28 * 0.1, shares[1], 1e-9)
    assert.near(0.1 - 3 / 28 * 0.9, shares[2], 1e-9)
    assert.equal(0, shares[3])
  end)

  it("gives pairs what they explain beyond the sum", function()
    local values, places = grid(function(a, b)
      return (a - 1.5) * (b - 1.5)
    end)
    local found = importance.pairs(values, places, 3)
    assert.same({ 1, 2 }, { found[1][1], found[1][2] })
    assert.near(1, found[1][3], 1e-9)
    assert.equal(0, importance.single(values, places, 3)[1])
  end)

  it("is nothing where nothing varies, with one row, and with none", function()
    for _, n in ipairs { 0, 1, 5 } do
      local values, places = {}, {}
      for i = 1, n do
        values[i], places[i] = 2.5, { i, 1 }
      end
      assert.same({ 0, 0 }, importance.single(values, places, 2))
      assert.same({}, importance.pairs(values, places, 2))
    end
  end)

  it("takes objectives of any sign as they are", function()
    local shares = importance.single(
      { -1, -1, 1, 1, -1, -1, 1, 1 },
      { { 1 }, { 1 }, { 2 }, { 2 }, { 1 }, { 1 }, { 2 }, { 2 } },
      1
    )
    assert.near(1, shares[1], 1e-9)
  end)
end)

describe("the picture of a result", function()
  local function picture(r)
    local path = support.temporary_directory() .. "/out.svg"
    r:plot(path)
    return support.read_file(path)
  end

  it("has a dot for what worked, a tick for what did not, and a line for the best so far", function()
    local text = picture(run())
    assert.equal(4, count(text, '<circle class="point"'))
    assert.equal(2, count(text, '<line class="fail"'))
    local path = text:match '<path class="step" d="([^"]+)"'
    assert.equal(1, count(path, "V")) -- 2 first, then 1: one step
    assert.truthy(text:find("&lt;job&gt; &amp; &#39;co&#39; on fake:0: ms", 1, true))
    assert.truthy(text:find "^<svg xmlns=" and text:find "</svg>\n$")
  end)

  it("counts upwards where higher is better, and by logarithms where values are far apart", function()
    local text = picture(run { params = { A = { 1, 2, 100 } }, objective = "rate", higher = true })
    assert.equal(0, count(text:match '<path class="step" d="([^"]+)"', "V"))
    assert.truthy(text:find("rate (logarithmic)", 1, true))
  end)

  it("says so when nothing worked", function()
    local text = picture(run { params = { A = { 3 } } })
    assert.truthy(text:find("nothing worked", 1, true))
    assert.equal(0, count(text, "<path"))
  end)
end)
