/*
 * valgrind.h - the two things said to valgrind, without its headers.
 *
 * A request is an array of words and a sequence of rotations that a processor runs without any effect; valgrind knows
 * the sequence, takes the array and answers in its place. Elsewhere the answer is 0. The numbers are those of its
 * manual's chapter on client requests.
 */
#ifndef LUHIP_BASE_VALGRIND_H
#define LUHIP_BASE_VALGRIND_H

#include <stdbool.h>
#include <stdint.h>

enum { VALGRIND_IS_RUNNING = 0x1001, VALGRIND_REGISTER_STACK = 0x1501 };

#if defined(__x86_64__)
#define VALGRIND_SEQUENCE                                                                                              \
  "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
#endif

static inline uint64_t valgrind_request(uint64_t number, uint64_t first, uint64_t second) {
  uint64_t answer = 0;
#if defined(__x86_64__)
  volatile uint64_t words[6] = {number, first, second};
  __asm__ volatile(VALGRIND_SEQUENCE : "+d"(answer) : "a"(words) : "cc", "memory");
#else
  (void)number, (void)first, (void)second;
#endif
  return answer;
}

static inline bool valgrind_is_running(void) {
  return valgrind_request(VALGRIND_IS_RUNNING, 0, 0) != 0;
}

/* Bytes from low up to high are a stack: a jump there is a switch, not a frame of that size. */
static inline void valgrind_register_stack(const void *low, const void *high) {
  (void)valgrind_request(VALGRIND_REGISTER_STACK, (uintptr_t)low, (uintptr_t)high);
}

/* Where a signal handler led to another stack than it came from. valgrind is not told of that, takes the next move of
   the stack pointer for the change, and so misses the frame which that move makes: this is the move, down and up. The
   request between keeps the two from being one. */
static inline __attribute__((always_inline)) void valgrind_note_stack(void) {
#if defined(__x86_64__)
  volatile uint64_t words[6] = {VALGRIND_IS_RUNNING};
  uint64_t answer = 0;
  __asm__ volatile("subq $1024, %%rsp\n\t" VALGRIND_SEQUENCE "\n\taddq $1024, %%rsp"
                   : "+d"(answer)
                   : "a"(words)
                   : "cc", "memory");
#endif
}

#endif
