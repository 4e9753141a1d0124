/*
 * hip/hip_fp16.h - half and half2.
 *
 * __half wraps the compiler's _Float16. Where the processor has no half arithmetic each operation is done in float and
 * rounded once, which gives the same bits: float has more than twice the digits of half. Only fma needs double.
 */
#ifndef LUHIP_FP16_H
#define LUHIP_FP16_H
/* One function a line. */
/* clang-format off */
#include "../luhip_math.h"
#include "../luhip_atomics.h"
#include "../luhip_vector_types.h"

struct __half_raw {
  union {
    _Float16 data;
    unsigned short x;
  };
};

struct __half {
  union {
    _Float16 data;
    unsigned short __x;
  };

  __half() = default;
  constexpr __half(_Float16 v) : data(v) {}
  constexpr __half(float v) : data(_Float16(v)) {}
  constexpr __half(double v) : data(_Float16(v)) {}
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0> constexpr __half(T v) : data(_Float16(v)) {}
  constexpr __half(const __half_raw &raw) : data(raw.data) {}
  template <class T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0> constexpr operator T() const {
    return T(data);
  }
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0> constexpr operator T() const { return T(data); }
  constexpr operator __half_raw() const { return __half_raw{{data}}; }

  constexpr __half &operator+=(const __half &b) { return data = _Float16(data + b.data), *this; }
  constexpr __half &operator-=(const __half &b) { return data = _Float16(data - b.data), *this; }
  constexpr __half &operator*=(const __half &b) { return data = _Float16(data * b.data), *this; }
  constexpr __half &operator/=(const __half &b) { return data = _Float16(data / b.data), *this; }
  constexpr __half &operator++() { return data = _Float16(data + _Float16(1)), *this; }
  constexpr __half &operator--() { return data = _Float16(data - _Float16(1)), *this; }
  constexpr __half operator++(int) {
    __half old = *this;
    ++*this;
    return old;
  }
  constexpr __half operator--(int) {
    __half old = *this;
    --*this;
    return old;
  }
  constexpr __half operator+() const { return *this; }
  constexpr __half operator-() const { return __half(_Float16(-data)); }
};
typedef __half half;

#define LUHIP_HALF_OPERATORS(T)                                                                                        \
  static inline constexpr T operator+(const T &a, const T &b) { return T(a) += b; }                                    \
  static inline constexpr T operator-(const T &a, const T &b) { return T(a) -= b; }                                    \
  static inline constexpr T operator*(const T &a, const T &b) { return T(a) *= b; }                                    \
  static inline constexpr T operator/(const T &a, const T &b) { return T(a) /= b; }
LUHIP_HALF_OPERATORS(__half)
static inline constexpr bool operator==(const __half &a, const __half &b) { return a.data == b.data; }
static inline constexpr bool operator!=(const __half &a, const __half &b) { return a.data != b.data; }
static inline constexpr bool operator<(const __half &a, const __half &b) { return a.data < b.data; }
static inline constexpr bool operator>(const __half &a, const __half &b) { return a.data > b.data; }
static inline constexpr bool operator<=(const __half &a, const __half &b) { return a.data <= b.data; }
static inline constexpr bool operator>=(const __half &a, const __half &b) { return a.data >= b.data; }

struct __half2_raw {
  unsigned short x, y;
};
struct alignas(4) __half2 {
  __half x, y;

