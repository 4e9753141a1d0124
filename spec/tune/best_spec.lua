local best = require "luhip.tune.best"
local store = require "luhip.tune.store"
local support = require "spec.support"
local tune = require "luhip.tune"

support.scope()

local DEVICE = { name = "gpu", arch = "a1", units = 4, memory_bytes = 1 << 30, driver_version = 7 }
local OWN = store.identity(DEVICE)

-- A store with rows { device, problem, A, ms, more }.
local function stored(rows)
  local path = support.temporary_directory() .. "/k.tune"
  local s = store.open(path)
  for _, r in ipairs(rows) do
    local record = { kind = "row", name = "k", device = r[1], arch = r[1] == OWN and "a1" or "a2", problem = r[2] }
    record.params, record.ms, record.status, record.objective = { A = r[3] }, r[4], "ok", "ms"
    for key, value in pairs(r[5] or {}) do
      record[key] = value
    end
    record.key = store.key(record)
    s:append(record)
  end
  s:close()
  return path
end

local function order(path, problem, options)
  options = options or {}
  options.store = path
  local list = {}
  options.try = function(params)
    list[#list + 1] = params.A
    error("on to the next", 0)
  end
  pcall(best.find, "k", DEVICE, problem, options)
  return list
end

describe("tune.best", function()
  it("takes the same device and problem, then the nearest, then other devices, then the default", function()
    local path = stored {
      { "elsewhere (a2, 1 units, 1 GiB)", { N = 64 }, 7, 0.1 },
      { "sibling (a1, 8 units, 1 GiB)", { N = 4096 }, 6, 0.1, { arch = "a1" } },
      { OWN, { N = 4096 }, 4, 1.0 },
      { OWN, { N = 128 }, 3, 1.0 },
      { OWN, { N = 64 }, 2, 2.0 },
      { OWN, { N = 64 }, 1, 1.0 },
      { OWN, { N = 64 }, 9, 0.5, { status = "verify" } },
    }
    assert.same({ 1, 2, 3, 4, 6, 7, 8 }, order(path, { N = 64 }, { default = { A = 8 } }))
    assert.same({ 1, 3, 4, 6, 7 }, order(path, { N = 64 }, { top = 1 }))
  end)

  it("compares problems by their shape", function()
    local path = stored {
      { OWN, { x = 1024, y = 1 }, 1, 1.0 },
      { OWN, { x = 32, y = 32 }, 2, 1.0 },
      { OWN, { x = 16, y = 64 }, 3, 1.0 },
      { OWN, { x = 32, y = 32, z = 2 }, 4, 1.0 },
      { OWN, { x = 32, y = "32" }, 5, 1.0 },
    }
    assert.same({ 2, 3, 1 }, order(path, { x = 40, y = 30 }))
    assert.equal(0, best.distance({ x = 2 }, { x = 2 }))
    assert.equal(3, best.distance({ x = 2, y = 8 }, { x = 4, y = 2 }))
    assert.is_nil(best.distance({ x = 2 }, { y = 2 }))
  end)

  it("never gives what does not satisfy the constraints", function()
    local path = stored { { OWN, { N = 1 }, 1, 1.0 }, { OWN, { N = 1 }, 2, 2.0 }, { OWN, { N = 1 }, 3, 3.0 } }
    assert.same({ 2, 3 }, order(path, { N = 1 }, { where = "A > 1" }))
    assert.same(
      { 3 },
      order(path, { N = 1 }, {
        where = {
          "A > 1",
          function(p)
            return p.A ~= 2
          end,
        },
      })
    )
    assert.same({ 2 }, order(path, { N = 1 }, { space = tune.space { params = { A = { 2, 4 } } } }))
    support.assert_error_kind("not_found", function()
      tune.best("k", DEVICE, { N = 1 }, { store = path, where = "A > 3" })
    end, "3 configurations do not satisfy the constraints")
  end)

  it("counts ten of those that satisfy the constraints", function()
    local rows = {}
    for i = 1, 30 do
      rows[i] = { OWN, { N = 1 }, i, 1.0 * i }
    end
    local path = stored(rows)
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, order(path, { N = 1 }))
    assert.same({ 12, 13, 14, 15, 16, 17, 18, 19, 20, 21 }, order(path, { N = 1 }, { where = "A > 11" }))
    assert.same({ 12, 13 }, order(path, { N = 1 }, { where = "A > 11", top = 2 }))
  end)

  it("refuses constraints that say nothing", function()
    local path = stored { { OWN, { N = 1 }, 1, 1.0 } }
    for said, where in pairs { ["'B' is no parameter of 'k'; there are A"] = "A > 0 and B > 1", ["where: "] = "A >" } do
      support.assert_error_kind("argument", function()
        tune.best("k", DEVICE, { N = 1 }, { store = path, where = where })
      end, said)
    end
    support.assert_error_kind("type", function()
      tune.best("k", DEVICE, { N = 1 }, { store = path, where = { 5 } })
    end, "where: an expression or a function expected, not a number")
  end)

  it("ranks by what was tuned for last, behind it what was tuned for something else", function()
    local path = stored {
      { OWN, { N = 1 }, 1, 1.0 },
      { OWN, { N = 1 }, 2, 5.0, { objective = "w", higher = true, metrics = { w = 2 } } },
      { OWN, { N = 1 }, 3, 0.5 },
      { OWN, { N = 1 }, 4, 4.0, { objective = "w", higher = true, metrics = { w = 3 } } },
    }
    assert.same({ 4, 2, 1, 3 }, order(path, { N = 1 }))
  end)

  it("falls back to the next when a winner fails, and says why", function()
    local path = stored { { OWN, { N = 1 }, 1, 1.0 }, { OWN, { N = 1 }, 2, 2.0 } }
    local winner = tune.best("k", DEVICE, { N = 1 }, {
      store = path,
      try = function(params)
        assert(params.A == 2, "A is not 2")
        return "compiled"
      end,
    })
    assert.equal(2, winner.params.A)
    assert.equal("compiled", winner.result)
    assert.truthy(winner.why:find("this device", 1, true))
    support.assert_error_kind("not_found", function()
      winner:next()
    end, "A=1: ", "A is not 2", "A=2 was given up")
    local by_hand = tune.best("k", DEVICE, { N = 1 }, { store = path })
    assert.equal(1, by_hand.params.A)
    assert.equal(2, by_hand:next().params.A)
  end)

  it("prefers what was measured with the driver that is there", function()
    local path = stored {
      { OWN, { N = 1 }, 1, 1.0, { driver = "6" } },
      { OWN, { N = 1 }, 2, 2.0, { driver = "7" } },
    }
    local device = setmetatable({
      toolchain = function()
        return "t"
      end,
    }, { __index = DEVICE })
    local path2 = stored {
      { OWN, { N = 1 }, 1, 1.0, { driver = "6", toolchain = "t" } },
      { OWN, { N = 1 }, 2, 2.0, { driver = "7", toolchain = "t" } },
    }
    assert.equal(2, best.find("k", DEVICE, { N = 1 }, { store = path }).params.A)
    assert.equal(2, best.find("k", device, { N = 1 }, { store = path2 }).params.A)
  end)

  it("takes any problem where none is asked for, what was tuned last first", function()
    local path = stored {
      { OWN, { N = 64 }, 1, 1.0 },
      { "elsewhere (a2, 1 units, 1 GiB)", { N = 1 }, 4, 0.1 },
      { OWN, { arg1 = "f32[4]", arg2 = 4 }, 2, 5.0 },
      { OWN, { N = 128 }, 3, 3.0 },
    }
    assert.same({ 3, 2, 1, 4 }, order(path, nil))
    assert.same({ 3, 2, 1, 4 }, order(path, {}))
    assert.equal("tuned on this device for N=128", best.find("k", DEVICE, {}, { store = path }).why)
    local own = stored { { OWN, {}, 1, 1.0 }, { OWN, { N = 1 }, 2, 0.1 } }
    assert.same({ 1, 2 }, order(own, {}))
  end)

  it("says what there is where nothing fits", function()
    local path = stored { { OWN, { N = 64 }, 1, 1.0 }, { OWN, { N = 128 }, 3, 3.0 } }
    support.assert_error_kind("not_found", function()
      best.find("k", DEVICE, { M = 64 }, { store = path })
    end, "for this device and problem in " .. path .. ", and no default; there are some for N=64, N=128")
    support.assert_error_kind("not_found", function()
      best.find("kk", DEVICE, { N = 64 }, { store = path })
    end, "did you mean 'k'?")
  end)

  it("takes the default that the tuning run declared", function()
    local path = support.temporary_directory() .. "/k.tune"
    local s = store.open(path)
    s:append { kind = "default", name = "k", params = { A = 5 } }
    s:close()
    assert.equal(5, best.find("k", DEVICE, {}, { store = path }).params.A)
    support.assert_error_kind("not_found", function()
      best.find("other", DEVICE, {}, { store = path })
    end, "'other'")
  end)

  it("refuses what makes no sense", function()
    for _, case in ipairs {
      { "type", 5, DEVICE },
      { "type", "k", 5 },
      { "type", "k", DEVICE, 7 },
      { "argument", "k", DEVICE, {}, { stroe = "x" } },
      { "type", "k", DEVICE, {}, { store = 5 } },
      { "file", "k", DEVICE, {}, { store = "/nowhere/x.tune" } },
      { "not_found", "no_such_kernel_anywhere", DEVICE, {} },
    } do
      support.assert_error_kind(case[1], function()
        best.find(case[2], case[3], case[4], case[5])
      end)
    end
  end)
end)
