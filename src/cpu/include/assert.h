/* <assert.h>: as the standard says, each inclusion takes NDEBUG as it is at that moment. */
#include <hip/hip_runtime.h>
#if !defined(LUHIP_CPU_SCAN)
#undef assert
#ifdef NDEBUG
#define assert(...) ((void)0)
#else
#define assert(...) LUHIP_ASSERT(__VA_ARGS__)
#endif
#endif
