/*
 * event.h - the table's entries for events.
 */
#ifndef LUHIP_CPU_EVENT_H
#define LUHIP_CPU_EVENT_H

#include "hip/api.h"

struct command;

hip_error_t cpu_event_create(hip_event_t *event, unsigned flags);
hip_error_t cpu_event_destroy(hip_event_t event);
hip_error_t cpu_event_record(hip_event_t event, hip_stream_t stream);
/* Puts the command into the stream, between the records of both events. */
hip_error_t cpu_events_commit(hip_event_t start, hip_event_t stop, hip_stream_t stream, struct command *command);
hip_error_t cpu_event_query(hip_event_t event);
hip_error_t cpu_event_synchronize(hip_event_t event);
hip_error_t cpu_event_elapsed(float *ms, hip_event_t start, hip_event_t stop);
hip_error_t cpu_stream_wait_event(hip_stream_t stream, hip_event_t event, unsigned flags);

#endif
