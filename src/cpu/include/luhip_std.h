/*
 * luhip_std.h - the part of the C and C++ standard libraries that device code uses.
 *
 * A kernel is compiled without any header of libc or libstdc++ (-nostdinc++ -nostdlibinc): parsing those costs more
 * than compiling a small kernel, and what they declare must not be called in a kernel. This file holds the few
 * types, limits and traits instead; <stdint.h>, <type_traits>, <limits> and the like are empty files, as
 * everything here comes before the user's first line.
 */
#ifndef LUHIP_STD_H
#define LUHIP_STD_H
/* One function a line. */
/* clang-format off */

/* ---- <stddef.h>, <stdint.h>, <stdbool.h> ---- */
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __INTMAX_TYPE__ intmax_t;
typedef __UINTMAX_TYPE__ uintmax_t;
typedef int8_t int_least8_t, int_fast8_t;
typedef uint8_t uint_least8_t, uint_fast8_t;
typedef int16_t int_least16_t;
typedef uint16_t uint_least16_t;
typedef int32_t int_least32_t;
typedef uint32_t uint_least32_t;
#if defined(__CUDACC_RTC__) /* as CUDA's own headers have them */
typedef int16_t int_fast16_t;
typedef int32_t int_fast32_t;
typedef int64_t int_least64_t, int_fast64_t;
typedef uint16_t uint_fast16_t;
typedef uint32_t uint_fast32_t;
typedef uint64_t uint_least64_t, uint_fast64_t;
#else
typedef int64_t int_least64_t, int_fast16_t, int_fast32_t, int_fast64_t;
typedef uint64_t uint_least64_t, uint_fast16_t, uint_fast32_t, uint_fast64_t;
#endif
typedef __PTRDIFF_TYPE__ ssize_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef long long longlong;
typedef unsigned long long ulonglong;

/* What clang has built in and gcc has not. */
#if !defined(__clang__) && !defined(__CUDACC_RTC__)
static inline void __builtin_debugtrap() { __asm__ volatile("int3"); }
static inline unsigned long long __builtin_readcyclecounter() { return __builtin_ia32_rdtsc(); }
#endif

#if !defined(NULL)
#define NULL __null
#endif
#define offsetof(type, member) __builtin_offsetof(type, member)

#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295U
#define INT64_MIN (-9223372036854775807L - 1)
#define INT64_MAX 9223372036854775807L
#define UINT64_MAX 18446744073709551615UL
#define INTPTR_MIN INT64_MIN
#define INTPTR_MAX INT64_MAX
#define UINTPTR_MAX UINT64_MAX
#define INTMAX_MIN INT64_MIN
#define INTMAX_MAX INT64_MAX
#define UINTMAX_MAX UINT64_MAX
#define PTRDIFF_MIN INT64_MIN
#define PTRDIFF_MAX INT64_MAX
#define SIZE_MAX UINT64_MAX
#define INT8_C(x) x
#define INT16_C(x) x
#define INT32_C(x) x
#define INT64_C(x) x##L
#define UINT8_C(x) x
#define UINT16_C(x) x
#define UINT32_C(x) x##U
#define UINT64_C(x) x##UL

/* ---- <limits.h>, <float.h> ---- */
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SHRT_MIN INT16_MIN
#define SHRT_MAX INT16_MAX
#define USHRT_MAX UINT16_MAX
#define INT_MIN INT32_MIN
#define INT_MAX INT32_MAX
#define UINT_MAX UINT32_MAX
#define LONG_MIN INT64_MIN
#define LONG_MAX INT64_MAX
#define ULONG_MAX UINT64_MAX
#define LLONG_MIN (-9223372036854775807LL - 1)
#define LLONG_MAX 9223372036854775807LL
#define ULLONG_MAX 18446744073709551615ULL

