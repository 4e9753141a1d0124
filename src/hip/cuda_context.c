/*
 * cuda_context.c - the calling thread's device, its context, and the driver's errors.
 *
 * A device is used through its primary context, retained at the first use and kept to the end of the process, as other
 * users of CUDA in the process share it. The driver keeps a current context for each thread; what this thread has bound
 * is remembered, so that hipSetDevice, which the server calls at each entry, costs two loads when nothing changed.
 *
 * After a fault (an illegal address, a failed assertion ...) the driver answers every call on the context with the
 * same error. Such a device is marked as lost. When no stream of it is left nobody can use it any more, and then the
 * next stream created on it resets the primary context first. The driver says whether that helped; those of CUDA 13
 * answer the same error to all that the process still asks of the device, so there only a new process does.
 */
#include "hip/cuda.h"

#include <pthread.h>

static struct device {
  cu_context context; /* atomic; NULL before the first use */
  unsigned epoch;     /* atomic; grows when the context is another one */
  int streams;        /* atomic */
  int lost;           /* atomic */
} devices[CUDA_MAX_DEVICES];
static int device_count;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local int current;
static _Thread_local int bound = -1; /* the device whose context is current to this thread */
static _Thread_local unsigned bound_epoch;
static _Thread_local hip_error_t last_error;

/* ---- errors -------------------------------------------------------------------------------------------------- */

/* X(CUDA's number, HIP's name). What is not here is hip_ErrorUnknown. */
#define CUDA_ERRORS(X)                                                                                                 \
  X(0, Success)                                                                                                        \
  X(1, ErrorInvalidValue)                                                                                              \
  X(2, ErrorOutOfMemory)                                                                                               \
  X(3, ErrorNotInitialized)                                                                                            \
  X(4, ErrorDeinitialized)                                                                                             \
  X(34, ErrorSharedObjectInitFailed) /* a stub library */                                                              \
  X(46, ErrorInvalidDevice)          /* unavailable */                                                                 \
  X(100, ErrorNoDevice)                                                                                                \
  X(101, ErrorInvalidDevice)                                                                                           \
  X(200, ErrorInvalidImage)                                                                                            \
  X(201, ErrorInvalidContext)                                                                                          \
  X(209, ErrorNoBinaryForGpu)                                                                                          \
  X(217, ErrorPeerAccessUnsupported)                                                                                   \
  X(218, ErrorInvalidKernelFile)                                                                                       \
  X(222, ErrorInvalidKernelFile) /* PTX of a later version */                                                          \
  X(300, ErrorInvalidSource)                                                                                           \
  X(301, ErrorFileNotFound)                                                                                            \
  X(302, ErrorSharedObjectInitFailed)                                                                                  \
  X(303, ErrorSharedObjectInitFailed)                                                                                  \
  X(304, ErrorOperatingSystem)                                                                                         \
  X(400, ErrorInvalidHandle)                                                                                           \
  X(401, ErrorIllegalState)                                                                                            \
  X(500, ErrorNotFound)                                                                                                \
  X(600, ErrorNotReady)                                                                                                \
  X(700, ErrorIllegalAddress)                                                                                          \
  X(701, ErrorLaunchOutOfResources)                                                                                    \
  X(702, ErrorLaunchTimeOut)                                                                                           \
  X(704, ErrorPeerAccessAlreadyEnabled)                                                                                \
  X(705, ErrorPeerAccessNotEnabled)                                                                                    \
  X(709, ErrorContextIsDestroyed)                                                                                      \
  X(710, ErrorAssert)                                                                                                  \
  X(712, ErrorHostMemoryAlreadyRegistered)                                                                             \
  X(713, ErrorHostMemoryNotRegistered)                                                                                 \
  X(714, ErrorLaunchFailure)  /* the hardware's stack */                                                               \
  X(715, ErrorLaunchFailure)  /* an illegal instruction */                                                             \
  X(716, ErrorLaunchFailure)  /* a misaligned address */                                                               \
  X(717, ErrorIllegalAddress) /* an address of another space */                                                        \
  X(718, ErrorLaunchFailure)  /* an invalid program counter */                                                         \
  X(719, ErrorLaunchFailure)                                                                                           \
  X(800, ErrorNotSupported) /* not permitted */                                                                        \
  X(801, ErrorNotSupported)                                                                                            \
  X(803, ErrorInsufficientDriver)                                                                                      \
  X(804, ErrorInsufficientDriver)                                                                                      \
  X(900, ErrorStreamCaptureUnsupported)                                                                                \
  X(901, ErrorStreamCaptureInvalidated)                                                                                \
  X(902, ErrorStreamCaptureInvalidated) /* merge */                                                                    \
  X(903, ErrorStreamCaptureInvalidated) /* unmatched */                                                                \
  X(904, ErrorStreamCaptureInvalidated) /* unjoined */                                                                 \
  X(905, ErrorStreamCaptureInvalidated) /* isolation */                                                                \
  X(906, ErrorStreamCaptureUnsupported) /* implicit */                                                                 \
  X(907, ErrorStreamCaptureUnsupported) /* an event of a capture */                                                    \
  X(908, ErrorStreamCaptureUnsupported) /* another thread */                                                           \
  X(909, ErrorLaunchTimeOut)                                                                                           \
  X(910, ErrorGraphExecUpdateFailure)                                                                                  \
  X(999, ErrorUnknown)

