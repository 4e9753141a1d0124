/* <hip/hip_bfloat16.h>: all of it that device code can use is part of hip/hip_runtime.h. */
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
