/*
 * arguments.c - a caller's arguments made into the bytes of a launch.
 *
 * What fits is decided by the declared type alone:
 *   integers   integers in range, and floats that are whole numbers in range; u64 also takes the negative integers,
 *              as the same bits (that is how Lua writes 2^63 and above)
 *   floats     integers and floats, rounded to nearest even; a finite number that would become infinite is out of
 *              range, infinities and NaN pass
 *   bool       true and false only: 0 would be true in Lua and false in C
 *   vectors    as many numbers as there are lanes, or the bytes of the whole
 *   structs    exactly their bytes
 *   pointers   a contiguous buffer of the pointee's dtype, or null. void, char and unsigned char take any dtype;
 *              float2 and double2 also c64 and c128; vectors and structs what divides into them, and structs no
 *              buffer of structs of another size; pointers i64 and u64 (addresses). A pointer to constant integers
 *              also takes a table of them, which must all fit (H1)
 *
 * This is on the way of every launch: one switch per argument, and text is made only for errors.
 */
#include "kernel/kernel.h"
#include "kernel/half.h"

#include "base/error.h"
#include "base/text.h"
#include "memory/buffer.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum fit { FIT, NO_TYPE, NO_WHOLE, NO_RANGE };

/* ---- scalars ---------------------------------------------------------------------------------------------------- */

/* An integer argument's value. is_wide: a whole float of 2^63 and above is taken as the bits of a u64. */
static enum fit get_integer(const luhip_arg *arg, bool is_wide, int64_t *value) {
  if (arg->tag == LUHIP_ARG_INT) {
    *value = arg->i;
    return FIT;
  }
  if (arg->tag != LUHIP_ARG_FLOAT) return NO_TYPE;
  static const double two_to_63 = 9223372036854775808.0;
  double f = arg->f;
  if (!(f == trunc(f)) || isinf(f)) return NO_WHOLE;
  if (f >= -two_to_63 && f < two_to_63)
    *value = (int64_t)f;
  else if (is_wide && f >= 0 && f < 2 * two_to_63)
    *value = (int64_t)(uint64_t)f;
  else
    return NO_RANGE;
  return FIT;
}

static enum fit put_integer(const luhip_arg *arg, int64_t low, int64_t high, unsigned bytes, unsigned char *to) {
  int64_t value;
  enum fit fit = get_integer(arg, false, &value);
  if (fit != FIT) return fit;
  if (value < low || value > high) return NO_RANGE;
  switch (bytes) { /* little-endian, as every device here */
  case 1:
    memcpy(to, &value, 1);
    break;
  case 2:
    memcpy(to, &value, 2);
    break;
  case 4:
    memcpy(to, &value, 4);
    break;
  default:
    memcpy(to, &value, 8);
    break;
  }
  return FIT;
}

static enum fit put_u64(const luhip_arg *arg, unsigned char *to) {
  int64_t value;
  enum fit fit = get_integer(arg, true, &value);
  if (fit == FIT) memcpy(to, &value, sizeof value);
  return fit;
}

static enum fit put_f64(const luhip_arg *arg, unsigned char *to) {
  double value = arg->tag == LUHIP_ARG_INT ? (double)arg->i : arg->f;
  memcpy(to, &value, sizeof value);
  return FIT;
}

static enum fit put_f32(const luhip_arg *arg, unsigned char *to) {
  float value = arg->tag == LUHIP_ARG_INT ? (float)arg->i : (float)arg->f;
  memcpy(to, &value, sizeof value);
  return isinf(value) && arg->tag == LUHIP_ARG_FLOAT && !isinf(arg->f) ? NO_RANGE : FIT;
}

/* An integer as a double that rounds to 16 bits as the integer does: bits that do not fit leave a trace in the last
   place. */
static double sticky(int64_t value) {
  uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
  if (magnitude >> 53) magnitude = (magnitude >> 12 | ((magnitude & 0xfff) != 0)) << 12;
  return value < 0 ? -(double)magnitude : (double)magnitude;
}

static enum fit put_16(const luhip_arg *arg, enum signature_code code, unsigned char *to) {
  double given = arg->tag == LUHIP_ARG_INT ? sticky(arg->i) : arg->f;
  uint16_t value = code == SIGNATURE_F16 ? half_from_double(given) : bfloat16_from_double(given);
  const uint16_t infinity = code == SIGNATURE_F16 ? 0x7c00 : 0x7f80;
  memcpy(to, &value, sizeof value);
  return (value & 0x7fff) == infinity && !isinf(given) ? NO_RANGE : FIT;
}

