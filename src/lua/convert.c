/*
 * convert.c - one element: from a Lua value, to a Lua value, from one element type to another.
 *
 * Integers are exact: what does not fit is refused, never wrapped. The one exception is asked for by the face:
 * u64 of 2^63 and above are, in Lua, the negative integers with the same bits. Floating-point elements round to
 * nearest, ties to even, once (an integer goes to f32 without a stop at double); a finite number that would
 * become an infinity is refused. bool takes true, false, 1 and 0. Complex numbers are {re, im}; a number is one
 * without an imaginary part.
 */
#include <math.h>
#include <string.h>

#include "lua/binding.h"

/* Any element, without loss. */
struct number {
  enum { SIGNED, UNSIGNED, REAL } kind;
  int64_t i;     /* SIGNED */
  uint64_t u;    /* UNSIGNED: beyond INT64_MAX only */
  double re, im; /* REAL */
};

static const double two_to_63 = 9223372036854775808.0, two_to_64 = 18446744073709551616.0;

bool lb_is_complex(luhip_dtype dtype) {
  return dtype == LUHIP_C64 || dtype == LUHIP_C128;
}

/* ---- half precision ------------------------------------------------------------------------------------------------- */

/* A 16-bit format: mantissa bits, exponent bias. */
struct format {
  int mantissa, bias;
};
static const struct format half = {10, 15}, bfloat = {7, 127};

static uint16_t infinity_of(struct format format) {
  return (uint16_t)((2u * (unsigned)format.bias + 1) << format.mantissa);
}

static uint16_t encode(struct format format, double value) {
  uint16_t sign = signbit(value) ? 0x8000 : 0;
  if (isnan(value)) return sign | infinity_of(format) | (uint16_t)(1u << (format.mantissa - 1));
  if (isinf(value)) return sign | infinity_of(format);
  if (value == 0) return sign;
  int exponent;
  frexp(value, &exponent); /* value = 1.x * 2^(exponent - 1) */
  exponent--;
  if (exponent < 1 - format.bias) exponent = 1 - format.bias; /* subnormal: the same grid as the least normal */
  if (exponent > format.bias) return sign | infinity_of(format);
  double scaled = ldexp(fabs(value), format.mantissa - exponent); /* exact; below 2^(mantissa + 1) */
  uint32_t whole = (uint32_t)scaled;
  double rest = scaled - whole;
  if (rest > 0.5 || (rest == 0.5 && (whole & 1))) whole++;
  /* A mantissa that overflows carries into the exponent, up to infinity. */
  return sign | (uint16_t)(((uint32_t)(exponent + format.bias - 1) << format.mantissa) + whole);
}

static double decode(struct format format, uint16_t bits) {
  int exponent = (bits & 0x7fff) >> format.mantissa;
  int fraction = bits & ((1 << format.mantissa) - 1);
  double value;
  if (exponent == 2 * format.bias + 1)
    value = fraction ? NAN : INFINITY;
  else if (exponent == 0)
    value = ldexp(fraction, 1 - format.bias - format.mantissa);
  else
    value = ldexp(fraction + (1 << format.mantissa), exponent - format.bias - format.mantissa);
  return bits & 0x8000 ? -value : value;
}

/* A double that rounds to 16-bit formats as the integer does: bits that do not fit leave a trace in the last place. */
static double sticky(uint64_t magnitude) {
  if (magnitude < (uint64_t)1 << 53) return (double)magnitude;
  return ldexp((double)(magnitude >> 12 | ((magnitude & 0xfff) != 0)), 12);
}

/* ---- out of an element ------------------------------------------------------------------------------------------------- */

static struct number load(luhip_dtype dtype, const void *element) {
  struct number n = {.kind = SIGNED};
  union {
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f32[2];
    double f64[2];
  } e;
  memcpy(&e, element, luhip_dtype_bytes(dtype));
  switch (dtype) {
  case LUHIP_I8:
    n.i = e.i8;
    break;
  case LUHIP_BOOL:
    n.i = e.u8 != 0;
    break;
  case LUHIP_U8:
    n.i = e.u8;
    break;
  case LUHIP_I16:
    n.i = e.i16;
    break;
  case LUHIP_U16:
    n.i = e.u16;
    break;
  case LUHIP_I32:
    n.i = e.i32;
    break;
  case LUHIP_U32:
    n.i = e.u32;
    break;
  case LUHIP_I64:
    n.i = e.i64;
    break;
  case LUHIP_U64:
    n.kind = e.u64 > INT64_MAX ? UNSIGNED : SIGNED;
    n.u = e.u64;
    n.i = (int64_t)e.u64;
    break;
  case LUHIP_F16:
    n = (struct number){REAL, .re = decode(half, e.u16)};
    break;
  case LUHIP_BF16:
    n = (struct number){REAL, .re = decode(bfloat, e.u16)};
    break;
  case LUHIP_F32:
    n = (struct number){REAL, .re = e.f32[0]};
    break;
  case LUHIP_F64:
    n = (struct number){REAL, .re = e.f64[0]};
    break;
  case LUHIP_C64:
    n = (struct number){REAL, .re = e.f32[0], .im = e.f32[1]};
    break;
  case LUHIP_C128:
    n = (struct number){REAL, .re = e.f64[0], .im = e.f64[1]};
    break;
  default:
    break;
  }
  return n;
}

