-- I: what the device still reads of the host's memory; C3 and C5 where a fence fails.

local support = require "spec.support"
local testing = require("luhip.core").testing
local work = require "spec.server.work"

local MIB = 1 << 20

support.each_device(function(id)
  local dev, k

  before_each(function()
    dev = support.open(id)
    k = work.kernels(dev)
    testing.driver_reset()
    support.defer(testing.driver_reset)
  end)

  local function most_items()
    return dev.integrated and 16 or 64
  end

  it(
    "I1 sources gather until a turn: the first waits for nothing, each later one for what the one before left",
    function()
      local s = dev:stream()
      local x = dev:buffer("u8", 4096, 0)
      local before = testing.drops(dev, s)
      assert.same({ items = 0, bytes = 0, pending = 0, pending_bytes = 0, turns = 0, waits = 0 }, before)
      dev:with(s, function()
        local gate = work.gate(dev, k)
        gate:close(x)
        for _ = 1, 10 do
          x:write(("a"):rep(4096))
        end
        assert.same(
          { 10, 40960, 0 },
          { testing.drops(dev, s).items, testing.drops(dev, s).bytes, testing.drops(dev, s).turns }
        )
        dev:flush()
        local first = testing.drops(dev, s)
        assert.same({ 0, 10, 40960, 1 }, { first.items, first.pending, first.pending_bytes, first.turns })
        x:write(("b"):rep(4096))
        dev:flush() -- the fence has not passed
        local second = testing.drops(dev, s)
        assert.same({ 1, 10, 1, 0 }, { second.items, second.pending, second.turns, second.waits })
        gate:open()
        s:sync()
        dev:flush()
        local third = testing.drops(dev, s)
        assert.same({ 0, 1, 2, 0 }, { third.items, third.pending, third.turns, third.waits })
        assert.equal(98, x:read()[4096])
      end)
    end
  )

  it("I1 a turn comes by itself after 64 items, 16 where host and device share memory", function()
    local s = dev:stream()
    local x = dev:buffer("u8", 16, 0)
    dev:with(s, function()
      for i = 1, most_items() do
        assert.equal(0, testing.drops(dev, s).turns)
        x:write(string.pack("<I8I8", i, i))
      end
    end)
    local drops = testing.drops(dev, s)
    assert.same({ 0, most_items(), 1 }, { drops.items, drops.pending, drops.turns })
  end)

  it("I1 a turn comes after 64 MiB, counted in 64 bits of bytes; what is on its way stays within bounds", function()
    local s = dev:stream()
    local x, block = dev:buffer("u8", 16 * MIB), ("x"):rep(16 * MIB)
    dev:with(s, function()
      for i = 1, 20 do
        x:write(block)
        local drops = testing.drops(dev, s)
        assert.is_true(drops.bytes < 80 * MIB and drops.pending_bytes <= 80 * MIB)
        if i == 4 then
          assert.equal(1, drops.turns)
        end
      end
    end)
    local drops = testing.drops(dev, s)
    assert.is_true(drops.turns >= 4)
    assert.is_true(drops.waits < drops.turns) -- the first waits for nothing
    assert.is_true(dev:memory().pinned.reserved <= 10 * 18 * MIB)
    assert.equal(120, x:read()[16 * MIB])
  end)

  it("I1 no turn is made while a stream records, and none is lost", function()
    local s, r = dev:stream(), dev:stream()
    local x, y = dev:buffer("u8", 16, 0), dev:buffer("u8", 16, 0)
    r:prepare_capture()
    r:begin_capture()
    dev:with(s, function()
      for _ = 1, 2 * most_items() do
        x:write(("c"):rep(16))
      end
    end)
    dev:flush()
    assert.same({ 2 * most_items(), 0 }, { testing.drops(dev, s).items, testing.drops(dev, s).turns })
    dev:with(r, function()
      y:write(("d"):rep(16))
    end)
    assert.equal(0, testing.drops(dev, r).items) -- it belongs to the graph
    r:end_capture():free()
    dev:flush()
    assert.same(
      { 0, 2 * most_items(), 1 },
      { testing.drops(dev, s).items, testing.drops(dev, s).pending, testing.drops(dev, s).turns }
    )
    assert.equal(99, x:read()[16])
  end)

  it("I1 a source that is pinned already is kept until its copy has passed, though nobody names it any more", function()
    local gate = work.gate(dev, k)
    local x = dev:buffer("i32", 1024, 0)
    gate:close(x)
    do
      local source = dev:staging({ 4096 })[1]
      for i = 1, 4096 do
        source[i] = 7
      end
      x:view("u8"):write(source)
    end
    collectgarbage()
    collectgarbage()
    local others = dev:staging { 4096, 4096, 4096 } -- would have its memory, were it free
    gate:open()
    assert.equal(0x07070707, x:read()[1024])
    assert.equal(0, others[1][1])
  end)

  it("C3 changing a pinned source waits for its copies, whichever stream they are on", function()
    local gate = work.gate(dev, k)
    local source = dev:staging({ 4000 })[1]
    local x, y = dev:buffer("u8", 4000, 0), dev:buffer("u8", 4000, 0)
    for i = 1, 4000 do
      source[i] = 1
    end
    gate:close(x)
    x:write(source)
    gate:open()
    dev:with(dev:stream(), function()
      y:write(source)
    end)
    source[1] = 2
    source:map(function(v)
      return v
    end)
    y:read_into(source)
    assert.same({ 1, 1 }, { x:read()[1], y:read()[1] })
    assert.equal(1, source[1])
  end)

  it("C3 a write of more than one piece is staged through two, and not all at once", function()
    local before = dev:memory().pinned.reserved
    local n = 120 * MIB -- above what is staged in one piece
    local x = dev:buffer("u8", n)
    x:write(("q"):rep(n))
    assert.is_true(dev:memory().pinned.reserved - before <= 40 * MIB)
    assert.equal(113, x:slice(n, n):read()[1])
    assert.equal(113, x:slice(1, 1):read()[1])
  end)

  it("I2 a fence that the driver refuses gives its refusal to who waits for it, and the next one works", function()
    local x = dev:buffer("f32", 64, 1)
    dev:sync()
    testing.driver_fail { call = "hipEventRecord", error = "hipErrorUnknown", times = 1000 }
    local future = x:read_async()
    x:fill(1) -- what follows a read makes its fence needed
    support.assert_error_kind("driver", function()
      future:wait()
    end, "hipErrorUnknown")
    testing.driver_reset()
    assert.equal(1.0, future:wait()[64])
    assert.equal(1.0, x:read()[1])
  end)

  it("I2 a turn whose fence is refused costs nothing: who waits asks again", function()
    local s = dev:stream()
    local x = dev:buffer("u8", 16, 0)
    dev:with(s, function()
      x:write(("e"):rep(16))
      testing.driver_fail { call = "hipEventRecord", error = "hipErrorUnknown", times = 2 }
      dev:flush()
      testing.driver_reset()
      x:write(("f"):rep(16))
      s:sync()
      dev:flush()
      assert.equal(102, x:read()[16])
    end)
  end)

  it("C5 a fence error wins over the copy, and the memory in flight is not used again", function()
    local x = dev:buffer("u8", 8192, 9)
    dev:sync()
    local future = x:read_async()
    local reserved = dev:memory().pinned.reserved
    testing.driver_fail { call = "hipStreamQuery", error = "hipErrorIllegalAddress", sticky = true }
    support.assert_error_kind("driver", function()
      future:wait()
    end, "hipErrorIllegalAddress")
    future = nil
    collectgarbage()
    collectgarbage()
    assert.is_true(dev:memory().pinned.reserved >= reserved) -- leaked, not given to anybody
    assert.is_nil(future)
    dev:close()
    testing.driver_reset()
    local again = support.open(id)
    assert.equal(9, again:buffer("u8", 16, 9):read()[16])
  end)

  it("C5 if one of several copies cannot be enqueued the others keep their memory until they have passed", function()
    local x, y, z = dev:buffer("u8", 8192, 1), dev:buffer("u8", 8192, 2), dev:buffer("u8", 8192, 3)
    local gate = work.gate(dev, k)
    gate:close(x)
    testing.driver_fail { call = "hipMemcpyAsync", nth = 3, error = "hipErrorUnknown" }
    support.assert_error_kind("driver", function()
      dev:read { x, y, z }
    end, "hipErrorUnknown")
    testing.driver_reset()
    local others = dev:staging { 8192, 8192, 8192 }
    gate:open()
    dev:sync()
    for i = 1, 3 do
      assert.same({ 0, 0 }, { others[i][1], others[i][8192] })
    end
    local all = dev:read { x, y, z }
    assert.same({ 1, 2, 3 }, { all[1][1], all[2][1], all[3][8192] })
  end)

  it("C8 a flush gives back what the device is done with, and is put off while a stream records", function()
    local s = dev:stream()
    local g = dev:capture(function()
      dev:buffer("f32", 4, 1)
    end, { stream = dev:stream() })
    s:prepare_capture()
    s:begin_capture()
    testing.driver_reset()
    g:free()
    k.program:free()
    assert.is_nil(dev:flush())
    for _, call in ipairs { "hipFree", "hipHostFree", "hipModuleUnload", "hipGraphExecDestroy", "hipStreamDestroy" } do
      assert.equal(0, testing.driver_calls()[call] or 0, call)
    end
    s:cancel_capture()
    dev:flush()
    if testing.driver_calls().hipGraphInstantiate then
      assert.equal(1, testing.driver_calls().hipGraphExecDestroy)
    end
    assert.equal(0, testing.graph_counts(dev).trash)
  end)
end)
