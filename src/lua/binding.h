/*
 * binding.h - what the files of the Lua binding share. Each part is explained in the file it names.
 *
 * The binding uses the public C interface (luhip.h), and src/tune in the files of tune.h. Its rules:
 *   - A userdata is pushed, zeroed and given its metatable before the native object goes into it, so that a
 *     Lua error finds every native thing owned by something that is collected.
 *   - C functions of the library do not raise; their status is turned into a Lua error here.
 *   - Pointers out of a userdata are read again after anything that may have run Lua code, which whatever
 *     allocates may do: a finaliser can close a device. So the last thing before a call of the library is to
 *     look at the pointers it takes. A buffer's handle is the exception: it lasts as long as its userdata.
 *   - __gc never waits for the device; __close and free do the same as __gc and may be called twice.
 */
#ifndef LUHIP_LUA_BINDING_H
#define LUHIP_LUA_BINDING_H

#include <stdatomic.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "base/log.h"
#include "luhip.h"

struct lb_device;
struct lb_state;

/* ---- classes (class.c) ----------------------------------------------------------------------------------------- */

#define LB_CLASSES(X)                                                                                                  \
  X(DEVICE, device)                                                                                                    \
  X(BUFFER, buffer)                                                                                                    \
  X(ARRAY, array)                                                                                                      \
  X(PROGRAM, program)                                                                                                  \
  X(KERNEL, kernel)                                                                                                    \
  X(LAUNCHER, launcher)                                                                                                \
  X(STREAM, stream)                                                                                                    \
  X(EVENT, event)                                                                                                      \
  X(FUTURE, future)                                                                                                    \
  X(GRAPH, graph)                                                                                                      \
  X(CAPTURE, capture)                                                                                                  \
  X(WINDOW, window)                                                                                                    \
  X(DURATION, duration)                                                                                                \
  X(TRACE, trace)                                                                                                      \
  X(RESOURCE, resource)                                                                                                \
  X(IMAGE, image)                                                                                                      \
  X(PLAN, plan)                                                                                                        \
  X(SCOPE, scope)                                                                                                      \
  X(EXPRESSION, expression)                                                                                            \
  X(SPACE, space)                                                                                                      \
  X(EXPLORER, explorer)                                                                                                \
  X(JOURNAL, journal)                                                                                                  \
  X(COMPANION, companion)                                                                                              \
  X(RECORDS, records)                                                                                                  \
  X(EDITOR, editor)                                                                                                    \
  X(ERROR, error)

enum lb_class {
#define X(NAME, name) LB_##NAME,
  LB_CLASSES(X)
#undef X
      LB_CLASS_COUNT
};

/* The functions of one class; any list may be NULL. A field is a getter called with (object, key). */
struct lb_class_functions {
  const luaL_Reg *methods, *fields, *meta;
};

/* Registers a class: its metatable in the registry, its live method table in core.methods. */
void lb_class_register(lua_State *L, enum lb_class which, const struct lb_class_functions *functions);
/* Each class's own: lb_open_device and so on. */
#define X(NAME, name) void lb_open_##name(lua_State *L);
LB_CLASSES(X)
#undef X

/* Pushes a new zeroed userdata of the class, with `values` user values. */
void *lb_new(lua_State *L, enum lb_class which, size_t size, int values);
/* What each ends in. */
struct lb_class_tag {
  const char *class_keys;
};
extern const char lb_class_keys[LB_CLASS_COUNT][2]; /* of class.c */
/* The userdata at idx if it is one of the class, else NULL; check raises "type". */
static inline void *lb_test(lua_State *L, int idx, enum lb_class which) {
  struct lb_class_tag tag;
  char *object = lua_touserdata(L, idx);
  if (!object) return NULL;
  size_t size = (size_t)lua_rawlen(L, idx); /* 0 for a light userdata */
  if (size < sizeof tag) return NULL;
  memcpy(&tag, object + size - sizeof tag, sizeof tag);
  return tag.class_keys == lb_class_keys[which] ? object : NULL;
}
void *lb_check(lua_State *L, int idx, enum lb_class which);
void lb_push_metatable(lua_State *L, enum lb_class which);
void lb_push_methods(lua_State *L, enum lb_class which);
/* What a value is, for messages: "luhip.buffer", "number", "nil". Static, or anchored by the value. */
const char *lb_type_name(lua_State *L, int idx);