  __half2() = default;
  constexpr __half2(const __half &a, const __half &b) : x(a), y(b) {}
  __half2(const __half2_raw &raw) {
    x.__x = raw.x;
    y.__x = raw.y;
  }
  operator __half2_raw() const { return __half2_raw{x.__x, y.__x}; }
  constexpr __half2 &operator+=(const __half2 &b) { return x += b.x, y += b.y, *this; }
  constexpr __half2 &operator-=(const __half2 &b) { return x -= b.x, y -= b.y, *this; }
  constexpr __half2 &operator*=(const __half2 &b) { return x *= b.x, y *= b.y, *this; }
  constexpr __half2 &operator/=(const __half2 &b) { return x /= b.x, y /= b.y, *this; }
  constexpr __half2 &operator++() { return ++x, ++y, *this; }
  constexpr __half2 &operator--() { return --x, --y, *this; }
  constexpr __half2 operator++(int) {
    __half2 old = *this;
    ++*this;
    return old;
  }
  constexpr __half2 operator--(int) {
    __half2 old = *this;
    --*this;
    return old;
  }
  constexpr __half2 operator+() const { return *this; }
  constexpr __half2 operator-() const { return __half2(-x, -y); }
};
typedef __half2 half2;
LUHIP_HALF_OPERATORS(__half2)
#undef LUHIP_HALF_OPERATORS
static inline constexpr bool operator==(const __half2 &a, const __half2 &b) { return a.x == b.x && a.y == b.y; }
static inline constexpr bool operator!=(const __half2 &a, const __half2 &b) { return !(a == b); }
static inline constexpr bool operator<(const __half2 &a, const __half2 &b) { return a.x < b.x && a.y < b.y; }
static inline constexpr bool operator>(const __half2 &a, const __half2 &b) { return a.x > b.x && a.y > b.y; }
static inline constexpr bool operator<=(const __half2 &a, const __half2 &b) { return a.x <= b.x && a.y <= b.y; }
static inline constexpr bool operator>=(const __half2 &a, const __half2 &b) { return a.x >= b.x && a.y >= b.y; }

/* ---- conversions ---- */
static inline unsigned short __half_as_ushort(__half h) { return h.__x; }
LUHIP_LAZY(__half) short __half_as_short(luhip_same<L> h) { return short(h.__x); }
static inline __half __ushort_as_half(unsigned short bits) {
  __half h;
  h.__x = bits;
  return h;
}
LUHIP_LAZY(short) __half __short_as_half(luhip_same<L> bits) { return __ushort_as_half((unsigned short)bits); }

/* The neighbours of h: down, up. Not for NaN; infinity is its own neighbour outwards. */
static inline __half luhip_half_step(__half h, bool up) {
  unsigned bits = h.__x;
  if ((bits & 0x7fffu) == 0) return __ushort_as_half(up ? 1 : 0x8001);
  bool negative = bits & 0x8000u;
  if (negative == up) return __ushort_as_half((unsigned short)(bits - 1));
  return (bits & 0x7fffu) == 0x7c00u ? h : __ushort_as_half((unsigned short)(bits + 1));
}
/* Wide holds every half and every X exactly enough to compare them. */
template <class Wide, class X> static inline __half luhip_half_down(X x) {
  __half h = _Float16(x);
  return Wide(float(h.data)) > Wide(x) ? luhip_half_step(h, false) : h;
}
template <class Wide, class X> static inline __half luhip_half_up(X x) {
  __half h = _Float16(x);
  return Wide(float(h.data)) < Wide(x) ? luhip_half_step(h, true) : h;
}
template <class Wide, class X> static inline __half luhip_half_zero(X x) {
  return x > X(0) ? luhip_half_down<Wide>(x) : luhip_half_up<Wide>(x);
}
#define LUHIP_TO_HALF(X, Wide, name)                                                                                   \
  LUHIP_LAZY(X) __half name##_rn(luhip_same<L> x) { return _Float16(x); }                                              \
  LUHIP_LAZY(X) __half name##_rd(luhip_same<L> x) { return luhip_half_down<Wide>(x); }                                 \
  LUHIP_LAZY(X) __half name##_ru(luhip_same<L> x) { return luhip_half_up<Wide>(x); }                                   \
  LUHIP_LAZY(X) __half name##_rz(luhip_same<L> x) { return luhip_half_zero<Wide>(x); }
