/*
 * cuda_headers.c - the headers that sources for NVIDIA GPUs include and NVRTC has not. What HIP and the standard library
 * declare is there already (luhip_cuda.h), so most are empty; 16-bit floats and groups are CUDA's under HIP's names. Where
 * CUDA's headers are not installed the 16-bit floats are the CPU device's.
 */
#include "hip/cuda.h"

#define COMPLEX(C, T, f)                                                                                               \
  "static inline " #C " make_" #C "(" #T " re, " #T " im) { " #C " z; z.x = re; z.y = im; return z; }\n"               \
  "static inline " #T " hipCreal" #f "(" #C " z) { return z.x; }\n"                                                    \
  "static inline " #T " hipCimag" #f "(" #C " z) { return z.y; }\n"                                                    \
  "static inline " #C " hipConj" #f "(" #C " z) { return make_" #C "(z.x, -z.y); }\n"                                  \
  "static inline " #T " hipCsqabs" #f "(" #C " z) { return z.x * z.x + z.y * z.y; }\n"                                 \
  "static inline " #T " hipCabs" #f "(" #C " z) { return hypot" #f "(z.x, z.y); }\n"                                   \
  "static inline " #C " hipCadd" #f "(" #C " a, " #C " b) { return make_" #C "(a.x + b.x, a.y + b.y); }\n"             \
  "static inline " #C " hipCsub" #f "(" #C " a, " #C " b) { return make_" #C "(a.x - b.x, a.y - b.y); }\n"             \
  "static inline " #C " hipCmul" #f "(" #C " a, " #C " b) {\n"                                                         \
  "  return make_" #C "(a.x * b.x - a.y * b.y, a.y * b.x + a.x * b.y);\n"                                              \
  "}\n"                                                                                                                \
  "static inline " #C " hipCdiv" #f "(" #C " a, " #C " b) {\n"                                                         \
  "  " #T " q = hipCsqabs" #f "(b);\n"                                                                                 \
  "  return make_" #C "((a.x * b.x + a.y * b.y) / q, (a.y * b.x - a.x * b.y) / q);\n"                                  \
  "}\n"                                                                                                                \
  "static inline " #C " hipCfma" #f "(" #C " a, " #C " b, " #C " c) { return hipCadd" #f "(hipCmul" #f                 \
  "(a, b), c); }\n"

static const char complex_text[] =
    "#ifndef LUHIP_COMPLEX_H\n#define LUHIP_COMPLEX_H\n"
    "typedef float2 hipFloatComplex, hipComplex;\ntypedef double2 hipDoubleComplex;\n" COMPLEX(hipFloatComplex, float,
                                                                                               f)
        COMPLEX(hipDoubleComplex, double, ) "#define make_hipComplex make_hipFloatComplex\n#endif\n";

static const char bfloat16_text[] =
    "#ifndef LUHIP_BF16_H\n#define LUHIP_BF16_H\n#include <cuda_bf16.h>\n"
    "typedef __nv_bfloat16 __hip_bfloat16, hip_bfloat16;\ntypedef __nv_bfloat162 __hip_bfloat162;\n#endif\n";

static const char math_text[] =
    "#ifndef LUHIP_HIP_CONSTANTS_H\n#define LUHIP_HIP_CONSTANTS_H\n"
    "#define HIP_INF_F (__builtin_inff())\n#define HIP_NAN_F (__builtin_nanf(\"\"))\n"
    "#define HIP_INF (__builtin_inf())\n#define HIP_NAN (__builtin_nan(\"\"))\n"
    "#define HIP_PI_F 3.141592654f\n#define HIP_PI 3.1415926535897931e+0\n#define HIP_PIO2_F 1.570796327f\n"
    "#define HIP_PIO2 1.5707963267948966e+0\n#define HIP_PIO4_F 0.785398163f\n#define HIP_PIO4 7.8539816339744828e-1\n"
    "#define HIP_SQRT_TWO_F 1.414213562f\n#define HIP_SQRT_TWO 1.4142135623730951e+0\n"
    "#define HIP_L2E_F 1.442695041f\n#define HIP_L2E 1.4426950408889634e+0\n"
    "#define HIP_LN2_F 0.693147181f\n#define HIP_LN2 6.9314718055994529e-1\n#endif\n";

#define OWN "#include \"luhip_cuda_half.h\"\n#include \"luhip_cpu/"
const struct cuda_header cuda_own_halves[] = {{"cuda_fp16.h", OWN "hip_fp16.h\"\n"},
                                              {"cuda_bf16.h", OWN "hip_bf16.h\"\n"},
                                              {"hip/hip_bf16.h", OWN "hip_bf16.h\"\n"},
                                              {"hip/hip_bfloat16.h", OWN "hip_bf16.h\"\n"},
                                              {"../luhip_math.h", "\n"},
                                              {"../luhip_atomics.h", "\n"},
                                              {"../luhip_vector_types.h", "\n"},
                                              {NULL, NULL}};

#define EMPTY "\n"
const struct cuda_header cuda_headers[] = {{"hip/hip_runtime.h", EMPTY},
                                           {"hip/hip_runtime_api.h", EMPTY},
                                           {"hip/hip_vector_types.h", EMPTY},
                                           {"hip/hip_common.h", EMPTY},
                                           {"hip/device_functions.h", EMPTY},
                                           {"hip/math_functions.h", EMPTY},
                                           {"hip/hip_fp16.h", "#include <cuda_fp16.h>\n"},
                                           {"hip/hip_bf16.h", bfloat16_text},
                                           {"hip/hip_bfloat16.h", bfloat16_text},
                                           {"hip/hip_complex.h", complex_text},
                                           {"hip/hip_math_constants.h", math_text},
                                           {"hip/hip_cooperative_groups.h", "#include <cooperative_groups.h>\n"},
                                           {"cuda_runtime.h", EMPTY},
                                           {"cuda_runtime_api.h", EMPTY},
                                           {"cuda.h", EMPTY},
                                           {"device_functions.h", EMPTY},
                                           {"device_launch_parameters.h", EMPTY},
                                           {"math_functions.h", EMPTY},
                                           {"vector_types.h", EMPTY},
                                           {"vector_functions.h", EMPTY},
                                           {"stdint.h", EMPTY},
                                           {"cstdint", EMPTY},
                                           {"inttypes.h", EMPTY},
                                           {"cinttypes", EMPTY},
                                           {"stddef.h", EMPTY},
                                           {"cstddef", EMPTY},
                                           {"stdbool.h", EMPTY},
                                           {"math.h", EMPTY},
                                           {"cmath", EMPTY},
                                           {"stdio.h", EMPTY},
                                           {"cstdio", EMPTY},
                                           {"stdlib.h", EMPTY},
                                           {"cstdlib", EMPTY},
                                           {"string.h", EMPTY},
                                           {"cstring", EMPTY},
                                           {"assert.h", EMPTY},
                                           {"cassert", EMPTY},
                                           {"limits.h", EMPTY},
                                           {"climits", EMPTY},
                                           {"float.h", EMPTY},
                                           {"cfloat", EMPTY},
                                           {"type_traits", EMPTY},
                                           {"utility", EMPTY},
                                           {"algorithm", EMPTY},
                                           {"functional", EMPTY},
                                           {"array", EMPTY},
                                           {"initializer_list", EMPTY},
                                           {"limits", EMPTY},
                                           {NULL, NULL}};
