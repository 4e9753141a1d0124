-- Public reports about the CPU device, printf, assert and errors; each spec is named after them.
local support = require "spec.support"

support.each_device(function(id)
  local cpu = id:find "^cpu" ~= nil
  local dev
  before_each(function()
    dev = support.open(id)
  end)

  it(
    "HIP-CPU#40, HIP-CPU#41 run-time kernels launch with a list of arguments; barriers in loops and branches",
    function()
      local k = dev:kernel [[
      extern "C" __global__ void k(int *out, const int *in, int rounds) {
        __shared__ int ring[1024];
        int i = threadIdx.x, n = blockDim.x;
        ring[i] = in[i];
        __syncthreads();
        for (int r = 0; r < rounds; r++) {
          int next = ring[(i + 1) % n];
          __syncthreads();
          ring[i] = next;
          __syncthreads();
        }
        if (rounds > 2) {
          ring[i] *= 2;
          __syncthreads();
        }
        out[i] = ring[(i + 1) % n];
      }
    ]]
      for _, block in ipairs { 1, 63, 256, 1024 } do
        local out = dev:buffer("i32", block, 0)
        local source = dev:buffer("i32", block, function(i)
          return i
        end)
        local arguments = { out, source, 5 }
        k:launch({ grid = 1, block = block }, table.unpack(arguments))
        local got = out:read()
        for i = 1, block do
          assert.equal(2 * ((i - 1 + 6) % block + 1), got[i])
        end
      end
    end
  )

  it("HIP-CPU#41 a barrier that only some threads reach is an error, not a hang", function()
    if not cpu then
      pending "undefined on GPUs"
    end
    dev:close()
    dev = support.open(id, { checked = true })
    local k = dev:kernel [[
      extern "C" __global__ void k(int *x) {
        if (threadIdx.x < 3) { x[threadIdx.x] = 1; __syncthreads(); }
        else { x[threadIdx.x] = 2; __syncthreads(); }
      }
    ]]
    local x = dev:buffer("i32", 8, 0)
    k:launch({ grid = 1, block = 8 }, x)
    support.assert_error_kind("fault", function()
      x:read()
    end, "'k'", "barrier")
    assert.equal(1, dev:buffer("i32", 1, 1):read()[1])
  end)

  it("ROCm#5425, hip#3794, hip#3161 printf in kernels writes what printf writes, flushed at sync", function()
    local result = support.lua(
      [[
      local luhip = require "luhip"
      local dev = luhip.open(...)
      local x = dev:buffer("i32", 4, 0)
      local k = dev:kernel('#include <stdio.h>\nextern "C" __global__ void k(int *x) {'
        .. 'printf("[%10s %i] [%5.2f] [%lld] [%d%%] [%-6d|%c]\\n", "text", 42, 3.14159, -5000000000ll, 7, 12, 65);'
        .. 'printf("%p\\n", (void *)0x1234); x[0] = 1; }')
      k:launch({ grid = 1, block = 1 }, x)
      dev:sync()
      assert(x:read()[1] == 1)
      print "after"
    ]],
      {},
      id
    )
    assert.equal("[      text 42] [ 3.14] [-5000000000] [7%] [12    |A]\n0x1234\nafter\n", result.stdout, result.stderr)
  end)

  it("hip#3161 ten thousand lines from 64 threads all come, also behind io.output", function()
    local lines = support.sanitizer and 640 or 9984
    local result = support.lua(
      ([[
      local luhip = require "luhip"
      local dev = luhip.open(...)
      local x = dev:buffer("i32", 1, 0)
      io.output("/dev/null")
      local k = dev:kernel('#include <stdio.h>\nextern "C" __global__ void k(int *x, int n) {'
        .. 'for (int i = 0; i < n; i++) printf("line %%d of %%d\\n", i, (int)threadIdx.x); }')
      k:launch({ grid = 1, block = 64 }, x, %d)
      dev:sync()
    ]]):format(lines // 64),
      {},
      id
    )
    local seen, count = {}, 0
    for i, t in result.stdout:gmatch "line (%d+) of (%d+)\n" do
      assert.is_nil(seen[i .. " " .. t])
      seen[i .. " " .. t] = true
      count = count + 1
    end
    assert.equal(lines, count, result.stderr)
  end)

  it("hip#2482, hip#2676, hip#1959, hip#3368 a failed assert is an error with place and expression", function()
    if not cpu then
      pending "an assert ends the process or its context on a GPU"
    end
    for _, print_too in ipairs { false, true } do
      local source = ([[
#include <assert.h>
#include <stdio.h>
extern "C" __global__ void k(int *x) {
  int i = threadIdx.x;
  %s
  assert(i < 5);
  x[i] = i;
}
]]):format(print_too and 'printf("%s", "");' or "")
      local k = dev:kernel(source, "k", { name = "asserts.hip" })
      local x, clean = dev:buffer("i32", 8, 0), dev:buffer("i32", 8, 4)
      k:launch({ grid = 1, block = 8 }, x)
      local e = support.assert_error_kind("fault", function()
        x:read()
      end, "i < 5", "asserts.hip:6", "'k'")
      assert.same({ 0, 0, 0 }, e.block)
      assert.is_true(e.thread == nil or e.thread[1] >= 5)
      assert.equal(4, clean:read()[8])
      x:fill(0)
      k:launch({ grid = 1, block = 5 }, x)
      assert.equal(4, x:read()[5])
    end
  end)

  it("cuml PR#7954, cupy#7979 an illegal access is tied to its launch", function()
    if id:find "^rocm" then
      pending "the driver ends the process"
    end
    local code = [[
      local luhip = require "luhip"
      local dev = luhip.open { device = ..., checked = select(2, ...) == "checked" or nil }
      local prog = dev:compile('extern "C" __global__ void wild(int *x) { x[1ll << 36] = 1; }\n'
        .. 'extern "C" __global__ void tame(int *x) { x[0] = 7; }')
      local x, y = dev:buffer("i32", 4, 0), dev:buffer("i32", 4, 0)
      prog:kernel("wild"):launch({ grid = 1, block = 1 }, x)
      local ok, e = pcall(x.read, x)
      print(ok, e.kind, tostring(e):find("'wild'", 1, true) ~= nil)
      local well, later = pcall(function()
        prog:kernel("tame"):launch({ grid = 1, block = 1 }, y)
        return y:read()
      end)
      print(well and later[1] or later.kind, well or tostring(later):find("'wild'", 1, true) ~= nil)
      os.exit(0, true)
    ]]
    for _, mode in ipairs(cpu and { "unchecked", "checked" } or { "unchecked" }) do
      local result = support.lua(code, {}, id, mode)
      if cpu then
        assert.equal("false\tfault\ttrue\n7\ttrue\n", result.stdout, result.stderr)
      else
        -- The first to wait meets the driver's own error, whoever comes later the lost device and the launch suspected.
        assert.matches("^false\t%l+\t%l+\npoisoned\ttrue\n$", result.stdout)
      end
    end
  end)
end)
