/*
 * tune.c - the functions of luhip.core that luhip.tune is built on, as a list.
 */
#include "lua/tune.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/hash.h"
#include "lua/json.h"

/* core.hash(text) -> 32 hexadecimal digits */
static int tune_hash(lua_State *L) {
  size_t bytes;
  const char *text = lb_check_string(L, 1, "text", &bytes);
  uint8_t digest[HASH_BYTES];
  char hex[2 * HASH_BYTES + 1];
  hash_of(text, bytes, digest);
  for (int i = 0; i < HASH_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
  lua_pushstring(L, hex);
  return 1;
}

/* core.alarm(seconds): ends the process with SIGALRM unless it is called again before; 0: never. For worker processes that
   somebody watches: a driver that hangs cannot be asked to stop. */
static int tune_alarm(lua_State *L) {
  alarm((unsigned)lb_check_integer(L, 1, "seconds", 0, INT32_MAX));
  return 0;
}

/* core.die_with(parent): the process is killed when its parent ends; false when that is not the process `parent` (0: any),
   so it ended already */
static int tune_die_with(lua_State *L) {
  lua_Integer parent = lb_check_integer(L, 1, "parent", 0, INT32_MAX);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  lua_pushboolean(L, parent == 0 ? getppid() != 1 : getppid() == (pid_t)parent);
  return 1;
}

/* core.pid() */
static int tune_pid(lua_State *L) {
  lua_pushinteger(L, getpid());
  return 1;
}

const luaL_Reg lb_tune_functions[] = {
    {"expression", lb_make_expression},
    {"space", lb_make_space},
    {"sample", lb_tune_sample},
    {"explorer", lb_make_explorer},
    {"read_text", lb_read_text_file},
    {"json", lb_json},
    {"json_text", lb_json_text},
    {"journal", lb_make_journal},
    {"journal_records", lb_journal_records},
    {"json_records", lb_json_records},
    {"hash", tune_hash},
    {"alarm", tune_alarm},
    {"die_with", tune_die_with},
    {"pid", tune_pid},
    {"companion", lb_make_companion},
    {"companion_of_parent", lb_attach_companion},
    {"executable", lb_executable},
    {"watch", lb_watch},
    {NULL, NULL},
};