/* ---- errors (error.c) ------------------------------------------------------------------------------------------- */

/* Raises an error object; formats as lua_pushfstring. */
int lb_raise(lua_State *L, luhip_status kind, const char *format, ...);
/* The same about argument idx of the running function: "bad argument #2 to 'buffer:slice' (...)". */
int lb_argument(lua_State *L, int idx, luhip_status kind, const char *format, ...);
/* Raises what the library returned; takes over the error, which may be NULL. */
int lb_fail(lua_State *L, luhip_status status, luhip_error *error);
/* Pushes it instead. */
void lb_push_error(lua_State *L, luhip_status status, luhip_error *error);
/* Pushes "device:buffer" or "luhip.open" for the running function, or "?". */
const char *lb_push_function_name(lua_State *L);
/* Raises the error object on top, which gets its place in the Lua code. */
int lb_throw(lua_State *L);
/* What the error object at idx holds, borrowed. */
luhip_error *lb_native_error(lua_State *L, int idx);
int lb_is_error(lua_State *L);   /* core.is_error */
int lb_make_error(lua_State *L); /* core.error */
int lb_own_sources(lua_State *L);

/* ---- arguments (check.c) ---------------------------------------------------------------------------------------- */

/* A whole number within min..max. Strings are not converted. */
lua_Integer lb_check_integer(lua_State *L, int idx, const char *what, lua_Integer min, lua_Integer max);
/* The same for a value that is no argument (an element of a table): raises with `what` alone. */
lua_Integer lb_to_integer(lua_State *L, int idx, const char *what, lua_Integer min, lua_Integer max);
const char *lb_check_string(lua_State *L, int idx, const char *what, size_t *length); /* a string proper */
const char *lb_check_text(lua_State *L, int idx, const char *what);                   /* without zero bytes */
void lb_check_function(lua_State *L, int idx, const char *what);
luhip_dtype lb_check_dtype(lua_State *L, int idx);
/* A number or a list of them into layout->ndim, shape, strides (packed), count, bytes; layout->dtype is set before. */
void lb_check_shape(lua_State *L, int idx, luhip_layout *layout);
/* Strides, count and bytes of a packed layout of layout's dtype and shape; false: they overflow. */
bool lb_layout_pack(luhip_layout *layout);
/* first, last at idx and idx + 1, 1-based and inclusive, within 1..count; either may be absent. Gives offset and length. */
void lb_check_range(lua_State *L, int idx, size_t count, size_t *offset, size_t *length);
/* Which of the names the key at idx is; anything else raises and names the nearest. `what`: "launch". */
int lb_check_key(lua_State *L, int idx, const char *const *names, const char *what);
/* That there is nothing behind argument `last`, in functions that may be taken to have options, a timeout or more dimensions.
   Those of data do without: what gives the data may well give more. */
int lb_unexpected(lua_State *L, int idx);
static inline void lb_no_more(lua_State *L, int last) {
  if (__builtin_expect(!lua_isnoneornil(L, last + 1), 0)) lb_unexpected(L, last + 1);
}
/* The length of the list at idx, a table; raises where it has other keys than 1, 2, ..., or gaps. */
size_t lb_check_list(lua_State *L, int idx, const char *what);
/* Pushes "a, b, c"; NULL ends the names. */
const char *lb_push_names(lua_State *L, const char *const *names);
/* Pushes "f32[512, 256]". */
const char *lb_push_shape(lua_State *L, const luhip_layout *layout);
void lb_push_sizes(lua_State *L, const size_t *sizes, int n);

/* ---- elements (convert.c) ----------------------------------------------------------------------------------------- */

enum lb_fit { LB_FITS, LB_WRONG_TYPE, LB_OUT_OF_RANGE };

/* The Lua value at idx as one element; exact, but for the rounding of floating-point types. */
enum lb_fit lb_to_element(lua_State *L, int idx, luhip_dtype dtype, void *element);
void lb_push_element(lua_State *L, luhip_dtype dtype, const void *element);
/* One element to another type, as a C cast does it where the value fits. */
enum lb_fit lb_cast_element(luhip_dtype from, const void *source, luhip_dtype to, void *target);
/* Raises for an element that did not fit; where: "element [3]", the value is at idx. */
int lb_bad_element(lua_State *L, int idx, luhip_dtype dtype, enum lb_fit fit, const char *where);
bool lb_is_complex(luhip_dtype dtype);

