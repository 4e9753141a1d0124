-- Life and death of objects: freeing, closing, collecting in any order, loading the module again.

local core = require "luhip.core"
local luhip = require "luhip"
local support = require "spec.support"

local fails = support.assert_error_kind

describe("luhip.core", function()
  it("is the same table when it is loaded again", function()
    local loaded = package.loaded["luhip.core"]
    package.loaded["luhip.core"] = nil
    local again = require "luhip.core"
    package.loaded["luhip.core"] = loaded
    assert.equal(loaded, again)
  end)

  it("protects its metatables", function()
    assert.equal("luhip.array", getmetatable(luhip.array("u8", 1)))
    assert.has_error(function()
      setmetatable(luhip.array("u8", 1), {})
    end)
  end)

  it("shows the live method tables of its classes", function()
    core.methods.array.sum = function(a)
      local sum = 0
      for _, v in ipairs(a) do
        sum = sum + v
      end
      return sum
    end
    assert.equal(6, luhip.array("u8", 3, { 1, 2, 3 }):sum())
    core.methods.array.sum = nil
    support.assert_error_kind("argument", function()
      return luhip.array("u8", 3).sum
    end, "'sum'")
  end)
end)

support.each_device(function(id)
  local SOURCE = 'extern "C" __global__ void add(int *x) { x[threadIdx.x] += 1; }'

  -- One of everything that is made from a device.
  local function everything(dev)
    local x = dev:buffer("i32", 4, 0)
    local program = dev:compile(SOURCE)
    local kernel = program:kernel()
    return {
      buffer = x,
      view = x:slice(1, 2),
      array = x:read(),
      future = x:read_async(),
      resource = dev:resource(x),
      program = program,
      kernel = kernel,
      lazy = dev:kernel(SOURCE, { lazy = true }),
      launcher = kernel(1, 4),
      stream = dev:stream(),
      event = dev:record(),
    }
  end

  it("everything can be freed twice, closed by its scope, and printed afterwards", function()
    local dev = support.open(id)
    for name in pairs(everything(dev)) do
      local kept
      do
        local object <close> = everything(dev)[name]
        kept = object
        assert.is_nil(tostring(object):find("%(freed%)"), name)
      end
      assert.truthy(tostring(kept):find("freed", 1, true), name)
      kept:free()
      kept:free()
    end
  end)

  it("a closed device says so, and so does everything made from it", function()
    local dev = luhip.open(id)
    local all = everything(dev)
    local kept = all.buffer:read()
    dev:close()
    dev:close()
    dev:free()
    assert.equal(("luhip.device: %s (closed)"):format(id), tostring(dev))
    local uses = {
      function()
        return dev.id
      end,
      function()
        dev:buffer("f32", 1)
      end,
      function()
        dev:sync()
      end,
      function()
        dev:stream()
      end,
      function()
        dev:compile(SOURCE)
      end,
      function()
        dev:with(all.stream, print)
      end,
      function()
        all.buffer:read()
      end,
      function()
        all.view:fill(1)
      end,
      function()
        all.kernel:launch({ grid = 1, block = 1 }, all.buffer)
      end,
      function()
        all.lazy:launch({ grid = 1, block = 1 }, all.buffer)
      end,
      function()
        all.launcher(all.buffer)
      end,
      function()
        all.program:kernel()
      end,
      function()
        all.stream:sync()
      end,
      function()
        all.event:wait()
      end,
      function()
        return all.resource.pointer
      end,
    }
    for _, use in ipairs(uses) do
      fails("freed", use)
    end
    for name, object in pairs(all) do
      assert.is_string(tostring(object), name)
      if object.free then
        object:free()
      end
    end
    assert.same({ 0, 0, 0, 0 }, kept:totable())
  end)

  it("A1 two users of one device share its server, and each closes for itself", function()
    local a, b = luhip.open(id), luhip.open(id)
    assert.equal(a, b)
    local x = b:buffer("i32", 4, 1)
    a:close()
    assert.is_false(a == b)
    assert.same({ 1, 1, 1, 1 }, x:totable())
    b:close()
  end)

  it("objects keep their device", function()
    local x = luhip.open(id):buffer("i32", 4, 3)
    local kernel = luhip.open(id):kernel(SOURCE)
    collectgarbage()
    collectgarbage()
    kernel:launch({ grid = 1, block = 4 }, x)
    assert.same({ 4, 4, 4, 4 }, x:totable())
    local run = kernel(1, 4)
    kernel = nil
    collectgarbage()
    collectgarbage()
    run(x)
    assert.same({ 5, 5, 5, 5 }, x:totable())
    assert.is_nil(kernel)
  end)

  it("B4 objects may be collected in any order, with work pending", function()
    local names = {}
    for name in pairs(everything(support.open(id))) do
      table.insert(names, name)
    end
    for turn = 1, #names do
      local dev = luhip.open(id)
      local all = everything(dev)
      all.launcher(all.buffer)
      dev = nil
      for i = 0, #names - 1 do
        all[names[(turn + i) % #names + 1]] = nil
        collectgarbage "step"
      end
      all = nil
      collectgarbage()
      assert.is_nil(dev or all)
    end
    local dev = support.open(id)
    assert.same({ 1 }, dev:from("i32", { 1 }):totable())
  end)

  it("buffers that were collected are given back", function()
    local dev = support.open(id)
    collectgarbage()
    collectgarbage()
    dev:sync()
    dev:flush()
    local before = dev:memory()
    for _ = 1, 100 do
      everything(dev)
    end
    collectgarbage()
    collectgarbage()
    dev:sync()
    dev:flush()
    local after = dev:memory()
    assert.equal(before.buffers, after.buffers)
    assert.equal(before.in_use, after.in_use)
    assert.equal(before.pinned.in_use, after.pinned.in_use)
  end)

  it("objects that are used after their finaliser say they were freed", function()
    local dev = support.open(id)
    for name, object in pairs(everything(dev)) do
      debug.getmetatable(object).__gc(object)
      debug.getmetatable(object).__gc(object)
      assert.is_string(tostring(object))
      for method, fn in pairs(core.methods[getmetatable(object):match "%.(.*)"]) do
        if debug.getinfo(fn, "S").what == "C" and method ~= "free" then
          local ok, e = pcall(fn, object, 1)
          assert.is_false(ok, name .. ":" .. method)
          assert.equal("freed", e.kind, name .. ":" .. method .. ": " .. tostring(e))
        end
      end
    end
    local other = luhip.open(id)
    debug.getmetatable(other).__gc(other)
    fails("freed", function()
      other:sync()
    end)
  end)

  it("an object resurrected by another finaliser is a freed one", function()
    local dev = support.open(id)
    local saved
    do
      local x = dev:buffer("i32", 4, 1)
      setmetatable({}, {
        __gc = function()
          saved = x
        end,
      })
    end
    collectgarbage()
    collectgarbage()
    assert.is_userdata(saved)
    local ok, e = pcall(saved.read, saved)
    assert.is_true(ok or e.kind == "freed")
  end)

  it("a finaliser may close the device in the middle of anything", function()
    for _ = 1, 3 do
      local dev = luhip.open(id)
      local x = dev:buffer("i32", 1000, 0)
      setmetatable({}, {
        __gc = function()
          dev:close()
        end,
      })
      local ok, e
      for _ = 1, 10000 do
        ok, e = pcall(function()
          x:write(x:read():totable())
        end)
        if not ok then
          break
        end
      end
      assert.is_false(ok)
      assert.equal("freed", e.kind)
    end
  end)

  it("leaves by error, by os.exit and by the end of the script, with work pending", function()
    local code = ([[
      local luhip = require "luhip"
      local dev = luhip.open "%s"
      local x = dev:buffer("i32", 1 << 16, 0)
      local add = dev:kernel 'extern "C" __global__ void add(int *x) { x[threadIdx.x] += 1; }'
      for _ = 1, 10 do add(1, 64)(x) end
      local s, f = dev:stream(), x:read_async()
    ]]):format(id)
    for _, case in ipairs {
      { "", 0 },
      { "os.exit(3)", 3 },
      { "os.exit(3, true)", 3 },
      { "error 'at the end'", 1 },
      { "dev:close()", 0 },
      { "local other = luhip.open() dev = nil collectgarbage()", 0 },
    } do
      local r = support.lua(code .. case[1])
      assert.equal(case[2], r.code, case[1] .. r.stderr)
      assert.equal("", case[2] == 1 and "" or r.stderr)
    end
  end)
end)
