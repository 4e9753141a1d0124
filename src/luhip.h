/*
 * luhip.h - the public C interface of luhip, a GPU runtime over HIP.
 *
 * A device is opened by id, gives buffers, compiles kernels from HIP C++ text, launches them, and reads the
 * results back. The same calls drive AMD GPUs, NVIDIA GPUs and the embedded CPU device.
 *
 * Errors.     A function that can fail returns a luhip_status and takes a `luhip_error **error` as its last
 *             parameter. On LUHIP_OK nothing is written there; otherwise, unless it is NULL, it receives an
 *             error that the caller releases. Out-parameters are written only on LUHIP_OK.
 *             The library never prints, exits, aborts or raises a Lua error from these functions.
 * Ownership.  Objects are reference-counted: what a function returns through an out-parameter is the
 *             caller's to release; X_retain and X_release take NULL. Atomic, from any thread. An object keeps
 *             what it needs alive; a buffer outlives neither the device's close nor its own free (calls then
 *             return LUHIP_E_FREED), a host array outlives everything.
 * Threads.    All functions may be called from any thread. One lock per device serialises the server; no
 *             wait for the device holds it. Objects may be shared between threads.
 * Units.      Bytes are size_t, counts are elements, shapes are row-major with the last dimension fastest,
 *             times are milliseconds. Indices are 0-based here (the Lua binding's are 1-based).
 */
#ifndef LUHIP_H
#define LUHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(LUHIP_BUILD) && defined(__GNUC__)
#define LUHIP_API __attribute__((visibility("default")))
#else
#define LUHIP_API
#endif

#define LUHIP_VERSION "0.1.0"

/* ---- errors ------------------------------------------------------------------------------------------- */

/* X(name, text): every kind of failure; `luhip_error_kind_name` gives the text, scripts read it as e.kind. */
#define LUHIP_ERROR_KINDS(X)                                                                                           \
  X(OK, "ok")                                                                                                          \
  X(E_ARGUMENT, "argument")                       /* a wrong value or count, by the caller */                          \
  X(E_TYPE, "type")                               /* a wrong type or dtype */                                          \
  X(E_RANGE, "range")                             /* an index, offset or number out of its range */                    \
  X(E_SHAPE, "shape")                             /* shapes that do not fit */                                         \
  X(E_FREED, "freed")                             /* the object or its device was freed */                             \
  X(E_LIMITS, "limits")                           /* beyond what the device can do in one launch */                    \
  X(E_COMPILE, "compile")                         /* the source does not compile; diagnostics follow */                \
  X(E_NOT_FOUND, "not_found")                     /* a kernel, symbol, file or compiler that is not there */           \
  X(E_OOM, "oom")                                 /* out of device or pinned memory */                                 \
  X(E_TOO_BIG, "too_big")                         /* no pool accepts this size */                                      \
  X(E_UNSUPPORTED_STRIDES, "unsupported_strides") /* a layout that no single copy serves */                            \
  X(E_CAPTURE, "capture")                         /* not possible in this capture state */                             \
  X(E_LAUNCH, "launch")                           /* the driver refused a launch */                                    \
  X(E_FAULT, "fault")                             /* a kernel did something illegal; the device goes on */             \
  X(E_POISONED, "poisoned")                       /* a fault that the device did not survive */                        \
  X(E_TIMEOUT, "timeout")                         /* a kernel, compiler or wait took too long */                       \
  X(E_DRIVER, "driver")                           /* any other error of the driver */                                  \
  X(E_NO_DEVICE, "no_device")                     /* no such device, or unusable, with the reason */                   \
  X(E_OPTIONS_CONFLICT, "options_conflict")       /* the device is open with other options */                          \
  X(E_TOO_MANY_STREAMS, "too_many_streams")                                                                            \
  X(E_POOLS_IN_USE, "pools_in_use")                                                                                    \
  X(E_CACHE, "cache")             /* the compile cache cannot be used */                                               \
  X(E_CONFIG, "config")           /* a wrong setting */                                                                \
  X(E_FORKED, "forked")           /* the device was opened before a fork */                                            \
  X(E_INTERRUPTED, "interrupted") /* a wait ended by the host program */                                               \
  X(E_VERIFY, "verify")           /* a result differs from its reference */                                            \
  X(E_NOT_READY, "not_ready")     /* an event or future that has not come yet */                                       \
  X(E_FILE, "file")               /* a file cannot be read or written */                                               \
  X(E_MEMORY, "memory")           /* the host is out of memory */

typedef enum luhip_status {
#define X(name, text) LUHIP_##name,
  LUHIP_ERROR_KINDS(X)
#undef X
      LUHIP_STATUS_COUNT
} luhip_status;

typedef struct luhip_error luhip_error;

/* One line of a compiler's log. Strings are owned by the error; line and column are 1-based, 0 when unknown. */
typedef struct luhip_diagnostic {
  const char *file;
  int line, column;
  const char *severity; /* "error", "warning", "note" */
  const char *text;
} luhip_diagnostic;

LUHIP_API luhip_error *luhip_error_retain(luhip_error *error);
LUHIP_API void luhip_error_release(luhip_error *error);
LUHIP_API luhip_status luhip_error_kind(const luhip_error *error);
LUHIP_API const char *luhip_error_kind_name(luhip_status status);         /* static text */
LUHIP_API const char *luhip_error_message(const luhip_error *error);      /* one sentence */
LUHIP_API const char *luhip_error_full(const luhip_error *error);         /* message, failures, skips, log in brief */
LUHIP_API const luhip_error *luhip_error_cause(const luhip_error *error); /* borrowed; NULL when it is the root */
/* A read that meets several failed buffers carries every distinct failure (borrowed). Count 0: none. */
LUHIP_API size_t luhip_error_failures(const luhip_error *error);
LUHIP_API const luhip_error *luhip_error_failure(const luhip_error *error, size_t index);
/* E_COMPILE: parsed diagnostics, errors first, and the whole log ("" for other kinds). */
LUHIP_API size_t luhip_error_diagnostics(const luhip_error *error, const luhip_diagnostic **list);
LUHIP_API const char *luhip_error_log(const luhip_error *error);
/* E_FAULT, E_TIMEOUT of a kernel: its name, block and thread; false for other errors. -1: unknown. */
LUHIP_API bool luhip_error_where(const luhip_error *error, const char **kernel, int32_t block[3], int32_t thread[3]);
/* How many allocations carry this failure of a buffer; 0 for errors that no buffer carries. */
LUHIP_API size_t luhip_error_carriers(const luhip_error *error);
/* Skip records of a failure: launches that did not run because an input was stale, oldest first, at most 16. */
LUHIP_API size_t luhip_error_skips(const luhip_error *error, uint64_t *total);
LUHIP_API const char *luhip_error_skip(const luhip_error *error, size_t index);

