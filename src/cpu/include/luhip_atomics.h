/*
 * luhip_atomics.h - HIP's atomic functions, on global, shared and local memory.
 *
 * The blocks of a launch run on several OS threads at once, so global memory takes real atomics; order is relaxed, as on a
 * GPU. Operations the processor lacks (floating point, inc, dec, min, max) are compare-and-swap loops. Scopes
 * (_block, _system) mean nothing here: every atomic is seen by the whole machine.
 */
#ifndef LUHIP_ATOMICS_H
#define LUHIP_ATOMICS_H
/* clang-format off: one function a line */
#include "luhip_std.h"

/* v -> f(v) at address; returns the old value. The word is compared as bits, so that NaN and -0 do not loop. */
template <class Word, class T, class F> static inline T luhip_atomic_update(T *address, F f) {
  Word *word = reinterpret_cast<Word *>(address);
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED), next;
  do {
    next = __builtin_bit_cast(Word, f(__builtin_bit_cast(T, old)));
  } while (!__atomic_compare_exchange_n(word, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return __builtin_bit_cast(T, old);
}
template <class Word, class T> static inline T luhip_atomic_cas(T *address, T expected, T desired) {
  Word old = __builtin_bit_cast(Word, expected);
  __atomic_compare_exchange_n(reinterpret_cast<Word *>(address), &old, __builtin_bit_cast(Word, desired), false,
                              __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return __builtin_bit_cast(T, old);
}
template <class Word, class T> static inline T luhip_atomic_exchange(T *address, T v) {
  return __builtin_bit_cast(T, __atomic_exchange_n(reinterpret_cast<Word *>(address), __builtin_bit_cast(Word, v),
                                                   __ATOMIC_RELAXED));
}
/* min and max: memory is only written while the new value wins, as most calls do not change it. */
template <class Word, class T, class F> static inline T luhip_atomic_choose(T *address, T v, F wins) {
  Word *word = reinterpret_cast<Word *>(address);
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (wins(v, __builtin_bit_cast(T, old)) &&
         !__atomic_compare_exchange_n(word, &old, __builtin_bit_cast(Word, v), true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
  return __builtin_bit_cast(T, old);
}

/* F(T, Word, suffix) for each type and for the plain name and both scopes. */
#define LUHIP_ATOMIC_SCOPES(F, T, Word) F(T, Word, ) F(T, Word, _block) F(T, Word, _system)

#define LUHIP_ATOMIC_ANY(T, Word, suffix)                                                                              \
  static inline T atomicExch##suffix(T *address, T v) { return luhip_atomic_exchange<Word>(address, v); }              \
  static inline T atomicCAS##suffix(T *address, T expected, T desired) {                                               \
    return luhip_atomic_cas<Word>(address, expected, desired);                                                         \
  }                                                                                                                    \
  static inline T atomicMin##suffix(T *address, T v) {                                                                 \
    return luhip_atomic_choose<Word>(address, v, [](T a, T b) { return a < b; });                                      \
  }                                                                                                                    \
  static inline T atomicMax##suffix(T *address, T v) {                                                                 \
    return luhip_atomic_choose<Word>(address, v, [](T a, T b) { return a > b; });                                      \
  }
#define LUHIP_ATOMIC_INTEGER(T, Word, suffix)                                                                          \
  LUHIP_ATOMIC_ANY(T, Word, suffix)                                                                                    \
  static inline T atomicAdd##suffix(T *address, T v) { return __atomic_fetch_add(address, v, __ATOMIC_RELAXED); }      \
  static inline T atomicSub##suffix(T *address, T v) { return __atomic_fetch_sub(address, v, __ATOMIC_RELAXED); }      \
  static inline T atomicAnd##suffix(T *address, T v) { return __atomic_fetch_and(address, v, __ATOMIC_RELAXED); }      \
  static inline T atomicOr##suffix(T *address, T v) { return __atomic_fetch_or(address, v, __ATOMIC_RELAXED); }        \
  static inline T atomicXor##suffix(T *address, T v) { return __atomic_fetch_xor(address, v, __ATOMIC_RELAXED); }
#define LUHIP_ATOMIC_FLOAT(T, Word, suffix)                                                                            \
  LUHIP_ATOMIC_ANY(T, Word, suffix)                                                                                    \
  static inline T atomicAdd##suffix(T *address, T v) {                                                                 \
    return luhip_atomic_update<Word>(address, [v](T old) { return old + v; });                                         \
  }                                                                                                                    \
  static inline T atomicSub##suffix(T *address, T v) { return atomicAdd##suffix(address, -v); }
#define LUHIP_ATOMIC_WRAP(T, Word, suffix)                                                                             \
  static inline T atomicInc##suffix(T *address, T limit) {                                                             \
    return luhip_atomic_update<Word>(address, [limit](T old) { return old >= limit ? 0u : old + 1u; });                \
  }                                                                                                                    \
  static inline T atomicDec##suffix(T *address, T limit) {                                                             \
    return luhip_atomic_update<Word>(address,                                                                          \
                                     [limit](T old) { return old == 0u || old > limit ? limit : old - 1u; });          \
  }

