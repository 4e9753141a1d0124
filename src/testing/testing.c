/*
 * testing.c - puts the areas' test functions into one table.
 */
#include "testing/testing.h"

void testing_open(lua_State *L) {
  lua_newtable(L);
#define X(area)                                                                                                        \
  if (testing_open_##area) testing_open_##area(L);
  TESTING_AREAS(X)
#undef X
}
