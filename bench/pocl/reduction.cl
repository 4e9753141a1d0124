// OpenCL has no shuffles here: a tree in local memory.
kernel void reduction(global const float *x, global float *sums, int n, int chunk) {
  local float partial[256];
  int t = get_local_id(0), first = get_group_id(0) * chunk, last = min(first + chunk, n);
  float sum = 0;
  for (int i = first + t; i < last; i += get_local_size(0)) sum += x[i];
  partial[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = get_local_size(0) / 2; d > 0; d /= 2) {
    if (t < d) partial[t] += partial[t + d];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) sums[get_group_id(0)] = partial[0];
}
