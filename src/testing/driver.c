/*
 * driver.c - the tables that are put around the providers', one for each.
 */
#include "testing/driver.h"

#include "testing/testing.h"

#include <pthread.h>
#include <string.h>

const char *const entry_names[ENTRIES] = {
#define X(name, parameters, arguments) #name,
    HIP_API(X, X)
#undef X
};

_Thread_local struct tap *tap;
_Thread_local bool in_callback;

enum { TAPS = 3 };

static struct tap taps[TAPS];

static void enter(struct tap *entered, enum entry entry) {
  tap = entered;
  if (in_callback) validate_violation(entry, "called from a callback");
}

/* clang-format off */
#define FRONT(index, name, parameters, arguments)                                                                      \
  static hip_error_t front##index##_##name parameters {                                                               \
    enter(&taps[index], ENTRY_##name);                                                                                 \
    return validate_table.name arguments;                                                                              \
  }
#define FRONT0(name, parameters, arguments) FRONT(0, name, parameters, arguments)
#define FRONT1(name, parameters, arguments) FRONT(1, name, parameters, arguments)
#define FRONT2(name, parameters, arguments) FRONT(2, name, parameters, arguments)
HIP_API(FRONT0, FRONT0)
HIP_API(FRONT1, FRONT1)
HIP_API(FRONT2, FRONT2)

static const struct hip_api fronts[TAPS] = {
#define X(name, parameters, arguments) .name = front0_##name,
  { HIP_API(X, X) },
#undef X
#define X(name, parameters, arguments) .name = front1_##name,
  { HIP_API(X, X) },
#undef X
#define X(name, parameters, arguments) .name = front2_##name,
  { HIP_API(X, X) },
#undef X
};
/* clang-format on */

/* What the provider lacks its front lacks. */
static void fill(struct tap *filled, const struct hip_api *front) {
  filled->front = *front;
#define X(name, parameters, arguments)                                                                                 \
  if (!filled->inner->name) filled->front.name = NULL;
  HIP_API(X, X)
#undef X
}

static const struct hip_api *wrap(const struct hip_provider *provider, const struct hip_api *api) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  const struct hip_api *front = api;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < TAPS && front == api; i++) {
    struct tap *found = &taps[i];
    if (found->provider && found->provider != provider) continue;
    if (!found->provider) {
      *found = (struct tap){.provider = provider, .inner = api};
      fill(found, &fronts[i]);
    }
    front = &found->front;
  }
  pthread_mutex_unlock(&lock);
  return front;
}

/* ---- forks --------------------------------------------------------------------------------------------------- */

static void before_fork(void) {
  validate_lock();
  faults_lock();
}

static void after_fork_in_parent(void) {
  faults_unlock();
  validate_unlock();
}

static void after_fork_in_child(void) {
  validate_forget();
  after_fork_in_parent();
}

static void install(void) {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  hip_wrapper = wrap;
}

void testing_open_driver(lua_State *L) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
  validate_functions(L);
  faults_functions(L);
}
