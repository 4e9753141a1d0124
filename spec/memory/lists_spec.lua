-- Lists of pools, on plain bytes of the host: which one serves, presets, what makes no sense (J1, J2, J4).

local support = require "spec.support"
local managers = require "spec.memory.managers"
local testing = require("luhip.core").testing

if not testing then
  return
end

local MIB <const> = 1 << 20
local manager, pool = managers.open, managers.pool

describe("a list of pools", function()
  it("J2 the first that accepts serves; one that is full at its cap warns once and the next is asked", function()
    local box = manager {
      { kind = "sliced", page = 4096, slice = 1024, cap = 8192 },
      { kind = "exclusive", page = 4096 },
    }
    local live = {}
    for i = 1, 12 do
      live[i] = box:take(1024)
    end
    local pools = box:pools()
    assert.same({ 8, 4 }, { pools[1].live, pools[2].live })
    assert.same({ 8192, 8192 }, { pools[1].reserved, pools[1].peak })
    assert.equal(1, box:figures().warnings)
    box:give(live[1])
    box:take(1024)
    assert.equal(8, box:pools()[1].live)
    assert.equal(1, box:figures().warnings)
    for _ = 1, 3 do
      box:take(2048)
    end
    assert.equal(7, box:pools()[2].live)
  end)

  it("J2 page, slice and cap count as the next multiple of the alignment", function()
    local box = manager {
      { kind = "sliced", page = 4090, slice = 1000, cap = 8170 },
      { kind = "direct", page = 4090, cap = 4090 },
    }
    for _ = 1, 8 do
      box:take(1024) -- slices of 1024 bytes, four to a page of 4096, two pages
    end
    assert.same({ 8192, 0 }, { box:pools()[1].reserved, box:pools()[2].reserved })
    box:take(1024)
    box:take(3072)
    assert.same({ 8192, 4096 }, { box:pools()[1].reserved, box:pools()[2].reserved })
    box:take(32) -- beside the pools
    assert.same({ 8192, 4096 }, { box:pools()[1].reserved, box:pools()[2].reserved })
  end)

  it("J2 J8 with the storage short, what is cached is to be let go first; then the request alone is tried", function()
    local box = manager({ { kind = "sliced", page = 4096, slice = 2048 } }, { limit = 8192 })
    local a, b = box:take(2048), box:take(2048)
    local c = box:take(2048)
    box:give(c)
    assert.same({ nil, "release" }, { box:take(6000) })
    box:cleanup()
    assert.same({ nil, "limit" }, { box:take(6000, "last") })
    local d = box:take(4000, "last") -- there is no room for a page and this
    assert.truthy(d)
    assert.is_true(box:figures().held <= 8192)
    assert.same({ nil, "limit" }, { box:take(2048) })
    box:give(a)
    assert.truthy((box:take(2048)))
    box:give(b)
  end)

  it("J2 another refusal of the storage is tried again when what is cached was let go", function()
    local box = manager { { kind = "direct" } }
    box:give((box:take(64)))
    box:refuse(9)
    assert.same({ nil, "release" }, { box:take(128) })
    box:cleanup()
    assert.same({ nil, "driver" }, { box:take(128, "last") })
    box:refuse(0)
    assert.truthy((box:take(128, "last")))
  end)

  it("J5 is replaced while slices live in it, and gets those back", function()
    local box = manager { { kind = "sliced", page = 4096, slice = 2048 } }
    local a, b = box:take(100), box:take(2048)
    assert.same({ 2, 128 + 2048 }, { box:in_use() })
    assert.is_true(box:install { { kind = "direct" } })
    assert.equal(0, (box:in_use()))
    assert.same({ "sliced", 2 }, { pool(box, "earlier").kind, pool(box, "earlier").live })
    local c = box:take(100)
    assert.same({ "direct", 1 }, { pool(box, "").kind, pool(box, "").live })
    box:give(a)
    box:give(b) -- and its page goes
    box:sweep()
    assert.equal(1, box:figures().allocations)
    box:give(c)
    box:cleanup()
    assert.is_nil(pool(box, "earlier"))
    assert.equal(0, box:figures().held)
  end)
end)

