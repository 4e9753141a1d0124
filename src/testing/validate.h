/*
 * validate.h - what the files of validate.c share. Objects are looked at with validate_lock; functions that return a
 * driver's code take it themselves.
 */
#ifndef LUHIP_TESTING_VALIDATE_H
#define LUHIP_TESTING_VALIDATE_H

#include "testing/objects.h"

#define WRONG(entry, ...) validate_violation(ENTRY_##entry, __VA_ARGS__)

/* One for each entry of the table. Those that check nothing pass the call on. */
#define X(name, parameters, arguments) hip_error_t check_##name parameters;
HIP_API(X, X)
#undef X

int validate_device(void); /* the thread's current one */
/* The code, after a look at whether the device is lost. */
hip_error_t validate_noted(hip_error_t rc);
/* How many violations this thread has told. */
unsigned validate_told(void);
/* The live object of this provider; NULL, and a violation, when there is none. */
struct object *validate_live(enum entry entry, enum object_kind kind, const void *handle);
struct object *validate_live_stream(enum entry entry, hip_stream_t stream);
/* A stream on which the call may not be made while it captures. */
struct object *validate_outside_capture(enum entry entry, hip_stream_t stream);
/* Notes that work on the stream uses the object: now, or at each launch of what is captured. NULL is fine. */
void validate_use(struct object *stream, struct object *object);
/* The driver took an operation that uses what is at the addresses; NULL: nothing. */
hip_error_t validate_enqueued(hip_error_t rc, hip_stream_t handle, const void *one, const void *other);
/* Takes it out of the table, before it is given back: another thread may be given the address before that returns. */
bool validate_remove(enum entry entry, enum object_kind kind, const void *handle, bool must_be_idle);
/* With the lock: what streams were to write (hipxStreamWrite32) is looked at, and what has come has passed. */
void validate_look_at_words(void);
void validate_forget_words(const void *memory, size_t bytes); /* that were to be written there; not looked at */
/* The event was recorded where the stream is. */
void validate_recorded(struct object *event, const struct object *stream);
/* With the lock: whether the host's side of a copy may be pageable. */
bool validate_pageable(void);
void validate_pinned_refused(void); /* takes the lock */

#endif
