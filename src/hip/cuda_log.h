/*
 * cuda_log.h - NVRTC's log in the form that the other compilers have.
 */
#ifndef LUHIP_HIP_CUDA_LOG_H
#define LUHIP_HIP_CUDA_LOG_H

#include "base/text.h"

/* Appends the log with "file(line): error: text" as "file:line:column: error: text", the column from the caret below the
   source line that follows, and quotes as clang has them; functions that do not fit a call as notes like clang's, and an
   #error as a plain error; without what is about NVRTC's own list of names. */
void cuda_log_rewrite(const char *log, struct text *out);

#endif
