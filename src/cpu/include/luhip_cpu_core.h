/*
 * luhip_cpu_core.h - the inside of a kernel on the CPU device: qualifiers, indices, shared memory, barriers, warp
 * operations, printf and assert, and the wrapper through which the runtime runs a kernel.
 *
 * A block runs on one OS thread. The wrapper calls the kernel for one thread of the block after the other in a loop,
 * which the compiler inlines, takes apart and vectorises; so nothing here may let the address of an
 * index escape. The first barrier or warp operation that a thread reaches promotes it: the stack it runs on becomes
 * its own, the runtime starts the next thread elsewhere, and when the operation returns the indices of this thread are
 * put back. A kernel without such operations never notices: `luhip_promoted` is then never set and is folded away.
 *
 * Shared memory is thread-local storage. A block's shared variables are those of the OS thread it runs on; all
 * threads of the block see them, no other block does.
 *
 * Left out: cooperative groups, textures, launches from kernels, cluster functions, and asynchronous copies.
 */
#ifndef LUHIP_CPU_CORE_H
#define LUHIP_CPU_CORE_H
#include "luhip_std.h"
#include "luhip_vector_types.h"
#include "cpu/abi.h"

/* ---- qualifiers ---------------------------------------------------------------------------------------------- */

/* __device__ and __host__ must be empty: they stand where no attribute may (in lambdas). The compile step writes
   __device_v for the __device__ of a variable, which the host may write too. */
#define __device__
#define __device_v __attribute__((used))
#define __host__
#ifndef LUHIP_CPU_SCAN /* else it stays visible in the preprocessor's output */
#define __global__
#define __launch_bounds__(...)
#endif
#define __constant__ __attribute__((__used__))
#define __managed__ __attribute__((used))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared_x type name[];
#define HIP_DYNAMIC_SHARED_ATTRIBUTE

/* Hidden, so that all of a module's thread-local storage is found with one call. The compile step writes __shared_x
   for the __shared__ of `extern __shared__`: such an array is to be reached directly, and not through a function that
   might have to construct it. */
#define __shared__ thread_local __attribute__((visibility("hidden")))
#define __shared_x thread_local __attribute__((visibility("hidden"), require_constant_initialization))

#define __HIPCC__ 1
#define __HIPCC_RTC__ 1
#define __HIP__ 1
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DEVICE_COMPILE__ 1
#define __LUHIP_CPU__ 1

/* ---- indices --------------------------------------------------------------------------------------------------- */

/* Thread and block indices: convertible to what HIP's and CUDA's are. */
struct luhip_index {
  unsigned x, y, z;
  constexpr operator uint3() const { return uint3(x, y, z); }
  constexpr operator dim3() const { return dim3(x, y, z); }
};

/* __thread and not thread_local: a function that might have to construct them would let their addresses escape. */
static __thread luhip_index threadIdx, blockIdx, blockDim, gridDim;
static __thread luhip_cpu_block *luhip_block;
static __thread bool luhip_promoted; /* does the stack belong to one thread of the block? */
static constexpr int warpSize = LUHIP_CPU_WARP;

#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z

static __forceinline__ unsigned luhip_thread() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
static __forceinline__ unsigned __lane_id() {
  return luhip_thread() % LUHIP_CPU_WARP;
}

/* ---- the way into the runtime ----------------------------------------------------------------------------------- */

extern "C" {
__attribute__((used, visibility("protected"))) const struct luhip_cpu_rt *luhip_cpu_rt;
}

/* Where thread-local variables are. The compiler takes this function to change no more registers than SysV's calling
   convention lets it, less the upper sixteen of AVX-512, which it keeps values in across the call; the loader's own
   may be in the middle of giving or freeing memory when another thread loads a module, and those who copy and clear
   memory use them. This one changes nothing but its result. Besides, the block is the worker's: one for all modules,
   and there before a kernel starts. */
