/*
 * fault.c - what the device says of a launch that went wrong, in the words of the launch (E6).
 *
 * The device knows the address, block and thread; the operation in flight, found by the launch's tag, knows the
 * kernel's parameters and what was passed for them. The buffer that is named is the one the address is nearest to,
 * arguments before others.
 */
#include "server/allocation.h"
#include "server/graph.h"
#include "server/program.h"

#include <stdio.h>
#include <string.h>

enum { NEAR = 1 << 20, NULL_PAGE = 1 << 16 };

/* How far an address is from [base, base + bytes); 0 inside. */
static uintptr_t distance(uintptr_t address, uintptr_t base, size_t bytes) {
  if (address < base) return base - address;
  return address < base + bytes ? 0 : address - (base + bytes) + 1;
}

/* ---- which launch -------------------------------------------------------------------------------------------- */

/* The launch that went wrong: an operation in flight, or one node of a replay. */
struct culprit {
  luhip_device *device;
  const struct op *op;
  const struct node *node;    /* of a replay */
  const luhip_kernel *kernel; /* NULL: not known */
  uint32_t nuses;
};

static struct culprit find_culprit(luhip_device *device, const struct op *op, uint64_t tag) {
  struct culprit culprit = {.device = device, .op = op, .kernel = op->keep.kernel, .nuses = op->nuses};
  const luhip_graph *graph = op->keep.graph;
  uint64_t index = tag - op->sequence;
  if (!graph || index >= graph->nnodes || graph->nodes[index].kind != LUHIP_NODE_KERNEL) return culprit;
  culprit.node = &graph->nodes[index];
  culprit.kernel = culprit.node->launch.kernel;
  culprit.nuses = culprit.node->nuses;
  return culprit;
}

static struct op_use culprit_use(const struct culprit *culprit, uint32_t index) {
  if (!culprit->node) return *inflight_use(culprit->device, culprit->op, index);
  struct op_use use = culprit->node->uses[index];
  use.base = (uintptr_t)use.allocation->address;
  return use;
}

/* ---- naming the buffer --------------------------------------------------------------------------------------- */

struct suspect {
  uintptr_t base;
  size_t bytes;
  char name[256]; /* "'y' (argument 3, f32[1000], 4000 bytes)" */
};

static void name_argument(const luhip_kernel *kernel, const struct op_use *use, struct suspect *suspect) {
  const struct allocation *allocation = use->allocation;
  char layout[96];
  layout_describe(&allocation->made, layout, sizeof layout);
  bool whole = use->region.offset == 0 && region_bytes(&use->region) == allocation->bytes;
  const char *name = use->param == NO_PARAM ? "" : kernel->signature->params[use->param].shown.name;
  char position[32] = "touched";
  if (use->param != NO_PARAM) snprintf(position, sizeof position, "argument %u", use->param + 1u);
  if (*name) {
    snprintf(suspect->name, sizeof suspect->name, "'%s' (%s, %s%s, %zu bytes)", name, position,
             whole ? "" : "a view of ", layout, allocation->bytes);
  } else {
    snprintf(suspect->name, sizeof suspect->name, "the buffer of %s (%s%s, %zu bytes)", position,
             whole ? "" : "a view of ", layout, allocation->bytes);
  }
  suspect->base = use->base;
  suspect->bytes = allocation->bytes;
}

static uintptr_t nearest_argument(const struct culprit *culprit, uintptr_t address, struct suspect *suspect) {
  uintptr_t least = UINTPTR_MAX;
  for (uint32_t i = 0; culprit->kernel && i < culprit->nuses; i++) {
    struct op_use use = culprit_use(culprit, i);
    uintptr_t far = use.base ? distance(address, use.base, use.allocation->bytes) : UINTPTR_MAX;
    if (far > NEAR || far >= least) continue;
    least = far;
    name_argument(culprit->kernel, &use, suspect);
  }
  return least;
}

static bool nearest_other(luhip_device *device, const struct hip_fault *fault, struct suspect *suspect) {
  if (!fault->nearest) return false;
  suspect->base = fault->nearest;
  suspect->bytes = fault->nearest_bytes;
  snprintf(suspect->name, sizeof suspect->name, "a buffer of %zu bytes that is no argument", suspect->bytes);
  for (const struct allocation *a = device->allocations; a; a = a->next) {
    if ((uintptr_t)a->address != fault->nearest) continue;
    char layout[96];
    layout_describe(&a->made, layout, sizeof layout);
    suspect->bytes = a->bytes;
    snprintf(suspect->name, sizeof suspect->name, "a buffer that is no argument (%s, %zu bytes)", layout, a->bytes);
  }
  return true;
}

static bool find_suspect(const struct culprit *culprit, const struct hip_fault *fault, struct suspect *suspect) {
  uintptr_t argument = nearest_argument(culprit, fault->address, suspect);
  uintptr_t other = fault->nearest ? distance(fault->address, fault->nearest, fault->nearest_bytes) : UINTPTR_MAX;
  if (argument <= other && argument != UINTPTR_MAX) return true;
  return nearest_other(culprit->device, fault, suspect);
}

