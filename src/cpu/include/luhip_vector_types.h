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
/* clang-format off: one function a line */
#include "luhip_std.h"

template <class T, unsigned n> struct HIP_vector_base;
template <class T> struct HIP_vector_base<T, 1> {
  typedef T value_type;
  T x;
  HIP_vector_base() = default;
  constexpr explicit HIP_vector_base(T s) noexcept : x(s) {}
};
template <class T> struct alignas(2 * sizeof(T)) HIP_vector_base<T, 2> {
  typedef T value_type;
  T x, y;
  HIP_vector_base() = default;
  constexpr explicit HIP_vector_base(T s) noexcept : x(s), y(s) {}
  constexpr HIP_vector_base(T x_, T y_) noexcept : x(x_), y(y_) {}
};
template <class T> struct HIP_vector_base<T, 3> {
  typedef T value_type;
  T x, y, z;
  HIP_vector_base() = default;
  constexpr explicit HIP_vector_base(T s) noexcept : x(s), y(s), z(s) {}
  constexpr HIP_vector_base(T x_, T y_, T z_) noexcept : x(x_), y(y_), z(z_) {}
};
template <class T> struct alignas(4 * sizeof(T)) HIP_vector_base<T, 4> {
  typedef T value_type;
  T x, y, z, w;
  HIP_vector_base() = default;
  constexpr explicit HIP_vector_base(T s) noexcept : x(s), y(s), z(s), w(s) {}
  constexpr HIP_vector_base(T x_, T y_, T z_, T w_) noexcept : x(x_), y(y_), z(z_), w(w_) {}
};

template <class T, unsigned n> struct HIP_vector_type : HIP_vector_base<T, n> {
  HIP_vector_type() = default;
  template <class U, std::enable_if_t<std::is_convertible_v<U, T>, int> = 0>
  constexpr explicit HIP_vector_type(U s) noexcept : HIP_vector_base<T, n>(static_cast<T>(s)) {}
  template <class... U, std::enable_if_t<(n > 1) && sizeof...(U) == n, int> = 0>
  constexpr HIP_vector_type(U... v) noexcept : HIP_vector_base<T, n>(static_cast<T>(v)...) {}

#define LUHIP_VECTOR_EACH(statement)                                                                                   \
  do {                                                                                                                 \
    statement(x);                                                                                                      \
    if constexpr (n > 1) statement(y);                                                                                 \
    if constexpr (n > 2) statement(z);                                                                                 \
    if constexpr (n > 3) statement(w);                                                                                 \
  } while (0)
#define LUHIP_VECTOR_ASSIGN(op)                                                                                        \
  constexpr HIP_vector_type &operator op(const HIP_vector_type &v) noexcept {                                          \
    this->x op v.x;                                                                                                    \
    if constexpr (n > 1) this->y op v.y;                                                                               \
    if constexpr (n > 2) this->z op v.z;                                                                               \
    if constexpr (n > 3) this->w op v.w;                                                                               \
    return *this;                                                                                                      \
  }                                                                                                                    \
  template <class U, std::enable_if_t<std::is_convertible_v<U, T>, int> = 0>                                           \
  constexpr HIP_vector_type &operator op(U s) noexcept {                                                               \
    return *this op HIP_vector_type(s);                                                                                \
  }
  LUHIP_VECTOR_ASSIGN(+=)
  LUHIP_VECTOR_ASSIGN(-=)
  LUHIP_VECTOR_ASSIGN(*=)
  LUHIP_VECTOR_ASSIGN(/=)
  LUHIP_VECTOR_ASSIGN(%=)
  LUHIP_VECTOR_ASSIGN(&=)
  LUHIP_VECTOR_ASSIGN(|=)
  LUHIP_VECTOR_ASSIGN(^=)
  LUHIP_VECTOR_ASSIGN(<<=)
  LUHIP_VECTOR_ASSIGN(>>=)
#undef LUHIP_VECTOR_ASSIGN

  constexpr HIP_vector_type &operator++() noexcept { return *this += HIP_vector_type(1); }
  constexpr HIP_vector_type &operator--() noexcept { return *this -= HIP_vector_type(1); }
  constexpr HIP_vector_type operator++(int) noexcept {
    HIP_vector_type old = *this;
    ++*this;
    return old;
  }
  constexpr HIP_vector_type operator--(int) noexcept {
    HIP_vector_type old = *this;
    --*this;
    return old;
  }
  constexpr HIP_vector_type operator+() const noexcept { return *this; }
  constexpr HIP_vector_type operator-() const noexcept {
    HIP_vector_type r = *this;
#define LUHIP_STATEMENT(m) r.m = -r.m
    LUHIP_VECTOR_EACH(LUHIP_STATEMENT);
#undef LUHIP_STATEMENT
    return r;
  }
  template <class U = T, std::enable_if_t<std::is_integral_v<U>, int> = 0>
  constexpr HIP_vector_type operator~() const noexcept {
    HIP_vector_type r = *this;
#define LUHIP_STATEMENT(m) r.m = ~r.m
    LUHIP_VECTOR_EACH(LUHIP_STATEMENT);
#undef LUHIP_STATEMENT
    return r;
  }
#undef LUHIP_VECTOR_EACH
};

#define LUHIP_VECTOR_BINARY(op, constraint)                                                                            \
  template <class T, unsigned n, std::enable_if_t<constraint, int> = 0>                                                \
  constexpr HIP_vector_type<T, n> operator op(const HIP_vector_type<T, n> &a,                                          \
                                              const HIP_vector_type<T, n> &b) noexcept {                               \
    return HIP_vector_type<T, n>(a) op##= b;                                                                           \
  }                                                                                                                    \
  template <class T, unsigned n, class U, std::enable_if_t<(constraint) && std::is_convertible_v<U, T>, int> = 0>      \
  constexpr HIP_vector_type<T, n> operator op(const HIP_vector_type<T, n> &a, U b) noexcept {                          \
    return HIP_vector_type<T, n>(a) op##= HIP_vector_type<T, n>(b);                                                    \
  }                                                                                                                    \
  template <class T, unsigned n, class U, std::enable_if_t<(constraint) && std::is_convertible_v<U, T>, int> = 0>      \
  constexpr HIP_vector_type<T, n> operator op(U a, const HIP_vector_type<T, n> &b) noexcept {                          \
    return HIP_vector_type<T, n>(a) op##= b;                                                                           \
  }
LUHIP_VECTOR_BINARY(+, true)
LUHIP_VECTOR_BINARY(-, true)
LUHIP_VECTOR_BINARY(*, true)
LUHIP_VECTOR_BINARY(/, true)
LUHIP_VECTOR_BINARY(%, std::is_integral_v<T>)
LUHIP_VECTOR_BINARY(&, std::is_integral_v<T>)
LUHIP_VECTOR_BINARY(|, std::is_integral_v<T>)
LUHIP_VECTOR_BINARY(^, std::is_integral_v<T>)
LUHIP_VECTOR_BINARY(<<, std::is_integral_v<T>)
LUHIP_VECTOR_BINARY(>>, std::is_integral_v<T>)
#undef LUHIP_VECTOR_BINARY

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
  static inline constexpr name##1 make_##name##1(T x) { return name##1(x); }                                           \
  static inline constexpr name##2 make_##name##2(T x, T y) { return name##2(x, y); }                                   \
  static inline constexpr name##3 make_##name##3(T x, T y, T z) { return name##3(x, y, z); }                           \
  static inline constexpr name##4 make_##name##4(T x, T y, T z, T w) { return name##4(x, y, z, w); }
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
