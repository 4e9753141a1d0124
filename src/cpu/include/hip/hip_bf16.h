/*
 * hip/hip_bf16.h - bfloat16 under its three names.
 *
 * hip_bfloat16 (HIP 5) converts from float only when told to; __hip_bfloat16 (HIP 6), also called
 * __nv_bfloat16, converts by itself. Values round to nearest, ties to even; a NaN stays a NaN with its sign and
 * its upper payload bits. Arithmetic is done in float and rounded once per operation.
 */
#ifndef LUHIP_BF16_H
#define LUHIP_BF16_H
/* One function a line. */
/* clang-format off */
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
/* a + b in double, rounded to odd as well: nothing that could tip a later rounding is lost. */
static inline constexpr double luhip_add_odd(double a, double b) {
  double sum = a + b, from_b = sum - a;
  double lost = (a - (sum - from_b)) + (b - from_b);
  unsigned long bits = luhip_bits<unsigned long>(sum);
  if (lost == 0.0 || lost != lost || (bits & 1ul)) return sum;
  return luhip_bits<double>((lost > 0.0) == (sum > 0.0) ? bits + 1ul : bits - 1ul);
}
template <class T> static inline constexpr float luhip_integer_odd(T v) {
  if constexpr (sizeof(T) < 8)
    return luhip_round_odd(double(v));
  else
    return luhip_round_odd(luhip_add_odd(double(v >> 32) * 4294967296.0, double(unsigned(v))));
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
  constexpr __hip_bfloat16(T v) : data(luhip_bf16_round(luhip_integer_odd(v))) {}
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

/* Not the same template as hip_fp16.h's of the same name. */
#define LUHIP_LAZY_BF16(T) template <class L = T, int = 16> static inline
static inline __hip_bfloat16 __float2bfloat16(float f) { return f; }
LUHIP_LAZY_BF16(float) __hip_bfloat16 __float2bfloat16_rn(luhip_same<L> f) { return f; }
LUHIP_LAZY_BF16(float) __hip_bfloat16 __float2bfloat16_rz(luhip_same<L> f) {
  return __hip_bfloat16_raw{luhip_bf16_truncate(f)};
}
static inline __hip_bfloat16 __double2bfloat16(double d) { return d; }
static inline float __bfloat162float(__hip_bfloat16 a) { return a; }
LUHIP_LAZY_BF16(__hip_bfloat16) unsigned short __bfloat16_as_ushort(luhip_same<L> a) { return a.data; }
LUHIP_LAZY_BF16(__hip_bfloat16) short __bfloat16_as_short(luhip_same<L> a) { return short(a.data); }
static inline __hip_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __hip_bfloat16_raw{bits}; }
static inline __hip_bfloat16 __short_as_bfloat16(short bits) { return __hip_bfloat16_raw{(unsigned short)bits}; }
LUHIP_LAZY_BF16(float) __hip_bfloat162 __floats2bfloat162_rn(luhip_same<L> a, luhip_same<L> b) { return {a, b}; }
LUHIP_LAZY_BF16(float2) __hip_bfloat162 __float22bfloat162_rn(luhip_same<L> a) { return {a.x, a.y}; }
LUHIP_LAZY_BF16(float) __hip_bfloat162 __float2bfloat162_rn(luhip_same<L> a) { return {a, a}; }
LUHIP_LAZY_BF16(__hip_bfloat16) __hip_bfloat162 __halves2bfloat162(luhip_same<L> a, luhip_same<L> b) { return {a, b}; }
LUHIP_LAZY_BF16(__hip_bfloat16) __hip_bfloat162 __bfloat162bfloat162(luhip_same<L> a) { return {a, a}; }
LUHIP_LAZY_BF16(__hip_bfloat16) __hip_bfloat162 make_bfloat162(luhip_same<L> a, luhip_same<L> b) { return {a, b}; }
LUHIP_LAZY_BF16(__hip_bfloat162) float2 __bfloat1622float2(luhip_same<L> a) { return make_float2(a.x, a.y); }
LUHIP_LAZY_BF16(__hip_bfloat162) float __low2float(luhip_same<L> a) { return a.x; }
LUHIP_LAZY_BF16(__hip_bfloat162) float __high2float(luhip_same<L> a) { return a.y; }
LUHIP_LAZY_BF16(__hip_bfloat162) __hip_bfloat16 __low2bfloat16(luhip_same<L> a) { return a.x; }
LUHIP_LAZY_BF16(__hip_bfloat162) __hip_bfloat16 __high2bfloat16(luhip_same<L> a) { return a.y; }

