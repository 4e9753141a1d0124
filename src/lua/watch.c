/*
 * watch.c - core.watch: os.execute for a process that somebody asks to end, and that has something to write then.
 *
 * As there, SIGINT and SIGQUIT are left to the command, which a terminal sends them too. SIGTERM and SIGHUP, which may come
 * to this process alone, are passed on and do not end it: it sees how the command ended, and ends by itself. What the host
 * ignores (nohup) stays ignored here and there.
 *
 * One call at a time in the process: signals are the process's. The process that is waited for keeps its id until `child` is
 * 0 again, so a signal never goes to a stranger.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lua/tune.h"

static const int watched[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGCHLD};
enum { WATCHED = sizeof watched / sizeof *watched };

static atomic_flag busy = ATOMIC_FLAG_INIT;
static _Atomic pid_t child;          /* 0: none */
static volatile sig_atomic_t wanted; /* the signal that asked us to end; 0: none */

static void pass_on(int number) {
  int error = errno;
  pid_t pid = atomic_load(&child);
  wanted = number;
  if (pid > 0) kill(pid, number);
  errno = error;
}

/* What this process does with them meanwhile; `anew` are those that the command has its defaults of. */
static void take_signals(struct sigaction before[WATCHED], sigset_t *anew) {
  sigemptyset(anew);
  for (int i = 0; i < WATCHED; i++) {
    bool ours = watched[i] == SIGTERM || watched[i] == SIGHUP;
    struct sigaction action = {.sa_handler = ours ? pass_on : SIG_IGN, .sa_flags = SA_RESTART};
    if (watched[i] == SIGCHLD) action.sa_handler = SIG_DFL; /* ignored, a child leaves no status */
    sigemptyset(&action.sa_mask);
    sigaction(watched[i], NULL, &before[i]);
    if (watched[i] != SIGCHLD && before[i].sa_handler == SIG_IGN) continue;
    sigaddset(anew, watched[i]);
    sigaction(watched[i], &action, NULL);
  }
}

/* Starts it in our group, so that the terminal is its own too. */
static int start(const char *command, const sigset_t *anew, const sigset_t *mask, pid_t *pid) {
  char *words[] = {"sh", "-c", (char *)command, NULL};
  posix_spawnattr_t attributes;
  int error = posix_spawnattr_init(&attributes);
  if (error) return error;
  error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  if (!error) error = posix_spawnattr_setsigdefault(&attributes, anew);
  if (!error) error = posix_spawnattr_setsigmask(&attributes, mask);
  if (!error) error = posix_spawn(pid, "/bin/sh", NULL, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  return error;
}

static int wait_for(pid_t pid, int *status) {
  siginfo_t info;
  while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT))
    if (errno != EINTR) break;
  atomic_store(&child, 0);
  while (waitpid(pid, status, 0) < 0)
    if (errno != EINTR) return errno;
  return 0;
}

static int run(const char *command, int *status) {
  struct sigaction before[WATCHED];
  sigset_t anew, held, mask;
  pid_t pid;
  sigemptyset(&held);
  sigaddset(&held, SIGTERM);
  sigaddset(&held, SIGHUP);
  wanted = 0;
  pthread_sigmask(SIG_BLOCK, &held, &mask); /* until there is a process to pass them to */
  take_signals(before, &anew);
  int error = start(command, &anew, &mask, &pid);
  if (!error) atomic_store(&child, pid);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  if (!error) error = wait_for(pid, status);
  for (int i = 0; i < WATCHED; i++) sigaction(watched[i], &before[i], NULL);
  return error;
}

/* core.watch(command) -> "exit" and the code or "signal" and its number, as os.execute; then the SIGTERM or SIGHUP that this
   process was given meanwhile, as a number, or nil. Not inside another call. */
int lb_watch(lua_State *L) {
  const char *command = lb_check_string(L, 1, "command", NULL);
  int status = 0;
  if (atomic_flag_test_and_set(&busy)) return lb_raise(L, LUHIP_E_ARGUMENT, "another command is watched");
  int error = run(command, &status);
  int number = wanted;
  atomic_flag_clear(&busy);
  if (error) return lb_raise(L, LUHIP_E_FILE, "cannot run a command: %s", strerror(error));
  bool exited = WIFEXITED(status);
  lua_pushstring(L, exited ? "exit" : "signal");
  lua_pushinteger(L, exited ? WEXITSTATUS(status) : WTERMSIG(status));
  if (number == 0) return 2;
  lua_pushinteger(L, number);
  return 3;
}
