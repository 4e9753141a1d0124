/*
 * rocm_headers.h - the header files that sources include for hiprtc.
 *
 * Most are empty, as hiprtc has their content built in; bfloat16 and complex numbers are not, and are our own.
 */
#ifndef LUHIP_HIP_ROCM_HEADERS_H
#define LUHIP_HIP_ROCM_HEADERS_H

#include <stddef.h>

extern const char *const rocm_header_names[];
extern const size_t rocm_header_count;

/* The text of rocm_header_names[index]; runtime is hipRuntimeGetVersion's. */
const char *rocm_header_text(size_t index, int runtime);

#endif
