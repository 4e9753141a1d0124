--- What every object that luhip's C side gives can do: the one place where it is written down.
--
-- The reference, the manual page and the annotations for LuaLS are made of this and of the comments of the Lua modules;
-- the prompt's :doc reads it. A spec holds it against what is bound.
--
-- A method is { signature, text }; a signature is a name, its parameters with types as LuaLS writes them, and what it
-- gives. A field is { "name: type", text }. `raises` lists kinds of errors beyond those that any call may raise (type,
-- argument, freed).
-- Dependencies: none.
-- @module luhip.docs.objects

local objects = {}

objects.aliases = {
  {
    "luhip.dtype",
    '"i8"|"u8"|"i16"|"u16"|"i32"|"u32"|"i64"|"u64"|"f16"|"bf16"|"f32"|"f64"|"bool"|"c64"|"c128"',
    "An element type. Complex numbers are { re, im } in Lua, bool is true or false.",
  },
  { "luhip.shape", "integer|integer[]", "How many elements, or how many along each dimension, the last one fastest." },
  {
    "luhip.data",
    "number|boolean|table|string|luhip.array|fun(i: integer): any",
    "What buffers are filled with: one value for all, (nested) tables, packed bytes, a host array, or a function of "
      .. "the 1-based index.",
  },
}

objects.classes = {}

