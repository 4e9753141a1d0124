kernel void histogram(global const uchar *data, global uint *bins, int n, int chunk) {
  local uint counts[256];
  for (int b = get_local_id(0); b < 256; b += get_local_size(0)) counts[b] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  int first = get_group_id(0) * chunk, last = min(first + chunk, n);
  for (int i = first + get_local_id(0); i < last; i += get_local_size(0)) atomic_inc(&counts[data[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int b = get_local_id(0); b < 256; b += get_local_size(0)) atomic_add(&bins[b], counts[b]);
}