#define FLT_RADIX 2
#define FLT_MANT_DIG __FLT_MANT_DIG__
#define FLT_DIG __FLT_DIG__
#define FLT_DECIMAL_DIG __FLT_DECIMAL_DIG__
#define FLT_MIN_EXP __FLT_MIN_EXP__
#define FLT_MAX_EXP __FLT_MAX_EXP__
#define FLT_MIN_10_EXP __FLT_MIN_10_EXP__
#define FLT_MAX_10_EXP __FLT_MAX_10_EXP__
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define FLT_TRUE_MIN __FLT_DENORM_MIN__
#define DBL_MANT_DIG __DBL_MANT_DIG__
#define DBL_DIG __DBL_DIG__
#define DBL_DECIMAL_DIG __DBL_DECIMAL_DIG__
#define DBL_MIN_EXP __DBL_MIN_EXP__
#define DBL_MAX_EXP __DBL_MAX_EXP__
#define DBL_MIN_10_EXP __DBL_MIN_10_EXP__
#define DBL_MAX_10_EXP __DBL_MAX_10_EXP__
#define DBL_MAX __DBL_MAX__
#define DBL_MIN __DBL_MIN__
#define DBL_EPSILON __DBL_EPSILON__
#define DBL_TRUE_MIN __DBL_DENORM_MIN__

/* ---- <string.h>: the compiler makes calls of these by itself, so they must exist anyway ---- */
#if !defined(__CUDACC_RTC__)
extern "C" {
void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
}
#endif

