-- The loop over a block's threads must be one that the compiler vectorises: a change to the device headers that lets
-- the address of an index escape would cost half the speed of every simple kernel and break nothing else.

local support = require "spec.support"

-- Unsigned, as the indices are: for other types the compiler may know by the type alone that no index is written.
local axpy = [[
extern "C" __global__ void axpy(unsigned a, const unsigned *x, unsigned *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
LUHIP_EXPORT(0, axpy)
extern "C" __global__ void axpy_float(float a, const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
LUHIP_EXPORT(1, axpy_float)
extern "C" __global__ void reverse(float *x) {
  __shared__ float s[256];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = __shfl_xor(s[blockDim.x - 1 - threadIdx.x], 1);
}
LUHIP_EXPORT(2, reverse)
]]

for _, warp in ipairs { 32, 64 } do
  it(("the wrapper of axpy is vectorised across threads (warp %d)"):format(warp), function()
    local directory = support.temporary_directory()
    local path = directory .. "/axpy.hip"
    support.write_file(path, axpy)
    local words = require("luhip.core").testing.cpu_command(warp)
    for _, word in ipairs {
      "-isystem",
      support.root .. "/src/cpu/include",
      "-isystem",
      support.root .. "/src",
      "-include",
      "hip/hip_runtime.h",
      "-Rpass=loop-vectorize",
      "-c",
      "-o",
      directory .. "/axpy.o",
      "-x",
      "c++",
      path,
    } do
      table.insert(words, word)
    end
    local result = support.run(words)
    assert.equal(0, result.code, result.stderr)
    local remarks = 0
    for _ in result.stderr:gmatch "luhip_cpu_core%.h:%d+:%d+: remark: vectorized loop" do
      remarks = remarks + 1
    end
    assert.is_true(remarks >= 2, result.stderr)
  end)
end
