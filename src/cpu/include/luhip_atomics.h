/*
 * luhip_atomics.h - HIP's atomic functions, on global, shared and local memory.
 *
 * The blocks of a launch run on several OS threads at once, so global memory takes real atomics; order is relaxed, as
 * on a GPU. Operations the processor lacks (floating point, inc, dec, min, max) are compare-and-swap loops. Scopes
 * (_block, _system) mean nothing here: every atomic is seen by the whole machine.
 *
 * Shared memory is seen by one OS thread alone, and the threads of a block take turns on it at barriers and warp
 * operations only: there a load and a store do, and a histogram in shared memory is three times as fast. Shared memory
 * is the module's thread-local storage. The loader tells how far that reaches about an anchor in it
 * (luhip_cpu_rt_tls); until then, and for an address elsewhere, an atomic is a real one.
 */
#ifndef LUHIP_ATOMICS_H
#define LUHIP_ATOMICS_H
/* One function a line. */
/* clang-format off */
#include "luhip_cpu_core.h"
#include "luhip_std.h"

/* The integer type that T is exchanged as; void for what atomics do not take. */
template <class T> struct luhip_atomic_word : std::type_identity<void> {};
template <> struct luhip_atomic_word<unsigned short> : std::type_identity<unsigned short> {};
template <> struct luhip_atomic_word<int> : std::type_identity<int> {};
template <> struct luhip_atomic_word<unsigned> : std::type_identity<unsigned> {};
template <> struct luhip_atomic_word<long> : std::type_identity<long> {};
template <> struct luhip_atomic_word<unsigned long> : std::type_identity<unsigned long> {};
template <> struct luhip_atomic_word<long long> : std::type_identity<long long> {};
template <> struct luhip_atomic_word<unsigned long long> : std::type_identity<unsigned long long> {};
template <> struct luhip_atomic_word<float> : std::type_identity<unsigned> {};
template <> struct luhip_atomic_word<double> : std::type_identity<unsigned long> {};

struct luhip_tls_range {
  size_t before, bytes; /* the anchor's offset in the thread-local block, and the block's size */
};
extern "C" {
__attribute__((used, visibility("protected"))) struct luhip_tls_range luhip_cpu_rt_tls;
__attribute__((visibility("hidden"))) __thread char luhip_tls_anchor;
}
static __forceinline__ bool luhip_is_shared(const void *address) {
  size_t from_anchor = size_t(static_cast<const char *>(address) - &luhip_tls_anchor);
  return from_anchor + luhip_cpu_rt_tls.before < luhip_cpu_rt_tls.bytes;
}

