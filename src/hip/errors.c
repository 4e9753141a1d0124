/*
 * errors.c - the names of the driver's error codes, and what they mean for the device.
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

bool hip_error_is_sticky(hip_error_t rc) {
  switch (rc) {
  case hip_ErrorIllegalAddress:
  case hip_ErrorLaunchFailure:
  case hip_ErrorLaunchTimeOut:
  case hip_ErrorAssert:
  case hip_ErrorContextIsDestroyed:
  case hip_ErrorInvalidContext:
    return true;
  default:
    return false;
  }
}