static enum fit put_scalar(enum signature_code code, const luhip_arg *arg, unsigned char *to) {
  bool number = arg->tag == LUHIP_ARG_INT || arg->tag == LUHIP_ARG_FLOAT;
  if (code == SIGNATURE_BOOL) {
    *to = arg->tag == LUHIP_ARG_BOOL && arg->i;
    return arg->tag == LUHIP_ARG_BOOL ? FIT : NO_TYPE;
  }
  if (!number) return NO_TYPE;
  switch (code) {
  case SIGNATURE_CHAR:
  case SIGNATURE_I8:
    return put_integer(arg, INT8_MIN, INT8_MAX, 1, to);
  case SIGNATURE_U8:
    return put_integer(arg, 0, UINT8_MAX, 1, to);
  case SIGNATURE_I16:
    return put_integer(arg, INT16_MIN, INT16_MAX, 2, to);
  case SIGNATURE_U16:
    return put_integer(arg, 0, UINT16_MAX, 2, to);
  case SIGNATURE_I32:
    return put_integer(arg, INT32_MIN, INT32_MAX, 4, to);
  case SIGNATURE_U32:
    return put_integer(arg, 0, UINT32_MAX, 4, to);
  case SIGNATURE_I64:
    return put_integer(arg, INT64_MIN, INT64_MAX, 8, to);
  case SIGNATURE_U64:
    return put_u64(arg, to);
  case SIGNATURE_F16:
  case SIGNATURE_BF16:
    return put_16(arg, code, to);
  case SIGNATURE_F32:
    return put_f32(arg, to);
  case SIGNATURE_F64:
    return put_f64(arg, to);
  default:
    return NO_TYPE;
  }
}

/* ---- what errors say -------------------------------------------------------------------------------------------- */

void kernel_describe_param(const struct kernel_signature *signature, unsigned param, char *text, size_t len) {
  const char *name = param < signature->nparams ? signature->params[param].shown.name : "";
  if (*name)
    snprintf(text, len, "argument %u ('%s') of kernel '%s'", param + 1, name, signature->name);
  else
    snprintf(text, len, "argument %u of kernel '%s'", param + 1, signature->name);
}

static const char *article(const char *word) {
  return strchr("aefio8", *word) ? "an" : "a";
}

static void say_given(const luhip_arg *arg, char *text, size_t len) {
  const char *dtype;
  switch (arg->tag) {
  case LUHIP_ARG_INT:
    snprintf(text, len, "%" PRId64, arg->i);
    break;
  case LUHIP_ARG_FLOAT:
    snprintf(text, len, "%.14g", arg->f);
    break;
  case LUHIP_ARG_BOOL:
    snprintf(text, len, "%s", arg->i ? "true" : "false");
    break;
  case LUHIP_ARG_BUFFER:
    if (arg->buffer->layout.record) {
      snprintf(text, len, "a buffer of structs of %zu bytes", arg->buffer->layout.record);
      break;
    }
    dtype = luhip_dtype_name(arg->buffer->layout.dtype);
    snprintf(text, len, "%s %s buffer", article(dtype), dtype);
    break;
  case LUHIP_ARG_NULL:
    snprintf(text, len, "a null pointer");
    break;
  case LUHIP_ARG_BYTES:
    snprintf(text, len, "a string of %zu bytes", arg->size);
    break;
  case LUHIP_ARG_LIST:
    snprintf(text, len, "a list of %zu (table)", arg->size);
    break;
  default:
    snprintf(text, len, "%s", arg->text ? arg->text : "something else");
    break;
  }
}

/* The range of an integer type; false for other codes. */
static bool range_text(enum signature_code code, const char **text) {
  switch (code) {
  case SIGNATURE_CHAR:
  case SIGNATURE_I8:
    *text = "-128 to 127";
    return true;
  case SIGNATURE_U8:
    *text = "0 to 255";
    return true;
  case SIGNATURE_I16:
    *text = "-32768 to 32767";
    return true;
  case SIGNATURE_U16:
    *text = "0 to 65535";
    return true;
  case SIGNATURE_I32:
    *text = "-2147483648 to 2147483647";
    return true;
  case SIGNATURE_U32:
    *text = "0 to 4294967295";
    return true;
  case SIGNATURE_I64:
    *text = "-2^63 to 2^63 - 1";
    return true;
  case SIGNATURE_U64:
    *text = "0 to 2^64 - 1";
    return true;
  default:
    return false;
  }
}