/* ---- the sentence -------------------------------------------------------------------------------------------- */

static void say_address(const struct culprit *culprit, const struct hip_fault *fault, char *text, size_t len) {
  const char *verb = fault->is_write > 0 ? "wrote" : fault->is_write == 0 ? "read" : "accessed memory";
  struct suspect suspect;
  if (fault->address == UINTPTR_MAX) {
    snprintf(text, len, "made a misaligned vector access, or one at an address that cannot exist (which is not known)");
  } else if (fault->address < NULL_PAGE) {
    snprintf(text, len, "%s through a null pointer (address 0x%zx)", verb, (size_t)fault->address);
  } else if (!find_suspect(culprit, fault, &suspect)) {
    snprintf(text, len, "%s at address 0x%zx, which is in no buffer", verb, (size_t)fault->address);
  } else if (fault->address < suspect.base) {
    snprintf(text, len, "%s %zu bytes before the start of %s", verb, (size_t)(suspect.base - fault->address),
             suspect.name);
  } else if (fault->address == suspect.base + suspect.bytes) {
    snprintf(text, len, "%s just past the end of %s", verb, suspect.name);
  } else if (fault->address > suspect.base + suspect.bytes) {
    snprintf(text, len, "%s %zu bytes past the end of %s", verb,
             (size_t)(fault->address - suspect.base - suspect.bytes), suspect.name);
  } else {
    snprintf(text, len, "%s at byte %zu of %s, which was refused", verb, (size_t)(fault->address - suspect.base),
             suspect.name);
  }
}

static void say_what(const struct culprit *culprit, const struct hip_fault *fault, char *text, size_t len) {
  switch (fault->kind) {
  case HIP_FAULT_ADDRESS:
    say_address(culprit, fault, text, len);
    break;
  case HIP_FAULT_STACK:
    snprintf(text, len, "overflowed the stack of a thread");
    break;
  case HIP_FAULT_DIVIDE:
    snprintf(text, len, "divided an integer by zero, or the smallest integer by -1");
    break;
  case HIP_FAULT_ASSERT:
    snprintf(text, len, "failed an assertion: %s", fault->text);
    break;
  case HIP_FAULT_TIMEOUT:
    snprintf(text, len, "did not end within %u ms and was stopped", culprit->device->options.timeout_ms);
    break;
  case HIP_FAULT_BARRIER:
    snprintf(text, len, "reached a barrier with only some threads of the block%s%s", *fault->text ? ": " : "",
             fault->text);
    break;
  default:
    snprintf(text, len, "trapped%s%s", *fault->text ? ": " : "", fault->text);
  }
}

static void say_where(const struct hip_fault *fault, char *text, size_t len) {
  int at = snprintf(text, len, " in block (%u,%u,%u)", fault->block[0], fault->block[1], fault->block[2]);
  if (fault->thread[0] < 0 || at < 0 || (size_t)at >= len) return;
  snprintf(text + at, len - (size_t)at, ", thread (%d,%d,%d)", (int)fault->thread[0], (int)fault->thread[1],
           (int)fault->thread[2]);
}

static luhip_error *fault_error(luhip_device *device, const struct op *op, const struct hip_fault *fault) {
  struct culprit culprit = find_culprit(device, op, fault->tag);
  const char *kernel = culprit.kernel ? luhip_kernel_name(culprit.kernel) : fault->kernel;
  char what[768], where[128];
  say_what(&culprit, fault, what, sizeof what);
  say_where(fault, where, sizeof where);
  luhip_status kind = fault->kind == HIP_FAULT_TIMEOUT ? LUHIP_E_TIMEOUT : LUHIP_E_FAULT;
  luhip_error *error = error_new(kind, "kernel '%s' %s%s", kernel, what, where);
  int32_t block[3] = {(int32_t)fault->block[0], (int32_t)fault->block[1], (int32_t)fault->block[2]};
  error_set_where(error, kernel, block, fault->thread);
  return error;
}

/* ---- taking them --------------------------------------------------------------------------------------------- */

void faults_take(luhip_device *device) {
  const struct hip_api *api = device->api;
  if (!api->hipxTakeFault || __atomic_load_n(&device->state, __ATOMIC_RELAXED) == DEVICE_CLOSED) return;
  struct hip_fault fault;
  while (api->hipxTakeFault(&fault) == hip_Success) {
    struct op *op = inflight_find(device, fault.tag);
    if (!op) continue; /* of a server before this one */
    struct failure *failure = failure_new(&device->failures, fault_error(device, op, &fault));
    inflight_fail(device, op, failure);
    failure_release(failure);
  }
}

luhip_status unclaimed_take(luhip_device *device, const char *what, luhip_error **error) {
  faults_take(device);
  return failure_unclaimed_take(&device->failures, what, error);
}
