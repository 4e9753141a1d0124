/*
 * luhip_vector_types.h - char1 .. double4, dim3, their operators and make_* functions.
 *
 * HIP_vector_type<T, n> has HIP's name (so that mangled kernel names agree with hiprtc's), sizes and alignments: three
 * components are packed, two and four are aligned to their size. The components are plain members: the optimiser
 * takes such structs apart, and the loop over a block's threads vectorises across them. Operators are
 * templates, as HIP's are, so that a source which brings its own `operator+(float4, float4)` gets its own.
 */
#ifndef LUHIP_VECTOR_TYPES_H
#define LUHIP_VECTOR_TYPES_H
/* One function a line. */
/* clang-format off */
#include "luhip_std.h"

template <class T, unsigned n> struct HIP_vector_type;
template <class T> struct HIP_vector_type<T, 1> {
  typedef T value_type;
  T x;
  HIP_vector_type() = default;
  template <class U, std::enable_if_t<std::is_convertible_v<U, T>, int> = 0>
  constexpr explicit HIP_vector_type(U s) noexcept : x(static_cast<T>(s)) {}
};
template <class T> struct alignas(2 * sizeof(T)) HIP_vector_type<T, 2> {
  typedef T value_type;
  T x, y;
  HIP_vector_type() = default;
  template <class U, std::enable_if_t<std::is_convertible_v<U, T>, int> = 0>
  constexpr explicit HIP_vector_type(U s) noexcept : x(static_cast<T>(s)), y(x) {}
  template <class A, class B>
  constexpr HIP_vector_type(A a, B b) noexcept : x(static_cast<T>(a)), y(static_cast<T>(b)) {}
};
template <class T> struct HIP_vector_type<T, 3> {
  typedef T value_type;
  T x, y, z;
  HIP_vector_type() = default;
  template <class U, std::enable_if_t<std::is_convertible_v<U, T>, int> = 0>
  constexpr explicit HIP_vector_type(U s) noexcept : x(static_cast<T>(s)), y(x), z(x) {}
  template <class A, class B, class C>
  constexpr HIP_vector_type(A a, B b, C c) noexcept
      : x(static_cast<T>(a)), y(static_cast<T>(b)), z(static_cast<T>(c)) {}
};
template <class T> struct alignas(4 * sizeof(T)) HIP_vector_type<T, 4> {
  typedef T value_type;
  T x, y, z, w;
  HIP_vector_type() = default;
  template <class U, std::enable_if_t<std::is_convertible_v<U, T>, int> = 0>
  constexpr explicit HIP_vector_type(U s) noexcept : x(static_cast<T>(s)), y(x), z(x), w(x) {}
  template <class A, class B, class C, class D>
  constexpr HIP_vector_type(A a, B b, C c, D d) noexcept
      : x(static_cast<T>(a)), y(static_cast<T>(b)), z(static_cast<T>(c)), w(static_cast<T>(d)) {}
};

/* v op= v and v op= scalar, and from them v op v, v op scalar, scalar op v. */
#define LUHIP_VECTOR_OPERATOR(op, constraint)                                                                          \
  template <class T, unsigned n, std::enable_if_t<constraint, int> = 0>                                                \
  constexpr HIP_vector_type<T, n> &operator op##=(HIP_vector_type<T, n> &a, const HIP_vector_type<T, n> &b) noexcept { \
    a.x op## = b.x;                                                                                                    \
    if constexpr (n > 1) a.y op## = b.y;                                                                               \
    if constexpr (n > 2) a.z op## = b.z;                                                                               \
    if constexpr (n > 3) a.w op## = b.w;                                                                               \
    return a;                                                                                                          \
  }                                                                                                                    \
  template <class T, unsigned n, class U, std::enable_if_t<(constraint) && std::is_convertible_v<U, T>, int> = 0>      \
  constexpr HIP_vector_type<T, n> &operator op##=(HIP_vector_type<T, n> &a, U b) noexcept {                            \
    return a op## = HIP_vector_type<T, n>(b);                                                                          \
  }                                                                                                                    \
  template <class T, unsigned n, std::enable_if_t<constraint, int> = 0>                                                \
  constexpr HIP_vector_type<T, n> operator op(HIP_vector_type<T, n> a, const HIP_vector_type<T, n> &b) noexcept {      \
    return a op## = b;                                                                                                 \
  }                                                                                                                    \
  template <class T, unsigned n, class U, std::enable_if_t<(constraint) && std::is_convertible_v<U, T>, int> = 0>      \
  constexpr HIP_vector_type<T, n> operator op(HIP_vector_type<T, n> a, U b) noexcept {                                 \
    return a op## = HIP_vector_type<T, n>(b);                                                                          \
  }                                                                                                                    \
  template <class T, unsigned n, class U, std::enable_if_t<(constraint) && std::is_convertible_v<U, T>, int> = 0>      \
  constexpr HIP_vector_type<T, n> operator op(U a, const HIP_vector_type<T, n> &b) noexcept {                          \
    return HIP_vector_type<T, n>(a) op b;                                                                              \
  }