/* ---- element types ------------------------------------------------------------------------------------- */

/* X(NAME, text, bytes) */
#define LUHIP_DTYPES(X)                                                                                                \
  X(I8, "i8", 1)                                                                                                       \
  X(U8, "u8", 1)                                                                                                       \
  X(I16, "i16", 2)                                                                                                     \
  X(U16, "u16", 2)                                                                                                     \
  X(I32, "i32", 4)                                                                                                     \
  X(U32, "u32", 4)                                                                                                     \
  X(I64, "i64", 8)                                                                                                     \
  X(U64, "u64", 8)                                                                                                     \
  X(F16, "f16", 2)                                                                                                     \
  X(BF16, "bf16", 2)                                                                                                   \
  X(F32, "f32", 4)                                                                                                     \
  X(F64, "f64", 8)                                                                                                     \
  X(BOOL, "bool", 1)                                                                                                   \
  X(C64, "c64", 8)                                                                                                     \
  X(C128, "c128", 16)

typedef enum luhip_dtype {
#define X(name, text, bytes) LUHIP_##name,
  LUHIP_DTYPES(X)
#undef X
      LUHIP_DTYPE_COUNT
} luhip_dtype;

#define LUHIP_MAX_DIMS 8

LUHIP_API const char *luhip_dtype_name(luhip_dtype dtype);
LUHIP_API size_t luhip_dtype_bytes(luhip_dtype dtype);
LUHIP_API bool luhip_dtype_parse(const char *text, luhip_dtype *dtype);

/* ---- waiting -------------------------------------------------------------------------------------------- */

/* Functions that wait for the device take one of these (NULL: wait for ever). `interrupted` is asked about
   every millisecond on the waiting thread; true ends the wait with LUHIP_E_INTERRUPTED. */
typedef struct luhip_wait {
  bool (*interrupted)(void *user);
  void *user;
  double timeout_ms; /* <= 0: none; then LUHIP_E_TIMEOUT */
} luhip_wait;

/* What this thread's calls that take no luhip_wait, or NULL for one, are to know of the program around them. Some wait
   inside: a launch for its grid or for a stream with too much in flight, a large write for its chunks. */
typedef struct luhip_host {
  luhip_wait wait; /* ends such a wait; the call has done nothing then that calling it again does not put right */
  bool repeats;    /* after LUHIP_E_OOM memory is made and the call repeated: so no buffer carries that failure, and
                      launches return it */
} luhip_host;

/* From now on, for this thread; kept by pointer until it is set again. NULL, as at first: waits go on for ever, and what
   a lack of memory leaves unwritten carries it. */
LUHIP_API void luhip_set_host(const luhip_host *host);

/* ---- settings -------------------------------------------------------------------------------------------- */

/* One row of the table of settings; static text. docs/configuration.md explains them. */
typedef struct luhip_setting {
  const char *key;      /* "cpu.threads" */
  const char *variable; /* "LUHIP_CPU_THREADS" */
  const char *type;     /* "text", "path", "count", "milliseconds", "size", "switch", "level", "sink" */
  const char *standard; /* the built-in value; "": none */
  const char *meaning;
  bool own; /* not to be set by a luhip.conf.lua */
} luhip_setting;

/* Lists the settings, at most `max`; returns how many there are. */
LUHIP_API size_t luhip_settings(luhip_setting *list, size_t max);
/* Sets a setting for this process, in front of the environment and of files (which only the Lua module reads); NULL: as
   if it had never been set here. Loggers change at once, a device's settings with its next open. E_CONFIG names the key
   and what is wanted. Any thread. */
LUHIP_API luhip_status luhip_config_set(const char *key, const char *value, luhip_error **error);
/* The value that holds, and where it comes from ("LUHIP_TIMEOUT", "file: key", the key; "" when built in); the caller
   frees both with free(). Either may be NULL. */
LUHIP_API luhip_status luhip_config_get(const char *key, char **value, char **origin, luhip_error **error);

/* ---- devices --------------------------------------------------------------------------------------------- */

typedef struct luhip_device luhip_device;
typedef struct luhip_stream luhip_stream;
typedef struct luhip_event luhip_event;
typedef struct luhip_buffer luhip_buffer;
typedef struct luhip_array luhip_array;
typedef struct luhip_future luhip_future;
typedef struct luhip_program luhip_program;
typedef struct luhip_kernel luhip_kernel;
typedef struct luhip_launcher luhip_launcher;
typedef struct luhip_profile luhip_profile;
typedef struct luhip_trace luhip_trace;
typedef struct luhip_graph luhip_graph;

typedef struct luhip_device_info {
  char id[48];      /* "cpu:0", "cpu:0/64", "rocm:1" */
  char backend[16]; /* "rocm", "cuda", "cpu" */
  char name[128];
  char arch[128];
  char reason[256]; /* why it cannot be used; "" when it can */
  int warp_size, units, max_threads;
  int driver_version; /* the provider's own number; 0: it did not say */
  int max_block[3];
  int64_t max_grid[3];
  size_t shared_bytes, memory_bytes, alignment;
  size_t cache_bytes; /* the last-level cache: AMD's Infinity Cache where there is one, else the L2; 0: unknown */
  bool integrated;
} luhip_device_info;

/* Lists devices, at most `max`; returns how many there are. A back end that is installed but unusable has one
   entry with a reason. Starts no device. */
LUHIP_API size_t luhip_devices(luhip_device_info *list, size_t max);

/* Each stream has a memory manager for device memory and one for pinned host memory. A manager has an ordered list of
   pools; a request goes to the first that accepts its size, rounded up to the device's alignment.
     sliced      pages of `page` bytes, cut into slices for requests of up to `slice` bytes; neighbours that are free fuse.
                 Without a cap it also takes requests that leave less than a fifth of a page unused.
     exclusive   a page for each request of up to `page` bytes, as large as requests are on average. Pages that stay unused
                 for long are given back.
     direct      an allocation of the driver for each request, of just its size (up to `page` bytes; 0: any size). What is
                 freed is kept for requests of the same size, but no more than `reclaim_at` bytes (0: until clean-up).
     persistent  like direct, kept until clean-up. Every manager has one, for captures and for the persistent mode; it
                 cannot stand in a list.
   `cap` is the most that a pool takes from the driver, 0: no such limit. page, slice and cap count as the next multiple of
   the device's alignment. What no pool accepts or has room for gets an allocation of its own where the device can hold
   it; what it cannot hold is LUHIP_E_TOO_BIG. */