#if defined(__x86_64__)
extern "C" {
__attribute__((used, visibility("protected"))) long luhip_cpu_rt_local;
}
__asm__(".pushsection .text\n\t"
        ".globl __tls_get_addr\n\t"
        ".hidden __tls_get_addr\n\t"
        ".type __tls_get_addr, @function\n"
        "__tls_get_addr:\n\t"
        "movq luhip_cpu_rt_local@GOTPCREL(%rip), %rax\n\t"
        "movq (%rax), %rax\n\t"
        "movq %fs:(%rax), %rax\n\t"
        "addq 8(%rdi), %rax\n\t"
        "ret\n\t"
        ".size __tls_get_addr, . - __tls_get_addr\n\t"
        ".popsection");
#endif

/* Barriers and warp operations in their usual case: nothing irregular in the block, and the next thread of the ring, or
   the next lane, has a stack and can run. Then its stack is gone on with at once; everything else is the runtime's.

   These are no functions that C++ knows of: an asm statement that gives up every register jumps to them, so that a
   kernel saves what it needs and nothing else, and no call is ever left unreturned, which would spoil the processor's
   prediction of returns. The statement's end is the site, where the thread goes on. The asm is volatile, convergent
   (by -fconvergent-functions) and not merged with another (-enable-tail-merge=0), so one operation stays one site. On
   entry rax is the site, rdi the block; esi a vote; rsi and edx what a lane brings and asks. fiber.h has the rules. */
#define LUHIP_OFFSET(type, field) "i"(__builtin_offsetof(struct type, field))
#if defined(__x86_64__) && !defined(LUHIP_CPU_PLAIN)
#if defined(__AVX__)
#define LUHIP_CLEAN_VECTORS "vzeroupper\n\t" /* the runtime is compiled for any processor */
#else
#define LUHIP_CLEAN_VECTORS
#endif
#if defined(__AVX512F__)
#define LUHIP_MORE_REGISTERS                                                                                           \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",        \
      "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define LUHIP_MORE_REGISTERS
#endif
#define LUHIP_REGISTERS                                                                                                \
  "rbx", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",  \
      "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory",                  \
      "cc" LUHIP_MORE_REGISTERS
#define LUHIP_BLOCK_OFFSETS                                                                                            \
  [current] LUHIP_OFFSET(luhip_cpu_block, current), [epoch] LUHIP_OFFSET(luhip_cpu_block, epoch),                      \
      [arrived] LUHIP_OFFSET(luhip_cpu_block, arrived), [expected] LUHIP_OFFSET(luhip_cpu_block, expected),            \
      [irregular] LUHIP_OFFSET(luhip_cpu_block, irregular), [fibers] LUHIP_OFFSET(luhip_cpu_block, fibers),            \
      [wait] LUHIP_OFFSET(luhip_cpu_fiber, wait), [next] LUHIP_OFFSET(luhip_cpu_fiber, next)
static_assert(sizeof(luhip_cpu_fiber) == 32 && __builtin_offsetof(luhip_cpu_fiber, context) == 0,
              "assembly knows this");
#define LUHIP_FAST extern "C" __attribute__((naked, used, noinline, visibility("hidden")))

/* Leaves the fiber in rsi, which goes on at its site, for the context in rcx. */
#define LUHIP_SWITCH                                                                                                   \
  "movq %%rsp, (%%rsi)\n\tmovq %%rbp, 8(%%rsi)\n\tmovq %%rax, 16(%%rsi)\n\t"                                           \
  "movq (%%rcx), %%rsp\n\tmovq 8(%%rcx), %%rbp\n\tmovq %%rcx, %%rdi\n\tjmpq *16(%%rcx)\n"
