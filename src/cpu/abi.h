/*
 * abi.h - what a compiled kernel module and the CPU device's runtime know of each other.
 *
 * Included by the C runtime (src/cpu/) and, as text, by the C++ device header (src/cpu/include/), so it
 * includes nothing and uses only built-in types.
 *
 *   module -> runtime   for each marked kernel i a descriptor, symbol `luhip_kd_<i>` of type
 *                       struct luhip_cpu_kernel; LUHIP_MARK(i, name) of the source makes it (LUHIP_EXPORT).
 *                       Beside it, where the kernel has __launch_bounds__, `luhip_kb_<i>`: unsigned, the threads of a
 *                       block at most, 0 for no bound.
 *   runtime -> module   the pointer variable `luhip_cpu_rt` is set to the runtime's entry table right
 *                       after the module is loaded, before any kernel runs; `luhip_cpu_rt_local` to where, counted
 *                       from the thread pointer, a worker notes the address of its thread-local block.
 *
 * Both are plain symbols of the module's .symtab and .dynsym.
 */
#ifndef LUHIP_CPU_ABI_H
#define LUHIP_CPU_ABI_H

#define LUHIP_CPU_ABI 5

enum { LUHIP_CPU_MAX_THREADS = 1024 };

/* Where a stack was left; a stack that was never left begins at `pc`. */
struct luhip_cpu_context {
  void *sp, *bp, *pc;
};

/* A thread of the block that has a stack of its own. fiber.h has the rules for all that follows; it stands here
   because kernels themselves do the usual case of a barrier and of a warp operation. */
struct luhip_cpu_fiber {
  struct luhip_cpu_context context; /* valid while it does not run */
  unsigned wait;                    /* the epoch in which it last came to the barrier */
  unsigned short next, prev;        /* threads, in the ring */
};

struct luhip_cpu_warp {
  unsigned long long live;    /* lanes that have not ended, started or not */
  unsigned long long waiting; /* lanes in a warp operation */
  const void *site;           /* where they wait; NULL when not all wait at the same place */
  /* What each waiting lane brings and asks for, and what it gets. */
  unsigned char ask[64];
  unsigned long long value[64], result[64];
  const char *frames[64]; /* on the lane's stack, at a place that depends on the depth of its calls alone */
  const void *sites[64];
};

/* One block being run by one worker. */
struct luhip_cpu_block {
  unsigned grid[3], block[3], index[3];
  volatile unsigned thread;        /* linear index, kept by `trace` alone */
  struct luhip_cpu_fiber *current; /* NULL: not promoted */
  unsigned epoch, arrived, expected;
  unsigned irregular; /* warps with lanes in an operation, and LUHIP_CPU_CHECKED */
  unsigned next_start, live;
  unsigned first; /* any fiber, when live > 0: the ring begins here */
  unsigned threads;
  unsigned warp_shift, lane_mask; /* log2 of the warp's size; its size - 1 */
  unsigned votes;
  unsigned long long vote_result;
  const void *barrier_site; /* checked: where the first to wait at this barrier waits */
  int fibers_used;          /* has any thread of this block been promoted? */
  struct luhip_cpu_fiber fibers[LUHIP_CPU_MAX_THREADS];
  struct luhip_cpu_warp warps[LUHIP_CPU_MAX_THREADS / 32];
  unsigned short stack_of[LUHIP_CPU_MAX_THREADS];
};
#define LUHIP_CPU_CHECKED 0x10000u

struct luhip_cpu_param {
  unsigned offset; /* in the packed argument buffer */
  unsigned size;
};

struct luhip_cpu_kernel {
  unsigned abi; /* LUHIP_CPU_ABI */
  unsigned nparams;
  unsigned args_bytes, args_align;      /* of the packed argument buffer */
  const struct luhip_cpu_param *params; /* [nparams] */
  void (*function)(void);               /* the user's __global__ function: its symbol is the lowered name */
  /* Runs threads [start, block size) of one block, one after the other, until all are done or one that has
     blocked (promote) has ended. */
  void (*run)(struct luhip_cpu_block *block, const void *args, unsigned start);
  /* The same, slower, with block->thread right at every moment: for checked mode, and to find who faulted. */
  void (*trace)(struct luhip_cpu_block *block, const void *args, unsigned start);
};

/* What a lane asks of a warp operation: the number of the lane whose value it wants, or the mask of lanes whose
   value is not zero. */
#define LUHIP_CPU_BALLOT 128u

enum luhip_cpu_failure { LUHIP_CPU_ASSERT, LUHIP_CPU_ABORT };

/* All are called by a kernel, on the fiber of its thread. */
struct luhip_cpu_rt {
  unsigned abi;
  /* `thread` (linear) is about to block for the first time: this stack is its own from now on. */
  void (*promote)(struct luhip_cpu_block *block, unsigned thread);
  /* Notes that the current fiber waits; gives the context to go on with, which is the new current one, or NULL when
     the fiber itself goes on. `site` tells one barrier or warp operation of the source from another: it is the address
     after the call. The result of a vote is then in block->vote_result: the number of threads that said yes, and the
     number of all that came << 32; that of a warp operation is in the warp's `result`. */
  struct luhip_cpu_context *(*barrier)(struct luhip_cpu_block *block, const void *site);
  struct luhip_cpu_context *(*vote)(struct luhip_cpu_block *block, unsigned yes, const void *site);
  struct luhip_cpu_context *(*warp)(struct luhip_cpu_block *block, unsigned long long value, unsigned ask,
                                    const void *site, const char *frame);
  void (*go)(struct luhip_cpu_context *from, struct luhip_cpu_context *to);
  /* Lets other threads of the block run; gives a context as above. */
  struct luhip_cpu_context *(*yield)(struct luhip_cpu_block *block);
  int (*print)(struct luhip_cpu_block *block, const char *format, __builtin_va_list arguments);
  /* Ends the launch with a fault. */
  void (*fail)(struct luhip_cpu_block *block, enum luhip_cpu_failure failure, unsigned thread, const char *expression,
               const char *file, unsigned line);
  unsigned long long (*nanoseconds)(void);
};

#endif