typedef enum luhip_pool_kind {
  LUHIP_POOL_SLICED,
  LUHIP_POOL_EXCLUSIVE,
  LUHIP_POOL_DIRECT,
  LUHIP_POOL_PERSISTENT
} luhip_pool_kind;

typedef struct luhip_pool {
  luhip_pool_kind kind;
  size_t page, slice, cap, reclaim_at; /* bytes */
} luhip_pool;

#define LUHIP_MAX_POOLS 254

LUHIP_API const char *luhip_pool_kind_name(luhip_pool_kind kind); /* "sliced", ...: static text */
LUHIP_API bool luhip_pool_kind_parse(const char *text, luhip_pool_kind *kind);
/* Writes the preset "sub-slices", "exclusive" or "direct" for a device of `total` bytes; E_ARGUMENT for another name. */
LUHIP_API luhip_status luhip_pools_preset(const char *name, size_t total, luhip_pool list[LUHIP_MAX_POOLS],
                                          size_t *count, luhip_error **error);
/* The same for the memory of this device, or its limit. */
LUHIP_API luhip_status luhip_device_preset(luhip_device *device, const char *name, luhip_pool list[LUHIP_MAX_POOLS],
                                           size_t *count, luhip_error **error);
/* Whether a list makes sense: E_ARGUMENT with all that is wrong with it, each with its place and key. */
LUHIP_API luhip_status luhip_pools_check(const luhip_pool *list, size_t count, luhip_error **error);

/* Which allocations the persistent pool serves: those of persistent mode and of captures, of captures alone, or all. */
typedef enum luhip_persistent_policy {
  LUHIP_PERSISTENT_AUTO,
  LUHIP_PERSISTENT_DISABLED,
  LUHIP_PERSISTENT_ENFORCED
} luhip_persistent_policy;

typedef struct luhip_open_options {
  bool checked;        /* CPU: guard pages around every buffer. Conflicts with an open unchecked device. */
  size_t memory_limit; /* bytes that the device's pools may hold from the driver, 0: none */
  unsigned timeout_ms; /* CPU: watchdog for one launch; 0: the default, 10 s (LUHIP_TIMEOUT, ms) */
  /* Device memory of every stream; copied. NULL: what the setting memory.pools names, else "sub-slices" for the device's
     memory or the limit, but "direct" for the CPU device, whose guard pages stand around the driver's allocations.
     Ignored in checked mode, which is "direct". */
  const luhip_pool *pools;
  size_t npools;
  const char
      *preset; /* where pools is NULL: the name of a preset, for the device's memory or the limit; NULL: as said */
  luhip_persistent_policy persistent; /* AUTO: what the setting memory.persistent says, which is AUTO too */
} luhip_open_options;

/* Opens "cpu:0", "cuda", ... or the best device present for NULL or "" (LUHIP_DEVICE overrides). Opening an
   open device gives another reference to the same server; the server closes with the last luhip_device_close. */
LUHIP_API luhip_status luhip_open(const char *id, const luhip_open_options *options, luhip_device **device,
                                  luhip_error **error);
/* Ends this user's claim on the device and releases the reference. The last one waits for pending work, then
   gives everything back to the driver; buffers, kernels and streams made from it answer LUHIP_E_FREED. */
LUHIP_API void luhip_device_close(luhip_device *device);
LUHIP_API bool luhip_device_is_open(luhip_device *device);
LUHIP_API const luhip_device_info *luhip_device_get_info(luhip_device *device);
/* What holds for it: as it was first opened, and where that said nothing what the settings say. Without its pools. */
LUHIP_API luhip_open_options luhip_device_get_options(luhip_device *device);
/* Names the compiler of the device's kernels, for keys: other text, other compiler. LUHIP_E_NOT_FOUND: there is none. */
LUHIP_API luhip_status luhip_device_toolchain(luhip_device *device, char *text, size_t bytes, luhip_error **error);
/* Waits for all streams. With buffers: tests their claims first, then waits, then tests again. A failure of an
   operation that writes no buffer is carried by none: the first sync of the device or a stream, or wait for an event,
   that ends well otherwise returns the oldest of these, once, and forgets them. */
LUHIP_API luhip_status luhip_device_sync(luhip_device *device, luhip_buffer *const *buffers, size_t n,
                                         const luhip_wait *wait, luhip_error **error);
/* The claim test alone: OK, or the failures that the buffers' bytes carry. Does not wait. */
LUHIP_API luhip_status luhip_device_check(luhip_device *device, luhip_buffer *const *buffers, size_t n,
                                          luhip_error **error);
/* Lets finished work be forgotten and pending frees happen. Never waits. */
LUHIP_API void luhip_device_flush(luhip_device *device);

/* All streams together. */
typedef struct luhip_memory_info {
  size_t buffers;  /* live allocations */
  size_t in_use;   /* bytes asked for by live buffers */
  size_t padding;  /* rounding on top of that */
  size_t reserved; /* bytes held from the driver, cached memory included */
  size_t pinned_in_use, pinned_reserved;
  size_t limit, device_free, device_total;
  size_t cached; /* of the reserved bytes, in pages that nothing lives in: clean-up gives them back */
  size_t
      pinned_padding; /* pinned_in_use counts host arrays, this what pools gave on top of them and of copies in flight */
} luhip_memory_info;
LUHIP_API luhip_status luhip_device_memory(luhip_device *device, luhip_memory_info *info, luhip_error **error);
/* Gives cached memory of all streams back to the driver, waiting for the work that still uses it. Pinned memory in use by
   copies stays. E_CAPTURE while a stream of the device records. */
LUHIP_API luhip_status luhip_device_memory_cleanup(luhip_device *device, luhip_error **error);

/* One pool of one stream, as it is now. */
typedef struct luhip_pool_info {
  uint64_t stream;          /* luhip_stream_id; 0: of a stream that was freed */
  bool pinned;              /* of the stream's pinned host memory */
  const char *role;         /* "" for the pools of the layout, "overflow" for what none of them takes, "persistent",
                                "earlier" for those of a layout that was replaced; static text */
  luhip_pool config;        /* sizes as rounded */
  size_t live;              /* slices handed out, */
  size_t in_use, padding;   /* bytes asked for by them, and bytes they have beyond that */
  size_t reserved, cached;  /* bytes held, and of these in pages that nothing lives in */
  size_t pages, peak_pages; /* now, and at most so far */
  size_t peak;              /* bytes held at most so far */
  size_t largest;           /* the largest request, rounded */
  bool capped;              /* its cap kept it from growing at least once */
} luhip_pool_info;
/* Lists the pools of all streams that have used memory, at most `max`; returns how many there are. 0 once closed. */
LUHIP_API size_t luhip_device_pool_infos(luhip_device *device, luhip_pool_info *list, size_t max);

