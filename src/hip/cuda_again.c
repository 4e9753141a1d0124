/*
 * cuda_again.c - launches that come again and again, as graphs of one kernel each.
 *
 * The driver takes about half the time to launch an instantiated graph of one kernel that it takes for cuLaunchKernel,
 * also when the kernel's arguments are set anew before (driver 580 on an H200: 1.9 us, 2.2 us with other arguments,
 * against 3.9 us; launch and wait 7.3 us against 10.1 us). So a kernel that is launched often gets such a graph. The
 * driver binds arguments at the launch: those of launches under way stay what they were.
 *
 * A graph runs after its own launches before, on whatever stream those were, so each serves one stream; launches on
 * others are cuLaunchKernel's. When those are all that come, the graph is made anew for their stream. One takes the
 * driver 25 us to make, and 115 KiB of the device's memory: no more than MOST are alive at a time, whoever comes later
 * goes without. While a kernel runs the driver may wait for its end before it has that memory, so graphs are made and
 * given up only while the device has nothing to do.
 *
 * A note knows its record by place and owner, a number that is never given twice: a record that was taken away, since
 * its module was unloaded or its context is lost, is no longer the note's. Records are made and taken away under the
 * lock; a launch looks without it at its own, which nobody takes away meanwhile who keeps to the table's contract.
 */
#include "hip/cuda.h"

#include <pthread.h>
#include <string.h>

/* Launches: in a row on other streams until a graph goes; until it is tried again to make one that could not be. */
enum { MOST = 64, STRAYS = 64, PATIENCE = 4096 };

static struct record {
  int device;
  unsigned strays; /* launches in a row on other streams */
  cu_handle module, stream, graph, node, exec;
  struct cu_kernel_node launch;
} records[MOST];
static uint64_t owners[MOST]; /* atomic; 0: free */
static uint64_t last_owner;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static inline struct record *record_of(const struct hip_again *again) {
  bool own = again->owner && __atomic_load_n(&owners[again->place], __ATOMIC_ACQUIRE) == again->owner;
  return own ? &records[again->place] : NULL;
}

/* With the lock, as all that give or take owners. */
static void set_owner(uint32_t place, uint64_t owner) {
  __atomic_store_n(&owners[place], owner, __ATOMIC_RELEASE);
}

static void take_away(uint32_t place) {
  cuda_driver.graph_exec_destroy(records[place].exec);
  cuda_driver.graph_destroy(records[place].graph);
  set_owner(place, 0);
}

static hip_error_t forget(struct hip_again *again) {
  pthread_mutex_lock(&lock);
  if (record_of(again)) take_away(again->place);
  pthread_mutex_unlock(&lock);
  *again = (struct hip_again){0};
  return hip_Success;
}

void cuda_again_unload(cu_handle module) {
  pthread_mutex_lock(&lock);
  for (uint32_t i = 0; i < MOST; i++)
    if (owners[i] && records[i].module == module) take_away(i);
  pthread_mutex_unlock(&lock);
}

void cuda_again_lost(int device) {
  pthread_mutex_lock(&lock);
  for (uint32_t i = 0; i < MOST; i++)
    if (records[i].device == device) set_owner(i, 0);
  pthread_mutex_unlock(&lock);
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

static bool instantiate(struct record *record) {
  if (cuda_driver.graph_create(&record->graph, 0) != 0) return false;
  cu_result rc = cuda_driver.graph_add_kernel(&record->node, record->graph, NULL, 0, &record->launch);
  if (rc == 0) rc = cuda_driver.graph_instantiate(&record->exec, record->graph, 0);
  if (rc != 0) cuda_driver.graph_destroy(record->graph);
  return rc == 0;
}

/* The first free place; MOST: there is none. */
static uint32_t vacant(void) {
  uint32_t place = 0;
  while (place < MOST && owners[place]) place++;
  return place;
}

/* What the driver refuses is no graph, and cuLaunchKernel says why. */
static struct record *make(struct hip_again *again, cu_handle stream, const struct cu_kernel_node *launch) {
  struct record made = {.stream = stream, .launch = *launch};
  struct record *record = NULL;
  if (again->patience) {
    again->patience--;
    return NULL;
  }
  if (cuda_driver.func_module(&made.module, launch->function) != 0) return NULL;
  if (cuda_get_device(&made.device) != hip_Success) return NULL;
  pthread_mutex_lock(&lock);
  uint32_t place = vacant();
  if (place < MOST && instantiate(&made)) {
    record = &records[place];
    *record = made;
    *again = (struct hip_again){.owner = ++last_owner, .place = place};
    set_owner(place, last_owner);
  }
  pthread_mutex_unlock(&lock);
  if (!record) again->patience = PATIENCE;
  return record;
}

/* ---- launching ------------------------------------------------------------------------------------------------- */

static bool same_geometry(const struct cu_kernel_node *a, const struct cu_kernel_node *b) {
  return a->shared == b->shared && !memcmp(a->grid, b->grid, sizeof a->grid) &&
         !memcmp(a->block, b->block, sizeof a->block);
}

/* What the graph's kernel is, is not known: the next launch sets it. */
static void unknown(struct record *record) {
  record->launch.grid[0] = 0;
}

/* The graph's kernel becomes this launch; false: the driver refuses it. */
static bool become(struct record *record, int same, const struct cu_kernel_node *launch) {
  if (same && same_geometry(&record->launch, launch)) return true;
  record->launch = *launch;
  if (cuda_driver.exec_set_kernel(record->exec, record->node, launch) == 0) return true;
  unknown(record);
  return false;
}

/* The record that serves the launch, made if there is none yet; NULL: none does. */
static struct record *serve(struct hip_again *again, int same, int idle, hip_stream_t stream,
                            const struct cu_kernel_node *launch) {
  struct record *record = record_of(again);
  if (record && record->stream == stream) return become(record, same, launch) ? record : NULL;
  if (record && (++record->strays < STRAYS || !idle)) {
    unknown(record);
    return NULL;
  }
  if (!idle) return NULL;
  if (record) forget(again);
  return make(again, stream, launch);
}

static hip_error_t launch_again(struct hip_again *again, int same, int idle, hip_function_t function, unsigned int gx,
                                unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz,
                                unsigned int shared, hip_stream_t stream, void **params) {
  struct cu_kernel_node launch = {function, {gx, gy, gz}, {bx, by, bz}, shared, params, NULL};
  struct record *record = serve(again, same, idle, stream, &launch);
  if (!record) return cuda_launch(function, gx, gy, gz, bx, by, bz, shared, stream, params, NULL);
  record->strays = 0;
  return cuda_note(cuda_driver.graph_launch(record->exec, stream));
}

void cuda_again_table(struct hip_api *table) {
  if (!cuda_driver.func_module || !cuda_driver.graph_create || !cuda_driver.graph_add_kernel ||
      !cuda_driver.exec_set_kernel)
    return;
  table->hipxLaunchAgain = launch_again;
  table->hipxLaunchForget = forget;
}
