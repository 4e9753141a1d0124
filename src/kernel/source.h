/*
 * source.h - the whole text that the compiler gets for a user's source, and what is known of it before compiling:
 * which kernels are looked for, and where each one's marker stands.
 */
#ifndef LUHIP_KERNEL_SOURCE_H
#define LUHIP_KERNEL_SOURCE_H

#include "base/text.h"
#include "kernel/kernel.h"
#include "kernel/scan.h"

/* File names, as #line gives them, of the parts that are not the user's. */
#define SOURCE_PRELUDE "luhip-prelude"
#define SOURCE_DEFINES "luhip-defines"
#define SOURCE_NAMES "luhip-names"

/* A kernel to be looked for in the compiled image; its index is the marker's number. */
struct wanted {
  char *name;                       /* as users are told it: "ns::axpy", "scale<float, 4>" */
  char *expression;                 /* for the compiler: "ns::axpy", "scale<float,4>" */
  const struct scan_kernel *source; /* its definition, for names of parameters; NULL when it was not seen */
  bool optional;                    /* may be missing: it stands inside #if, or in a header that may not be used */
  bool c_linkage;
  int line;          /* marker: 1-based line of the user's source, or of the tail */
  int column, width; /* marker in the user's source: columns [column, column + width); width 0: tail */
};

/* A template's bounds in the user's source, as `wanted` has its marker. */
struct inserted {
  const struct scan_kernel *kernel;
  int line, column, width;
};

struct source {
  const char *program;
  const char *const *definitions; /* "NAME value" lines for #define */
  size_t ndefinitions;
  const char *text;   /* the user's */
  struct scan *scans; /* of the source first, then of headers and expanded text */
  size_t nscans;
  struct wanted *wanted;
  size_t nwanted;
  struct inserted *inserted; /* one for each template with bounds, in the order of their places */
  size_t ninserted;
  int ntried; /* lines of the tail that try one name expression each; as many lines of their markers follow */
  bool hidden;
  bool strict;
};

/* Scans the source and notes its kernels and the name expressions. The strings are borrowed. */
luhip_status source_start(struct source *source, const char *text, const luhip_compile_options *options,
                          const char *program, luhip_error **error);
/* Scans more text that the program may contain (a header, or the source with macros expanded), and wants the kernels
   that are new in it. Sets *grown when there were any. */
luhip_status source_scan_more(struct source *source, const char *text, size_t bytes, bool *grown, luhip_error **error);
/* Template kernels seen, for messages: "scale, copy"; the caller frees it, NULL when memory runs out. */
char *source_templates(const struct source *source);
/* The text for hipxCompile: prelude, definitions, the user's lines with markers, the tail. Sets each marker's place.
   NULL when memory runs out; the caller frees it. */
char *source_assemble(struct source *source);
/* Only definitions and the user's lines: for hipxPreprocess. */
char *source_plain(const struct source *source);
void source_free(struct source *source);

#endif