/* Asks an entry of the runtime, which needs an aligned stack, with the arguments in place; rax is the site. */
#define LUHIP_ASK(entry)                                                                                               \
  "movq %c[current](%%rdi), %%r12\n\tmovq %%rax, %%r13\n\tmovq %%rsp, %%rbx\n\tandq $-16, %%rsp\n\t"                   \
  "movq luhip_cpu_rt(%%rip), %%rax\n\t" LUHIP_CLEAN_VECTORS "callq *%c[" entry "](%%rax)\n\tmovq %%rbx, %%rsp\n\t"     \
  "movq %%rax, %%rcx\n\tmovq %%r13, %%rax\n\tmovq %%r12, %%rsi\n\ttestq %%rcx, %%rcx\n\tjne 3f\n\tjmpq *%%rax\n"       \
  "3:\n\t" LUHIP_SWITCH

LUHIP_FAST void luhip_fast_barrier() {
  __asm__ volatile("cmpl $0, %c[irregular](%%rdi)\n\t"
                   "jne 2f\n\t"
                   "movl %c[arrived](%%rdi), %%r8d\n\t"
                   "incl %%r8d\n\t"
                   "cmpl %c[expected](%%rdi), %%r8d\n\t"
                   "je 2f\n\t"
                   "movq %c[current](%%rdi), %%rsi\n\t"
                   "movl %c[epoch](%%rdi), %%edx\n\t"
                   "movzwl %c[next](%%rsi), %%ecx\n\t"
                   "shll $5, %%ecx\n\t"
                   "leaq %c[fibers](%%rdi, %%rcx), %%rcx\n\t"
                   "movl %%edx, %c[wait](%%rsi)\n\t" /* first, as the next may be itself */
                   "cmpl %%edx, %c[wait](%%rcx)\n\t"
                   "jae 2f\n\t"
                   "movl %%r8d, %c[arrived](%%rdi)\n\t"
                   "movq %%rcx, %c[current](%%rdi)\n\t"
                   "movzwl %c[next](%%rcx), %%edx\n\t" /* whose turn is after that: its stack is needed soon */
                   "shll $5, %%edx\n\t"
                   "movq %c[fibers](%%rdi, %%rdx), %%rdx\n\t"
                   "prefetcht0 (%%rdx)\n\t"
                   "prefetcht0 64(%%rdx)\n\t" LUHIP_SWITCH "2:\n\t"
                   "movq %%rax, %%rsi\n\t" LUHIP_ASK("entry")::LUHIP_BLOCK_OFFSETS,
                   [entry] LUHIP_OFFSET(luhip_cpu_rt, barrier));
}

/* What this and the next leave on the stack is the address of the result. */
LUHIP_FAST void luhip_fast_vote() {
  __asm__ volatile("leaq %c[result](%%rdi), %%rdx\n\t"
                   "pushq %%rdx\n\t"
                   "movq %%rax, %%rdx\n\t" LUHIP_ASK("entry")::LUHIP_BLOCK_OFFSETS,
                   [result] LUHIP_OFFSET(luhip_cpu_block, vote_result), [entry] LUHIP_OFFSET(luhip_cpu_rt, vote));
}