/* ---- data (data.c) --------------------------------------------------------------------------------------------------- */

/* The shape of the data at idx (nested table, byte string, host array) into a packed layout of layout->dtype. */
void lb_data_shape(lua_State *L, int idx, luhip_layout *layout);
/* How many times `inner` elements the data at idx holds, or -1 where it has no count of its own (number, function). */
lua_Integer lb_data_count(lua_State *L, int idx, luhip_dtype dtype, const luhip_layout *inner);
/* Prepares data of any kind as the source of a write to something of this layout: pushes what owns the bytes, fills
   data, bytes and array. What has to be converted goes into pinned memory where a device is given and can.
   A function as data runs here. */
void lb_data_source(lua_State *L, int idx, struct lb_device *device, const luhip_layout *layout, luhip_source *source);
/* The same of an array, which the caller holds. */
void lb_array_source(lua_State *L, luhip_array *array, const luhip_layout *layout, luhip_source *source);
/* Pushes the elements as tables nested by shape. */
void lb_data_push(lua_State *L, const luhip_layout *layout, const void *data);

/* ---- per-state (state.c) ---------------------------------------------------------------------------------------------- */

/* What one Lua state keeps: in the registry, from the first luaopen to the end of lua_close. */
struct lb_state {
  lua_State *main;
  size_t soft_limit;          /* bytes of buffers and arrays of the process beyond which this state collects */
  int scopes;                 /* with and dry_run calls that are running now */
  struct lb_parting *parting; /* devices collected but not closed yet */
  bool closed;
  bool delivering;          /* the log sink runs */
  bool reading;             /* by the reader */
  struct lb_future *reader; /* of lb_read, kept in the registry; NULL: none yet */
};
/* A device on its way out; made with its userdata, so that a finaliser allocates nothing. */
struct lb_parting {
  luhip_device *device;
  struct lb_parting *next;
};
void lb_state_open(lua_State *L);
struct lb_state *lb_state(lua_State *L);
/* Closes the devices that were collected. Waits for their work. */
void lb_state_part(struct lb_state *state);

/* Memory that the collector does not see. charge is called before the allocation and may collect; *slot remembers. */
void lb_charge(lua_State *L, size_t *slot, size_t bytes);
void lb_discharge(size_t *slot);
size_t lb_charged(void); /* by all states of the process */
struct lb_hooks {
  lua_State *L, *main;
  lua_Hook hook, main_hook;
  int mask, main_mask;
};

/* A call of the library that may be repeated: zero-initialised.
     do { ...; lb_try(L, state, &tries); status = ...; } while (lb_retry(L, owner, status, &error, &tries));  */
struct lb_tries {
  int count;
  luhip_host host;
  struct lb_hooks hooks;
};

/* Waits inside the call that follows heed the host's hooks, and for lack of memory it claims nothing the first time. Not
   needed where neither can be. Nothing between this and lb_retry may raise. */
void lb_try(lua_State *L, const struct lb_state *state, struct lb_tries *tries);
/* True after E_INTERRUPTED when the hook did not raise, and once after E_OOM, E_TOO_MANY_STREAMS or E_FILE (no descriptor
   left), when garbage was collected and, for E_OOM, cached memory given back: the caller tries again, and reads its
   pointers again. */
bool lb_retry_failed(lua_State *L, struct lb_device *owner, luhip_status status, luhip_error **error,
                     struct lb_tries *tries);
static inline bool lb_retry(lua_State *L, struct lb_device *owner, luhip_status status, luhip_error **error,
                            struct lb_tries *tries) {
  if (status != LUHIP_OK) return lb_retry_failed(L, owner, status, error, tries);
  luhip_set_host(NULL);
  return false;
}
/* The part of it in wait.c: the call is over; whether it was interrupted and goes on. */
bool lb_tried(lua_State *L, luhip_status status, luhip_error **error, struct lb_tries *tries);

