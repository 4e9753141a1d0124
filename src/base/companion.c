/*
 * companion.c - a socket pair, messages with their length in front.
 *
 * A message is received in pieces, whenever its reader looks: what has come of it stays in the companion. The socket is
 * ours alone here and the program's alone there, so its end of file is the program's end, unless a child of its own keeps
 * it open; spawn.c lets none do so.
 */
#include "base/companion.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 8, NAP_MS = 5 };
#define MOST ((uint64_t)1 << 40) /* bytes of a message: more is no length */

struct companion {
  int fd;
  pid_t pid; /* 0: this side is the program itself */
  bool ended, broken;
  enum spawn_end end;
  int code;
  unsigned char head[HEAD];
  size_t have; /* bytes of head and body that have come */
  uint64_t length;
  char *body;
};

static int64_t now_ms(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Above the standard descriptors and the channel's own number: dup2 onto these must not meet it. */
static int lift(int *fd) {
  int raised = fcntl(*fd, F_DUPFD_CLOEXEC, SPAWN_CHANNEL + 1);
  if (raised < 0) return errno;
  close(*fd);
  *fd = raised;
  return 0;
}

static int make_pair(int ends[2]) {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return errno;
  int error = lift(&ends[0]);
  if (!error) error = lift(&ends[1]);
  if (!error) return 0;
  close(ends[0]);
  close(ends[1]);
  return error;
}

int companion_start(const struct spawn_request *request, struct companion **out) {
  struct companion *companion = calloc(1, sizeof *companion);
  int ends[2], error = companion ? make_pair(ends) : ENOMEM;
  if (error) {
    free(companion);
    return error;
  }
  error = spawn_start(request, &(struct spawn_descriptors){.output = -1, .channel = ends[1]}, &companion->pid);
  close(ends[1]);
  if (error) {
    close(ends[0]);
    free(companion);
    return error;
  }
  companion->fd = ends[0];
  *out = companion;
  return 0;
}

int companion_attach(struct companion **out) {
  int type;
  socklen_t length = sizeof type;
  if (getsockopt(SPAWN_CHANNEL, SOL_SOCKET, SO_TYPE, &type, &length)) return errno;
  if (type != SOCK_STREAM) return EPROTOTYPE;
  if (fcntl(SPAWN_CHANNEL, F_SETFD, FD_CLOEXEC)) return errno;
  struct companion *companion = calloc(1, sizeof *companion);
  if (!companion) return ENOMEM;
  companion->fd = SPAWN_CHANNEL;
  *out = companion;
  return 0;
}

/* ---- messages -------------------------------------------------------------------------------------------------- */

static int send_all(int fd, const unsigned char *data, size_t length) {
  while (length) {
    ssize_t sent = send(fd, data, length, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == ECONNRESET ? EPIPE : errno;
    data += sent;
    length -= (size_t)sent;
  }
  return 0;
}

int companion_send(struct companion *companion, const void *message, size_t length) {
  if (companion->fd < 0) return EPIPE;
  uint64_t bytes = length;
  unsigned char head[HEAD];
  memcpy(head, &bytes, HEAD);
  int error = send_all(companion->fd, head, HEAD);
  return error ? error : send_all(companion->fd, message, length);
}

/* The head is whole: makes room for the body. */
static bool begin_body(struct companion *companion) {
  memcpy(&companion->length, companion->head, HEAD);
  if (companion->length > MOST) return false;
  companion->body = malloc(companion->length + 1);
  return companion->body;
}

/* Takes in one piece, which is there. */
static enum companion_news take(struct companion *companion) {
  bool heading = companion->have < HEAD;
  char *into = heading ? (char *)companion->head + companion->have : companion->body + (companion->have - HEAD);
  size_t room = heading ? HEAD - companion->have : companion->length - (companion->have - HEAD);
  ssize_t got = room ? recv(companion->fd, into, room, 0) : 0;
  if (got < 0) return errno == EINTR || errno == EAGAIN ? COMPANION_NOTHING : COMPANION_GONE;
  if (got == 0 && room) return COMPANION_GONE;
  companion->have += (size_t)got;
  if (heading && companion->have == HEAD && !begin_body(companion)) return COMPANION_BROKEN;
  return companion->have >= HEAD && companion->have - HEAD == companion->length ? COMPANION_MESSAGE : COMPANION_NOTHING;
}

enum companion_news companion_receive(struct companion *companion, unsigned timeout_ms, char **message,
                                      size_t *length) {
  if (companion->broken) return COMPANION_BROKEN;
  int64_t deadline = now_ms() + timeout_ms;
  enum companion_news news = COMPANION_NOTHING;
  while (news == COMPANION_NOTHING) {
    if (companion->fd < 0) return COMPANION_GONE;
    int64_t left = deadline - now_ms();
    struct pollfd waiting = {.fd = companion->fd, .events = POLLIN};
    int ready = poll(&waiting, 1, left > 0 ? (int)left : 0);
    if (ready < 0 && errno == EINTR) return COMPANION_NOTHING; /* the caller sees to whatever it was */
    if (ready > 0) news = take(companion);
    if (ready <= 0 && now_ms() >= deadline) return COMPANION_NOTHING;
  }
  companion->broken = news == COMPANION_BROKEN;
  if (news != COMPANION_MESSAGE) return news;
  companion->body[companion->length] = '\0';
  *message = companion->body;
  *length = companion->length;
  companion->body = NULL;
  companion->have = 0;
  return COMPANION_MESSAGE;
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

static void note(struct companion *companion, int status) {
  companion->end = WIFSIGNALED(status) ? SPAWN_KILLED : SPAWN_EXITED;
  companion->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

/* Whether it has ended; waits for that where `flags` is 0. */
static bool reap(struct companion *companion, int flags) {
  int status;
  for (;;) {
    pid_t got = waitpid(companion->pid, &status, flags);
    if (got == companion->pid) note(companion, status);
    if (got == 0) return false;
    if (got > 0 || errno != EINTR) return true; /* ECHILD: the host had it reaped */
  }
}

enum spawn_end companion_end(struct companion *companion, unsigned patience_ms, int *code) {
  if (!companion->ended && companion->pid) {
    if (companion->fd >= 0) shutdown(companion->fd, SHUT_WR);
    int64_t deadline = now_ms() + patience_ms;
    const struct timespec nap = {.tv_nsec = NAP_MS * 1000000L};
    companion->end = SPAWN_UNKNOWN;
    bool gone;
    while (!(gone = reap(companion, WNOHANG)) && now_ms() < deadline) nanosleep(&nap, NULL);
    if (!gone) {
      kill(-companion->pid, SIGKILL);
      reap(companion, 0);
    }
  }
  if (companion->fd >= 0) close(companion->fd);
  companion->fd = -1;
  companion->ended = true;
  *code = companion->code;
  return companion->pid ? companion->end : SPAWN_UNKNOWN;
}

void companion_free(struct companion *companion) {
  int code;
  if (!companion) return;
  companion_end(companion, 0, &code);
  free(companion->body);
  free(companion);
}
