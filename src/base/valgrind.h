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

static inline uint64_t valgrind_request(uint64_t number, uint64_t first, uint64_t second) {
  uint64_t answer = 0;
#if defined(__x86_64__)
  volatile uint64_t words[6] = {number, first, second};
  __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
                   : "+d"(answer)
                   : "a"(words)
                   : "cc", "memory");
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

#endif
