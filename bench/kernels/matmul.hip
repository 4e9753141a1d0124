// c = a b, n by n, n a multiple of 16, in tiles of shared memory.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float ta[16][16], tb[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    ta[ty][tx] = a[y * n + k + tx];
    tb[ty][tx] = b[(k + ty) * n + x];
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += ta[ty][i] * tb[i][tx];
    __syncthreads();
  }
  c[y * n + x] = sum;
}