local function class(entry)
  objects.classes[#objects.classes + 1] = entry
end

class {
  name = "device",
  text = "An open device, from `luhip.open`. What is made from it keeps it open; `close` ends all of it.",
  methods = {
    {
      "buffer(dtype: luhip.dtype|table, shape: luhip.shape, init?: luhip.data): luhip.buffer",
      "Makes a buffer. Without `init` its content is undefined and its memory comes with the first use. The type may "
        .. "be a layout of luhip.struct.",
      raises = "shape, too_big, oom",
    },
    {
      "from(dtype: luhip.dtype|table, data: table|string|luhip.array): luhip.buffer",
      "Makes a buffer of data, whose shape it takes.",
      raises = "shape, range, oom",
    },
    {
      "pitched(dtype: luhip.dtype, shape: integer[], init?: luhip.data): luhip.buffer",
      "Makes a buffer whose rows are padded as the device likes them. All methods work as for others.",
    },
    {
      "read(buffers: luhip.buffer[]): luhip.array[]",
      "Reads several buffers behind one fence. A stale one fails the whole, and nothing is copied.",
      raises = "what a buffer's claims say",
    },
    {
      "write(parts: { [1]: luhip.buffer, [2]: luhip.data }[])",
      "Writes several: { { x, data }, ... }. Every part is attempted; the first error is raised after all were.",
    },
    {
      "staging(sizes: integer[]): luhip.array[]",
      "Host arrays of bytes, pinned where they can be, plain where not.",
    },
    {
      "resource(buffer: luhip.buffer): luhip.resource",
      "The raw address for neighbours in C. Tests claims, waits for earlier work, keeps the memory alive.",
    },
    {
      "compile(source: string, options?: table): luhip.program",
      'Compiles HIP C++ text. Options: name, defines = { N = 4 }, include_dirs, headers = { ["a.h"] = text }, flags, '
        .. 'names = { "scale<float>" }, access = { kernel = { parameter = "out" } }, strict.',
      raises = "compile (with diagnostics), not_found, timeout",
    },
    {
      "kernel(source: string, name?: string, options?: table): luhip.kernel",
      "Compiles and gives one kernel; the name may be left out when there is only one. Beside the options of compile: "
        .. "lazy = true compiles at the first launch, background = true at once, beside the script.",
      raises = "compile, not_found",
    },
    { "stream(): luhip.stream", "A new stream.", raises = "too_many_streams" },
    { "streams(): luhip.stream[]", "All streams that are there, the default stream first." },
    { "record(stream?: luhip.stream): luhip.event", "An event on a stream, the current one by default." },
    {
      "with(stream: luhip.stream, fn: function, ...: any): any",
      "Runs fn with the stream as the current one, in this coroutine and those it creates. Gives what fn gives.",
    },
    {
      "dry_run(fn: function, ...: any): any",
      "Runs fn; launches are compiled and checked, and nothing happens on the device. Reads give zeros.",
    },
    {
      "capture(fn: function, options?: table): luhip.graph",
      "Runs fn once as warm-up, then records it as a graph. Options: stream, warmup = false. An error inside cancels.",
      raises = "capture",
    },
    {
      "time(fn: function, options?: table): number, number[]",
      "Milliseconds on the device, the median of the samples, and the samples. Options: warmup, samples.",
    },
    {
      "start_profile(stream?: luhip.stream): luhip.window",
      "Opens a window where the stream is; nothing is waited for.",
      raises = "capture",
    },
    {
      "profile(fn: function): luhip.profile",
      'Times every operation of fn by itself: print it, `:rows()`, `:trace "out.json"`.',
    },
    {
      "sync(buffers?: luhip.buffer[])",
      "Waits for all streams. With buffers it tests their claims first. Raises the failure of an operation that no "
        .. "buffer carries.",
    },
    {
      "check(buffers: luhip.buffer|luhip.buffer[]): true|nil, luhip.error?",
      "Whether the buffers' content is what their last writers made; nil and the error otherwise. Does not wait.",
    },
    { "flush()", "Lets go of what has passed and of pending frees. Never waits." },
    {
      "memory(): table",
      "Figures: buffers, in_use, padding, reserved, limit, pinned, device_free, device_total (bytes).",
    },
    { "memory_cleanup()", "Gives cached memory back to the driver." },
    { "memory_report(): table", "What the pools of all streams hold, and who has it: print it." },
    { "memory_pools(): table[]", "The pools of all streams, device and pinned, with their figures." },
    { "memory_holders(): table[]", "Who has memory: { id =, stream =, role =, bytes =, padding =, what = }." },
    {
      'memory_mode(mode: "persistent"|"auto", fn?: function, ...: any): any',
      "Persistent mode of the current stream while fn runs, or from now on: what is allocated comes in exact sizes and "
        .. "is kept for the next time.",
    },
    { "pools(): table[]", "The layout of the current stream's pools." },
    {
      "install_pools(layout: string|table[])",
      'Pools for streams to come, and for the current one: a preset ("sub-slices", "exclusive"), a list, or a plan.',
      raises = "pools_in_use, config, capture",
    },
    {
      "plan(fn: function, ...: any): table[], table",
      "What memory fn needs, without running it: a layout for install_pools, and the peaks.",
      raises = "oom, too_big",
    },
    { "toolchain(): table", "What compiles for it: name, version, and what part it has in the cache's keys." },
    {
      "close()",
      "Ends this user's use of the device. The last one waits for its work and gives everything back.",
      raises = "capture",
    },
    { "free()", "The same as close." },
  },
  fields = {
    { "id: string", '"cpu:0", "cuda:1"' },
    { "backend: string", '"rocm", "cuda" or "cpu"' },
    { "name: string", "the maker's" },
    { "arch: string", 'what kernels are compiled for: "gfx90a", "sm_90", "x86-64 ..."' },
    { "warp_size: integer", "threads of a warp" },
    { "units: integer", "multiprocessors, or processors" },
    { "max_threads: integer", "of a block" },
    { "max_block: integer[]", "along x, y and z" },
    { "max_grid: integer[]", "along x, y and z" },
    { "shared_bytes: integer", "shared memory of a block at most" },
    { "memory_bytes: integer", "all there is" },
    { "cache_bytes: integer", "last-level cache: AMD's Infinity Cache where there is one, else the L2; 0: unknown" },
    { "alignment: integer", "of every buffer, bytes" },
    { "integrated: boolean", "shares memory with the host" },
    { "checked: boolean", "whether it was opened in checked mode (the CPU device)" },
    { "timeout: integer", "milliseconds after which a launch counts as endless, 0: never (the CPU device)" },
    { "driver_version: integer", "as the driver tells it; 0 when it does not" },
  },
}

class {
  name = "buffer",
  text = "Memory on a device, or a view of some: element type, shape, strides. `#x` is its count; printing shows some "
    .. "values. Work that failed leaves its claim on the bytes that it should have written: reading them raises it.",
  methods = {
    {
      "write(data: luhip.data, first?: integer)",
      "Writes all of it, or elements (rows of an n-D buffer) from `first` on.",
    },
    { "fill(value: number|boolean|table)", "Sets every element." },
    {
      "copy(source: luhip.buffer)",
      "Copies from another buffer of the same shape and type, on the same device or another.",
      raises = "shape, unsupported_strides",
    },
    { "read(first?: integer, last?: integer): luhip.array", "Reads elements, or rows of an n-D buffer, and waits." },
    { "read_async(first?: integer, last?: integer): luhip.future", "The same without waiting." },
    { "read_into(array: luhip.array)", "Reads into a host array of the same count and type, and waits." },
    {
      "totable(first?: integer, last?: integer): table",
      "The values, nested by shape, or those of some elements or rows.",
    },
    { "bytes_string(first?: integer, last?: integer): string", "The bytes, packed, of the same." },
    {
      "slice(first: integer, last: integer): luhip.buffer",
      "Elements, or rows of an n-D buffer, both ends included.",
      raises = "range",
    },
    { "row(i: integer): luhip.buffer", "One row, with a dimension less.", raises = "range" },
    { "columns(first: integer, last: integer): luhip.buffer", "Columns of a 2-D buffer.", raises = "range" },
    {
      "reshape(shape: luhip.shape): luhip.buffer",
      "The same elements in another shape.",
      raises = "shape, unsupported_strides",
    },
    { "transpose(): luhip.buffer", "A view with the dimensions the other way round." },
    { "contiguous(): luhip.buffer", "Itself where it is contiguous, else a packed copy." },
    { "view(dtype: luhip.dtype|table): luhip.buffer", "The same bytes as another type.", raises = "shape" },
    { "span(): luhip.buffer", "The memory that a view with gaps reaches over, for kernels that take strides." },
    { "astype(dtype: luhip.dtype): luhip.buffer", "A converted copy.", raises = "range" },
    { "check(): true|nil, luhip.error?", "As `device:check`." },
    { "free()", "Ends its use; views of it live on. Twice is once." },
  },
  fields = {
    { "dtype: luhip.dtype", "of its elements" },
    { "shape: integer[]", "along each dimension" },
    { "strides: integer[]", "elements from one to the next" },
    { "count: integer", "elements" },
    { "bytes: integer", "count times the element's size" },
    { "device: luhip.device", "where it lies" },
    { "is_contiguous: boolean", "without gaps, the last dimension fastest" },
  },
}

class {
  name = "array",
  text = "Memory of the host: `a[i]`, `a[i] = v`, `#a`. Reads give them; they outlive device and stream.",
  methods = {
    { "map(fn: fun(value: any, i: integer): any): luhip.array", "Sets each element to fn of it. Gives the array." },
    { "write(data: luhip.data): luhip.array", "Sets all of it. Gives the array." },
    { "totable(): table", "The values, nested by shape." },
    { "bytes_string(): string", "The bytes." },
    { "free()", "Lets go of the memory." },
  },
  fields = {
    { "dtype: luhip.dtype", "of its elements" },
    { "shape: integer[]", "along each dimension" },
    { "count: integer", "elements" },
    { "bytes: integer", "count times the element's size" },
    { "pinned: boolean", "the device copies from and to it directly" },
  },
}

class {
  name = "program",
  text = "What `device:compile` made.",
  methods = {
    {
      "kernel(name: string): luhip.kernel",
      "A kernel, or an instance of a template by its name expression.",
      raises = "not_found",
    },
    { "kernels(): string[]", "The names there are." },
    {
      "global(name: string, dtype?: luhip.dtype): luhip.buffer",
      "A `__device__` or `__constant__` variable as a buffer of these elements, bytes by default.",
      raises = "not_found",
    },
    { "free()", "Lets go of it; kernels of it go on." },
  },
  fields = { { "log: string", 'the compiler\'s warnings; "" when there are none' } },
}

class {
  name = "kernel",
  text = "A kernel. `k(grid, block [, shared])` gives a launcher, as `k:bind` does.",
  methods = {
    {
      "launch(config: table, ...: any)",
      "Launches it: config is { grid =, block =, shared =, stream =, touches = }, then its arguments. A grid may be a "
        .. "u32 buffer of three. Raises what is wrong with the call; what the work does wrong is met by who reads "
        .. "its results.",
      raises = "limits, range",
    },
    {
      "bind(config: table): luhip.launcher",
      "Checks the geometry once; the launcher is called with the arguments.",
      raises = "limits",
    },
    {
      "occupancy(block: integer, shared?: integer): integer",
      "Blocks of this size that a multiprocessor holds at once.",
    },
    { "suggest_block(): integer", "A block size that fills the device." },
    { "ready(): boolean", "Whether it is compiled; of kernels with `background`. Never waits." },
    { "free()", "Lets go of it." },
  },
  fields = {
    { "name: string", "as asked for" },
    { "params: table[]", '{ name =, type =, kind = "value"|"in"|"out"|"inout" }' },
    { "registers: integer", "of a thread; 0 on the CPU device" },
    { "max_threads: integer", "of a block" },
    { "shared_bytes: integer", "of its own, static" },
    { "local_bytes: integer", "of a thread" },
    { "const_bytes: integer", "constant memory of its module" },
  },
}

class {
  name = "launcher",
  text = "A kernel with its geometry: call it with the kernel's arguments.",
  methods = { { "free()", "Lets go of it." } },
  fields = { { "kernel: luhip.kernel", "what it launches" } },
}

class {
  name = "stream",
  text = "A queue of the device's. Order between streams is kept for every buffer without being asked for.",
  methods = {
    { "sync()", "Waits for its work." },
    { "query(): boolean", "Whether its work is done. Never waits." },
    { "record(): luhip.event", "An event where the stream is now." },
    {
      "wait(other: luhip.event|luhip.stream)",
      "Its further work waits, on the device, for the event or the other stream.",
    },
    { "await()", "As sync, and lets other coroutines run (luhip.async)." },
    {
      "prepare_capture()",
      "Step 1 of a capture: what runs now is the warm-up, and its memory is kept.",
      raises = "capture",
    },
    { "begin_capture()", "Step 2: from here on operations become nodes of a graph.", raises = "capture" },
    { "end_capture(): luhip.graph", "Step 3.", raises = "capture, and what failed inside" },
    { "cancel_capture()", "Back to none from any step." },
    { 'capture_state(): "none"|"prepared"|"recording"', "Which step it is at." },
    { "free()", "Ends its use; pending work still runs." },
  },
  fields = { { "id: integer", "of the process" } },
}

class {
  name = "event",
  text = "A place in a stream.",
  methods = {
    { "wait()", "Waits for it." },
    { "query(): boolean", "Whether it has come. Never waits." },
    { "elapsed(later: luhip.event): number", "Milliseconds from this one to a later one.", raises = "not_ready" },
    { "await()", "As wait, and lets other coroutines run (luhip.async)." },
    { "free()", "Lets go of it." },
  },
  fields = {},
}

class {
  name = "future",
  text = "A read on its way.",
  methods = {
    { "ready(): boolean", "Whether it is done. Never waits; raises when the work failed." },
    { "wait(): luhip.array", "Waits, and gives the array (a list for reads of several buffers): the same each time." },
    { "await(): luhip.array", "As wait, and lets other coroutines run (luhip.async)." },
    { "fd(): integer", "A descriptor that becomes readable when it is done; the future owns it. For event loops." },
    { "free()", "Lets go of it." },
  },
  fields = {},
}

class {
  name = "graph",
  text = "Recorded work. It owns what it replays: buffers (freed ones too), kernels, bytes of recorded writes. `#g` is "
    .. "its number of nodes.",
  methods = {
    {
      "replay(stream?: luhip.stream)",
      "Enqueues all of it, as one operation; skipped like a launch when an input is stale.",
    },
    {
      "update(i: integer, ...: any)",
      "Other arguments for its i-th launch, from the next replay on; checked as those of a launch.",
      raises = "range",
    },
    { "nodes(): table[]", "{ kind =, kernel =, launch =, grid =, block =, args =, bytes = } in their order." },
    { "dot(): string", "The graph in Graphviz's language." },
    { "free()", "Waits for its replays and lets go of everything." },
  },
  fields = { { 'kind: "driver"|"list"', "who replays: the driver, or luhip one by one" } },
}

class {
  name = "window",
  text = "A profile window that is open, from `device:start_profile`. A failed or skipped operation of the device "
    .. "while it is open makes it worthless: it then raises that, and never gives a time.",
  methods = {
    { "stop(): luhip.duration", "Closes it where the stream is now. Nothing is waited for." },
    { "abandon()", "Closes it without a result." },
    { "free()", "The same as abandon." },
  },
  fields = {},
}

class {
  name = "duration",
  text = "How long a window took, when it is known.",
  methods = {
    { "wait(): number", "Milliseconds." },
    { "ready(): boolean", "Whether it is known. Never waits." },
    { "await(): number", "As wait, and lets other coroutines run (luhip.async)." },
    { "span(): number, number", "Start and end on the host's monotonic clock, in milliseconds." },
    { "free()", "Lets go of it." },
  },
  fields = {},
}

class {
  name = "resource",
  text = "A buffer's raw address, which stays valid while this is held.",
  methods = { { "free()", "Lets go of the memory." } },
  fields = { { "pointer: integer", "the address" }, { "bytes: integer", "how many from there on" } },
}

class {
  name = "image",
  text = "A code object, from `luhip.compile`.",
  methods = { { "free()", "Lets go of it." } },
  fields = {
    { "code: string", "the ELF image" },
    { "log: string", "the compiler's warnings" },
    { "kernels: table[]", "what is known of each kernel" },
  },
}

class {
  name = "error",
  text = "What luhip raises. `tostring(e)` tells all of it; docs/errors.md explains every kind.",
  methods = {},
  fields = {
    { "kind: string", 'one of a closed set: "type", "range", "compile", ...' },
    { "message: string", "one sentence" },
    { "failures: luhip.error[]", "of a read that met several failures" },
    { "diagnostics: table[]", "of a compile: { file =, line =, column =, severity =, text = }" },
    { "log: string", "of a compile, the whole of it" },
    { "cause: luhip.error?", "what it came from" },
    { "skips: string[]", "launches that did not run because of it, the newest 16" },
    { "carriers: integer", "how many allocations carry it" },
    { "kernel: string?", "of a fault" },
    { "block: integer[]?", "of a fault, where it is known" },
    { "thread: integer[]?", "of a fault, where it is known" },
  },
}

--- Classes that only luhip's own Lua modules see.
objects.internal = {
  capture = true,
  companion = true,
  editor = true,
  explorer = true,
  expression = true,
  journal = true,
  records = true,
  plan = true,
  scope = true,
  space = true,
  trace = true,
}

return objects