LUHIP_LAZY_BF16(__hip_bfloat16) __hip_bfloat16 __hadd(luhip_same<L> a, luhip_same<L> b) { return a + b; }
LUHIP_LAZY_BF16(__hip_bfloat16) __hip_bfloat16 __hsub(luhip_same<L> a, luhip_same<L> b) { return a - b; }
LUHIP_LAZY_BF16(__hip_bfloat16) __hip_bfloat16 __hmul(luhip_same<L> a, luhip_same<L> b) { return a * b; }
LUHIP_LAZY_BF16(__hip_bfloat16) __hip_bfloat16 __hdiv(luhip_same<L> a, luhip_same<L> b) { return a / b; }
LUHIP_LAZY_BF16(__hip_bfloat16) __hip_bfloat16 __hneg(luhip_same<L> a) { return -a; }
LUHIP_LAZY_BF16(__hip_bfloat16) __hip_bfloat16 __habs(luhip_same<L> a) {
  return __hip_bfloat16_raw{(unsigned short)(a.data & 0x7fff)};
}
/* The product of two bf16 is exact in double. */
LUHIP_LAZY_BF16(__hip_bfloat16) __hip_bfloat16 __hfma(luhip_same<L> a, luhip_same<L> b, luhip_same<L> c) {
  return luhip_add_odd(double(float(a)) * double(float(b)), double(float(c)));
}
LUHIP_LAZY_BF16(__hip_bfloat16) bool __hisnan(luhip_same<L> a) { return isnan(a); }
LUHIP_LAZY_BF16(__hip_bfloat16) bool __hisinf(luhip_same<L> a) { return isinf(a); }
LUHIP_LAZY_BF16(__hip_bfloat16) __hip_bfloat16 __hmax(luhip_same<L> a, luhip_same<L> b) { return fmaxf(a, b); }
LUHIP_LAZY_BF16(__hip_bfloat16) __hip_bfloat16 __hmin(luhip_same<L> a, luhip_same<L> b) { return fminf(a, b); }
LUHIP_LAZY_BF16(__hip_bfloat16) bool __heq(luhip_same<L> a, luhip_same<L> b) { return a == b; }
LUHIP_LAZY_BF16(__hip_bfloat16) bool __hne(luhip_same<L> a, luhip_same<L> b) { return a < b || a > b; }
LUHIP_LAZY_BF16(__hip_bfloat16) bool __hlt(luhip_same<L> a, luhip_same<L> b) { return a < b; }
LUHIP_LAZY_BF16(__hip_bfloat16) bool __hle(luhip_same<L> a, luhip_same<L> b) { return a <= b; }
LUHIP_LAZY_BF16(__hip_bfloat16) bool __hgt(luhip_same<L> a, luhip_same<L> b) { return a > b; }
LUHIP_LAZY_BF16(__hip_bfloat16) bool __hge(luhip_same<L> a, luhip_same<L> b) { return a >= b; }
LUHIP_LAZY_BF16(__hip_bfloat162) __hip_bfloat162 __hadd2(luhip_same<L> a, luhip_same<L> b) { return a + b; }
LUHIP_LAZY_BF16(__hip_bfloat162) __hip_bfloat162 __hsub2(luhip_same<L> a, luhip_same<L> b) { return a - b; }
LUHIP_LAZY_BF16(__hip_bfloat162) __hip_bfloat162 __hmul2(luhip_same<L> a, luhip_same<L> b) { return a * b; }
LUHIP_LAZY_BF16(__hip_bfloat162) __hip_bfloat162 __h2div(luhip_same<L> a, luhip_same<L> b) { return a / b; }
LUHIP_LAZY_BF16(__hip_bfloat162) __hip_bfloat162 __hneg2(luhip_same<L> a) { return -a; }
LUHIP_LAZY_BF16(__hip_bfloat162) __hip_bfloat162 __hfma2(luhip_same<L> a, luhip_same<L> b, luhip_same<L> c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
#define LUHIP_BF16_FUNCTION(name, f)                                                                                   \
  LUHIP_LAZY_BF16(__hip_bfloat16) __hip_bfloat16 h##name(luhip_same<L> a) { return f(float(a)); }
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
LUHIP_BF16_FUNCTION(rcp, __frcp_rn)
LUHIP_BF16_FUNCTION(ceil, ceilf)
LUHIP_BF16_FUNCTION(floor, floorf)
LUHIP_BF16_FUNCTION(trunc, truncf)
LUHIP_BF16_FUNCTION(rint, rintf)
#undef LUHIP_BF16_FUNCTION

template <> struct luhip_atomic_word<__hip_bfloat16> : std::type_identity<unsigned short> {};
template <> struct luhip_atomic_word<__hip_bfloat162> : std::type_identity<unsigned> {};

#endif

#ifdef LUHIP_STRICT /* hiprtc has it where its header is included */
#undef __hip_bfloat16
#undef hip_bfloat16
#undef __nv_bfloat16
#undef nv_bfloat16
#undef __float2bfloat16
#undef __bfloat162float
#undef __bfloat16_as_ushort
#undef __ushort_as_bfloat16
#endif