/* v -> f(v) at address; returns the old value. The word is compared as bits, so that NaN and -0 do not loop. */
template <class T, class F> static inline T luhip_atomic_update(T *address, F f) {
  typedef typename luhip_atomic_word<T>::type Word;
  Word *word = reinterpret_cast<Word *>(address);
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED), next = __builtin_bit_cast(Word, f(__builtin_bit_cast(T, old)));
  if (luhip_is_shared(address)) {
    __atomic_store_n(word, next, __ATOMIC_RELAXED);
  } else {
    while (!__atomic_compare_exchange_n(word, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      next = __builtin_bit_cast(Word, f(__builtin_bit_cast(T, old)));
  }
  return __builtin_bit_cast(T, old);
}
/* The same with an operation that the processor has, on integers. */
template <class T, class F, class A> static inline T luhip_atomic_native(T *address, F f, A atomic) {
  if (!luhip_is_shared(address)) return atomic();
  T old = __atomic_load_n(address, __ATOMIC_RELAXED);
  __atomic_store_n(address, f(old), __ATOMIC_RELAXED);
  return old;
}
/* min and max: memory is only written while the new value wins, as most calls do not change it. */
template <class T, class F> static inline T luhip_atomic_choose(T *address, T v, F wins) {
  typedef typename luhip_atomic_word<T>::type Word;
  Word *word = reinterpret_cast<Word *>(address);
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
  if (luhip_is_shared(address)) {
    if (wins(v, __builtin_bit_cast(T, old))) __atomic_store_n(word, __builtin_bit_cast(Word, v), __ATOMIC_RELAXED);
    return __builtin_bit_cast(T, old);
  }
  while (
      wins(v, __builtin_bit_cast(T, old)) &&
      !__atomic_compare_exchange_n(word, &old, __builtin_bit_cast(Word, v), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return __builtin_bit_cast(T, old);
}

/* One template a function: it takes any T that `allowed` holds for, and what converts to T as the operand. A source's
   own atomicAdd(double *, double), as written for devices that lack it, is preferred to these. */
#define LUHIP_ATOMIC(name, allowed, ...)                                                                               \
  template <class T, std::enable_if_t<allowed, int> = 0> static inline T name(T *address, luhip_same<T> v) __VA_ARGS__ \
  template <class T, std::enable_if_t<allowed, int> = 0> static inline T name##_block(T *address, luhip_same<T> v) {   \
    return name(address, v);                                                                                           \
  }                                                                                                                    \
  template <class T, std::enable_if_t<allowed, int> = 0> static inline T name##_system(T *address, luhip_same<T> v) {  \
    return name(address, v);                                                                                           \
  }
#define LUHIP_ANY (!std::is_void_v<typename luhip_atomic_word<T>::type> && !std::is_same_v<T, unsigned short>)
#define LUHIP_INTEGER (LUHIP_ANY && std::is_integral_v<T>)

/* Sums wrap around. */
template <class T, bool = std::is_integral_v<T>> struct luhip_wrapping : std::type_identity<T> {};
template <class T> struct luhip_wrapping<T, true> : std::make_unsigned<T> {};
#define LUHIP_NATIVE(op, builtin)                                                                                      \
  luhip_atomic_native(                                                                                                 \
      address, [v](T old) { return T(op); }, [=] { return builtin(address, v, __ATOMIC_RELAXED); })

LUHIP_ATOMIC(atomicAdd, LUHIP_ANY, {
  typedef typename luhip_wrapping<T>::type W;
  if constexpr (std::is_integral_v<T>)
    return LUHIP_NATIVE(W(old) + W(v), __atomic_fetch_add);
  else
    return luhip_atomic_update(address, [v](T old) { return old + v; });
})
LUHIP_ATOMIC(atomicSub, LUHIP_ANY, {
  typedef typename luhip_wrapping<T>::type W;
  if constexpr (std::is_integral_v<T>)
    return LUHIP_NATIVE(W(old) - W(v), __atomic_fetch_sub);
  else
    return luhip_atomic_update(address, [v](T old) { return old - v; });
})
LUHIP_ATOMIC(atomicExch, LUHIP_ANY, {
  typedef typename luhip_atomic_word<T>::type Word;
  Word *word = reinterpret_cast<Word *>(address), next = __builtin_bit_cast(Word, v);
  Word old = luhip_atomic_native(
      word, [next](Word) { return next; }, [=] { return __atomic_exchange_n(word, next, __ATOMIC_RELAXED); });
  return __builtin_bit_cast(T, old);
})
LUHIP_ATOMIC(atomicMin, LUHIP_ANY, { return luhip_atomic_choose(address, v, [](T a, T b) { return a < b; }); })
LUHIP_ATOMIC(atomicMax, LUHIP_ANY, { return luhip_atomic_choose(address, v, [](T a, T b) { return a > b; }); })
LUHIP_ATOMIC(atomicAnd, LUHIP_INTEGER, { return LUHIP_NATIVE(old & v, __atomic_fetch_and); })
LUHIP_ATOMIC(atomicOr, LUHIP_INTEGER, { return LUHIP_NATIVE(old | v, __atomic_fetch_or); })
LUHIP_ATOMIC(atomicXor, LUHIP_INTEGER, { return LUHIP_NATIVE(old ^ v, __atomic_fetch_xor); })
LUHIP_ATOMIC(atomicInc, (std::is_same_v<T, unsigned>), {
  return luhip_atomic_update(address, [v](T old) { return old >= v ? 0u : old + 1u; });
})
LUHIP_ATOMIC(atomicDec, (std::is_same_v<T, unsigned>), {
  return luhip_atomic_update(address, [v](T old) { return old == 0u || old > v ? v : old - 1u; });
})
#undef LUHIP_NATIVE
#undef LUHIP_ATOMIC

#define LUHIP_CAS(name)                                                                                                \
  template <class T, class W = typename luhip_atomic_word<T>::type, std::enable_if_t<!std::is_void_v<W>, int> = 0>     \
  static inline T name(T *address, luhip_same<T> expected, luhip_same<T> desired) {                                    \
    W *word = reinterpret_cast<W *>(address), old = __builtin_bit_cast(W, expected), wanted = old;                     \
    W next = __builtin_bit_cast(W, desired);                                                                           \
    if (luhip_is_shared(address)) {                                                                                    \
      old = __atomic_load_n(word, __ATOMIC_RELAXED);                                                                   \
      if (old == wanted) __atomic_store_n(word, next, __ATOMIC_RELAXED);                                               \
    } else {                                                                                                           \
      __atomic_compare_exchange_n(word, &old, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                        \
    }                                                                                                                  \
    return __builtin_bit_cast(T, old);                                                                                 \
  }
LUHIP_CAS(atomicCAS)
LUHIP_CAS(atomicCAS_block)
LUHIP_CAS(atomicCAS_system)
#undef LUHIP_CAS
#undef LUHIP_ANY
#undef LUHIP_INTEGER

template <class T> static inline void atomicAddNoRet(T *address, luhip_same<T> v) { atomicAdd(address, v); }
template <class T> static inline T unsafeAtomicAdd(T *address, luhip_same<T> v) { return atomicAdd(address, v); }
template <class T> static inline T safeAtomicAdd(T *address, luhip_same<T> v) { return atomicAdd(address, v); }

/* ---- the compiler's scoped atomics; clang has the builtins for every target, gcc has not ---- */
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
#if !defined(__clang__)
template <class T, class V> static inline T luhip_fetch_add(T *p, V v) {
  if constexpr (std::is_integral_v<T>)
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
  else
    return luhip_atomic_update(p, [v](T old) { return T(old + v); });
}
template <class T> static inline bool luhip_compare_exchange(T *p, T *expected, luhip_same<T> desired) {
  T old = atomicCAS(p, *expected, desired);
  bool same = __builtin_memcmp(&old, expected, sizeof old) == 0;
  *expected = old;
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
