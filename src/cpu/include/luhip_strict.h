/*
 * luhip_strict.h - takes away what the oldest hiprtc (HIP 5.2) has not, so that a source which compiles here compiles
 * there. Read before the user's first line when a compile is strict.
 *
 * Macros are undefined. Functions and types get a name that nobody declares: the error then says not_in_hiprtc_ and the
 * name, and a source that brings its own of that name still compiles. Of std there is only what hiprtc has.
 */
#ifndef LUHIP_STRICT_H
#define LUHIP_STRICT_H
#if !defined(LUHIP_CPU_SCAN)
#define LUHIP_COOPERATIVE_GROUPS_H /* nothing to be included */

namespace std_of_hiprtc {
using std::enable_if;
using std::false_type;
using std::int32_t;
using std::int64_t;
using std::integral_constant;
using std::is_arithmetic;
using std::is_convertible;
using std::is_floating_point;
using std::is_integral;
using std::is_same;
using std::is_scalar;
using std::is_signed;
using std::size_t;
using std::true_type;
using std::uint32_t;
using std::uint64_t;
} // namespace std_of_hiprtc
#define std std_of_hiprtc

#undef __HIP_PLATFORM_AMD__
#undef NULL
#undef assert
#undef offsetof
#undef INFINITY
#undef NAN
#undef HUGE_VAL
#undef HUGE_VALF
#undef CHAR_BIT
#undef SCHAR_MIN
#undef SCHAR_MAX
#undef UCHAR_MAX
#undef CHAR_MIN
#undef CHAR_MAX
#undef SHRT_MIN
#undef SHRT_MAX
#undef USHRT_MAX
#undef INT_MIN
#undef INT_MAX
#undef UINT_MAX
#undef LONG_MIN
#undef LONG_MAX
#undef ULONG_MAX
#undef LLONG_MIN
#undef LLONG_MAX
#undef ULLONG_MAX
#undef INT8_MIN
#undef INT8_MAX
#undef UINT8_MAX
#undef INT16_MIN
#undef INT16_MAX
#undef UINT16_MAX
#undef INT32_MIN
#undef INT32_MAX
#undef UINT32_MAX
#undef INT64_MIN
#undef INT64_MAX
#undef UINT64_MAX
#undef INTPTR_MIN
#undef INTPTR_MAX
#undef UINTPTR_MAX
#undef INTMAX_MIN
#undef INTMAX_MAX
#undef UINTMAX_MAX
#undef PTRDIFF_MIN
#undef PTRDIFF_MAX
#undef SIZE_MAX
#undef INT8_C
#undef INT16_C
#undef INT32_C
#undef INT64_C
#undef UINT8_C
#undef UINT16_C
#undef UINT32_C
#undef UINT64_C
#undef FLT_RADIX
#undef FLT_MANT_DIG
#undef FLT_DIG
#undef FLT_DECIMAL_DIG
#undef FLT_MIN_EXP
#undef FLT_MAX_EXP
#undef FLT_MIN_10_EXP
#undef FLT_MAX_10_EXP
#undef FLT_MAX
#undef FLT_MIN
#undef FLT_EPSILON
#undef FLT_TRUE_MIN
#undef DBL_MANT_DIG
#undef DBL_DIG
#undef DBL_DECIMAL_DIG
#undef DBL_MIN_EXP
#undef DBL_MAX_EXP
#undef DBL_MIN_10_EXP
#undef DBL_MAX_10_EXP
#undef DBL_MAX
#undef DBL_MIN
#undef DBL_EPSILON
#undef DBL_TRUE_MIN
#undef M_E
#undef M_LOG2E
#undef M_LOG10E
#undef M_LN2
#undef M_LN10
#undef M_PI
#undef M_PI_2
#undef M_PI_4
#undef M_1_PI
#undef M_2_PI
#undef M_2_SQRTPI
#undef M_SQRT2
#undef M_SQRT1_2
#undef hipThreadIdx_x
#undef hipThreadIdx_y
#undef hipThreadIdx_z
#undef hipBlockIdx_x
#undef hipBlockIdx_y
#undef hipBlockIdx_z
#undef hipBlockDim_x
#undef hipBlockDim_y
#undef hipBlockDim_z
#undef hipGridDim_x
#undef hipGridDim_y
#undef hipGridDim_z