describe("presets", function()
  it("J4 sub-slices of 16 GiB are those of the rule", function()
    local list = testing.pools_preset("sub-slices", 16 << 30)
    local found = {}
    for i, p in ipairs(list) do
      found[i] = { p.kind, p.page // MIB, p.slice and p.slice // MIB }
    end
    assert.same({
      { "sliced", 16, 1 },
      { "sliced", 64, 8 },
      { "sliced", 256, 64 },
      { "sliced", 1024, 512 },
      { "exclusive", 4096 },
    }, found)
  end)

  it("J4 sub-slices divide by 4 while there are 32 MiB, whatever the device has", function()
    for _, total in ipairs { 1, 4096, 64 * MIB, 127 * MIB, 128 * MIB, 1 << 30, 141 << 30, 1 << 45 } do
      local list = testing.pools_preset("sub-slices", total)
      local largest = list[#list].page
      assert.is_true(largest == total // 4 // 256 * 256 or (total < 1024 and largest == 256))
      for i = #list - 1, 1, -1 do
        assert.is_true(list[i].slice <= list[i].page)
        assert.is_true(list[i].page >= 8 * MIB)
      end
      testing.memory_manager { pools = list, total = 1 }
    end
  end)

  it("J4 exclusive has 24 buckets from 32 KiB to a quarter of the device", function()
    local list = testing.pools_preset("exclusive", 16 << 30)
    assert.equal(24, #list)
    assert.same({ 32 << 10, 4 << 30 }, { list[1].page, list[24].page })
    for i = 2, 24 do
      assert.equal("exclusive", list[i].kind)
      assert.near((1 << 17) ^ (1 / 23), list[i].page / list[i - 1].page, 0.02)
    end
    assert.equal(256, testing.pools_preset("exclusive", 100)[1].page)
  end)

  it("J4 another name is an error that lists those there are", function()
    support.assert_error_kind("argument", function()
      testing.pools_preset("slices", 1 << 30)
    end, "slices", "sub-slices", "exclusive", "direct")
  end)
end)

describe("a list that makes no sense", function()
  local function refused(list, kind, ...)
    return support.assert_error_kind(kind, function()
      testing.memory_manager { pools = list }
    end, ...)
  end

  it("J4 is refused as a whole, naming place and key", function()
    refused({}, "argument", "empty")
    refused({ { kind = "sliced", page = 4096, slice = 0 } }, "range", "pools[1].slice", "0")
    refused({ { kind = "sliced", page = 4096 } }, "argument", "pools[1].slice")
    refused({ { kind = "sliced", slice = 64 } }, "argument", "pools[1].page")
    refused({ { kind = "sliced", page = 64, slice = 128 } }, "argument", "pools[1].slice (128)", "page (64)")
    refused(
      { { kind = "direct" }, { kind = "sliced", page = 64, slice = 64, cap = 32 } },
      "argument",
      "pools[2].cap (32)"
    )
    refused({ { kind = "exclusive" } }, "argument", "pools[1].page")
    refused({ { kind = "exclusive", page = 64, slice = 64 } }, "argument", "pools[1].slice")
    refused({ { kind = "exclusive", page = 64, reclaim_at = 64 } }, "argument", "pools[1].reclaim_at")
    refused({ { kind = "persistent", page = 64 } }, "argument", "pools[1].kind", "persistent")
    refused({ { kind = "slabs" } }, "argument", "pools[1].kind", "slabs", "exclusive")
    refused({ { page = 64 } }, "argument", "pools[1].kind")
    refused({ { kind = "direct", pages = 4 } }, "argument", "pools[1]", "pages")
    refused({ { kind = "direct", cap = "1M" } }, "type", "pools[1].cap")
    refused({ { kind = "direct", cap = 1.5 } }, "argument", "pools[1].cap")
    refused({ { kind = "direct" }, 5 }, "type", "pools[2]")
    refused({ kind = "direct" }, "argument", "kind")
    local many = {}
    for i = 1, 255 do
      many[i] = { kind = "direct" }
    end
    refused(many, "argument", "255", "254")
    local e = refused({ { kind = "sliced", page = 64, slice = 128 }, { kind = "exclusive" } }, "argument", "pools[1]")
    assert.truthy(e.message:find("pools[2].page", 1, true)) -- all that is wrong is said at once
  end)
end)

describe("any order of requests", function()
  -- A model of 40 lines: what lives where, by address.
  local function check(live, box)
    local list, in_use, rounded = {}, 0, 0
    for _, s in pairs(live) do
      table.insert(list, s)
      in_use = in_use + s.asked
      rounded = rounded + s.bytes
      assert.is_true(s.bytes >= s.asked)
    end
    table.sort(list, function(a, b)
      return a.address < b.address
    end)
    for i = 2, #list do
      assert.is_true(list[i - 1].address + list[i - 1].bytes <= list[i].address)
    end
    local f = box:figures()
    assert.same({ #list, in_use, rounded - in_use }, { f.live, f.in_use, f.padding })
    assert.is_true(rounded + f.cached <= f.reserved)
    assert.equal(f.held, f.reserved)
    assert.equal(f.empty, f.cached)
    local pages, reserved = 0, 0
    for _, p in ipairs(box:pools()) do
      pages, reserved = pages + p.pages, reserved + p.reserved
      assert.is_true(p.peak >= p.reserved and p.peak_pages >= p.pages)
      assert.is_true(p.cap == 0 or p.peak <= p.cap)
    end
    box:sweep()
    assert.equal(pages, box:figures().allocations)
    assert.equal(reserved, f.reserved)
  end

  local layouts = {
    { { kind = "sliced", page = 8192, slice = 2048 }, { kind = "exclusive", page = 16384 } },
    { { kind = "exclusive", page = 1024 }, { kind = "exclusive", page = 16384 } },
    { { kind = "direct", reclaim_at = 20000 } },
    {
      { kind = "sliced", page = 4096, slice = 512, cap = 8192 },
      { kind = "sliced", page = 16384, slice = 8192, cap = 65536 },
    },
  }

  it("J6 nothing overlaps, sums are right, and all is zero when everything is freed and cleaned", function()
    math.randomseed(11)
    for _, layout in ipairs(layouts) do
      local box = manager(layout, { limit = 400000 })
      local live, n, position = {}, 0, 0
      for step = 1, 1500 do
        local what = math.random(100)
        if what <= 52 and n < 120 then
          local asked = math.random(4) == 1 and math.random(20000) or math.random(700)
          local slice, address, bytes = box:take(asked, math.random(2) == 1 and "last" or "", math.random(0, 3))
          if slice then
            n = n + 1
            live[slice] = { address = address, bytes = bytes, asked = asked, mark = slice % 251 }
            box:fill(slice, slice % 251)
          end
        elseif what <= 94 then
          local slice = next(live)
          for _ = 1, math.random(0, n) do
            slice = next(live, slice) or next(live)
          end
          if slice then
            assert.is_true(box:holds(slice, live[slice].mark))
            position = position + 1
            box:give(slice, math.random(0, 3), position, math.random(0, 3), position)
            live[slice], n = nil, n - 1
          end
        elseif what <= 97 then
          box:pass(math.random(0, 3), position)
        elseif what == 98 then
          box:cleanup()
        elseif what == 99 then
          box:install(layouts[math.random(#layouts)])
        else
          box:mode(math.random(2) == 1 and "persistent" or "auto")
        end
        if step % 25 == 0 then
          check(live, box)
        end
      end
      for slice in pairs(live) do
        assert.is_true(box:holds(slice, live[slice].mark))
        box:give(slice)
      end
      for stream = 0, 3 do
        box:pass(stream, position)
      end
      box:cleanup()
      local f = box:figures()
      assert.same({ 0, 0, 0, 0, 0, 0, 0 }, { f.live, f.in_use, f.padding, f.reserved, f.cached, f.held, f.allocations })
    end
  end)
end)