LUHIP_TO_HALF(float, float, __float2half)
LUHIP_TO_HALF(short, float, __short2half)
LUHIP_TO_HALF(unsigned short, float, __ushort2half)
LUHIP_TO_HALF(int, double, __int2half)
LUHIP_TO_HALF(unsigned, double, __uint2half)
LUHIP_TO_HALF(long long, double, __ll2half)
LUHIP_TO_HALF(unsigned long long, double, __ull2half)
#undef LUHIP_TO_HALF
static inline __half __float2half(float x) { return _Float16(x); }
static inline __half __double2half(double x) { return _Float16(x); }
static inline float __half2float(__half h) { return float(h.data); }
#define LUHIP_FROM_HALF(I, name)                                                                                       \
  LUHIP_LAZY(__half) I __half2##name##_rn(luhip_same<L> h) { return luhip_saturate<I>(rintf(float(h.data))); }         \
  LUHIP_LAZY(__half) I __half2##name##_rz(luhip_same<L> h) { return luhip_saturate<I>(float(h.data)); }                \
  LUHIP_LAZY(__half) I __half2##name##_rd(luhip_same<L> h) { return luhip_saturate<I>(floorf(float(h.data))); }        \
  LUHIP_LAZY(__half) I __half2##name##_ru(luhip_same<L> h) { return luhip_saturate<I>(ceilf(float(h.data))); }
LUHIP_FROM_HALF(short, short)
LUHIP_FROM_HALF(unsigned short, ushort)
LUHIP_FROM_HALF(int, int)
LUHIP_FROM_HALF(unsigned, uint)
LUHIP_FROM_HALF(long long, ll)
LUHIP_FROM_HALF(unsigned long long, ull)
#undef LUHIP_FROM_HALF

LUHIP_LAZY(__half) __half2 make_half2(luhip_same<L> a, luhip_same<L> b) { return __half2(a, b); }
LUHIP_LAZY(__half) __half2 __halves2half2(luhip_same<L> a, luhip_same<L> b) { return __half2(a, b); }
LUHIP_LAZY(__half) __half2 __half2half2(luhip_same<L> a) { return __half2(a, a); }
LUHIP_LAZY(float) __half2 __float2half2_rn(luhip_same<L> a) { return __half2(a, a); }
LUHIP_LAZY(float) __half2 __floats2half2_rn(luhip_same<L> a, luhip_same<L> b) { return __half2(a, b); }
LUHIP_LAZY(float2) __half2 __float22half2_rn(luhip_same<L> a) { return __half2(a.x, a.y); }
LUHIP_LAZY(__half2) float2 __half22float2(luhip_same<L> a) { return make_float2(float(a.x), float(a.y)); }
LUHIP_LAZY(__half2) float __low2float(luhip_same<L> a) { return float(a.x); }
LUHIP_LAZY(__half2) float __high2float(luhip_same<L> a) { return float(a.y); }
LUHIP_LAZY(__half2) __half __low2half(luhip_same<L> a) { return a.x; }
LUHIP_LAZY(__half2) __half __high2half(luhip_same<L> a) { return a.y; }
LUHIP_LAZY(__half2) __half2 __low2half2(luhip_same<L> a) { return __half2(a.x, a.x); }
LUHIP_LAZY(__half2) __half2 __high2half2(luhip_same<L> a) { return __half2(a.y, a.y); }
LUHIP_LAZY(__half2) __half2 __lows2half2(luhip_same<L> a, luhip_same<L> b) { return __half2(a.x, b.x); }
LUHIP_LAZY(__half2) __half2 __highs2half2(luhip_same<L> a, luhip_same<L> b) { return __half2(a.y, b.y); }
LUHIP_LAZY(__half2) __half2 __lowhigh2highlow(luhip_same<L> a) { return __half2(a.y, a.x); }

