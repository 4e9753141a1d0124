/*
 * kernel.h - compiled kernels as data: what a program holds, what each kernel's parameters are, and how a
 * caller's arguments become the bytes of a launch. Nothing here knows a device's state or loads a module.
 */
#ifndef LUHIP_KERNEL_KERNEL_H
#define LUHIP_KERNEL_KERNEL_H

#include "hip/api.h"
#include "kernel/markers.h"
#include "luhip.h"

enum access { ACCESS_VALUE = 0, ACCESS_IN = 1, ACCESS_OUT = 2, ACCESS_INOUT = 3 }; /* bits: 1 reads, 2 writes */

struct kernel_param {
  luhip_param shown;        /* name, type, kind, bytes: what the public API gives */
  enum access access;       /* ACCESS_VALUE for values */
  bool constant;            /* a pointer to const */
  enum signature_code code; /* of the value or the pointee */
  unsigned lanes;           /* 1, or 2..4 of a vector type */
  unsigned element_bytes;   /* sizeof the value or pointee; 0: void */
  unsigned offset;          /* in the packed arguments */
};

struct kernel_signature {
  char *name;    /* as the user asks for it: "axpy", "scale<float, 4>" */
  char *lowered; /* for hipModuleGetFunction */
  size_t nparams;
  struct kernel_param *params;
  size_t args_bytes; /* of the packed arguments, alignment 16 */
};

/* What a compile gives. Immutable, reference-counted, not bound to an open device: the caches hold these. */
struct kernel_image {
  int refs; /* atomic */
  void *code;
  size_t code_bytes;
  char *program; /* name in messages */
  char *log;     /* warnings */
  size_t nkernels;
  struct kernel_signature *kernels;
  char *templates;  /* "scale, copy": kernel templates of the source, for messages; "" when none */
  bool hidden;      /* macros may make kernels that were not found */
  uint64_t hash[2]; /* identity: source, options, arch, toolchain */
};

struct kernel_target {
  const struct hip_api *api;
  int device;       /* ordinal; the caller has made it current on this thread */
  const char *arch; /* hipxDeviceArch */
};

/* Compiles, or finds in the memory or disk cache. Thread-safe; takes no device lock. K1-K6. */
luhip_status kernel_compile(const struct kernel_target *target, const char *source,
                            const luhip_compile_options *options, struct kernel_image **image, luhip_error **error);
struct kernel_image *kernel_image_retain(struct kernel_image *image);
void kernel_image_release(struct kernel_image *image);
/* name NULL: the only kernel. White space in template arguments does not matter. E_NOT_FOUND lists what exists. */
luhip_status kernel_image_find(const struct kernel_image *image, const char *name, size_t *index, luhip_error **error);

/* A buffer argument of one launch: where its address goes and how the kernel uses it. A table of integers is one too:
   whoever launches gives it memory. */
struct kernel_use {
  luhip_buffer *buffer;    /* NULL: a table */
  const luhip_arg *table;  /* of at least one integer, each of which fits */
  struct allocation *made; /* of a table: where its integers are, once the server put them there; held */
  unsigned param;          /* index */
  unsigned offset;         /* into the packed arguments */
  enum access access;
};

/* Checks every argument against the signature and packs it: values converted to their declared type, 8 zero
   bytes where an address goes (uses tells which). `packed` has signature->args_bytes, rounded up to 16, and is aligned to that; `uses`
   holds nparams. The first wrong argument is the error: kernel, position, name, given, wanted.
   Buffers are checked for freedness, dtype and contiguity; device and claims are the server's. Allocates
   nothing on success. */
luhip_status kernel_pack(const struct kernel_signature *signature, const luhip_arg *args, size_t nargs,
                         unsigned char *packed, struct kernel_use *uses, size_t *nuses, luhip_error **error);
/* The same for one argument that is a number, a boolean or a buffer, without an error: false when it does not fit, and for
   every other. Of a buffer nothing is stored. */
bool kernel_pack_simple(const struct kernel_signature *signature, unsigned index, const luhip_arg *arg,
                        unsigned char *to);
/* A table argument: the packed layout of its integers, and the integers themselves, into layout.bytes at `words`. */
void kernel_table_layout(const struct kernel_signature *signature, const struct kernel_use *use, luhip_layout *layout);
void kernel_table_words(const struct kernel_signature *signature, const struct kernel_use *use, unsigned char *words);
/* "argument 3 ('x') of kernel 'axpy'": for errors that others raise about an argument. */
void kernel_describe_param(const struct kernel_signature *signature, unsigned param, char *text, size_t len);

#endif
