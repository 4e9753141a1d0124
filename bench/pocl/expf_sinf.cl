kernel void expf_sinf(global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = exp(x[i]) + sin(x[i]);
}
