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

#endif
