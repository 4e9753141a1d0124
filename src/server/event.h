/*
 * event.h - events that users record: places in a stream with a time.
 */
#ifndef LUHIP_SERVER_EVENT_H
#define LUHIP_SERVER_EVENT_H

#include "server/server.h"

struct luhip_event {
  int refs;             /* atomic */
  luhip_device *device; /* retained */
  hip_event_t event;    /* NULL once the device was closed */
  uint32_t slot;
  uint64_t position;
  struct luhip_event *next, *previous; /* the device's events */
};

/* Events with timing, from the device's pool and back to it. */
hip_error_t event_take(luhip_device *device, hip_event_t *event);
void event_give(luhip_device *device, hip_event_t event);
void events_close(luhip_device *device, bool destroy);

#endif
