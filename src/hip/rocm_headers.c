/*
 * rocm_headers.c - see rocm_headers.h.
 *
 * hiprtc carries the HIP device library built in, and the header files of the same content would define it again: so
 * empty ones of those names are supplied. What HIP 5.2 has not, though it has the header files, is written here
 * anew: bfloat16 and complex numbers, with the functions that the CPU device has too. Later versions are not known to
 * lack them.
 */
#include "hip/rocm_headers.h"

#include <string.h>

const char *const rocm_header_names[] = {"hip/hip_runtime.h",
                                         "hip/hip_runtime_api.h",
                                         "hip/hip_fp16.h",
                                         "hip/hip_vector_types.h",
                                         "hip/hip_common.h",
                                         "hip/device_functions.h",
                                         "hip/math_functions.h",
                                         "hip/hip_complex.h",
                                         "hip/hip_cooperative_groups.h",
                                         "hip/hip_bfloat16.h",
                                         "hip/hip_bf16.h",
                                         "cuda_runtime.h",
                                         "cuda_fp16.h",
                                         "stdint.h",
                                         "cstdint",
                                         "stddef.h",
                                         "cstddef",
                                         "math.h",
                                         "cmath",
                                         "stdio.h",
                                         "cstdio",
                                         "stdlib.h",
                                         "cstdlib",
                                         "string.h",
                                         "cstring",
                                         "limits.h",
                                         "climits",
                                         "float.h",
                                         "cfloat",
                                         "type_traits",
                                         "utility",
                                         "algorithm",
                                         "limits",
                                         "inttypes.h",
                                         "cinttypes",
                                         "array",
                                         "functional",
                                         "initializer_list",
                                         "math_constants.h",
                                         "math_functions.h",
                                         "hip/hip_math_constants.h",
                                         "cuda.h",
                                         "cuda_runtime_api.h",
                                         "cuda_bf16.h",
                                         "cuComplex.h",
                                         "cooperative_groups.h",
                                         "device_functions.h",
                                         "device_launch_parameters.h",
                                         "vector_types.h",
                                         "vector_functions.h"};
const size_t rocm_header_count = sizeof rocm_header_names / sizeof *rocm_header_names;

enum { HIP_5_3 = 50300000 };

/* clang-format off */
static const char bf16_text[] =
  "#ifndef LUHIP_ROCM_BF16\n"
  "#define LUHIP_ROCM_BF16\n"
  "__device__ inline unsigned short luhip_bf16_round(float f) {\n"
  "  unsigned bits = __float_as_uint(f);\n"
  "  if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)(bits >> 16 | 0x40u);\n"
  "  return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);\n"
  "}\n"
  "__device__ inline float luhip_bf16_widen(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }\n"
  "struct hip_bfloat16 {\n"
  "  unsigned short data;\n"
  "  hip_bfloat16() = default;\n"
  "  __device__ explicit hip_bfloat16(float f) : data(luhip_bf16_round(f)) {}\n"
  "  __device__ operator float() const { return luhip_bf16_widen(data); }\n"
  "  __device__ static hip_bfloat16 round_to_bfloat16(float f) { return hip_bfloat16(f); }\n"
  "};\n"
  "struct __hip_bfloat16_raw { unsigned short x; };\n"
  "struct __hip_bfloat16 {\n"
  "  union { unsigned short data; unsigned short __x; };\n"
  "  __hip_bfloat16() = default;\n"
  "  __device__ __hip_bfloat16(float f) : data(luhip_bf16_round(f)) {}\n"
  "  __device__ __hip_bfloat16(int i) : data(luhip_bf16_round((float)i)) {}\n"
  "  __device__ __hip_bfloat16(const __hip_bfloat16_raw &raw) : data(raw.x) {}\n"
  "  __device__ operator float() const { return luhip_bf16_widen(data); }\n"
  "  __device__ operator __hip_bfloat16_raw() const { return __hip_bfloat16_raw{data}; }\n"
  "};\n"
  "typedef __hip_bfloat16 __nv_bfloat16, nv_bfloat16;\n"
  "#define LUHIP_BF16(T) \\\n"
  "  __device__ inline T operator+(T a, T b) { return T(float(a) + float(b)); } \\\n"
  "  __device__ inline T operator-(T a, T b) { return T(float(a) - float(b)); } \\\n"
  "  __device__ inline T operator*(T a, T b) { return T(float(a) * float(b)); } \\\n"
  "  __device__ inline T operator/(T a, T b) { return T(float(a) / float(b)); } \\\n"
  "  __device__ inline T operator-(T a) { return a.data ^= 0x8000, a; } \\\n"
  "  __device__ inline T &operator+=(T &a, T b) { return a = a + b; } \\\n"
  "  __device__ inline T &operator-=(T &a, T b) { return a = a - b; } \\\n"
  "  __device__ inline T &operator*=(T &a, T b) { return a = a * b; } \\\n"
  "  __device__ inline T &operator/=(T &a, T b) { return a = a / b; } \\\n"
  "  __device__ inline bool operator==(T a, T b) { return float(a) == float(b); } \\\n"
  "  __device__ inline bool operator!=(T a, T b) { return float(a) != float(b); } \\\n"
  "  __device__ inline bool operator<(T a, T b) { return float(a) < float(b); } \\\n"
  "  __device__ inline bool operator>(T a, T b) { return float(a) > float(b); } \\\n"
  "  __device__ inline bool operator<=(T a, T b) { return float(a) <= float(b); } \\\n"
  "  __device__ inline bool operator>=(T a, T b) { return float(a) >= float(b); }\n"
  "LUHIP_BF16(hip_bfloat16)\n"
  "LUHIP_BF16(__hip_bfloat16)\n"
  "#undef LUHIP_BF16\n"
  "__device__ inline __hip_bfloat16 __float2bfloat16(float f) { return f; }\n"
  "__device__ inline float __bfloat162float(__hip_bfloat16 a) { return a; }\n"
  "__device__ inline unsigned short __bfloat16_as_ushort(__hip_bfloat16 a) { return a.data; }\n"
  "__device__ inline __hip_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __hip_bfloat16_raw{bits}; }\n"
  "#endif\n";