/* ---- settings and log lines (config.c) ------------------------------------------------------------------------------- */

int lb_settings(lua_State *L);
int lb_config_set(lua_State *L);
int lb_config_get(lua_State *L);
int lb_config_number(lua_State *L);
int lb_config_file(lua_State *L);
int lb_log_sink(lua_State *L);
int lb_log_on(lua_State *L);
int lb_log(lua_State *L);
/* Gives waiting lines to the state's sink, which may run any Lua: only where a function is about to return. The stack is
   as before; nothing is raised. */
void lb_log_deliver(lua_State *L);
void lb_log_close(struct lb_state *state);
/* return lb_logged(L, 1); */
static inline int lb_logged(lua_State *L, int results) {
  if (__builtin_expect(log_waiting() > 0, 0)) lb_log_deliver(L);
  return results;
}

/* doctor.c */
int lb_folder_names(lua_State *L);
int lb_path_state(lua_State *L);
int lb_cache_folder(lua_State *L);
int lb_find_library(lua_State *L);
int lb_toolchain(lua_State *L);
int lb_config_check(lua_State *L);
int lb_limits(lua_State *L);

/* ---- waiting (wait.c) ------------------------------------------------------------------------------------------------- */

/* Calls the waiter until it is done, fails (raises) or the host wants the thread (hooks run). The waiter reads
   its native object out of `object` at each call; *error may stay NULL. */
typedef luhip_status (*lb_waiter)(void *object, const luhip_wait *wait, luhip_error **error);
void lb_wait(lua_State *L, lb_waiter waiter, void *object);
/* The same, but gives a failure back. */
luhip_status lb_wait_status(lua_State *L, lb_waiter waiter, void *object, luhip_error **error);

/* ---- scopes (scope.c) ---------------------------------------------------------------------------------------------------- */

/* What the running coroutine's operations on a device are to do. */
struct lb_scope {
  luhip_stream *stream; /* the current one, borrowed from the scope; NULL: the default stream */
  bool dry;
  luhip_plan *plan; /* that buffers made here are added to, borrowed; NULL: none */
};
struct lb_scope lb_scope_search(lua_State *L, const struct lb_device *device); /* in or around a scope */
static inline struct lb_scope lb_scope(lua_State *L, const struct lb_state *state, const struct lb_device *device) {
  if (state->scopes == 0 && L == state->main) return (struct lb_scope){NULL, false, NULL};
  return lb_scope_search(L, device);
}
int lb_device_with(lua_State *L);
int lb_device_dry_run(lua_State *L);
int lb_plan_run(lua_State *L);   /* core.plan_run */
int lb_in_dry_run(lua_State *L); /* core.in_dry_run */

/* ---- objects ---------------------------------------------------------------------------------------------------------------- */

/* Everything made from a device keeps its userdata as user value 1 and points to it as `owner`. */
struct lb_device {
  luhip_device *device; /* NULL: closed */
  struct lb_parting *parting;
  luhip_device_info info;
};
struct lb_device *lb_check_device(lua_State *L, int idx); /* open */
/* Opens a device as another user of it, and pushes the object. options may be NULL. */
struct lb_device *lb_push_device(lua_State *L, const char *id, const luhip_open_options *options);
extern const luaL_Reg lb_device_functions[]; /* core.devices, core.open */
/* memory.c */
extern const luaL_Reg lb_memory_methods[]; /* of devices */
extern const luaL_Reg lb_memory_functions[];
/* Pushes the list of pools at idx, checked; what: "open: pools". */
const luhip_pool *lb_push_pools(lua_State *L, int idx, const char *what, size_t *count);
struct lb_plan {
  luhip_plan *plan; /* NULL: freed */
};
struct lb_plan *lb_check_plan(lua_State *L, int idx); /* not freed */
/* The open device behind an owner; raises "freed" when it was closed. */
luhip_device *lb_owner(lua_State *L, const struct lb_device *owner);

struct lb_buffer {
  luhip_buffer *buffer; /* kept until collected, freed or not; NULL only if making it failed */
  struct lb_device *owner;
  size_t charged;
};
/* Live: not freed, its device open. Of an argument, or of the object itself. */
struct lb_buffer *lb_check_buffer(lua_State *L, int idx);
/* A new buffer object, its native part to be filled in; device is where the owner's userdata lies. User value 1 is the
   device, 2 the buffer that it is a view of, 3 the layout of its structs: it has as many as `values`. */
