// How often each byte occurs. Each block counts a chunk in shared memory, then adds its bins to the result.
extern "C" __global__ void histogram(const unsigned char *data, unsigned *bins, int n, int chunk) {
  __shared__ unsigned counts[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) counts[b] = 0;
  __syncthreads();
  int first = blockIdx.x * chunk, last = min(first + chunk, n);
  for (int i = first + threadIdx.x; i < last; i += blockDim.x) atomicAdd(&counts[data[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&bins[b], counts[b]);
}
