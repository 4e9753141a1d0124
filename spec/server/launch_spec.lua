-- D. Launch: the exact order.

local support = require "spec.support"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

local N = 256

support.each_device(function(id)
  local dev, k

  before_each(function()
    dev = support.open(id)
    k = work.kernels(dev)
  end)

  -- A buffer whose bytes carry a failure: a launch that could not have memory for its other argument.
  local function stale(n)
    local x, big = dev:buffer("f32", n or N, 0), support.beyond_memory(dev):view "f32"
    k.copy:launch({ grid = 1, block = 1 }, big, x, 1)
    assert.is_nil((x:check()))
    return x
  end

  it("D1 a kernel that does not exist lists those that do", function()
    support.assert_error_kind("not_found", function()
      k.program:kernel "axpy"
    end, "axpy", "accumulate", "nothing")
  end)

  it("D3 the geometry is held against the device's limits, by name, given and allowed", function()
    local x = dev:buffer("f32", N, 1)
    local most_y, shared = dev.max_grid[2], dev.shared_bytes
    for _, case in ipairs {
      { { grid = -1, block = 1 }, "grid x", "-1" },
      { { grid = { 1, most_y + 1 }, block = 1 }, "grid y", tostring(most_y + 1), tostring(most_y) },
      { { grid = 1 << 40, block = 1 }, "grid x", tostring(1 << 40), tostring(dev.max_grid[1]) },
      { { grid = 1, block = 0 }, "block x", "0", tostring(dev.max_block[1]) },
      { { grid = 1, block = -3 }, "block x", "-3" },
      { { grid = 1, block = { 1, 1, dev.max_block[3] + 1 } }, "block z", tostring(dev.max_block[3]) },
      { { grid = 1, block = { dev.max_threads, 2 } }, tostring(dev.max_threads * 2), tostring(dev.max_threads) },
      { { grid = 1, block = 1, shared = shared + 1 }, "shared", tostring(shared + 1), tostring(shared) },
      { { grid = 1, block = 1, shared = -1 }, "shared", "-1" },
    } do
      local config = case[1]
      support.assert_error_kind("limits", function()
        k.add:launch(config, x, N, 1)
      end, "'add'", table.unpack(case, 2))
      support.assert_error_kind("limits", function()
        k.add:bind(config)
      end, "'add'", table.unpack(case, 2))
    end
    assert.is_true(x:check()) -- nothing is claimed
    assert.equal(1.0, x:read()[1])
  end)

  it("D3 static shared memory counts", function()
    local floats = math.min(dev.shared_bytes // 8, 10000) -- NVIDIA's compilers take 48 KiB at most
    local kernel = dev:kernel(([[
      extern "C" __global__ void big(float *x) {
        __shared__ float s[%d];
        s[threadIdx.x] = 1;
        __syncthreads();
        x[0] = s[0];
      }
    ]]):format(floats))
    support.assert_error_kind("limits", function()
      kernel:launch({ grid = 1, block = 1, shared = dev.shared_bytes - 4 * floats + 16 }, dev:buffer("f32", 1, 0))
    end, "shared", tostring(dev.shared_bytes))
    local x = dev:buffer("f32", 1, 0)
    kernel:launch({ grid = 1, block = 1 }, x)
    assert.equal(1.0, x:read()[1])
  end)

  local dynamic = [[
    extern "C" __global__ void last(int *x, int n) {
      extern __shared__ int s[];
      __shared__ int own[16];
      own[threadIdx.x & 15] = 5;
      s[n - 1] = 3;
      __syncthreads();
      x[0] = s[n - 1] + own[0];
    }
  ]]

  it("D3 a kernel may have all shared memory of the device: where that needs asking, it is asked", function()
    local kernel, x = dev:kernel(dynamic), dev:buffer("i32", 1, 0)
    local bytes = dev.shared_bytes - kernel.shared_bytes
    kernel:launch({ grid = 1, block = 1, shared = bytes }, x, bytes // 4)
    assert.equal(8, x:read()[1])
    support.assert_error_kind("limits", function()
      kernel:launch({ grid = 1, block = 1, shared = bytes + 1 }, x, 1)
    end, "shared", tostring(dev.shared_bytes))
  end)

  if id:find "^cpu" then
    it("D3 the opt-in attribute is set for what is beyond the usual", function()
      testing.shared_optin(dev, 1024, false)
      local kernel, x = dev:kernel(dynamic .. "// granted"), dev:buffer("i32", 1, 0)
      assert.equal(dev.shared_bytes - 64, testing.shared_optin())
      kernel:launch({ grid = 1, block = 1, shared = 4096 }, x, 1024)
      assert.equal(8, x:read()[1])
      testing.shared_optin(dev, 1024, true)
      kernel = dev:kernel(dynamic .. "// refused")
      support.assert_error_kind("limits", function()
        kernel:launch({ grid = 1, block = 1, shared = 1024 }, x, 1)
      end, "64 bytes of its own and 1024 dynamic, at most 1024")
      kernel:launch({ grid = 1, block = 1, shared = 960 }, x, 240)
      assert.equal(8, x:read()[1])
    end)
  end

  it("D3 arguments are checked before anything happens", function()
    local x = dev:buffer("f32", N, 1)
    support.assert_error_kind("argument", function()
      k.add:launch(work.over(N), x, N)
    end, "add")
    support.assert_error_kind("type", function()
      k.add:launch(work.over(N), dev:buffer("i32", N, 0), N, 1)
    end, "argument 1", "'x'", "add")
    assert.is_true(x:check())
  end)

  it("D4 a dry run checks, and touches nothing", function()
    local x, bad = dev:buffer("f32", N), stale()
    local before = dev:memory().in_use
    dev:dry_run(function()
      k.copy:launch(work.over(N), bad, x, N)
      support.assert_error_kind("limits", function()
        k.copy:launch({ grid = 1, block = 0 }, bad, x, N)
      end)
    end)
    assert.is_true(x:check())
    assert.equal(before, dev:memory().in_use)
  end)

  it("D5 takes a grid from a buffer", function()
    local x, grid = dev:buffer("f32", N, 0), dev:buffer("u32", 3, 1)
    grid:write { N // 64, 1, 1 }
    k.add:launch({ grid = grid, block = 64 }, x, N, 1)
    assert.equal(1.0, x:read()[N])
    local bound = k.add:bind { grid = grid, block = 64 }
    grid:write { 1, 1, 1 }
    bound(x, N, 1)
    local r = x:read()
    assert.same({ 2.0, 1.0 }, { r[64], r[65] })
  end)

  it("D5 a grid written on another stream is waited for", function()
    local gate = work.gate(dev, k)
    local x, grid, other = dev:buffer("f32", N, 0), dev:buffer("u32", 3, 0), dev:from("u32", { N // 64, 1, 1 })
    local s = dev:stream()
    dev:with(s, function()
      gate:close(other)
      grid:copy(other)
    end)
    gate:open()
    k.add:launch({ grid = grid, block = 64 }, x, N, 3)
    assert.equal(3.0, x:read()[N])
  end)

  it("D5 a grid of the wrong type or size is the caller's error; one beyond the limits claims", function()
    local x = dev:buffer("f32", N, 0)
    for _, grid in ipairs { dev:buffer("i32", 3, 1), dev:buffer("u32", 2, 1), dev:buffer("u32", 4, 1) } do
      support.assert_error_kind("type", function()
        k.add:launch({ grid = grid, block = 64 }, x, N, 1)
      end, "grid", "u32[3]")
    end
    assert.is_true(x:check())
    local huge = dev:from("u32", { 1, 0xffffffff, 1 })
    k.add:launch({ grid = huge, block = 64 }, x, N, 1)
    support.assert_error_kind("limits", function()
      x:read()
    end, "grid y", tostring(0xffffffff))
  end)

  it("D5 a stale grid claims what would have been written with its failure", function()
    local x, grid = dev:buffer("f32", N, 0), stale(3):view "u32"
    k.set:launch({ grid = grid, block = 64 }, x, N, 1)
    local e = support.assert_error_kind("oom", function()
      x:read()
    end, "its grid")
    assert.equal(1, #e.failures)
    -- It is the same failure: one that reads both is told of one.
    local both = support.assert_error_kind("oom", function()
      dev:read { x, grid }
    end)
    assert.equal(1, #both.failures)
    x:fill(2)
    assert.equal(2.0, x:read()[1])
  end)

  it("D6 an empty grid does nothing, and changes no claim", function()
    local x, bad = dev:buffer("f32", N, 5), stale()
    for _, grid in ipairs { { 0 }, { 1, 0 }, { 1, 1, 0 } } do
      k.copy:launch({ grid = grid, block = 64 }, bad, x, N)
      k.set:launch({ grid = grid, block = 64 }, bad, N, 1)
    end
    assert.equal(5.0, x:read()[1])
    assert.is_nil((bad:check()))
    k.add:launch({ grid = dev:from("u32", { 4, 0, 1 }), block = 64 }, x, N, 1)
    assert.equal(5.0, x:read()[1])
  end)

  it("D7 a tainted input skips the launch, and passes its failure on with a record of it", function()
    local bad, y, z = stale(), dev:buffer("f32", N, 1), dev:buffer("f32", N, 1)
    k.accumulate:launch(work.over(N), bad, y, N)
    k.copy:launch(work.over(N), y, z, N)
    local e = support.assert_error_kind("oom", function()
      z:read()
    end, "skipped", "'accumulate'", "'x'", "'y'", "'copy'", "out")
    assert.equal(1, #e.failures)
    y:fill(2) -- repaired
    k.copy:launch(work.over(N), y, z, N)
    assert.equal(2.0, z:read()[1])
    assert.is_nil((bad:check()))
  end)

  it("E5 a read lists each failure once, with how many carry it and the launches on the way from its root", function()
    local x, y, z, w = stale(), dev:buffer("f32", N, 1), dev:buffer("f32", N, 1), dev:buffer("f32", N, 1)
    local good = dev:buffer("f32", N, 1)
    k.copy:launch(work.over(N), x, y, N)
    k.copy:launch(work.over(N), y, z, N)
    k.accumulate:launch(work.over(N), x, w, N)
    local e = support.assert_error_kind("oom", function()
      dev:read { z, good, z, y }
    end, "has no memory for a buffer of")
    local carried = tonumber(tostring(e):match "carried by (%d+) buffers")
    assert.is_true(carried == 4 or carried == 5) -- x, y, z, w, and the one without memory while it is not collected
    assert.equal(1, #e.failures)
    assert.equal("oom", e.failures[1].kind)
    local _, chain = z:check()
    local _, skipped = tostring(chain):gsub("was skipped", "")
    assert.equal(2, skipped) -- and not the one that leads to w
    assert.is_nil(tostring(chain):find("'accumulate'", 1, true))
    local other = stale()
    assert.equal(2, #support.assert_error_kind("oom", function()
      dev:read { z, other, y }
    end).failures)
    assert.is_true(good:check())
  end)

  it("D7 several tainted inputs are all reported", function()
    local a, b, c = stale(), stale(), dev:buffer("f32", N, 0)
    k.sum:launch(work.over(N), a, b, c, N)
    local e = support.assert_error_kind("oom", function()
      c:read()
    end)
    assert.equal(2, #e.failures)
    local d = dev:buffer("f32", N, 0)
    k.sum:launch(work.over(N), c, a, d, N)
    e = support.assert_error_kind("oom", function()
      d:read()
    end)
    assert.equal(2, #e.failures)
  end)

  it("D7 keeps the newest 16 records and counts all", function()
    local bad, y = stale(), dev:buffer("f32", N, 1)
    for _ = 1, 40 do
      k.accumulate:launch(work.over(N), bad, y, N)
    end
    local _, e = y:check()
    local text, records = tostring(e), 0
    for _ in text:gmatch "kernel 'accumulate' was skipped" do
      records = records + 1
    end
    assert.equal(16, records)
    assert.is_truthy(text:find("41 launches", 1, true) or text:find("40 launches", 1, true))
  end)

  it("D8 a launch that the driver refuses leaves its error on what it would have written, and only there", function()
    support.defer(testing.driver_reset)
    local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", 2 * N, 2)
    dev:sync()
    testing.driver_fail { call = "hipModuleLaunchKernel", error = "hipErrorInvalidConfiguration" }
    k.copy:launch(work.over(N), x, y:slice(1, N), N) -- raises nothing: D10
    testing.driver_reset()
    assert.is_true(x:check())
    assert.is_true(y:slice(N + 1, 2 * N):check())
    support.assert_error_kind("launch", function()
      y:read()
    end, "'copy'", "hipErrorInvalidConfiguration")
    k.copy:launch(work.over(N), x, y:slice(1, N), N)
    assert.equal(1.0, y:read()[N])
    assert.equal(2.0, y:read()[2 * N])
  end)

  it("D8 what cannot be ordered behind another stream is not enqueued", function()
    support.defer(testing.driver_reset)
    local x, y, s = dev:buffer("f32", N, 1), dev:buffer("f32", N, 2), dev:stream()
    dev:sync()
    local gate = work.gate(dev, k)
    gate:close(x)
    testing.driver_fail { call = "hipStreamWaitEvent", error = "hipErrorUnknown" }
    dev:with(s, function()
      k.copy:launch(work.over(N), x, y, N)
    end)
    testing.driver_reset()
    gate:open()
    support.assert_error_kind("driver", function()
      y:read()
    end, "hipErrorUnknown")
    k.set:launch(work.over(N), y, N, 4)
    assert.equal(4.0, y:read()[N])
  end)

  it("D8 a large write that fails half way leaves its error on all of its destination", function()
    support.defer(testing.driver_reset)
    local n = 120 << 20
    local x = dev:buffer("u8", n, 1)
    dev:sync()
    testing.driver_fail { call = "hipMemcpyAsync", nth = 4, error = "hipErrorUnknown" }
    support.assert_error_kind("driver", function()
      x:write(("z"):rep(n))
    end, "hipErrorUnknown")
    testing.driver_reset()
    for _, first in ipairs { 1, n // 2, n } do
      support.assert_error_kind("driver", function()
        x:read(first, first)
      end, "hipErrorUnknown")
    end
    x:fill(3)
    assert.equal(3, x:read(n, n)[1])
  end)

  it("D9 in, inout and out: only out repairs", function()
    local x = stale()
    k.add:launch(work.over(N), x, N, 1) -- inout: reads it
    assert.is_nil((x:check()))
    k.set:launch(work.over(N), x, N, 7) -- out
    assert.equal(7.0, x:read()[N])
    local y = stale()
    local program = dev:compile(work.source, { access = { add = { x = "out" } } })
    program:kernel("add"):launch(work.over(N), y, N, 1)
    assert.is_true(y:check())
  end)

  it("D9 touched buffers are read and written", function()
    local bad, x, y = stale(), dev:buffer("f32", N, 1), dev:buffer("f32", N, 1)
    local config = work.over(N)
    config.touches = { bad }
    k.set:launch(config, x, N, 5)
    assert.is_nil((x:check()))
    config.touches = { y }
    k.copy:launch(config, stale(), x, N)
    assert.is_nil((y:check()))
    local many = {}
    for i = 1, 33 do
      many[i] = dev:buffer("f32", 1, 0)
    end
    support.assert_error_kind("argument", function()
      k.set:launch({ grid = 1, block = 1, touches = many }, x, N, 5)
    end, "33")
  end)

  it("D10 launch raises only for the caller's errors", function()
    local bad, x = stale(), dev:buffer("f32", N, 1)
    k.copy:launch(work.over(N), bad, x, N)
    k.copy:bind(work.over(N))(bad, x, N)
    dev:sync()
    assert.is_nil((x:check()))
  end)

  it("D9 a view is what the kernel sees", function()
    local x = dev:buffer("f32", N, 0)
    k.set:launch({ grid = 1, block = 64 }, x:slice(65, 128), 64, 3)
    local r = x:read()
    assert.same({ 0.0, 3.0, 3.0, 0.0 }, { r[64], r[65], r[128], r[129] })
  end)

  if testing then
    it("D8 a launch takes nothing from the heap once warm", function()
      local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", N, 1)
      local run = k.copy:bind(work.over(N))
      local gate = work.gate(dev, k)
      gate:close(x)
      for _ = 1, 700 do -- as many in flight as there will be
        run(x, y, N)
      end
      gate:open()
      dev:sync()
      local before = testing.heap_calls()
      for _ = 1, 300 do
        run(x, y, N)
      end
      local taken = testing.heap_calls() - before
      dev:sync()
      assert.equal(0, taken)
      assert.is_true(before > 0) -- it does count
    end)
  end
end)
