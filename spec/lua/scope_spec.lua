-- B6: the current stream and the dry run as scopes of the running coroutine.

local core = require "luhip.core"
local luhip = require "luhip"
local support = require "spec.support"

local fails = support.assert_error_kind

support.each_device(function(id)
  local dev, s, t, x

  before_each(function()
    dev = support.open(id)
    s, t = dev:stream(), dev:stream()
    x = dev:buffer("i32", 4, 0)
  end)

  local function current()
    return (core.testing.current(dev))
  end

  local function dry()
    return (select(2, core.testing.current(dev)))
  end

  it("B6 with makes a stream current for the time of a call, and gives what the function returns", function()
    assert.is_nil(current())
    local function all(...)
      assert.equal(s.id, current())
      return select("#", ...), ...
    end
    assert.same({ 3, 1, nil, 3 }, { dev:with(s, all, 1, nil, 3) })
    assert.is_nil(current())
    assert.equal(0, select("#", dev:with(s, function() end)))
  end)

  it("B6 scopes nest", function()
    dev:with(s, function()
      dev:with(t, function()
        assert.equal(t.id, current())
      end)
      assert.equal(s.id, current())
      dev:dry_run(function()
        assert.equal(s.id, current())
        assert.is_true(dry())
      end)
      assert.is_false(dry())
    end)
    assert.is_nil(current())
  end)

  it("B6 an error leaves the scope and keeps its traceback", function()
    local function thrower()
      error("oops", 0)
    end
    local ok, trace = xpcall(function()
      dev:with(s, function()
        dev:with(t, function()
          thrower()
          return true
        end)
      end)
    end, debug.traceback)
    assert.is_false(ok)
    assert.truthy(trace:find("oops", 1, true))
    assert.truthy(trace:find("thrower", 1, true))
    assert.is_nil(current())
    ok = pcall(dev.dry_run, dev, error)
    assert.is_false(ok)
    assert.is_false(dry())
  end)

  it("B6 the function may yield", function()
    local co = coroutine.wrap(function()
      return dev:with(s, function(...)
        assert.equal(s.id, current())
        local got = coroutine.yield(...)
        assert.equal(s.id, current())
        return got, "end"
      end, 1, 2)
    end)
    assert.same({ 1, 2 }, { co() })
    assert.is_nil(current())
    assert.same({ "back", "end" }, { co "back" })
    assert.is_nil(current())
  end)

  it("B6 coroutines have scopes of their own", function()
    local a = coroutine.wrap(function()
      dev:with(s, function()
        for _ = 1, 3 do
          assert.equal(s.id, current())
          coroutine.yield()
        end
      end)
      return "done"
    end)
    local b = coroutine.wrap(function()
      dev:with(t, function()
        for _ = 1, 3 do
          assert.equal(t.id, current())
          coroutine.yield()
        end
      end)
    end)
    for _ = 1, 3 do
      a()
      b()
      assert.is_nil(current())
    end
    assert.equal("done", a())
    b()
  end)

  it("B6 a coroutine inherits the scope it is created in, and keeps it", function()
    local co
    dev:with(s, function()
      co = coroutine.create(function()
        local seen = { current() }
        coroutine.yield()
        seen[2] = current()
        dev:with(t, function()
          seen[3] = current()
        end)
        seen[4] = current()
        return seen
      end)
      assert(coroutine.resume(co))
    end)
    assert.is_nil(current())
    dev:with(t, function()
      local _, seen = assert(coroutine.resume(co))
      assert.same({ s.id, s.id, t.id, s.id }, seen)
    end)
  end)

  it("B6 a coroutine that was in use before keeps what it had", function()
    local co = coroutine.wrap(function()
      while true do
        coroutine.yield(current() or "none")
      end
    end)
    assert.equal("none", co())
    assert.equal("none", dev:with(s, co))
  end)

  it("B6 what counts is the scope at creation, not that of the first use", function()
    local inside, outside
    local wrapped = coroutine.wrap(current)
    dev:with(s, function()
      inside = coroutine.create(current)
      dev:dry_run(function()
        outside = coroutine.wrap(dry)
      end)
    end)
    dev:with(t, function()
      assert.same({ true, s.id }, { coroutine.resume(inside) })
      assert.is_nil(wrapped())
    end)
    assert.is_true(outside())
  end)

  it("B6 a coroutine created inside another has that one's scope", function()
    local made
    local maker = coroutine.wrap(function()
      dev:with(s, function()
        coroutine.yield()
        made = coroutine.wrap(current)
      end)
    end)
    maker()
    dev:with(t, maker)
    assert.equal(s.id, made())
  end)

  it("B6 coroutine.create and coroutine.wrap are what they were otherwise", function()
    local message = select(2, pcall(coroutine.create, 1))
    assert.truthy(message:find("bad argument #1 to '[%w.]*create' %(function expected"), message)
    message = select(2, pcall(coroutine.wrap))
    assert.truthy(message:find("bad argument #1 to '[%w.]*wrap' %(function expected"), message)
    assert.same({ true, 1, 2 }, {
      coroutine.resume(
        coroutine.create(function(...)
          return ...
        end),
        1,
        2
      ),
    })
    local co = coroutine.create(error)
    assert.is_false((coroutine.resume(co, "x")))
    assert.equal("dead", coroutine.status(co))
    assert.equal("thread", type(co))
    local kept = setmetatable({}, { __mode = "k" })
    for _ = 1, 10 do
      kept[coroutine.create(print)] = true
    end
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(kept))
  end)

  it("B6 a coroutine that C made inherits at its first use", function()
    local co = core.testing.new_thread(current)
    dev:with(s, function()
      assert.same({ true, s.id }, { coroutine.resume(co) })
    end)
  end)

  it("B6 inheritance goes through coroutines that resume others", function()
    dev:with(s, function()
      local middle = coroutine.wrap(function()
        local inner = coroutine.wrap(function()
          return current()
        end)
        return inner()
      end)
      assert.equal(s.id, middle())
      dev:with(t, function()
        assert.equal(
          t.id,
          coroutine.wrap(function()
            return current()
          end)()
        )
      end)
    end)
  end)

  it("B6 a coroutine closed or collected in the middle leaves no scope behind", function()
    local co = coroutine.create(function()
      dev:with(s, coroutine.yield)
    end)
    coroutine.resume(co)
    assert.is_true(coroutine.close(co))
    for _ = 1, 20 do
      coroutine.wrap(function()
        dev:with(s, coroutine.yield)
      end)()
    end
    collectgarbage()
    assert.is_nil(current())
    assert.is_nil(coroutine.wrap(current)())
  end)

  it("B6 work in a scope is ordered against work outside", function()
    local add = dev:kernel 'extern "C" __global__ void add(int *x) { x[threadIdx.x] += 1; }'
    local run = add(1, 4)
    for _ = 1, 10 do
      run(x)
      dev:with(s, run, x)
      dev:with(t, function()
        run(x)
        coroutine.wrap(function()
          run(x)
        end)()
      end)
    end
    assert.same({ 40, 40, 40, 40 }, x:totable())
    dev:with(s, function()
      x:fill(1)
      x:slice(2, 2):write { 2 }
      assert.same({ 1, 2, 1, 1 }, x:totable())
    end)
  end)

  it("D4 a dry run compiles and checks, and runs nothing", function()
    local set = dev:kernel('extern "C" __global__ void set(int *x) { x[0] = 5; }', "set", { lazy = true })
    local other = dev:from("i32", { 9, 9, 9, 9 })
    local result = dev:dry_run(function(...)
      set:launch({ grid = 1, block = 1 }, x)
      set(1, 1)(x)
      x:fill(7)
      x:write { 1, 2, 3, 4 }
      x:copy(other)
      dev:write { { x, { 1, 2, 3, 4 } } }
      assert.same({ 0, 0, 0, 0 }, other:totable())
      assert.same({ { 0, 0, 0, 0 } }, { dev:read({ other })[1]:totable() })
      local f = other:read_async()
      assert.is_true(f:ready())
      assert.equal(4, #f:wait())
      fails("type", function()
        set:launch({ grid = 1, block = 1 }, 5)
      end, "set", "argument 1")
      fails("shape", function()
        x:write { 1 }
      end)
      fails("type", function()
        x:copy(dev:buffer("f32", 4))
      end)
      return ...
    end, "value")
    assert.equal("value", result)
    assert.same({ 0, 0, 0, 0 }, x:totable())
    assert.same({ 9, 9, 9, 9 }, other:totable())
    local broken = dev:kernel("broken", { lazy = true })
    fails("compile", function()
      dev:dry_run(function()
        broken:launch({ grid = 1, block = 1 }, x)
      end)
    end)
  end)

  it("with and dry_run refuse what they cannot use", function()
    fails("type", function()
      dev:with(x, print)
    end, "luhip.stream")
    fails("type", function()
      dev:with(s, 5)
    end, "fn")
    fails("type", function()
      dev:dry_run()
    end, "fn")
    t:free()
    fails("freed", function()
      dev:with(t, print)
    end)
    assert.is_nil(current())
  end)

  it("a stream that is freed inside its scope is a freed one, and the scope ends as ever", function()
    dev:with(s, function()
      x:fill(3)
      s:free()
      fails("freed", function()
        x:fill(4)
      end, "stream")
    end)
    assert.same({ 3, 3, 3, 3 }, x:totable())
  end)

  it("a stream of another user of the same device is a stream of it", function()
    local other <close> = luhip.open(id)
    other:with(s, function()
      assert.equal(s.id, current())
      other:buffer("i32", 1, 1):read()
    end)
  end)
end)
