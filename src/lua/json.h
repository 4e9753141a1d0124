/*
 * json.h - JSON for other files of the binding.
 */
#ifndef LUHIP_LUA_JSON_H
#define LUHIP_LUA_JSON_H

#include "lua/binding.h"

enum { LB_JSON_DEPTH = 200 }; /* that values may be nested */

/* How large the last container at each depth and place in its object was: the next one is likely to be as large. Zero at
   first. */
struct lb_json_hints {
  uint8_t sizes[8][32];
};

/* Pushes the value that the text holds; raises "argument" for what is no JSON. */
void lb_push_json(lua_State *L, const char *text, size_t bytes, struct lb_json_hints *hints);
/* Raises for what lb_push_json raises for, and pushes nothing. */
void lb_walk_json(lua_State *L, const char *text, size_t bytes);
/* Pushes the value that the text of the records at idx holds. If it is an object, the member of that name, if that is one
   too, becomes these records: one for each of its members but null. A text that ends too early is taken as far as it is
   whole; whether it did. */
struct lb_records;
bool lb_push_json_records(lua_State *L, struct lb_records *records, int idx, const char *member);

int lb_json(lua_State *L);            /* json.c: core.json */
int lb_json_text(lua_State *L);       /* json_text.c: core.json_text */
int lb_make_journal(lua_State *L);    /* journal.c: core.journal */
int lb_journal_records(lua_State *L); /* records.c: core.journal_records */
int lb_json_records(lua_State *L);    /* records.c: core.json_records */
int lb_read_text_file(lua_State *L);  /* text.c: core.read_text */

#endif
