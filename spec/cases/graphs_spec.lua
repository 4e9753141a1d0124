-- Public reports about graph capture and replay; each spec is named after them.
local support = require "spec.support"
local work = require "spec.server.work"

local testing = require("luhip.core").testing

local N = 256
local SUM = [[
extern "C" __global__ void sum(const float *x, float *y, int n) {
  __shared__ float part[64];
  float s = 0;
  for (int i = threadIdx.x; i < n; i += 64) s += x[i];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int k = 32; k; k /= 2) {
    if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[0] = part[0];
}
extern "C" __global__ void twice(float *x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }
]]

support.each_device(function(id)
  local dev
  before_each(function()
    dev = support.open(id)
  end)

  it("cupy#8318 what was never launched before is recorded as it would have run", function()
    for _, warmup in ipairs { false, true } do
      for _, lazy in ipairs { false, true } do
        local source = SUM .. ("// %s %s %s"):format(warmup, lazy, tostring(dev))
        local twice = dev:kernel(source, "twice", { lazy = lazy })
        local sum = dev:kernel(source, "sum", { lazy = lazy })
        local x, y = dev:buffer("f32", N, 1), dev:buffer("f32", 1, 0)
        local ok, g = pcall(dev.capture, dev, function()
          twice:launch({ grid = 1, block = N }, x, N)
          sum:launch({ grid = 1, block = 64 }, x, y, N)
        end, { warmup = warmup })
        local times = warmup and 2 or 1
        if ok then -- never an empty graph
          assert.equal(2, #g:nodes())
          x:fill(1)
          for _ = 1, times do
            g:replay()
          end
          assert.equal(N * 2 ^ times, y:read()[1])
        else
          assert.equal("capture", g.kind)
        end
      end
    end
  end)

  it(
    "pytorch#68985, cuda-python PR#1235, cubecl PR#1469, warp#1429 memory taken in a capture is the graph's",
    function()
      local k = work.kernels(dev)
      local x, kept = dev:buffer("f32", N, 1), nil
      local function body()
        local scratch = dev:buffer("f32", N)
        k.copy:launch(work.over(N), x, scratch, N)
        kept = dev:buffer("f32", N)
        k.copy:launch(work.over(N), scratch, kept, N)
        scratch:free()
      end
      local g = dev:capture(body)
      for round = 1, 3 do
        x:fill(round)
        local other = dev:buffer("f32", N, -1) -- does not get the scratch memory
        g:replay()
        assert.equal(round, kept:read()[N])
        assert.equal(-1, other:read()[N])
      end
      g:free()
      kept = nil
      collectgarbage()
      dev:sync()
      dev:memory_cleanup()
      local before = dev:memory()
      for _ = 1, support.sanitizer and 20 or 200 do
        local graph = dev:capture(body, { warmup = true })
        graph:replay()
        graph:free()
        kept:free()
      end
      collectgarbage()
      dev:sync()
      dev:memory_cleanup()
      local after = dev:memory()
      assert.equal(before.buffers, after.buffers)
      assert.equal(before.in_use, after.in_use)
      assert.equal(before.reserved, after.reserved)
    end
  )

  it("rocm-systems PR#11434 thousands of updates of a graph leak nothing", function()
    local k, x = work.kernels(dev), dev:buffer("f32", N, 0)
    local g = dev:capture(function()
      for _ = 1, 32 do
        k.add:launch(work.over(N), x, N, 1)
      end
    end, { warmup = false })
    local function resident()
      for line in io.lines "/proc/self/status" do
        local kib = line:match "^VmRSS:%s*(%d+)"
        if kib then
          return tonumber(kib)
        end
      end
    end
    local function updates(count)
      for i = 1, count do
        g:update(i % 32 + 1, x, N, i % 3)
        if i % 50 == 0 then
          g:replay()
        end
      end
      dev:sync()
      collectgarbage()
    end
    updates(500)
    local memory, before = dev:memory(), resident()
    updates(2000)
    assert.equal(memory.in_use, dev:memory().in_use)
    assert.equal(memory.reserved, dev:memory().reserved)
    if not support.sanitizer then
      assert.is_true(resident() < before + 8 * 1024, ("grew from %d to %d KiB"):format(before, resident()))
    end
  end)

  it("TheRock#7877, hip#3876 another state's calls do not disturb a recording", function()
    local k, x = work.kernels(dev), dev:buffer("f32", N, 0)
    local s = dev:stream()
    s:prepare_capture()
    s:begin_capture()
    dev:with(s, function()
      k.add:launch(work.over(N), x, N, 1)
      local results = testing.threads(
        [[
          local core = require "luhip.core"
          local dev <close> = core.open(...)
          local y = dev:buffer("f32", 1000, 3)
          local e = dev:record()
          e:query()
          e:wait()
          dev:stream():query()
          assert(y:read()[1000] == 3)
          dev:flush()
        ]],
        2,
        id
      )
      for _, r in ipairs(results) do
        assert.is_true(r.ok, r.message)
      end
      k.add:launch(work.over(N), x, N, 1)
    end)
    local g = s:end_capture()
    assert.equal(2, #g:nodes())
    g:replay()
    assert.equal(2, x:read()[N])
  end)

  it("TheRock#7877 what waits on the host is refused by name, and the recording goes on", function()
    local k, x = work.kernels(dev), dev:buffer("f32", N, 0)
    local g = dev:capture(function()
      k.add:launch(work.over(N), x, N, 1)
      for name, call in pairs {
        read = function()
          x:read()
        end,
        sync = function()
          dev:sync()
        end,
      } do
        support.assert_error_kind("capture", call, name)
      end
      k.add:launch(work.over(N), x, N, 1)
    end, { warmup = false })
    g:replay()
    assert.equal(2, x:read()[1])
  end)
end)
