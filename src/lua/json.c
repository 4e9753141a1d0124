/*
 * json.c - core.json: JSON text into Lua values, fast enough for recorded tuning runs of many megabytes.
 *
 * Objects and arrays become tables, whole numbers integers where they fit, other numbers floats. null is left out of
 * objects and is core.null in arrays. NaN, Infinity and -Infinity are numbers, as Python writes them.
 *
 * With `partial`, a text that ends too early is no error: containers nested up to that deep are closed where it ends, and
 * what was not complete inside them is dropped. That is how files that are written record by record are read.
 *
 * A value may also be walked over: the same grammar without making anything. That is several times as fast, and how
 * records of a large file are found before any of them is wanted (records.c).
 *
 * The parser keeps no memory of its own, since any push of a Lua value may raise: strings with escapes are put together
 * in a luaL_Buffer, all else lies on the Lua stack.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "lua/json.h"
#include "lua/records.h"

enum { SIZE_HINT = 64 };

struct json {
  lua_State *L;
  const char *text, *at, *end;
  int depth, partial;
  unsigned place; /* in its object, of the value that is read next */
  bool cut;       /* the text ended inside a container that is kept */
  struct lb_json_hints *hints;
  const char *member; /* of the outermost object, whose members are records; NULL: none */
  struct lb_records *records;
  int records_at; /* on the Lua stack */
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
    if (decimals == 0 || !decimal_read(value, decimals, &number)) return false;
    lua_pushnumber(j->L, negative ? -number : number);
  }
  j->at = at;
  return true;
}

static bool parse_number(struct json *j) {
  if (simple_number(j, j->at)) return true;
  size_t n = 0, dots = 0;
  for (; j->at + n < j->end && j->at[n] && strchr("+-.0123456789eE", j->at[n]); n++)
    dots += strchr(".eE", j->at[n]) != NULL;
  if (j->at + n >= j->end && j->partial) { /* more digits may be missing */
    j->at = j->end;
    return false;
  }
  char *stop;
  const char *copy = lua_pushlstring(j->L, j->at, n);
  double number = strtod(copy, &stop);
  if (n == 0 || *stop) fail(j, "this is no value");
  if (dots || !lua_stringtonumber(j->L, copy)) lua_pushnumber(j->L, number);
  lua_remove(j->L, -2);
  j->at += n;
  return true;
}