static void push_complex(lua_State *L, struct number n) {
  lua_createtable(L, 2, 0);
  lua_pushnumber(L, n.re);
  lua_rawseti(L, -2, 1);
  lua_pushnumber(L, n.im);
  lua_rawseti(L, -2, 2);
}

void lb_push_element(lua_State *L, luhip_dtype dtype, const void *element) {
  struct number n = load(dtype, element);
  if (dtype == LUHIP_BOOL)
    lua_pushboolean(L, n.i != 0);
  else if (lb_is_complex(dtype))
    push_complex(L, n);
  else if (n.kind == REAL)
    lua_pushnumber(L, n.re);
  else
    lua_pushinteger(L, n.i);
}

/* ---- into an element ----------------------------------------------------------------------------------------------------- */

/* The number as an integer; a fraction is an error, or cut off as C does. */
static bool to_whole(struct number *n, bool cut) {
  if (n->kind != REAL) return true;
  double whole = trunc(n->re);
  if (n->im != 0 || (whole != n->re && !cut) || !(whole >= -two_to_63 && whole < two_to_64)) return false;
  n->kind = whole < two_to_63 ? SIGNED : UNSIGNED;
  if (n->kind == SIGNED)
    n->i = (int64_t)whole;
  else
    n->u = (uint64_t)whole;
  return true;
}

static enum lb_fit store_integer(struct number n, luhip_dtype dtype, bool cut, void *element) {
  static const struct {
    int64_t min, max;
  } limits[LUHIP_DTYPE_COUNT] = {
      [LUHIP_I8] = {INT8_MIN, INT8_MAX},    [LUHIP_U8] = {0, UINT8_MAX},          [LUHIP_I16] = {INT16_MIN, INT16_MAX},
      [LUHIP_U16] = {0, UINT16_MAX},        [LUHIP_I32] = {INT32_MIN, INT32_MAX}, [LUHIP_U32] = {0, UINT32_MAX},
      [LUHIP_I64] = {INT64_MIN, INT64_MAX}, [LUHIP_U64] = {0, INT64_MAX},
  };
  if (!to_whole(&n, cut)) return LB_OUT_OF_RANGE;
  if (n.kind == UNSIGNED) {
    if (dtype != LUHIP_U64) return LB_OUT_OF_RANGE;
    memcpy(element, &n.u, 8);
    return LB_FITS;
  }
  if (n.i < limits[dtype].min || n.i > limits[dtype].max) return LB_OUT_OF_RANGE;
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "elements are stored as the low bytes of an int64_t"
#endif
  memcpy(element, &n.i, luhip_dtype_bytes(dtype));
  return LB_FITS;
}

static enum lb_fit store_half(struct number n, struct format format, void *element) {
  double value = n.re;
  if (n.kind == UNSIGNED) value = sticky(n.u);
  if (n.kind == SIGNED) value = n.i < 0 ? -sticky(-(uint64_t)n.i) : sticky((uint64_t)n.i);
  uint16_t bits = encode(format, value);
  if ((bits & 0x7fff) == infinity_of(format) && !isinf(value)) return LB_OUT_OF_RANGE;
  memcpy(element, &bits, sizeof bits);
  return LB_FITS;
}

static bool narrow(double value, float *out) {
  *out = (float)value;
  return !isinf(*out) || isinf(value);
}

static enum lb_fit store_floats(struct number n, bool complex, void *element) {
  float parts[2] = {0, 0};
  if (n.kind == SIGNED)
    parts[0] = (float)n.i;
  else if (n.kind == UNSIGNED)
    parts[0] = (float)n.u;
  else if (!narrow(n.re, &parts[0]) || !narrow(n.im, &parts[1]))
    return LB_OUT_OF_RANGE;
  memcpy(element, parts, complex ? sizeof parts : sizeof parts[0]);
  return LB_FITS;
}

static enum lb_fit store_doubles(struct number n, bool complex, void *element) {
  double parts[2] = {n.re, n.im};
  if (n.kind == SIGNED) parts[0] = (double)n.i;
  if (n.kind == UNSIGNED) parts[0] = (double)n.u;
  memcpy(element, parts, complex ? sizeof parts : sizeof parts[0]);
  return LB_FITS;
}