static void say_scalar(enum signature_code code, char *text, size_t len) {
  const char *range;
  if (range_text(code, &range))
    snprintf(text, len, "an integer from %s", range);
  else if (code == SIGNATURE_BOOL)
    snprintf(text, len, "true or false");
  else if (code == SIGNATURE_F16)
    snprintf(text, len, "a number of at most 65504");
  else if (code == SIGNATURE_F64)
    snprintf(text, len, "a number");
  else
    snprintf(text, len, "a number of at most 3.4e38");
}

/* The dtype that a pointee of this code is; false where any or none is. */
static inline bool dtype_of(enum signature_code code, luhip_dtype *dtype) {
  static const unsigned char own[SIGNATURE_CODE_COUNT] = {
      [SIGNATURE_BOOL] = 1 + LUHIP_BOOL, [SIGNATURE_CHAR] = 1 + LUHIP_I8, [SIGNATURE_I8] = 1 + LUHIP_I8,
      [SIGNATURE_U8] = 1 + LUHIP_U8,     [SIGNATURE_I16] = 1 + LUHIP_I16, [SIGNATURE_U16] = 1 + LUHIP_U16,
      [SIGNATURE_I32] = 1 + LUHIP_I32,   [SIGNATURE_U32] = 1 + LUHIP_U32, [SIGNATURE_I64] = 1 + LUHIP_I64,
      [SIGNATURE_U64] = 1 + LUHIP_U64,   [SIGNATURE_F16] = 1 + LUHIP_F16, [SIGNATURE_BF16] = 1 + LUHIP_BF16,
      [SIGNATURE_F32] = 1 + LUHIP_F32,   [SIGNATURE_F64] = 1 + LUHIP_F64, [SIGNATURE_POINTER] = 1 + LUHIP_U64,
  };
  *dtype = (luhip_dtype)(own[code] - 1);
  return own[code] != 0;
}

static bool takes_any_dtype(const struct kernel_param *param) {
  enum signature_code code = param->code;
  return code == SIGNATURE_VOID || code == SIGNATURE_OPAQUE ||
         (param->lanes == 1 && (code == SIGNATURE_CHAR || code == SIGNATURE_U8));
}

static void say_wanted(const struct kernel_param *param, char *text, size_t len) {
  luhip_dtype dtype;
  if (param->access != ACCESS_VALUE) {
    if (takes_any_dtype(param) || !dtype_of(param->code, &dtype))
      snprintf(text, len, "a buffer");
    else
      snprintf(text, len, "%s %s buffer", article(luhip_dtype_name(dtype)), luhip_dtype_name(dtype));
  } else if (param->lanes > 1)
    snprintf(text, len, "a list of %u numbers", param->lanes);
  else if (param->code == SIGNATURE_OPAQUE)
    snprintf(text, len, "a string of its %zu bytes (luhip.struct(...):pack makes it)", param->shown.bytes);
  else if (param->code == SIGNATURE_POINTER)
    snprintf(text, len, "a null pointer");
  else
    say_scalar(param->code, text, len);
}

/* What is being packed, for errors. */
struct place {
  const struct kernel_signature *signature;
  unsigned index;
  luhip_error **error;
};

/* "argument 3 ('n') of kernel 'axpy': given 2.5, wanted an integer from ... ('int')". `detail`, when not NULL,
   replaces what is wanted. */
static luhip_status refuse(const struct place *place, luhip_status kind, const luhip_arg *given, const char *detail) {
  const struct kernel_param *param = &place->signature->params[place->index];
  char where[256], what[256], wanted[128];
  kernel_describe_param(place->signature, place->index, where, sizeof where);
  say_given(given, what, sizeof what);
  say_wanted(param, wanted, sizeof wanted);
  return error_set(place->error, kind, "%s: given %s, wanted %s ('%s')", where, what, detail ? detail : wanted,
                   param->shown.type);
}

