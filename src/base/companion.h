/*
 * companion.h - a program of ours that runs beside this process, and the channel between the two.
 *
 * Whole messages of any length go either way, in order. The program finds the channel as its descriptor SPAWN_CHANNEL
 * (companion_attach), has our standard output and error, and no standard input. It may die at any time: that is told by
 * COMPANION_GONE and by how it ended, and never by a signal to this process. One thread at a time may use a companion.
 */
#ifndef LUHIP_BASE_COMPANION_H
#define LUHIP_BASE_COMPANION_H

#include <stddef.h>

#include "base/spawn.h"

struct companion;

/* COMPANION_BROKEN: a message that cannot be taken in; the channel is of no use any more. */
enum companion_news { COMPANION_MESSAGE, COMPANION_NOTHING, COMPANION_GONE, COMPANION_BROKEN };

/* Starts it; request->timeout_ms means nothing here. 0 or an errno value. */
int companion_start(const struct spawn_request *request, struct companion **out);
/* In the program: its side of the channel. 0 or an errno value; once in a process. */
int companion_attach(struct companion **out);
/* Sends a message; waits while the other side does not read. 0 or an errno value; EPIPE: it is gone. */
int companion_send(struct companion *companion, const void *message, size_t length);
/* Waits up to that long for the next message: COMPANION_MESSAGE gives it, the caller's to free(). */
enum companion_news companion_receive(struct companion *companion, unsigned timeout_ms, char **message, size_t *length);
/* Has it see the end of the channel, kills what still runs after `patience_ms`, and tells how it ended: SPAWN_EXITED, SPAWN_KILLED with *code, or
   SPAWN_UNKNOWN. Twice is once. */
enum spawn_end companion_end(struct companion *companion, unsigned patience_ms, int *code);
/* Ends it at once, if it was not ended before, and frees. NULL is fine. */
void companion_free(struct companion *companion);

#endif