LUHIP_VECTOR_OPERATOR(+, true)
LUHIP_VECTOR_OPERATOR(-, true)
LUHIP_VECTOR_OPERATOR(*, true)
LUHIP_VECTOR_OPERATOR(/, true)
LUHIP_VECTOR_OPERATOR(%, std::is_integral_v<T>)
LUHIP_VECTOR_OPERATOR(&, std::is_integral_v<T>)
LUHIP_VECTOR_OPERATOR(|, std::is_integral_v<T>)
LUHIP_VECTOR_OPERATOR(^, std::is_integral_v<T>)
LUHIP_VECTOR_OPERATOR(<<, std::is_integral_v<T>)
LUHIP_VECTOR_OPERATOR(>>, std::is_integral_v<T>)
#undef LUHIP_VECTOR_OPERATOR

#define LUHIP_VECTOR_UNARY(op, constraint)                                                                             \
  template <class T, unsigned n, std::enable_if_t<constraint, int> = 0>                                                \
  constexpr HIP_vector_type<T, n> operator op(HIP_vector_type<T, n> a) noexcept {                                      \
    a.x = static_cast<T>(op a.x);                                                                                      \
    if constexpr (n > 1) a.y = static_cast<T>(op a.y);                                                                 \
    if constexpr (n > 2) a.z = static_cast<T>(op a.z);                                                                 \
    if constexpr (n > 3) a.w = static_cast<T>(op a.w);                                                                 \
    return a;                                                                                                          \
  }
LUHIP_VECTOR_UNARY(+, true)
LUHIP_VECTOR_UNARY(-, true)
LUHIP_VECTOR_UNARY(~, std::is_integral_v<T>)
#undef LUHIP_VECTOR_UNARY

#define LUHIP_VECTOR_STEP(op)                                                                                          \
  template <class T, unsigned n> constexpr HIP_vector_type<T, n> &operator op##op(HIP_vector_type<T, n> &a) noexcept { \
    return a op## = HIP_vector_type<T, n>(1);                                                                          \
  }                                                                                                                    \
  template <class T, unsigned n>                                                                                       \
  constexpr HIP_vector_type<T, n> operator op##op(HIP_vector_type<T, n> &a, int) noexcept {                            \
    HIP_vector_type<T, n> old = a;                                                                                     \
    a op## = HIP_vector_type<T, n>(1);                                                                                 \
    return old;                                                                                                        \
  }
LUHIP_VECTOR_STEP(+)
LUHIP_VECTOR_STEP(-)
#undef LUHIP_VECTOR_STEP

template <class T, unsigned n>
constexpr bool operator==(const HIP_vector_type<T, n> &a, const HIP_vector_type<T, n> &b) noexcept {
  bool equal = a.x == b.x;
  if constexpr (n > 1) equal &= a.y == b.y;
  if constexpr (n > 2) equal &= a.z == b.z;
  if constexpr (n > 3) equal &= a.w == b.w;
  return equal;
}
template <class T, unsigned n, class U, std::enable_if_t<std::is_convertible_v<U, T>, int> = 0>
constexpr bool operator==(const HIP_vector_type<T, n> &a, U b) noexcept {
  return a == HIP_vector_type<T, n>(b);
}
template <class T, unsigned n, class U, std::enable_if_t<std::is_convertible_v<U, T>, int> = 0>
constexpr bool operator==(U a, const HIP_vector_type<T, n> &b) noexcept {
  return HIP_vector_type<T, n>(a) == b;
}
template <class T, unsigned n>
constexpr bool operator!=(const HIP_vector_type<T, n> &a, const HIP_vector_type<T, n> &b) noexcept {
  return !(a == b);
}
template <class T, unsigned n, class U, std::enable_if_t<std::is_convertible_v<U, T>, int> = 0>
constexpr bool operator!=(const HIP_vector_type<T, n> &a, U b) noexcept {
  return !(a == b);
}
template <class T, unsigned n, class U, std::enable_if_t<std::is_convertible_v<U, T>, int> = 0>
constexpr bool operator!=(U a, const HIP_vector_type<T, n> &b) noexcept {
  return !(a == b);
}

#define LUHIP_VECTOR(name, T)                                                                                          \
  typedef HIP_vector_type<T, 1> name##1;                                                                               \
  typedef HIP_vector_type<T, 2> name##2;                                                                               \
  typedef HIP_vector_type<T, 3> name##3;                                                                               \
  typedef HIP_vector_type<T, 4> name##4;                                                                               \
  template <class V = name##1> static inline constexpr V make_##name##1(T x) { return V(x); }                          \
  template <class V = name##2> static inline constexpr V make_##name##2(T x, T y) { return V(x, y); }                  \
  template <class V = name##3> static inline constexpr V make_##name##3(T x, T y, T z) { return V(x, y, z); }          \
  template <class V = name##4> static inline constexpr V make_##name##4(T x, T y, T z, T w) { return V(x, y, z, w); }
LUHIP_VECTOR(char, char)
LUHIP_VECTOR(uchar, unsigned char)
LUHIP_VECTOR(short, short)
LUHIP_VECTOR(ushort, unsigned short)
LUHIP_VECTOR(int, int)
LUHIP_VECTOR(uint, unsigned int)
LUHIP_VECTOR(long, long)
LUHIP_VECTOR(ulong, unsigned long)
LUHIP_VECTOR(longlong, long long)
LUHIP_VECTOR(ulonglong, unsigned long long)
LUHIP_VECTOR(float, float)
LUHIP_VECTOR(double, double)
#undef LUHIP_VECTOR

struct dim3 {
  uint32_t x, y, z;
  constexpr dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1) noexcept : x(x_), y(y_), z(z_) {}
};

#endif