struct lb_buffer *lb_new_buffer(lua_State *L, int device, struct lb_device *owner, int values);
/* A new buffer of the layout's shape on the device at 1, which may be pitched. */
typedef luhip_status (*lb_buffer_maker)(luhip_device *, luhip_dtype, int, const size_t *, luhip_buffer **,
                                        luhip_error **);
struct lb_buffer *lb_push_buffer(lua_State *L, const luhip_layout *layout, lb_buffer_maker make);
/* Writes the data at `data` into the whole buffer on top, which stays there. */
void lb_initialise(lua_State *L, int data);
/* Pushes a view of the buffer at idx. layout's count and bytes are computed by the library. */
struct lb_buffer *lb_push_view(lua_State *L, int idx, const luhip_layout *layout);
/* layout of elements (1-D) or rows (n-D) offset .. offset + length - 1. */
luhip_layout lb_slice_layout(const luhip_layout *layout, size_t offset, size_t length);
/* Pushes a list of buffers, or one buffer, at idx as an array of native handles; the userdata pushed owns the memory. */
luhip_buffer **lb_push_buffers(lua_State *L, int idx, const char *what, size_t *n);
int lb_device_buffer(lua_State *L);
int lb_device_from(lua_State *L);
int lb_device_pitched(lua_State *L);
extern const luaL_Reg lb_view_methods[]; /* view.c: further methods of buffers */

/* record.c: buffers of structs. Their layouts have `record`, user value 3 is the layout that luhip.struct made. */
bool lb_is_struct(lua_State *L, int idx); /* a table of luhip.struct */
/* dev:buffer and dev:from with a struct layout at 2. */
int lb_make_records(lua_State *L);
int lb_records_from(lua_State *L);
/* Pushes the bytes of the buffer at 1 as structs. */
int lb_view_records(lua_State *L);
/* Data for the buffer at `buffer`, for `count` of its bytes or as much as there is (-1): what is neither a byte string nor
   an array at idx becomes the byte string of the structs. Nothing happens for other buffers. */
void lb_records_data(lua_State *L, int buffer, int idx, lua_Integer count);
/* Pushes what the struct layout of the buffer at 1 makes of the array on top: `what` is "__totable" or "__array". */
void lb_records_read(lua_State *L, const char *what);
/* Pushes "particle[10]" for the buffer of structs at idx. */
const char *lb_push_records_shape(lua_State *L, int idx);

struct lb_array {
  luhip_array *array; /* NULL: freed */
  size_t charged;
  bool pinned;
};
struct lb_array *lb_check_array(lua_State *L, int idx); /* not freed */
struct lb_array *lb_new_array(lua_State *L);            /* native part to be filled in */
/* Pushes a new packed array: plain, or pinned where device is given and can. */
struct lb_array *lb_push_array(lua_State *L, struct lb_device *device, const luhip_layout *layout);
/* Pushes another reference to an array that was checked: it stays whole while whatever runs frees the first one. */
struct lb_array *lb_hold_array(lua_State *L, const struct lb_array *array);
/* Waits until the array may be changed. */
void lb_settle(lua_State *L, struct lb_array *array);
int lb_array_new(lua_State *L); /* core.array */

/* transfer.c. All take the current stream of the owner's device. */
void lb_transfer_write(lua_State *L, struct lb_device *owner, luhip_source *sources, size_t n);
void lb_transfer_fill(lua_State *L, struct lb_device *owner, luhip_buffer *buffer, const void *element);
void lb_transfer_copy(lua_State *L, struct lb_device *owner, luhip_buffer *target, luhip_buffer *source);
/* Writes the array at idx. */
void lb_transfer_write_array(lua_State *L, int idx, struct lb_device *owner, luhip_buffer *buffer);
int lb_device_read(lua_State *L);
int lb_device_write(lua_State *L);
int lb_device_staging(lua_State *L);
int lb_device_resource(lua_State *L);

