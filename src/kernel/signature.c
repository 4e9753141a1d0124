/*
 * signature.c - parameters from a marker's words.
 *
 * The words come from an image that may have been damaged on its way, so everything is checked before it sizes
 * anything. Type texts are made from the words where these say it all (float, const int *, float4); types of the
 * user's own (structs, pointers to pointers) are shown as the source writes them, unless a template stands between.
 */
#include "kernel/signature.h"
#include "base/elf.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 6, MAX_ALIGN = 4096, MAX_VALUE_BYTES = 64 * 1024 };
enum { KIND_VALUE, KIND_TO_CONST, KIND_POINTER };

struct record {
  uint32_t bytes, align, kind, code, lanes, element_bytes;
};

static uint32_t word_at(const unsigned char *data, size_t index) {
  uint32_t word;
  memcpy(&word, data + 4 * index, sizeof word);
  return word;
}

static struct record record_at(const unsigned char *data, size_t param) {
  const size_t at = 2 + WORDS * param;
  return (struct record){word_at(data, at),     word_at(data, at + 1), word_at(data, at + 2),
                         word_at(data, at + 3), word_at(data, at + 4), word_at(data, at + 5)};
}

static bool is_sane(const struct record *r) {
  bool value = r->kind == KIND_VALUE;
  return r->kind <= KIND_POINTER && r->code < SIGNATURE_CODE_COUNT && r->lanes >= 1 && r->lanes <= 4 && r->bytes &&
         r->bytes <= MAX_VALUE_BYTES && r->align && r->align <= MAX_ALIGN && (r->align & (r->align - 1)) == 0 &&
         (value ? r->element_bytes == r->bytes : r->bytes == sizeof(void *));
}

static void fill_param(struct kernel_param *param, const struct record *r, size_t *end) {
  size_t offset = (*end + r->align - 1) & ~(size_t)(r->align - 1);
  *param = (struct kernel_param){.constant = r->kind == KIND_TO_CONST,
                                 .code = (enum signature_code)r->code,
                                 .lanes = r->lanes,
                                 .element_bytes = r->element_bytes,
                                 .offset = (unsigned)offset};
  param->shown.bytes = r->bytes;
  signature_set_access(param, r->kind == KIND_VALUE      ? ACCESS_VALUE
                              : r->kind == KIND_TO_CONST ? ACCESS_IN
                                                         : ACCESS_INOUT);
  *end = offset + r->bytes;
}

enum signature_state signature_read(const void *code, size_t bytes, size_t index, struct kernel_signature *signature) {
  char symbol[32];
  const unsigned char *data;
  size_t size;
  snprintf(symbol, sizeof symbol, "luhip_sig_%zu", index);
  if (!elf_symbol(code, bytes, symbol, &data, &size)) return SIGNATURE_ABSENT;
  if (size < 8) return SIGNATURE_DAMAGED;
  uint32_t version = word_at(data, 0), count = word_at(data, 1);
  if (version == 0) return SIGNATURE_ABSENT;
  if (version != SIGNATURE_VERSION) return SIGNATURE_DAMAGED;
  if ((size - 8) / (4 * WORDS) < count) return SIGNATURE_DAMAGED;
  if (count > LUHIP_MAX_ARGS) return SIGNATURE_TOO_MANY;
  for (size_t i = 0; i < count; i++) {
    struct record r = record_at(data, i);
    if (!is_sane(&r)) return SIGNATURE_DAMAGED;
  }
  struct kernel_param *params = calloc(count ? count : 1, sizeof *params);
  if (!params) return SIGNATURE_NO_MEMORY;
  size_t end = 0;
  for (size_t i = 0; i < count; i++) {
    struct record r = record_at(data, i);
    fill_param(&params[i], &r, &end);
  }
  signature->nparams = count;
  signature->params = params;
  signature->args_bytes = (end + 15) & ~(size_t)15;
  return SIGNATURE_GOOD;
}

/* ---- names and texts -------------------------------------------------------------------------------------------- */

static const char *code_text(enum signature_code code) {
  static const char *const texts[] = {
#define X(name, text) text,
      SIGNATURE_CODES(X)
#undef X
  };
  return texts[code];
}

static const char *vector_text(enum signature_code code) {
  switch (code) {
  case SIGNATURE_I8:
    return "char";
  case SIGNATURE_U8:
    return "uchar";
  case SIGNATURE_U16:
    return "ushort";
  case SIGNATURE_U32:
    return "uint";
  case SIGNATURE_I64:
    return "longlong";
  case SIGNATURE_U64:
    return "ulonglong";
  default:
    return code_text(code);
  }
}

static bool names_element(const struct kernel_param *param) {
  return param->code != SIGNATURE_OPAQUE && param->code != SIGNATURE_POINTER;
}

/* The type, as far as the words tell it; `written` is the source's text or NULL. */
static char *type_text(const struct kernel_param *param, const char *written) {
  struct text text = {0};
  if (!names_element(param) && written && *written) {
    text_add(&text, written);
    return text_take(&text);
  }
  if (param->constant) text_add(&text, "const ");
  if (param->lanes > 1)
    text_printf(&text, "%s%u", vector_text(param->code), param->lanes);
  else if (param->code == SIGNATURE_POINTER)
    text_add(&text, "void *");
  else if (param->code != SIGNATURE_OPAQUE)
    text_add(&text, code_text(param->code));
  else if (param->element_bytes)
    text_printf(&text, "struct of %u bytes", param->element_bytes);
  else
    text_add(&text, "incomplete type");
  if (param->access != ACCESS_VALUE) text_add(&text, param->code == SIGNATURE_POINTER ? "*" : " *");
  return text_take(&text);
}

/* The source's parameter for the compiler's i-th; a pack stands for all from its place on, and when the numbers
   still differ (#if inside the list) no name is better than a wrong one. */
static const struct scan_param *source_param(const struct scan_kernel *source, size_t count, size_t i) {
  if (!source) return NULL;
  size_t n = source->nparams;
  bool pack = n && source->params[n - 1].pack;
  if (pack && count + 1 >= n) return &source->params[i < n - 1 ? i : n - 1];
  return n == count ? &source->params[i] : NULL;
}

bool signature_name_params(struct kernel_signature *signature, const struct scan_kernel *source) {
  for (size_t i = 0; i < signature->nparams; i++) {
    struct kernel_param *param = &signature->params[i];
    const struct scan_param *from = source_param(source, signature->nparams, i);
    param->shown.type = type_text(param, from && !source->is_template ? from->type : NULL);
    param->shown.name = strdup(from ? from->name : "");
    if (!param->shown.type || !param->shown.name) return false;
    if (from && from->out && param->access == ACCESS_INOUT) signature_set_access(param, ACCESS_OUT);
  }
  return true;
}

void signature_set_access(struct kernel_param *param, enum access access) {
  static const char *const kinds[] = {"value", "in", "out", "inout"};
  param->access = access;
  param->shown.kind = kinds[access];
}

void signature_free(struct kernel_signature *signature) {
  for (size_t i = 0; i < signature->nparams; i++) {
    free((char *)signature->params[i].shown.name);
    free((char *)signature->params[i].shown.type);
  }
  free(signature->params);
  free(signature->name);
  free(signature->lowered);
  *signature = (struct kernel_signature){0};
}
