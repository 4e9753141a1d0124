-- The four kinds of pools, on plain bytes of the host (J1, J3, J7, F2, F3). Lists of them are in lists_spec.lua.

local managers = require "spec.memory.managers"
local testing = require("luhip.core").testing

if not testing then
  return
end

local MIB <const> = 1 << 20
local manager, pool = managers.open, managers.pool

describe("sliced pools", function()
  local function sliced(options)
    return manager({ { kind = "sliced", page = 4096, slice = 2048 } }, options)
  end

  it("J1 round sizes up to the alignment, and tell what is in use from padding", function()
    local box = sliced()
    local _, address, rounded = box:take(33)
    assert.equal(64, rounded)
    assert.equal(0, address % 32)
    local f = box:figures()
    assert.same({ 1, 33, 31, 4096, 0 }, { f.live, f.in_use, f.padding, f.reserved, f.cached })
  end)

  it("J3 cut pages, and neighbours that are free are one again, in any order", function()
    for order = 1, 6 do
      local box = sliced()
      local a, b, c = box:take(1024), box:take(1024), box:take(2048)
      assert.equal(1, box:figures().allocations)
      local orders = { { a, b, c }, { a, c, b }, { b, a, c }, { b, c, a }, { c, a, b }, { c, b, a } }
      for _, slice in ipairs(orders[order]) do
        box:give(slice)
      end
      assert.equal(4096, box:figures().cached)
      local d, e = box:take(2048), box:take(2048)
      assert.equal(1, box:figures().allocations)
      box:give(d)
      box:give(e)
    end
  end)

  it("J3 best fit: the smallest hole that is large enough is taken (repair)", function()
    local box = sliced()
    local slices = {}
    for i, bytes in ipairs { 512, 32, 128, 32, 256, 32, 2048, 1056 } do
      local slice, address = box:take(bytes)
      slices[i] = { slice, address }
    end
    assert.equal(1, box:figures().allocations)
    for _, hole in ipairs { 1, 3, 5 } do
      box:give(slices[hole][1])
    end
    local _, address, rounded = box:take(100)
    assert.same({ slices[3][2], 128 }, { address, rounded })
    _, address = box:take(200)
    assert.equal(slices[5][2], address)
    _, address = box:take(300)
    assert.equal(slices[1][2], address)
    assert.equal(1, box:figures().allocations)
  end)

  it("J3 a lone hole serves the same size again, and what is left of a cut is not lost (repair)", function()
    local box = sliced()
    local whole = {}
    for i = 1, 4 do
      whole[i] = box:take(1000)
    end
    box:give(whole[2])
    for _ = 1, 50 do
      local a = box:take(1000)
      assert.equal(1, box:figures().allocations)
      box:give(a)
    end
    local a, b = box:take(600), box:take(300) -- both out of the hole of 1024
    assert.equal(1, box:figures().allocations)
    box:give(a)
    box:give(b)
    assert.truthy((box:take(1000)))
    assert.equal(1, box:figures().allocations)
    local f = box:figures()
    assert.same({ 4, 4000, 96 }, { f.live, f.in_use, f.padding })
  end)

  it("J3 an emptied page is always recognised as empty (repair)", function()
    local box = sliced()
    math.randomseed(5)
    for _ = 1, 30 do
      local live = {}
      for _ = 1, 40 do
        table.insert(live, (box:take(math.random(1, 2048))))
      end
      while #live > 0 do
        box:give(table.remove(live, math.random(#live)))
      end
      local f = box:figures()
      assert.same({ 0, 0, 0, f.reserved }, { f.live, f.in_use, f.padding, f.cached })
    end
    box:cleanup()
    local f = box:figures()
    assert.same({ 0, 0, 0, 0 }, { f.reserved, f.cached, f.held, f.allocations })
  end)

  it("J3 take what wastes less than a fifth of a page where there is no cap", function()
    local box = sliced()
    assert.truthy((box:take(3300))) -- of 4096, 796 are left
    assert.equal(4096, pool(box, "").reserved)
    assert.truthy((box:take(3200))) -- 896 of 4096 are more than a fifth
    assert.same({ 4096, 3200 }, { pool(box, "").reserved, pool(box, "overflow").reserved })
    local capped = manager { { kind = "sliced", page = 4096, slice = 2048, cap = 8192 } }
    assert.truthy((capped:take(3300)))
    assert.equal(0, pool(capped, "").reserved)
  end)

  it("J3 keep their pages until cleanup, which touches only what is free", function()
    local box = sliced()
    local a, b = box:take(2048), box:take(1024)
    local keep = box:take(2048)
    box:fill(keep, 17)
    box:give(a)
    box:give(b)
    assert.equal(2, box:figures().allocations)
    box:cleanup()
    local f = box:figures()
    assert.same({ 1, 2048, 4096 }, { f.allocations, f.in_use, f.reserved })
    assert.is_true(box:holds(keep, 17))
  end)

  it("B3 a slice that is handed out again comes after all who used its bytes", function()
    local box = sliced { limit = 4096 }
    local a, b = box:take(1024), box:take(1024)
    local rest = box:take(2048)
    box:give(a, 1, 10, 2, 20, 3, 30)
    box:give(b, 4, 40, 2, 21)
    local c = box:take(2048, "", 5) -- of both
    assert.same({ [1] = 10, [2] = 21, [3] = 30, [4] = 40 }, box:marks(c))
    box:give(c, 5, 50)
    local d = box:take(64, "", 5) -- and a part of it too
    assert.same({ [5] = 50 }, box:marks(d))
    box:give(rest)
  end)

  it("B3 what others still use is taken last, and before the storage is short", function()
    local box = sliced { limit = 4096 }
    local a, between, b, rest = box:take(1024), box:take(1024), box:take(1024), box:take(1024)
    box:give(a, 1, 10)
    box:give(b, 0, 5) -- the stream's own use is no reason to wait
    local c = box:take(1024)
    assert.same({ [0] = 5 }, box:marks(c))
    local d = box:take(1024)
    assert.same({ [1] = 10 }, box:marks(d))
    for _, slice in ipairs { between, rest, c, d } do
      box:give(slice)
    end
    box:pass(1, 10)
    box:cleanup()
    assert.equal(0, box:figures().held)
  end)

  it("C1 what the host touches is handed out only when its users are done", function()
    local box = manager({ { kind = "direct", reclaim_at = 1 << 20 } }, { host = 1 })
    local a, first = box:take(64)
    box:give(a, 1, 10)
    local b, second = box:take(64)
    assert.are_not.equal(first, second)
    box:pass(1, 10)
    local _, third = box:take(64)
    assert.equal(first, third)
    box:give(b)
  end)
end)

describe("exclusive pools", function()
  it("J3 one slice a page, as large as requests are on average, with a decay of a hundredth", function()
    local box = manager { { kind = "exclusive", page = MIB } }
    local average = 64000
    local a = box:take(64000)
    assert.equal(64000, pool(box, "").reserved)
    for i = 1, 200 do
      local bytes = i * 32
      average = average * 0.99 + bytes * 0.01
      box:give((box:take(bytes)))
      assert.near(average, pool(box, "").average, 1)
    end
    assert.equal(2, pool(box, "").pages)
    -- The one that came with the first small request is as large as requests were then.
    assert.equal(63360, pool(box, "").reserved - 64000)
    box:give(a)
  end)

  it("J3 a page seen free five times is let go, one look a period", function()
    local box = manager { { kind = "exclusive", page = MIB } }
    local period = pool(box, "").period
    assert.equal(5000, period)
    box:give((box:take(MIB)))
    local keep = box:take(1000) -- the page of 1 MiB serves it
    local other = box:take(512)
    box:give(keep)
    local looks = 0
    local n = 3
    while pool(box, "").pages == 2 do
      box:give(other)
      other = box:take(512)
      n = n + 1
      assert.is_true(n < 7 * period)
      if n % period == 0 then
        looks = looks + 1
      end
    end
    box:sweep()
    assert.equal(1, box:figures().allocations)
    assert.is_true(looks >= 5 and looks <= 6)
  end)

  it("J3 the period grows with the page", function()
    local box = manager { { kind = "exclusive", page = 1 << 30 }, { kind = "exclusive", page = 4 << 30 } }
    local pools = box:pools()
    assert.same({ 10000, 25000 }, { pools[1].period, pools[2].period })
  end)
end)

describe("direct pools", function()
  it("J3 one allocation a slice, of just its size, used again for it", function()
    local box = manager { { kind = "direct" } }
    local a, address = box:take(1000)
    local b = box:take(2000)
    assert.equal(2, box:figures().allocations)
    assert.equal(1024 + 2016, box:figures().reserved)
    box:give(a)
    box:give(b)
    local c = box:take(900)
    assert.equal(3, box:figures().allocations)
    local _, again = box:take(1000)
    assert.equal(address, again)
    box:give(c)
  end)

  it("J3 let go of the oldest beyond reclaim_at", function()
    local box = manager { { kind = "direct", reclaim_at = 4096 } }
    local live = {}
    for i = 1, 10 do
      live[i] = box:take(1024 + 32 * i)
    end
    for i = 1, 10 do
      box:give(live[i])
    end
    box:take(64)
    box:sweep()
    local p = pool(box, "")
    assert.is_true(p.cached <= 4096)
    assert.is_true(p.cached > 4096 - 1400)
    local before = box:figures().allocations
    box:take(1024 + 320) -- the newest are there
    assert.equal(before, box:figures().allocations)
  end)

  it("J4 what is larger than any pool takes is a direct allocation, where there is so much (repair)", function()
    local box = manager({ { kind = "sliced", page = 4096, slice = 4096 } }, { total = MIB })
    local a = box:take(MIB // 2)
    assert.equal(MIB // 2, pool(box, "overflow").reserved)
    assert.same({ nil, "too_big" }, { box:take(MIB + 1) })
    assert.same({ nil, "too_big" }, { box:take(math.maxinteger) })
    box:give(a)
    box:cleanup()
    assert.equal(0, box:figures().held)
  end)
end)

describe("the persistent pool", function()
  local function direct(options)
    return manager({ { kind = "sliced", page = 4096, slice = 2048 } }, options)
  end

  it("J2 J7 serves exact sizes in persistent mode, reuse before growth, until cleanup", function()
    local box = direct()
    box:mode "persistent"
    local a, address, rounded = box:take(1000)
    assert.equal(1024, rounded)
    assert.same({ 1, 1024 }, { pool(box, "persistent").pages, pool(box, "persistent").reserved })
    box:give(a, 3, 99) -- in use by another stream: still before it grows
    local b, again = box:take(1000)
    assert.equal(address, again)
    assert.same({ [3] = 99 }, box:marks(b))
    box:give(b)
    box:take(512)
    assert.equal(2, pool(box, "persistent").pages)
    assert.equal(0, pool(box, "").pages)
    box:mode "auto"
    box:take(1000)
    assert.equal(1, pool(box, "").pages)
    box:cleanup()
    assert.equal(1, pool(box, "persistent").pages)
  end)

  it("J7 windows nest and overlap: the one opened last says the mode", function()
    local box = direct()
    local function persistent()
      local before = pool(box, "persistent").live
      local slice = box:take(64)
      local now = pool(box, "persistent").live
      box:give(slice)
      return now > before
    end
    assert.is_false(persistent())
    box:window(1, "persistent")
    assert.is_true(persistent())
    box:window(2, "auto")
    assert.is_false(persistent())
    box:window(3, "persistent")
    assert.is_true(box:window_close(2))
    assert.is_true(persistent())
    assert.is_true(box:window_close(3))
    assert.is_true(persistent())
    assert.is_true(box:window_close(1))
    assert.is_false(box:window_close(1))
    assert.is_false(persistent())
  end)

  it("J7 is disabled or enforced by configuration, but for captures", function()
    local box = direct { policy = 1 }
    box:mode "persistent"
    box:take(64)
    assert.equal(0, pool(box, "persistent").live)
    box:capture "prepare"
    box:take(64)
    assert.equal(1, pool(box, "persistent").live)
    box:capture "finish"
    local all = direct { policy = 2 }
    all:take(64)
    assert.equal(1, pool(all, "persistent").live)
  end)

  it("F2 F3 a warm-up's slices are kept, so that a recording finds all that it takes and nothing is new", function()
    local box = direct()
    local keep = box:take(64)
    box:capture "prepare"
    local held = box:take(256)
    for _ = 1, 3 do
      box:give((box:take(128)), 0, 1) -- each is a new one, though the one before is free
    end
    local once = box:take(512, "once")
    assert.equal(3 * 128 + 256 + 512, pool(box, "persistent").reserved)
    box:capture "record"
    local before = box:figures().allocations
    local a, b, c = box:take(128, "existing"), box:take(128, "existing"), box:take(128, "existing")
    local d = box:take(256, "existing") -- beside the one that the warm-up still has
    assert.truthy(a and b and c and d)
    assert.equal(0, pool(box, "persistent").cached) -- none for what is asked for once
    assert.same({ nil, "nothing" }, { box:take(8192, "existing") })
    assert.equal(before, box:figures().allocations)
    assert.truthy((box:take(64, "existing"))) -- out of the page that others live in
    box:capture "finish"
    for _, slice in ipairs { a, b, c, d, held, once, keep } do
      box:give(slice)
    end
  end)

  it("F1 a capture is cancelled from either state, and all is as before", function()
    for _, last in ipairs { "prepare", "record" } do
      local box = direct()
      box:capture "prepare"
      local a = box:take(64)
      box:give((box:take(128)))
      if last == "record" then
        box:capture "record"
      end
      box:capture "finish"
      box:give(a)
      box:cleanup()
      local f = box:figures()
      assert.same({ 0, 0, 0, 0, 0 }, { f.live, f.in_use, f.padding, f.reserved, f.allocations })
    end
  end)
end)
