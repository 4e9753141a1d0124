/*
 * json.c - core.json: JSON text into Lua values, fast enough for recorded tuning runs of many megabytes.
 *
 * Objects and arrays become tables, whole numbers integers where they fit, other numbers floats. null is left out of
 * objects and is core.null in arrays. NaN, Infinity and -Infinity are numbers, as Python writes them.
 *
 * With `partial`, a text that ends too early is no error: containers nested up to that deep are closed where it ends, and
 * what was not complete inside them is dropped. That is how files that are written record by record are read.
 *
 * The parser keeps no memory of its own, since any push of a Lua value may raise: strings with escapes are put together
 * in a luaL_Buffer, all else lies on the Lua stack.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lua/json.h"

enum { DEPTH_LIMIT = 200, SIZE_HINT = 64 };

struct json {
  lua_State *L;
  const char *text, *at, *end;
  int depth, partial;
  bool cut;                   /* the text ended inside a container that is kept */
  int sizes[DEPTH_LIMIT + 1]; /* of the last container at each depth: the next one is likely to be as large */
};

static int fail(struct json *j, const char *what) {
  size_t line = 1, column = 1;
  for (const char *c = j->text; c < j->at && c < j->end; c++) {
    column = *c == '\n' ? 1 : column + 1;
    line += *c == '\n';
  }
  return lb_raise(j->L, LUHIP_E_ARGUMENT, "JSON, line %I, column %I: %s", (LUAI_UACINT)line, (LUAI_UACINT)column, what);
}

static void skip_space(struct json *j) {
  while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\r' || *j->at == '\t')) j->at++;
}

/* Every parse function returns false when the text ends before the value does; then nothing was pushed. */
static bool parse_value(struct json *j);

static bool at_end(struct json *j) {
  if (j->at < j->end) return false;
  if (j->partial == 0) fail(j, "the text ends too early");
  return true;
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

static int hex4(const char *at, unsigned *code) {
  *code = 0;
  for (int i = 0; i < 4; i++) {
    const char *digits = "0123456789abcdef", *digit = strchr(digits, at[i] | 32);
    if (at[i] == 0 || !digit) return -1;
    *code = *code * 16 + (unsigned)(digit - digits);
  }
  return 0;
}

static void add_code(luaL_Buffer *b, unsigned long code) {
  char bytes[4];
  size_t n = 0;
  if (code < 0x80) {
    bytes[n++] = (char)code;
  } else if (code < 0x800) {
    bytes[n++] = (char)(0xC0 | code >> 6);
    bytes[n++] = (char)(0x80 | (code & 63));
  } else if (code < 0x10000) {
    bytes[n++] = (char)(0xE0 | code >> 12);
    bytes[n++] = (char)(0x80 | (code >> 6 & 63));
    bytes[n++] = (char)(0x80 | (code & 63));
  } else {
    bytes[n++] = (char)(0xF0 | code >> 18);
    bytes[n++] = (char)(0x80 | (code >> 12 & 63));
    bytes[n++] = (char)(0x80 | (code >> 6 & 63));
    bytes[n++] = (char)(0x80 | (code & 63));
  }
  luaL_addlstring(b, bytes, n);
}

/* Behind "\u". A pair of surrogates is one character; one alone becomes U+FFFD. */
static void parse_unicode(struct json *j, luaL_Buffer *b) {
  unsigned high = 0, low = 0;
  if (j->end - j->at < 4 || hex4(j->at, &high) != 0) fail(j, "four hexadecimal digits expected behind \\u");
  j->at += 4;
  bool pair = high >= 0xD800 && high < 0xDC00 && j->end - j->at >= 6 && j->at[0] == '\\' && j->at[1] == 'u' &&
              hex4(j->at + 2, &low) == 0 && low >= 0xDC00 && low < 0xE000;
  if (pair) {
    j->at += 6;
    add_code(b, 0x10000 + ((unsigned long)(high - 0xD800) << 10) + (low - 0xDC00));
  } else {
    add_code(b, high >= 0xD800 && high < 0xE000 ? 0xFFFD : high);
  }
}

static void parse_escape(struct json *j, luaL_Buffer *b) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  char c = *j->at++;
  if (c == 'u') {
    parse_unicode(j, b);
    return;
  }
  const char *found = c ? strchr(from, c) : NULL;
  if (!found)
    fail(j, "there is no such escape");
  else
    luaL_addchar(b, to[found - from]);
}

