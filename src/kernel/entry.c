/*
 * entry.c - the format of cache entries.
 *
 *   magic, version, key, checksum of all that follows, then: dependencies, program, log, templates, kernels, code.
 *
 * Numbers are u64 in the machine's order (an entry never travels: the key names the processor), strings and blobs a
 * length and the bytes. The checksum is tested before anything is read; the reader is bounds-checked all the same.
 */
#include "kernel/entry.h"
#include "kernel/image.h"
#include "kernel/signature.h"

#include <stdlib.h>
#include <string.h>

static const char magic[8] = {'l', 'u', 'h', 'i', 'p', 'k', 'c', '\n'};

enum { KEY_AT = 16, CHECKSUM_AT = KEY_AT + HASH_BYTES, BODY_AT = CHECKSUM_AT + HASH_BYTES };

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static void put_number(struct text *out, uint64_t number) {
  text_append(out, (const char *)&number, sizeof number);
}

static void put_bytes(struct text *out, const void *bytes, size_t length) {
  put_number(out, length);
  text_append(out, bytes, length);
}

static void put_string(struct text *out, const char *string) {
  put_bytes(out, string, strlen(string));
}

static void put_kernel(struct text *out, const struct kernel_signature *kernel) {
  put_string(out, kernel->name);
  put_string(out, kernel->lowered);
  put_number(out, kernel->args_bytes);
  put_number(out, kernel->nparams);
  for (size_t i = 0; i < kernel->nparams; i++) {
    const struct kernel_param *param = &kernel->params[i];
    put_string(out, param->shown.name);
    put_string(out, param->shown.type);
    put_number(out, param->shown.bytes);
    put_number(out, param->access);
    put_number(out, param->constant);
    put_number(out, param->code);
    put_number(out, param->lanes);
    put_number(out, param->element_bytes);
    put_number(out, param->offset);
  }
}

