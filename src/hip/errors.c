/*
 * errors.c - the names of the driver's error codes.
 */
#include "hip/api.h"

const char *hip_error_name(hip_error_t error) {
  switch ((int)error) {
#define X(name, value)                                                                                                 \
  case value:                                                                                                          \
    return "hip" #name;
    HIP_ERRORS(X)
#undef X
  default:
    return "hipErrorUnknown";
  }
}