#define __shfl_sync not_in_hiprtc___shfl_sync
#define __shfl_up_sync not_in_hiprtc___shfl_up_sync
#define __shfl_down_sync not_in_hiprtc___shfl_down_sync
#define __shfl_xor_sync not_in_hiprtc___shfl_xor_sync
#define __ballot_sync not_in_hiprtc___ballot_sync
#define __any_sync not_in_hiprtc___any_sync
#define __all_sync not_in_hiprtc___all_sync
#define __activemask not_in_hiprtc___activemask
#define __syncwarp not_in_hiprtc___syncwarp
#define int8_t not_in_hiprtc_int8_t
#define uint8_t not_in_hiprtc_uint8_t
#define int16_t not_in_hiprtc_int16_t
#define uint16_t not_in_hiprtc_uint16_t
#define ptrdiff_t not_in_hiprtc_ptrdiff_t
#define intptr_t not_in_hiprtc_intptr_t
#define uintptr_t not_in_hiprtc_uintptr_t
#define intmax_t not_in_hiprtc_intmax_t
#define uintmax_t not_in_hiprtc_uintmax_t
#define ssize_t not_in_hiprtc_ssize_t
#define int_least8_t not_in_hiprtc_int_least8_t
#define int_least16_t not_in_hiprtc_int_least16_t
#define int_least32_t not_in_hiprtc_int_least32_t
#define int_least64_t not_in_hiprtc_int_least64_t
#define uint_least8_t not_in_hiprtc_uint_least8_t
#define uint_least16_t not_in_hiprtc_uint_least16_t
#define uint_least32_t not_in_hiprtc_uint_least32_t
#define uint_least64_t not_in_hiprtc_uint_least64_t
#define int_fast8_t not_in_hiprtc_int_fast8_t
#define int_fast16_t not_in_hiprtc_int_fast16_t
#define int_fast32_t not_in_hiprtc_int_fast32_t
#define int_fast64_t not_in_hiprtc_int_fast64_t
#define uint_fast8_t not_in_hiprtc_uint_fast8_t
#define uint_fast16_t not_in_hiprtc_uint_fast16_t
#define uint_fast32_t not_in_hiprtc_uint_fast32_t
#define uint_fast64_t not_in_hiprtc_uint_fast64_t
#define longlong not_in_hiprtc_longlong
#define ulonglong not_in_hiprtc_ulonglong
#define memmove not_in_hiprtc_memmove
#define memcmp not_in_hiprtc_memcmp
#define __trap not_in_hiprtc___trap
#define __nanosleep not_in_hiprtc___nanosleep
#define __dp4a not_in_hiprtc___dp4a
#define __ldcs not_in_hiprtc___ldcs
#define __ldcg not_in_hiprtc___ldcg
#define __fns not_in_hiprtc___fns
#define umin not_in_hiprtc_umin
#define umax not_in_hiprtc_umax
#define llmin not_in_hiprtc_llmin
#define llmax not_in_hiprtc_llmax
#define ullmin not_in_hiprtc_ullmin
#define ullmax not_in_hiprtc_ullmax
#define __hmax not_in_hiprtc___hmax
#define __hmin not_in_hiprtc___hmin
#define atomicAdd_block not_in_hiprtc_atomicAdd_block

/* Until their own header is included. */
#define __hip_bfloat16 not_in_hiprtc___hip_bfloat16
#define hip_bfloat16 not_in_hiprtc_hip_bfloat16
#define __nv_bfloat16 not_in_hiprtc___nv_bfloat16
#define nv_bfloat16 not_in_hiprtc_nv_bfloat16
#define __float2bfloat16 not_in_hiprtc___float2bfloat16
#define __bfloat162float not_in_hiprtc___bfloat162float
#define __bfloat16_as_ushort not_in_hiprtc___bfloat16_as_ushort
#define __ushort_as_bfloat16 not_in_hiprtc___ushort_as_bfloat16
#define hipFloatComplex not_in_hiprtc_hipFloatComplex
#define hipDoubleComplex not_in_hiprtc_hipDoubleComplex
#define hipComplex not_in_hiprtc_hipComplex
#define make_hipFloatComplex not_in_hiprtc_make_hipFloatComplex
#define make_hipDoubleComplex not_in_hiprtc_make_hipDoubleComplex
#define make_hipComplex not_in_hiprtc_make_hipComplex
#define hipComplexFloatToDouble not_in_hiprtc_hipComplexFloatToDouble
#define hipComplexDoubleToFloat not_in_hiprtc_hipComplexDoubleToFloat
#define hipCrealf not_in_hiprtc_hipCrealf
#define hipCreal not_in_hiprtc_hipCreal
#define hipCimagf not_in_hiprtc_hipCimagf
#define hipCimag not_in_hiprtc_hipCimag
#define hipConjf not_in_hiprtc_hipConjf
#define hipConj not_in_hiprtc_hipConj
#define hipCsqabsf not_in_hiprtc_hipCsqabsf
#define hipCsqabs not_in_hiprtc_hipCsqabs
#define hipCabsf not_in_hiprtc_hipCabsf
#define hipCabs not_in_hiprtc_hipCabs
#define hipCaddf not_in_hiprtc_hipCaddf
#define hipCadd not_in_hiprtc_hipCadd
#define hipCsubf not_in_hiprtc_hipCsubf
#define hipCsub not_in_hiprtc_hipCsub
#define hipCmulf not_in_hiprtc_hipCmulf
#define hipCmul not_in_hiprtc_hipCmul
#define hipCdivf not_in_hiprtc_hipCdivf
#define hipCdiv not_in_hiprtc_hipCdiv
#define hipCfmaf not_in_hiprtc_hipCfmaf
#define hipCfma not_in_hiprtc_hipCfma
#define __hip_bfloat162 not_in_hiprtc___hip_bfloat162
#define __nv_bfloat162 not_in_hiprtc___nv_bfloat162
#endif
#endif