static luhip_status refuse_count(const struct kernel_signature *signature, size_t nargs, luhip_error **error) {
  struct text list = {0};
  for (size_t i = 0; i < signature->nparams; i++) {
    const luhip_param *shown = &signature->params[i].shown;
    text_printf(&list, "%s%s%s%s", i ? ", " : "", shown->type, *shown->name ? " " : "", shown->name);
  }
  luhip_status status =
      error_set(error, LUHIP_E_ARGUMENT, "kernel '%s' takes %zu argument%s (%s), given %zu", signature->name,
                signature->nparams, signature->nparams == 1 ? "" : "s", list.data ? list.data : "", nargs);
  text_free(&list);
  return status;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static luhip_status refuse_fit(const struct place *place, enum fit fit, const luhip_arg *arg) {
  return refuse(place, fit == NO_RANGE ? LUHIP_E_RANGE : LUHIP_E_TYPE, arg, NULL);
}

/* Three lanes may be stored as four; a lane's size is a power of two, so only three of them divide by 3. */
static size_t lane_bytes(const struct kernel_param *param) {
  unsigned stored = param->lanes == 3 && param->element_bytes % 3 ? 4 : param->lanes;
  return param->element_bytes / stored;
}

static luhip_status pack_lanes(const struct place *place, const struct kernel_param *param, const luhip_arg *arg,
                               unsigned char *to) {
  if (arg->size != param->lanes) return refuse(place, LUHIP_E_TYPE, arg, NULL);
  const size_t stride = lane_bytes(param);
  for (unsigned lane = 0; lane < param->lanes; lane++) {
    enum fit fit = put_scalar(param->code, &arg->list[lane], to + lane * stride);
    if (fit == FIT) continue;
    char wanted[128], scalar[96];
    say_scalar(param->code, scalar, sizeof scalar);
    snprintf(wanted, sizeof wanted, "%s as element %u", scalar, lane + 1);
    return refuse(place, fit == NO_RANGE ? LUHIP_E_RANGE : LUHIP_E_TYPE, &arg->list[lane], wanted);
  }
  return LUHIP_OK;
}

static luhip_status pack_whole(const struct place *place, const struct kernel_param *param, const luhip_arg *arg,
                               unsigned char *to) {
  if (arg->tag == LUHIP_ARG_LIST && param->lanes > 1) return pack_lanes(place, param, arg, to);
  if (arg->tag == LUHIP_ARG_NULL && param->code == SIGNATURE_POINTER) return LUHIP_OK;
  bool has_bytes = param->lanes > 1 || param->code == SIGNATURE_OPAQUE;
  if (!has_bytes || arg->tag != LUHIP_ARG_BYTES || arg->size != param->shown.bytes)
    return refuse(place, LUHIP_E_TYPE, arg, NULL);
  memcpy(to, arg->bytes, arg->size);
  return LUHIP_OK;
}

static luhip_status pack_value(const struct place *place, const struct kernel_param *param, const luhip_arg *arg,
                               unsigned char *to) {
  if (param->lanes > 1 || param->code == SIGNATURE_OPAQUE || param->code == SIGNATURE_POINTER)
    return pack_whole(place, param, arg, to);
  enum fit fit = put_scalar(param->code, arg, to);
  return fit == FIT ? LUHIP_OK : refuse_fit(place, fit, arg);
}

/* ---- pointers --------------------------------------------------------------------------------------------------- */

static bool dtype_fits(const struct kernel_param *param, luhip_dtype given) {
  luhip_dtype own;
  bool has_own = dtype_of(param->code, &own);
  if ((has_own && given == own) || takes_any_dtype(param)) return true;
  if (param->code == SIGNATURE_CHAR) return given == LUHIP_U8;
  if (param->code == SIGNATURE_POINTER) return given == LUHIP_I64;
  return param->lanes == 2 && ((own == LUHIP_F32 && given == LUHIP_C64) || (own == LUHIP_F64 && given == LUHIP_C128));
}

/* Alignment that the pointee asks for, a power of two; allocations themselves have 256. */
static size_t pointee_align(const struct kernel_param *param) {
  if (param->code == SIGNATURE_OPAQUE || param->code == SIGNATURE_VOID) return 1;
  size_t bytes = param->lanes == 3 ? lane_bytes(param) : param->element_bytes;
  return bytes > 16 ? 16 : bytes ? bytes : 1;
}

static luhip_status refuse_dtype(const struct place *place, const struct kernel_param *param, const luhip_arg *arg) {
  luhip_dtype dtype;
  char wanted[128];
  if (!dtype_of(param->code, &dtype)) return refuse(place, LUHIP_E_TYPE, arg, NULL);
  const char *name = luhip_dtype_name(dtype);
  snprintf(wanted, sizeof wanted, "%s %s buffer, or view(\"%s\") to take the bytes as they are,", article(name), name,
           name);
  return refuse(place, LUHIP_E_TYPE, arg, wanted);
}

static luhip_status check_buffer(const struct place *place, const struct kernel_param *param, const luhip_arg *arg) {
  const luhip_buffer *buffer = arg->buffer;
  const luhip_layout *layout = &buffer->layout;
  char wanted[128];
  if (__atomic_load_n(&buffer->freed, __ATOMIC_ACQUIRE)) {
    kernel_describe_param(place->signature, place->index, wanted, sizeof wanted);
    return error_set(place->error, LUHIP_E_FREED, "%s: the buffer was freed", wanted);
  }
  bool divides = param->lanes > 1 || param->code == SIGNATURE_OPAQUE;
  bool records = layout->record && divides; /* a struct of x and y passes for a vector */
  if (records && param->element_bytes && layout->record != param->element_bytes) {
    snprintf(wanted, sizeof wanted, "a buffer of structs of %u bytes", param->element_bytes);
    return refuse(place, LUHIP_E_TYPE, arg, wanted);
  }
  if (!records && !dtype_fits(param, layout->dtype)) return refuse_dtype(place, param, arg);
  if (!buffer->contiguous)
    return refuse(place, LUHIP_E_UNSUPPORTED_STRIDES, arg, "a contiguous one (contiguous() makes a packed copy)");
  if (divides && param->element_bytes && layout->bytes % param->element_bytes) {
    snprintf(wanted, sizeof wanted, "one whose %zu bytes are a multiple of %u", layout->bytes, param->element_bytes);
    return refuse(place, LUHIP_E_SHAPE, arg, wanted);
  }
  if (layout->offset & (pointee_align(param) - 1)) {
    snprintf(wanted, sizeof wanted, "one that begins at a multiple of %zu bytes", pointee_align(param));
    return refuse(place, LUHIP_E_ARGUMENT, arg, wanted);
  }
  return LUHIP_OK;
}

/* ---- tables of integers ----------------------------------------------------------------------------------------- */

static bool takes_table(const struct kernel_param *param) {
  bool integer = param->code == SIGNATURE_CHAR || (param->code >= SIGNATURE_I8 && param->code <= SIGNATURE_U64);
  return integer && param->lanes == 1 && param->constant && param->access == ACCESS_IN;
}

static luhip_status check_table(const struct place *place, const struct kernel_param *param, const luhip_arg *arg) {
  if (!takes_table(param)) return refuse(place, LUHIP_E_TYPE, arg, NULL);
  for (size_t i = 0; i < arg->size; i++) {
    unsigned char word[8];
    enum fit fit = put_scalar(param->code, &arg->list[i], word);
    if (fit == FIT) continue;
    char wanted[160], scalar[96];
    say_scalar(param->code, scalar, sizeof scalar);
    snprintf(wanted, sizeof wanted, "%s as element %zu", scalar, i + 1);
    return refuse(place, fit == NO_RANGE ? LUHIP_E_RANGE : LUHIP_E_TYPE, &arg->list[i], wanted);
  }
  return LUHIP_OK;
}

void kernel_table_layout(const struct kernel_signature *signature, const struct kernel_use *use, luhip_layout *layout) {
  const struct kernel_param *param = &signature->params[use->param];
  *layout = (luhip_layout){.ndim = 1,
                           .shape = {use->table->size},
                           .strides = {1},
                           .count = use->table->size,
                           .bytes = use->table->size * param->element_bytes};
  dtype_of(param->code, &layout->dtype);
}

void kernel_table_words(const struct kernel_signature *signature, const struct kernel_use *use, unsigned char *words) {
  const struct kernel_param *param = &signature->params[use->param];
  for (size_t i = 0; i < use->table->size; i++)
    put_scalar(param->code, &use->table->list[i], words + i * param->element_bytes);
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* The common cases among scalars, of which what fits is stored. False: put_scalar decides. */
static inline bool put_plain(const struct kernel_param *param, const luhip_arg *arg, unsigned char *to) {
  enum signature_code code = param->code;
  if (param->lanes != 1) return false;
  if (arg->tag == LUHIP_ARG_INT) {
    int64_t value = arg->i;
    bool narrow = (code == SIGNATURE_I32 && value == (int32_t)value) ||
                  (code == SIGNATURE_U32 && value == (int64_t)(uint32_t)value);
    if (narrow) memcpy(to, &value, 4);
    return narrow;
  }
  if (arg->tag != LUHIP_ARG_FLOAT || code != SIGNATURE_F32) return false;
  float value = (float)arg->f;
  memcpy(to, &value, sizeof value);
  return fabsf(value) <= FLT_MAX;
}

/* The common case: a buffer of exactly the pointee's dtype. False: check_buffer decides. */
static inline bool is_plain_fit(const struct kernel_param *param, const luhip_buffer *buffer) {
  luhip_dtype own;
  return param->lanes == 1 && dtype_of(param->code, &own) && buffer->layout.dtype == own && buffer->contiguous &&
         !(buffer->layout.offset & (param->element_bytes - 1)) && !__atomic_load_n(&buffer->freed, __ATOMIC_ACQUIRE);
}

/* All cases; makes the errors. */
static __attribute__((noinline)) luhip_status pack_one(const struct kernel_signature *signature, unsigned index,
                                                       const luhip_arg *arg, unsigned char *to, luhip_error **error) {
  const struct place at = {signature, index, error}, *place = &at;
  const struct kernel_param *param = &signature->params[index];
  if (param->access == ACCESS_VALUE) return pack_value(place, param, arg, to);
  if (arg->tag == LUHIP_ARG_BUFFER) return check_buffer(place, param, arg);
  if (arg->tag == LUHIP_ARG_LIST) return check_table(place, param, arg);
  return arg->tag == LUHIP_ARG_NULL ? LUHIP_OK : refuse(place, LUHIP_E_TYPE, arg, NULL);
}

static inline bool is_plain(const struct kernel_param *param, const luhip_arg *arg, unsigned char *to) {
  if (param->access == ACCESS_VALUE) return put_plain(param, arg, to);
  return arg->tag == LUHIP_ARG_BUFFER && is_plain_fit(param, arg->buffer);
}

bool kernel_pack_simple(const struct kernel_signature *signature, unsigned index, const luhip_arg *arg,
                        unsigned char *to) {
  const struct kernel_param *param = &signature->params[index];
  bool number = arg->tag == LUHIP_ARG_INT || arg->tag == LUHIP_ARG_FLOAT || arg->tag == LUHIP_ARG_BOOL;
  if (param->access == ACCESS_VALUE ? !number : arg->tag != LUHIP_ARG_BUFFER) return false;
  return is_plain(param, arg, to) || pack_one(signature, index, arg, to, NULL) == LUHIP_OK;
}

luhip_status kernel_pack(const struct kernel_signature *signature, const luhip_arg *args, size_t nargs,
                         unsigned char *packed, struct kernel_use *uses, size_t *nuses, luhip_error **error) {
  if (nargs != signature->nparams) return refuse_count(signature, nargs, error);
  for (size_t at = 0; at < signature->args_bytes; at += 16) memset(packed + at, 0, 16);
  struct kernel_use *use = uses;
  const struct kernel_param *param = signature->params;
  for (const luhip_arg *arg = args, *end = args + nargs; arg < end; arg++, param++) {
    unsigned index = (unsigned)(arg - args);
    if (!is_plain(param, arg, packed + param->offset)) {
      luhip_status status = pack_one(signature, index, arg, packed + param->offset, error);
      if (status != LUHIP_OK) return status;
    }
    if (param->access == ACCESS_VALUE) continue;
    bool is_buffer = arg->tag == LUHIP_ARG_BUFFER;
    if (!is_buffer && (arg->tag != LUHIP_ARG_LIST || !arg->size)) continue;
    use->buffer = is_buffer ? arg->buffer : NULL;
    use->table = is_buffer ? NULL : arg;
    use->made = NULL;
    use->param = index;
    use->offset = param->offset;
    use->access = param->access;
    use++;
  }
  *nuses = (size_t)(use - uses);
  return LUHIP_OK;
}
