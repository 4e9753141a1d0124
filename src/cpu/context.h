/*
 * context.h - leaving one stack and going on on another.
 *
 * A context is where a stack was left: stack pointer, frame pointer, address to go on at. Switching is a few
 * instructions in the middle of a C function: the compiler is told that every other register is lost, so it saves
 * what lives and nothing else. It jumps rather than returns, which keeps the processor's prediction of returns
 * right: the frames below the switch are alike on every stack.
 *
 * A context that was never left begins at `entry`, which is given the context and may not return. A signal handler
 * ends whatever its thread runs by writing a context that was left into the frame that it returns to.
 *
 * Code that runs on such stacks is marked FIBER_CODE: it stands in a section of its own, so that the watchdog can tell
 * it from code that holds locks, and no sanitiser instruments it, so that none has to follow the switches. It calls
 * nothing of libc but mprotect, and takes no lock.
 */
#ifndef LUHIP_CPU_CONTEXT_H
#define LUHIP_CPU_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/abi.h"

#if defined(__clang__)
#define FIBER_PLAIN __attribute__((no_sanitize("address", "thread", "undefined"), disable_sanitizer_instrumentation))
#else
#define FIBER_PLAIN __attribute__((no_sanitize("address", "thread", "undefined")))
#endif
#define FIBER_CODE __attribute__((noinline, section("luhip_fiber"))) FIBER_PLAIN
#define FIBER_INLINE static inline __attribute__((always_inline)) FIBER_PLAIN

#if defined(__x86_64__) && !defined(CPU_CONTEXT_UCONTEXT)

FIBER_INLINE void context_make(struct luhip_cpu_context *context, void *top,
                               void (*entry)(struct luhip_cpu_context *)) {
  void **sp = top; /* 16-byte aligned: a function begins with a return address on its stack */
  *--sp = 0;
  context->sp = sp;
  context->bp = 0;
  context->pc = (void *)entry;
}

#if defined(__AVX512F__)
#define CONTEXT_VECTORS                                                                                                \
  "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", \
      "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7",
#else
#define CONTEXT_VECTORS
#endif

FIBER_INLINE void context_switch(struct luhip_cpu_context *from, struct luhip_cpu_context *to) {
  __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                   "movq %%rsp, (%0)\n\t"
                   "movq %%rbp, 8(%0)\n\t"
                   "movq %%rax, 16(%0)\n\t"
                   "movq (%1), %%rsp\n\t"
                   "movq 8(%1), %%rbp\n\t"
                   "jmpq *16(%1)\n"
                   "1:"
                   : "+S"(from), "+D"(to)
                   :
                   : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
                     "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                     "xmm14", "xmm15", CONTEXT_VECTORS "memory", "cc");
}

#elif defined(__aarch64__) && !defined(CPU_CONTEXT_UCONTEXT)

FIBER_INLINE void context_make(struct luhip_cpu_context *context, void *top,
                               void (*entry)(struct luhip_cpu_context *)) {
  context->sp = top;
  context->bp = 0;
  context->pc = (void *)entry;
}

FIBER_INLINE void context_switch(struct luhip_cpu_context *from, struct luhip_cpu_context *to) {
  register struct luhip_cpu_context *x0 __asm__("x0") = to;
  register struct luhip_cpu_context *x1 __asm__("x1") = from;
  __asm__ volatile("adr x3, 1f\n\t"
                   "mov x2, sp\n\t"
                   "stp x2, x29, [x1]\n\t"
                   "str x3, [x1, #16]\n\t"
                   "ldp x2, x29, [x0]\n\t"
                   "ldr x3, [x0, #16]\n\t"
                   "mov sp, x2\n\t"
                   "br x3\n"
                   "1:"
                   : "+r"(x0), "+r"(x1)
                   :
                   : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
                     "x17", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1",
                     "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",
                     "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
                     "v31", "memory", "cc");
}

#else

/* Any other processor: a context's `sp` is a ucontext_t, on the stack that was left. Right, and a hundred times slower,
   as each switch is a system call. */
#define CPU_CONTEXT_SLOW
#include <ucontext.h>

__attribute__((unused)) static void context_begin(unsigned entry_high, unsigned entry_low, unsigned high,
                                                  unsigned low) {
  uintptr_t entry = (uintptr_t)((uint64_t)entry_high << 32 | entry_low);
  ((void (*)(struct luhip_cpu_context *))entry)((void *)(uintptr_t)((uint64_t)high << 32 | low));
}

__attribute__((unused)) static void context_make(struct luhip_cpu_context *context, void *top,
                                                 void (*entry)(struct luhip_cpu_context *)) {
  ucontext_t *machine = (ucontext_t *)(void *)((char *)top - (sizeof *machine + 63) / 64 * 64);
  getcontext(machine);
  machine->uc_stack.ss_size = 32 * 1024;
  machine->uc_stack.ss_sp = (char *)machine - machine->uc_stack.ss_size;
  machine->uc_link = 0;
  uint64_t function = (uintptr_t)entry, argument = (uintptr_t)context;
  makecontext(machine, (void (*)(void))context_begin, 4, (unsigned)(function >> 32), (unsigned)function,
              (unsigned)(argument >> 32), (unsigned)argument);
  context->sp = machine;
}

FIBER_INLINE void context_switch(struct luhip_cpu_context *from, struct luhip_cpu_context *to) {
  ucontext_t here;
  /* cppcheck-suppress autoVariables */
  from->sp = &here; /* this frame stays as long as the context is left */
  swapcontext(&here, to->sp);
}

#endif

#endif
