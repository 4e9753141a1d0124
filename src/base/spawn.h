/*
 * spawn.h - running another program to its end, with its output caught; or starting it only (base/companion.h).
 *
 * The program gets an argument vector (never a shell), /dev/null as its standard input, no descriptor of ours,
 * default signal handling, a process group of its own and exactly the environment it is given. The working
 * directory is the caller's. Thread-safe; does not care what the host does with SIGCHLD.
 */
#ifndef LUHIP_BASE_SPAWN_H
#define LUHIP_BASE_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct spawn_request {
  const char *path;        /* of the program; no search in PATH */
  const char *const *argv; /* NULL-terminated, argv[0] included */
  const char *const *envp; /* NULL-terminated; NULL: an empty environment */
  unsigned timeout_ms;     /* 0: none; then the whole process group is killed */
};

/* How it ended. A host that ignores SIGCHLD, or reaps children that are not its own, takes the exit status
   from us: SPAWN_UNKNOWN, and what the program should have made tells whether it went well. */
enum spawn_end { SPAWN_EXITED, SPAWN_KILLED, SPAWN_TIMEOUT, SPAWN_UNKNOWN };

struct spawn_result {
  enum spawn_end end;
  int code;      /* SPAWN_EXITED: the exit code; SPAWN_KILLED: the signal */
  char *output;  /* stdout and stderr as they came, NUL-terminated; the caller's to free() */
  size_t length; /* at most SPAWN_MAX_OUTPUT: the rest is read and dropped */
};

enum { SPAWN_MAX_OUTPUT = 4 << 20 };

/* What the program has of ours, both -1 where it has none: `output` takes its stdout and stderr, which are ours
   otherwise; `channel` is its descriptor SPAWN_CHANNEL. Nothing else is open in it. `channel` is not below SPAWN_CHANNEL. */
struct spawn_descriptors {
  int output, channel;
};
enum { SPAWN_CHANNEL = 3 };

/* Starts it and gives its process id, which is its group's too; the caller's to wait for. 0 or an errno value. */
int spawn_start(const struct spawn_request *request, const struct spawn_descriptors *own, pid_t *pid);

/* 0, or an errno value when the program could not be started; then the result is empty (output NULL). */
int spawn_run(const struct spawn_request *request, struct spawn_result *result);

#endif
