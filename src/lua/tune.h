/*
 * tune.h - what the files of the binding for tuning spaces share. These are the binding's only files that use src/tune,
 * which is no part of the public C interface.
 */
#ifndef LUHIP_LUA_TUNE_H
#define LUHIP_LUA_TUNE_H

#include "lua/binding.h"
#include "tune/expr.h"

struct lb_expression {
  struct tune_expr expr; /* its arrays lie behind it */
};

/* A text is borrowed from the Lua value. What is no number, string or boolean is nil. */
struct tune_value lb_to_tune_value(lua_State *L, int idx);
void lb_push_tune_value(lua_State *L, const struct tune_value *value);
const struct tune_expr *lb_check_expression(lua_State *L, int idx);

int lb_make_expression(lua_State *L); /* expression.c: core.expression */
int lb_make_space(lua_State *L);      /* space.c: core.space */
int lb_tune_sample(lua_State *L);     /* space.c: core.sample */
int lb_make_explorer(lua_State *L);   /* explorer.c: core.explorer */
int lb_make_companion(lua_State *L);  /* companion.c: core.companion, core.companion_of_parent, core.executable */
int lb_attach_companion(lua_State *L);
int lb_executable(lua_State *L);
int lb_watch(lua_State *L); /* watch.c: core.watch */

/* The built space of the core.space at idx; lasts as long as that is neither freed nor collected. */
struct tune_space;
const struct tune_space *lb_check_space(lua_State *L, int idx);

#endif
