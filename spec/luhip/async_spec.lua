-- Waiting in coroutines: luhip.async.
local async = require "luhip.async"
local luhip = require "luhip"
local support = require "spec.support"

local ADD = [[
  extern "C" __global__ void add(int *x, int by) { x[threadIdx.x] += by; }
]]

support.each_device(function(id)
  local dev, add

  before_each(function()
    dev = support.open(id)
    add = dev:kernel(ADD)
  end)

  it("await outside a scheduler waits, for everything that can be awaited", function()
    local x = dev:buffer("i32", 4, 1)
    add(1, 4)(x, 2)
    assert.same({ 3, 3, 3, 3 }, x:read_async():await():totable())
    local s = dev:stream()
    s:record():await()
    s:await()
    local window = dev:start_profile()
    add(1, 4)(x, 2)
    assert.is_true(window:stop():await() >= 0)
    assert.same(
      { 5, 5, 5, 5 },
      coroutine.wrap(function()
        return x:read_async():await():totable()
      end)()
    )
  end)

  it("tasks on streams of their own wait together, and run gives what the first returns", function()
    local order = {}
    local sum, n = async.run(function(count)
      local tasks = {}
      for i = 1, count do
        tasks[i] = async.spawn(function()
          local stream, x = dev:stream(), dev:buffer("i32", 4, i)
          dev:with(stream, function()
            add(1, 4)(x, 10)
          end)
          order[#order + 1] = i
          async.yield()
          order[#order + 1] = i
          return x:read_async():await()[1]
        end)
      end
      local values, total = {}, 0
      for i, task in ipairs(tasks) do
        values[i] = task:await()
        total = total + values[i]
      end
      return total, #values
    end, 3)
    assert.equal(11 + 12 + 13, sum)
    assert.equal(3, n)
    assert.same({ 1, 2, 3, 1, 2, 3 }, order) -- they took turns
  end)

  it("all gives every result in order and tells of progress", function()
    local steps = {}
    local results = async.run(function()
      local list = {}
      for i = 1, 4 do
        list[i] = dev:buffer("i32", 2, i):read_async()
      end
      list[5] = async.spawn(function()
        async.sleep(2)
        return "slept"
      end)
      return async.all(list, {
        progress = function(done, total)
          steps[#steps + 1] = done .. "/" .. total
        end,
      })
    end)
    assert.same({ "1/5", "2/5", "3/5", "4/5", "5/5" }, steps)
    assert.equal(4, results[4][2])
    assert.equal("slept", results[5])
  end)

  it("an error of the work is raised by the await, in the task that awaits", function()
    local x, grid = dev:buffer("i32", 4, 0), dev:buffer("u32", 3, { 1, 1 << 30, 1 })
    add:launch({ grid = grid, block = 4 }, x, 1)
    local kind = async.run(function()
      local ok, e = pcall(function()
        return x:read_async():await()
      end)
      return not ok and e.kind
    end)
    assert.equal("limits", kind)
  end)
end)

describe("luhip.async", function()
  it("raises the error of a task that nobody awaits, after all have ended", function()
    local ended = false
    local ok, e = pcall(async.run, function()
      async.spawn(function()
        error("lost", 0)
      end)
      async.spawn(function()
        async.sleep(1)
        ended = true
      end)
      return 1
    end)
    assert.is_false(ok)
    assert.equal("lost", e)
    assert.is_true(ended)
  end)

  it("an awaited task's error is the awaiter's, and told once", function()
    local e = async.run(function()
      local task = async.spawn(function()
        error { code = 7 }
      end)
      local ok, e = pcall(task.await, task)
      assert(not ok)
      return e
    end)
    assert.equal(7, e.code)
  end)

  it("wrong uses are errors that say so", function()
    support.assert_error_kind("type", function()
      async.run(5)
    end, "function expected")
    support.assert_error_kind("argument", function()
      async.spawn(print)
    end, "async.run")
    support.assert_error_kind("type", function()
      async.await(5)
    end, "a number")
    support.assert_error_kind("type", function()
      async.all { 5 }
    end, "entry 1")
    support.assert_error_kind("argument", function()
      async.run(function()
        async.run(print)
      end)
    end, "already")
    support.assert_error_kind("argument", function()
      async.run(function()
        return async.run(print) -- this line is gone when it is called: that of the coroutine's start is told
      end)
    end, "async_spec.lua:", "already")
    support.assert_error_kind("type", function()
      async.sleep(-1)
    end)
    async.sleep(1) -- outside a scheduler it sleeps
    assert.equal(
      3,
      async.run(function()
        return 3
      end)
    ) -- and the errors left nothing running
    assert.is_truthy(luhip.async == async)
  end)
end)