LUHIP_FAST void luhip_fast_warp() {
  __asm__ volatile(
      "movq %c[current](%%rdi), %%r8\n\t"
      "movl %%r8d, %%ecx\n\t"
      "subl %%edi, %%ecx\n\t"
      "subl $%c[fibers], %%ecx\n\t"
      "shrl $5, %%ecx\n\t" /* ecx: the thread */
      "movl %%ecx, %%r10d\n\t"
      "andl $%c[lanes] - 1, %%r10d\n\t" /* r10: its lane */
      "movl %%ecx, %%r9d\n\t"
      "shrl $%c[shift], %%r9d\n\t"
      "imulq $%c[warp_bytes], %%r9, %%r9\n\t"
      "leaq %c[warps](%%rdi, %%r9), %%r9\n\t" /* r9: its warp */
      "leaq %c[result](%%r9, %%r10, 8), %%r13\n\t"
      "pushq %%r13\n\t"
      "cmpq %%rax, %c[site](%%r9)\n\t"
      "jne 2f\n\t"
      "movq %c[waiting](%%r9), %%r11\n\t"
      "movq %c[live](%%r9), %%rbx\n\t"
      "testq %%r11, %%r11\n\t"
      "je 2f\n\t"             /* the first */
      "btsq %%r10, %%r11\n\t" /* r11: who waits now */
      "movq %%r11, %%r12\n\t"
      "notq %%r12\n\t"
      "andq %%rbx, %%r12\n\t"
      "leal 1(%%r10), %%r13d\n\t"
      "cmpl $%c[lanes], %%r13d\n\t"
      "je 2f\n\t"
      "btq %%r13, %%r12\n\t"
      "jnc 2f\n\t"
      "incl %%ecx\n\t"
      "cmpl %c[next_start](%%rdi), %%ecx\n\t"
      "jae 2f\n\t"
      "movl %c[epoch](%%rdi), %%ecx\n\t"
      "cmpl %%ecx, 32 + %c[wait](%%r8)\n\t"
      "jae 2f\n\t"
      "movq %%rsi, %c[value](%%r9, %%r10, 8)\n\t"
      "movb %%dl, %c[ask](%%r9, %%r10)\n\t"
      "movq %%rsp, %c[frames](%%r9, %%r10, 8)\n\t"
      "movq %%r11, %c[waiting](%%r9)\n\t"
      "leaq 32(%%r8), %%rcx\n\t"
      "movq %%rcx, %c[current](%%rdi)\n\t"
      "movq 64(%%r8), %%rdx\n\t" /* the stack that is needed after that */
      "prefetcht0 (%%rdx)\n\t"
      "prefetcht0 64(%%rdx)\n\t"
      "movq %%r8, %%rsi\n\t" LUHIP_SWITCH "2:\n\t"
      "movq %%rax, %%rcx\n\t"
      "movq %%rsp, %%r8\n\t" LUHIP_ASK("entry")::LUHIP_BLOCK_OFFSETS,
      [next_start] LUHIP_OFFSET(luhip_cpu_block, next_start), [warps] LUHIP_OFFSET(luhip_cpu_block, warps),
      [warp_bytes] "i"(sizeof(luhip_cpu_warp)), [lanes] "i"(LUHIP_CPU_WARP), [shift] "i"(LUHIP_CPU_WARP == 64 ? 6 : 5),
      [live] LUHIP_OFFSET(luhip_cpu_warp, live), [waiting] LUHIP_OFFSET(luhip_cpu_warp, waiting),
      [site] LUHIP_OFFSET(luhip_cpu_warp, site), [ask] LUHIP_OFFSET(luhip_cpu_warp, ask),
      [value] LUHIP_OFFSET(luhip_cpu_warp, value), [result] LUHIP_OFFSET(luhip_cpu_warp, result),
      [frames] LUHIP_OFFSET(luhip_cpu_warp, frames), [entry] LUHIP_OFFSET(luhip_cpu_rt, warp));
}

static __forceinline__ void luhip_call_barrier(luhip_cpu_block *block) {
  long a, d, si;
  __asm__ volatile("leaq 1f(%%rip), %%rax\n\tjmp luhip_fast_barrier\n1:"
                   : "+D"(block), "=S"(si), "=d"(d), "=a"(a)::LUHIP_REGISTERS);
}
static __forceinline__ unsigned long long luhip_call_vote(luhip_cpu_block *block, unsigned long yes) {
  long d;
  unsigned long long votes;
  __asm__ volatile("leaq 1f(%%rip), %%rax\n\tjmp luhip_fast_vote\n1:\n\tpopq %%rax\n\tmovq (%%rax), %%rax"
                   : "+D"(block), "+S"(yes), "=d"(d), "=a"(votes)::LUHIP_REGISTERS);
  return votes;
}
static __forceinline__ unsigned long long luhip_call_warp(luhip_cpu_block *block, unsigned long long value,
                                                          unsigned long ask) {
  unsigned long long result;
  __asm__ volatile("leaq 1f(%%rip), %%rax\n\tjmp luhip_fast_warp\n1:\n\tpopq %%rax\n\tmovq (%%rax), %%rax"
                   : "+D"(block), "+S"(value), "+d"(ask), "=a"(result)::LUHIP_REGISTERS);
  return result;
}

