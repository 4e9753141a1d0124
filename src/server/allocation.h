/*
 * allocation.h - what the views of one buffer share.
 *
 * An allocation is bytes that may not have memory yet (A4), the claims on them, and the marks of who used them
 * last. Buffers count in `refs`. When the last goes, the memory goes back to the cache at once, with its marks;
 * the record itself stays while operations in flight name it, since a fault among them is traced through it.
 */
#ifndef LUHIP_SERVER_ALLOCATION_H
#define LUHIP_SERVER_ALLOCATION_H

#include "memory/buffer.h"
#include "server/claims.h"
#include "server/server.h"

struct allocation {
  uint64_t id;
  unsigned refs;    /* buffers; 0: dead */
  unsigned flights; /* uses in flight */
  size_t bytes;     /* asked for */
  uint32_t slot;    /* for a first use on which slot its memory was taken */
  void *address;    /* NULL while there is no memory, and for 0 bytes */
  struct slice *slice;
  struct marks marks;
  struct claims claims;
  struct luhip_device *device;   /* not retained: the buffers do */
  struct luhip_program *program; /* of a module global: the memory is the module's, every buffer retains the program */
  struct metadata_entry *metadata; /* the entry that it is, else NULL */
  struct planned *planned;         /* its place in a plan, NULL: none */
  bool internal;                   /* the server's own, not one of the buffers of memory() */
  luhip_layout made;               /* how it was made, for messages */
  struct allocation *next, *previous;
};

/* With one ref; NULL when the host has no memory. */
struct allocation *allocation_new(luhip_device *device, size_t bytes, const luhip_layout *made);
struct allocation *allocation_of_global(luhip_program *program, void *address, size_t bytes, const luhip_layout *made);
void allocation_set_internal(struct allocation *allocation);
void allocation_unref(struct allocation *allocation);
/* A use in flight comes or leaves. */
void allocation_fly(struct allocation *allocation);
void allocation_land(struct allocation *allocation);
/* Stays, with its memory, while the lock is dropped. */
void allocation_hold(struct allocation *allocation);
void allocation_unhold(struct allocation *allocation);
/* Gives it memory, ordered for a first use on `slot`. MANAGER_RELEASE: see manager.h. Where it fails otherwise, *error
   says what was asked and what there was. */
enum manager_result allocation_materialise(struct allocation *allocation, uint32_t slot, bool last,
                                           luhip_error **error);
/* The same from what the slot's manager, or another stream's, has free, so that nothing is asked of the driver; false when
   none has anything. */
bool allocation_take_existing(struct allocation *allocation, uint32_t slot);
/* Close: every allocation loses its memory. */
void allocations_close(luhip_device *device);
/* How many live allocations carry this failure. */
size_t allocations_carrying(luhip_device *device, const struct failure *failure);
/* Claims on the region, added to the set. */
void allocation_failures(const struct allocation *allocation, const struct region *region, struct failure_set *set);

#endif