static bool parse_word(struct json *j) {
  static const struct {
    const char *text;
    int value;
  } words[] = {{"true", 1}, {"false", 0}, {"null", 2}, {"NaN", 3}, {"Infinity", 4}, {"-Infinity", 5}};
  size_t left = (size_t)(j->end - j->at);
  bool minus = *j->at == '-' && left > 1;
  if (j->at[minus] >= '0' && j->at[minus] <= '9') return parse_number(j);
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

/* ---- walking over values ----------------------------------------------------------------------------------------- */

static bool skip_value(struct json *j);
static bool another(struct json *j, char close);

static bool skip_string(struct json *j) {
  bool plain;
  const char *close = string_end(j->at + 1, j->end, &plain);
  if (close && plain) {
    j->at = close + 1;
    return true;
  }
  if (!parse_string(j)) return false;
  lua_pop(j->L, 1);
  return true;
}

static const char *skip_digits(const char *at, const char *end) {
  while (at < end && *at >= '0' && *at <= '9') at++;
  return at;
}

/* Behind a number as JSON has it, with anything but more of it behind it; NULL otherwise. */
static const char *number_end(const char *at, const char *end) {
  if (at < end && *at == '-') at++;
  const char *start = at;
  if ((at = skip_digits(at, end)) == start) return NULL;
  if (at < end && *at == '.') {
    start = ++at;
    if ((at = skip_digits(at, end)) == start) return NULL;
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    if (at < end && (*at == '-' || *at == '+')) at++;
    start = at;
    if ((at = skip_digits(at, end)) == start) return NULL;
  }
  return at < end && *at != '+' && *at != '-' && *at != '.' && *at != 'e' && *at != 'E' ? at : NULL;
}

static bool skip_word(struct json *j) {
  const char *end = number_end(j->at, j->end);
  if (end) {
    j->at = end;
    return true;
  }
  if (!parse_word(j)) return false;
  lua_pop(j->L, 1);
  return true;
}

/* Behind a member's ':'. */
static bool skip_name(struct json *j) {
  if (*j->at != '"') fail(j, "a name in quotes expected");
  if (!skip_string(j)) return false;
  skip_space(j);
  if (at_end(j)) return false;
  if (*j->at++ != ':') fail(j, "':' expected");
  return true;
}

static bool skip_elements(struct json *j, char close) {
  j->at++;
  skip_space(j);
  if (j->at < j->end && *j->at == close) {
    j->at++;
    return true;
  }
  do {
    skip_space(j);
    if (at_end(j) || (close == '}' && !skip_name(j)) || !skip_value(j)) return false;
  } while (another(j, close));
  return true;
}

/* Like parse_value, but pushes nothing, and keeps nothing of what is cut. */
static bool skip_value(struct json *j) {
  skip_space(j);
  if (at_end(j)) return false;
  if (*j->at == '"') return skip_string(j);
  if (*j->at != '{' && *j->at != '[') return skip_word(j);
  if (++j->depth > LB_JSON_DEPTH) fail(j, "nested too deeply");
  luaL_checkstack(j->L, 10, "JSON");
  bool whole = skip_elements(j, *j->at == '{' ? '}' : ']');
  j->depth--;
  return whole;
}

/* Notes where each member of the object is, pushes the records. Those that the text has whole are kept. */
static void note_records(struct json *j) {
  j->records->count = 0;
  j->at++;
  lua_pushvalue(j->L, j->records_at);
  skip_space(j);
  if (j->at < j->end && *j->at == '}') {
    j->at++;
    return;
  }
  do {
    skip_space(j);
    j->cut = at_end(j) || !skip_name(j);
    if (j->cut) return;
    skip_space(j);
    const char *start = j->at;
    j->cut = at_end(j) || !skip_value(j);
    if (j->cut) return;
    if (*start != 'n') lb_records_add(j->L, j->records, (size_t)(start - j->text), (size_t)(j->at - start));
  } while (another(j, '}'));
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

static bool is_records(struct json *j) {
  if (!j->member || j->depth != 1 || strcmp(lua_tostring(j->L, -1), j->member) != 0) return false;
  skip_space(j);
  return j->at < j->end && *j->at == '{';
}

static bool parse_member(struct json *j) {
  if (*j->at != '"') fail(j, "a name in quotes expected");
  if (!parse_string(j)) return false;
  skip_space(j);
  if (at_end(j)) return false;
  if (*j->at++ != ':') fail(j, "':' expected");
  if (is_records(j)) {
    j->depth++;
    note_records(j);
    j->depth--;
  } else if (!parse_value(j)) {
    return false;
  }
  if (lua_islightuserdata(j->L, -1))
    lua_pop(j->L, 2);
  else
    lua_rawset(j->L, -3);
  return true;
}

static uint8_t *size_hint(struct json *j) {
  return &j->hints->sizes[j->depth & 7][j->place & 31];
}

static bool parse_object(struct json *j) {
  uint8_t *hint = size_hint(j);
  lua_createtable(j->L, 0, *hint);
  int top = lua_gettop(j->L), n = 0;
  j->at++;
  skip_space(j);
  if (j->at < j->end && *j->at == '}')
    j->at++;
  else
    do {
      skip_space(j);
      j->place = n < 31 ? (unsigned)n : 31;
      if (at_end(j) || !parse_member(j) || j->cut) return cut_short(j, top);
      n++;
    } while (another(j, '}'));
  *hint = (uint8_t)(n < SIZE_HINT ? n : SIZE_HINT);
  j->depth--;
  return true;
}

static bool parse_array(struct json *j) {
  uint8_t *hint = size_hint(j);
  lua_createtable(j->L, *hint, 0);
  int top = lua_gettop(j->L);
  lua_Integer n = 0;
  j->at++;
  skip_space(j);
  if (j->at < j->end && *j->at == ']')
    j->at++;
  else
    do {
      skip_space(j);
      j->place = 0;
      if (at_end(j) || !parse_value(j)) return cut_short(j, top);
      lua_rawseti(j->L, top, ++n);
      if (j->cut) return cut_short(j, top);
    } while (another(j, ']'));
  *hint = (uint8_t)(n < SIZE_HINT ? n : SIZE_HINT);
  j->depth--;
  return true;
}

static bool parse_value(struct json *j) {
  skip_space(j);
  if (at_end(j)) return false;
  if (*j->at == '"') return parse_string(j);
  if (*j->at != '{' && *j->at != '[') return parse_word(j);
  if (++j->depth > LB_JSON_DEPTH) fail(j, "nested too deeply");
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
  struct lb_json_hints hints = {{{0}}};
  struct json j = {.L = L, .hints = &hints};
  j.text = j.at = lb_check_string(L, 1, "text", &length);
  j.end = j.text + length;
  j.partial = lua_isnoneornil(L, 2) ? 0 : (int)lb_check_integer(L, 2, "partial", 0, LB_JSON_DEPTH);
  lua_settop(L, 2);
  parse_all(&j);
  lua_pushboolean(L, j.cut);
  return 2;
}

void lb_push_json(lua_State *L, const char *text, size_t bytes, struct lb_json_hints *hints) {
  struct json j = {.L = L, .text = text, .at = text, .end = text + bytes, .hints = hints};
  parse_all(&j);
}

bool lb_push_json_records(lua_State *L, struct lb_records *records, int idx, const char *member) {
  struct json j = {.L = L, .text = records->text, .at = records->text, .partial = 2};
  j.end = j.text + records->bytes;
  j.hints = &records->hints;
  j.member = member;
  j.records = records;
  j.records_at = idx;
  parse_all(&j);
  return j.cut;
}

void lb_walk_json(lua_State *L, const char *text, size_t bytes) {
  struct lb_json_hints hints = {{{0}}};
  struct json j = {.L = L, .text = text, .at = text, .end = text + bytes, .hints = &hints};
  skip_value(&j);
  skip_space(&j);
  if (j.at < j.end) fail(&j, "more text behind the value");
}