static hip_error_t translate(cu_result rc) {
  switch (rc) {
#define X(number, name)                                                                                                \
  case number:                                                                                                         \
    return hip_##name;
    CUDA_ERRORS(X)
#undef X
  default:
    return hip_ErrorUnknown;
  }
}

static int is_fatal(cu_result rc) {
  return rc == 700 || rc == 702 || rc == 709 || rc == 710 || (rc >= 714 && rc <= 719);
}

static hip_error_t note_slowly(cu_result rc) {
  if (is_fatal(rc)) __atomic_store_n(&devices[current].lost, 1, __ATOMIC_RELEASE);
  hip_error_t error = translate(rc);
  if (error != hip_ErrorNotReady) last_error = error;
  return error;
}

hip_error_t cuda_note(cu_result rc) {
  return __builtin_expect(rc == 0, 1) ? hip_Success : note_slowly(rc);
}

hip_error_t cuda_refuse(hip_error_t rc) {
  last_error = rc;
  return rc;
}

hip_error_t cuda_get_last_error(void) {
  hip_error_t rc = last_error;
  last_error = hip_Success;
  return rc;
}

/* ---- contexts ------------------------------------------------------------------------------------------------ */

void cuda_set_devices(int count) {
  device_count = count < CUDA_MAX_DEVICES ? count : CUDA_MAX_DEVICES;
}

/* With `starting` held. */
static cu_result retain(struct device *device) {
  cu_device handle;
  cu_context context;
  cu_result rc = cuda_driver.device_get(&handle, (int)(device - devices));
  if (rc == 0) rc = cuda_driver.primary_retain(&context, handle);
  if (rc == 0) __atomic_store_n(&device->context, context, __ATOMIC_RELEASE);
  return rc;
}

static cu_result bind_slowly(struct device *device) {
  cu_result rc = 0;
  pthread_mutex_lock(&starting);
  if (!device->context) rc = retain(device);
  unsigned epoch = device->epoch;
  if (rc == 0) rc = cuda_driver.ctx_set_current(device->context);
  pthread_mutex_unlock(&starting);
  if (rc == 0) {
    bound = (int)(device - devices);
    bound_epoch = epoch;
  }
  return rc;
}

hip_error_t cuda_context_of(int ordinal, cu_context *context) {
  if (ordinal < 0 || ordinal >= device_count) return cuda_refuse(hip_ErrorInvalidDevice);
  struct device *device = &devices[ordinal];
  cu_result rc = 0;
  pthread_mutex_lock(&starting);
  if (!device->context) rc = retain(device);
  if (rc == 0) *context = device->context;
  pthread_mutex_unlock(&starting);
  return cuda_note(rc);
}

hip_error_t cuda_enter(void) {
  struct device *device = &devices[current];
  if (__builtin_expect(bound == current && bound_epoch == __atomic_load_n(&device->epoch, __ATOMIC_ACQUIRE), 1))
    return hip_Success;
  return cuda_note(bind_slowly(device));
}

hip_error_t cuda_set_device(int device) {
  if (device < 0 || device >= device_count) return cuda_refuse(hip_ErrorInvalidDevice);
  current = device;
  return cuda_enter();
}

hip_error_t cuda_get_device(int *device) {
  if (!device) return cuda_refuse(hip_ErrorInvalidValue);
  *device = current;
  return hip_Success;
}

/* ---- streams, and devices that are started again --------------------------------------------------------------- */

/* A reset ends what is left of the context, for all users of it in the process: it answers none of them any more. */
static cu_result restart(struct device *device) {
  cu_device handle;
  cu_result rc = cuda_driver.device_get(&handle, (int)(device - devices));
  pthread_mutex_lock(&starting);
  if (rc == 0) rc = cuda_driver.primary_reset(handle);
  if (rc == 0) cuda_again_lost((int)(device - devices));
  if (rc == 0) {
    __atomic_store_n(&device->context, NULL, __ATOMIC_RELEASE);
    __atomic_add_fetch(&device->epoch, 1, __ATOMIC_RELEASE);
    rc = retain(device);
  }
  if (rc == 0) __atomic_store_n(&device->lost, 0, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&starting);
  return rc;
}

hip_error_t cuda_stream_create(hip_stream_t *stream, unsigned int flags) {
  struct device *device = &devices[current];
  if (!stream || flags & ~1u) return cuda_refuse(hip_ErrorInvalidValue);
  if (__atomic_load_n(&device->lost, __ATOMIC_ACQUIRE) && !__atomic_load_n(&device->streams, __ATOMIC_ACQUIRE)) {
    hip_error_t restarted = cuda_note(restart(device));
    if (restarted != hip_Success) return restarted;
  }
  hip_error_t rc = cuda_enter();
  if (rc != hip_Success) return rc;
  cu_handle made;
  rc = cuda_note(cuda_driver.stream_create(&made, flags));
  if (rc != hip_Success) return rc;
  __atomic_add_fetch(&device->streams, 1, __ATOMIC_ACQ_REL);
  *stream = made;
  return hip_Success;
}

hip_error_t cuda_stream_destroy(hip_stream_t stream) {
  if (!stream) return cuda_refuse(hip_ErrorInvalidHandle);
  hip_error_t rc = cuda_note(cuda_driver.stream_destroy(stream));
  __atomic_sub_fetch(&devices[current].streams, 1, __ATOMIC_ACQ_REL);
  return rc;
}
