/*
 * luhip_cuda_half.h - what the CPU device's 16-bit floats (hip/hip_fp16.h, hip/hip_bf16.h) are read behind where NVRTC is
 * installed without CUDA's headers: a _Float16, which NVRTC does not have, and the little else that they use.
 *
 * A sum, difference, product or quotient of two halves in float, rounded to half, is the one rounded once.
 */
#ifndef LUHIP_CUDA_HALF_H
#define LUHIP_CUDA_HALF_H

template <class To, class From> static inline constexpr To luhip_bits(From v) {
  static_assert(sizeof(To) == sizeof(From), "");
  return __builtin_bit_cast(To, v);
}
template <class I, class F> static inline constexpr I luhip_saturate(F x) {
  constexpr F low = F(std::numeric_limits<I>::min());
  constexpr F end = F(std::numeric_limits<I>::max() / 2 + 1) * F(2);
  return x != x ? I(0) : x <= low ? std::numeric_limits<I>::min() : x >= end ? std::numeric_limits<I>::max() : I(x);
}
template <class T> struct luhip_atomic_word;
#define __builtin_isinf(luhip_v) ((luhip_v) == (luhip_v) && (luhip_v) - (luhip_v) != 0)

static __device__ __forceinline__ unsigned short luhip_narrow_now(float v) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
  return bits;
}
static __device__ __forceinline__ unsigned short luhip_narrow_now(double v) {
  unsigned short bits;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(v));
  return bits;
}
static __device__ __forceinline__ float luhip_widen_now(unsigned short bits) {
  float v;
  asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
  return v;
}

/* In constant expressions, which know no instructions. To nearest, ties to even. */
static inline constexpr unsigned short luhip_narrow(double v) {
  unsigned long long bits = luhip_bits<unsigned long long>(v), significand = bits & 0xfffffffffffffull;
  unsigned sign = unsigned(bits >> 48) & 0x8000u;
  int exponent = int(bits >> 52 & 0x7ff) - 1023;
  if (exponent == 1024) return (unsigned short)(sign | 0x7c00u | (significand ? 0x200u : 0u));
  if (exponent < -25) return (unsigned short)sign;
  if (exponent > 15) return (unsigned short)(sign | 0x7c00u);
  significand |= 1ull << 52;
  int shift = 42 + (exponent < -14 ? -14 - exponent : 0);
  unsigned long long kept = significand >> shift, rest = significand - (kept << shift), tie = 1ull << (shift - 1);
  if (rest > tie || (rest == tie && (kept & 1))) kept++;
  return (unsigned short)(sign | unsigned(kept + (exponent < -14 ? 0ull : (unsigned long long)(exponent + 14) << 10)));
}
static inline constexpr float luhip_widen(unsigned short h) {
  unsigned sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 0x3ffu;
  if (exponent == 31) return luhip_bits<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent) return luhip_bits<float>(sign | (exponent + 112) << 23 | fraction << 13);
  float small = float(fraction) * luhip_bits<float>(0x33800000u); /* 2^-24 */
  return sign ? -small : small;
}

struct luhip_float16 {
  unsigned short luhip_data;

  luhip_float16() = default;
  template <class T>
  constexpr luhip_float16(T v)
      : luhip_data(__builtin_is_constant_evaluated()   ? luhip_narrow(double(v))
                   : sizeof(T) == 4 && T(0.5f) != T(0) ? luhip_narrow_now(float(v))
                                                       : luhip_narrow_now(double(v))) {}
  constexpr operator float() const {
    return __builtin_is_constant_evaluated() ? luhip_widen(luhip_data) : luhip_widen_now(luhip_data);
  }
};
#define LUHIP_OPERATOR(T, op)                                                                                          \
  static inline constexpr T operator op(luhip_float16 a, luhip_float16 b) {                                            \
    return float(a) op float(b);                                                                                       \
  }
LUHIP_OPERATOR(float, +)
LUHIP_OPERATOR(float, -)
LUHIP_OPERATOR(float, *)
LUHIP_OPERATOR(float, /)
LUHIP_OPERATOR(bool, ==)
LUHIP_OPERATOR(bool, !=)
LUHIP_OPERATOR(bool, <)
LUHIP_OPERATOR(bool, >)
LUHIP_OPERATOR(bool, <=)
LUHIP_OPERATOR(bool, >=)
#undef LUHIP_OPERATOR
static inline constexpr float operator-(luhip_float16 a) {
  return -float(a);
}
#define _Float16 luhip_float16

#endif
