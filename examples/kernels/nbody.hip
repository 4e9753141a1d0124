// Gravity among n bodies by all pairs. A block stages TILE bodies at a time in shared memory; blockDim.x is TILE.
#ifndef TILE
#define TILE 64
#endif

// position.w is the mass; softening keeps near bodies from flying apart.
extern "C" __global__ void forces(const float4 *position, LUHIP_OUT float4 *acceleration, int n, float softening) {
  __shared__ float4 tile[TILE];
  const int i = blockIdx.x * TILE + threadIdx.x;
  const float4 own = position[i < n ? i : 0];
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (int start = 0; start < n; start += TILE) {
    const int j = start + threadIdx.x;
    tile[threadIdx.x] = j < n ? position[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    __syncthreads();
    for (int k = 0; k < TILE; k++) {
      const float dx = tile[k].x - own.x, dy = tile[k].y - own.y, dz = tile[k].z - own.z;
      const float r = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
      const float pull = tile[k].w * r * r * r;
      ax += pull * dx;
      ay += pull * dy;
      az += pull * dz;
    }
    __syncthreads();
  }
  if (i < n) acceleration[i] = make_float4(ax, ay, az, 0.0f);
}

extern "C" __global__ void move(float4 *position, float4 *velocity, const float4 *acceleration, int n, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  velocity[i].x += dt * acceleration[i].x;
  velocity[i].y += dt * acceleration[i].y;
  velocity[i].z += dt * acceleration[i].z;
  position[i].x += dt * velocity[i].x;
  position[i].y += dt * velocity[i].y;
  position[i].z += dt * velocity[i].z;
}