/* Where the string ends, its quote; NULL: nowhere. */
static const char *string_end(const char *at, const char *end, bool *plain) {
  *plain = true;
  for (; at < end; at++) {
    if (*at == '"') return at;
    if (*at != '\\') continue;
    *plain = false;
    at++;
  }
  return NULL;
}

static bool parse_string(struct json *j) {
  bool plain;
  const char *close = string_end(++j->at, j->end, &plain);
  if (!close) {
    j->at = j->end;
    return !at_end(j);
  }
  if (plain) {
    lua_pushlstring(j->L, j->at, (size_t)(close - j->at));
  } else {
    luaL_Buffer b;
    luaL_buffinit(j->L, &b);
    while (j->at < close) {
      if (*j->at++ == '\\')
        parse_escape(j, &b);
      else
        luaL_addchar(&b, j->at[-1]);
    }
    luaL_pushresult(&b);
  }
  j->at = close + 1;
  return true;
}

/* ---- numbers and words ------------------------------------------------------------------------------------------- */

/* digits / 10^decimals, correctly rounded, or false. A long double of 64 bits holds both exactly, and its quotient is off
   by half a unit of it at most: unless that leaves open which side of a tie between two doubles it is on, rounding it
   gives the right one (the idea of Clinger, "How to read floating point numbers accurately", 1990). */
static bool divide(uint64_t digits, int decimals, double *number) {
#if LDBL_MANT_DIG == 64
  static const long double powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                       1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                       1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
  if (decimals >= (int)(sizeof powers / sizeof *powers)) return false;
  long double quotient = (long double)digits / powers[decimals];
  uint64_t mantissa;
  memcpy(&mantissa, &quotient, sizeof mantissa);
  unsigned below = mantissa & 2047;
  if (below >= 1023 && below <= 1025) return false;
  *number = (double)quotient;
  return true;
#else
  (void)digits, (void)decimals, (void)number;
  return false;
#endif
}

/* Up to 19 digits, no exponent. The rest is strtod's. */
static bool simple_number(struct json *j, const char *at) {
  bool negative = at < j->end && *at == '-';
  uint64_t value = 0;
  int digits = 0, decimals = 0;
  if (negative) at++;
  for (; at < j->end && *at >= '0' && *at <= '9' && digits < 19; at++, digits++)
    value = value * 10 + (unsigned)(*at - '0');
  if (digits == 0) return false;
  bool whole = at >= j->end || *at != '.';
  if (!whole)
    for (at++; at < j->end && *at >= '0' && *at <= '9' && digits < 19; at++, digits++, decimals++)
      value = value * 10 + (unsigned)(*at - '0');
  if (at < j->end && ((*at >= '0' && *at <= '9') || *at == 'e' || *at == 'E')) return false;
  if (at >= j->end && j->partial) return false;
  if (whole) {
    if (value > INT64_MAX) return false;
    lua_pushinteger(j->L, negative ? -(lua_Integer)value : (lua_Integer)value);
  } else {
    double number;
    if (decimals == 0 || !divide(value, decimals, &number)) return false;
    lua_pushnumber(j->L, negative ? -number : number);
  }
  j->at = at;
  return true;
}

static bool parse_number(struct json *j) {
  if (simple_number(j, j->at)) return true;
  char copy[400], *stop;
  size_t n = 0, dots = 0;
  while (j->at + n < j->end && n + 1 < sizeof copy && strchr("+-.0123456789eE", j->at[n]) && j->at[n]) {
    dots += strchr(".eE", j->at[n]) != NULL;
    copy[n] = j->at[n];
    n++;
  }
  copy[n] = 0;
  if (j->at + n >= j->end && j->partial) { /* more digits may be missing */
    j->at = j->end;
    return false;
  }
  double number = strtod(copy, &stop);
  if (n == 0 || *stop) fail(j, "this is no value");
  if (dots || !lua_stringtonumber(j->L, copy)) lua_pushnumber(j->L, number);
  j->at += n;
  return true;
}