bool entry_encode(const uint8_t key[HASH_BYTES], const struct kernel_image *image,
                  const struct dependencies *dependencies, struct text *bytes) {
  uint8_t checksum[HASH_BYTES] = {0};
  text_append(bytes, magic, sizeof magic);
  put_number(bytes, ENTRY_VERSION);
  text_append(bytes, (const char *)key, HASH_BYTES);
  text_append(bytes, (const char *)checksum, HASH_BYTES);
  put_number(bytes, dependencies->n);
  for (size_t i = 0; i < dependencies->n; i++) {
    put_string(bytes, dependencies->list[i].path);
    put_number(bytes, dependencies->list[i].absent);
    put_bytes(bytes, dependencies->list[i].digest, HASH_BYTES);
  }
  put_string(bytes, image->program);
  put_string(bytes, image->log);
  put_string(bytes, image->templates);
  put_number(bytes, image->hidden);
  put_number(bytes, image->nkernels);
  for (size_t i = 0; i < image->nkernels; i++) put_kernel(bytes, &image->kernels[i]);
  put_bytes(bytes, image->code, image->code_bytes);
  if (bytes->failed) return false;
  hash_of(bytes->data + BODY_AT, bytes->length - BODY_AT, checksum);
  memcpy(bytes->data + CHECKSUM_AT, checksum, HASH_BYTES);
  return true;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

struct reader {
  const char *at, *end;
  bool failed;
};

static uint64_t get_number(struct reader *in) {
  uint64_t number = 0;
  if (in->failed || (size_t)(in->end - in->at) < sizeof number)
    in->failed = true;
  else {
    memcpy(&number, in->at, sizeof number);
    in->at += sizeof number;
  }
  return number;
}

/* A number that must be below a limit. */
static uint64_t get_below(struct reader *in, uint64_t limit) {
  uint64_t number = get_number(in);
  if (number >= limit) in->failed = true;
  return in->failed ? 0 : number;
}

/* A count of things that take at least one byte each, so that a wrong one cannot ask for all memory. */
static size_t get_count(struct reader *in) {
  return (size_t)get_below(in, (uint64_t)(in->end - in->at) + 1);
}

static const char *get_bytes(struct reader *in, size_t *length) {
  *length = get_count(in);
  if (in->failed || (size_t)(in->end - in->at) < *length) {
    in->failed = true;
    *length = 0;
    return NULL;
  }
  const char *bytes = in->at;
  in->at += *length;
  return bytes;
}

/* A new string; a NUL inside is no string. */
static char *get_string(struct reader *in) {
  size_t length;
  const char *bytes = get_bytes(in, &length);
  char *string = !bytes || memchr(bytes, '\0', length) ? NULL : strndup(bytes, length);
  if (!string) in->failed = true;
  return string;
}

static void get_dependencies(struct reader *in, struct dependencies *dependencies) {
  for (size_t n = get_count(in); n && !in->failed; n--) {
    char *path = get_string(in);
    bool absent = get_below(in, 2) != 0;
    size_t length;
    const char *digest = get_bytes(in, &length);
    if (!in->failed && length == HASH_BYTES)
      in->failed = !dependencies_add(dependencies, path, absent, (const uint8_t *)digest);
    else
      in->failed = true;
    free(path);
  }
}

static void get_param(struct reader *in, struct kernel_param *param, size_t args_bytes) {
  param->shown.name = get_string(in);
  param->shown.type = get_string(in);
  param->shown.bytes = (size_t)get_below(in, args_bytes + 1);
  signature_set_access(param, (enum access)get_below(in, ACCESS_INOUT + 1));
  param->constant = get_below(in, 2) != 0;
  param->code = (enum signature_code)get_below(in, SIGNATURE_CODE_COUNT);
  param->lanes = (unsigned)get_below(in, 5);
  param->element_bytes = (unsigned)get_below(in, UINT32_MAX);
  param->offset = (unsigned)get_below(in, args_bytes + 1);
  if (param->offset + param->shown.bytes > args_bytes) in->failed = true;
}

static void get_kernel(struct reader *in, struct kernel_image *image) {
  struct kernel_signature *kernel = image_add(image);
  if (!kernel) {
    in->failed = true;
    return;
  }
  kernel->name = get_string(in);
  kernel->lowered = get_string(in);
  kernel->args_bytes = (size_t)get_below(in, 1u << 28);
  size_t n = (size_t)get_below(in, LUHIP_MAX_ARGS + 1);
  kernel->params = calloc(n ? n : 1, sizeof *kernel->params);
  if (!kernel->params) in->failed = true;
  for (; kernel->params && kernel->nparams < n && !in->failed; kernel->nparams++)
    get_param(in, &kernel->params[kernel->nparams], kernel->args_bytes);
}

static bool is_whole(const uint8_t key[HASH_BYTES], const char *bytes, size_t length) {
  uint64_t version;
  uint8_t checksum[HASH_BYTES];
  if (length < BODY_AT || memcmp(bytes, magic, sizeof magic) != 0) return false;
  memcpy(&version, bytes + sizeof magic, sizeof version);
  hash_of(bytes + BODY_AT, length - BODY_AT, checksum);
  return version == ENTRY_VERSION && memcmp(bytes + KEY_AT, key, HASH_BYTES) == 0 &&
         memcmp(bytes + CHECKSUM_AT, checksum, HASH_BYTES) == 0;
}

struct kernel_image *entry_decode(const uint8_t key[HASH_BYTES], const void *bytes, size_t length,
                                  struct dependencies *dependencies) {
  *dependencies = (struct dependencies){0};
  struct kernel_image *image = is_whole(key, bytes, length) ? image_new() : NULL;
  if (!image) return NULL;
  struct reader in = {(const char *)bytes + BODY_AT, (const char *)bytes + length, false};
  memcpy(image->hash, key, sizeof image->hash);
  get_dependencies(&in, dependencies);
  image->program = get_string(&in);
  image->log = get_string(&in);
  image->templates = get_string(&in);
  image->hidden = get_below(&in, 2) != 0;
  for (size_t n = get_count(&in); n && !in.failed; n--) get_kernel(&in, image);
  const char *code = get_bytes(&in, &image->code_bytes);
  image->code = code ? malloc(image->code_bytes ? image->code_bytes : 1) : NULL;
  if (image->code) memcpy(image->code, code, image->code_bytes);
  if (image->code && !in.failed && in.at == in.end) return image;
  kernel_image_release(image);
  dependencies_free(dependencies);
  return NULL;
}
