/*
 * records.c - core.records: the records of a large file, found but not read.
 *
 * Making Lua values of recorded tuning runs takes most of the time of loading them, and most of it goes into what nobody
 * asks for. So the text is kept, and walked over once, which finds every mistake in it; a record becomes a table when it
 * is asked for. What is wanted of all of them are a few members: `columns` gives these.
 *
 * The text lies in memory of the C library, which the object owns; files may change while it is used.
 */
#include "lua/records.h"

#include <stdlib.h>
#include <string.h>

#include "tune/journal.h"

static struct lb_records *check_records(lua_State *L) {
  return lb_check(L, 1, LB_RECORDS);
}

struct lb_records *lb_push_records(lua_State *L, const char *path) {
  struct lb_records *r = lb_new(L, LB_RECORDS, sizeof *r, 0);
  const char *why = lb_read_text(path, &r->text, &r->bytes);
  if (!why) {
    lb_charge(L, &r->charged, r->bytes);
    return r;
  }
  lua_pop(L, 1);
  lua_pushnil(L);
  lua_pushfstring(L, "%s: %s", path, why);
  return NULL;
}

void lb_records_add(lua_State *L, struct lb_records *r, size_t start, size_t length) {
  if (r->count == r->capacity) {
    size_t capacity = r->capacity * 2 + 64;
    struct lb_span *spans = realloc(r->spans, capacity * sizeof *spans);
    if (!spans) {
      lb_raise(L, LUHIP_E_MEMORY, "out of memory for %I records", (LUAI_UACINT)capacity);
      return;
    }
    r->spans = spans;
    r->capacity = capacity;
  }
  r->spans[r->count++] = (struct lb_span){start, length};
}

/* core.json_records(path, member) -> value, whether the text ended too early; or nil and why not: the path and a reason.
   Of the outermost object, that member's members, if there are such, become records; a text may end too early. */
int lb_json_records(lua_State *L) {
  const char *path = lb_check_text(L, 1, "path"), *member = lb_check_text(L, 2, "member");
  struct lb_records *r = lb_push_records(L, path);
  if (!r) return 2;
  bool cut = lb_push_json_records(L, r, lua_gettop(L), member);
  lua_pushboolean(L, cut);
  return 2;
}

/* ---- journals ------------------------------------------------------------------------------------------------------ */

struct scan {
  struct lb_records *records;
  const char *at;
  lua_Integer damaged;
  bool walking; /* over what a line holds */
};

/* Walks over lines until the end, or until one raises. */
static int scan_lines(lua_State *L) {
  struct scan *s = lua_touserdata(L, 1);
  const char *text = s->records->text, *record;
  size_t bytes;
  enum journal_line line;
  while ((line = journal_next(&s->at, text + s->records->bytes, &record, &bytes)) != JOURNAL_END) {
    s->damaged += line == JOURNAL_DAMAGED;
    if (line == JOURNAL_DAMAGED) continue;
    s->walking = true;
    lb_walk_json(L, record, bytes);
    s->walking = false;
    lb_records_add(L, s->records, (size_t)(record - text), bytes);
  }
  return 0;
}

/* Whether a text without records begins with what no line of a journal begins with, not even one that was cut, or that a
   failure of the machine left as zeros. */
static bool is_foreign(const struct lb_records *r) {
  if (r->count > 0) return false;
  for (size_t i = 0; i < r->bytes && i < 8 && r->text[i] != '\n'; i++)
    if (r->text[i] && !strchr("0123456789abcdef", r->text[i])) return true;
  return false;
}

/* core.journal_records(path) -> records, how many lines are damaged, whether the file is something else; or nil and why not:
   the path and a reason */
int lb_journal_records(lua_State *L) {
  struct scan s = {.records = lb_push_records(L, lb_check_text(L, 1, "path"))};
  if (!s.records) return 2;
  s.at = s.records->text;
  int status;
  do {
    lua_pushcfunction(L, scan_lines);
    lua_pushlightuserdata(L, &s);
    status = lua_pcall(L, 1, 0, 0);
    if (status != LUA_OK && (status != LUA_ERRRUN || !s.walking)) return lua_error(L);
    if (status != LUA_OK) lua_pop(L, 1);
    s.damaged += status != LUA_OK; /* the checksum is right, but whoever wrote it knew no JSON */
  } while (status != LUA_OK);
  lua_pushinteger(L, s.damaged);
  lua_pushboolean(L, is_foreign(s.records));
  return 3;
}

/* ---- members ------------------------------------------------------------------------------------------------------- */

static const char *space_end(const char *at) {
  while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t') at++;
  return at;
}

