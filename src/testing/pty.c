/*
 * pty.c - for the specs of the prompt: programs at a pseudo-terminal.
 *
 * A started program has the terminal as its controlling one, so that Ctrl-C typed into it is SIGINT. Everything is by
 * descriptor and process id; spec/support/terminal.lua makes objects of them.
 */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>

#include "testing/testing.h"

#define MOST_WORDS 64

/* The list at idx as a NULL-terminated vector of its own strings. */
static void read_words(lua_State *L, int idx, char **words) {
  lua_Integer n = luaL_len(L, idx);
  luaL_argcheck(L, n < MOST_WORDS, idx, "too many words");
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, idx, i);
    words[i - 1] = (char *)(uintptr_t)luaL_checkstring(L, -1); /* the list keeps it */
    lua_pop(L, 1);
  }
  words[n] = NULL;
}

/* pty_start(words, columns, rows) -> fd, process id, or nil and why there is no pseudo-terminal; the environment is what `env` among the words makes of ours */
static int pty_start(lua_State *L) {
  char *words[MOST_WORDS];
  read_words(L, 1, words);
  struct winsize size = {.ws_col = (unsigned short)luaL_checkinteger(L, 2),
                         .ws_row = (unsigned short)luaL_checkinteger(L, 3)};
  int fd;
  pid_t child = forkpty(&fd, NULL, NULL, &size);
  if (child < 0) {
    luaL_pushfail(L);
    lua_pushstring(L, strerror(errno));
    return 2;
  }
  if (child == 0) {
    execvp(words[0], words);
    _exit(127);
  }
  lua_pushinteger(L, fd);
  lua_pushinteger(L, child);
  return 2;
}

static int pty_write(lua_State *L) {
  size_t bytes;
  const char *text = luaL_checklstring(L, 2, &bytes);
  lua_pushboolean(L, write((int)luaL_checkinteger(L, 1), text, bytes) == (ssize_t)bytes);
  return 1;
}

/* pty_read(fd, ms) -> what has come, "" when nothing came for so long; nil when the program's side is closed */
static int pty_read(lua_State *L) {
  char text[4096];
  struct pollfd entry = {.fd = (int)luaL_checkinteger(L, 1), .events = POLLIN};
  if (poll(&entry, 1, (int)luaL_checkinteger(L, 2)) <= 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  ssize_t n = read(entry.fd, text, sizeof text);
  if (n <= 0) return 0;
  lua_pushlstring(L, text, (size_t)n);
  return 1;
}

static int pty_resize(lua_State *L) {
  struct winsize size = {.ws_col = (unsigned short)luaL_checkinteger(L, 2),
                         .ws_row = (unsigned short)luaL_checkinteger(L, 3)};
  lua_pushboolean(L, ioctl((int)luaL_checkinteger(L, 1), TIOCSWINSZ, &size) == 0);
  return 1;
}

/* pty_end(fd, process id, ms): waits for it, then closes the terminal -> exit code, or nil and the signal; kills after ms */
static int pty_end(lua_State *L) {
  int fd = (int)luaL_checkinteger(L, 1), status = 0;
  pid_t child = (pid_t)luaL_checkinteger(L, 2);
  lua_Integer left = luaL_checkinteger(L, 3);
  const struct timespec pause = {.tv_nsec = 10000000};
  pid_t ended;
  while ((ended = waitpid(child, &status, WNOHANG)) == 0 && left > 0) {
    nanosleep(&pause, NULL);
    left -= 10;
  }
  if (ended == 0) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  close(fd);
  if (WIFEXITED(status)) {
    lua_pushinteger(L, WEXITSTATUS(status));
    return 1;
  }
  lua_pushnil(L);
  lua_pushinteger(L, WTERMSIG(status));
  return 2;
}

void testing_open_pty(lua_State *L) {
  static const luaL_Reg functions[] = {{"pty_start", pty_start},   {"pty_write", pty_write}, {"pty_read", pty_read},
                                       {"pty_resize", pty_resize}, {"pty_end", pty_end},     {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
