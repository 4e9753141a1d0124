/*
 * hip/hip_bf16.h - bfloat16 under its three names.
 *
 * hip_bfloat16 (HIP 5) converts from float only when told to; __hip_bfloat16 (HIP 6), also called
 * __nv_bfloat16, converts by itself. Values round to nearest, ties to even; a NaN stays a NaN with its sign and
 * its upper payload bits. Arithmetic is done in float and rounded once per operation.
 */
#ifndef LUHIP_BF16_H
#define LUHIP_BF16_H
/* clang-format off: one function a line */
#include "../luhip_math.h"
#include "../luhip_atomics.h"
#include "../luhip_vector_types.h"

static inline constexpr unsigned short luhip_bf16_round(float f) {
  unsigned bits = luhip_bits<unsigned>(f);
  unsigned quiet = bits >> 16 | 0x40u;
  unsigned rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return (unsigned short)((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
static inline constexpr unsigned short luhip_bf16_truncate(float f) {
  unsigned bits = luhip_bits<unsigned>(f);
  return (unsigned short)((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u : bits >> 16);
}
static inline constexpr float luhip_bf16_widen(unsigned short bits) { return luhip_bits<float>((unsigned)bits << 16); }
/* double to float so that rounding float to bf16 afterwards rounds only once: odd when it was not exact. */
static inline constexpr float luhip_round_odd(double d) {
  float f = float(d);
  unsigned bits = luhip_bits<unsigned>(f);
  if (double(f) == d || (bits & 1u) || d != d || __builtin_isinf(f)) return f;
  bool outward = (double(f) < d) == (d > 0.0);
  return luhip_bits<float>(outward ? bits + 1u : bits - 1u);
}

struct hip_bfloat16 {
  unsigned short data;
  enum truncate_t { truncate };
  hip_bfloat16() = default;
  constexpr explicit hip_bfloat16(float f) : data(luhip_bf16_round(f)) {}
  constexpr explicit hip_bfloat16(float f, truncate_t) : data(luhip_bf16_truncate(f)) {}
  constexpr operator float() const { return luhip_bf16_widen(data); }
  static constexpr hip_bfloat16 round_to_bfloat16(float f) { return hip_bfloat16(f); }
  static constexpr hip_bfloat16 round_to_bfloat16(float f, truncate_t) { return hip_bfloat16(f, truncate); }
};

struct __hip_bfloat16_raw {
  unsigned short x;
};
struct __hip_bfloat16 {
  union {
    unsigned short data;
    unsigned short __x;
  };
  __hip_bfloat16() = default;
  constexpr __hip_bfloat16(float f) : data(luhip_bf16_round(f)) {}
  constexpr __hip_bfloat16(double d) : data(luhip_bf16_round(luhip_round_odd(d))) {}
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  constexpr __hip_bfloat16(T v) : data(luhip_bf16_round(luhip_round_odd(double(v)))) {}
  constexpr __hip_bfloat16(const __hip_bfloat16_raw &raw) : data(raw.x) {}
  constexpr operator float() const { return luhip_bf16_widen(data); }
  constexpr operator __hip_bfloat16_raw() const { return __hip_bfloat16_raw{data}; }
};
typedef __hip_bfloat16 __nv_bfloat16, nv_bfloat16;

#define LUHIP_BF16_OPERATORS(T)                                                                                        \
  static inline constexpr T operator+(T a, T b) { return T(float(a) + float(b)); }                                     \
  static inline constexpr T operator-(T a, T b) { return T(float(a) - float(b)); }                                     \
  static inline constexpr T operator*(T a, T b) { return T(float(a) * float(b)); }                                     \
  static inline constexpr T operator/(T a, T b) { return T(float(a) / float(b)); }                                     \
  static inline constexpr T operator+(T a) { return a; }                                                               \
  static inline constexpr T operator-(T a) { return a.data ^= 0x8000, a; }                                             \
  static inline constexpr T &operator+=(T &a, T b) { return a = a + b; }                                               \
  static inline constexpr T &operator-=(T &a, T b) { return a = a - b; }                                               \
  static inline constexpr T &operator*=(T &a, T b) { return a = a * b; }                                               \
  static inline constexpr T &operator/=(T &a, T b) { return a = a / b; }                                               \
  static inline constexpr T &operator++(T &a) { return a = T(float(a) + 1.0f); }                                       \
  static inline constexpr T &operator--(T &a) { return a = T(float(a) - 1.0f); }                                       \
  static inline constexpr bool operator==(T a, T b) { return float(a) == float(b); }                                   \
  static inline constexpr bool operator!=(T a, T b) { return float(a) != float(b); }                                   \
  static inline constexpr bool operator<(T a, T b) { return float(a) < float(b); }                                     \
  static inline constexpr bool operator>(T a, T b) { return float(a) > float(b); }                                     \
  static inline constexpr bool operator<=(T a, T b) { return float(a) <= float(b); }                                   \
  static inline constexpr bool operator>=(T a, T b) { return float(a) >= float(b); }                                   \
  static inline constexpr bool isnan(T a) { return (a.data & 0x7fff) > 0x7f80; }                                       \
  static inline constexpr bool isinf(T a) { return (a.data & 0x7fff) == 0x7f80; }
LUHIP_BF16_OPERATORS(hip_bfloat16)
LUHIP_BF16_OPERATORS(__hip_bfloat16)
#undef LUHIP_BF16_OPERATORS

struct alignas(4) __hip_bfloat162 {
  __hip_bfloat16 x, y;
  __hip_bfloat162() = default;
  constexpr __hip_bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) : x(a), y(b) {}
};
typedef __hip_bfloat162 __nv_bfloat162, nv_bfloat162;
#define LUHIP_BF162(op)                                                                                                \
  static inline constexpr __hip_bfloat162 operator op(__hip_bfloat162 a, __hip_bfloat162 b) {                          \
    return {a.x op b.x, a.y op b.y};                                                                                   \
  }                                                                                                                    \
  static inline constexpr __hip_bfloat162 &operator op##=(__hip_bfloat162 &a, __hip_bfloat162 b) { return a = a op b; }
LUHIP_BF162(+)
LUHIP_BF162(-)
LUHIP_BF162(*)
LUHIP_BF162(/)
#undef LUHIP_BF162
static inline constexpr __hip_bfloat162 operator-(__hip_bfloat162 a) { return {-a.x, -a.y}; }
static inline constexpr bool operator==(__hip_bfloat162 a, __hip_bfloat162 b) { return a.x == b.x && a.y == b.y; }
static inline constexpr bool operator!=(__hip_bfloat162 a, __hip_bfloat162 b) { return !(a == b); }

static inline __hip_bfloat16 __float2bfloat16(float f) { return f; }
static inline __hip_bfloat16 __float2bfloat16_rn(float f) { return f; }
static inline __hip_bfloat16 __float2bfloat16_rz(float f) { return __hip_bfloat16_raw{luhip_bf16_truncate(f)}; }
static inline __hip_bfloat16 __double2bfloat16(double d) { return d; }
static inline float __bfloat162float(__hip_bfloat16 a) { return a; }
static inline unsigned short __bfloat16_as_ushort(__hip_bfloat16 a) { return a.data; }
static inline short __bfloat16_as_short(__hip_bfloat16 a) { return short(a.data); }
static inline __hip_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __hip_bfloat16_raw{bits}; }
static inline __hip_bfloat16 __short_as_bfloat16(short bits) { return __hip_bfloat16_raw{(unsigned short)bits}; }
static inline __hip_bfloat162 __floats2bfloat162_rn(float a, float b) { return {a, b}; }
static inline __hip_bfloat162 __float22bfloat162_rn(float2 a) { return {a.x, a.y}; }
static inline __hip_bfloat162 __float2bfloat162_rn(float a) { return {a, a}; }
static inline __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return {a, b}; }
static inline __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 a) { return {a, a}; }
static inline __hip_bfloat162 make_bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return {a, b}; }
static inline float2 __bfloat1622float2(__hip_bfloat162 a) { return make_float2(a.x, a.y); }
static inline float __low2float(__hip_bfloat162 a) { return a.x; }
static inline float __high2float(__hip_bfloat162 a) { return a.y; }
static inline __hip_bfloat16 __low2bfloat16(__hip_bfloat162 a) { return a.x; }
static inline __hip_bfloat16 __high2bfloat16(__hip_bfloat162 a) { return a.y; }