/* Behind the string, and whether it has no escapes. */
static const char *string_end(const char *at, bool *plain) {
  *plain = true;
  for (at++; *at != '"'; at++)
    if (*at == '\\') {
      *plain = false;
      at++;
    }
  return at + 1;
}

/* Behind a value, which lb_walk_json was content with. */
static const char *value_end(const char *at) {
  bool plain;
  int depth = 0;
  do
    if (*at == '"') {
      at = string_end(at, &plain);
    } else if (*at == '{' || *at == '[') {
      depth++, at++;
    } else if (*at == '}' || *at == ']') {
      depth--, at++;
    } else if (depth > 0) {
      at++;
    } else {
      while ((*at >= '0' && *at <= '9') || ((*at | 32) >= 'a' && (*at | 32) <= 'z') || *at == '.' || *at == '-' ||
             *at == '+')
        at++;
    }
  while (depth > 0);
  return at;
}

struct member {
  const char *name, *value, *end; /* the name's first quote */
  size_t length;                  /* of the name without quotes */
  bool plain;                     /* it has no escapes */
};

/* The next member of the object; *at is behind its '{' or behind a value. */
static bool next_member(const char **at, struct member *member) {
  const char *c = space_end(*at);
  if (*c == ',') c = space_end(c + 1);
  if (*c == '}') return false;
  member->name = c;
  c = string_end(c, &member->plain);
  member->length = (size_t)(c - member->name) - 2;
  member->value = space_end(space_end(c) + 1);
  *at = member->end = value_end(member->value);
  return true;
}

struct wanted {
  const char *name;
  size_t length;
};

static bool is_named(lua_State *L, const struct member *member, const struct wanted *wanted) {
  if (member->plain)
    return member->length == wanted->length && memcmp(member->name + 1, wanted->name, wanted->length) == 0;
  struct lb_json_hints hints = {{{0}}};
  lb_push_json(L, member->name, member->length + 2, &hints);
  bool same = lua_rawlen(L, -1) == wanted->length && memcmp(lua_tostring(L, -1), wanted->name, wanted->length) == 0;
  lua_pop(L, 1);
  return same;
}

/* Which of the n names it is, tried from the guess on; n: none. */
static size_t find_name(lua_State *L, const struct member *member, const struct wanted *wanted, size_t n,
                        size_t guess) {
  for (size_t i = 0; i < n; i++) {
    size_t k = guess + i < n ? guess + i : guess + i - n;
    if (is_named(L, member, &wanted[k])) return k;
  }
  return n;
}

/* Whole numbers and strings, which most are, without the parser. */
static void push_value(lua_State *L, struct lb_records *r, const struct member *m) {
  bool plain;
  size_t n = (size_t)(m->end - m->value);
  if (*m->value == '"' && string_end(m->value, &plain) && plain) {
    lua_pushlstring(L, m->value + 1, n - 2);
    return;
  }
  lua_Integer value = 0;
  for (size_t i = 0; i < n && n <= 18; i++) {
    if (m->value[i] < '0' || m->value[i] > '9') break;
    value = value * 10 + (m->value[i] - '0');
    if (i + 1 < n) continue;
    lua_pushinteger(L, value);
    return;
  }
  lb_push_json(L, m->value, n, &r->hints);
}

/* Of one record: the first of each name into the list at `first` + its number. They mostly come in one order. */
static void fill_row(lua_State *L, struct lb_records *r, size_t i, const struct wanted *wanted, size_t n, int first) {
  const char *at = r->text + r->spans[i].start;
  struct member member;
  size_t guess = 0, found = 0;
  if (*at++ != '{') return;
  while (found < n && next_member(&at, &member)) {
    size_t k = find_name(L, &member, wanted, n, guess);
    if (k == n) continue;
    guess = k + 1 < n ? k + 1 : 0;
    found++;
    if (*member.value == 'n') continue;
    push_value(L, r, &member);
    lua_rawseti(L, first + (int)k, (lua_Integer)i + 1);
  }
}

