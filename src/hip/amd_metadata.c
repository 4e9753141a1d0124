/*
 * amd_metadata.c - a bounds-checked reader of just enough msgpack for the metadata note.
 *
 * The note's content is one map; its "amdhsa.kernels" is an array of maps, one a kernel, told apart by ".name". A
 * value that is not wanted is skipped by reading past it, with a limit on nesting. Any damage ends the search.
 */
#include "hip/amd_metadata.h"
#include "base/elf.h"

#include <string.h>

enum { NOTE_TYPE = 32, MAX_DEPTH = 16 };

struct reader {
  const unsigned char *at, *end;
  bool bad;
};

enum pack { PACK_OTHER, PACK_NUMBER, PACK_STRING, PACK_ARRAY, PACK_MAP };

struct item {
  enum pack kind;
  uint64_t number; /* value, length of a string, elements of an array, pairs of a map */
  const char *text;
};

static uint64_t take(struct reader *r, unsigned bytes) {
  uint64_t value = 0;
  if ((size_t)(r->end - r->at) < bytes) {
    r->bad = true;
    return 0;
  }
  while (bytes--) value = value << 8 | *r->at++;
  return value;
}

/* A run of raw bytes: a string, or binary and extension data that is passed over. */
static struct item take_bytes(struct reader *r, enum pack kind, uint64_t length) {
  struct item item = {kind, length, (const char *)r->at};
  if ((uint64_t)(r->end - r->at) < length)
    r->bad = true;
  else
    r->at += length;
  return item;
}

/* The head of one value; what is inside an array or a map follows. */
static struct item next(struct reader *r) {
  unsigned tag = (unsigned)take(r, 1);
  if (tag <= 0x7f || tag >= 0xe0) return (struct item){PACK_NUMBER, tag, NULL};
  if (tag <= 0x8f) return (struct item){PACK_MAP, tag & 15, NULL};
  if (tag <= 0x9f) return (struct item){PACK_ARRAY, tag & 15, NULL};
  if (tag <= 0xbf) return take_bytes(r, PACK_STRING, tag & 31);
  switch (tag) {
  case 0xc4:
  case 0xc5:
  case 0xc6:
    return take_bytes(r, PACK_OTHER, take(r, 1U << (tag - 0xc4)));
  case 0xc7:
  case 0xc8:
  case 0xc9:
    return take_bytes(r, PACK_OTHER, take(r, 1U << (tag - 0xc7)) + 1);
  case 0xca:
  case 0xcb:
    return take_bytes(r, PACK_OTHER, tag == 0xca ? 4 : 8);
  case 0xcc:
  case 0xcd:
  case 0xce:
  case 0xcf:
    return (struct item){PACK_NUMBER, take(r, 1U << (tag - 0xcc)), NULL};
  case 0xd0:
  case 0xd1:
  case 0xd2:
  case 0xd3:
    return (struct item){PACK_NUMBER, take(r, 1U << (tag - 0xd0)), NULL};
  case 0xd4:
  case 0xd5:
  case 0xd6:
  case 0xd7:
  case 0xd8:
    return take_bytes(r, PACK_OTHER, (1U << (tag - 0xd4)) + 1);
  case 0xd9:
  case 0xda:
  case 0xdb:
    return take_bytes(r, PACK_STRING, take(r, 1U << (tag - 0xd9)));
  case 0xdc:
  case 0xdd:
    return (struct item){PACK_ARRAY, take(r, tag == 0xdc ? 2 : 4), NULL};
  case 0xde:
  case 0xdf:
    return (struct item){PACK_MAP, take(r, tag == 0xde ? 2 : 4), NULL};
  default:
    return (struct item){PACK_OTHER, 0, NULL}; /* nil, false, true */
  }
}

/* Passes over what is inside a value whose head was read. */
static void skip_inside(struct reader *r, struct item item, int depth) {
  uint64_t inside = item.kind == PACK_MAP ? 2 * item.number : item.kind == PACK_ARRAY ? item.number : 0;
  if (inside && depth >= MAX_DEPTH) r->bad = true;
  for (; inside && !r->bad; inside--) skip_inside(r, next(r), depth + 1);
}

static bool is_text(struct item item, const char *text) {
  return item.kind == PACK_STRING && item.number == strlen(text) && !memcmp(item.text, text, item.number);
}

static const struct {
  const char *key;
  size_t field;
} fields[] = {
    {".vgpr_count", offsetof(struct amd_kernel, vector_registers)},
    {".agpr_count", offsetof(struct amd_kernel, accumulator_registers)},
    {".sgpr_count", offsetof(struct amd_kernel, scalar_registers)},
    {".vgpr_spill_count", offsetof(struct amd_kernel, vector_spills)},
    {".sgpr_spill_count", offsetof(struct amd_kernel, scalar_spills)},
    {".group_segment_fixed_size", offsetof(struct amd_kernel, shared_bytes)},
    {".private_segment_fixed_size", offsetof(struct amd_kernel, private_bytes)},
    {".kernarg_segment_size", offsetof(struct amd_kernel, argument_bytes)},
    {".max_flat_workgroup_size", offsetof(struct amd_kernel, max_threads)},
    {".wavefront_size", offsetof(struct amd_kernel, warp_size)},
};

/* One kernel's map; true when it has the name. */
static bool read_kernel(struct reader *r, struct item map, const char *lowered, struct amd_kernel *kernel) {
  bool named = false;
  *kernel = (struct amd_kernel){0};
  for (uint64_t i = 0; i < map.number && !r->bad; i++) {
    struct item key = next(r), value = next(r);
    if (is_text(key, ".name")) named = is_text(value, lowered);
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
      if (value.kind == PACK_NUMBER && is_text(key, fields[f].key))
        memcpy((char *)kernel + fields[f].field, &value.number, sizeof value.number);
    skip_inside(r, value, 0);
  }
  return named && !r->bad;
}

static bool read_kernels(struct reader *r, struct item list, const char *lowered, struct amd_kernel *kernel) {
  for (uint64_t i = 0; list.kind == PACK_ARRAY && i < list.number && !r->bad; i++) {
    struct item map = next(r);
    if (map.kind != PACK_MAP)
      skip_inside(r, map, 0);
    else if (read_kernel(r, map, lowered, kernel))
      return true;
  }
  return false;
}

struct search {
  const char *lowered;
  struct amd_kernel *kernel;
  bool found;
};

static bool read_note(void *user, const char *owner, uint32_t type, const unsigned char *data, size_t bytes) {
  struct search *search = user;
  if (type != NOTE_TYPE || strcmp(owner, "AMDGPU") != 0) return true;
  struct reader r = {data, data + bytes, false};
  struct item map = next(&r);
  for (uint64_t i = 0; map.kind == PACK_MAP && i < map.number && !r.bad; i++) {
    struct item key = next(&r), value = next(&r);
    if (!is_text(key, "amdhsa.kernels")) {
      skip_inside(&r, value, 0);
      continue;
    }
    search->found = read_kernels(&r, value, search->lowered, search->kernel);
    break;
  }
  return false;
}

bool amd_metadata_kernel(const void *image, size_t bytes, const char *lowered, struct amd_kernel *kernel) {
  struct search search = {lowered, kernel, false};
  elf_notes(image, bytes, read_note, &search);
  return search.found;
}
