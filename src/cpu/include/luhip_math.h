/*
 * luhip_math.h - HIP's mathematical functions, float and double.
 *
 * Functions that libm has are libm's, declared as C functions so that the compiler knows them: it folds constants,
 * and with -fveclib=libmvec turns sinf, cosf, expf, logf, powf (and the double ones) in a vectorised loop over a
 * block's threads into calls of the vector library. Each has HIP's overloads: sin(float) is sinf, integers go
 * to double. The rest (rsqrt, sinpi, erfinv, normcdf, Bessel I ...) is written here; what is accurate to
 * a few units in the last place in double serves float too. The fast intrinsics (__sinf, __expf ...) are the
 * accurate functions: being less exact would not make them faster here.
 */
#ifndef LUHIP_MATH_H
#define LUHIP_MATH_H
/* One function a line. */
/* clang-format off */
#include "luhip_std.h"

#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define HUGE_VAL (__builtin_huge_val())
#define HUGE_VALF (__builtin_huge_valf())
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
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
#define FP_NAN 0
#define FP_INFINITE 1
#define FP_ZERO 2
#define FP_SUBNORMAL 3
#define FP_NORMAL 4
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)

/* X(name): double name(double) and float namef(float) of libm. */
#define LUHIP_LIBM_1(X)                                                                                                \
  X(acos)                                                                                                              \
  X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(cbrt) X(ceil) X(cos) X(cosh) X(erf) X(erfc) X(exp) X(exp2) X(exp10)     \
      X(expm1) X(fabs) X(floor) X(lgamma) X(log) X(log10) X(log1p) X(log2) X(logb) X(nearbyint) X(rint) X(round)       \
          X(sin) X(sinh) X(sqrt) X(tan) X(tanh) X(tgamma) X(trunc) X(j0) X(j1) X(y0) X(y1)
#define LUHIP_LIBM_2(X) X(atan2) X(copysign) X(fdim) X(fmax) X(fmin) X(fmod) X(hypot) X(nextafter) X(pow) X(remainder)
#define LUHIP_LIBM_INTEGER(X) X(int, ilogb) X(long, lrint) X(long, lround) X(long long, llrint) X(long long, llround)

extern "C" {
#define LUHIP_DECLARE(name)                                                                                            \
  double name(double);                                                                                                 \
  float name##f(float);
LUHIP_LIBM_1(LUHIP_DECLARE)
#undef LUHIP_DECLARE
#define LUHIP_DECLARE(name)                                                                                            \
  double name(double, double);                                                                                         \
  float name##f(float, float);
LUHIP_LIBM_2(LUHIP_DECLARE)
#undef LUHIP_DECLARE
#define LUHIP_DECLARE(T, name)                                                                                         \
  T name(double);                                                                                                      \
  T name##f(float);
LUHIP_LIBM_INTEGER(LUHIP_DECLARE)
#undef LUHIP_DECLARE
double fma(double, double, double);
float fmaf(float, float, float);
double frexp(double, int *);
float frexpf(float, int *);
double ldexp(double, int);
float ldexpf(float, int);
double scalbn(double, int);
float scalbnf(float, int);
double scalbln(double, long);
float scalblnf(float, long);
double modf(double, double *);
float modff(float, float *);
double remquo(double, double, int *);
float remquof(float, float, int *);
double jn(int, double);
float jnf(int, float);
double yn(int, double);
float ynf(int, float);
double nan(const char *);
float nanf(const char *);
int abs(int);
long labs(long);
long long llabs(long long);
}

/* ---- bits ---- */
template <class To, class From> static inline constexpr To luhip_bits(From v) {
  static_assert(sizeof(To) == sizeof(From), "");
  return __builtin_bit_cast(To, v);
}
static inline constexpr int __float_as_int(float x) { return luhip_bits<int>(x); }
static inline constexpr unsigned __float_as_uint(float x) { return luhip_bits<unsigned>(x); }
static inline constexpr float __int_as_float(int x) { return luhip_bits<float>(x); }
static inline constexpr float __uint_as_float(unsigned x) { return luhip_bits<float>(x); }
static inline constexpr long long __double_as_longlong(double x) { return luhip_bits<long long>(x); }
static inline constexpr double __longlong_as_double(long long x) { return luhip_bits<double>(x); }
static inline constexpr int __double2hiint(double x) { return int(__double_as_longlong(x) >> 32); }
static inline constexpr int __double2loint(double x) { return int(__double_as_longlong(x)); }
static inline constexpr double __hiloint2double(int hi, int lo) {
  return __longlong_as_double((long long)((unsigned long long)(unsigned)hi << 32 | (unsigned)lo));
}

