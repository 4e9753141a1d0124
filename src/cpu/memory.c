/*
 * memory.c - freeing, copying and filling memory in stream order.
 *
 * What the device touches must lie within one live block of the arena, or within one global of a loaded module; this
 * is checked when the work is enqueued, so a wrong address is an error of the call and never a fault of the stream's
 * thread. Host memory outside the arena is pageable. A small pageable source travels inside the command; any other
 * copy from or to pageable memory happens before the call returns, after everything that is in the stream.
 */
#include "cpu/memory.h"

#include <string.h>

#include "cpu/arena.h"
#include "cpu/module.h"

enum { STAGED_BYTES = 64 << 10 };

/* ---- freeing ---------------------------------------------------------------------------------------------------- */

hip_error_t cpu_memory_free(void *ptr) {
  if (!ptr) return hip_Success;
  if (!cpu_arena_contains(ptr)) return hip_ErrorInvalidDevicePointer;
  cpu_streams_wait_all(-1);
  return cpu_arena_free(ptr, ARENA_DEVICE) ? hip_Success : hip_ErrorInvalidDevicePointer;
}

hip_error_t cpu_memory_free_host(void *ptr) {
  if (!ptr) return hip_Success;
  if (!cpu_arena_contains(ptr)) return hip_ErrorInvalidValue;
  cpu_streams_wait_all(-1);
  return cpu_arena_free(ptr, ARENA_PINNED) ? hip_Success : hip_ErrorInvalidValue;
}

/* ---- checking --------------------------------------------------------------------------------------------------- */

/* Bytes from the first to behind the last one of `height` rows; 0 when that does not fit an address. */
static size_t extent(size_t pitch, size_t width, size_t height) {
  size_t bytes;
  if (__builtin_mul_overflow(pitch, height - 1, &bytes) || __builtin_add_overflow(bytes, width, &bytes)) return 0;
  return bytes;
}

static bool on_device(const void *ptr, size_t bytes, bool written) {
  return cpu_arena_contains(ptr) ? cpu_arena_covers(ptr, bytes) : cpu_module_covers(ptr, bytes, written);
}

enum side { SIDE_WRONG, SIDE_DEVICE, SIDE_PAGEABLE };

/* What one end of a copy is. Pinned memory serves as either side, since the device reaches it. */
static enum side side_of(const void *ptr, size_t bytes, bool written, bool device, bool either) {
  if (!ptr || !bytes) return SIDE_WRONG;
  if (cpu_arena_contains(ptr) || device || (either && cpu_module_covers(ptr, bytes, written)))
    return on_device(ptr, bytes, written) ? SIDE_DEVICE : SIDE_WRONG;
  return SIDE_PAGEABLE;
}

/* ---- copying ---------------------------------------------------------------------------------------------------- */

/* Rows that follow each other without gaps are one row. */
static void flatten(struct command_copy *copy) {
  if (copy->height > 1 && copy->to_pitch == copy->width && copy->from_pitch == copy->width) {
    copy->width *= copy->height;
    copy->height = 1;
  }
}

static hip_error_t copy_now(const struct command_copy *copy, hip_stream_t stream) {
  if (cpu_stream_spoil_capture(stream)) return hip_ErrorStreamCaptureUnsupported;
  cpu_stream_wait(stream, cpu_stream_tail(stream));
  cpu_command_copy_rows(copy);
  return hip_Success;
}

hip_error_t cpu_memory_copy(struct command_copy copy, hip_memcpy_kind_t kind, hip_stream_t stream) {
  if (!stream) return hip_ErrorInvalidHandle;
  if ((int)kind < hip_MemcpyHostToHost || kind > hip_MemcpyDefault) return hip_ErrorInvalidMemcpyDirection;
  if (!copy.width || !copy.height) return hip_Success;
  if (copy.height > 1 && (copy.width > copy.to_pitch || copy.width > copy.from_pitch))
    return hip_ErrorInvalidPitchValue;
  bool either = kind == hip_MemcpyDefault;
  enum side to = side_of(copy.to, extent(copy.to_pitch, copy.width, copy.height), true,
                         kind == hip_MemcpyHostToDevice || kind == hip_MemcpyDeviceToDevice, either);
  enum side from = side_of(copy.from, extent(copy.from_pitch, copy.width, copy.height), false,
                           kind == hip_MemcpyDeviceToHost || kind == hip_MemcpyDeviceToDevice, either);
  if (to == SIDE_WRONG || from == SIDE_WRONG) return hip_ErrorInvalidValue;
  flatten(&copy);
  size_t bytes = copy.width * copy.height;
  bool staged = from == SIDE_PAGEABLE && bytes <= STAGED_BYTES;
  if (to == SIDE_PAGEABLE || (from == SIDE_PAGEABLE && !staged)) return copy_now(&copy, stream);
  struct command *command = cpu_stream_command(stream, COMMAND_COPY, staged ? bytes : 0);
  if (!command) return hip_ErrorOutOfMemory;
  if (staged) {
    struct command_copy stage = copy;
    stage.to = command->payload;
    stage.to_pitch = copy.width;
    cpu_command_copy_rows(&stage);
    copy.from = command->payload;
    copy.from_pitch = copy.width;
  }
  command->copy = copy;
  return cpu_stream_commit(stream, command, NULL);
}

/* ---- filling ---------------------------------------------------------------------------------------------------- */

hip_error_t cpu_memory_fill(struct command_fill fill, hip_stream_t stream) {
  if (!stream) return hip_ErrorInvalidHandle;
  if (!fill.width || !fill.height) return hip_Success;
  size_t width;
  if (__builtin_mul_overflow(fill.width, (size_t)fill.element, &width)) return hip_ErrorInvalidValue;
  if (fill.height > 1 && width > fill.pitch) return hip_ErrorInvalidPitchValue;
  size_t bytes = extent(fill.pitch, width, fill.height);
  if (!fill.to || (uintptr_t)fill.to % fill.element || !bytes || !on_device(fill.to, bytes, true))
    return hip_ErrorInvalidValue;
  struct command *command = cpu_stream_command(stream, COMMAND_FILL, 0);
  if (!command) return hip_ErrorOutOfMemory;
  command->fill = fill;
  return cpu_stream_commit(stream, command, NULL);
}