/* A live buffer's memory. */
typedef struct luhip_holder {
  uint64_t allocation, stream; /* ids; stream 0: freed */
  const char *role;            /* of the pool it lives in, as above */
  size_t bytes, padding;
  char made[96]; /* "f32[1024, 8]" */
} luhip_holder;
/* Lists who holds memory, at most `max`, in no order; returns how many there are. Takes time in proportion to them. */
LUHIP_API size_t luhip_device_holders(luhip_device *device, luhip_holder *list, size_t max);

/* The layout that the stream's device memory has, or would have; returns how many pools there are. */
LUHIP_API luhip_status luhip_stream_pools(luhip_device *device, luhip_stream *stream, luhip_pool list[LUHIP_MAX_POOLS],
                                          size_t *count, luhip_error **error);
/* Another layout for this stream and for streams made from now on. E_POOLS_IN_USE, naming the bytes and who holds them,
   when buffers live in the stream's pools (those of the persistent pool do not matter); E_CAPTURE while a capture is open
   on the device; E_ARGUMENT in checked mode, and for a list that luhip_pools_check refuses. Nothing changes then. */
LUHIP_API luhip_status luhip_stream_install_pools(luhip_device *device, luhip_stream *stream, const luhip_pool *list,
                                                  size_t count, luhip_error **error);

/* In persistent mode what a stream's buffers take comes from its persistent pool: exact sizes, kept until clean-up. */
typedef enum luhip_memory_mode { LUHIP_MEMORY_AUTO, LUHIP_MEMORY_PERSISTENT } luhip_memory_mode;
/* The mode of a stream while no window is open. */
LUHIP_API luhip_status luhip_stream_memory_mode(luhip_device *device, luhip_stream *stream, luhip_memory_mode mode,
                                                luhip_error **error);
/* Windows nest, and may overlap: the one opened last of those that are open says the mode. Closing an unknown id does
   nothing, so a window may be closed twice. */
LUHIP_API luhip_status luhip_memory_window_open(luhip_device *device, luhip_stream *stream, luhip_memory_mode mode,
                                                uint64_t *window, luhip_error **error);
LUHIP_API void luhip_memory_window_close(luhip_device *device, uint64_t window);

/* A plan plays allocations through a stream's layout without memory behind it, to find out how much each pool takes:
   buffers that are added are carved when they are added, and given back when they are freed. The layout it gives has the
   pools that were used, each with a cap of what it took at most. A plan belongs to one thread. */
typedef struct luhip_plan luhip_plan;
LUHIP_API luhip_status luhip_plan_new(luhip_device *device, luhip_stream *stream, luhip_plan **plan,
                                      luhip_error **error);
LUHIP_API luhip_status luhip_plan_add(luhip_plan *plan, luhip_buffer *buffer, luhip_error **error);
LUHIP_API luhip_status luhip_plan_pools(luhip_plan *plan, luhip_pool list[LUHIP_MAX_POOLS], size_t *count,
                                        luhip_error **error);
/* Bytes the pools hold at most, and buffers added. */
LUHIP_API void luhip_plan_peak(const luhip_plan *plan, size_t *reserved, size_t *in_use, size_t *buffers);
LUHIP_API void luhip_plan_free(luhip_plan *plan); /* NULL is a no-op; buffers that live on are unharmed */

/* ---- streams and events ------------------------------------------------------------------------------------ */

/* NULL means the device's default stream wherever a stream is taken. */
LUHIP_API luhip_status luhip_stream_new(luhip_device *device, luhip_stream **stream, luhip_error **error);
LUHIP_API luhip_stream *luhip_stream_retain(luhip_stream *stream);
LUHIP_API void luhip_stream_release(luhip_stream *stream); /* never waits; pending work still runs */
/* Ends the use of the stream by everybody: later calls on it answer LUHIP_E_FREED, pending work still runs.
   Idempotent; the default stream stays. */
LUHIP_API void luhip_stream_free(luhip_stream *stream);
LUHIP_API uint64_t luhip_stream_id(luhip_stream *stream); /* process-unique */
LUHIP_API luhip_status luhip_stream_sync(luhip_stream *stream, const luhip_wait *wait, luhip_error **error);
LUHIP_API luhip_status luhip_stream_query(luhip_stream *stream, bool *done, luhip_error **error);
LUHIP_API luhip_status luhip_stream_record(luhip_device *device, luhip_stream *stream, luhip_event **event,
                                           luhip_error **error);
LUHIP_API luhip_status luhip_stream_wait_event(luhip_device *device, luhip_stream *stream, luhip_event *event,
                                               luhip_error **error);
/* Number of live streams of the device, and up to max of them (retained). */
LUHIP_API size_t luhip_device_streams(luhip_device *device, luhip_stream **list, size_t max);

LUHIP_API luhip_event *luhip_event_retain(luhip_event *event);
LUHIP_API void luhip_event_release(luhip_event *event);
LUHIP_API luhip_status luhip_event_wait(luhip_event *event, const luhip_wait *wait, luhip_error **error);
LUHIP_API luhip_status luhip_event_query(luhip_event *event, bool *done, luhip_error **error);
/* From start to stop, >= 0 for ordered pairs. LUHIP_E_NOT_READY while either has not passed; LUHIP_E_ARGUMENT
   for events of two devices. */
LUHIP_API luhip_status luhip_event_elapsed(luhip_event *start, luhip_event *stop, double *ms, luhip_error **error);

/* ---- buffers ------------------------------------------------------------------------------------------------- */

/* A buffer names an allocation, a byte offset, a dtype, a shape and strides (in elements). */
typedef struct luhip_layout {
  luhip_dtype dtype;
  int ndim;
  size_t shape[LUHIP_MAX_DIMS];
  ptrdiff_t strides[LUHIP_MAX_DIMS]; /* elements */
  size_t offset;                     /* bytes into the allocation */
  size_t count;                      /* product of the shape */
  size_t bytes;                      /* count * dtype bytes */
  size_t record; /* > 0: elements are structs of so many bytes, each of them the whole last dimension,
                                        which is packed; the dtype is then U8 */
} luhip_layout;

