/*
 * json.h - JSON for other files of the binding.
 */
#ifndef LUHIP_LUA_JSON_H
#define LUHIP_LUA_JSON_H

#include "lua/binding.h"

/* Pushes the value that the text holds; raises "argument" for what is no JSON. */
void lb_push_json(lua_State *L, const char *text, size_t bytes);

int lb_json(lua_State *L);            /* json.c: core.json */
int lb_json_text(lua_State *L);       /* json_text.c: core.json_text */
int lb_make_journal(lua_State *L);    /* journal.c: core.journal */
int lb_journal_records(lua_State *L); /* journal.c: core.journal_records */

#endif
