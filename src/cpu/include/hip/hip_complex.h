/*
 * hip/hip_complex.h - hipFloatComplex, hipDoubleComplex and their functions.
 *
 * They are float2 and double2, so there are no complex operators: `*` on a float2 is by component.
 */
#ifndef LUHIP_COMPLEX_H
#define LUHIP_COMPLEX_H
/* One function a line. */
/* clang-format off */
#include "../luhip_math.h"
#include "../luhip_vector_types.h"

#define LUHIP_COMPLEX(C, T, f)                                                                                         \
  static inline constexpr C make_##C(T re, T im) { return C(re, im); }                                                 \
  static inline constexpr T hipCreal##f(C z) { return z.x; }                                                           \
  static inline constexpr T hipCimag##f(C z) { return z.y; }                                                           \
  static inline constexpr C hipConj##f(C z) { return C(z.x, -z.y); }                                                   \
  static inline constexpr T hipCsqabs##f(C z) { return z.x * z.x + z.y * z.y; }                                        \
  static inline T hipCabs##f(C z) { return hypot##f(z.x, z.y); }                                                       \
  static inline constexpr C hipCadd##f(C a, C b) { return C(a.x + b.x, a.y + b.y); }                                   \
  static inline constexpr C hipCsub##f(C a, C b) { return C(a.x - b.x, a.y - b.y); }                                   \
  static inline constexpr C hipCmul##f(C a, C b) { return C(a.x * b.x - a.y * b.y, a.y * b.x + a.x * b.y); }           \
  static inline constexpr C hipCdiv##f(C a, C b) {                                                                     \
    T q = hipCsqabs##f(b);                                                                                             \
    return C((a.x * b.x + a.y * b.y) / q, (a.y * b.x - a.x * b.y) / q);                                                \
  }                                                                                                                    \
  static inline constexpr C hipCfma##f(C a, C b, C c) {                                                                \
    return C(a.x * b.x - a.y * b.y + c.x, a.y * b.x + a.x * b.y + c.y);                                                \
  }
typedef float2 hipFloatComplex, hipComplex;
typedef double2 hipDoubleComplex;
LUHIP_COMPLEX(hipFloatComplex, float, f)
LUHIP_COMPLEX(hipDoubleComplex, double, )
#undef LUHIP_COMPLEX
static inline constexpr hipComplex make_hipComplex(float re, float im) { return hipComplex(re, im); }
static inline constexpr hipDoubleComplex hipComplexFloatToDouble(hipFloatComplex z) {
  return hipDoubleComplex(z.x, z.y);
}
static inline constexpr hipFloatComplex hipComplexDoubleToFloat(hipDoubleComplex z) {
  return hipFloatComplex(z.x, z.y);
}

#endif

#ifdef LUHIP_STRICT /* hiprtc has it where its header is included */
#undef hipFloatComplex
#undef hipDoubleComplex
#undef hipComplex
#undef make_hipFloatComplex
#undef make_hipDoubleComplex
#undef make_hipComplex
#undef hipComplexFloatToDouble
#undef hipComplexDoubleToFloat
#undef hipCrealf
#undef hipCreal
#undef hipCimagf
#undef hipCimag
#undef hipConjf
#undef hipConj
#undef hipCsqabsf
#undef hipCsqabs
#undef hipCabsf
#undef hipCabs
#undef hipCaddf
#undef hipCadd
#undef hipCsubf
#undef hipCsub
#undef hipCmulf
#undef hipCmul
#undef hipCdivf
#undef hipCdiv
#undef hipCfmaf
#undef hipCfma
#endif