/* Contents undefined; memory is taken at first use. Zero elements are legal. E_TOO_BIG when the byte count
   does not fit size_t. */
LUHIP_API luhip_status luhip_buffer_new(luhip_device *device, luhip_dtype dtype, int ndim, const size_t *shape,
                                        luhip_buffer **buffer, luhip_error **error);
/* Rows padded to the device's pitch alignment: ndim >= 2. */
LUHIP_API luhip_status luhip_buffer_new_pitched(luhip_device *device, luhip_dtype dtype, int ndim, const size_t *shape,
                                                luhip_buffer **buffer, luhip_error **error);
/* Another view of the same allocation; it must lie inside it. layout->count and bytes are computed. */
LUHIP_API luhip_status luhip_buffer_view(luhip_buffer *buffer, const luhip_layout *layout, luhip_buffer **view,
                                         luhip_error **error);
LUHIP_API luhip_buffer *luhip_buffer_retain(luhip_buffer *buffer);
LUHIP_API void luhip_buffer_release(luhip_buffer *buffer);
/* Ends the use of the buffer by everybody: later calls on it answer LUHIP_E_FREED. Views of it live on. Idempotent. */
LUHIP_API void luhip_buffer_free(luhip_buffer *buffer);
LUHIP_API bool luhip_buffer_is_freed(const luhip_buffer *buffer);
LUHIP_API const luhip_layout *luhip_buffer_layout(const luhip_buffer *buffer);
LUHIP_API bool luhip_buffer_is_contiguous(const luhip_buffer *buffer);
LUHIP_API luhip_device *luhip_buffer_device(const luhip_buffer *buffer); /* borrowed */
LUHIP_API uint64_t luhip_buffer_id(const luhip_buffer *buffer);

/* One part of a write: packed elements for the whole of `buffer` (whose layout may be pitched). */
typedef struct luhip_source {
  luhip_buffer *buffer;
  const void *data;   /* packed, row-major, in the buffer's dtype */
  size_t bytes;       /* must equal the buffer's bytes */
  luhip_array *array; /* optional: data lies in this array, which a pinned copy may then use unstaged */
} luhip_source;

/* Every descriptor is attempted; the first error is returned after all were. Sources may be changed as soon as it returns. */
LUHIP_API luhip_status luhip_write(luhip_device *device, luhip_stream *stream, const luhip_source *sources, size_t n,
                                   luhip_error **error);
/* Every element set to the same value: `value` points to one element. */
LUHIP_API luhip_status luhip_fill(luhip_buffer *buffer, luhip_stream *stream, const void *value, luhip_error **error);
/* Same count and dtype; both layouts linear or pitched. `stream` is of the destination's device. The buffers may be of two
   devices: where these reach each other's memory the copy is enqueued as any other, else the host carries the bytes and
   waits for the source's device, unless luhip_set_host ends that wait; then a destination of which a part was written
   carries it. What is stale in the source is stale in the destination afterwards, and no error here. */
LUHIP_API luhip_status luhip_copy(luhip_buffer *destination, luhip_buffer *source, luhip_stream *stream,
                                  luhip_error **error);
/* Enqueues copies of all buffers into new host arrays behind one fence. Claims on any of them fail the call. */
LUHIP_API luhip_status luhip_read(luhip_device *device, luhip_stream *stream, luhip_buffer *const *buffers, size_t n,
                                  luhip_future **future, luhip_error **error);

LUHIP_API luhip_future *luhip_future_retain(luhip_future *future);
LUHIP_API void luhip_future_release(luhip_future *future);
LUHIP_API luhip_status luhip_future_wait(luhip_future *future, const luhip_wait *wait, luhip_error **error);
/* Waits, and ends the future of a read of one buffer that was started just before: after success the array is the caller's and the future released.
   Of a failed read, or after a wait that has ended early, it is the caller's as before. */
LUHIP_API luhip_status luhip_future_take(luhip_future *future, const luhip_wait *wait, luhip_array **array,
                                         luhip_error **error);
LUHIP_API luhip_status luhip_future_ready(luhip_future *future, bool *ready, luhip_error **error);
/* Borrowed; complete only after a successful wait. */
LUHIP_API luhip_array *luhip_future_array(luhip_future *future, size_t index);
LUHIP_API size_t luhip_future_count(const luhip_future *future);
/* A descriptor (eventfd) that becomes readable when the future is done; owned by the future. */
LUHIP_API luhip_status luhip_future_fd(luhip_future *future, int *fd, luhip_error **error);

/* Raw address for neighbours in C: claims are tested, memory is materialised and earlier work on it waited for. */
LUHIP_API luhip_status luhip_buffer_resource(luhip_buffer *buffer, const luhip_wait *wait, uint64_t *pointer,
                                             size_t *bytes, luhip_error **error);

/* ---- host arrays ------------------------------------------------------------------------------------------------ */

/* Plain zeroed memory, 64-byte aligned. */
LUHIP_API luhip_status luhip_array_new(luhip_dtype dtype, int ndim, const size_t *shape, luhip_array **array,
                                       luhip_error **error);
/* Pinned where the device can, plain where it cannot. */
LUHIP_API luhip_status luhip_array_new_staging(luhip_device *device, luhip_dtype dtype, int ndim, const size_t *shape,
                                               luhip_array **array, luhip_error **error);
LUHIP_API luhip_array *luhip_array_retain(luhip_array *array);
LUHIP_API void luhip_array_release(luhip_array *array);
LUHIP_API void *luhip_array_data(luhip_array *array);
LUHIP_API const luhip_layout *luhip_array_layout(const luhip_array *array); /* strides packed, offset 0 */
LUHIP_API bool luhip_array_is_pinned(const luhip_array *array);
/* Waits until no copy reads the array any more: call before changing a pinned one. */
LUHIP_API luhip_status luhip_array_settle(luhip_array *array, const luhip_wait *wait, luhip_error **error);

/* ---- programs and kernels ------------------------------------------------------------------------------------------ */

typedef struct luhip_text_pair {
  const char *name, *value;
} luhip_text_pair;

/* How a kernel uses one pointer parameter, overriding what its type says. */
typedef struct luhip_access {
  const char *kernel, *parameter, *access; /* "in", "out", "inout" */
} luhip_access;

