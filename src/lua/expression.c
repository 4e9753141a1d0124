/*
 * expression.c - core.expression: the code of one expression over tuning parameters, made by luhip.tune.expr.
 *
 * User value 1 is the list of constants and user value 2 the list of names: texts are borrowed from them. An
 * expression holds nothing else; it is one block of memory.
 */
#include <string.h>

#include "lua/tune.h"

enum { NAMES_LIMIT = 10000, CODE_LIMIT = 1000000 };

struct tune_value lb_to_tune_value(lua_State *L, int idx) {
  struct tune_value value = {.kind = TUNE_NIL};
  size_t length;
  switch (lua_type(L, idx)) {
  case LUA_TBOOLEAN:
    value.kind = TUNE_BOOL;
    value.u.i = lua_toboolean(L, idx);
    break;
  case LUA_TNUMBER:
    value.kind = lua_isinteger(L, idx) ? TUNE_INT : TUNE_FLOAT;
    if (value.kind == TUNE_INT)
      value.u.i = lua_tointeger(L, idx);
    else
      value.u.f = lua_tonumber(L, idx);
    break;
  case LUA_TSTRING:
    value.kind = TUNE_TEXT;
    value.u.text = lua_tolstring(L, idx, &length);
    value.length = (uint32_t)length;
    break;
  default:
    break;
  }
  return value;
}

void lb_push_tune_value(lua_State *L, const struct tune_value *value) {
  switch (value->kind) {
  case TUNE_BOOL:
    lua_pushboolean(L, value->u.i != 0);
    break;
  case TUNE_INT:
    lua_pushinteger(L, value->u.i);
    break;
  case TUNE_FLOAT:
    lua_pushnumber(L, value->u.f);
    break;
  case TUNE_TEXT:
    lua_pushlstring(L, value->u.text, value->length);
    break;
  default:
    lua_pushnil(L);
    break;
  }
}

const struct tune_expr *lb_check_expression(lua_State *L, int idx) {
  return &((struct lb_expression *)lb_check(L, idx, LB_EXPRESSION))->expr;
}

static uint32_t code_at(lua_State *L, int idx, lua_Integer i) {
  lua_rawgeti(L, idx, i);
  lua_Integer number = lb_to_integer(L, -1, "code", 0, CODE_LIMIT);
  lua_pop(L, 1);
  return (uint32_t)number;
}

static uint32_t op_at(lua_State *L, lua_Integer i) {
  static const char *const names[] = {
#define X(NAME, name) name,
      TUNE_OPS(X)
#undef X
  };
  lua_rawgeti(L, 1, i);
  const char *text = lua_tostring(L, -1);
  uint32_t op = 0;
  while (op < TUNE_OP_COUNT && (!text || strcmp(text, names[op]) != 0)) op++;
  lua_pop(L, 1);
  return op;
}

/* core.expression(code, constants, names) -> expression. code: for each instruction its operator's name and two
   operands, in a flat list; operands are instructions counted from 0, or a constant or name counted from 0. constants.n
   is their number, since nil is one. */
int lb_make_expression(lua_State *L) {
  for (int i = 1; i <= 3; i++) luaL_checktype(L, i, LUA_TTABLE);
  lua_getfield(L, 2, "n");
  size_t code = lua_rawlen(L, 1) / 3, names = lua_rawlen(L, 3);
  size_t constants = (size_t)lb_to_integer(L, -1, "constants.n", 0, CODE_LIMIT);
  lua_settop(L, 3);
  if (code > CODE_LIMIT || constants > CODE_LIMIT || names > NAMES_LIMIT)
    return lb_raise(L, LUHIP_E_TOO_BIG, "an expression of %I parts is too long",
                    (LUAI_UACINT)(code + constants + names));
  size_t bytes =
      sizeof(struct lb_expression) + code * sizeof(struct tune_instr) + constants * sizeof(struct tune_value);
  struct lb_expression *e = lb_new(L, LB_EXPRESSION, bytes, 2);
  for (int i = 0; i < 2; i++) {
    lua_pushvalue(L, i + 2);
    lua_setiuservalue(L, -2, i + 1);
  }
  e->expr.constants = (struct tune_value *)(e + 1);
  e->expr.code = (struct tune_instr *)(e->expr.constants + constants);
  e->expr.code_count = (uint32_t)code;
  e->expr.constant_count = (uint32_t)constants;
  e->expr.name_count = (uint32_t)names;
  for (size_t i = 0; i < constants; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    e->expr.constants[i] = lb_to_tune_value(L, -1);
    lua_pop(L, 1);
  }
  for (size_t i = 0; i < code; i++) {
    lua_Integer at = (lua_Integer)i * 3;
    e->expr.code[i] = (struct tune_instr){op_at(L, at + 1), code_at(L, 1, at + 2), code_at(L, 1, at + 3)};
  }
  if (!tune_expr_valid(&e->expr)) return lb_raise(L, LUHIP_E_ARGUMENT, "core.expression: this is no code");
  return 1;
}

static int push_result(lua_State *L, const struct tune_value *value) {
  char text[128];
  if (value->kind == TUNE_UNDEFINED) {
    lua_pushnil(L);
    lua_pushliteral(L, "undefined");
    return 2;
  } else if (value->kind == TUNE_BAD) {
    tune_bad_text(value, text, sizeof text);
    lua_pushnil(L);
    lua_pushliteral(L, "bad");
    lua_pushstring(L, text);
    return 3;
  }
  lb_push_tune_value(L, value);
  return 1;
}

/* expression:eval(values by name) -> value; nil, "undefined"; nil, "bad", why. The values are read by plain indexing;
   they stay on the stack, since texts are borrowed. */
static int expression_eval(lua_State *L) {
  const struct tune_expr *expr = lb_check_expression(L, 1);
  int names = (int)expr->name_count;
  luaL_checkstack(L, names + 8, "too many parameters");
  lua_settop(L, 2);
  lua_getiuservalue(L, 1, 2);
  size_t count = expr->name_count + expr->code_count;
  struct tune_value *values = lua_newuserdatauv(L, count * sizeof *values, 0);
  for (int i = 0; i < names; i++) {
    lua_rawgeti(L, 3, i + 1);
    lua_gettable(L, 2);
    values[i] = lb_to_tune_value(L, -1);
  }
  struct tune_value result = tune_expr_eval(expr, values, values + names);
  return push_result(L, &result);
}

void lb_open_expression(lua_State *L) {
  static const luaL_Reg methods[] = {{"eval", expression_eval}, {NULL, NULL}};
  lb_class_register(L, LB_EXPRESSION, &(struct lb_class_functions){methods, NULL, NULL});
}
