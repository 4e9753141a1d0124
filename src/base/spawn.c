/*
 * spawn.c - posix_spawn, one pipe, one poll loop.
 *
 * Both output streams share one pipe, so one reader suffices and nothing can dead-lock. The loop ends at the
 * pipe's end of file, which normally is the program's end; a grandchild that keeps the pipe open is not waited
 * for once the program itself is gone. The program leads a process group, so a timeout kills all of it.
 */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_EVERY_MS = 20 }; /* how often a silent program is asked whether it still runs */

static int64_t now_ms(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* A pipe whose ends are all above 2: a host may have closed its standard descriptors, and the ones of the child
   are made by dup2 onto 0, 1 and 2. */
static int make_pipe(int ends[2]) {
  int raw[2];
  if (pipe2(raw, O_CLOEXEC)) return errno;
  int error = 0;
  for (int i = 0; i < 2; i++) {
    ends[i] = raw[i] > 2 ? raw[i] : fcntl(raw[i], F_DUPFD_CLOEXEC, 3);
    if (ends[i] < 0) error = errno;
  }
  for (int i = 0; i < 2; i++) {
    if (ends[i] != raw[i]) close(raw[i]);
    if (error && ends[i] >= 0) close(ends[i]);
  }
  return error;
}

static int set_attributes(posix_spawnattr_t *attributes) {
  sigset_t set;
  int error =
      posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  if (!error) error = posix_spawnattr_setpgroup(attributes, 0);
  sigemptyset(&set);
  if (!error) error = posix_spawnattr_setsigmask(attributes, &set);
  sigfillset(&set);
  if (!error) error = posix_spawnattr_setsigdefault(attributes, &set);
  return error;
}

static int set_descriptors(posix_spawn_file_actions_t *actions, const struct spawn_descriptors *own) {
  int error = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
  if (!error && own->output >= 0) error = posix_spawn_file_actions_adddup2(actions, own->output, 1);
  if (!error && own->output >= 0) error = posix_spawn_file_actions_adddup2(actions, own->output, 2);
  if (!error && own->channel >= 0) error = posix_spawn_file_actions_adddup2(actions, own->channel, SPAWN_CHANNEL);
  if (!error)
    error = posix_spawn_file_actions_addclosefrom_np(actions, own->channel >= 0 ? SPAWN_CHANNEL + 1 : SPAWN_CHANNEL);
  return error;
}

int spawn_start(const struct spawn_request *request, const struct spawn_descriptors *own, pid_t *pid) {
  static const char *const nothing[] = {NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (error) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  error = set_descriptors(&actions, own);
  if (!error) error = set_attributes(&attributes);
  if (!error)
    error = posix_spawn(pid, request->path, &actions, &attributes, (char *const *)request->argv,
                        (char *const *)(request->envp ? request->envp : nothing));
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

struct capture {
  char *data;
  size_t length, capacity;
};

/* Reads what is there. False at the end of the stream. What does not fit is dropped: the program must not block. */
static bool drain(int fd, struct capture *capture) {
  char piece[16384];
  ssize_t got = read(fd, piece, sizeof piece);
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  size_t room = SPAWN_MAX_OUTPUT - capture->length;
  size_t wanted = (size_t)got < room ? (size_t)got : room;
  if (capture->length + wanted + 1 > capture->capacity) {
    size_t capacity = 2 * (capture->length + wanted + 1);
    char *data = realloc(capture->data, capacity);
    if (!data) return got > 0;
    capture->data = data;
    capture->capacity = capacity;
  }
  memcpy(capture->data + capture->length, piece, wanted);
  capture->length += wanted;
  capture->data[capture->length] = '\0';
  return got > 0;
}

enum child_state { CHILD_RUNS, CHILD_ENDED, CHILD_LOST };

static enum child_state look(pid_t pid, int flags, int *status) {
  for (;;) {
    pid_t got = waitpid(pid, status, flags);
    if (got == pid) return CHILD_ENDED;
    if (got == 0) return CHILD_RUNS;
    if (errno != EINTR) return CHILD_LOST; /* ECHILD: the host had it reaped */
  }
}

/* Reads until the program has ended, and tells how. */
static void follow(const struct spawn_request *request, pid_t pid, int fd, struct capture *capture,
                   struct spawn_result *result) {
  int64_t deadline = request->timeout_ms ? now_ms() + request->timeout_ms : INT64_MAX;
  enum child_state state = CHILD_RUNS;
  int status = 0;
  bool open = true, late = false;
  fcntl(fd, F_SETFL, O_NONBLOCK);
  while (state == CHILD_RUNS) {
    struct pollfd waiting = {.fd = open ? fd : -1, .events = POLLIN};
    int ready = poll(&waiting, 1, open ? LOOK_EVERY_MS : 1);
    if (ready > 0) open = drain(fd, capture);
    if (!open || ready == 0) state = look(pid, WNOHANG, &status);
    if (state == CHILD_RUNS && now_ms() >= deadline) {
      late = true;
      kill(-pid, SIGKILL);
      state = look(pid, 0, &status);
    }
  }
  /* What it wrote last may still lie in the pipe. */
  for (struct pollfd rest = {.fd = fd, .events = POLLIN}; open && !late && poll(&rest, 1, 0) > 0;)
    open = drain(fd, capture);
  if (late) {
    result->end = SPAWN_TIMEOUT;
  } else if (state == CHILD_LOST) {
    result->end = SPAWN_UNKNOWN;
  } else if (WIFSIGNALED(status)) {
    result->end = SPAWN_KILLED;
    result->code = WTERMSIG(status);
  } else {
    result->end = SPAWN_EXITED;
    result->code = WEXITSTATUS(status);
  }
}

int spawn_run(const struct spawn_request *request, struct spawn_result *result) {
  *result = (struct spawn_result){.end = SPAWN_UNKNOWN};
  struct capture capture = {.data = malloc(1024), .capacity = 1024};
  int ends[2] = {-1, -1};
  pid_t pid;
  if (!capture.data) return ENOMEM;
  capture.data[0] = '\0';
  int error = make_pipe(ends);
  if (error) {
    free(capture.data);
    return error;
  }
  error = spawn_start(request, &(struct spawn_descriptors){.output = ends[1], .channel = -1}, &pid);
  close(ends[1]);
  if (!error) {
    follow(request, pid, ends[0], &capture, result);
    result->output = capture.data;
    result->length = capture.length;
  } else {
    free(capture.data);
  }
  close(ends[0]);
  return error;
}