LUHIP_ATOMIC_SCOPES(LUHIP_ATOMIC_INTEGER, int, int)
LUHIP_ATOMIC_SCOPES(LUHIP_ATOMIC_INTEGER, unsigned, unsigned)
LUHIP_ATOMIC_SCOPES(LUHIP_ATOMIC_INTEGER, long, long)
LUHIP_ATOMIC_SCOPES(LUHIP_ATOMIC_INTEGER, unsigned long, unsigned long)
LUHIP_ATOMIC_SCOPES(LUHIP_ATOMIC_INTEGER, long long, long long)
LUHIP_ATOMIC_SCOPES(LUHIP_ATOMIC_INTEGER, unsigned long long, unsigned long long)
LUHIP_ATOMIC_SCOPES(LUHIP_ATOMIC_FLOAT, float, unsigned)
LUHIP_ATOMIC_SCOPES(LUHIP_ATOMIC_FLOAT, double, unsigned long)
LUHIP_ATOMIC_SCOPES(LUHIP_ATOMIC_WRAP, unsigned, unsigned)
#undef LUHIP_ATOMIC_SCOPES
#undef LUHIP_ATOMIC_ANY
#undef LUHIP_ATOMIC_INTEGER
#undef LUHIP_ATOMIC_FLOAT
#undef LUHIP_ATOMIC_WRAP

static inline unsigned short atomicCAS(unsigned short *address, unsigned short expected, unsigned short desired) {
  return luhip_atomic_cas<unsigned short>(address, expected, desired);
}
static inline void atomicAddNoRet(float *address, float v) { atomicAdd(address, v); }
static inline float unsafeAtomicAdd(float *address, float v) { return atomicAdd(address, v); }
static inline double unsafeAtomicAdd(double *address, double v) { return atomicAdd(address, v); }
static inline float safeAtomicAdd(float *address, float v) { return atomicAdd(address, v); }
static inline double safeAtomicAdd(double *address, double v) { return atomicAdd(address, v); }

/* ---- the compiler's scoped atomics; clang has the builtins for every target, gcc has not ---- */
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
#if !defined(__clang__)
template <class T> using luhip_word = std::conditional_t<sizeof(T) == 8, unsigned long, unsigned>;
template <class T, class V> static inline T luhip_fetch_add(T *p, V v) {
  if constexpr (std::is_integral_v<T>) return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
  else return luhip_atomic_update<luhip_word<T>>(p, [v](T old) { return T(old + v); });
}
template <class T> static inline bool luhip_compare_exchange(T *p, T *expected, T desired) {
  T old = luhip_atomic_cas<luhip_word<T>>(p, *expected, desired);
  bool same = __builtin_bit_cast(luhip_word<T>, old) == __builtin_bit_cast(luhip_word<T>, *expected);
  if (!same) *expected = old;
  return same;
}
#define __hip_atomic_load(p, order, scope)                                                                             \
  ({                                                                                                                   \
    __typeof__(*(p)) luhip_v;                                                                                          \
    __atomic_load(p, &luhip_v, order);                                                                                 \
    luhip_v;                                                                                                           \
  })
#define __hip_atomic_store(p, v, order, scope)                                                                         \
  ({                                                                                                                   \
    __typeof__(*(p)) luhip_v = (v);                                                                                    \
    __atomic_store(p, &luhip_v, order);                                                                                \
  })
#define __hip_atomic_exchange(p, v, order, scope) atomicExch(p, v)
#define __hip_atomic_compare_exchange_strong(p, e, v, order, failure, scope) luhip_compare_exchange(p, e, v)
#define __hip_atomic_compare_exchange_weak(p, e, v, order, failure, scope) luhip_compare_exchange(p, e, v)
#define __hip_atomic_fetch_add(p, v, order, scope) luhip_fetch_add(p, v)
#define __hip_atomic_fetch_and(p, v, order, scope) __atomic_fetch_and(p, v, order)
#define __hip_atomic_fetch_or(p, v, order, scope) __atomic_fetch_or(p, v, order)
#define __hip_atomic_fetch_xor(p, v, order, scope) __atomic_fetch_xor(p, v, order)
#define __hip_atomic_fetch_min(p, v, order, scope) atomicMin(p, v)
#define __hip_atomic_fetch_max(p, v, order, scope) atomicMax(p, v)
#endif

/* ---- loads and stores with a cache hint: a hint that the processor's caches do not need ---- */
#define LUHIP_LOAD(name)                                                                                               \
  template <class T> static inline T name(const T *p) { return *p; }
LUHIP_LOAD(__ldg)
LUHIP_LOAD(__ldca)
LUHIP_LOAD(__ldcg)
LUHIP_LOAD(__ldcs)
LUHIP_LOAD(__ldcv)
LUHIP_LOAD(__ldlu)
#undef LUHIP_LOAD
#define LUHIP_STORE(name)                                                                                              \
  template <class T, class V> static inline void name(T *p, V v) { *p = v; }
LUHIP_STORE(__stcg)
LUHIP_STORE(__stcs)
LUHIP_STORE(__stwb)
LUHIP_STORE(__stwt)
#undef LUHIP_STORE

#endif
