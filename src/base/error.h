/*
 * error.h - making error objects. Reading them is luhip.h.
 *
 * An error is immutable once it was handed out; until then its maker may add to it. Creating one never
 * fails: out of host memory gives a static error of kind E_MEMORY.
 */
#ifndef LUHIP_BASE_ERROR_H
#define LUHIP_BASE_ERROR_H

#include "luhip.h"

#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
/* What is called when something went wrong: the way there is laid out of the way of what is right. */
#define RARELY __attribute__((cold))

/* A new error with one reference. The message is a sentence without a final full stop. */
luhip_error *error_new(luhip_status kind, const char *format, ...) PRINTF_LIKE(2, 3) RARELY;
/* Makes an error and stores it in *out, or drops it when out is NULL. Returns kind, so: return error_set(...). */
luhip_status error_set(luhip_error **out, luhip_status kind, const char *format, ...) PRINTF_LIKE(3, 4) RARELY;
/* Stores an error that exists, taking over the reference. Returns its kind. */
luhip_status error_give(luhip_error **out, luhip_error *error) RARELY;
/* A new error in front of `cause`, which it retains: what the cause knows of kernel, diagnostics and log is read
   through it. Out of host memory gives the cause itself, once more retained. */
luhip_error *error_wrap(luhip_error *cause, luhip_status kind, const char *format, ...) PRINTF_LIKE(3, 4) RARELY;

/* For the maker, before the error is shared. All copy what they are given. */
void error_add_failure(luhip_error *error, luhip_error *failure);
/* How many allocations carry a failure: shown in its full text, read by luhip_error_carriers. */
void error_set_carriers(luhip_error *error, size_t carriers);
void error_add_diagnostic(luhip_error *error, const char *file, int line, int column, const char *severity,
                          const char *text);
void error_set_log(luhip_error *error, const char *log);
/* What the full text shows in place of the log. */
void error_set_log_digest(luhip_error *error, const char *digest);
void error_set_where(luhip_error *error, const char *kernel, const int32_t block[3], const int32_t thread[3]);
/* Adds a skip record: the newest 16 are kept, all are counted. */
void error_add_skip(luhip_error *error, const char *text);
/* What luhip_error_skips reports as the total, where more were skipped than added here. */
void error_set_skip_total(luhip_error *error, uint64_t total);

#endif