/* records:columns(names) -> for each name a list, of the records' members of that name; nil where a record has none */
static int records_columns(lua_State *L) {
  struct lb_records *r = check_records(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  size_t n = lua_rawlen(L, 2);
  if (n > INT16_MAX) return lb_argument(L, 2, LUHIP_E_TOO_BIG, "too many names");
  lua_settop(L, 2);
  luaL_checkstack(L, (int)n + 10, "records");
  struct wanted *wanted = lua_newuserdatauv(L, n * sizeof *wanted + 1, 0);
  for (size_t i = 0; i < n; i++) {
    if (lua_rawgeti(L, 2, (lua_Integer)i + 1) != LUA_TSTRING)
      return lb_argument(L, 2, LUHIP_E_TYPE, "names expected, got a %s", lb_type_name(L, -1));
    wanted[i].name = lua_tolstring(L, -1, &wanted[i].length);
    lua_pop(L, 1); /* the list keeps it */
  }
  for (size_t i = 0; i < n; i++) lua_createtable(L, (int)(r->count < INT32_MAX ? r->count : 0), 0);
  for (size_t i = 0; i < r->count && n > 0; i++) fill_row(L, r, i, wanted, n, 4);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_pushvalue(L, 4 + (int)i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* ---- texts --------------------------------------------------------------------------------------------------------- */

/* Whether it is a string as core.json_text writes it, or a whole number, or a word. */
static bool is_plain_value(const char *at, const char *end) {
  if (*at == '"') {
    for (at++; at < end - 1; at++)
      if ((unsigned char)*at < 0x20 || *at == '\\') return false;
    return true;
  }
  if (*at == 't' || *at == 'f') return true;
  if (*at == '-') at++;
  if (end - at > 18 || (*at == '0' && end - at > 1) || (*at == '0' && at[-1] == '-')) return false;
  while (at < end && *at >= '0' && *at <= '9') at++;
  return at == end;
}

/* Whether the text of a value, an object, is what core.json_text would write for it. */
static bool is_normal(const char *at, const char *end) {
  const char *c = at + 1, *behind = c;
  struct member m, last = {.name = NULL};
  while (next_member(&c, &m)) {
    if (m.name != behind + (last.name != NULL) || m.value != m.name + m.length + 3) return false; /* there is space */
    if (!is_plain_value(m.name, m.name + m.length + 2) || !is_plain_value(m.value, m.end)) return false;
    if (last.name) {
      size_t n = m.length < last.length ? m.length : last.length;
      int order = memcmp(last.name + 1, m.name + 1, n);
      if (order > 0 || (order == 0 && last.length >= m.length)) return false;
    }
    last = m;
    behind = m.end;
  }
  return behind + 1 == end;
}

/* records:texts(name) -> a list of the records' members of that name that are objects, as text: what core.json_text writes,
   or true where that would need more than a look; false where a member is no object, or there is none */
static int records_texts(lua_State *L) {
  struct lb_records *r = check_records(L);
  struct wanted wanted;
  wanted.name = lb_check_string(L, 2, "name", &wanted.length);
  lua_settop(L, 2);
  lua_createtable(L, (int)(r->count < INT32_MAX ? r->count : 0), 0);
  for (size_t i = 0; i < r->count; i++) {
    const char *at = r->text + r->spans[i].start;
    struct member m;
    bool found = false;
    if (*at++ == '{')
      while (!found && next_member(&at, &m)) found = is_named(L, &m, &wanted);
    if (found && *m.value == '{' && is_normal(m.value, m.end))
      lua_pushlstring(L, m.value, (size_t)(m.end - m.value));
    else
      lua_pushboolean(L, found && (*m.value == '{' || *m.value == '['));
    lua_rawseti(L, 3, (lua_Integer)i + 1);
  }
  return 1;
}

/* ---- the class ----------------------------------------------------------------------------------------------------- */

/* records:get(i) -> the record, made anew */
static int records_get(lua_State *L) {
  struct lb_records *r = check_records(L);
  lua_Integer i = lb_check_integer(L, 2, "number", 1, (lua_Integer)r->count);
  lb_push_json(L, r->text + r->spans[i - 1].start, r->spans[i - 1].length, &r->hints);
  return 1;
}

/* records:text(i) -> its JSON, as it was written */
static int records_text(lua_State *L) {
  struct lb_records *r = check_records(L);
  lua_Integer i = lb_check_integer(L, 2, "number", 1, (lua_Integer)r->count);
  lua_pushlstring(L, r->text + r->spans[i - 1].start, r->spans[i - 1].length);
  return 1;
}

static int records_length(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_records(L)->count);
  return 1;
}

static int records_free(lua_State *L) {
  struct lb_records *r = check_records(L);
  free(r->text);
  free(r->spans);
  r->text = NULL;
  r->spans = NULL;
  r->count = r->capacity = r->bytes = 0;
  lb_discharge(&r->charged);
  return 0;
}

void lb_open_records(lua_State *L) {
  static const luaL_Reg methods[] = {{"get", records_get},
                                     {"text", records_text},
                                     {"columns", records_columns},
                                     {"texts", records_texts},
                                     {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__len", records_length}, {"__gc", records_free}, {"__close", records_free}, {NULL, NULL}};
  lb_class_register(L, LB_RECORDS, &(struct lb_class_functions){methods, NULL, meta});
}