/* ---- arithmetic, comparisons, functions ---- */
LUHIP_LAZY(__half) __half luhip_half_01(luhip_same<L> a) {
  return a > __half(0) ? (a < __half(1) ? a : __half(1)) : __half(0);
}
static inline __half __hadd(__half a, __half b) { return a + b; }
LUHIP_LAZY(__half) __half __hsub(luhip_same<L> a, luhip_same<L> b) { return a - b; }
LUHIP_LAZY(__half) __half __hmul(luhip_same<L> a, luhip_same<L> b) { return a * b; }
LUHIP_LAZY(__half) __half __hdiv(luhip_same<L> a, luhip_same<L> b) { return a / b; }
static inline __half __hneg(__half a) { return -a; }
static inline __half __habs(__half a) { return __ushort_as_half(a.__x & 0x7fff); }
LUHIP_LAZY(__half) __half __hfma(luhip_same<L> a, luhip_same<L> b, luhip_same<L> c) {
  return _Float16(fma(double(a), double(b), double(c)));
}
LUHIP_LAZY(__half) __half __hadd_sat(luhip_same<L> a, luhip_same<L> b) { return luhip_half_01(a + b); }
LUHIP_LAZY(__half) __half __hsub_sat(luhip_same<L> a, luhip_same<L> b) { return luhip_half_01(a - b); }
LUHIP_LAZY(__half) __half __hmul_sat(luhip_same<L> a, luhip_same<L> b) { return luhip_half_01(a * b); }
LUHIP_LAZY(__half) __half __hfma_sat(luhip_same<L> a, luhip_same<L> b, luhip_same<L> c) {
  return luhip_half_01(__hfma(a, b, c));
}
static inline bool __hisnan(__half a) { return a.data != a.data; }
LUHIP_LAZY(__half) int __hisinf(luhip_same<L> a) { return a.__x == 0x7c00 ? 1 : a.__x == 0xfc00 ? -1 : 0; }
static inline bool isnan(__half a) { return __hisnan(a); }
static inline bool isinf(__half a) { return __hisinf(a) != 0; }
LUHIP_LAZY(__half) __half __hmax(luhip_same<L> a, luhip_same<L> b) { return fmaxf(a, b); }
LUHIP_LAZY(__half) __half __hmin(luhip_same<L> a, luhip_same<L> b) { return fminf(a, b); }
static inline __half max(__half a, __half b) { return __hmax(a, b); }
static inline __half min(__half a, __half b) { return __hmin(a, b); }
static inline __half abs(__half a) { return __habs(a); }

#define LUHIP_HALF2(name, f)                                                                                           \
  LUHIP_LAZY(__half2) __half2 name(luhip_same<L> a, luhip_same<L> b) { return __half2(f(a.x, b.x), f(a.y, b.y)); }
LUHIP_HALF2(__hadd2, __hadd)
LUHIP_HALF2(__hsub2, __hsub)
LUHIP_HALF2(__hmul2, __hmul)
LUHIP_HALF2(__h2div, __hdiv)
LUHIP_HALF2(__hadd2_sat, __hadd_sat)
LUHIP_HALF2(__hsub2_sat, __hsub_sat)
LUHIP_HALF2(__hmul2_sat, __hmul_sat)
LUHIP_HALF2(__hmax2, __hmax)
LUHIP_HALF2(__hmin2, __hmin)
#undef LUHIP_HALF2
LUHIP_LAZY(__half2) __half2 __hneg2(luhip_same<L> a) { return -a; }
LUHIP_LAZY(__half2) __half2 __habs2(luhip_same<L> a) { return __half2(__habs(a.x), __habs(a.y)); }
LUHIP_LAZY(__half2) __half2 __hfma2(luhip_same<L> a, luhip_same<L> b, luhip_same<L> c) {
  return __half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
LUHIP_LAZY(__half2) __half2 __hfma2_sat(luhip_same<L> a, luhip_same<L> b, luhip_same<L> c) {
  return __half2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));
}
LUHIP_LAZY(__half2) __half2 __hisnan2(luhip_same<L> a) { return __half2(__hisnan(a.x), __hisnan(a.y)); }
LUHIP_LAZY(__half2) __half2 __hisinf2(luhip_same<L> a) { return __half2(__hisinf(a.x) != 0, __hisinf(a.y) != 0); }
LUHIP_LAZY(__half2) float amd_mixed_dot(luhip_same<L> a, luhip_same<L> b, float c, bool) {
  return float(a.x) * float(b.x) + float(a.y) * float(b.y) + c;
}

