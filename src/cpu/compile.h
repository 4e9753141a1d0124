/*
 * compile.h - the table's entries that compile.
 */
#ifndef LUHIP_CPU_COMPILE_H
#define LUHIP_CPU_COMPILE_H

#include "hip/api.h"

hip_error_t cpu_compile(const struct hip_compile_request *request, struct hip_compile_result *result);
hip_error_t cpu_compile_free(struct hip_compile_result *result);
hip_error_t cpu_preprocess(const struct hip_compile_request *request, struct hip_compile_result *result);
hip_error_t cpu_compile_identity(char *identity, size_t len, unsigned warp);

#endif
