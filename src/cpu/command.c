/*
 * command.c - doing what a command says, on whichever thread runs the stream just now.
 */
#include "cpu/device.h"
#include "cpu/stream.h"

#include <string.h>

void cpu_command_copy_rows(const struct command_copy *copy) {
  char *to = copy->to;
  const char *from = copy->from;
  for (size_t row = 0; row < copy->height; row++)
    memmove(to + row * copy->to_pitch, from + row * copy->from_pitch, copy->width);
}

static void fill_row(const struct command_fill *fill, void *to) {
  if (fill->element == 1) {
    memset(to, (int)fill->value, fill->width);
  } else if (fill->element == 2) {
    for (size_t i = 0; i < fill->width; i++) ((uint16_t *)to)[i] = (uint16_t)fill->value;
  } else {
    for (size_t i = 0; i < fill->width; i++) ((uint32_t *)to)[i] = fill->value;
  }
}

static void fill_rows(const struct command_fill *fill) {
  for (size_t row = 0; row < fill->height; row++) fill_row(fill, (char *)fill->to + row * fill->pitch);
}

static void launch(hip_stream_t stream, const struct cpu_launch *what) {
  struct hip_fault fault;
  if (cpu_exec_run(what, &fault)) cpu_device_add_fault(cpu_stream_device(stream), &fault);
}

static void launch_timed(hip_stream_t stream, const struct command *command) {
  int64_t before = cpu_event_clock();
  launch(stream, &command->launch);
  cpu_events_reached(command, before, cpu_event_clock());
}

void cpu_command_run(hip_stream_t stream, struct command *command) {
  switch (command->kind) {
  case COMMAND_COPY:
    cpu_command_copy_rows(&command->copy);
    break;
  case COMMAND_FILL:
    fill_rows(&command->fill);
    break;
  case COMMAND_LAUNCH:
    if (command->after.event)
      launch_timed(stream, command);
    else
      launch(stream, &command->launch);
    break;
  case COMMAND_RECORD:
    cpu_event_reached(&command->record);
    break;
  case COMMAND_WAIT:
    cpu_stream_wait(command->wait.stream, command->wait.position);
    cpu_stream_release(command->wait.stream);
    break;
  case COMMAND_CALLBACK:
    command->callback.function(stream, hip_Success, command->callback.user);
    break;
  case COMMAND_GRAPH:
    cpu_graph_run(stream, &command->graph);
    cpu_command_list_release(command->graph.list);
    break;
  }
}