typedef struct luhip_compile_options {
  const char *name;               /* of the program in messages; NULL: "kernel.hip" */
  const luhip_text_pair *defines; /* #define name value */
  size_t ndefines;
  const char *const *include_dirs;
  size_t ninclude_dirs;
  const luhip_text_pair *headers; /* name, text */
  size_t nheaders;
  const char *const *flags; /* further compiler options */
  size_t nflags;
  const char *const *names; /* template kernels by name expression: "scale<float, 4>" */
  size_t nnames;
  const luhip_access *access;
  size_t naccess;
  bool strict;         /* refuse what the oldest hiprtc lacks, whatever compiles it: docs/strict.md */
  bool no_cache;       /* neither look in the caches nor store there, as always where __has_include is used */
  unsigned timeout_ms; /* 0: 60 s */
} luhip_compile_options;

LUHIP_API luhip_status luhip_compile(luhip_device *device, const char *source, const luhip_compile_options *options,
                                     luhip_program **program, luhip_error **error);
/* The same beside the program: it begins as soon as a processor is free for it, and source and options may be freed at
   once. ready does not wait. wait gives the program, each time, or what luhip_compile would have returned; E_FREED when
   the device was closed meanwhile. A job that is released before it was begun is not begun. Closing a device waits for its
   compiles that have begun. */
typedef struct luhip_compiling luhip_compiling;
LUHIP_API luhip_status luhip_compile_start(luhip_device *device, const char *source,
                                           const luhip_compile_options *options, luhip_compiling **compiling,
                                           luhip_error **error);
LUHIP_API bool luhip_compile_ready(luhip_compiling *compiling);
LUHIP_API luhip_status luhip_compile_wait(luhip_compiling *compiling, const luhip_wait *wait, luhip_program **program,
                                          luhip_error **error);
LUHIP_API void luhip_compiling_release(luhip_compiling *compiling);
LUHIP_API luhip_program *luhip_program_retain(luhip_program *program);
LUHIP_API void luhip_program_release(luhip_program *program);
LUHIP_API size_t luhip_program_kernels(const luhip_program *program);
LUHIP_API const char *luhip_program_kernel_name(const luhip_program *program, size_t index);
LUHIP_API const char *luhip_program_log(const luhip_program *program); /* warnings; "" when none */
/* NULL name: the only kernel. E_NOT_FOUND lists the kernels that exist. The same kernel each time. */
LUHIP_API luhip_status luhip_program_kernel(luhip_program *program, const char *name, luhip_kernel **kernel,
                                            luhip_error **error);
/* A module global (__device__ or __constant__ variable) as a buffer of u8, or of `dtype` when it divides the size. */
LUHIP_API luhip_status luhip_program_global(luhip_program *program, const char *name, luhip_dtype dtype,
                                            luhip_buffer **buffer, luhip_error **error);

typedef struct luhip_compile_stats {
  uint64_t compiles, memory_hits, disk_hits, disk_rejects; /* process-wide */
} luhip_compile_stats;
LUHIP_API void luhip_compile_get_stats(luhip_compile_stats *stats);
/* Forgets all compiled kernels, in memory and on disk; entries (may be NULL): how many files went. Programs that are
   loaded stay. E_CACHE when the folder is not this user's alone or a file cannot be removed. Thread-safe. */
LUHIP_API luhip_status luhip_cache_clear(size_t *entries, luhip_error **error);

/* What a kernel parameter is. */
typedef struct luhip_param {
  const char *name; /* "x", or "" where the source gives none */
  const char *type; /* "const float *" */
  const char *kind; /* "value", "in", "out", "inout" */
  size_t bytes;
} luhip_param;

LUHIP_API luhip_kernel *luhip_kernel_retain(luhip_kernel *kernel);
LUHIP_API void luhip_kernel_release(luhip_kernel *kernel);
LUHIP_API const char *luhip_kernel_name(const luhip_kernel *kernel);
LUHIP_API size_t luhip_kernel_params(const luhip_kernel *kernel, const luhip_param **list);

typedef struct luhip_kernel_info {
  int registers, max_threads;
  size_t shared_bytes, local_bytes, const_bytes;
} luhip_kernel_info;
LUHIP_API luhip_status luhip_kernel_get_info(luhip_kernel *kernel, luhip_kernel_info *info, luhip_error **error);
LUHIP_API luhip_status luhip_kernel_occupancy(luhip_kernel *kernel, int block, size_t shared, int *blocks,
                                              luhip_error **error);

/* ---- code objects without a device ----------------------------------------------------------------------------- */

/* What a compile for an architecture gives: an ELF image to be stored, and what is known of its kernels. */
typedef struct luhip_image luhip_image;

typedef struct luhip_image_kernel {
  const char *name, *lowered; /* as asked for; as the image has it */
  const luhip_param *params;
  size_t nparams;
  bool described; /* the image itself tells the numbers below */
  uint64_t vector_registers, accumulator_registers, scalar_registers, vector_spills, scalar_spills;
  uint64_t shared_bytes, private_bytes, argument_bytes, max_threads, warp_size;
} luhip_image_kernel;

/* Compiles for "gfx90a", "gfx1030", ... through hiprtc, with no GPU. LUHIP_E_ARGUMENT for an arch that the compiler
   does not know (the message lists what it knows), LUHIP_E_NOT_FOUND where there is no hiprtc. Thread-safe. */
LUHIP_API luhip_status luhip_compile_for(const char *arch, const char *source, const luhip_compile_options *options,
                                         luhip_image **image, luhip_error **error);
LUHIP_API void luhip_image_release(luhip_image *image);
/* All borrowed from the image. */
LUHIP_API const void *luhip_image_code(const luhip_image *image, size_t *bytes);
LUHIP_API const char *luhip_image_log(const luhip_image *image); /* warnings; "" when none */
LUHIP_API size_t luhip_image_kernels(const luhip_image *image);
LUHIP_API bool luhip_image_get_kernel(const luhip_image *image, size_t index, luhip_image_kernel *kernel);

/* ---- launching ---------------------------------------------------------------------------------------------------------- */

typedef enum luhip_arg_tag {
  LUHIP_ARG_INT,    /* i */
  LUHIP_ARG_FLOAT,  /* f */
  LUHIP_ARG_BOOL,   /* i: 0 or 1 */
  LUHIP_ARG_BUFFER, /* buffer */
  LUHIP_ARG_NULL,   /* a null pointer */
  LUHIP_ARG_BYTES,  /* bytes, size: a struct by value, exactly its size */
  LUHIP_ARG_LIST,   /* list, size: numbers for a vector type (float4); or integers for a pointer to constant ones: they
                       are copied to the device, once for all launches on a stream that are given the same */
  LUHIP_ARG_OTHER   /* text: names what was given; always an error that says so */
} luhip_arg_tag;

