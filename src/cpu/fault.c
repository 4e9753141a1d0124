/*
 * fault.c - the signal handler.
 *
 * A fault in a kernel arrives as a signal, on the worker's alternate stack, as the kernel's own may be what is used up.
 * The handler notes what happened and writes the context of the worker's own stack into the frame that it returns to:
 * so the kernel is left, the signal mask is put back by the return itself, and nothing is jumped out of. That is right
 * because a kernel holds no lock and owns nothing: its stacks are simply free again.
 *
 * Where it is not right: in the C library. A kernel calls its memcpy and its mathematics, which may fault and be left;
 * the watchdog, which arrives at any moment, waits for the thread to be in the kernel's own code or among its fibers.
 *
 * A signal that is not a kernel's goes to the handler that was there before. A host that installs its own afterwards is
 * found out at the next launch: ours is put in front again. If that one in turn calls what it found, which is ours,
 * then the handler that was there first is next.
 */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "cpu/fault.h"

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
enum { SIGNALS = sizeof signals / sizeof *signals };

/* The watchdog's signal is one of them, so that no other is taken from the host; it is told by its value. */
enum { KICK_SIGNAL = SIGBUS };
static const char kick_cookie;
static struct { _Atomic uintptr_t begin, end; /* code of the launch's module */ } kick_text;

struct previous {
  struct sigaction action;
  struct previous *older;
};
static _Atomic(struct previous *) previous_handlers[SIGNALS]; /* newest first; none is ever freed */

/* In static TLS: a handler may not have the loader allocate it. */
#define STATIC_TLS __thread __attribute__((tls_model("initial-exec")))
static STATIC_TLS struct worker *self;
static STATIC_TLS char *chained_at; /* frame of the handler of this thread that called a previous handler */

/* ---- signals that are not ours
   --------------------------------------------------------------------------------------- */

static int slot_of(int signal) {
  for (int i = 0; i < SIGNALS; i++) {
    if (signals[i] == signal) return i;
  }
  return 0;
}

static void default_action(int signal, const siginfo_t *info) {
  struct sigaction action = {.sa_handler = SIG_DFL};
  sigaction(signal, &action, NULL);
  if (info->si_code <= 0) raise(signal); /* sent by somebody; a fault comes again by itself */
}

static void chain(int signal, siginfo_t *info, void *machine) {
  char *frame = __builtin_frame_address(0);
  struct previous *previous = atomic_load(&previous_handlers[slot_of(signal)]);
  if (chained_at && frame < chained_at) {
    while (previous->older) previous = previous->older;
  }
  char *outer = chained_at;
  chained_at = frame;
  const struct sigaction *action = &previous->action;
  if (action->sa_flags & SA_SIGINFO)
    action->sa_sigaction(signal, info, machine);
  else if (action->sa_handler == SIG_DFL || (action->sa_handler == SIG_IGN && info->si_code > 0))
    default_action(signal, info);
  else if (action->sa_handler != SIG_IGN)
    action->sa_handler(signal);
  chained_at = outer;
}

/* ---- the processor's registers
   ------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static uintptr_t program_counter(const ucontext_t *machine) {
  return (uintptr_t)machine->uc_mcontext.gregs[REG_RIP];
}

/* 1 write, 0 read, -1 unknown: then the address is not known either. */
static int is_write(const ucontext_t *machine) {
  if (machine->uc_mcontext.gregs[REG_TRAPNO] != 14) return -1; /* not a page fault: an address with no meaning */
  return machine->uc_mcontext.gregs[REG_ERR] >> 1 & 1;
}
#elif defined(__aarch64__)
static uintptr_t program_counter(const ucontext_t *machine) {
  return machine->uc_mcontext.pc;
}

static int is_write(const ucontext_t *machine) {
  const struct _aarch64_ctx *record = (const void *)machine->uc_mcontext.__reserved;
  for (; record->magic; record = (const void *)((const char *)record + record->size)) {
    if (record->magic == ESR_MAGIC) return ((const struct esr_context *)record)->esr >> 6 & 1;
  }
  return -1;
}
#else
static uintptr_t program_counter(const ucontext_t *machine) {
  return (void)machine, UINTPTR_MAX;
}
static int is_write(const ucontext_t *machine) {
  return (void)machine, -1;
}
#endif

