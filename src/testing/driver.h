/*
 * driver.h - what specs put between the server and every provider.
 *
 * In a build with internals each provider's table is inside three others, all made from the list in hip/api.h:
 *
 *   front      one for each provider: notes which one the thread is in (driver.c)
 *   validate   holds each call against HIP's documented contract (validate.c)
 *   faults     counts calls; fails, or drops, those that a spec asks for (faults.c)
 *
 * The two inner ones are one table each, and reach the provider by `tap`. So what validate sees is what the server is
 * answered, injected failures included.
 */
#ifndef LUHIP_TESTING_DRIVER_H
#define LUHIP_TESTING_DRIVER_H

#include "hip/api.h"

#include <lua.h>
#include <stdbool.h>

enum entry {
#define X(name, parameters, arguments) ENTRY_##name,
  HIP_API(X, X)
#undef X
      ENTRIES
};

extern const char *const entry_names[ENTRIES];

/* One provider's place in the chain. */
struct tap {
  const struct hip_provider *provider;
  const struct hip_api *inner;
  struct hip_api front;
};

/* Of the call under way on this thread. */
extern _Thread_local struct tap *tap;
extern _Thread_local bool in_callback; /* on a driver's thread, which may not call the table */

extern const struct hip_api validate_table;
extern const struct hip_api faults_table;

/* The entry that is called from a callback, or otherwise wrong. */
void validate_violation(enum entry entry, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Violations are kept, not told, while on. */
void validate_quiet(bool on);
/* In a child process: nothing of its parent's is there. */
void validate_forget(void);
void validate_lock(void);
void validate_unlock(void);
void faults_lock(void);
void faults_unlock(void);

/* Functions for specs, added to the table on top. */
void validate_functions(lua_State *L);
void faults_functions(lua_State *L);

#endif