typedef struct luhip_arg {
  luhip_arg_tag tag;
  union {
    int64_t i;
    double f;
    luhip_buffer *buffer;
    const void *bytes;
    const struct luhip_arg *list; /* of INT, FLOAT, BOOL */
    const char *text;
  };
  size_t size; /* BYTES: bytes; LIST: elements */
} luhip_arg;

#define LUHIP_MAX_ARGS 128

typedef struct luhip_launch_config {
  int64_t grid[3], block[3]; /* 64-bit so that what does not fit is seen and named */
  int64_t shared;            /* dynamic shared memory, bytes */
  luhip_stream *stream;
  luhip_buffer *grid_buffer;    /* three u32; overrides grid */
  luhip_buffer *const *touches; /* also read and written, though no argument says so */
  size_t ntouches;
  bool dry; /* check and compile only */
} luhip_launch_config;

/* Errors are only those of the call itself (argument, type, range, limits, freed). What the work does wrong
   claims the buffers it would have written and is met by read, check and sync. */
LUHIP_API luhip_status luhip_launch(luhip_kernel *kernel, const luhip_launch_config *config, const luhip_arg *args,
                                    size_t nargs, luhip_error **error);
/* A launch whose kernel has just failed to compile, for hosts that compile as late as that: `reason` is what
   luhip_compile said of the source and options, `kernel` is as for luhip_program_kernel. There is nothing to check
   the arguments against, but that their buffers are this device's and were not freed. Those that would have been
   written carry the reason; only parameters that the source declares as pointers to const, and those that the options'
   access names "in", are known to be read. While the stream records, the recording is doomed instead and its end
   claims them. With config->dry nothing is claimed; open profiles are worthless in any case. */
LUHIP_API luhip_status luhip_launch_uncompiled(luhip_device *device, const char *source,
                                               const luhip_compile_options *options, const char *kernel,
                                               const luhip_launch_config *config, const luhip_arg *args, size_t nargs,
                                               luhip_error *reason, luhip_error **error);
/* A launch with the geometry checked once. The launcher keeps the kernel, the stream and the buffers of the config. */
LUHIP_API luhip_status luhip_bind(luhip_kernel *kernel, const luhip_launch_config *config, luhip_launcher **launcher,
                                  luhip_error **error);
LUHIP_API luhip_status luhip_launcher_run(luhip_launcher *launcher, luhip_stream *stream, bool dry,
                                          const luhip_arg *args, size_t nargs,
                                          luhip_error **error); /* stream: used when the config named none */
LUHIP_API void luhip_launcher_release(luhip_launcher *launcher);
LUHIP_API luhip_kernel *luhip_launcher_kernel(luhip_launcher *launcher); /* borrowed */

/* ---- profiling ----------------------------------------------------------------------------------------------------------- */

/* A window on a stream: what it does from here until the stop. Windows nest and overlap. Starting records an event
   and waits for nothing. A failed or skipped operation of the device, on any stream, while the window is open makes it
   worthless: stop and wait return that failure. Refused while the stream is being recorded. */
LUHIP_API luhip_status luhip_profile_start(luhip_device *device, luhip_stream *stream, luhip_profile **profile,
                                           luhip_error **error);
/* Closes the window. E_FREED when it was stopped or abandoned before. A window that cannot be stopped is dropped. */
LUHIP_API luhip_status luhip_profile_stop(luhip_profile *profile, luhip_error **error);
/* Closes an open window without a result; nothing else happens to any other. */
LUHIP_API void luhip_profile_abandon(luhip_profile *profile);
/* The duration, from the window's own two events. E_NOT_READY while the window is open. */
LUHIP_API luhip_status luhip_profile_wait(luhip_profile *profile, const luhip_wait *wait, double *ms,
                                          luhip_error **error);
LUHIP_API luhip_status luhip_profile_ready(luhip_profile *profile, bool *ready, luhip_error **error);
/* Where the window lies on the host's monotonic clock, once its duration is known. */
LUHIP_API luhip_status luhip_profile_span(luhip_profile *profile, double *start_ms, double *end_ms,
                                          luhip_error **error);
LUHIP_API luhip_profile *luhip_profile_retain(luhip_profile *profile);
LUHIP_API void luhip_profile_release(luhip_profile *profile);

/* Makes every open window and trace worthless: a launch that was wanted could not even be tried, as when its kernel does
   not compile. */
LUHIP_API void luhip_profiles_fail(luhip_device *device, luhip_error *reason);

/* One operation of a trace. Strings are owned by the trace. */
typedef struct luhip_trace_record {
  const char *kind;                   /* "launch", "write", "read", "copy", "fill", "replay" */
  const char *name;                   /* of the kernel; of others the kind */
  uint64_t stream;                    /* luhip_stream_id */
  uint32_t grid[3], block[3], shared; /* of a launch */
  size_t bytes;                       /* of others */
  double start_ms;                    /* on the host's monotonic clock */
  double ms;
} luhip_trace_record;

/* From now on every operation of the device is timed by itself. One trace at a time. */
LUHIP_API luhip_status luhip_trace_start(luhip_device *device, luhip_trace **trace, luhip_error **error);
LUHIP_API luhip_status luhip_trace_stop(luhip_trace *trace, luhip_error **error);
/* Until all traced operations are done. Returns the failure when one failed or was skipped: then there are no records. */
LUHIP_API luhip_status luhip_trace_wait(luhip_trace *trace, const luhip_wait *wait, luhip_error **error);
/* After a successful wait, in the order of the calls. */
LUHIP_API size_t luhip_trace_records(const luhip_trace *trace, const luhip_trace_record **list);
LUHIP_API luhip_trace *luhip_trace_retain(luhip_trace *trace);
LUHIP_API void luhip_trace_release(luhip_trace *trace);
/* ---- capture and replay --------------------------------------------------------------------------------------------------- */

/* A stream's capture goes none, prepared, recording, none. While it is prepared, work runs as ever, and the memory it
   takes is kept for the recording: run the work once there (the warm-up). While it records, operations on the stream
   do not run but become nodes of a graph; what cannot be recorded (reads, waits for the stream, events, a grid from a
   buffer, replays, memory that is not there) is refused with LUHIP_E_CAPTURE, and the recording goes on.
   A step out of order is LUHIP_E_CAPTURE and changes nothing. Other streams work as ever. */
