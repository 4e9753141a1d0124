/* <cooperative_groups.h>: CUDA's name of HIP's header. */
#include <hip/hip_cooperative_groups.h>