/* ---- C++ overloads: float, and integers by way of double ---- */
#define LUHIP_IF_INTEGER(T) std::enable_if_t<std::is_integral_v<T>, int> = 0
#define LUHIP_OVERLOAD(name)                                                                                           \
  static inline float name(float x) { return name##f(x); }                                                             \
  template <class T, LUHIP_IF_INTEGER(T)> static inline double name(T x) { return name(double(x)); }
LUHIP_LIBM_1(LUHIP_OVERLOAD)
#undef LUHIP_OVERLOAD
#define LUHIP_OVERLOAD(R, name)                                                                                        \
  static inline R name(float x) { return name##f(x); }                                                                 \
  template <class T, LUHIP_IF_INTEGER(T)> static inline R name(T x) { return name(double(x)); }
LUHIP_LIBM_INTEGER(LUHIP_OVERLOAD)
#undef LUHIP_OVERLOAD

/* Two arguments of different arithmetic types, or of integers, meet in double, as in <cmath>. */
#define LUHIP_IF_MIXED(T, U)                                                                                           \
  std::enable_if_t<                                                                                                    \
      std::is_arithmetic_v<T> && std::is_arithmetic_v<U> && (!std::is_same_v<T, U> || std::is_integral_v<T>), int> = 0
#define LUHIP_OVERLOAD(name)                                                                                           \
  static inline float name(float x, float y) { return name##f(x, y); }                                                 \
  template <class T, class U, LUHIP_IF_MIXED(T, U)> static inline double name(T x, U y) {                              \
    return name(double(x), double(y));                                                                                 \
  }
LUHIP_LIBM_2(LUHIP_OVERLOAD)
#undef LUHIP_OVERLOAD
#undef LUHIP_LIBM_1
#undef LUHIP_LIBM_2
#undef LUHIP_LIBM_INTEGER

static inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
static inline float frexp(float x, int *e) { return frexpf(x, e); }
static inline float ldexp(float x, int e) { return ldexpf(x, e); }
static inline float scalbn(float x, int e) { return scalbnf(x, e); }
static inline float scalbln(float x, long e) { return scalblnf(x, e); }
static inline float modf(float x, float *whole) { return modff(x, whole); }
static inline float remquo(float x, float y, int *quotient) { return remquof(x, y, quotient); }

static inline float powif(float x, int n) { return __builtin_powif(x, n); }
static inline double powi(double x, int n) { return __builtin_powi(x, n); }
static inline float pow(float x, int n) { return powif(x, n); }
static inline double pow(double x, int n) { return powi(x, n); }

static inline long abs(long x) { return labs(x); }
static inline long long abs(long long x) { return llabs(x); }
static inline float abs(float x) { return fabsf(x); }
static inline double abs(double x) { return fabs(x); }

/* ---- classes of numbers ---- */
#define LUHIP_CLASSIFY(T)                                                                                              \
  static inline constexpr bool isnan(T x) { return __builtin_isnan(x); }                                               \
  static inline constexpr bool isinf(T x) { return __builtin_isinf(x); }                                               \
  static inline constexpr bool isfinite(T x) { return __builtin_isfinite(x); }                                         \
  static inline constexpr bool isnormal(T x) { return __builtin_isnormal(x); }                                         \
  static inline bool signbit(T x) { return __builtin_signbit(x); }                                                     \
  static inline constexpr int fpclassify(T x) { return __builtin_fpclassify(0, 1, 4, 3, 2, x); }                       \
  static inline bool isgreater(T x, T y) { return __builtin_isgreater(x, y); }                                         \
  static inline bool isgreaterequal(T x, T y) { return __builtin_isgreaterequal(x, y); }                               \
  static inline bool isless(T x, T y) { return __builtin_isless(x, y); }                                               \
  static inline bool islessequal(T x, T y) { return __builtin_islessequal(x, y); }                                     \
  static inline bool islessgreater(T x, T y) { return __builtin_islessgreater(x, y); }                                 \
  static inline bool isunordered(T x, T y) { return __builtin_isunordered(x, y); }
LUHIP_CLASSIFY(float)
LUHIP_CLASSIFY(double)
#undef LUHIP_CLASSIFY
template <class T, LUHIP_IF_INTEGER(T)> static inline constexpr bool isnan(T) { return false; }
template <class T, LUHIP_IF_INTEGER(T)> static inline constexpr bool isinf(T) { return false; }
template <class T, LUHIP_IF_INTEGER(T)> static inline constexpr bool isfinite(T) { return true; }
template <class T, LUHIP_IF_INTEGER(T)> static inline constexpr bool signbit(T x) { return x < T(0); }
static inline constexpr int __isnanf(float x) { return isnan(x); }
static inline constexpr int __isnan(double x) { return isnan(x); }
static inline constexpr int __isinff(float x) { return isinf(x); }
static inline constexpr int __isinf(double x) { return isinf(x); }
static inline constexpr int __finitef(float x) { return isfinite(x); }
static inline constexpr int __finite(double x) { return isfinite(x); }
static inline int __signbitf(float x) { return signbit(x); }
static inline int __signbit(double x) { return signbit(x); }

/* ---- min and max: of one type; of two integer types by the usual conversions; otherwise in double ---- */
template <class T> static inline constexpr T min(T a, T b) { return b < a ? b : a; }
template <class T> static inline constexpr T max(T a, T b) { return a < b ? b : a; }
static inline constexpr int min(int a, int b) { return b < a ? b : a; }
static inline constexpr int max(int a, int b) { return a < b ? b : a; }
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return __builtin_fmin(a, b); }
static inline double max(double a, double b) { return __builtin_fmax(a, b); }
template <class T, class U>
using luhip_mixed =
    std::enable_if_t<std::is_arithmetic_v<T> && std::is_arithmetic_v<U> && !std::is_same_v<T, U>,
                     std::conditional_t<std::is_integral_v<T> && std::is_integral_v<U>, decltype(T() + U()), double>>;
template <class T, class U> static inline constexpr luhip_mixed<T, U> min(T a, U b) {
  typedef luhip_mixed<T, U> R;
  return min(R(a), R(b));
}
template <class T, class U> static inline constexpr luhip_mixed<T, U> max(T a, U b) {
  typedef luhip_mixed<T, U> R;
  return max(R(a), R(b));
}
static inline unsigned umin(unsigned a, unsigned b) { return min(a, b); }
static inline unsigned umax(unsigned a, unsigned b) { return max(a, b); }
static inline long long llmin(long long a, long long b) { return min(a, b); }
static inline long long llmax(long long a, long long b) { return max(a, b); }
static inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
static inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }

/* ---- beyond libm ---- */
LUHIP_LAZY(float) float rsqrtf(luhip_same<L> x) { return 1.0f / sqrtf(x); }
LUHIP_LAZY(double) double rsqrt(luhip_same<L> x) { return 1.0 / sqrt(x); }
LUHIP_LAZY(float) float rcbrtf(luhip_same<L> x) { return 1.0f / cbrtf(x); }
LUHIP_LAZY(double) double rcbrt(luhip_same<L> x) { return 1.0 / cbrt(x); }
LUHIP_LAZY(float) float fdividef(luhip_same<L> x, float y) { return x / y; }
LUHIP_LAZY(float) void sincosf(luhip_same<L> x, float *s, float *c) {
  *s = sinf(x);
  *c = cosf(x);
}
LUHIP_LAZY(double) void sincos(luhip_same<L> x, double *s, double *c) {
  *s = sin(x);
  *c = cos(x);
}
LUHIP_LAZY(float) void sincos(luhip_same<L> x, float *s, float *c) { sincosf(x, s, c); }

/* sin and cos of pi x: x is reduced to [-1/4, 1/4] and a count of quarter turns, both exactly. */
LUHIP_LAZY(double) double luhip_trigpi(luhip_same<L> x, int shift) {
  double turn = x - 2.0 * trunc(x * 0.5);
  double quarters = rint(turn * 2.0);
  double r = (turn - quarters * 0.5) * M_PI;
  int q = (int(quarters) + shift) & 3;
  double v = q & 1 ? cos(r) : sin(r);
  return q & 2 ? -v : v;
}
LUHIP_LAZY(double) double sinpi(luhip_same<L> x) {
  if (!isfinite(x)) return x - x;
  return x == trunc(x) ? copysign(0.0, x) : luhip_trigpi(x, 0);
}
LUHIP_LAZY(double) double cospi(luhip_same<L> x) {
  if (!isfinite(x)) return x - x;
  return fabs(x - trunc(x)) == 0.5 ? 0.0 : luhip_trigpi(x, 1);
}
LUHIP_LAZY(float) float sinpif(luhip_same<L> x) { return float(sinpi(double(x))); }
LUHIP_LAZY(float) float cospif(luhip_same<L> x) { return float(cospi(double(x))); }
LUHIP_LAZY(double) void sincospi(luhip_same<L> x, double *s, double *c) {
  *s = sinpi(x);
  *c = cospi(x);
}
LUHIP_LAZY(float) void sincospif(luhip_same<L> x, float *s, float *c) {
  *s = sinpif(x);
  *c = cospif(x);
}

/* Norms are scaled by the largest component, so that squares neither overflow nor vanish. */
LUHIP_LAZY(double) double luhip_norm(luhip_same<L> a, L b, L c, L d) {
  a = fabs(a), b = fabs(b), c = fabs(c), d = fabs(d);
  if (isinf(a) || isinf(b) || isinf(c) || isinf(d)) return INFINITY;
  double top = max(max(a, b), max(c, d));
  if (top == 0.0) return a + b + c + d;
  int e = ilogb(top);
  a = scalbn(a, -e), b = scalbn(b, -e), c = scalbn(c, -e), d = scalbn(d, -e);
  return scalbn(sqrt(a * a + b * b + c * c + d * d), e);
}
LUHIP_LAZY(double) double norm3d(luhip_same<L> a, double b, double c) { return luhip_norm(a, b, c, 0.0); }
LUHIP_LAZY(double) double norm4d(luhip_same<L> a, double b, double c, double d) { return luhip_norm(a, b, c, d); }
LUHIP_LAZY(double) double rnorm3d(luhip_same<L> a, double b, double c) { return 1.0 / norm3d(a, b, c); }
LUHIP_LAZY(double) double rnorm4d(luhip_same<L> a, double b, double c, double d) { return 1.0 / norm4d(a, b, c, d); }
LUHIP_LAZY(double) double rhypot(luhip_same<L> x, double y) { return 1.0 / hypot(x, y); }
LUHIP_LAZY(float) float norm3df(luhip_same<L> a, float b, float c) { return float(norm3d(a, b, c)); }
LUHIP_LAZY(float) float norm4df(luhip_same<L> a, float b, float c, float d) { return float(norm4d(a, b, c, d)); }
LUHIP_LAZY(float) float rnorm3df(luhip_same<L> a, float b, float c) { return float(rnorm3d(a, b, c)); }
LUHIP_LAZY(float) float rnorm4df(luhip_same<L> a, float b, float c, float d) { return float(rnorm4d(a, b, c, d)); }
LUHIP_LAZY(float) float rhypotf(luhip_same<L> x, float y) { return float(1.0 / hypot(double(x), double(y))); }
LUHIP_LAZY(int) double norm(luhip_same<L> n, const double *v) {
  double sum = 0.0;
  for (int i = 0; i < n; i++) sum = hypot(sum, v[i]);
  return sum;
}
LUHIP_LAZY(int) float normf(luhip_same<L> n, const float *v) {
  double sum = 0.0;
  for (int i = 0; i < n; i++) sum += double(v[i]) * double(v[i]);
  return float(sqrt(sum));
}
LUHIP_LAZY(int) double rnorm(luhip_same<L> n, const double *v) { return 1.0 / norm(n, v); }
LUHIP_LAZY(int) float rnormf(luhip_same<L> n, const float *v) { return 1.0f / normf(n, v); }

/* exp(x^2) erfc(x). Above 5 by the continued fraction 1/sqrt(pi) / (x + (1/2)/(x + 1/(x + (3/2)/(x + ...)))). */
LUHIP_LAZY(double) double erfcx(luhip_same<L> x) {
  if (x < 5.0) {
    double square = x * x;
    return exp(square) * (1.0 + fma(x, x, -square)) * erfc(x);
  }
  if (x > 1e8) return 0.56418958354775628695 / x;
  double t = x;
  for (int k = 40; k >= 1; k--) t = x + 0.5 * k / t;
  return 0.56418958354775628695 / t;
}
LUHIP_LAZY(float) float erfcxf(luhip_same<L> x) { return float(erfcx(double(x))); }

/* The inverse of erfc from a rough start, by Halley's steps on erfc itself (so that small y keep their digits). */
LUHIP_LAZY(double) double erfcinv(luhip_same<L> y) {
  if (!(y >= 0.0 && y <= 2.0)) return NAN;
  if (y == 0.0 || y == 2.0) return y == 0.0 ? INFINITY : -INFINITY;
  double p = y < 1.0 ? y : 2.0 - y;
  double t = sqrt(-2.0 * log(0.5 * p));
  double x = -0.70711 * ((2.30753 + t * 0.27061) / (1.0 + t * (0.99229 + t * 0.04481)) - t);
  for (int step = 0; step < 3; step++) {
    double error = erfc(x) - p;
    double slope = M_2_SQRTPI * exp(-x * x);
    if (slope == 0.0) break;
    x += error / (slope - x * error);
  }
  return y < 1.0 ? x : -x;
}
LUHIP_LAZY(double) double erfinv(luhip_same<L> x) {
  if (!(x >= -1.0 && x <= 1.0)) return NAN;
  double a = fabs(x);
  if (a > 0.5) return copysign(erfcinv(1.0 - a), x);
  double r = a * (0.88622692545275801365 + a * a * 0.23201366653465449);
  for (int step = 0; step < 3; step++) {
    double error = erf(r) - a;
    r -= error / (M_2_SQRTPI * exp(-r * r) + r * error);
  }
  return copysign(r, x);
}
/* erfc(-x / sqrt 2) / 2. What rounding takes from -x / sqrt 2 counts times erfc's slope: many digits, far out. */
LUHIP_LAZY(double) double normcdf(luhip_same<L> x) {
  double t = -x * M_SQRT1_2;
  double lost = isfinite(t) ? fma(-x, M_SQRT1_2, -t) + x * 4.8336466567264567e-17 : 0.0;
  return 0.5 * (erfc(t) - M_2_SQRTPI * exp(-t * t) * lost);
}
LUHIP_LAZY(double) double normcdfinv(luhip_same<L> p) {
  return p > 0.25 && p < 0.75 ? M_SQRT2 * erfinv(2.0 * p - 1.0) : -M_SQRT2 * erfcinv(2.0 * p);
}
LUHIP_LAZY(float) float erfinvf(luhip_same<L> x) { return float(erfinv(double(x))); }
LUHIP_LAZY(float) float erfcinvf(luhip_same<L> x) { return float(erfcinv(double(x))); }
LUHIP_LAZY(float) float normcdff(luhip_same<L> x) { return float(normcdf(double(x))); }
LUHIP_LAZY(float) float normcdfinvf(luhip_same<L> x) { return float(normcdfinv(double(x))); }

/* Modified Bessel functions of order 0 and 1: the power series, and beyond 30 the asymptotic one. */
LUHIP_LAZY(double) double luhip_bessel_i(int order, luhip_same<L> x) {
  double a = fabs(x), term, sum;
  if (a < 30.0) {
    double q = 0.25 * a * a;
    term = order ? 0.5 * a : 1.0, sum = term;
    for (int k = 1; k < 200 && term > sum * 1e-17; k++) sum += term *= q / (double(k) * (k + order));
  } else {
    double mu = 4.0 * order * order;
    term = 1.0, sum = 1.0;
    for (int k = 1; k < 60; k++) {
      double odd = 2.0 * k - 1.0, next = term * (odd * odd - mu) / (8.0 * k * a);
      if (fabs(next) >= fabs(term) || fabs(next) < 1e-17) break;
      sum += term = next;
    }
    sum *= exp(a * 0.5) / sqrt(2.0 * M_PI * a) * exp(a * 0.5);
  }
  return order && x < 0.0 ? -sum : sum;
}
LUHIP_LAZY(double) double cyl_bessel_i0(luhip_same<L> x) { return luhip_bessel_i(0, x); }
LUHIP_LAZY(double) double cyl_bessel_i1(luhip_same<L> x) { return luhip_bessel_i(1, x); }
LUHIP_LAZY(float) float cyl_bessel_i0f(luhip_same<L> x) { return float(luhip_bessel_i(0, double(x))); }
LUHIP_LAZY(float) float cyl_bessel_i1f(luhip_same<L> x) { return float(luhip_bessel_i(1, double(x))); }

/* Overloads on float of the functions above, and integers where <cmath> would take them. */
#define LUHIP_OVERLOAD(name)                                                                                           \
  static inline float name(float x) { return name##f(x); }
LUHIP_OVERLOAD(rsqrt)
LUHIP_OVERLOAD(rcbrt)
LUHIP_OVERLOAD(sinpi)
LUHIP_OVERLOAD(cospi)
LUHIP_OVERLOAD(erfcx)
LUHIP_OVERLOAD(erfinv)
LUHIP_OVERLOAD(erfcinv)
LUHIP_OVERLOAD(normcdf)
LUHIP_OVERLOAD(normcdfinv)
#undef LUHIP_OVERLOAD

/* ---- fast intrinsics ---- */
static inline float __sinf(float x) { return sinf(x); }
static inline float __cosf(float x) { return cosf(x); }
static inline float __tanf(float x) { return sinf(x) / cosf(x); }
static inline float __expf(float x) { return expf(x); }
static inline float __exp10f(float x) { return exp10f(x); }
static inline float __logf(float x) { return logf(x); }
static inline float __log2f(float x) { return log2f(x); }
static inline float __log10f(float x) { return log10f(x); }
static inline float __powf(float x, float y) { return powf(x, y); }
static inline void __sincosf(float x, float *s, float *c) { sincosf(x, s, c); }
static inline constexpr float __fdividef(float x, float y) { return x / y; }
static inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
static inline constexpr float __fadd_rn(float x, float y) { return x + y; }
static inline constexpr float __fsub_rn(float x, float y) { return x - y; }
static inline constexpr float __fmul_rn(float x, float y) { return x * y; }
static inline constexpr float __fdiv_rn(float x, float y) { return x / y; }
static inline constexpr float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frsqrt_rn(float x) { return rsqrtf(x); }
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline constexpr double __dadd_rn(double x, double y) { return x + y; }
static inline constexpr double __dsub_rn(double x, double y) { return x - y; }
static inline constexpr double __dmul_rn(double x, double y) { return x * y; }
static inline constexpr double __ddiv_rn(double x, double y) { return x / y; }
static inline constexpr double __drcp_rn(double x) { return 1.0 / x; }
static inline double __dsqrt_rn(double x) { return sqrt(x); }
static inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

/* ---- conversions with a rounding mode: to integers they saturate and give 0 for NaN, as a GPU's do ---- */
template <class I, class F> static inline constexpr I luhip_saturate(F x) {
  constexpr F low = F(std::numeric_limits<I>::min());
  constexpr F end = F(std::numeric_limits<I>::max() / 2 + 1) * F(2);
  return x != x ? I(0) : x <= low ? std::numeric_limits<I>::min() : x >= end ? std::numeric_limits<I>::max() : I(x);
}
#define LUHIP_TO_INTEGER(F, I, name, f)                                                                                \
  LUHIP_LAZY(F) I __##name##_rn(luhip_same<L> x) { return luhip_saturate<I>(rint##f(x)); }                             \
  LUHIP_LAZY(F) I __##name##_rz(luhip_same<L> x) { return luhip_saturate<I>(trunc##f(x)); }                            \
  LUHIP_LAZY(F) I __##name##_rd(luhip_same<L> x) { return luhip_saturate<I>(floor##f(x)); }                            \
  LUHIP_LAZY(F) I __##name##_ru(luhip_same<L> x) { return luhip_saturate<I>(ceil##f(x)); }
LUHIP_TO_INTEGER(float, int, float2int, f)
LUHIP_TO_INTEGER(float, unsigned, float2uint, f)
LUHIP_TO_INTEGER(float, long long, float2ll, f)
LUHIP_TO_INTEGER(float, unsigned long long, float2ull, f)
LUHIP_TO_INTEGER(double, int, double2int, )
LUHIP_TO_INTEGER(double, unsigned, double2uint, )
LUHIP_TO_INTEGER(double, long long, double2ll, )
LUHIP_TO_INTEGER(double, unsigned long long, double2ull, )
#undef LUHIP_TO_INTEGER

/* x to a narrower type, rounded up, down or to zero: round to nearest, then step back if that went too far. */
template <class F, class Wide, class X> static inline F luhip_round_down(X x) {
  F f = F(x);
  return Wide(f) > Wide(x) ? F(nextafter(f, F(-INFINITY))) : f;
}
template <class F, class Wide, class X> static inline F luhip_round_up(X x) {
  F f = F(x);
  return Wide(f) < Wide(x) ? F(nextafter(f, F(INFINITY))) : f;
}
template <class F, class Wide, class X> static inline F luhip_round_zero(X x) {
  return x > X(0) ? luhip_round_down<F, Wide>(x) : luhip_round_up<F, Wide>(x);
}
#define LUHIP_TO_FLOAT(X, F, Wide, name)                                                                               \
  LUHIP_LAZY(X) F __##name##_rn(luhip_same<L> x) { return F(x); }                                                      \
  LUHIP_LAZY(X) F __##name##_rd(luhip_same<L> x) { return luhip_round_down<F, Wide>(x); }                              \
  LUHIP_LAZY(X) F __##name##_ru(luhip_same<L> x) { return luhip_round_up<F, Wide>(x); }                                \
  LUHIP_LAZY(X) F __##name##_rz(luhip_same<L> x) { return luhip_round_zero<F, Wide>(x); }
LUHIP_TO_FLOAT(int, float, double, int2float)
LUHIP_TO_FLOAT(unsigned, float, double, uint2float)
LUHIP_TO_FLOAT(long long, float, __int128, ll2float)
LUHIP_TO_FLOAT(unsigned long long, float, __int128, ull2float)
LUHIP_TO_FLOAT(long long, double, __int128, ll2double)
LUHIP_TO_FLOAT(unsigned long long, double, __int128, ull2double)
LUHIP_TO_FLOAT(double, float, double, double2float)
#undef LUHIP_TO_FLOAT
static inline constexpr double __int2double_rn(int x) { return x; }
static inline constexpr double __uint2double_rn(unsigned x) { return x; }

/* ---- std:: ---- */
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
using ::cosf;
using ::cosh;
using ::erf;
using ::erfc;
using ::exp;
using ::exp2;
using ::expf;
using ::expm1;
using ::fabs;
using ::fabsf;
using ::fdim;
using ::floor;
using ::fma;
using ::fmax;
using ::fmin;
using ::fmod;
using ::fpclassify;
using ::frexp;
using ::hypot;
using ::ilogb;
using ::isfinite;
using ::isgreater;
using ::isinf;
using ::isless;
using ::isnan;
using ::isnormal;
using ::isunordered;
using ::labs;
using ::ldexp;
using ::lgamma;
using ::llabs;
using ::llrint;
using ::llround;
using ::log;
using ::log10;
using ::log1p;
using ::log2;
using ::logb;
using ::logf;
using ::lrint;
using ::lround;
using ::modf;
using ::nan;
using ::nanf;
using ::nearbyint;
using ::nextafter;
using ::pow;
using ::powf;
using ::remainder;
using ::remquo;
using ::rint;
using ::round;
using ::scalbln;
using ::scalbn;
using ::signbit;
using ::sin;
using ::sinf;
using ::sinh;
using ::sqrt;
using ::sqrtf;
using ::tan;
using ::tanh;
using ::tgamma;
using ::trunc;
} // namespace std

#undef LUHIP_IF_INTEGER
#undef LUHIP_IF_MIXED
#endif
