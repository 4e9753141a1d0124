-- Public reports about streams, events and copies; each spec is named after them.
local luhip = require "luhip"
local support = require "spec.support"
local work = require "spec.server.work"

local fails = support.assert_error_kind
local testing = require("luhip.core").testing

support.each_device(function(id)
  local dev
  before_each(function()
    dev = support.open(id)
  end)

  it(
    "hip#13, hip#2291, chipStar#990, cccl#3814 a source may change as soon as write returns, a read is a future",
    function()
      local n = 1 << 16
      local gate, s = work.gate(dev), dev:stream()
      local x, y, z = dev:buffer("i32", n), dev:buffer("i32", n), dev:buffer("i32", n)
      dev:with(s, function()
        gate:close() -- nothing below has run when the sources change
        local text = ("i4"):pack(7):rep(n)
        x:write(text)
        text = nil
        local list = {}
        for i = 1, n do
          list[i] = i
        end
        y:write(list)
        for i = 1, n do
          list[i] = -1
        end
        local array = luhip.array("i32", n)
        array[n] = 5
        z:write(array)
        array[n] = 6
        assert.is_nil(text)
        collectgarbage()
      end)
      local future = s and dev:with(s, function()
        return y:read_async()
      end)
      assert.is_false(future:ready())
      gate:open()
      local got = future:wait()
      assert.equal(n, got[n])
      assert.equal(1, got[1])
      y:fill(0)
      assert.equal(n, got[n]) -- and it is not the buffer's memory
      assert.equal(7, x:read()[n])
      assert.equal(5, z:read()[n])
    end
  )

  it("cupy PR#5155, cupy#7820 a pinned array waits for its copy before the host changes it; read is whole", function()
    local n = 4096
    local gate, s = work.gate(dev), dev:stream()
    local x, source = dev:buffer("f32", n, 0), dev:buffer("f32", n, 1):read() -- pinned where it can be
    local other = dev:buffer("f32", n, 0)
    dev:with(s, function()
      x:write(source)
    end)
    source[1] = 99 -- waits for the copy
    assert.equal(1, x:read()[1])
    dev:with(s, function()
      gate:close(other)
    end)
    dev:with(s, function()
      other:copy(x)
    end)
    gate:open()
    dev:with(s, function()
      local got = other:read()
      assert.equal(1, got[1])
      assert.equal(1, got[n])
    end)
  end)

  it("cupy#4988 a copy runs on the current stream and comes after what it reads", function()
    local n = 1024
    local k, gate, s = work.kernels(dev), work.gate(dev), dev:stream()
    local x, y = dev:buffer("f32", n, 1), dev:buffer("f32", n, 0)
    dev:with(s, function()
      gate:close(x)
      k.add:launch(work.over(n), x, n, 1)
      y:copy(x)
    end)
    assert.is_false(s:query())
    gate:open()
    assert.equal(2, y:read()[n])
    -- And on any other stream.
    dev:with(s, function()
      gate:close(x)
      k.add:launch(work.over(n), x, n, 1)
    end)
    y:copy(x)
    gate:open()
    assert.equal(3, y:read()[n])
  end)

  it(
    "hip PR#1992, chipStar#116, chipStar#128, hipcl#5, rocm-systems PR#9375 elapsed is ordered, or a typed error",
    function()
      local n = 1 << 14
      local k, s, other, gate = work.kernels(dev), dev:stream(), dev:stream(), work.gate(dev)
      local x = dev:buffer("f32", n, 0)
      local first = s:record()
      dev:with(s, function()
        k.add:launch(work.over(n), x, n, 1)
      end)
      local last = s:record()
      dev:sync()
      assert.is_true(first:elapsed(last) >= 0)
      assert.equal(0, first:elapsed(first))
      local ok, back = pcall(last.elapsed, last, first) -- swapped
      assert.is_true(not ok and luhip.is_error(back) or back <= 0)
      local elsewhere = other:record()
      elsewhere:wait()
      assert.is_true(first:elapsed(elsewhere) >= 0)
      dev:with(s, function()
        gate:close(x)
      end)
      local pending_event = s:record()
      fails("not_ready", function()
        first:elapsed(pending_event)
      end)
      assert.is_false(pending_event:query())
      gate:open()
      pending_event:wait()
      assert.is_true(first:elapsed(pending_event) >= 0)
      local again = s:record() -- a new one each time: none is recorded twice
      again:wait()
      assert.is_true(last:elapsed(again) >= 0)
      first:free()
      fails("freed", function()
        first:elapsed(last)
      end)
      fails("type", function()
        last:elapsed(3)
      end)
      if id:find "^cpu" then
        local foreign = support.open("cpu:0/64"):record()
        foreign:wait()
        fails("argument", function()
          last:elapsed(foreign)
        end, "cpu:0/64")
      end
    end
  )

  it("hip#3063, clr#14 first calls from several threads at once do no harm", function()
    local code = [[
      local testing = require("luhip.core").testing
      local inner = 'local core = require "luhip.core" local dev = core.open(...) '
        .. 'local s = dev:stream() dev:with(s, function() assert(dev:buffer("i32", 4, 7):read()[4] == 7) end)'
      for _, r in ipairs(testing.threads(inner, 3, (...))) do assert(r.ok, r.message) end
      print "fine"
    ]]
    for _ = 1, support.sanitizer and 2 or 6 do
      local result = support.lua(code, {}, id)
      assert.equal("fine\n", result.stdout, result.stderr)
      assert.equal(0, result.code)
    end
    assert.is_function(testing.threads)
  end)
end)
