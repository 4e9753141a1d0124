/*
 * luhip_cuda.h - what every source for an NVIDIA GPU begins with: HIP's words, and the parts of the C and C++ libraries
 * that NVRTC does not have. Read by NVRTC, never by the compiler of the library.
 *
 * NVRTC declares CUDA's own functions, vector types and mathematics itself. The standard library's small part is the
 * CPU device's (luhip_std.h). What users often define themselves is a template here, so that theirs is preferred.
 */
#ifndef LUHIP_CUDA_H
#define LUHIP_CUDA_H

#define __HIPCC__ 1
#define __HIPCC_RTC__ 1
#define __HIP__ 1
#define __HIP_PLATFORM_NVIDIA__ 1
#define __HIP_DEVICE_COMPILE__ 1
#define __LUHIP_CUDA__ 1

/* ---- what other compilers predefine ------------------------------------------------------------------------------ */

#define __SIZE_TYPE__ unsigned long
#define __PTRDIFF_TYPE__ long
#define __INT8_TYPE__ signed char
#define __INT16_TYPE__ short
#define __INT32_TYPE__ int
#define __INT64_TYPE__ long long /* as CUDA's own headers have it */
#define __UINT8_TYPE__ unsigned char
#define __UINT16_TYPE__ unsigned short
#define __UINT32_TYPE__ unsigned int
#define __UINT64_TYPE__ unsigned long long
#define __INTPTR_TYPE__ long long
#define __UINTPTR_TYPE__ unsigned long long
#define __INTMAX_TYPE__ long long
#define __UINTMAX_TYPE__ unsigned long long
#define __FLT_MANT_DIG__ 24
#define __FLT_DIG__ 6
#define __FLT_DECIMAL_DIG__ 9
#define __FLT_MIN_EXP__ (-125)
#define __FLT_MAX_EXP__ 128
#define __FLT_MIN_10_EXP__ (-37)
#define __FLT_MAX_10_EXP__ 38
#define __FLT_MAX__ 3.40282347e+38F
#define __FLT_MIN__ 1.17549435e-38F
#define __FLT_EPSILON__ 1.19209290e-7F
#define __FLT_DENORM_MIN__ 1.40129846e-45F
#define __DBL_MANT_DIG__ 53
#define __DBL_DIG__ 15
#define __DBL_DECIMAL_DIG__ 17
#define __DBL_MIN_EXP__ (-1021)
#define __DBL_MAX_EXP__ 1024
#define __DBL_MIN_10_EXP__ (-307)
#define __DBL_MAX_10_EXP__ 308
#define __DBL_MAX__ 1.7976931348623157e+308
#define __DBL_MIN__ 2.2250738585072014e-308
#define __DBL_EPSILON__ 2.2204460492503131e-16
#define __DBL_DENORM_MIN__ 4.9406564584124654e-324
#define __builtin_inff() __builtin_bit_cast(float, 0x7f800000)
#define __builtin_nanf(luhip_text) __builtin_bit_cast(float, 0x7fc00000)
#define __builtin_inf() __builtin_bit_cast(double, 0x7ff0000000000000ll)
#define __builtin_nan(luhip_text) __builtin_bit_cast(double, 0x7ff8000000000000ll)
#define __builtin_offsetof(luhip_t, luhip_m) ((size_t)__INTADDR__(&(((luhip_t *)0)->luhip_m)))
#define __builtin_trap() __trap()
#define __builtin_memcpy memcpy
#define __builtin_memset memset
#define __builtin_memmove memmove
#define __builtin_popcount(luhip_v) __popc(luhip_v)
#define __builtin_popcountll(luhip_v) __popcll(luhip_v)
#define __builtin_clz(luhip_v) __clz(luhip_v)
#define __builtin_clzll(luhip_v) __clzll(luhip_v)
#define __builtin_ctz(luhip_v) (__ffs(luhip_v) - 1)
#define __builtin_ctzll(luhip_v) (__ffsll(luhip_v) - 1)
#define __builtin_readcyclecounter() ((unsigned long long)clock64())
#define __builtin_nontemporal_load(luhip_p) (*(luhip_p))
#define __builtin_nontemporal_store(luhip_v, luhip_p) ((void)(*(luhip_p) = (luhip_v)))

/* ---- <math.h>, <string.h>, <stdlib.h> ---------------------------------------------------------------------------- */

#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define HUGE_VALF (__builtin_inff())
#define HUGE_VAL (__builtin_inf())
#define M_E 2.71828182845904523536
#define M_LOG2E 1.44269504088896340736
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

static __device__ __forceinline__ void *memmove(void *to, const void *from, size_t bytes) {
  char *a = (char *)to;
  const char *b = (const char *)from;
  if (a < b)
    for (size_t i = 0; i < bytes; i++) a[i] = b[i];
  else
    for (size_t i = bytes; i > 0; i--) a[i - 1] = b[i - 1];
  return to;
}
static __device__ __forceinline__ int memcmp(const void *a, const void *b, size_t bytes) {
  const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
  for (size_t i = 0; i < bytes; i++)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}

#include "luhip_std.h"