static bool parse_word(struct json *j) {
  static const struct {
    const char *text;
    int value;
  } words[] = {{"true", 1}, {"false", 0}, {"null", 2}, {"NaN", 3}, {"Infinity", 4}, {"-Infinity", 5}};
  size_t left = (size_t)(j->end - j->at);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t n = strlen(words[i].text);
    if (left < n && memcmp(j->at, words[i].text, left) == 0 && j->partial) {
      j->at = j->end;
      return false;
    }
    if (left < n || memcmp(j->at, words[i].text, n) != 0) continue;
    j->at += n;
    switch (words[i].value) {
    case 2:
      lua_pushlightuserdata(j->L, NULL);
      break;
    case 3:
      lua_pushnumber(j->L, (lua_Number)NAN);
      break;
    case 4:
      lua_pushnumber(j->L, (lua_Number)HUGE_VAL);
      break;
    case 5:
      lua_pushnumber(j->L, -(lua_Number)HUGE_VAL);
      break;
    default:
      lua_pushboolean(j->L, words[i].value);
      break;
    }
    return true;
  }
  return parse_number(j);
}

/* ---- containers -------------------------------------------------------------------------------------------------- */

/* The text ended inside the container on top of `top`: it is kept, or dropped. */
static bool cut_short(struct json *j, int top) {
  j->cut = true;
  bool kept = j->depth <= j->partial;
  lua_settop(j->L, kept ? top : top - 1);
  j->depth--;
  return kept;
}

/* Behind an element: false at the closing bracket. */
static bool another(struct json *j, char close) {
  skip_space(j);
  if (at_end(j)) return true; /* seen again by who reads on */
  if (*j->at == close) {
    j->at++;
    return false;
  }
  if (*j->at != ',') fail(j, close == '}' ? "',' or '}' expected" : "',' or ']' expected");
  j->at++;
  return true;
}

static bool parse_member(struct json *j) {
  if (*j->at != '"') fail(j, "a name in quotes expected");
  if (!parse_string(j)) return false;
  skip_space(j);
  if (at_end(j)) return false;
  if (*j->at++ != ':') fail(j, "':' expected");
  if (!parse_value(j)) return false;
  if (lua_islightuserdata(j->L, -1))
    lua_pop(j->L, 2);
  else
    lua_rawset(j->L, -3);
  return true;
}

static bool parse_object(struct json *j) {
  lua_createtable(j->L, 0, j->sizes[j->depth]);
  int top = lua_gettop(j->L), n = 0;
  j->at++;
  skip_space(j);
  if (j->at < j->end && *j->at == '}')
    j->at++;
  else
    do {
      skip_space(j);
      if (at_end(j) || !parse_member(j) || j->cut) return cut_short(j, top);
      n++;
    } while (another(j, '}'));
  j->sizes[j->depth--] = n < SIZE_HINT ? n : SIZE_HINT;
  return true;
}

static bool parse_array(struct json *j) {
  lua_createtable(j->L, j->sizes[j->depth], 0);
  int top = lua_gettop(j->L);
  lua_Integer n = 0;
  j->at++;
  skip_space(j);
  if (j->at < j->end && *j->at == ']')
    j->at++;
  else
    do {
      skip_space(j);
      if (at_end(j) || !parse_value(j)) return cut_short(j, top);
      lua_rawseti(j->L, top, ++n);
      if (j->cut) return cut_short(j, top);
    } while (another(j, ']'));
  j->sizes[j->depth--] = n < SIZE_HINT ? (int)n : SIZE_HINT;
  return true;
}

static bool parse_value(struct json *j) {
  skip_space(j);
  if (at_end(j)) return false;
  if (*j->at == '"') return parse_string(j);
  if (*j->at != '{' && *j->at != '[') return parse_word(j);
  if (++j->depth > DEPTH_LIMIT) fail(j, "nested too deeply");
  luaL_checkstack(j->L, 10, "JSON");
  return *j->at == '{' ? parse_object(j) : parse_array(j);
}

/* Pushes the value. */
static void parse_all(struct json *j) {
  if (!parse_value(j)) {
    j->partial = 0;
    j->at = j->end;
    fail(j, "the text ends too early");
  }
  skip_space(j);
  if (j->at < j->end) fail(j, "more text behind the value");
}

/* core.json(text [, partial]) -> value, whether the text ended too early */
int lb_json(lua_State *L) {
  size_t length;
  struct json j = {.L = L};
  j.text = j.at = lb_check_string(L, 1, "text", &length);
  j.end = j.text + length;
  j.partial = lua_isnoneornil(L, 2) ? 0 : (int)lb_check_integer(L, 2, "partial", 0, DEPTH_LIMIT);
  lua_settop(L, 2);
  parse_all(&j);
  lua_pushboolean(L, j.cut);
  return 2;
}

void lb_push_json(lua_State *L, const char *text, size_t bytes) {
  struct json j = {.L = L, .text = text, .at = text, .end = text + bytes};
  parse_all(&j);
}
