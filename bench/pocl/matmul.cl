kernel void matmul(global const float *a, global const float *b, global float *c, int n) {
  local float ta[16][16], tb[16][16];
  int tx = get_local_id(0), ty = get_local_id(1), x = get_global_id(0), y = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    ta[ty][tx] = a[y * n + k + tx];
    tb[ty][tx] = b[(k + ty) * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 16; i++) sum += ta[ty][i] * tb[i][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[y * n + x] = sum;
}