static const char complex_text[] =
  "#ifndef LUHIP_ROCM_COMPLEX\n"
  "#define LUHIP_ROCM_COMPLEX\n"
  "typedef float2 hipFloatComplex, hipComplex;\n"
  "typedef double2 hipDoubleComplex;\n"
  "#define LUHIP_COMPLEX(C, T, f) \\\n"
  "  __device__ inline C make_##C(T re, T im) { C z; z.x = re; z.y = im; return z; } \\\n"
  "  __device__ inline T hipCreal##f(C z) { return z.x; } \\\n"
  "  __device__ inline T hipCimag##f(C z) { return z.y; } \\\n"
  "  __device__ inline C hipConj##f(C z) { return make_##C(z.x, -z.y); } \\\n"
  "  __device__ inline T hipCsqabs##f(C z) { return z.x * z.x + z.y * z.y; } \\\n"
  "  __device__ inline T hipCabs##f(C z) { return hypot##f(z.x, z.y); } \\\n"
  "  __device__ inline C hipCadd##f(C a, C b) { return make_##C(a.x + b.x, a.y + b.y); } \\\n"
  "  __device__ inline C hipCsub##f(C a, C b) { return make_##C(a.x - b.x, a.y - b.y); } \\\n"
  "  __device__ inline C hipCmul##f(C a, C b) { return make_##C(a.x * b.x - a.y * b.y, a.y * b.x + a.x * b.y); } \\\n"
  "  __device__ inline C hipCdiv##f(C a, C b) { \\\n"
  "    T q = hipCsqabs##f(b); \\\n"
  "    return make_##C((a.x * b.x + a.y * b.y) / q, (a.y * b.x - a.x * b.y) / q); \\\n"
  "  } \\\n"
  "  __device__ inline C hipCfma##f(C a, C b, C c) { \\\n"
  "    return make_##C(a.x * b.x - a.y * b.y + c.x, a.y * b.x + a.x * b.y + c.y); \\\n"
  "  }\n"
  "LUHIP_COMPLEX(hipFloatComplex, float, f)\n"
  "LUHIP_COMPLEX(hipDoubleComplex, double, )\n"
  "#undef LUHIP_COMPLEX\n"
  "__device__ inline hipComplex make_hipComplex(float re, float im) { return make_hipFloatComplex(re, im); }\n"
  "__device__ inline hipDoubleComplex hipComplexFloatToDouble(hipFloatComplex z) { return make_hipDoubleComplex(z.x, z.y); }\n"
  "__device__ inline hipFloatComplex hipComplexDoubleToFloat(hipDoubleComplex z) { return make_hipFloatComplex(z.x, z.y); }\n"
  "#endif\n";
/* clang-format on */

static int is_one_of(const char *name, const char *const *list) {
  for (; *list; list++)
    if (!strcmp(name, *list)) return 1;
  return 0;
}

const char *rocm_header_text(size_t index, int runtime) {
  static const char *const bf16[] = {"hip/hip_bf16.h", "hip/hip_bfloat16.h", "cuda_bf16.h", NULL};
  static const char *const complex_numbers[] = {"hip/hip_complex.h", "cuComplex.h", NULL};
  const char *name = rocm_header_names[index];
  if (runtime < HIP_5_3 && is_one_of(name, bf16)) return bf16_text;
  if (runtime < HIP_5_3 && is_one_of(name, complex_numbers)) return complex_text;
  return "\n";
}
