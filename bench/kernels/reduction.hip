// The sum of each block's chunk: by thread, by shuffles in the warp, by shared memory across warps.
extern "C" __global__ void reduction(const float *x, float *sums, int n, int chunk) {
  __shared__ float partial[32];
  int first = blockIdx.x * chunk, last = min(first + chunk, n);
  float sum = 0;
  for (int i = first + threadIdx.x; i < last; i += blockDim.x) sum += x[i];
  for (int d = warpSize / 2; d > 0; d /= 2) sum += __shfl_down(sum, d);
  int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < blockDim.x / warpSize ? partial[lane] : 0;
    for (int d = warpSize / 2; d > 0; d /= 2) sum += __shfl_down(sum, d);
    if (lane == 0) sums[blockIdx.x] = sum;
  }
}
