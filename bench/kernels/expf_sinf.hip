// y = exp(x) + sin(x)
extern "C" __global__ void expf_sinf(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = expf(x[i]) + sinf(x[i]);
}
