/*
 * hip/hip_fp16.h - half and half2.
 *
 * __half wraps the compiler's _Float16. Where the processor has no half arithmetic each operation is done in float and
 * rounded once, which gives the same bits: float has more than twice the digits of half. Only fma needs double.
 */
#ifndef LUHIP_FP16_H
#define LUHIP_FP16_H
/* clang-format off: one function a line */
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
static inline short __half_as_short(__half h) { return short(h.__x); }
static inline __half __ushort_as_half(unsigned short bits) {
  __half h;
  h.__x = bits;
  return h;
}
static inline __half __short_as_half(short bits) { return __ushort_as_half((unsigned short)bits); }

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
  static inline __half name##_rn(X x) { return _Float16(x); }                                                          \
  static inline __half name##_rd(X x) { return luhip_half_down<Wide>(x); }                                             \
  static inline __half name##_ru(X x) { return luhip_half_up<Wide>(x); }                                               \
  static inline __half name##_rz(X x) { return luhip_half_zero<Wide>(x); }
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
  static inline I __half2##name##_rn(__half h) { return luhip_saturate<I>(rintf(float(h.data))); }                     \
  static inline I __half2##name##_rz(__half h) { return luhip_saturate<I>(float(h.data)); }                            \
  static inline I __half2##name##_rd(__half h) { return luhip_saturate<I>(floorf(float(h.data))); }                    \
  static inline I __half2##name##_ru(__half h) { return luhip_saturate<I>(ceilf(float(h.data))); }
LUHIP_FROM_HALF(short, short)
LUHIP_FROM_HALF(unsigned short, ushort)
LUHIP_FROM_HALF(int, int)
LUHIP_FROM_HALF(unsigned, uint)
LUHIP_FROM_HALF(long long, ll)
LUHIP_FROM_HALF(unsigned long long, ull)
#undef LUHIP_FROM_HALF

static inline __half2 make_half2(__half a, __half b) { return __half2(a, b); }
static inline __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
static inline __half2 __half2half2(__half a) { return __half2(a, a); }
static inline __half2 __float2half2_rn(float a) { return __half2(a, a); }
static inline __half2 __floats2half2_rn(float a, float b) { return __half2(a, b); }
static inline __half2 __float22half2_rn(float2 a) { return __half2(a.x, a.y); }
static inline float2 __half22float2(__half2 a) { return make_float2(float(a.x), float(a.y)); }
static inline float __low2float(__half2 a) { return float(a.x); }
static inline float __high2float(__half2 a) { return float(a.y); }
static inline __half __low2half(__half2 a) { return a.x; }
static inline __half __high2half(__half2 a) { return a.y; }
static inline __half2 __low2half2(__half2 a) { return __half2(a.x, a.x); }
static inline __half2 __high2half2(__half2 a) { return __half2(a.y, a.y); }
static inline __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
static inline __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }
static inline __half2 __lowhigh2highlow(__half2 a) { return __half2(a.y, a.x); }

/* ---- arithmetic, comparisons, functions ---- */
static inline __half luhip_half_01(__half a) { return a > __half(0) ? (a < __half(1) ? a : __half(1)) : __half(0); }
static inline __half __hadd(__half a, __half b) { return a + b; }
static inline __half __hsub(__half a, __half b) { return a - b; }
static inline __half __hmul(__half a, __half b) { return a * b; }
static inline __half __hdiv(__half a, __half b) { return a / b; }
static inline __half __hneg(__half a) { return -a; }
static inline __half __habs(__half a) { return __ushort_as_half(a.__x & 0x7fff); }
static inline __half __hfma(__half a, __half b, __half c) { return _Float16(fma(double(a), double(b), double(c))); }
static inline __half __hadd_sat(__half a, __half b) { return luhip_half_01(a + b); }
static inline __half __hsub_sat(__half a, __half b) { return luhip_half_01(a - b); }
static inline __half __hmul_sat(__half a, __half b) { return luhip_half_01(a * b); }
static inline __half __hfma_sat(__half a, __half b, __half c) { return luhip_half_01(__hfma(a, b, c)); }
static inline bool __hisnan(__half a) { return a.data != a.data; }
static inline int __hisinf(__half a) { return a.__x == 0x7c00 ? 1 : a.__x == 0xfc00 ? -1 : 0; }
static inline bool isnan(__half a) { return __hisnan(a); }
static inline bool isinf(__half a) { return __hisinf(a) != 0; }
static inline __half __hmax(__half a, __half b) { return fmaxf(a, b); }
static inline __half __hmin(__half a, __half b) { return fminf(a, b); }
static inline __half max(__half a, __half b) { return __hmax(a, b); }
static inline __half min(__half a, __half b) { return __hmin(a, b); }
static inline __half abs(__half a) { return __habs(a); }

