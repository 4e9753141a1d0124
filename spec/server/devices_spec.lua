-- A. Identity and lifetime: devices, handles, closing, reopening, forks.

local luhip = require "luhip"
local support = require "spec.support"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

describe("devices by id", function()
  it("A1 lists cpu:0 and names what is there for an id that is not", function()
    local e = support.assert_error_kind("no_device", function()
      luhip.open "abacus:7"
    end, "abacus:7", "cpu:0")
    assert.equal("no_device", e.kind)
    support.assert_error_kind("no_device", function()
      luhip.open "cpu:seven"
    end, "cpu:seven")
    support.assert_error_kind("no_device", function()
      luhip.open "cpu:0/63"
    end, "cpu:0 has warps of 32 threads, cpu:0/64 of 64")
  end)

  it("A1 reaches the same server by cpu and cpu:0, and another by cpu:0/64", function()
    local a, b, wide = luhip.open "cpu", luhip.open "cpu:0", luhip.open "cpu:0/64"
    assert.equal("cpu:0", a.id)
    assert.equal("cpu:0/64", wide.id)
    assert.same({ 32, 64 }, { a.warp_size, wide.warp_size })
    local x = a:buffer("f32", 4, 7)
    local before = b:memory().buffers
    x:free()
    assert.equal(before - 1, b:memory().buffers)
    a:close()
    b:close()
    wide:close()
  end)

  it("A1 takes LUHIP_DEVICE where none is named", function()
    local result = support.lua(
      [[
      local luhip = require "luhip"
      local dev = luhip.open()
      print(dev.id)
      dev:close()
      print(luhip.open("cpu").id)
    ]],
      { env = { LUHIP_DEVICE = "cpu:0/64" } }
    )
    assert.equal("cpu:0/64\ncpu:0\n", result.stdout)
    local wrong = support.lua(
      [[
      local ok, e = pcall(require("luhip").open)
      print(ok, e.kind)
    ]],
      { env = { LUHIP_DEVICE = "nothing" } }
    )
    assert.equal("false\tno_device\n", wrong.stdout)
  end)

  it("A1 takes no LUHIP_TIMEOUT that is no number", function()
    local result = support.lua(
      [[
      local ok, e = pcall(require("luhip").open, "cpu")
      print(ok, e.kind, e.message:match "LUHIP_TIMEOUT")
    ]],
      { env = { LUHIP_TIMEOUT = "soon" } }
    )
    assert.equal("false\tconfig\tLUHIP_TIMEOUT\n", result.stdout)
  end)
end)

