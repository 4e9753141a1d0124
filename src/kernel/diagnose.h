/*
 * diagnose.h - a compiler's log made into a compile error: parsed lines in the user's terms.
 */
#ifndef LUHIP_KERNEL_DIAGNOSE_H
#define LUHIP_KERNEL_DIAGNOSE_H

#include "kernel/setup.h"
#include "kernel/source.h"

/* One parsed line. */
struct diagnostic {
  char *file; /* "" when the line names none */
  int line, column;
  int name;          /* in our text: line of the names tail, or minus a marker's column; 0: the user's */
  int severity;      /* 0 error, 1 warning, 2 note */
  bool fatal;        /* the compiler's own word, as for an #include that is not found */
  bool alone;        /* shown without the lines that the compiler quotes below it */
  bool again;        /* said by a marker too, in our words */
  size_t begin, end; /* its part of the log: what leads to it, the line, what is quoted */
  char *text;
};

struct diagnostics {
  struct diagnostic *list;
  size_t n;
};

/* Parses "f:l:c: error: t" (clang, gcc, hiprtc) and "f(l): error: t" (NVRTC). False when memory runs out. */
bool diagnostics_parse(const char *log, struct diagnostics *diagnostics);
void diagnostics_free(struct diagnostics *diagnostics);

/* The log without the markers that compilers quote along with the user's lines. The caller frees it. */
char *diagnose_clean_log(const struct source *source, const char *log);
/* The E_COMPILE error for a failed compile: first errors first, errors about markers told as what they mean. */
luhip_status diagnose_failure(const struct setup *setup, const struct source *source, const char *log,
                              luhip_error **error);

#endif
