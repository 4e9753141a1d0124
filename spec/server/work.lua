-- What the server's specs launch: kernels that are slow on purpose, and a gate that holds a stream until it is opened.
--
--   local gate = work.gate(dev)
--   dev:with(s, function() gate:close() end)   -- what is enqueued on s from now on waits
--   gate:open()                                -- from the host, through a stream of its own
--
-- A gate makes order visible without clocks: what is enqueued behind it cannot have run before it is opened.

local support = require "spec.support"

local work = {}

work.source = [[
extern "C" __global__ void add(float *x, int n, float v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += v;
}
extern "C" __global__ void set(LUHIP_OUT float *x, int n, float v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = v;
}
extern "C" __global__ void copy(const float *x, LUHIP_OUT float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" __global__ void accumulate(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i];
}
extern "C" __global__ void sum(const float *x, const float *y, LUHIP_OUT float *z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
// Writes far behind x, which is a fault on every device.
extern "C" __global__ void wild(LUHIP_OUT float *x, int n, long long by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i + by] = 1;
}
// Waits until a word that no argument declares is set; `x` says who has to wait with it.
extern "C" __global__ void hold(void *x, unsigned long long flag) {
  volatile int *word = (volatile int *)flag;
  if (threadIdx.x == 0 && blockIdx.x == 0)
    while (*word == 0) {
    }
}
extern "C" __global__ void shift(const int *by, float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += by[0] + by[1];
}
extern "C" __global__ void nothing() {}
]]

--- The program, compiled for this device: k.add, k.set ... by name.
function work.kernels(dev)
  local program = dev:compile(work.source, { name = "work.hip" })
  return setmetatable({ program = program }, {
    __index = function(kernels, name)
      local kernel = program:kernel(name)
      rawset(kernels, name, kernel)
      return kernel
    end,
  })
end

--- { grid, block } for n threads.
function work.over(n)
  return { grid = (n + 63) // 64, block = 64 }
end

--- A buffer of n f32 that carries a failure: of an allocation that no device can have.
function work.stale(dev, n)
  local huge = support.beyond_memory(dev)
  local x = dev:buffer("u8", 4 * n, 0)
  x:copy(huge:slice(1, 4 * n))
  assert(not x:check())
  return x:view "f32"
end

local Gate = {}
Gate.__index = Gate

--- A gate, open at first.
function work.gate(dev, kernels)
  local gate = setmetatable({ dev = dev, stream = dev:stream(), kernels = kernels or work.kernels(dev) }, Gate)
  gate.flag = dev:buffer("i32", 1, 0)
  gate.resource = dev:resource(gate.flag)
  support.defer(function() -- a spec that failed does not leave the device to its watchdog
    pcall(gate.open, gate)
  end)
  return gate
end

--- Holds the current stream, and whoever uses x after this (a buffer of its own if none is given).
function Gate:close(x)
  x = x or self.dev:buffer("f32", 1, 0)
  self.kernels.hold:launch({ grid = 1, block = 1 }, x, self.resource.pointer)
end

function Gate:open()
  self.dev:with(self.stream, function()
    self.flag:write { 1 }
  end)
end

return work