typedef enum luhip_capture_state {
  LUHIP_CAPTURE_NONE,
  LUHIP_CAPTURE_PREPARED,
  LUHIP_CAPTURE_RECORDING
} luhip_capture_state;

LUHIP_API luhip_status luhip_stream_prepare_capture(luhip_device *device, luhip_stream *stream, luhip_error **error);
LUHIP_API luhip_status luhip_stream_begin_capture(luhip_device *device, luhip_stream *stream, luhip_error **error);
/* An operation that failed, or was skipped for a stale input, makes the graph useless: the error names it, and what
   the recorded operations would have written carries it. The capture is over in any case. */
LUHIP_API luhip_status luhip_stream_end_capture(luhip_device *device, luhip_stream *stream, luhip_graph **graph,
                                                luhip_error **error);
/* Back to none from any state; nothing was done to any buffer. */
LUHIP_API luhip_status luhip_stream_cancel_capture(luhip_device *device, luhip_stream *stream, luhip_error **error);
LUHIP_API luhip_status luhip_stream_capture_state(luhip_device *device, luhip_stream *stream,
                                                  luhip_capture_state *state, luhip_error **error);
/* Makes a recording, if there is one, unable to end well: something that belonged to it went wrong before it came to an
   operation (a kernel that does not compile). */
LUHIP_API void luhip_stream_doom_capture(luhip_device *device, luhip_stream *stream, luhip_error *reason);
LUHIP_API bool luhip_device_is_recording(luhip_device *device); /* any of its streams */
/* Refuses the close of a device that nobody else has open while one of its streams records. */
LUHIP_API luhip_status luhip_device_may_close(luhip_device *device, luhip_error **error);

/* A graph owns what it replays: buffers (also freed ones), kernels, the bytes of recorded writes. */
LUHIP_API luhip_graph *luhip_graph_retain(luhip_graph *graph);
LUHIP_API void luhip_graph_release(luhip_graph *graph); /* never waits; replays under way run to their end */
/* Waits for its replays, then gives up what it owns: later calls on it answer LUHIP_E_FREED. Idempotent. When the
   wait is interrupted or takes too long the graph is as before. */
LUHIP_API luhip_status luhip_graph_free(luhip_graph *graph, const luhip_wait *wait, luhip_error **error);
LUHIP_API bool luhip_graph_is_freed(const luhip_graph *graph);
LUHIP_API uint64_t luhip_graph_id(const luhip_graph *graph);
/* Enqueues all of it as one operation. With a stale input it is skipped like a launch: what it writes becomes stale. */
LUHIP_API luhip_status luhip_graph_replay(luhip_graph *graph, luhip_stream *stream, luhip_error **error);
/* Other arguments for the launch-th recorded launch, 0-based; replays to come use them. Errors are those of a launch. */
LUHIP_API luhip_status luhip_graph_update(luhip_graph *graph, size_t launch, const luhip_arg *args, size_t nargs,
                                          luhip_error **error);
/* "driver": the driver replays a graph of its own; "list": the recorded operations are enqueued one by one. */
LUHIP_API luhip_status luhip_graph_kind(luhip_graph *graph, const char **kind, luhip_error **error);

typedef enum luhip_node_kind { LUHIP_NODE_KERNEL, LUHIP_NODE_WRITE, LUHIP_NODE_FILL, LUHIP_NODE_COPY } luhip_node_kind;

typedef struct luhip_node {
  luhip_node_kind kind;
  luhip_kernel *kernel; /* of a launch, retained: the caller releases it; else NULL */
  size_t launch;        /* of a launch: its index for luhip_graph_update */
  uint32_t grid[3], block[3], shared;
  size_t nargs; /* of a launch */
  size_t bytes; /* moved or set by the others */
} luhip_node;

typedef struct luhip_node_arg {
  bool is_buffer, is_null; /* is_null: a null pointer */
  luhip_layout layout;     /* of a buffer */
  uint64_t allocation;     /* of a buffer: the same for views of the same memory */
  bool has_dtype;          /* a value of one of our element types, */
  luhip_dtype dtype;
  size_t size; /* or any bytes; the first 64 are here */
  unsigned char bytes[64];
} luhip_node_arg;

LUHIP_API luhip_status luhip_graph_nodes(luhip_graph *graph, size_t *count, luhip_error **error);
LUHIP_API luhip_status luhip_graph_node(luhip_graph *graph, size_t index, luhip_node *node, luhip_error **error);
LUHIP_API luhip_status luhip_graph_node_arg(luhip_graph *graph, size_t index, size_t argument, luhip_node_arg *arg,
                                            luhip_error **error);
/* The graph in Graphviz's language; the caller frees the text with free(). */
LUHIP_API luhip_status luhip_graph_dot(luhip_graph *graph, char **text, luhip_error **error);

/* ---- Lua ------------------------------------------------------------------------------------------------------------------- */

struct lua_State;
/* The core of the Lua module: require "luhip" loads it as luhip.core. Idempotent. */
LUHIP_API int luaopen_luhip_core(struct lua_State *L);
/* The whole module, for a host that links the library: the core, then luhip/init.lua from package.path. */
LUHIP_API int luaopen_luhip(struct lua_State *L);

/* Sharing objects with scripts. A host that does so links the library and gives it to its states itself:
       luaL_requiref(L, "luhip", luaopen_luhip, 0);
   `require "luhip"` then finds this copy. The module luhip/core.so is a copy of its own, whose objects this one does
   not know: it gives NULL for them, and pushing into a state that has only that module raises an error.
   All four are called like functions of lua.h: on the state's own thread, and in protected mode where they push, since
   they may raise Lua errors (out of memory; an error object for a buffer that was freed or whose device was closed). */

/* Pushes a device object that is one more user of the open device. Objects that are alive are used again. */
LUHIP_API void luhip_lua_push_device(struct lua_State *L, luhip_device *device);
/* Pushes a buffer object that shares the buffer: both sides see its claims, its order and its memory, which lives
   until both have let go of it. A free by either side is one for both. */
LUHIP_API void luhip_lua_push_buffer(struct lua_State *L, luhip_buffer *buffer);
/* What the value at idx holds, borrowed from it; NULL for anything else, and for what is closed. Push nothing, raise
   nothing. Retain a buffer to keep it longer than the value. */
LUHIP_API luhip_device *luhip_lua_to_device(struct lua_State *L, int idx);
LUHIP_API luhip_buffer *luhip_lua_to_buffer(struct lua_State *L, int idx);

#ifdef __cplusplus
}
#endif

#endif