/* Ordered comparisons are false, unordered ones (u) true, when an operand is NaN. */
#define LUHIP_HALF_COMPARE(name, op)                                                                                   \
  LUHIP_LAZY(__half) bool __h##name(luhip_same<L> a, luhip_same<L> b) { return a op b; }                               \
  LUHIP_LAZY(__half) bool __h##name##u(luhip_same<L> a, luhip_same<L> b) {                                             \
    return __hisnan(a) || __hisnan(b) || a op b;                                                                       \
  }                                                                                                                    \
  LUHIP_LAZY(__half2) __half2 __h##name##2(luhip_same<L> a, luhip_same<L> b) {                                         \
    return __half2(a.x op b.x, a.y op b.y);                                                                            \
  }                                                                                                                    \
  LUHIP_LAZY(__half2) __half2 __h##name##u2(luhip_same<L> a, luhip_same<L> b) {                                        \
    return __half2(__h##name##u(a.x, b.x), __h##name##u(a.y, b.y));                                                    \
  }                                                                                                                    \
  LUHIP_LAZY(__half2) bool __hb##name##2(luhip_same<L> a, luhip_same<L> b) { return a.x op b.x && a.y op b.y; }        \
  LUHIP_LAZY(__half2) bool __hb##name##u2(luhip_same<L> a, luhip_same<L> b) {                                          \
    return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y);                                                           \
  }
LUHIP_HALF_COMPARE(eq, ==)
LUHIP_HALF_COMPARE(lt, <)
LUHIP_HALF_COMPARE(le, <=)
LUHIP_HALF_COMPARE(gt, >)
LUHIP_HALF_COMPARE(ge, >=)
#undef LUHIP_HALF_COMPARE
LUHIP_LAZY(__half) bool __hne(luhip_same<L> a, luhip_same<L> b) { return a < b || a > b; }
LUHIP_LAZY(__half) bool __hneu(luhip_same<L> a, luhip_same<L> b) { return a != b; }
LUHIP_LAZY(__half2) __half2 __hne2(luhip_same<L> a, luhip_same<L> b) {
  return __half2(__hne(a.x, b.x), __hne(a.y, b.y));
}
LUHIP_LAZY(__half2) __half2 __hneu2(luhip_same<L> a, luhip_same<L> b) {
  return __half2(__hneu(a.x, b.x), __hneu(a.y, b.y));
}
LUHIP_LAZY(__half2) bool __hbne2(luhip_same<L> a, luhip_same<L> b) { return __hne(a.x, b.x) && __hne(a.y, b.y); }
LUHIP_LAZY(__half2) bool __hbneu2(luhip_same<L> a, luhip_same<L> b) { return __hneu(a.x, b.x) && __hneu(a.y, b.y); }

#define LUHIP_HALF_FUNCTION(name, f)                                                                                   \
  LUHIP_LAZY(__half) __half h##name(luhip_same<L> a) { return _Float16(f(float(a.data))); }                            \
  LUHIP_LAZY(__half2) __half2 h2##name(luhip_same<L> a) { return __half2(h##name(a.x), h##name(a.y)); }
LUHIP_HALF_FUNCTION(sin, sinf)
LUHIP_HALF_FUNCTION(cos, cosf)
LUHIP_HALF_FUNCTION(exp, expf)
LUHIP_HALF_FUNCTION(exp2, exp2f)
LUHIP_HALF_FUNCTION(exp10, exp10f)
LUHIP_HALF_FUNCTION(log, logf)
LUHIP_HALF_FUNCTION(log2, log2f)
LUHIP_HALF_FUNCTION(log10, log10f)
LUHIP_HALF_FUNCTION(sqrt, sqrtf)
LUHIP_HALF_FUNCTION(rsqrt, rsqrtf)
LUHIP_HALF_FUNCTION(rcp, __frcp_rn)
LUHIP_HALF_FUNCTION(ceil, ceilf)
LUHIP_HALF_FUNCTION(floor, floorf)
LUHIP_HALF_FUNCTION(trunc, truncf)
LUHIP_HALF_FUNCTION(rint, rintf)
#undef LUHIP_HALF_FUNCTION

template <> struct luhip_atomic_word<__half> : std::type_identity<unsigned short> {};
template <> struct luhip_atomic_word<__half2> : std::type_identity<unsigned> {};

#endif
