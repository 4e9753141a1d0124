-- Streams and events from Lua.

local support = require "spec.support"

local fails = support.assert_error_kind

support.each_device(function(id)
  local dev
  before_each(function()
    dev = support.open(id)
  end)

  it("B1 dropped streams make room for new ones, however late they are collected", function()
    collectgarbage "stop"
    local ok, e = pcall(function()
      for _ = 1, 300 do
        dev:stream()
      end
    end)
    collectgarbage "restart"
    assert.is_true(ok, tostring(e))
  end)

  it("C8 streams lists those that exist; two objects of one stream are equal", function()
    local before = #dev:streams()
    local s = dev:stream()
    local list = dev:streams()
    assert.equal(before + 1, #list)
    local found = 0
    for _, other in ipairs(list) do
      if other == s then
        found = found + 1
        assert.equal(s.id, other.id)
        assert.is_false(rawequal(s, other))
      end
    end
    assert.equal(1, found)
    assert.is_false(s == dev:stream())
    assert.is_false(s == dev)
    assert.equal("integer", math.type(s.id))
  end)

  it("B5 events: record, wait, query, elapsed", function()
    local s = dev:stream()
    local first = s:record()
    dev:with(s, function()
      dev:buffer("f32", 1024, 1):fill(2)
    end)
    local last = s:record()
    last:wait()
    assert.is_true(first:query())
    assert.is_true(last:query())
    assert.is_true(first:elapsed(last) >= 0)
    assert.is_number(first:elapsed(first))
    s:sync()
    assert.is_true(s:query())
    dev:record():wait()
    dev:record(s):wait()
  end)

  it("B5 a stream waits for an event or for another stream", function()
    local s, t = dev:stream(), dev:stream()
    t:wait(s:record())
    t:wait(s)
    s:wait(s)
    t:sync()
    fails("type", function()
      s:wait(5)
    end, "event or a stream", "number")
    fails("type", function()
      s:wait()
    end)
  end)

  it("B5 elapsed refuses what is no event", function()
    local e = dev:record()
    fails("type", function()
      e:elapsed(dev:stream())
    end, "luhip.event")
    e:wait()
    e:free()
    e:free()
    for _, use in ipairs { "wait", "query" } do
      fails("freed", function()
        e[use](e)
      end)
    end
    fails("freed", function()
      dev:record():elapsed(e)
    end)
    assert.equal("luhip.event (freed)", tostring(e))
  end)

  it("B4 a stream that is freed finishes its work", function()
    local x = dev:buffer("i32", 1 << 16, 0)
    local s = dev:stream()
    dev:with(s, function()
      x:fill(7)
    end)
    s:free()
    s:free()
    assert.equal(7, x:read()[1 << 16])
    for _, use in ipairs { "sync", "query", "record" } do
      fails("freed", function()
        s[use](s)
      end)
    end
    fails("freed", function()
      return s.id
    end)
    fails("freed", function()
      dev:stream():wait(s)
    end)
    assert.equal("luhip.stream (freed)", tostring(s))
  end)
end)
