// One step of the heat equation on a grid of ny rows of nx cells: each cell moves towards the mean of its four
// neighbours. Cells of the rim keep what they have.
extern "C" __global__ void heat_step(const float *now, LUHIP_OUT float *next, int nx, int ny, float rate) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  const int i = y * nx + x;
  if (x == 0 || y == 0 || x == nx - 1 || y == ny - 1) {
    next[i] = now[i];
    return;
  }
  next[i] = now[i] + rate * (now[i - 1] + now[i + 1] + now[i - nx] + now[i + nx] - 4.0f * now[i]);
}