/* Returning from the handler goes on at the worker's own stack. */
static void leave(struct worker *worker, ucontext_t *machine) {
  atomic_store_explicit(&worker->in_kernel, 0, memory_order_relaxed);
  const struct luhip_cpu_context *home = &worker->home;
#if defined(CPU_CONTEXT_SLOW)
  (void)machine;
  setcontext(home->sp);
#elif defined(__x86_64__)
  greg_t *registers = machine->uc_mcontext.gregs;
  registers[REG_RSP] = (greg_t)home->sp;
  registers[REG_RBP] = (greg_t)home->bp;
  registers[REG_RIP] = (greg_t)home->pc;
  registers[REG_EFL] &= ~(greg_t)0x400; /* the direction flag is clear in C */
#elif defined(__aarch64__)
  machine->uc_mcontext.sp = (uintptr_t)home->sp;
  machine->uc_mcontext.regs[29] = (uintptr_t)home->bp;
  machine->uc_mcontext.pc = (uintptr_t)home->pc;
#endif
}

/* ---- signals that are
   ------------------------------------------------------------------------------------------------------ */

/* The processor tells the address of a page fault alone: for a misaligned vector, or an address outside what there can
   be, the kernel gives 0. */
static bool has_address(const ucontext_t *machine, const siginfo_t *info) {
#if defined(__x86_64__)
  return machine->uc_mcontext.gregs[REG_TRAPNO] == 14 && info->si_code != SI_KERNEL;
#else
  (void)machine;
  return info->si_code != SI_KERNEL && info->si_code != BUS_ADRALN;
#endif
}

static void describe(struct worker *worker, int signal, const siginfo_t *info, const ucontext_t *machine) {
  struct fiber_fault *raw = &worker->raw;
  *raw = (struct fiber_fault){.kind = HIP_FAULT_TRAP, .thread = fiber_thread(worker), .is_write = -1, .phrase = "trap"};
  if (signal == SIGFPE) {
    raw->kind = HIP_FAULT_DIVIDE;
    raw->phrase = "integer division by zero, or of the smallest integer by -1";
  } else if (signal == SIGSEGV || signal == SIGBUS) {
    raw->kind = HIP_FAULT_ADDRESS;
    raw->is_write = is_write(machine);
    raw->address = has_address(machine, info) ? (uintptr_t)info->si_addr : UINTPTR_MAX;
    raw->phrase = raw->is_write == 1 ? "write outside every buffer" : "read outside every buffer";
    if (raw->address < 4096) raw->phrase = raw->is_write == 1 ? "write to a null pointer" : "read from a null pointer";
    if (raw->address == UINTPTR_MAX) raw->phrase = "misaligned access, or an address that cannot exist";
    if (cpu_fiber_stack_overrun(worker, raw->address)) {
      raw->kind = HIP_FAULT_STACK;
      raw->phrase = "a thread used more than 64 KiB of stack";
    }
  }
}

static void on_kick(struct worker *worker, ucontext_t *machine) {
  uintptr_t pc = program_counter(machine);
  bool in_module = pc >= atomic_load(&kick_text.begin) && pc < atomic_load(&kick_text.end);
  if (!atomic_load_explicit(&worker->in_kernel, memory_order_relaxed) || !(in_module || cpu_fiber_owns(pc))) return;
  worker->raw = (struct fiber_fault){.kind = HIP_FAULT_TIMEOUT, .thread = fiber_thread(worker), .is_write = -1};
  worker->request = FIBER_FAULT;
  leave(worker, machine);
}

static void on_signal(int signal, siginfo_t *info, void *machine) {
  int saved_errno = errno;
  struct worker *worker = self;
  if (signal == KICK_SIGNAL && info->si_code == SI_QUEUE && info->si_value.sival_ptr == (const void *)&kick_cookie) {
    if (worker) on_kick(worker, machine);
  } else if (worker && info->si_code > 0 && atomic_load_explicit(&worker->in_kernel, memory_order_relaxed)) {
    describe(worker, signal, info, machine);
    worker->request = FIBER_FAULT;
    leave(worker, machine);
  } else {
    chain(signal, info, machine);
  }
  errno = saved_errno;
}

/* ---- installing
   -------------------------------------------------------------------------------------------------------------- */

