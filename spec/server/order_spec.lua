-- B. Streams, events, and order across streams.

local support = require "spec.support"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

local N = 256

support.each_device(function(id)
  local dev, k, gate

  before_each(function()
    dev = support.open(id)
    k = work.kernels(dev)
    gate = work.gate(dev, k)
  end)

  local function on(stream, fn)
    return dev:with(stream, fn)
  end

  local function launch(kernel, ...)
    kernel:launch(work.over(N), ...)
  end

  it("B1 makes up to 128 streams and says so when there is one more", function()
    local streams = { gate.stream }
    for i = 2, 128 do
      streams[i] = dev:stream()
    end
    support.assert_error_kind("too_many_streams", function()
      dev:stream()
    end, "128")
    assert.equal(129, #dev:streams()) -- and the default one
    streams[2]:free()
    local x = dev:buffer("f32", N, 1)
    streams[2] = dev:stream()
    for i = 1, 128 do
      on(streams[i], function()
        launch(k.add, x, N, 1)
      end)
    end
    assert.equal(129.0, x:read()[N])
  end)

  it("B2 a read on one stream comes after the write on another", function()
    local a, b = dev:stream(), dev:stream()
    local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 0)
    on(a, function()
      gate:close(x)
      launch(k.set, x, N, 5)
    end)
    local future = on(b, function()
      launch(k.copy, x, y, N)
      return y:read_async()
    end)
    assert.is_false(future:ready())
    gate:open()
    assert.equal(5.0, future:wait()[N])
  end)

  it("B2 a write on one stream comes after the reads on others", function()
    local x = dev:buffer("f32", N, 1)
    local readers = {}
    for i = 1, 6 do
      local s, y = dev:stream(), dev:buffer("f32", N, 0)
      on(s, function()
        gate:close()
        launch(k.copy, x, y, N)
      end)
      readers[i] = y
    end
    on(dev:stream(), function()
      launch(k.set, x, N, 9)
    end)
    gate:open()
    for i = 1, 6 do
      assert.equal(1.0, readers[i]:read()[N])
    end
    assert.equal(9.0, x:read()[1])
  end)

  it("B2 what shares no buffer does not wait", function()
    local a, b = dev:stream(), dev:stream()
    local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 2)
    dev:sync()
    on(a, function()
      gate:close(x)
    end)
    -- Copies need no room on the device's processors, which the held kernel may have taken.
    on(b, function()
      y:write(("\0"):rep(4 * N))
      assert.equal(0.0, y:read()[N])
    end)
    assert.is_false(a:query())
    gate:open()
    dev:sync()
  end)

  it("B2 holds for copies, fills and reads, whoever made the buffer and however often it was written", function()
    local a, b = dev:stream(), dev:stream()
    local x = on(a, function()
      return dev:buffer("f32", N, 0)
    end)
    local y = on(b, function()
      return dev:buffer("f32", N, 0)
    end)
    for round = 1, 40 do
      on(a, function()
        if round == 1 then
          gate:close(x)
        end
        launch(k.add, x, N, 1)
      end)
      on(b, function()
        y:copy(x)
        launch(k.add, y, N, 0.5)
      end)
      on(a, function()
        x:copy(y)
        if round % 10 == 0 then
          x:slice(1, 1):fill(1000)
        end
      end)
    end
    gate:open()
    local r = x:read()
    assert.equal(60.0, r[2])
    assert.equal(1000.0, r[1])
  end)

  it("B2 streams behind streams behind streams", function()
    local x = dev:buffer("f32", N, 0)
    local streams = {}
    for i = 1, 10 do
      streams[i] = dev:stream()
    end
    on(streams[1], function()
      gate:close(x)
    end)
    for round = 1, 30 do
      on(streams[round % 10 + 1], function()
        launch(k.add, x, N, 1)
        if round % 7 == 0 then
          launch(k.set, x, N, 0)
        end
      end)
    end
    gate:open()
    assert.equal(2.0, x:read()[7])
  end)

  it("B2 random work on random streams is what it is in sequence", function()
    math.randomseed(7)
    local streams, buffers, model = {}, {}, {}
    for i = 1, 5 do
      streams[i] = dev:stream()
    end
    for i = 1, 4 do
      buffers[i], model[i] = dev:buffer("f32", N, i), i
    end
    for _ = 1, 400 do
      local a, b, v = math.random(4), math.random(4), math.random(1, 8)
      on(streams[math.random(5)], function()
        local what = math.random(6)
        if what == 1 then
          launch(k.add, buffers[a], N, v)
          model[a] = model[a] + v
        elseif what == 2 then
          launch(k.set, buffers[a], N, v)
          model[a] = v
        elseif what == 3 then
          buffers[a]:fill(v)
          model[a] = v
        elseif what == 4 and a ~= b then
          buffers[a]:copy(buffers[b])
          model[a] = model[b]
        elseif what == 5 and a ~= b then
          launch(k.copy, buffers[a], buffers[b], N)
          model[b] = model[a]
        elseif what == 6 and math.random(4) == 1 then
          assert.equal(model[a] + 0.0, buffers[a]:read()[N])
        end
      end)
    end
    for i = 1, 4 do
      local r = buffers[i]:read()
      assert.same({ model[i] + 0.0, model[i] + 0.0 }, { r[1], r[N] })
    end
  end)

  it("B3 memory freed under a pending use is not written before that has passed", function()
    local a, b = dev:stream(), dev:stream()
    local kept = {}
    for round = 1, 20 do
      local x, y = dev:buffer("f32", N, round), dev:buffer("f32", N, 0)
      on(a, function()
        if round == 1 then
          gate:close()
        end
        launch(k.copy, x, y, N)
      end)
      x:free() -- while the copy is pending
      on(b, function()
        local z = dev:buffer("f32", N, -1)
        launch(k.set, z, N, -2)
        z:free()
      end)
      kept[round] = y
    end
    gate:open()
    for round = 1, 20 do
      assert.equal(round + 0.0, kept[round]:read()[N])
    end
  end)

  it("B4 a stream freed with work pending finishes it", function()
    local x = dev:buffer("f32", N, 0)
    local count = #dev:streams()
    for _ = 1, 10 do
      local s = dev:stream()
      on(s, function()
        gate:close()
        launch(k.add, x, N, 1)
      end)
      s:free()
      s:free()
    end
    assert.equal(count, #dev:streams())
    gate:open()
    assert.equal(10.0, x:read()[N])
  end)

  it("B4 streams are made and freed with work pending as often as one likes", function()
    local x = dev:buffer("f32", N, 0)
    on(dev:stream(), function()
      gate:close(x)
    end)
    -- NVIDIA's hardware has 32 queues: streams beyond them wait for each other, and so would the gate's.
    local often = id:find "^cuda" and 20 or 300
    for _ = 1, often do
      local s = dev:stream()
      on(s, function()
        launch(k.add, x, N, 1)
      end)
      s:free()
    end
    gate:open()
    assert.equal(often + 0.0, x:read()[N])
    if testing then
      dev:sync()
      dev:flush()
      assert.is_true(testing.server_counts(dev).streams <= #dev:streams())
    end
  end)

  it("B4 a collected stream neither waits nor loses its work", function()
    local x = dev:buffer("f32", N, 0)
    do
      on(dev:stream(), function()
        gate:close(x)
        launch(k.add, x, N, 3)
      end)
    end
    collectgarbage()
    collectgarbage()
    assert.is_nil(select(2, x:check()))
    gate:open()
    assert.equal(3.0, x:read()[1])
  end)

  it("B5 events: record, query, wait on the host and on the device", function()
    local a, b = dev:stream(), dev:stream()
    local x, y = dev:buffer("f32", N, 0), dev:buffer("f32", N, 0)
    dev:sync()
    local event = on(a, function()
      gate:close(x)
      return a:record()
    end)
    assert.is_false(event:query())
    b:wait(event)
    local after = on(b, function()
      y:write(("\0"):rep(4 * N))
      return b:record()
    end)
    assert.is_false(after:query())
    assert.is_false(b:query())
    gate:open()
    after:wait()
    assert.is_true(event:query())
    assert.is_true(b:query())
  end)

  it("B5 elapsed is a typed error until both have passed, and never negative in order", function()
    local s = dev:stream()
    local x = dev:buffer("f32", N, 0)
    dev:sync()
    local first = s:record()
    on(s, function()
      gate:close(x)
    end)
    local last = s:record()
    support.assert_error_kind("not_ready", function()
      first:elapsed(last)
    end)
    gate:open()
    last:wait()
    assert.is_true(first:elapsed(last) >= 0)
    assert.equal(0, first:elapsed(first))
    for _ = 1, 50 do
      local from, to = s:record(), s:record()
      to:wait()
      assert.is_true(from:elapsed(to) >= 0)
    end
  end)

  if id:match "^cpu" then
    it("B5 refuses events and streams of another device", function()
      local other = support.open(id == "cpu:0" and "cpu:0/64" or "cpu:0")
      local mine, theirs = dev:stream():record(), other:stream()
      support.assert_error_kind("argument", function()
        mine:elapsed(theirs:record())
      end, dev.id, other.id)
      support.assert_error_kind("argument", function()
        theirs:wait(mine)
      end)
      support.assert_error_kind("argument", function()
        k.nothing:launch { grid = 1, block = 1, stream = theirs }
      end, other.id)
      local x, y = dev:buffer("f32", N, 0), other:buffer("f32", N, 0)
      for _, use in ipairs {
        function()
          dev:read { x, y }
        end,
        function()
          k.copy:launch({ grid = 1, block = 1 }, x, y, 1)
        end,
        function()
          dev:sync { y }
        end,
      } do
        support.assert_error_kind("argument", use, other.id)
      end
    end)
  end

  it("B7 launches, reads and frees go on while another read waits", function()
    local a = dev:stream()
    local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 2)
    dev:sync()
    local future = on(a, function()
      gate:close(x)
      return x:read_async()
    end)
    assert.is_false(future:ready())
    assert.equal(2.0, y:read()[1])
    y:free()
    gate:open()
    assert.equal(1.0, future:wait()[1])
  end)

  if testing then
    it("E6 what has passed is forgotten, and nothing grows over many launches", function()
      local x = dev:buffer("f32", N, 0)
      for _ = 1, 5000 do
        launch(k.add, x, N, 1)
      end
      assert.equal(5000.0, x:read()[1])
      dev:flush()
      local counts = testing.server_counts(dev)
      assert.equal(0, counts.inflight)
      assert.equal(0, counts.failures)
      local markers = counts.markers
      for _ = 1, 5000 do
        launch(k.add, x, N, 1)
      end
      dev:sync()
      assert.is_true(testing.server_counts(dev).markers <= 2 * markers + 64)
    end)
  end
end)