namespace std {
using ::abs;
using ::acos;
using ::acosh;
using ::asin;
using ::asinh;
using ::atan;
using ::atan2;
using ::atanh;
using ::cbrt;
using ::ceil;
using ::copysign;
using ::cos;
using ::cosh;
using ::erf;
using ::erfc;
using ::exp;
using ::exp2;
using ::expm1;
using ::fabs;
using ::fdim;
using ::floor;
using ::fma;
using ::fmax;
using ::fmin;
using ::fmod;
using ::frexp;
using ::hypot;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::ldexp;
using ::lgamma;
using ::llrint;
using ::llround;
using ::log;
using ::log10;
using ::log1p;
using ::log2;
using ::lrint;
using ::lround;
using ::modf;
using ::nearbyint;
using ::nextafter;
using ::pow;
using ::remainder;
using ::rint;
using ::round;
using ::scalbn;
using ::signbit;
using ::sin;
using ::sinh;
using ::sqrt;
using ::tan;
using ::tanh;
using ::tgamma;
using ::trunc;
} // namespace std

LUHIP_LAZY(int) void abort() {
  __trap();
}

/* ---- HIP's names ------------------------------------------------------------------------------------------------- */

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
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_DYNAMIC_SHARED_ATTRIBUTE
#define warpSize 32 /* a constant, as array sizes need it */

/* ---- warps: HIP's operations are by the lanes that are there, and have no mask ---------------------------------- */

template <class T> __device__ __forceinline__ T luhip_shfl(T value, int source, int width = 32) {
  return T(__shfl_sync(__activemask(), value, source, width));
}
template <class T> __device__ __forceinline__ T luhip_shfl_up(T value, unsigned delta, int width = 32) {
  return T(__shfl_up_sync(__activemask(), value, delta, width));
}
template <class T> __device__ __forceinline__ T luhip_shfl_down(T value, unsigned delta, int width = 32) {
  return T(__shfl_down_sync(__activemask(), value, delta, width));
}
template <class T> __device__ __forceinline__ T luhip_shfl_xor(T value, int mask, int width = 32) {
  return T(__shfl_xor_sync(__activemask(), value, mask, width));
}
static __device__ __forceinline__ unsigned long long luhip_ballot(int yes) {
  return __ballot_sync(__activemask(), yes);
}
static __device__ __forceinline__ int luhip_any(int yes) {
  return __any_sync(__activemask(), yes);
}
static __device__ __forceinline__ int luhip_all(int yes) {
  return __all_sync(__activemask(), yes);
}
#define __shfl luhip_shfl
#define __shfl_up luhip_shfl_up
#define __shfl_down luhip_shfl_down
#define __shfl_xor luhip_shfl_xor
#define __ballot luhip_ballot
#define __any luhip_any
#define __all luhip_all

static __device__ __forceinline__ unsigned __lane_id() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
static __device__ __forceinline__ long long wall_clock64() {
  long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

/* ---- atomics that CUDA lacks ------------------------------------------------------------------------------------- */

#define LUHIP_ATOMIC(T, W, to, from, name, better)                                                                     \
  LUHIP_LAZY(T) T name(luhip_same<L> *p, luhip_same<L> v) {                                                            \
    W old = *(volatile W *)p, seen;                                                                                    \
    do {                                                                                                               \
      seen = old;                                                                                                      \
      if (!(v better from(seen))) break;                                                                               \
      old = atomicCAS((W *)p, seen, (W)to(v));                                                                         \
    } while (old != seen);                                                                                             \
    return from(old);                                                                                                  \
  }
LUHIP_ATOMIC(float, int, __float_as_int, __int_as_float, atomicMax, >)
LUHIP_ATOMIC(float, int, __float_as_int, __int_as_float, atomicMin, <)
LUHIP_ATOMIC(double, unsigned long long, __double_as_longlong, __longlong_as_double, atomicMax, >)
LUHIP_ATOMIC(double, unsigned long long, __double_as_longlong, __longlong_as_double, atomicMin, <)
#undef LUHIP_ATOMIC
LUHIP_LAZY(float) float atomicSub(luhip_same<L> *p, luhip_same<L> v) {
  return atomicAdd(p, -v);
}
LUHIP_LAZY(double) double atomicSub(luhip_same<L> *p, luhip_same<L> v) {
  return atomicAdd(p, -v);
}
template <class T> static inline T unsafeAtomicAdd(T *p, T v) {
  return atomicAdd(p, v);
}
template <class T> static inline T safeAtomicAdd(T *p, T v) {
  return atomicAdd(p, v);
}

/* ---- vector arithmetic, which HIP has and CUDA has not ------------------------------------------------------------ */

template <class V> struct luhip_lanes { static constexpr int count = 0; };
#define LUHIP_LANES(V, S)                                                                                              \
  template <> struct luhip_lanes<V##2> {                                                                               \
    typedef S scalar;                                                                                                  \
    static constexpr int count = 2;                                                                                    \
  };                                                                                                                   \
  template <> struct luhip_lanes<V##3> {                                                                               \
    typedef S scalar;                                                                                                  \
    static constexpr int count = 3;                                                                                    \
  };                                                                                                                   \
  template <> struct luhip_lanes<V##4> {                                                                               \
    typedef S scalar;                                                                                                  \
    static constexpr int count = 4;                                                                                    \
  };