static enum lb_fit store(struct number n, luhip_dtype dtype, bool cut, void *element) {
  bool complex = lb_is_complex(dtype);
  if (n.kind == REAL && n.im != 0 && !complex) return LB_OUT_OF_RANGE;
  switch (dtype) {
  case LUHIP_F16:
    return store_half(n, half, element);
  case LUHIP_BF16:
    return store_half(n, bfloat, element);
  case LUHIP_F32:
  case LUHIP_C64:
    return store_floats(n, complex, element);
  case LUHIP_F64:
  case LUHIP_C128:
    return store_doubles(n, complex, element);
  default:
    return store_integer(n, dtype, cut, element);
  }
}

static bool is_zero(struct number n) {
  return n.kind == SIGNED ? n.i == 0 : n.kind == REAL && n.re == 0 && n.im == 0;
}

enum lb_fit lb_cast_element(luhip_dtype from, const void *source, luhip_dtype to, void *target) {
  struct number n = load(from, source);
  if (to != LUHIP_BOOL) return store(n, to, true, target);
  *(unsigned char *)target = !is_zero(n);
  return LB_FITS;
}

/* ---- from Lua ---------------------------------------------------------------------------------------------------------------- */

static bool to_number(lua_State *L, int idx, struct number *n) {
  if (lua_type(L, idx) != LUA_TNUMBER) return false;
  if (lua_isinteger(L, idx))
    *n = (struct number){SIGNED, .i = lua_tointeger(L, idx)};
  else
    *n = (struct number){REAL, .re = lua_tonumber(L, idx)};
  return true;
}

static enum lb_fit to_bool(lua_State *L, int idx, unsigned char *element) {
  struct number n;
  if (lua_isboolean(L, idx)) {
    *element = (unsigned char)lua_toboolean(L, idx);
    return LB_FITS;
  }
  if (!to_number(L, idx, &n)) return LB_WRONG_TYPE;
  if (!to_whole(&n, false) || n.kind != SIGNED || n.i < 0 || n.i > 1) return LB_OUT_OF_RANGE;
  *element = (unsigned char)n.i;
  return LB_FITS;
}

/* {re, im}: a table of two numbers, read without metamethods. */
static bool to_complex(lua_State *L, int idx, struct number *n) {
  struct number re, im;
  if (!lua_istable(L, idx) || lua_rawlen(L, idx) != 2) return false;
  lua_rawgeti(L, idx, 1);
  lua_rawgeti(L, idx < 0 ? idx - 1 : idx, 2);
  bool both = to_number(L, -2, &re) && to_number(L, -1, &im);
  lua_pop(L, 2);
  if (!both) return false;
  *n =
      (struct number){REAL, .re = re.kind == REAL ? re.re : (double)re.i, .im = im.kind == REAL ? im.re : (double)im.i};
  return true;
}

/* The commonest cases, which tables of a million elements are made of. */
static bool to_plain_float(lua_State *L, int idx, luhip_dtype dtype, void *element) {
  if (lua_type(L, idx) != LUA_TNUMBER || lua_isinteger(L, idx)) return false;
  double value = lua_tonumber(L, idx);
  float narrowed;
  if (dtype == LUHIP_F64)
    memcpy(element, &value, sizeof value);
  else if (narrow(value, &narrowed))
    memcpy(element, &narrowed, sizeof narrowed);
  else
    return false;
  return true;
}

enum lb_fit lb_to_element(lua_State *L, int idx, luhip_dtype dtype, void *element) {
  struct number n;
  if ((dtype == LUHIP_F32 || dtype == LUHIP_F64) && to_plain_float(L, idx, dtype, element)) return LB_FITS;
  if (dtype == LUHIP_BOOL) return to_bool(L, idx, element);
  if (!to_number(L, idx, &n) && !(lb_is_complex(dtype) && to_complex(L, idx, &n))) return LB_WRONG_TYPE;
  if (dtype == LUHIP_U64 && to_whole(&n, false) && n.kind == SIGNED) {
    memcpy(element, &n.i, sizeof n.i);
    return LB_FITS;
  }
  return store(n, dtype, false, element);
}

static const char *wanted(luhip_dtype dtype) {
  if (dtype == LUHIP_BOOL) return "a boolean";
  return lb_is_complex(dtype) ? "a number or {re, im}" : "a number";
}

int lb_bad_element(lua_State *L, int idx, luhip_dtype dtype, enum lb_fit fit, const char *where) {
  if (fit == LB_WRONG_TYPE)
    return lb_raise(L, LUHIP_E_TYPE, "%s: %s expected, got %s", where, wanted(dtype), lb_type_name(L, idx));
  const char *text = lua_istable(L, idx) ? "{re, im}" : luaL_tolstring(L, idx, NULL);
  return lb_raise(L, LUHIP_E_RANGE, "%s: %s does not fit in %s", where, text, luhip_dtype_name(dtype));
}
