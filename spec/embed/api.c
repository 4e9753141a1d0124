/*
 * api.c - the public C interface as a host without Lua uses it. Run by api_spec.lua with a device id and the name of
 * one case; exits with 0, or says what was wrong.
 */
#include <luhip.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static luhip_device *device;
static const char *device_id;

static void fail(int line, const char *what, luhip_error *error) {
  printf("api.c:%d: %s: %s\n", line, what, error ? luhip_error_full(error) : "no error");
  exit(1);
}

/* What must be true; what must work; what must fail, with this kind. `error` is declared by each case. */
#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__, #condition, NULL))
#define WORKS(call) ((call) == LUHIP_OK ? (void)0 : fail(__LINE__, #call, error))
#define FAILS(status, call)                                                                                            \
  do {                                                                                                                 \
    error = NULL;                                                                                                      \
    if ((call) != (status)) fail(__LINE__, #call " was to be " #status, error);                                        \
    CHECK(error &&luhip_error_kind(error) == (status) && *luhip_error_message(error));                                 \
    luhip_error_release(error);                                                                                        \
    error = NULL;                                                                                                      \
  } while (0)

enum { COUNT = 1000 };
#define WRONG "extern \"C\" __global__ void k(int *p) {\n  *p = nowhere;\n}\n"
static const char source[] = "extern \"C\" __global__ void axpy(float a, const float *x, float *y, int n) {\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  if (i < n) y[i] += a * x[i];\n"
                             "}\n"
                             "struct pair { int a; float b; };\n"
                             "extern \"C\" __global__ void spread(struct pair p, float4 v, float *out) {\n"
                             "  out[0] = p.a; out[1] = p.b; out[2] = v.x; out[3] = v.w;\n"
                             "}\n";

static luhip_buffer *ramp(float from, float step) {
  luhip_error *error = NULL;
  luhip_buffer *buffer = NULL;
  const size_t count = COUNT;
  float values[COUNT];
  for (int i = 0; i < COUNT; i++) values[i] = from + step * (float)i;
  WORKS(luhip_buffer_new(device, LUHIP_F32, 1, &count, &buffer, &error));
  luhip_source part = {.buffer = buffer, .data = values, .bytes = sizeof values};
  WORKS(luhip_write(device, NULL, &part, 1, &error));
  memset(values, 0, sizeof values); /* the source is ours again */
  return buffer;
}

static void expect(luhip_buffer *buffer, float from, float step) {
  luhip_error *error = NULL;
  luhip_future *future = NULL;
  bool ready = false;
  WORKS(luhip_read(device, NULL, &buffer, 1, &future, &error));
  CHECK(luhip_future_count(future) == 1);
  WORKS(luhip_future_wait(future, NULL, &error));
  WORKS(luhip_future_ready(future, &ready, &error));
  CHECK(ready);
  luhip_array *array = luhip_array_retain(luhip_future_array(future, 0));
  luhip_future_release(future);
  CHECK(luhip_array_layout(array)->count == COUNT);
  const float *values = luhip_array_data(array);
  for (int i = 0; i < COUNT; i++)
    if (values[i] != from + step * (float)i) {
      printf("element %d is %g, not %g\n", i, (double)values[i], (double)(from + step * (float)i));
      exit(1);
    }
  luhip_array_release(array);
}

static luhip_kernel *kernel_of(const char *text, const char *name) {
  luhip_error *error = NULL;
  luhip_program *program = NULL;
  luhip_kernel *kernel = NULL;
  luhip_compile_options options = {.name = "api.hip"};
  WORKS(luhip_compile(device, text, &options, &program, &error));
  WORKS(luhip_program_kernel(program, name, &kernel, &error));
  luhip_program_release(program);
  return kernel;
}

static const luhip_launch_config config = {.grid = {4, 1, 1}, .block = {256, 1, 1}};

static void axpy_args(luhip_arg args[4], double a, luhip_buffer *x, luhip_buffer *y) {
  args[0] = (luhip_arg){.tag = LUHIP_ARG_FLOAT, .f = a};
  args[1] = (luhip_arg){.tag = LUHIP_ARG_BUFFER, .buffer = x};
  args[2] = (luhip_arg){.tag = LUHIP_ARG_BUFFER, .buffer = y};
  args[3] = (luhip_arg){.tag = LUHIP_ARG_INT, .i = COUNT};
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static void case_launch(void) {
  luhip_error *error = NULL;
  luhip_buffer *x = ramp(0, 1), *y = ramp(1, 0);
  luhip_kernel *axpy = kernel_of(source, "axpy");
  luhip_arg args[4];
  axpy_args(args, 2, x, y);
  WORKS(luhip_launch(axpy, &config, args, 4, &error));
  expect(y, 1, 2);
  luhip_launcher *launcher = NULL;
  WORKS(luhip_bind(axpy, &config, &launcher, &error));
  WORKS(luhip_launcher_run(launcher, NULL, false, args, 4, &error));
  expect(y, 1, 4);
  const luhip_param *params;
  CHECK(luhip_kernel_params(axpy, &params) == 4);
  CHECK(!strcmp(params[1].name, "x") && !strcmp(params[1].kind, "in") && !strcmp(params[2].kind, "inout"));
  CHECK(!strcmp(luhip_kernel_name(luhip_launcher_kernel(launcher)), "axpy"));
  FAILS(LUHIP_E_ARGUMENT, luhip_launch(axpy, &config, args, 3, &error));
  args[0] = (luhip_arg){.tag = LUHIP_ARG_BUFFER, .buffer = x};
  FAILS(LUHIP_E_TYPE, luhip_launch(axpy, &config, args, 4, &error));
  luhip_launch_config wrong = config;
  wrong.block[0] = 1 << 20;
  axpy_args(args, 2, x, y);
  FAILS(LUHIP_E_LIMITS, luhip_launch(axpy, &wrong, args, 4, &error));
  expect(y, 1, 4);
  luhip_launcher_release(launcher);
  luhip_kernel_release(axpy);
  luhip_buffer_release(x);
  luhip_buffer_release(y);
}

static void case_structs(void) {
  luhip_error *error = NULL;
  luhip_buffer *out = ramp(0, 0);
  luhip_kernel *spread = kernel_of(source, "spread");
  struct pair {
    int a;
    float b;
  } pair = {7, 2.5f};
  const luhip_arg elements[4] = {{.tag = LUHIP_ARG_FLOAT, .f = 1.5},
                                 {.tag = LUHIP_ARG_INT, .i = 0},
                                 {.tag = LUHIP_ARG_INT, .i = 0},
                                 {.tag = LUHIP_ARG_INT, .i = -3}};
  const luhip_arg args[3] = {{.tag = LUHIP_ARG_BYTES, .bytes = &pair, .size = sizeof pair},
                             {.tag = LUHIP_ARG_LIST, .list = elements, .size = 4},
                             {.tag = LUHIP_ARG_BUFFER, .buffer = out}};
  const luhip_launch_config one = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
  WORKS(luhip_launch(spread, &one, args, 3, &error));
  luhip_future *future = NULL;
  WORKS(luhip_read(device, NULL, &out, 1, &future, &error));
  WORKS(luhip_future_wait(future, NULL, &error));
  const float *values = luhip_array_data(luhip_future_array(future, 0));
  CHECK(values[0] == 7 && values[1] == 2.5f && values[2] == 1.5f && values[3] == -3);
  luhip_future_release(future);
  luhip_kernel_release(spread);
  luhip_buffer_release(out);
}

static void case_errors(void) {
  luhip_error *error = NULL;
  luhip_program *program = NULL;
  luhip_device *none = NULL;
  luhip_buffer *buffer = ramp(0, 1);
  FAILS(LUHIP_E_NO_DEVICE, luhip_open("nothing:0", NULL, &none, &error));
  CHECK(!none);
  CHECK(luhip_compile(device, WRONG, NULL, &program, &error) == LUHIP_E_COMPILE && !program);
  const luhip_diagnostic *list;
  CHECK(luhip_error_diagnostics(error, &list) >= 1 && list[0].line == 2 && *list[0].text && *luhip_error_log(error));
  luhip_error_release(error);
  CHECK(luhip_compile(device, WRONG, NULL, &program, NULL) == LUHIP_E_COMPILE); /* nobody wants to know */
  const size_t huge[2] = {SIZE_MAX / 2, 8};
  luhip_buffer *impossible = NULL;
  FAILS(LUHIP_E_TOO_BIG, luhip_buffer_new(device, LUHIP_F32, 2, huge, &impossible, &error));
  luhip_source part = {.buffer = buffer, .data = "abc", .bytes = 3};
  CHECK(luhip_write(device, NULL, &part, 1, &error) != LUHIP_OK);
  luhip_error_release(error);
  expect(buffer, 0, 1);
  luhip_buffer_free(buffer);
  luhip_buffer_free(buffer);
  CHECK(luhip_buffer_is_freed(buffer));
  const float one = 1;
  FAILS(LUHIP_E_FREED, luhip_fill(buffer, NULL, &one, &error));
  luhip_buffer_release(buffer);
}

static void case_claims(void) {
  luhip_error *error = NULL;
  luhip_buffer *x = ramp(0, 1), *y = ramp(1, 0);
  luhip_kernel *axpy = kernel_of(source, "axpy");
  const size_t three = 3;
  luhip_buffer *grid = NULL;
  const uint32_t sizes[3] = {4, 1u << 30, 1}; /* beyond every device's limits */
  WORKS(luhip_buffer_new(device, LUHIP_U32, 1, &three, &grid, &error));
  luhip_source part = {.buffer = grid, .data = sizes, .bytes = sizeof sizes};
  WORKS(luhip_write(device, NULL, &part, 1, &error));
  luhip_arg args[4];
  axpy_args(args, 2, x, y);
  luhip_launch_config wrong = config;
  wrong.grid_buffer = grid;
  WORKS(luhip_launch(axpy, &wrong, args, 4, &error)); /* the work's failure, not the call's */
  CHECK(luhip_device_check(device, &y, 1, &error) == LUHIP_E_LIMITS);
  CHECK(luhip_error_failures(error) == 1 && luhip_error_carriers(luhip_error_failure(error, 0)) == 1);
  luhip_error_release(error);
  axpy_args(args, 2, y, x); /* reads what is stale: skipped */
  WORKS(luhip_launch(axpy, &config, args, 4, &error));
  CHECK(luhip_device_check(device, &x, 1, &error) != LUHIP_OK);
  luhip_error_release(error);
  const float one = 1;
  WORKS(luhip_fill(x, NULL, &one, &error));
  WORKS(luhip_device_sync(device, &x, 1, NULL, &error));
  expect(x, 1, 0);
  luhip_buffer_release(grid);
  luhip_kernel_release(axpy);
  luhip_buffer_release(x);
  luhip_buffer_release(y);
}

static void case_graph(void) {
  luhip_error *error = NULL;
  luhip_buffer *x = ramp(0, 1), *y = ramp(0, 0);
  luhip_kernel *axpy = kernel_of(source, "axpy");
  luhip_stream *stream = NULL;
  luhip_graph *graph = NULL;
  luhip_capture_state state;
  luhip_arg args[4];
  axpy_args(args, 1, x, y);
  luhip_launch_config on = config;
  WORKS(luhip_stream_new(device, &stream, &error));
  on.stream = stream;
  FAILS(LUHIP_E_CAPTURE, luhip_stream_begin_capture(device, stream, &error));
  WORKS(luhip_stream_prepare_capture(device, stream, &error));
  WORKS(luhip_launch(axpy, &on, args, 4, &error)); /* the warm-up runs */
  WORKS(luhip_stream_begin_capture(device, stream, &error));
  WORKS(luhip_stream_capture_state(device, stream, &state, &error));
  CHECK(state == LUHIP_CAPTURE_RECORDING && luhip_device_is_recording(device));
  WORKS(luhip_launch(axpy, &on, args, 4, &error));
  WORKS(luhip_launch(axpy, &on, args, 4, &error));
  WORKS(luhip_stream_end_capture(device, stream, &graph, &error));
  expect(y, 0, 1);
  WORKS(luhip_graph_replay(graph, NULL, &error));
  expect(y, 0, 3);
  axpy_args(args, 10, x, y);
  WORKS(luhip_graph_update(graph, 1, args, 4, &error));
  WORKS(luhip_graph_replay(graph, stream, &error));
  expect(y, 0, 14);
  size_t nodes;
  luhip_node node;
  luhip_node_arg arg;
  char *dot = NULL;
  const char *kind;
  WORKS(luhip_graph_nodes(graph, &nodes, &error));
  CHECK(nodes == 2);
  WORKS(luhip_graph_node(graph, 1, &node, &error));
  CHECK(node.kind == LUHIP_NODE_KERNEL && node.launch == 1 && node.nargs == 4 && node.block[0] == 256);
  luhip_kernel_release(node.kernel);
  WORKS(luhip_graph_node_arg(graph, 1, 1, &arg, &error));
  CHECK(arg.is_buffer && arg.layout.count == COUNT);
  WORKS(luhip_graph_dot(graph, &dot, &error));
  CHECK(strstr(dot, "axpy"));
  free(dot);
  WORKS(luhip_graph_kind(graph, &kind, &error));
  CHECK(!strcmp(kind, "list") || !strcmp(kind, "driver"));
  luhip_buffer_free(x); /* the graph goes on with it */
  WORKS(luhip_graph_replay(graph, NULL, &error));
  expect(y, 0, 25);
  WORKS(luhip_graph_free(graph, NULL, &error));
  FAILS(LUHIP_E_FREED, luhip_graph_replay(graph, NULL, &error));
  luhip_graph_release(graph);
  luhip_stream_release(stream);
  luhip_kernel_release(axpy);
  luhip_buffer_release(x);
  luhip_buffer_release(y);
}

static void case_profile(void) {
  luhip_error *error = NULL;
  luhip_buffer *x = ramp(0, 1), *y = ramp(0, 0);
  luhip_kernel *axpy = kernel_of(source, "axpy");
  luhip_arg args[4];
  luhip_profile *window = NULL;
  luhip_trace *trace = NULL;
  double ms = -1, start, end;
  axpy_args(args, 1, x, y);
  WORKS(luhip_trace_start(device, &trace, &error));
  WORKS(luhip_profile_start(device, NULL, &window, &error));
  FAILS(LUHIP_E_NOT_READY, luhip_profile_wait(window, NULL, &ms, &error));
  WORKS(luhip_launch(axpy, &config, args, 4, &error));
  WORKS(luhip_profile_stop(window, &error));
  FAILS(LUHIP_E_FREED, luhip_profile_stop(window, &error));
  WORKS(luhip_profile_wait(window, NULL, &ms, &error));
  WORKS(luhip_profile_span(window, &start, &end, &error));
  CHECK(ms > 0 && end >= start);
  WORKS(luhip_trace_stop(trace, &error));
  WORKS(luhip_trace_wait(trace, NULL, &error));
  const luhip_trace_record *records;
  CHECK(luhip_trace_records(trace, &records) == 1 && !strcmp(records[0].name, "axpy") && records[0].grid[0] == 4);
  luhip_trace_release(trace);
  luhip_profile_release(window);
  luhip_event *first = NULL, *second = NULL;
  WORKS(luhip_stream_record(device, NULL, &first, &error));
  WORKS(luhip_launch(axpy, &config, args, 4, &error));
  WORKS(luhip_stream_record(device, NULL, &second, &error));
  WORKS(luhip_event_wait(second, NULL, &error));
  WORKS(luhip_event_elapsed(first, second, &ms, &error));
  CHECK(ms >= 0);
  luhip_event_release(first);
  luhip_event_release(second);
  luhip_kernel_release(axpy);
  luhip_buffer_release(x);
  luhip_buffer_release(y);
}

/* The device closes first; what was made from it answers, and host arrays go on. */
static void case_any_order(void) {
  luhip_error *error = NULL;
  luhip_buffer *x = ramp(0, 1);
  luhip_kernel *axpy = kernel_of(source, "axpy");
  luhip_future *future = NULL;
  WORKS(luhip_read(device, NULL, &x, 1, &future, &error));
  WORKS(luhip_future_wait(future, NULL, &error));
  luhip_array *array = luhip_array_retain(luhip_future_array(future, 0));
  luhip_device_close(device);
  const float one = 1;
  FAILS(LUHIP_E_FREED, luhip_fill(x, NULL, &one, &error));
  luhip_arg args[4];
  axpy_args(args, 1, x, x);
  FAILS(LUHIP_E_FREED, luhip_launch(axpy, &config, args, 4, &error));
  luhip_future_release(future);
  CHECK(((float *)luhip_array_data(array))[999] == 999);
  luhip_kernel_release(axpy);
  luhip_buffer_release(x);
  luhip_array_release(array);
  WORKS(luhip_open(device_id, NULL, &device, &error));
}

/* L1: a host without Lua sets and asks; a wrong key or value changes nothing. */
static void case_config(void) {
  luhip_error *error = NULL;
  luhip_setting list[64];
  char *value = NULL, *origin = NULL;
  size_t n = luhip_settings(list, 64);
  CHECK(n > 10 && n <= 64 && luhip_settings(NULL, 0) == n);
  for (size_t i = 0; i < n; i++) {
    CHECK(*list[i].key && !strncmp(list[i].variable, "LUHIP_", 6) && *list[i].type && *list[i].meaning);
    WORKS(luhip_config_get(list[i].key, NULL, NULL, &error));
  }
  WORKS(luhip_config_set("streaming.max_streams", "1", &error));
  WORKS(luhip_config_get("streaming.max_streams", &value, &origin, &error));
  CHECK(!strcmp(value, "1") && !strcmp(origin, "streaming.max_streams"));
  free(value);
  free(origin);
  luhip_stream *first = NULL, *second = NULL;
  WORKS(luhip_stream_new(device, &first, &error));
  FAILS(LUHIP_E_TOO_MANY_STREAMS, luhip_stream_new(device, &second, &error));
  FAILS(LUHIP_E_CONFIG, luhip_config_set("streaming.max_streams", "many", &error));
  FAILS(LUHIP_E_CONFIG, luhip_config_set("streaming.max_stream", "3", &error));
  FAILS(LUHIP_E_CONFIG, luhip_config_get("nothing", &value, NULL, &error));
  WORKS(luhip_config_set("streaming.max_streams", NULL, &error));
  WORKS(luhip_stream_new(device, &second, &error));
  luhip_stream_release(first);
  luhip_stream_release(second);
}

static void *thread_adds(void *argument) {
  luhip_buffer *y = argument, *x = ramp(1, 0);
  luhip_error *error = NULL;
  luhip_kernel *axpy = kernel_of(source, "axpy");
  luhip_stream *stream = NULL;
  luhip_launch_config on = config;
  luhip_arg args[4];
  WORKS(luhip_stream_new(device, &stream, &error));
  on.stream = stream;
  axpy_args(args, 1, x, y);
  for (int i = 0; i < 50; i++) WORKS(luhip_launch(axpy, &on, args, 4, &error));
  luhip_buffer_release(x);
  luhip_stream_release(stream);
  luhip_kernel_release(axpy);
  return NULL;
}

/* Order is the server's to keep: 4 threads on 4 streams add to one buffer, and nothing is lost. */
static void case_threads(void) {
  luhip_buffer *y = ramp(0, 0);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, thread_adds, y) == 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  expect(y, 200, 0);
  luhip_buffer_release(y);
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {{"config", case_config},   {"launch", case_launch},   {"structs", case_structs},
             {"errors", case_errors},   {"claims", case_claims},   {"graph", case_graph},
             {"profile", case_profile}, {"order", case_any_order}, {"threads", case_threads}};

int main(int argc, char **argv) {
  luhip_error *error = NULL;
  if (argc < 3) return 2;
  device_id = argv[1];
  WORKS(luhip_open(device_id, NULL, &device, &error));
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    if (!strcmp(cases[i].name, argv[2])) {
      luhip_memory_info info;
      cases[i].run();
      WORKS(luhip_device_sync(device, NULL, 0, NULL, &error));
      luhip_device_flush(device);
      WORKS(luhip_device_memory(device, &info, &error));
      CHECK(info.buffers == 0 && info.in_use == 0);
      luhip_device_close(device);
      puts("ok");
      return 0;
    }
  printf("no case %s\n", argv[2]);
  return 2;
}
