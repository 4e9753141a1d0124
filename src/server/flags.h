/*
 * flags.h - words of pinned memory, one for each slot, that streams write when they come to a place.
 *
 * Whoever waits for something short looks at memory, where asking the driver takes it 0.3 to 2.4 us a time (an H200's).
 * Only some providers can have it written (hipxStreamWrite32); whoever waits must be ready to ask the driver after all.
 */
#ifndef LUHIP_SERVER_FLAGS_H
#define LUHIP_SERVER_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

struct luhip_device;

/* Each in a cache line of its own: the slot's stream counts what was raised. */
struct flag {
  uint32_t count;
  uint32_t unused[15];
};

struct flags {
  struct flag *list; /* by slot, pinned; NULL: none yet */
  uint32_t *raised;  /* by slot: the last count that its stream was told to write */
  bool refused;      /* for good */
};

/* A place in a slot's stream. */
struct raised {
  const uint32_t *count;
  uint32_t wanted;
};

/* With the device's lock: the place behind everything that the slot's stream was given. False: there is no telling. */
bool flag_raise(struct luhip_device *device, uint32_t slot, struct raised *raised);
/* Whether the stream has come there. No lock needed; until the device is closed. */
static inline bool flag_reached(const struct raised *raised) {
  return (int32_t)(__atomic_load_n(raised->count, __ATOMIC_ACQUIRE) - raised->wanted) >= 0;
}
void flags_close(struct luhip_device *device, bool destroy);

#endif
