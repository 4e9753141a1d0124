/*
 * pocl.c - the algorithms of the kernel comparison as OpenCL kernels (pocl/) on the first OpenCL CPU device.
 *
 * Memory is allocated by the device and filled by copies, which are not timed; a run is timed from enqueueing the kernel
 * to the end of clFinish. Call it in the repository's root.
 */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "bench.h"

#include <CL/cl.h>

struct geometry {
  const char *kernel;
  cl_uint dimensions;
  size_t global[2], local[2];
};

static size_t round_up(size_t n, size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

static struct geometry geometry_of(const struct bench_problem *p) {
  size_t n = (size_t)p->n;
  switch (p->algorithm) {
  case BENCH_stencil_256x1:
    return (struct geometry){"stencil", 2, {round_up(n, 256), n}, {256, 1}};
  case BENCH_stencil_16x16:
    return (struct geometry){"stencil", 2, {round_up(n, 16), round_up(n, 16)}, {16, 16}};
  case BENCH_matmul:
    return (struct geometry){"matmul", 2, {n, n}, {16, 16}};
  case BENCH_histogram:
    return (struct geometry){"histogram", 1, {round_up(n, BENCH_HISTOGRAM_CHUNK) / BENCH_HISTOGRAM_CHUNK * 256}, {256}};
  case BENCH_reduction:
    return (struct geometry){"reduction", 1, {round_up(n, BENCH_REDUCTION_CHUNK) / BENCH_REDUCTION_CHUNK * 256}, {256}};
  default:
    return (struct geometry){p->name, 1, {round_up(n, 256)}, {256}};
  }
}

static cl_device_id find_device(void) {
  cl_platform_id platforms[8];
  cl_uint count = 0;
  cl_device_id device = NULL;
  if (clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS) return NULL;
  for (cl_uint i = 0; i < count && i < 8 && !device; i++)
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL) != CL_SUCCESS) device = NULL;
  return device;
}

static cl_kernel build(cl_context context, cl_device_id device, const char *name) {
  char path[256], source[16384], log[4096] = "";
  const char *text = source;
  snprintf(path, sizeof path, "bench/pocl/%s.cl", name);
  FILE *file = fopen(path, "r");
  if (!file) {
    perror(path);
    return NULL;
  }
  size_t bytes = fread(source, 1, sizeof source, file);
  fclose(file);
  cl_program program = clCreateProgramWithSource(context, 1, &text, &bytes, NULL);
  if (!program) return NULL;
  if (clBuildProgram(program, 1, &device, "-cl-mad-enable", NULL, NULL) != CL_SUCCESS) {
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    fprintf(stderr, "%s: %s\n", path, log);
  }
  cl_kernel kernel = clCreateKernel(program, name, NULL);
  clReleaseProgram(program);
  return kernel;
}

static cl_mem upload(cl_context context, cl_command_queue queue, const void *data, size_t bytes) {
  cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
  if (memory && clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, bytes, data, 0, NULL, NULL) != CL_SUCCESS) {
    clReleaseMemObject(memory);
    return NULL;
  }
  return memory;
}

static bool set_arguments(cl_kernel kernel, const struct bench_problem *p, cl_mem in, cl_mem in2, cl_mem out) {
  cl_uint next = 0;
  cl_int chunk = 0, bad = CL_SUCCESS;
  if (p->algorithm == BENCH_histogram) chunk = BENCH_HISTOGRAM_CHUNK;
  if (p->algorithm == BENCH_reduction) chunk = BENCH_REDUCTION_CHUNK;
  if (p->algorithm == BENCH_axpy) bad |= clSetKernelArg(kernel, next++, sizeof bench_factor, &bench_factor);
  bad |= clSetKernelArg(kernel, next++, sizeof in, &in);
  if (in2) bad |= clSetKernelArg(kernel, next++, sizeof in2, &in2);
  bad |= clSetKernelArg(kernel, next++, sizeof out, &out);
  bad |= clSetKernelArg(kernel, next++, sizeof p->n, &p->n);
  if (chunk) bad |= clSetKernelArg(kernel, next++, sizeof chunk, &chunk);
  return bad == CL_SUCCESS;
}

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static bool run(struct bench_problem *p, double *times) {
  struct geometry g = geometry_of(p);
  cl_kernel kernel = build(context, device, g.kernel);
  cl_mem in = upload(context, queue, p->in, p->in_bytes), out = upload(context, queue, p->out, p->out_bytes);
  cl_mem in2 = p->in2 ? upload(context, queue, p->in2, p->in2_bytes) : NULL;
  bool ok = kernel && in && out && set_arguments(kernel, p, in, in2, out);
  for (int i = 0; ok && i < BENCH_RUNS; i++) {
    double start = bench_now_ms();
    ok = clEnqueueNDRangeKernel(queue, kernel, g.dimensions, NULL, g.global, g.local, 0, NULL, NULL) == CL_SUCCESS &&
         clFinish(queue) == CL_SUCCESS;
    times[i] = bench_now_ms() - start;
  }
  ok = ok && clEnqueueReadBuffer(queue, out, CL_TRUE, 0, p->out_bytes, p->out, 0, NULL, NULL) == CL_SUCCESS;
  if (in2) clReleaseMemObject(in2);
  if (in) clReleaseMemObject(in);
  if (out) clReleaseMemObject(out);
  if (kernel) clReleaseKernel(kernel);
  return ok;
}

int main(int argc, char **argv) {
  device = find_device();
  context = device ? clCreateContext(NULL, 1, &device, NULL, NULL, NULL) : NULL;
  queue = context ? clCreateCommandQueue(context, device, 0, NULL) : NULL;
  if (!queue) {
    fprintf(stderr, "%s: no OpenCL CPU device\n", argv[0]);
    return 1;
  }
  int status = bench_main(argc, argv, run);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return status;
}
