/*
 * stream.h - streams and events of the CPU device, and the commands that lie in a stream.
 */
#ifndef LUHIP_CPU_STREAM_H
#define LUHIP_CPU_STREAM_H

#include <stdbool.h>

#include "cpu/exec.h"
#include "hip/api.h"

enum command_kind {
  COMMAND_COPY,
  COMMAND_FILL,
  COMMAND_LAUNCH,
  COMMAND_RECORD,
  COMMAND_WAIT,
  COMMAND_CALLBACK,
  COMMAND_GRAPH
};

struct command_copy { /* rows of `width` bytes */
  void *to;
  const void *from;
  size_t to_pitch, from_pitch, width, height;
};

struct command_fill { /* rows of `width` elements of `element` bytes */
  void *to;
  size_t pitch, width, height;
  unsigned element; /* 1, 2 or 4 */
  uint32_t value;
};

struct command_record {
  hip_event_t event; /* a reference */
  uint64_t generation;
};

struct command_wait {
  hip_stream_t stream; /* a reference */
  uint64_t position;
};

struct command_callback {
  hip_stream_callback_t function;
  void *user;
};

struct command_graph {
  struct command_list *list; /* a reference */
  uint64_t tag;
};

enum { COMMAND_INLINE = 256 };

/* One piece of work. The stream owns and reuses them. */
struct command {
  struct command *next;
  enum command_kind kind;
  union {
    struct command_copy copy;
    struct command_fill fill;
    struct cpu_launch launch;
    struct command_record record;
    struct command_wait wait;
    struct command_callback callback;
    struct command_graph graph;
  };
  struct command_record before, after; /* of a timed launch; no event: of any other */
  void *payload; /* bytes that travel with the command, 64-byte aligned: inlined, or from aligned_alloc */
  size_t capacity;
  _Alignas(64) unsigned char inlined[COMMAND_INLINE];
};

/* What a capture notes: commands that run again and again. Immutable once the capture has ended. */
struct command_list {
  int refs; /* atomic */
  size_t count;
  struct command *first, **tail;
  bool invalid; /* something could not be noted */
};

/* A command with room for so many bytes of payload, not yet in the stream. May wait for room in a full stream. NULL:
   out of host memory. */
struct command *cpu_stream_command(hip_stream_t stream, enum command_kind kind, size_t payload);
/* Puts it at the end. *position (optional): what stream_wait takes to wait for it. */
hip_error_t cpu_stream_commit(hip_stream_t stream, struct command *command, uint64_t *position);
/* Gives back a command that is not to be committed. */
void cpu_stream_drop(hip_stream_t stream, struct command *command);
/* From now on what is committed goes to the end of the list, which the stream owns until the capture ends. False: it is
   capturing already. */
bool cpu_stream_begin_capture(hip_stream_t stream, struct command_list *noted);
struct command_list *cpu_stream_end_capture(hip_stream_t stream); /* NULL when it is not capturing */
hip_stream_capture_status_t cpu_stream_capture_status(hip_stream_t stream);
/* For what cannot be part of a capture: true, and the capture is invalid, when the stream is capturing. */
bool cpu_stream_spoil_capture(hip_stream_t stream);
/* Waits until everything up to the position has run; runs it itself where nobody else does. */
void cpu_stream_wait(hip_stream_t stream, uint64_t position);
bool cpu_stream_passed(hip_stream_t stream, uint64_t position);
uint64_t cpu_stream_tail(hip_stream_t stream); /* position of the last command so far */
int cpu_stream_device(hip_stream_t stream);
hip_stream_t cpu_stream_retain(hip_stream_t stream);
void cpu_stream_release(hip_stream_t stream);
/* Waits for all work enqueued so far on one ordinal, or on all with -1. */
void cpu_streams_wait_all(int device);
/* Commands of all streams that have not run yet. */
size_t cpu_streams_pending(void);

void cpu_command_free(struct command *command);

/* command.c: does what a command says, on the calling thread. */
void cpu_command_run(hip_stream_t stream, struct command *command);
void cpu_command_copy_rows(const struct command_copy *copy);
/* graph.c */
void cpu_graph_run(hip_stream_t stream, const struct command_graph *graph);
void cpu_command_list_release(struct command_list *list);
/* event.c */
void cpu_event_reached(const struct command_record *record);
int64_t cpu_event_clock(void); /* ns */
/* Of a timed launch: both events, at these times. */
void cpu_events_reached(const struct command *command, int64_t before_ns, int64_t after_ns);

/* Around fork(): in the child all streams are empty and have no thread. */
void cpu_streams_fork_prepare(void);
void cpu_streams_fork_parent(void);
void cpu_streams_fork_child(void);
void cpu_events_fork_prepare(void);
void cpu_events_fork_parent(void);
void cpu_events_fork_child(void);

hip_error_t cpu_stream_create(hip_stream_t *stream, unsigned flags, int device);
hip_error_t cpu_stream_destroy(hip_stream_t stream);

#endif