support.each_device(function(id)
  it("A1 refuses options that an open device cannot take on, naming them", function()
    local dev = support.open(id)
    support.assert_error_kind("options_conflict", function()
      luhip.open { device = id, limit = 1 << 20 }
    end, "limit", tostring(1 << 20))
    if id:match "^cpu" then
      support.assert_error_kind("options_conflict", function()
        luhip.open { device = id, checked = true }
      end, "checked")
    end
    local again = luhip.open { device = id }
    again:close()
    assert.equal(dev.id, id)
  end)

  it("A1 closes with the last user", function()
    local a, b = luhip.open(id), luhip.open(id)
    local x = b:buffer("f32", 3, 5)
    a:close()
    a:close()
    assert.same({ 5.0, 5.0, 5.0 }, x:read():totable())
    b:close()
    support.assert_error_kind("freed", function()
      x:read()
    end)
  end)

  it("A5 answers freed from everything after the close, in any order of release", function()
    local dev = luhip.open(id)
    local k = work.kernels(dev)
    local x, y = dev:buffer("f32", 64, 1), dev:buffer("f32", 64, 2)
    local s, view = dev:stream(), x:slice(1, 8)
    local event = s:record()
    local bound = k.add:bind { grid = 1, block = 64 }
    local future = x:read_async()
    k.add:launch({ grid = 1, block = 64 }, y, 64, 1)
    dev:close()
    for name, use in pairs {
      read = function()
        x:read()
      end,
      write = function()
        x:write { 1 }
      end,
      fill = function()
        x:fill(1)
      end,
      copy = function()
        x:copy(y)
      end,
      view = function()
        view:read()
      end,
      launch = function()
        k.add:launch({ grid = 1, block = 64 }, y, 64, 1)
      end,
      bound = function()
        bound(y, 64, 1)
      end,
      stream = function()
        s:sync()
      end,
      record = function()
        s:record()
      end,
      event = function()
        event:wait()
      end,
      kernel = function()
        k.program:kernel "set"
      end,
      buffer = function()
        dev:buffer("f32", 1)
      end,
      sync = function()
        dev:sync()
      end,
    } do
      local e = support.assert_error_kind("freed", use)
      assert(e, name)
    end
    -- The close waited for what was pending: a read that was under way has its bytes.
    assert.equal(1.0, future:wait()[64])
    for _, object in ipairs { event, view, bound, x, s, y, future, dev } do
      if object.free then
        object:free()
        object:free()
      end
    end
    collectgarbage()
  end)

  it("A1 opens again after the close, with nothing left of before", function()
    for round = 1, 3 do
      local dev = luhip.open(id)
      local memory = dev:memory()
      assert.same({ 0, 0, 0 }, { memory.buffers, memory.in_use, memory.reserved })
      local x = dev:buffer("f32", 1000, round)
      assert.equal(round + 0.0, x:read()[1000])
      dev:close()
    end
  end)

  it("A1 takes other options after the close", function()
    luhip.open(id):close()
    local dev = luhip.open { device = id, limit = 1 << 20 }
    assert.equal(1 << 20, dev:memory().limit)
    dev:close()
  end)

  it("A1 takes other options where the device is only a script's forgotten one", function()
    local result = support.lua(
      [[
        local luhip = require "luhip"
        local id = ...
        local function use()
          local dev = luhip.open(id)
          local x = dev:buffer("f32", 16, 2)
          assert(x:read()[16] == 2)
          return dev
        end
        local kept = use()
        print(pcall(luhip.open, { device = id, limit = 1 << 20 }))
        kept = nil
        use()
        local dev = luhip.open { device = id, limit = 1 << 20 }
        print(dev:memory().limit, dev:buffer("f32", 4, 1):read()[4])
      ]],
      nil,
      id
    )
    assert.equal("", result.stderr)
    assert.matches("^false\t[^\n]*limit[^\n]*\n1048576\t1.0\n$", result.stdout)
  end)

  it("A1 waits for pending work before it gives memory back", function()
    local dev = luhip.open(id)
    local k = work.kernels(dev)
    local x = dev:buffer("f32", 4096, 0)
    for _ = 1, 200 do
      k.add:launch(work.over(4096), x, 4096, 1)
    end
    dev:close()
    dev = luhip.open(id)
    assert.equal(0, dev:memory().reserved)
    dev:close()
  end)

  it("A2 gives ids that are not used again", function()
    local dev = support.open(id)
    local seen = {}
    for _ = 1, 50 do
      local s = dev:stream()
      assert.is_nil(seen[s.id])
      seen[s.id] = true
      s:free()
    end
  end)

  it("A3 views share the allocation and keep it alive", function()
    local dev = support.open(id)
    local x = dev:from("i32", { 1, 2, 3, 4, 5, 6 })
    local view = x:slice(3, 4)
    x:free()
    assert.equal(1, dev:memory().buffers)
    assert.same({ 3, 4 }, view:read():totable())
    view:write { 30, 40 }
    assert.same({ 30, 40 }, view:read():totable())
    view:free()
    assert.equal(0, dev:memory().buffers)
  end)

  it("A5 a freed buffer is freed, for all uses and for good", function()
    local dev = support.open(id)
    local k = work.kernels(dev)
    local x, y = dev:buffer("f32", 64, 1), dev:buffer("f32", 64, 1)
    local grid = dev:buffer("u32", 3, 1)
    grid:free()
    x:free()
    x:free()
    dev:buffer("f32", 64, 9) -- may well lie where x lay
    for _, use in ipairs {
      function()
        x:read()
      end,
      function()
        x:fill(1)
      end,
      function()
        y:copy(x)
      end,
      function()
        x:copy(y)
      end,
      function()
        dev:read { y, x }
      end,
      function()
        dev:check { x }
      end,
      function()
        dev:sync { x }
      end,
      function()
        k.add:launch({ grid = 1, block = 64 }, x, 64, 1)
      end,
      function()
        k.nothing:launch { grid = grid, block = 1 }
      end,
    } do
      support.assert_error_kind("freed", use)
    end
    assert.equal(1.0, y:read()[1])
  end)

  it("A5 zero elements are legal everywhere", function()
    local dev = support.open(id)
    local k = work.kernels(dev)
    local zero, other, some = dev:buffer("f32", 0), dev:buffer("f32", { 4, 0, 3 }), dev:buffer("f32", 8, 3)
    zero:fill(1)
    zero:write {}
    zero:write(luhip.array("f32", 0))
    zero:copy(some:slice(3, 2))
    assert.same({}, zero:read():totable())
    assert.equal(0, #other:read())
    assert.is_true(zero:check())
    assert.equal(0, #zero:slice(1, 0))
    k.add:launch({ grid = 1, block = 1 }, zero, 0, 1)
    k.copy:launch({ grid = 1, block = 1 }, zero, zero, 0)
    dev:sync { zero, other }
    assert.is_true(#tostring(zero) > 0)
    assert.equal(0, dev:resource(zero).bytes)
    assert.equal(3.0, some:read()[8])
    local arrays = dev:read { zero, some, other }
    assert.same({ 0, 8, 0 }, { #arrays[1], #arrays[2], #arrays[3] })
  end)

  if testing and support.sanitizer ~= "thread" then
    it("A1 a device opened before a fork says so in the child, and is untouched in the parent", function()
      local dev = support.open(id)
      local x = dev:buffer("f32", 4, 6)
      local text, code = testing.fork(function()
        local ok, e = pcall(function()
          return x:read()
        end)
        local ok2, e2 = pcall(function()
          return dev:buffer("f32", 1)
        end)
        x:free()
        dev:close()
        collectgarbage()
        return ("%s %s %s %s"):format(ok, e.kind, ok2, e2.kind)
      end)
      assert.same({ "false forked false forked", 0 }, { text, code })
      assert.equal(6.0, x:read()[4])
    end)

    it("A1 a child can open a device of its own", function()
      local dev = support.open(id)
      local x = dev:buffer("f32", 4, 6)
      local text, code = testing.fork(function()
        local own = luhip.open(id)
        local y = own:buffer("f32", 1000, 2)
        local k = work.kernels(own)
        k.add:launch(work.over(1000), y, 1000, 1)
        local sum = y:read()[1000]
        own:close()
        return sum
      end)
      if id:find "^cuda" then -- NVIDIA's driver does not start in the child of a process that used it
        assert.equal(1, code)
        assert.truthy(text:find("hipErrorNotInitialized", 1, true), text)
      else
        assert.same({ "3.0", 0 }, { text, code })
      end
      assert.equal(6.0, x:read()[4])
    end)
  end
end)
