/*
 * launch.c - what a bound launch costs in the server: arguments, checks, claims, order, noting it.
 *
 *   launch                 nanoseconds of processor time per launch, over a driver that does nothing
 *   launch n kernel        n launches of four or six and nothing else, to be counted by callgrind
 *
 * The device is the CPU's, so that kernels compile; of its table what enqueues and what asks whether that has passed
 * answers success at once. What those answers cost is measured alone and taken off.
 */
#include "hip/api.h"
#include "luhip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 31, LAUNCHES = 20000 };

/* ---- the driver that does nothing ---------------------------------------------------------------------------- */

#define NOTHING(name, ...)                                                                                             \
  static __attribute__((noinline)) hip_error_t name(__VA_ARGS__) {                                                     \
    __asm__ volatile("");                                                                                              \
    return hip_Success;                                                                                                \
  }

#pragma GCC diagnostic ignored "-Wunused-parameter"
NOTHING(launch_nothing, hip_function_t function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
        unsigned int by, unsigned int bz, unsigned int shared, hip_stream_t stream, void **params, void **extra)
NOTHING(record_nothing, hip_event_t event, hip_stream_t stream)
NOTHING(query_nothing, hip_event_t event)
NOTHING(wait_nothing, hip_stream_t stream, hip_event_t event, unsigned int flags)
NOTHING(set_nothing, int device)
NOTHING(tag_nothing, uint64_t tag)

static __attribute__((noinline)) hip_error_t no_fault(struct hip_fault *fault) {
  __asm__ volatile("");
  return hip_ErrorNotFound;
}

static struct hip_api table;

static const struct hip_api *wrap(const struct hip_provider *provider, const struct hip_api *api) {
  if (strcmp(provider->name, "cpu") != 0) return api;
  table = *api;
  table.hipModuleLaunchKernel = launch_nothing;
  table.hipEventRecord = record_nothing;
  table.hipEventQuery = query_nothing;
  table.hipStreamWaitEvent = wait_nothing;
  table.hipSetDevice = set_nothing;
  table.hipxLaunchTag = tag_nothing;
  table.hipxTakeFault = no_fault;
  return &table;
}

/* ---- the launches -------------------------------------------------------------------------------------------- */

static const char source[] =
    "extern \"C\" __global__ void four(float a, const float *x, float *y, int n) { y[0] = a * x[0] + n; }\n"
    "extern \"C\" __global__ void six(const float *x, const float *y, LUHIP_OUT float *z, float *w, float a, int n) {\n"
    "  z[0] = x[0] + y[0]; w[0] += a * n;\n"
    "}\n";

static void or_die(luhip_status status, luhip_error *error) {
  if (!status) return;
  fprintf(stderr, "launch: %s\n", error ? luhip_error_message(error) : "failed");
  exit(1);
}

struct bench {
  luhip_device *device;
  luhip_launcher *launcher;
  luhip_arg args[6];
  size_t nargs;
};

static luhip_buffer *new_buffer(luhip_device *device) {
  luhip_error *error = NULL;
  luhip_buffer *buffer = NULL;
  size_t shape = 256;
  float value = 1;
  or_die(luhip_buffer_new(device, LUHIP_F32, 1, &shape, &buffer, &error), error);
  or_die(luhip_fill(buffer, NULL, &value, &error), error);
  return buffer;
}

static luhip_arg buffer_argument(luhip_device *device) {
  return (luhip_arg){.tag = LUHIP_ARG_BUFFER, .buffer = new_buffer(device)};
}

static void set_up(struct bench *bench, luhip_device *device, luhip_program *program, const char *name) {
  luhip_error *error = NULL;
  luhip_kernel *kernel = NULL;
  or_die(luhip_program_kernel(program, name, &kernel, &error), error);
  luhip_launch_config config = {.grid = {1, 1, 1}, .block = {256, 1, 1}};
  *bench = (struct bench){.device = device};
  or_die(luhip_bind(kernel, &config, &bench->launcher, &error), error);
  luhip_arg factor = {.tag = LUHIP_ARG_FLOAT, .f = 2}, count = {.tag = LUHIP_ARG_INT, .i = 256};
  if (strcmp(name, "four") == 0) {
    luhip_arg args[4] = {factor, buffer_argument(device), buffer_argument(device), count};
    memcpy(bench->args, args, sizeof args);
    bench->nargs = 4;
  } else {
    for (int i = 0; i < 4; i++) bench->args[i] = buffer_argument(device);
    bench->args[4] = factor;
    bench->args[5] = count;
    bench->nargs = 6;
  }
}

/* Its name is what callgrind is told to count. */
__attribute__((noinline)) void measured(struct bench *bench, long n);
void measured(struct bench *bench, long n) {
  luhip_error *error = NULL;
  for (long i = 0; i < n; i++) {
    luhip_status status = luhip_launcher_run(bench->launcher, NULL, false, bench->args, bench->nargs, &error);
    if (status) or_die(status, error);
  }
}

static __attribute__((noinline)) void driver_alone(long n) {
  void *params[6] = {0};
  for (long i = 0; i < n; i++) {
    table.hipSetDevice(0);
    table.hipxLaunchTag((uint64_t)i);
    table.hipModuleLaunchKernel(NULL, 1, 1, 1, 256, 1, 1, 0, NULL, params, NULL);
  }
}

/* ---- time ---------------------------------------------------------------------------------------------------- */

/* Of the processor: nothing here waits, and other programs do not count. */
static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* A quarter of the rounds were faster: other programs empty the caches, and slow down most rounds on a busy machine. */
static double quartile(double *rounds) {
  qsort(rounds, ROUNDS, sizeof *rounds, compare);
  return rounds[ROUNDS / 4];
}

static double time_launches(struct bench *bench) {
  double rounds[ROUNDS];
  measured(bench, LAUNCHES);
  for (int i = 0; i < ROUNDS; i++) {
    double start = now_ns();
    measured(bench, LAUNCHES);
    rounds[i] = (now_ns() - start) / LAUNCHES;
  }
  return quartile(rounds);
}

static double time_driver(void) {
  double rounds[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    double start = now_ns();
    driver_alone(LAUNCHES);
    rounds[i] = (now_ns() - start) / LAUNCHES;
  }
  return quartile(rounds);
}

int main(int argc, char **argv) {
  luhip_error *error = NULL;
  luhip_device *device = NULL;
  luhip_program *program = NULL;
  struct bench four, six;
  hip_wrapper = wrap;
  or_die(luhip_open("cpu:0", NULL, &device, &error), error);
  or_die(luhip_compile(device, source, NULL, &program, &error), error);
  set_up(&four, device, program, "four");
  set_up(&six, device, program, "six");
  if (argc == 3) {
    struct bench *bench = strcmp(argv[2], "six") == 0 ? &six : &four;
    measured(bench, atol(argv[1]));
    return 0;
  }
  double driver = time_driver(), of_four = time_launches(&four) - driver, of_six = time_launches(&six) - driver;
  printf("what the server adds to the driver's own call (%.1f ns for one that does nothing)\n", driver);
  printf("  %-50s %11.2f ns   <= 120 ns\n", "bound launch, 4 arguments, 2 of them buffers", of_four);
  printf("  %-50s %11.2f ns   <= 250 ns\n", "bound launch, 6 arguments, 4 of them buffers", of_six);
  return 0;
}