#define LUHIP_HALF2(name, f)                                                                                           \
  static inline __half2 name(__half2 a, __half2 b) { return __half2(f(a.x, b.x), f(a.y, b.y)); }
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
static inline __half2 __hneg2(__half2 a) { return -a; }
static inline __half2 __habs2(__half2 a) { return __half2(__habs(a.x), __habs(a.y)); }
static inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return __half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
static inline __half2 __hfma2_sat(__half2 a, __half2 b, __half2 c) {
  return __half2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));
}
static inline __half2 __hisnan2(__half2 a) { return __half2(__hisnan(a.x), __hisnan(a.y)); }
static inline __half2 __hisinf2(__half2 a) { return __half2(__hisinf(a.x) != 0, __hisinf(a.y) != 0); }
static inline float amd_mixed_dot(__half2 a, __half2 b, float c, bool) {
  return float(a.x) * float(b.x) + float(a.y) * float(b.y) + c;
}

/* Ordered comparisons are false, unordered ones (u) true, when an operand is NaN. */
#define LUHIP_HALF_COMPARE(name, op)                                                                                   \
  static inline bool __h##name(__half a, __half b) { return a op b; }                                                  \
  static inline bool __h##name##u(__half a, __half b) { return __hisnan(a) || __hisnan(b) || a op b; }                 \
  static inline __half2 __h##name##2(__half2 a, __half2 b) { return __half2(a.x op b.x, a.y op b.y); }                 \
  static inline __half2 __h##name##u2(__half2 a, __half2 b) {                                                          \
    return __half2(__h##name##u(a.x, b.x), __h##name##u(a.y, b.y));                                                    \
  }                                                                                                                    \
  static inline bool __hb##name##2(__half2 a, __half2 b) { return a.x op b.x && a.y op b.y; }                          \
  static inline bool __hb##name##u2(__half2 a, __half2 b) {                                                            \
    return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y);                                                           \
  }
LUHIP_HALF_COMPARE(eq, ==)
LUHIP_HALF_COMPARE(lt, <)
LUHIP_HALF_COMPARE(le, <=)
LUHIP_HALF_COMPARE(gt, >)
LUHIP_HALF_COMPARE(ge, >=)
#undef LUHIP_HALF_COMPARE
static inline bool __hne(__half a, __half b) { return a < b || a > b; }
static inline bool __hneu(__half a, __half b) { return a != b; }
static inline __half2 __hne2(__half2 a, __half2 b) { return __half2(__hne(a.x, b.x), __hne(a.y, b.y)); }
static inline __half2 __hneu2(__half2 a, __half2 b) { return __half2(__hneu(a.x, b.x), __hneu(a.y, b.y)); }
static inline bool __hbne2(__half2 a, __half2 b) { return __hne(a.x, b.x) && __hne(a.y, b.y); }
static inline bool __hbneu2(__half2 a, __half2 b) { return __hneu(a.x, b.x) && __hneu(a.y, b.y); }

#define LUHIP_HALF_FUNCTION(name, f)                                                                                   \
  static inline __half h##name(__half a) { return _Float16(f(float(a.data))); }                                        \
  static inline __half2 h2##name(__half2 a) { return __half2(h##name(a.x), h##name(a.y)); }
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
LUHIP_HALF_FUNCTION(rcp, 1.0f /)
LUHIP_HALF_FUNCTION(ceil, ceilf)
LUHIP_HALF_FUNCTION(floor, floorf)
LUHIP_HALF_FUNCTION(trunc, truncf)
LUHIP_HALF_FUNCTION(rint, rintf)
#undef LUHIP_HALF_FUNCTION

static inline __half atomicAdd(__half *address, __half v) {
  return luhip_atomic_update<unsigned short>(address, [v](__half old) { return old + v; });
}
static inline __half2 atomicAdd(__half2 *address, __half2 v) {
  return luhip_atomic_update<unsigned>(address, [v](__half2 old) { return old + v; });
}
static inline __half2 unsafeAtomicAdd(__half2 *address, __half2 v) { return atomicAdd(address, v); }

#endif