/* ---- <type_traits>, <limits>, <utility>, <algorithm>, <initializer_list>, <array> ---- */
namespace std {

using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intptr_t;
using ::memcmp;
using ::memcpy;
using ::memmove;
using ::memset;
using ::ptrdiff_t;
using ::size_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;
typedef decltype(nullptr) nullptr_t;

template <class T, T v> struct integral_constant {
  static constexpr T value = v;
  typedef T value_type;
  typedef integral_constant type;
  constexpr operator T() const noexcept { return v; }
  constexpr T operator()() const noexcept { return v; }
};
template <bool b> using bool_constant = integral_constant<bool, b>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

template <bool, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool b, class T = void> using enable_if_t = typename enable_if<b, T>::type;
template <bool, class A, class> struct conditional { typedef A type; };
template <class A, class B> struct conditional<false, A, B> { typedef B type; };
template <bool b, class A, class B> using conditional_t = typename conditional<b, A, B>::type;
template <class...> using void_t = void;

template <class T> struct type_identity { typedef T type; };
template <class T> struct remove_const : type_identity<T> {};
template <class T> struct remove_const<const T> : type_identity<T> {};
template <class T> struct remove_volatile : type_identity<T> {};
template <class T> struct remove_volatile<volatile T> : type_identity<T> {};
template <class T> struct remove_cv : type_identity<T> {};
template <class T> struct remove_cv<const T> : type_identity<T> {};
template <class T> struct remove_cv<volatile T> : type_identity<T> {};
template <class T> struct remove_cv<const volatile T> : type_identity<T> {};
template <class T> struct remove_reference : type_identity<T> {};
template <class T> struct remove_reference<T &> : type_identity<T> {};
template <class T> struct remove_reference<T &&> : type_identity<T> {};
template <class T> struct remove_pointer : type_identity<T> {};
template <class T> struct remove_pointer<T *> : type_identity<T> {};
template <class T> struct remove_pointer<T *const> : type_identity<T> {};
template <class T> struct remove_extent : type_identity<T> {};
template <class T> struct remove_extent<T[]> : type_identity<T> {};
template <class T, size_t n> struct remove_extent<T[n]> : type_identity<T> {};
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_volatile_t = typename remove_volatile<T>::type;
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> using remove_extent_t = typename remove_extent<T>::type;
template <class T> struct remove_cvref : remove_cv<remove_reference_t<T>> {};
template <class T> using remove_cvref_t = typename remove_cvref<T>::type;
template <class T> struct add_const : type_identity<const T> {};
template <class T> using add_const_t = const T;
template <class T> struct add_pointer : type_identity<remove_reference_t<T> *> {};
template <class T> using add_pointer_t = typename add_pointer<T>::type;
template <class T> struct add_lvalue_reference : type_identity<T &> {};
template <class T> struct add_rvalue_reference : type_identity<T &&> {};
template <> struct add_lvalue_reference<void> : type_identity<void> {};
template <> struct add_rvalue_reference<void> : type_identity<void> {};
template <class T> using add_lvalue_reference_t = typename add_lvalue_reference<T>::type;
template <class T> using add_rvalue_reference_t = typename add_rvalue_reference<T>::type;

template <class A, class B> constexpr bool is_same_v = false;
template <class A> constexpr bool is_same_v<A, A> = true;
template <class A, class B> struct is_same : bool_constant<is_same_v<A, B>> {};

/* Each trait as X_v and as a type: D(name, constant expression of T). */
#define LUHIP_TRAIT(name, ...)                                                                                         \
  template <class T> constexpr bool name##_v = __VA_ARGS__;                                                            \
  template <class T> struct name : bool_constant<name##_v<T>> {};
template <class> constexpr bool luhip_integral = false;
template <> constexpr bool luhip_integral<bool> = true;
template <> constexpr bool luhip_integral<char> = true;
template <> constexpr bool luhip_integral<signed char> = true;
template <> constexpr bool luhip_integral<unsigned char> = true;
template <> constexpr bool luhip_integral<wchar_t> = true;
template <> constexpr bool luhip_integral<char16_t> = true;
template <> constexpr bool luhip_integral<char32_t> = true;
template <> constexpr bool luhip_integral<short> = true;
template <> constexpr bool luhip_integral<unsigned short> = true;
template <> constexpr bool luhip_integral<int> = true;
template <> constexpr bool luhip_integral<unsigned> = true;
template <> constexpr bool luhip_integral<long> = true;
template <> constexpr bool luhip_integral<unsigned long> = true;
template <> constexpr bool luhip_integral<long long> = true;
template <> constexpr bool luhip_integral<unsigned long long> = true;
template <class> constexpr bool luhip_floating = false;
template <> constexpr bool luhip_floating<float> = true;
template <> constexpr bool luhip_floating<double> = true;
#if !defined(__CUDACC_RTC__)
template <> constexpr bool luhip_floating<_Float16> = true;
template <> constexpr bool luhip_floating<long double> = true;
#endif
template <class> constexpr bool luhip_pointer = false;
template <class T> constexpr bool luhip_pointer<T *> = true;
template <class> constexpr bool luhip_lvalue = false;
template <class T> constexpr bool luhip_lvalue<T &> = true;
template <class> constexpr bool luhip_rvalue = false;
template <class T> constexpr bool luhip_rvalue<T &&> = true;
template <class> constexpr bool luhip_array = false;
template <class T> constexpr bool luhip_array<T[]> = true;
template <class T, size_t n> constexpr bool luhip_array<T[n]> = true;
template <class> constexpr bool luhip_const = false;
template <class T> constexpr bool luhip_const<const T> = true;
template <class> constexpr bool luhip_volatile = false;
template <class T> constexpr bool luhip_volatile<volatile T> = true;

LUHIP_TRAIT(is_void, is_same_v<remove_cv_t<T>, void>)
LUHIP_TRAIT(is_null_pointer, is_same_v<remove_cv_t<T>, nullptr_t>)
LUHIP_TRAIT(is_integral, luhip_integral<remove_cv_t<T>>)
LUHIP_TRAIT(is_floating_point, luhip_floating<remove_cv_t<T>>)
LUHIP_TRAIT(is_arithmetic, is_integral_v<T> || is_floating_point_v<T>)
LUHIP_TRAIT(is_pointer, luhip_pointer<remove_cv_t<T>>)
LUHIP_TRAIT(is_lvalue_reference, luhip_lvalue<T>)
LUHIP_TRAIT(is_rvalue_reference, luhip_rvalue<T>)
LUHIP_TRAIT(is_reference, luhip_lvalue<T> || luhip_rvalue<T>)
LUHIP_TRAIT(is_array, luhip_array<T>)
LUHIP_TRAIT(is_const, luhip_const<T>)
LUHIP_TRAIT(is_volatile, luhip_volatile<T>)
LUHIP_TRAIT(is_enum, __is_enum(T))
LUHIP_TRAIT(is_class, __is_class(T))
LUHIP_TRAIT(is_union, __is_union(T))
LUHIP_TRAIT(is_scalar, is_arithmetic_v<T> || __is_enum(T) || is_pointer_v<T> || is_null_pointer_v<T>)
LUHIP_TRAIT(is_fundamental, is_arithmetic_v<T> || is_void_v<T> || is_null_pointer_v<T>)
LUHIP_TRAIT(is_empty, __is_empty(T))
LUHIP_TRAIT(is_pod, __is_pod(T))
LUHIP_TRAIT(is_final, __is_final(T))
LUHIP_TRAIT(is_trivial, __is_trivial(T))
LUHIP_TRAIT(is_trivially_copyable, __is_trivially_copyable(T))
LUHIP_TRAIT(is_standard_layout, __is_standard_layout(T))
#undef LUHIP_TRAIT

template <class T, bool = is_arithmetic_v<T>> constexpr bool is_signed_v = T(-1) < T(0);
template <class T> constexpr bool is_signed_v<T, false> = false;
template <class T> struct is_signed : bool_constant<is_signed_v<T>> {};
template <class T> constexpr bool is_unsigned_v = is_arithmetic_v<T> && !is_signed_v<T>;
template <class T> struct is_unsigned : bool_constant<is_unsigned_v<T>> {};
template <class B, class D> constexpr bool is_base_of_v = __is_base_of(B, D);
template <class B, class D> struct is_base_of : bool_constant<is_base_of_v<B, D>> {};

template <class T> add_rvalue_reference_t<T> declval() noexcept;
template <class To> void luhip_accept(To) noexcept;
template <class From, class To, class = void> constexpr bool is_convertible_v = is_void_v<From> &&is_void_v<To>;
template <class From, class To>
constexpr bool is_convertible_v<From, To, void_t<decltype(luhip_accept<To>(declval<From>()))>> = true;
template <class From, class To> struct is_convertible : bool_constant<is_convertible_v<From, To>> {};
template <class T, class... A> constexpr bool is_constructible_v = __is_constructible(T, A...);
template <class T, class... A> struct is_constructible : bool_constant<is_constructible_v<T, A...>> {};

template <class...> constexpr bool conjunction_v = true;
template <class A, class... R> constexpr bool conjunction_v<A, R...> = bool(A::value) && conjunction_v<R...>;
template <class... A> struct conjunction : bool_constant<conjunction_v<A...>> {};
template <class...> constexpr bool disjunction_v = false;
template <class A, class... R> constexpr bool disjunction_v<A, R...> = bool(A::value) || disjunction_v<R...>;
template <class... A> struct disjunction : bool_constant<disjunction_v<A...>> {};
template <class A> constexpr bool negation_v = !bool(A::value);
template <class A> struct negation : bool_constant<negation_v<A>> {};

template <class T> struct underlying_type { typedef __underlying_type(T) type; };
template <class T> using underlying_type_t = typename underlying_type<T>::type;
template <class T> struct alignment_of : integral_constant<size_t, alignof(T)> {};
template <class T> constexpr size_t extent_v = 0;
template <class T, size_t n> constexpr size_t extent_v<T[n]> = n;
template <class T> struct extent : integral_constant<size_t, extent_v<T>> {};
template <class T> constexpr size_t rank_v = 0;
template <class T> constexpr size_t rank_v<T[]> = 1 + rank_v<T>;
template <class T, size_t n> constexpr size_t rank_v<T[n]> = 1 + rank_v<T>;
template <class T> struct rank : integral_constant<size_t, rank_v<T>> {};

template <size_t, bool> struct luhip_integer;
template <> struct luhip_integer<1, true> : type_identity<signed char> {};
template <> struct luhip_integer<1, false> : type_identity<unsigned char> {};
template <> struct luhip_integer<2, true> : type_identity<short> {};
template <> struct luhip_integer<2, false> : type_identity<unsigned short> {};
template <> struct luhip_integer<4, true> : type_identity<int> {};
template <> struct luhip_integer<4, false> : type_identity<unsigned> {};
template <> struct luhip_integer<8, true> : type_identity<long> {};
template <> struct luhip_integer<8, false> : type_identity<unsigned long> {};
template <class T> struct make_signed : luhip_integer<sizeof(T), true> {};
template <class T> struct make_unsigned : luhip_integer<sizeof(T), false> {};
template <> struct make_signed<long long> : type_identity<long long> {};
template <> struct make_signed<unsigned long long> : type_identity<long long> {};
template <> struct make_unsigned<long long> : type_identity<unsigned long long> {};
template <> struct make_unsigned<unsigned long long> : type_identity<unsigned long long> {};
template <class T> using make_signed_t = typename make_signed<T>::type;
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;

template <class T> struct luhip_decay : remove_cv<T> {};
template <class T> struct luhip_decay<T[]> : type_identity<T *> {};
template <class T, size_t n> struct luhip_decay<T[n]> : type_identity<T *> {};
template <class R, class... A> struct luhip_decay<R(A...)> : type_identity<R (*)(A...)> {};
template <class T> struct decay : luhip_decay<remove_reference_t<T>> {};
template <class T> using decay_t = typename decay<T>::type;

template <class... T> struct common_type {};
template <class A> struct common_type<A> : decay<A> {};
template <class A, class B>
struct common_type<A, B> : type_identity<decay_t<decltype(true ? declval<A>() : declval<B>())>> {};
template <class A, class B, class C, class... R>
struct common_type<A, B, C, R...> : common_type<typename common_type<A, B>::type, C, R...> {};
template <class... T> using common_type_t = typename common_type<T...>::type;

template <class F, class... A> struct invoke_result : type_identity<decltype(declval<F>()(declval<A>()...))> {};
template <class F, class... A> using invoke_result_t = typename invoke_result<F, A...>::type;

#if !defined(__CUDACC_RTC__) /* which has these three built in */
template <class T> constexpr remove_reference_t<T> &&move(T &&v) noexcept {
  return static_cast<remove_reference_t<T> &&>(v);
}
template <class T> constexpr T &&forward(remove_reference_t<T> &v) noexcept { return static_cast<T &&>(v); }
template <class T> constexpr T &&forward(remove_reference_t<T> &&v) noexcept { return static_cast<T &&>(v); }
#endif
template <class T> constexpr T *addressof(T &v) noexcept { return __builtin_addressof(v); }
template <class T> constexpr void swap(T &a, T &b) noexcept {
  T old = move(a);
  a = move(b);
  b = move(old);
}
template <class T, class U = T> constexpr T exchange(T &object, U &&v) {
  T old = move(object);
  object = forward<U>(v);
  return old;
}
template <class A, class B> struct pair {
  typedef A first_type;
  typedef B second_type;
  A first;
  B second;
};
template <class A, class B> pair(A, B) -> pair<A, B>;
template <class A, class B> constexpr pair<decay_t<A>, decay_t<B>> make_pair(A &&a, B &&b) {
  return {forward<A>(a), forward<B>(b)};
}

template <class T, T... v> struct integer_sequence {
  typedef T value_type;
  static constexpr size_t size() noexcept { return sizeof...(v); }
};
template <size_t... v> using index_sequence = integer_sequence<size_t, v...>;
#if defined(__clang__)
template <class T, T n> using make_integer_sequence = __make_integer_seq<integer_sequence, T, n>;
#elif defined(__CUDACC_RTC__)
template <size_t n, size_t... v> struct luhip_sequence : luhip_sequence<n - 1, n - 1, v...> {};
template <size_t... v> struct luhip_sequence<0, v...> { template <class T> using of = integer_sequence<T, T(v)...>; };
template <class T, T n> using make_integer_sequence = typename luhip_sequence<size_t(n)>::template of<T>;
#else
template <class T, T n> using make_integer_sequence = integer_sequence<T, __integer_pack(n)...>;
#endif
template <size_t n> using make_index_sequence = make_integer_sequence<size_t, n>;
template <class... T> using index_sequence_for = make_index_sequence<sizeof...(T)>;

template <class T> constexpr const T &min(const T &a, const T &b) { return b < a ? b : a; }
template <class T> constexpr const T &max(const T &a, const T &b) { return a < b ? b : a; }
template <class T, class L> constexpr const T &min(const T &a, const T &b, L less) { return less(b, a) ? b : a; }
template <class T, class L> constexpr const T &max(const T &a, const T &b, L less) { return less(a, b) ? b : a; }
template <class T> constexpr const T &clamp(const T &v, const T &low, const T &high) {
  return v < low ? low : high < v ? high : v;
}

#if !defined(__CUDACC_RTC__)
/* The layout that the compiler fills: a pointer and a count. */
template <class T> class initializer_list {
  const T *first_;
  size_t count_;
  constexpr initializer_list(const T *first, size_t count) : first_(first), count_(count) {}

public:
  typedef T value_type;
  constexpr initializer_list() noexcept : first_(nullptr), count_(0) {}
  constexpr size_t size() const noexcept { return count_; }
  constexpr const T *begin() const noexcept { return first_; }
  constexpr const T *end() const noexcept { return first_ + count_; }
};
#endif

template <class T, size_t n> struct array {
  typedef T value_type;
  T elements_[n ? n : 1];
  constexpr T &operator[](size_t i) { return elements_[i]; }
  constexpr const T &operator[](size_t i) const { return elements_[i]; }
  constexpr T *data() { return elements_; }
  constexpr const T *data() const { return elements_; }
  constexpr T *begin() { return elements_; }
  constexpr const T *begin() const { return elements_; }
  constexpr T *end() { return elements_ + n; }
  constexpr const T *end() const { return elements_ + n; }
  static constexpr size_t size() { return n; }
  constexpr void fill(const T &v) {
    for (T &e : *this) e = v;
  }
};

template <class T> struct plus {
  constexpr T operator()(const T &a, const T &b) const { return a + b; }
};
template <class T> struct minus {
  constexpr T operator()(const T &a, const T &b) const { return a - b; }
};
template <class T> struct multiplies {
  constexpr T operator()(const T &a, const T &b) const { return a * b; }
};
template <class T> struct less {
  constexpr bool operator()(const T &a, const T &b) const { return a < b; }
};
template <class T> struct greater {
  constexpr bool operator()(const T &a, const T &b) const { return a > b; }
};

enum float_round_style { round_toward_zero = 0, round_to_nearest = 1 };

template <class T> struct luhip_integer_limits {
  static constexpr bool is_specialized = true, is_signed = T(-1) < T(0), is_integer = true, is_exact = true;
  static constexpr bool has_infinity = false, has_quiet_NaN = false, is_iec559 = false, is_bounded = true;
  static constexpr int radix = 2, digits = int(sizeof(T)) * 8 - is_signed, digits10 = digits * 643L / 2136;
  static constexpr T min() noexcept { return is_signed ? T(T(1) << (sizeof(T) * 8 - 1)) : T(0); }
  static constexpr T max() noexcept { return T(~min()); }
  static constexpr T lowest() noexcept { return min(); }
  static constexpr T epsilon() noexcept { return T(0); }
  static constexpr T infinity() noexcept { return T(0); }
  static constexpr T quiet_NaN() noexcept { return T(0); }
};
template <class T> struct numeric_limits { static constexpr bool is_specialized = false; };
template <class T> struct numeric_limits<const T> : numeric_limits<T> {};
template <> struct numeric_limits<bool> {
  static constexpr bool is_specialized = true, is_signed = false, is_integer = true, is_exact = true;
  static constexpr int radix = 2, digits = 1, digits10 = 0;
  static constexpr bool min() noexcept { return false; }
  static constexpr bool max() noexcept { return true; }
  static constexpr bool lowest() noexcept { return false; }
};
template <> struct numeric_limits<char> : luhip_integer_limits<char> {};
template <> struct numeric_limits<signed char> : luhip_integer_limits<signed char> {};
template <> struct numeric_limits<unsigned char> : luhip_integer_limits<unsigned char> {};
template <> struct numeric_limits<short> : luhip_integer_limits<short> {};
template <> struct numeric_limits<unsigned short> : luhip_integer_limits<unsigned short> {};
template <> struct numeric_limits<int> : luhip_integer_limits<int> {};
template <> struct numeric_limits<unsigned> : luhip_integer_limits<unsigned> {};
template <> struct numeric_limits<long> : luhip_integer_limits<long> {};
template <> struct numeric_limits<unsigned long> : luhip_integer_limits<unsigned long> {};
template <> struct numeric_limits<long long> : luhip_integer_limits<long long> {};
template <> struct numeric_limits<unsigned long long> : luhip_integer_limits<unsigned long long> {};

#define LUHIP_FLOAT_LIMITS(T, P, inf, qnan)                                                                            \
  template <> struct numeric_limits<T> {                                                                               \
    static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;               \
    static constexpr bool has_infinity = true, has_quiet_NaN = true, is_iec559 = true, is_bounded = true;              \
    static constexpr int radix = 2, digits = __##P##_MANT_DIG__, digits10 = __##P##_DIG__;                             \
    static constexpr int max_digits10 = __##P##_DECIMAL_DIG__;                                                         \
    static constexpr int min_exponent = __##P##_MIN_EXP__, max_exponent = __##P##_MAX_EXP__;                           \
    static constexpr int min_exponent10 = __##P##_MIN_10_EXP__, max_exponent10 = __##P##_MAX_10_EXP__;                 \
    static constexpr T min() noexcept { return T(__##P##_MIN__); }                                                     \
    static constexpr T max() noexcept { return T(__##P##_MAX__); }                                                     \
    static constexpr T lowest() noexcept { return T(-__##P##_MAX__); }                                                 \
    static constexpr T epsilon() noexcept { return T(__##P##_EPSILON__); }                                             \
    static constexpr T denorm_min() noexcept { return T(__##P##_DENORM_MIN__); }                                       \
    static constexpr T round_error() noexcept { return T(0.5); }                                                       \
    static constexpr T infinity() noexcept { return T(inf); }                                                          \
    static constexpr T quiet_NaN() noexcept { return T(qnan); }                                                        \
  };
#if defined(__clang__)
LUHIP_FLOAT_LIMITS(_Float16, FLT16, __builtin_inff(), __builtin_nanf(""))
#endif
LUHIP_FLOAT_LIMITS(float, FLT, __builtin_inff(), __builtin_nanf(""))
LUHIP_FLOAT_LIMITS(double, DBL, __builtin_inf(), __builtin_nan(""))
#undef LUHIP_FLOAT_LIMITS

} // namespace std

/* A function with parameters of type luhip_same<L>, L a template parameter with a default, is called like an ordinary
   one, but its body means nothing to the compiler until somebody calls it: that halves the time to read this header. */
template <class T> using luhip_same = typename std::type_identity<T>::type;
#define LUHIP_LAZY(T) template <class L = T> static inline

#endif
