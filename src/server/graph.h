/*
 * graph.h - recorded operations, and what is replayed of them.
 *
 * A graph is a list of nodes, each one operation as it was recorded: kernel, geometry, packed arguments; a copy; a
 * fill; a write with its own copy of the bytes. It owns all that its nodes name. From the nodes follow the two sets
 * by which a replay is one operation to everybody else: what it reads from outside, that is before it has written
 * those bytes itself, and what it writes (F6).
 *
 * The list is always there. Where the driver has graphs, one is built of the list when it is sealed, in a stream of
 * the device's own, and built again before the next replay when the list was changed; it counts only if it holds as
 * many nodes as calls were made for it (F12). So nothing of the driver is open while a script records, and no call of
 * anybody can disturb it.
 */
#ifndef LUHIP_SERVER_GRAPH_H
#define LUHIP_SERVER_GRAPH_H

#include "kernel/kernel.h"
#include "memory/spans.h"
#include "server/command.h"
#include "server/transfer.h"

/* The bytes of one allocation that a graph's nodes use. */
struct touched {
  struct allocation *allocation;
  struct spans reads, writes; /* read before they were written here; written */
};

struct node {
  luhip_node_kind kind;
  uint32_t nuses; /* the first narguments are the kernel's arguments, in their order */
  uint32_t narguments;
  struct op_use *uses; /* each holds its allocation */
  union {
    struct {
      luhip_kernel *kernel; /* retained */
      uint32_t grid[3], block[3], shared;
      unsigned char *packed;
      luhip_layout *layouts; /* of the arguments */
    } launch;
    struct filling fill; /* its seed is the graph's */
    struct {
      struct region to, from;
    } copy;
    struct {
      struct region to;
      const void *data; /* in the block, or in plain memory of its own */
      struct slice *block;
    } write;
  };
};

struct luhip_graph {
  int refs;         /* atomic */
  int freed;        /* atomic: replays are refused */
  unsigned flights; /* replays in flight */
  bool released;    /* the last handle is gone: seen by its release, with the lock; refs alone may tell it too early */
  bool emptied;     /* it owns nothing any more */
  uint64_t id;
  uint32_t slot;        /* that it was recorded on */
  luhip_device *device; /* retained */
  struct node *nodes;
  uint32_t nnodes, capacity;
  struct touched *touched;
  size_t ntouched, touched_capacity;
  struct op_use *uses; /* of a replay: made from `touched` */
  uint32_t nuses;
  hip_graph_exec_t exec;               /* NULL: the list is replayed */
  bool stale;                          /* the nodes have changed since exec was made */
  struct marks replays;                /* places of the last replays, as readers */
  struct luhip_graph *next, *previous; /* the device's; next also in a trash list */
};

/* With one ref and no nodes; not in the device's list yet. NULL when the host has no memory. */
luhip_graph *graph_new(luhip_device *device);
/* The last ref of a graph that nobody else has seen. */
void graph_drop(luhip_graph *graph);
/* Takes over what the node owns, copies its uses and holds their allocations, retains its kernel. False when the host
   has no memory: then nothing was taken over. */
bool graph_add(luhip_graph *graph, const struct node *node);
/* Gives a launch's node packed arguments and their layouts: `uses` begin with its node->narguments arguments. The
   addresses are filled in. False when the host has no memory. */
bool node_pack(struct node *node, unsigned char *packed, const struct op_use *uses, const struct kernel_use *arguments);
/* Another list of uses for a node, of which the graph holds the allocations instead of the old ones; the sets are made
   anew. False when the host has no memory: nothing has changed. */
bool graph_exchange_uses(luhip_graph *graph, struct node *node, const struct op_use *uses, uint32_t nuses);
/* Adds to the set what those bytes carry that the use reads and the graph has not written before. */
void graph_taints(const luhip_graph *graph, const struct op_use *use, struct failure_set *set);
/* After the last node: makes the uses of a replay, enters the device's list, builds a graph of the driver where that is
   possible. False when the host has no memory. */
bool graph_seal(luhip_graph *graph);
void graph_claim(luhip_graph *graph, struct failure *failure);
/* What a node is called in messages: "launch of kernel 'axpy'". */
void node_describe(const struct node *node, char *text, size_t len);
/* Enqueues one node; *calls counts the driver's calls. */
hip_error_t node_enqueue(luhip_device *device, const struct node *node, hip_stream_t stream, size_t *calls);
void graph_fly(luhip_graph *graph);
void graph_land(luhip_graph *graph);
/* Owns nothing any more; what the driver has of it goes to the trash. */
void graph_empty(luhip_graph *graph);
void graphs_close(luhip_device *device, bool destroy);

/* driver_graph.c: makes exec say what the nodes say, or NULL where the driver cannot have it. */
void graph_build(luhip_graph *graph);
void graph_discard_exec(luhip_graph *graph);

#endif