static inline __hip_bfloat16 __hadd(__hip_bfloat16 a, __hip_bfloat16 b) { return a + b; }
static inline __hip_bfloat16 __hsub(__hip_bfloat16 a, __hip_bfloat16 b) { return a - b; }
static inline __hip_bfloat16 __hmul(__hip_bfloat16 a, __hip_bfloat16 b) { return a * b; }
static inline __hip_bfloat16 __hdiv(__hip_bfloat16 a, __hip_bfloat16 b) { return a / b; }
static inline __hip_bfloat16 __hneg(__hip_bfloat16 a) { return -a; }
static inline __hip_bfloat16 __habs(__hip_bfloat16 a) { return __hip_bfloat16_raw{(unsigned short)(a.data & 0x7fff)}; }
/* The product of two bf16 is exact in double, and so is all of the sum that can decide the rounding. */
static inline __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return fma(double(a), double(b), double(c));
}
static inline bool __hisnan(__hip_bfloat16 a) { return isnan(a); }
static inline bool __hisinf(__hip_bfloat16 a) { return isinf(a); }
static inline __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) { return fmaxf(a, b); }
static inline __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) { return fminf(a, b); }
static inline bool __heq(__hip_bfloat16 a, __hip_bfloat16 b) { return a == b; }
static inline bool __hne(__hip_bfloat16 a, __hip_bfloat16 b) { return a < b || a > b; }
static inline bool __hlt(__hip_bfloat16 a, __hip_bfloat16 b) { return a < b; }
static inline bool __hle(__hip_bfloat16 a, __hip_bfloat16 b) { return a <= b; }
static inline bool __hgt(__hip_bfloat16 a, __hip_bfloat16 b) { return a > b; }
static inline bool __hge(__hip_bfloat16 a, __hip_bfloat16 b) { return a >= b; }
static inline __hip_bfloat162 __hadd2(__hip_bfloat162 a, __hip_bfloat162 b) { return a + b; }
static inline __hip_bfloat162 __hsub2(__hip_bfloat162 a, __hip_bfloat162 b) { return a - b; }
static inline __hip_bfloat162 __hmul2(__hip_bfloat162 a, __hip_bfloat162 b) { return a * b; }
static inline __hip_bfloat162 __h2div(__hip_bfloat162 a, __hip_bfloat162 b) { return a / b; }
static inline __hip_bfloat162 __hneg2(__hip_bfloat162 a) { return -a; }
static inline __hip_bfloat162 __hfma2(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
#define LUHIP_BF16_FUNCTION(name, f)                                                                                   \
  static inline __hip_bfloat16 h##name(__hip_bfloat16 a) { return f(float(a)); }
LUHIP_BF16_FUNCTION(sin, sinf)
LUHIP_BF16_FUNCTION(cos, cosf)
LUHIP_BF16_FUNCTION(exp, expf)
LUHIP_BF16_FUNCTION(exp2, exp2f)
LUHIP_BF16_FUNCTION(exp10, exp10f)
LUHIP_BF16_FUNCTION(log, logf)
LUHIP_BF16_FUNCTION(log2, log2f)
LUHIP_BF16_FUNCTION(log10, log10f)
LUHIP_BF16_FUNCTION(sqrt, sqrtf)
LUHIP_BF16_FUNCTION(rsqrt, rsqrtf)
LUHIP_BF16_FUNCTION(rcp, 1.0f /)
LUHIP_BF16_FUNCTION(ceil, ceilf)
LUHIP_BF16_FUNCTION(floor, floorf)
LUHIP_BF16_FUNCTION(trunc, truncf)
LUHIP_BF16_FUNCTION(rint, rintf)
#undef LUHIP_BF16_FUNCTION

static inline __hip_bfloat16 atomicAdd(__hip_bfloat16 *address, __hip_bfloat16 v) {
  return luhip_atomic_update<unsigned short>(address, [v](__hip_bfloat16 old) { return old + v; });
}
static inline __hip_bfloat162 atomicAdd(__hip_bfloat162 *address, __hip_bfloat162 v) {
  return luhip_atomic_update<unsigned>(address, [v](__hip_bfloat162 old) { return old + v; });
}

#endif