LUHIP_LANES(char, signed char)
LUHIP_LANES(uchar, unsigned char)
LUHIP_LANES(short, short)
LUHIP_LANES(ushort, unsigned short)
LUHIP_LANES(int, int)
LUHIP_LANES(uint, unsigned)
LUHIP_LANES(float, float)
/* Not the wide ones of four, which CUDA 13 warns about wherever they are named. */
template <> struct luhip_lanes<longlong2> {
  typedef long long scalar;
  static constexpr int count = 2;
};
template <> struct luhip_lanes<longlong3> {
  typedef long long scalar;
  static constexpr int count = 3;
};
template <> struct luhip_lanes<ulonglong2> {
  typedef unsigned long long scalar;
  static constexpr int count = 2;
};
template <> struct luhip_lanes<ulonglong3> {
  typedef unsigned long long scalar;
  static constexpr int count = 3;
};
template <> struct luhip_lanes<double2> {
  typedef double scalar;
  static constexpr int count = 2;
};
template <> struct luhip_lanes<double3> {
  typedef double scalar;
  static constexpr int count = 3;
};
#undef LUHIP_LANES
template <class V, int n>
using luhip_if_lanes = std::enable_if_t<luhip_lanes<V>::count == n, typename luhip_lanes<V>::scalar>;
#define LUHIP_OPERATOR(op)                                                                                             \
  template <class V, class S = luhip_if_lanes<V, 2>, int = 2> constexpr V operator op(const V &a, const V &b) {        \
    return V{S(a.x op b.x), S(a.y op b.y)};                                                                            \
  }                                                                                                                    \
  template <class V, class S = luhip_if_lanes<V, 3>, char = 3> constexpr V operator op(const V &a, const V &b) {       \
    return V{S(a.x op b.x), S(a.y op b.y), S(a.z op b.z)};                                                             \
  }                                                                                                                    \
  template <class V, class S = luhip_if_lanes<V, 4>, short = 4> constexpr V operator op(const V &a, const V &b) {      \
    return V{S(a.x op b.x), S(a.y op b.y), S(a.z op b.z), S(a.w op b.w)};                                              \
  }                                                                                                                    \
  template <class V, class S = luhip_if_lanes<V, 2>, int = 2>                                                          \
  constexpr V operator op(const V &a, typename luhip_lanes<V>::scalar b) {                                             \
    return V{S(a.x op b), S(a.y op b)};                                                                                \
  }                                                                                                                    \
  template <class V, class S = luhip_if_lanes<V, 3>, char = 3>                                                         \
  constexpr V operator op(const V &a, typename luhip_lanes<V>::scalar b) {                                             \
    return V{S(a.x op b), S(a.y op b), S(a.z op b)};                                                                   \
  }                                                                                                                    \
  template <class V, class S = luhip_if_lanes<V, 4>, short = 4>                                                        \
  constexpr V operator op(const V &a, typename luhip_lanes<V>::scalar b) {                                             \
    return V{S(a.x op b), S(a.y op b), S(a.z op b), S(a.w op b)};                                                      \
  }                                                                                                                    \
  template <class V, class S = luhip_if_lanes<V, 2>, int = 2>                                                          \
  constexpr V operator op(typename luhip_lanes<V>::scalar a, const V &b) {                                             \
    return V{S(a op b.x), S(a op b.y)};                                                                                \
  }                                                                                                                    \
  template <class V, class S = luhip_if_lanes<V, 3>, char = 3>                                                         \
  constexpr V operator op(typename luhip_lanes<V>::scalar a, const V &b) {                                             \
    return V{S(a op b.x), S(a op b.y), S(a op b.z)};                                                                   \
  }                                                                                                                    \
  template <class V, class S = luhip_if_lanes<V, 4>, short = 4>                                                        \
  constexpr V operator op(typename luhip_lanes<V>::scalar a, const V &b) {                                             \
    return V{S(a op b.x), S(a op b.y), S(a op b.z), S(a op b.w)};                                                      \
  }                                                                                                                    \
  template <class V, std::enable_if_t<(luhip_lanes<V>::count > 0), int> = 0>                                           \
  constexpr V &operator op##=(V &a, const V &b) {                                                                      \
    return a = a op b;                                                                                                 \
  }                                                                                                                    \
  template <class V, std::enable_if_t<(luhip_lanes<V>::count > 0), char> = 0>                                          \
  constexpr V &operator op##=(V &a, typename luhip_lanes<V>::scalar b) {                                               \
    return a = a op b;                                                                                                 \
  }
LUHIP_OPERATOR(+)
LUHIP_OPERATOR(-)
LUHIP_OPERATOR(*)
LUHIP_OPERATOR(/)
#undef LUHIP_OPERATOR
template <class V, std::enable_if_t<(luhip_lanes<V>::count > 0), int> = 0> constexpr V operator-(const V &a) {
  return typename luhip_lanes<V>::scalar(0) - a;
}

#endif