#else
/* Other processors: functions that only ask the runtime. Not optimised, so that nobody finds out that they call nothing
   convergent. */
#define LUHIP_PLAIN extern "C" __attribute__((noinline, optnone, convergent, nomerge, used, visibility("hidden")))
LUHIP_PLAIN void luhip_call_barrier(luhip_cpu_block *block) {
  luhip_cpu_fiber *fiber = block->current;
  luhip_cpu_context *to = luhip_cpu_rt->barrier(block, __builtin_return_address(0));
  if (to) luhip_cpu_rt->go(&fiber->context, to);
}
LUHIP_PLAIN unsigned long long luhip_call_vote(luhip_cpu_block *block, unsigned yes) {
  luhip_cpu_fiber *fiber = block->current;
  luhip_cpu_context *to = luhip_cpu_rt->vote(block, yes, __builtin_return_address(0));
  if (to) luhip_cpu_rt->go(&fiber->context, to);
  return block->vote_result;
}
LUHIP_PLAIN unsigned long long luhip_call_warp(luhip_cpu_block *block, unsigned long long value, unsigned ask) {
  luhip_cpu_fiber *fiber = block->current;
  unsigned thread = unsigned(fiber - block->fibers);
  luhip_cpu_context *to = luhip_cpu_rt->warp(block, value, ask, __builtin_return_address(0),
                                             static_cast<const char *>(__builtin_frame_address(0)));
  if (to) luhip_cpu_rt->go(&fiber->context, to);
  return block->warps[thread / LUHIP_CPU_WARP].result[thread % LUHIP_CPU_WARP];
}
#endif

/* Stands around every operation that lets other threads of the block run. */
struct luhip_blocking {
  unsigned x, y, z;
  __forceinline__ luhip_blocking() : x(threadIdx.x), y(threadIdx.y), z(threadIdx.z) {
    if (!luhip_promoted) luhip_cpu_rt->promote(luhip_block, luhip_thread());
  }
  __forceinline__ ~luhip_blocking() {
    threadIdx.x = x, threadIdx.y = y, threadIdx.z = z;
    luhip_promoted = true;
  }
};

/* ---- barriers and fences ----------------------------------------------------------------------------------------- */

static __forceinline__ void __syncthreads() {
  luhip_blocking here;
  luhip_call_barrier(luhip_block);
}
static __forceinline__ unsigned long long luhip_vote(int yes) {
  luhip_blocking here;
  return luhip_call_vote(luhip_block, yes != 0);
}
static __forceinline__ int __syncthreads_count(int yes) {
  return int(unsigned(luhip_vote(yes)));
}
static __forceinline__ int __syncthreads_or(int yes) {
  return unsigned(luhip_vote(yes)) != 0;
}
static __forceinline__ int __syncthreads_and(int yes) {
  unsigned long long votes = luhip_vote(yes);
  return unsigned(votes) == unsigned(votes >> 32);
}

