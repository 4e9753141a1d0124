// The acceleration of each of n bodies (x, y, z, mass) by all of them.
extern "C" __global__ void nbody(const float4 *bodies, float4 *acceleration, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 me = bodies[i];
  float ax = 0, ay = 0, az = 0;
  for (int j = 0; j < n; j++) {
    float4 other = bodies[j];
    float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
    float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
    float s = other.w * r * r * r;
    ax += dx * s, ay += dy * s, az += dz * s;
  }
  acceleration[i] = make_float4(ax, ay, az, 0);
}
