/*
 * prepared.c - comparing arguments with those of the launch before.
 */
#include "server/prepared.h"

#include "kernel/kernel.h"
#include "server/buffer.h"

#include <stdlib.h>
#include <string.h>

struct prepared *prepared_new(const struct kernel_signature *signature) {
  size_t count = signature->nparams, bytes = (signature->args_bytes + 15) / 16 * 16;
  struct prepared *prepared;
  size_t head = sizeof *prepared + count * sizeof prepared->arguments[0];
  size_t uses = count * sizeof *prepared->uses, params = count * sizeof *prepared->params;
  size_t packed = (head + uses + params + 15) / 16 * 16;
  prepared = calloc(1, packed + bytes);
  if (!prepared) return NULL;
  prepared->uses = (struct op_use *)((char *)prepared + head);
  prepared->params = (void **)((char *)prepared->uses + uses);
  prepared->packed = (unsigned char *)prepared + packed;
  for (size_t i = 0; i < count; i++) {
    const struct kernel_param *param = &signature->params[i];
    struct prepared_argument *argument = &prepared->arguments[i];
    argument->tag = LUHIP_ARG_OTHER;
    prepared->params[i] = prepared->packed + param->offset;
    if (param->access == ACCESS_VALUE) continue;
    argument->use = &prepared->uses[prepared->nuses++];
    argument->use->param = (uint16_t)i;
    argument->use->access = (uint8_t)param->access;
  }
  return prepared;
}

static uint64_t value_of(const luhip_arg *arg) {
  return arg->tag == LUHIP_ARG_BUFFER ? arg->buffer->id : (uint64_t)arg->i; /* a double's bits too */
}

/* Another argument than before. */
static __attribute__((noinline)) bool renew(struct prepared *prepared, const struct kernel_signature *signature,
                                            const luhip_device *device, unsigned index, const luhip_arg *arg) {
  struct prepared_argument *argument = &prepared->arguments[index];
  struct op_use *use = argument->use;
  argument->tag = LUHIP_ARG_OTHER;
  prepared->changed = true;
  if (use && arg->tag == LUHIP_ARG_BUFFER) {
    const luhip_buffer *buffer = arg->buffer;
    if (buffer->device != device || !buffer->allocation || !buffer->allocation->address) return false;
  }
  unsigned char *to = prepared->params[index];
  if (!kernel_pack_simple(signature, index, arg, to)) return false;
  if (use) {
    use->allocation = arg->buffer->allocation;
    use->base = (uintptr_t)use->allocation->address;
    use->region = buffer_span(arg->buffer);
    char *address = (char *)use->allocation->address + use->region.offset;
    memcpy(to, &address, sizeof address);
  }
  argument->value = value_of(arg);
  argument->tag = arg->tag;
  return true;
}

static inline bool is_known(const struct prepared_argument *argument, const luhip_arg *arg) {
  if (arg->tag != argument->tag) return false;
  if (arg->tag != LUHIP_ARG_BUFFER) return (uint64_t)arg->i == argument->value;
  const luhip_buffer *buffer = arg->buffer;
  const struct op_use *use = argument->use;
  /* Its own allocation for as long as it has one: the pointer kept is never followed. */
  return buffer->id == argument->value && buffer->allocation == use->allocation &&
         (uintptr_t)buffer->allocation->address == use->base;
}

bool prepared_take(struct prepared *prepared, const struct kernel_signature *signature, const luhip_device *device,
                   const luhip_arg *args) {
  const struct prepared_argument *argument = prepared->arguments;
  for (unsigned i = 0, n = (unsigned)signature->nparams; i < n; i++, argument++) {
    if (!is_known(argument, &args[i]) && !renew(prepared, signature, device, i, &args[i])) return false;
  }
  return true;
}

void prepared_free(struct prepared *prepared, const struct hip_api *api) {
  if (prepared && prepared->again.owner) api->hipxLaunchForget(&prepared->again);
  free(prepared);
}