static bool is_ours(const struct sigaction *action) {
  return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

void cpu_fault_install(void) {
  for (int i = 0; i < SIGNALS; i++) {
    struct sigaction now;
    if (sigaction(signals[i], NULL, &now) != 0 || is_ours(&now)) continue;
    struct previous *previous = malloc(sizeof *previous);
    if (!previous) continue;
    *previous = (struct previous){now, atomic_load(&previous_handlers[i])};
    atomic_store(&previous_handlers[i], previous);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(signals[i], &action, NULL);
  }
}

/* ---- threads
   ---------------------------------------------------------------------------------------------------------------------
   */

static pthread_once_t stack_once = PTHREAD_ONCE_INIT;
static pthread_key_t stack_key; /* of a thread: its alternate stack, when it is one of ours */
static bool has_stack_key;
static size_t stack_bytes;

static void drop_stack(void *stack) {
  stack_t none = {.ss_flags = SS_DISABLE}, now;
  if (sigaltstack(NULL, &now) == 0 && now.ss_sp == stack) sigaltstack(&none, NULL);
  munmap(stack, stack_bytes);
}

static void stack_init(void) {
  size_t frame = getauxval(AT_MINSIGSTKSZ); /* with the vector registers of this processor */
  stack_bytes = ((frame ? frame : 4096) + 32 * 1024 + 4095) & ~(size_t)4095;
  has_stack_key = pthread_key_create(&stack_key, drop_stack) == 0;
}

/* A host's own alternate stack is kept when the handler fits on it. */
static void ensure_stack(void) {
  pthread_once(&stack_once, stack_init);
  stack_t now;
  if (sigaltstack(NULL, &now) != 0 || (!(now.ss_flags & SS_DISABLE) && now.ss_size >= stack_bytes / 2)) return;
  void *stack = has_stack_key ? pthread_getspecific(stack_key) : NULL;
  if (!stack) {
    stack = mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) return;
    if (!has_stack_key || pthread_setspecific(stack_key, stack) != 0) {
      munmap(stack, stack_bytes);
      return;
    }
  }
  stack_t ours = {.ss_sp = stack, .ss_size = stack_bytes};
  sigaltstack(&ours, NULL);
}

void cpu_fault_open(sigset_t *mask) {
  ensure_stack();
  sigset_t faults;
  sigemptyset(&faults);
  for (int i = 0; i < SIGNALS; i++) sigaddset(&faults, signals[i]);
  pthread_sigmask(SIG_UNBLOCK, &faults, mask);
}

void cpu_fault_close(const sigset_t *mask) {
  pthread_sigmask(SIG_SETMASK, mask, NULL);
}

void cpu_fault_become(struct worker *worker) {
  chained_at = NULL;
  self = worker;
}

void cpu_fault_enter(struct worker *worker, sigset_t *mask) {
  cpu_fault_open(mask);
  cpu_fault_become(worker);
}

void cpu_fault_leave(const sigset_t *mask) {
  self = NULL;
  cpu_fault_close(mask);
}

void cpu_fault_block_others(sigset_t *mask) {
  sigset_t others;
  sigfillset(&others);
  for (int i = 0; i < SIGNALS; i++) sigdelset(&others, signals[i]);
  pthread_sigmask(SIG_SETMASK, &others, mask);
}

void cpu_fault_after_fork(void) {
  self = NULL;
}

/* ---- the watchdog's part
   ---------------------------------------------------------------------------------------------------------- */

void cpu_fault_kick(struct worker *worker, const struct fault_text *text) {
  atomic_store(&kick_text.begin, text->begin);
  atomic_store(&kick_text.end, text->end);
  union sigval value = {.sival_ptr = (void *)(uintptr_t)&kick_cookie};
  pthread_sigqueue(worker->thread, KICK_SIGNAL, value);
}

struct search {
  uintptr_t pc;
  struct fault_text found;
};

static int search_object(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  struct search *search = data;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + header->p_vaddr, end = begin + header->p_memsz;
    if (header->p_type == PT_LOAD && (header->p_flags & PF_X) && search->pc >= begin && search->pc < end) {
      search->found = (struct fault_text){begin, end};
      return 1;
    }
  }
  return 0;
}

struct fault_text cpu_fault_find_text(void (*function)(void)) {
  struct search search = {.pc = (uintptr_t)function};
  dl_iterate_phdr(search_object, &search);
  return search.found;
}