/* future.c: starts a read and pushes the future. */
struct lb_future {
  luhip_future *future; /* NULL: freed, or made in a dry run */
  struct lb_device *owner;
  size_t charged; /* until the arrays are Lua's */
  bool single, dry;
};
struct lb_future *lb_push_read(lua_State *L, int device, struct lb_device *owner, luhip_buffer *const *buffers,
                               size_t n, bool single);
/* Waits for the future at idx and pushes its array or table of arrays. */
void lb_future_result(lua_State *L, int idx);
/* Reads the buffer, which something on the stack keeps, and waits; pushes the array. */
struct lb_array *lb_read(lua_State *L, struct lb_device *owner, luhip_buffer *buffer);

/* options.c */
/* Reads the compile options at idx (nil: none) and pushes what owns them. name: a kernel that is asked for, or NULL. */
enum lb_when { LB_COMPILE_NOW, LB_COMPILE_LAZY, LB_COMPILE_BACKGROUND };
void lb_compile_options(lua_State *L, int idx, const char *name, luhip_compile_options *options, enum lb_when *when);

/* program.c and kernel.c */
int lb_device_compile(lua_State *L);
int lb_compile_for(lua_State *L);     /* image.c: core.compile_for */
int lb_interruptible(lua_State *L);   /* interrupt.c: core.interruptible */
int lb_hold_interrupts(lua_State *L); /* core.hold_interrupts */
bool lb_interrupted(void);            /* whether Ctrl-C has come in the current core.interruptible */
int lb_await_input(lua_State *L);     /* core.await_input (edit.c) */
int lb_editor_new(lua_State *L);      /* core.editor (edit.c) */
int lb_append_private(lua_State *L);  /* core.append_private (edit.c) */
/* Pushes { {name=, type=, kind=, bytes=}, ... }; something keeps the list while Lua allocates. */
void lb_push_params(lua_State *L, const luhip_param *list, size_t n);
int lb_device_kernel(lua_State *L);
struct lb_program {
  luhip_program *program; /* NULL: freed */
  struct lb_device *owner;
};
struct lb_kernel {
  luhip_kernel *kernel;       /* NULL: freed, or lazy and not compiled yet */
  luhip_compiling *compiling; /* of one that is lazy, in the background; NULL: at its first use */
  struct lb_device *owner;
  bool lazy;
};
struct lb_kernel *lb_check_kernel(lua_State *L, int idx); /* compiled and not freed */
/* The same, to be launched. When it does not compile now, it is still `lazy`, and the error object is pushed (D2). */
struct lb_kernel *lb_check_launched(lua_State *L, int idx);
/* What the lazy kernel at idx is made of. Pushes what owns it. */
struct lb_recipe {
  const char *source, *name; /* name NULL: the only kernel */
  luhip_compile_options options;
};
void lb_push_recipe(lua_State *L, int idx, struct lb_recipe *recipe);

/* launch.c */
struct lb_launcher {
  luhip_launcher *launcher; /* NULL: freed */
  struct lb_device *owner;
};
/* kernel:launch, kernel:bind and kernel:__call; they carry upvalues and are added to the class by this. */
void lb_open_launch(lua_State *L);

struct lb_stream {
  luhip_stream *stream; /* NULL: freed */
  struct lb_device *owner;
};
struct lb_event {
  luhip_event *event; /* NULL: freed */
  struct lb_device *owner;
};
struct lb_stream *lb_check_stream(lua_State *L, int idx); /* not freed, device open */

/* graph.c */
struct lb_graph {
  luhip_graph *graph; /* kept until collected, freed or not; NULL only if making it failed */
  struct lb_device *owner;
};
struct lb_graph *lb_check_graph(lua_State *L, int idx); /* not freed, device open */

int lb_device_stream(lua_State *L);
int lb_device_streams(lua_State *L);
int lb_device_record(lua_State *L);

/* tune.c: core.space and what else luhip.tune needs */
extern const luaL_Reg lb_tune_functions[];

/* profile.c */
int lb_device_start_profile(lua_State *L);
extern const luaL_Reg lb_trace_functions[]; /* core.trace */

/* inflate.c: core.inflate, core.deflate, core.crc32. */
int lb_inflate(lua_State *L);
int lb_deflate(lua_State *L);
int lb_crc32(lua_State *L);

#endif
