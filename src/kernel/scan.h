/*
 * scan.h - the __global__ functions that a source defines, found without understanding C++: their names, the
 * names of their parameters and where their bodies end. Types come from the compiler (markers.h).
 */
#ifndef LUHIP_KERNEL_SCAN_H
#define LUHIP_KERNEL_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#define SCAN_NO_END ((size_t)-1)

struct scan_param {
  char *name; /* "" where the source gives none */
  char *type; /* as written, white space made even; LUHIP_OUT and __restrict__ left out */
  bool out;   /* marked LUHIP_OUT */
  bool pack;  /* a parameter pack: stands for any number of parameters */
};

struct scan_kernel {
  char *name;   /* qualified: "ns::axpy"; unnamed and inline namespaces add nothing */
  char *local;  /* how the place right after the body names it: "axpy" */
  char *bounds; /* what __launch_bounds__ says; NULL: it has none, or it depends on #if */
  char *head;   /* "template <class T, int N>"; "" when it is none, or a specialisation */
  bool is_template;
  bool c_linkage;
  size_t end; /* offset right after the body's closing brace; SCAN_NO_END when no branch of #if closes it */
  size_t nparams;
  struct scan_param *params;
};

struct scan {
  size_t nkernels;
  struct scan_kernel *kernels;
  bool hidden; /* there may be kernels that were not found: macros make them, or __global__ stood in odd places */
  bool failed; /* out of host memory */
};

/* Never fails on what the text is. */
void scan_source(const char *text, size_t length, struct scan *scan);
void scan_free(struct scan *scan);

#endif