/* Threads of one block run on one OS thread, blocks do not. */
static __forceinline__ void __threadfence_block() {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
static __forceinline__ void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static __forceinline__ void __threadfence_system() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* ---- warp operations
   ------------------------------------------------------------------------------------------------ */
/* Lanes that wait at the same call form a group, when every other lane of the warp waits elsewhere or has ended; the
   mask of a _sync form is not looked at. A lane that is not in the group gives 0, as on AMD. */

static __forceinline__ unsigned long long luhip_warp(unsigned long long value, unsigned ask) {
  luhip_blocking here;
  return luhip_call_warp(luhip_block, value, ask);
}
template <class T> static __forceinline__ T luhip_shuffle(T value, unsigned lane) {
  static_assert(sizeof(T) <= 8 && __is_trivially_copyable(T), "a shuffle moves values of at most 8 bytes");
  unsigned long long word = 0;
  __builtin_memcpy(&word, &value, sizeof(T));
  word = luhip_warp(word, lane);
  __builtin_memcpy(&value, &word, sizeof(T));
  return value;
}
template <class T> static __forceinline__ T __shfl(T value, int source, int width = warpSize) {
  return luhip_shuffle(value, (__lane_id() & -unsigned(width)) | (unsigned(source) & (unsigned(width) - 1)));
}
template <class T> static __forceinline__ T __shfl_up(T value, unsigned delta, int width = warpSize) {
  unsigned lane = __lane_id(), first = lane & -unsigned(width);
  return luhip_shuffle(value, lane - first < delta ? lane : lane - delta);
}
template <class T> static __forceinline__ T __shfl_down(T value, unsigned delta, int width = warpSize) {
  unsigned lane = __lane_id(), left = unsigned(width) - 1 - (lane & (unsigned(width) - 1));
  return luhip_shuffle(value, left < delta ? lane : lane + delta);
}
template <class T> static __forceinline__ T __shfl_xor(T value, int mask, int width = warpSize) {
  unsigned lane = __lane_id(), source = lane ^ unsigned(mask);
  return luhip_shuffle(value, source < (lane & -unsigned(width)) + unsigned(width) ? source : lane);
}
static __forceinline__ unsigned long long __ballot(int yes) {
  return luhip_warp(yes != 0, LUHIP_CPU_BALLOT);
}
static __forceinline__ int __any(int yes) {
  return __ballot(yes) != 0;
}
static __forceinline__ int __all(int yes) {
  return __ballot(!yes) == 0;
}
static __forceinline__ unsigned long long __activemask() {
  return __ballot(1);
}

template <class M, class T> static __forceinline__ T __shfl_sync(M, T value, int source, int width = warpSize) {
  return __shfl(value, source, width);
}
template <class M, class T> static __forceinline__ T __shfl_up_sync(M, T value, unsigned delta, int width = warpSize) {
  return __shfl_up(value, delta, width);
}
template <class M, class T>
static __forceinline__ T __shfl_down_sync(M, T value, unsigned delta, int width = warpSize) {
  return __shfl_down(value, delta, width);
}
template <class M, class T> static __forceinline__ T __shfl_xor_sync(M, T value, int mask, int width = warpSize) {
  return __shfl_xor(value, mask, width);
}
template <class M> static __forceinline__ unsigned long long __ballot_sync(M, int yes) {
  return __ballot(yes);
}
template <class M> static __forceinline__ int __any_sync(M, int yes) {
  return __any(yes);
}
template <class M> static __forceinline__ int __all_sync(M, int yes) {
  return __all(yes);
}
static __forceinline__ void __syncwarp(unsigned long long = ~0ull) {
  __ballot(0);
}

/* ---- printf, assert, the end
   ------------------------------------------------------------------------------------------ */

__attribute__((noinline, format(printf, 1, 2), unused)) static int printf(const char *format, ...) {
  __builtin_va_list arguments;
  __builtin_va_start(arguments, format);
  int written = luhip_cpu_rt->print(luhip_block, format, arguments);
  __builtin_va_end(arguments);
  return written;
}

__attribute__((noinline, cold, noreturn, unused)) static void
luhip_fail(luhip_cpu_failure failure, unsigned thread, const char *expression, const char *file, unsigned line) {
  luhip_cpu_rt->fail(luhip_block, failure, thread, expression, file, line);
  __builtin_unreachable();
}
#define LUHIP_ASSERT(...)                                                                                              \
  ((__VA_ARGS__) ? (void)0 : luhip_fail(LUHIP_CPU_ASSERT, luhip_thread(), #__VA_ARGS__, __FILE__, __LINE__))
#ifdef NDEBUG
#define assert(...) ((void)0)
#else
#define assert(...) LUHIP_ASSERT(__VA_ARGS__)
#endif

[[noreturn]] static __forceinline__ void abort() {
  luhip_fail(LUHIP_CPU_ABORT, luhip_thread(), "", "", 0);
}
[[noreturn]] static __forceinline__ void __trap() {
  __builtin_trap();
}
static __forceinline__ void __brkpt() {
  __builtin_debugtrap();
}

/* ---- clocks and waiting
   -------------------------------------------------------------------------------------------------- */

static __forceinline__ long long clock64() {
  return (long long)__builtin_readcyclecounter();
}
static __forceinline__ long long __clock64() {
  return clock64();
}
static __forceinline__ long clock() {
  return long(clock64());
}
static __forceinline__ long __clock() {
  return clock();
}
/* 100 MHz, as on AMD. */
static __forceinline__ long long wall_clock64() {
  return (long long)(luhip_cpu_rt->nanoseconds() / 10);
}
/* Waiting lets the others of the block run: a loop that waits for one of them must do this. */
static __forceinline__ void __nanosleep(unsigned) {
  luhip_blocking here;
  luhip_cpu_fiber *fiber = luhip_block->current;
  luhip_cpu_context *to = luhip_cpu_rt->yield(luhip_block);
  if (to) luhip_cpu_rt->go(&fiber->context, to);
}
static __forceinline__ void __builtin_amdgcn_s_sleep(int) {
  __nanosleep(0);
}

/* ---- the wrapper
   ------------------------------------------------------------------------------------------------------------ */

static __forceinline__ void luhip_enter(luhip_cpu_block *block) {
  luhip_block = block;
  luhip_promoted = false;
  gridDim.x = block->grid[0], gridDim.y = block->grid[1], gridDim.z = block->grid[2];
  blockDim.x = block->block[0], blockDim.y = block->block[1], blockDim.z = block->block[2];
  blockIdx.x = block->index[0], blockIdx.y = block->index[1], blockIdx.z = block->index[2];
}

#if defined(__clang__)
#define LUHIP_VECTORISE _Pragma("clang loop vectorize(enable) interleave_count(1)")
#else
#define LUHIP_VECTORISE
#endif

template <auto kernel> struct luhip_wrapper;
template <class... A, void (*kernel)(A...)> struct luhip_wrapper<kernel> {
  /* Each argument is copied once, before the loop: in memory that a kernel might write it could not stay in a
     register. */
  static __forceinline__ void loop(luhip_cpu_block *block, unsigned start, A... arguments) {
    luhip_enter(block);
    const unsigned nx = blockDim.x, ny = blockDim.y, nz = blockDim.z;
    unsigned x = 0, y = 0, z = 0;
    if (start < nx)
      x = start;
    else
      x = start % nx, y = start / nx % ny, z = start / nx / ny;
    for (; z < nz; z++, y = 0) {
      for (; y < ny; y++, x = 0) {
        /* Asked for, so that rows of 16 threads are vectorised too: by itself the compiler leaves a loop that needs
           checks for overlap as it is below 24 rounds. Not interleaved, as that would ask for four times the threads.
           */
        LUHIP_VECTORISE
        for (; x < nx; x++) {
          threadIdx.x = x, threadIdx.y = y, threadIdx.z = z;
          [[clang::always_inline]] kernel(arguments...);
          if (luhip_promoted) return;
        }
      }
    }
  }
  static void trace_loop(luhip_cpu_block *block, unsigned start, A... arguments) {
    luhip_enter(block);
    for (unsigned i = start, n = blockDim.x * blockDim.y * blockDim.z; i < n; i++) {
      threadIdx.x = i % blockDim.x, threadIdx.y = i / blockDim.x % blockDim.y,
      threadIdx.z = i / blockDim.x / blockDim.y;
      block->thread = i;
      [[clang::noinline]] kernel(arguments...);
      if (luhip_promoted) return;
    }
  }

  /* Arguments lie in the buffer one after the other, each at the next multiple of its alignment. */
  struct layout {
    luhip_cpu_param params[sizeof...(A) + 1];
    unsigned bytes, align;
    constexpr layout() : params{}, bytes(0), align(1) {
      unsigned i = 0;
      ((place(params[i++], sizeof(A), alignof(A))), ...);
    }
    constexpr void place(luhip_cpu_param &param, unsigned size, unsigned alignment) {
      bytes = (bytes + alignment - 1) / alignment * alignment;
      if (alignment > align) align = alignment;
      param.offset = bytes;
      param.size = size;
      bytes += size;
    }
  };
  static constexpr layout packed{};

  template <unsigned i, class T> static __forceinline__ const T &argument(const void *arguments) {
    return *reinterpret_cast<const T *>(static_cast<const char *>(arguments) + packed.params[i].offset);
  }
  template <size_t... i>
  static __forceinline__ void unpack(std::index_sequence<i...>, luhip_cpu_block *block, const void *arguments,
                                     unsigned start, bool trace) {
    if (trace)
      trace_loop(block, start, argument<i, A>(arguments)...);
    else
      loop(block, start, argument<i, A>(arguments)...);
  }
  static void run(luhip_cpu_block *block, const void *arguments, unsigned start) {
    unpack(std::make_index_sequence<sizeof...(A)>{}, block, arguments, start, false);
  }
  static void trace(luhip_cpu_block *block, const void *arguments, unsigned start) {
    unpack(std::make_index_sequence<sizeof...(A)>{}, block, arguments, start, true);
  }
};

/* What the descriptor says, under names that no program's own macros have: LUHIP_EXPORT stands in its text. */
template <auto kernel> struct luhip_described : luhip_wrapper<kernel> {
  using luhip_base = luhip_wrapper<kernel>;
  static constexpr unsigned luhip_nparams = sizeof(luhip_base::packed.params) / sizeof(luhip_cpu_param) - 1;
  static constexpr unsigned luhip_bytes = luhip_base::packed.bytes, luhip_align = luhip_base::packed.align;
  static constexpr const luhip_cpu_param *luhip_params = luhip_base::packed.params;
  static constexpr auto luhip_run = luhip_base::run, luhip_trace = luhip_base::trace;
};

/* The descriptor of kernel i. Its symbol has this name in any namespace, named or not. */
#define LUHIP_EXPORT(luhip_i, ...)                                                                                     \
  extern "C" __attribute__((__used__, __visibility__("protected")))                                                    \
  const luhip_cpu_kernel luhip_kd_##luhip_i = {LUHIP_CPU_ABI,                                                          \
                                               luhip_described<(__VA_ARGS__)>::luhip_nparams,                          \
                                               luhip_described<(__VA_ARGS__)>::luhip_bytes,                            \
                                               luhip_described<(__VA_ARGS__)>::luhip_align,                            \
                                               luhip_described<(__VA_ARGS__)>::luhip_params,                           \
                                               (void (*)())(__VA_ARGS__),                                              \
                                               luhip_described<(__VA_ARGS__)>::luhip_run,                              \
                                               luhip_described<(__VA_ARGS__)>::luhip_trace};

/* __launch_bounds__ of kernel i, beside its descriptor; of a template, for all its instances. */
template <class... A> constexpr unsigned luhip_first_bound(unsigned long long threads, A...) {
  return threads < LUHIP_CPU_MAX_THREADS ? unsigned(threads) : unsigned(LUHIP_CPU_MAX_THREADS);
}
#define LUHIP_BOUNDS(luhip_i, ...)                                                                                     \
  extern "C" __attribute__((__used__, __visibility__("protected"))) const unsigned luhip_kb_##luhip_i =                \
      ::luhip_first_bound(__VA_ARGS__);
#define LUHIP_TEMPLATE_BOUNDS(luhip_i, luhip_b, ...)                                                                   \
  __VA_ARGS__ constexpr unsigned luhip_tb_##luhip_i = ::luhip_first_bound luhip_b;

#endif
