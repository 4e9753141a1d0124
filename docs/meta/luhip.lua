---@meta luhip
-- Made by scripts/docs of lua/luhip/docs; not to be edited.

--- An element type. Complex numbers are { re, im } in Lua, bool is true or false.
---@alias luhip.dtype "i8"|"u8"|"i16"|"u16"|"i32"|"u32"|"i64"|"u64"|"f16"|"bf16"|"f32"|"f64"|"bool"|"c64"|"c128"
--- How many elements, or how many along each dimension, the last one fastest.
---@alias luhip.shape integer|integer[]
--- What buffers are filled with: one value for all, (nested) tables, packed bytes, a host array, or a function of the 1-based index.
---@alias luhip.data number|boolean|table|string|luhip.array|fun(i: integer): any

--- An open device, from `luhip.open`. What is made from it keeps it open; `close` ends all of it.
---@class luhip.device
---@field id string "cpu:0", "cuda:1"
---@field backend string "rocm", "cuda" or "cpu"
---@field name string the maker's
---@field arch string what kernels are compiled for: "gfx90a", "sm_90", "x86-64 ..."
---@field warp_size integer threads of a warp
---@field units integer multiprocessors, or processors
---@field max_threads integer of a block
---@field max_block integer[] along x, y and z
---@field max_grid integer[] along x, y and z
---@field shared_bytes integer shared memory of a block at most
---@field memory_bytes integer all there is
---@field cache_bytes integer last-level cache: AMD's Infinity Cache where there is one, else the L2; 0: unknown
---@field alignment integer of every buffer, bytes
---@field integrated boolean shares memory with the host
---@field checked boolean whether it was opened in checked mode (the CPU device)
---@field timeout integer milliseconds after which a launch counts as endless, 0: never (the CPU device)
---@field driver_version integer as the driver tells it; 0 when it does not
local device = {}

--- Makes a buffer. Without `init` its content is undefined and its memory comes with the first use. The type may be a layout of luhip.struct. Raises: shape, too_big, oom.
---@param dtype luhip.dtype|table
---@param shape luhip.shape
---@param init? luhip.data
---@return luhip.buffer
function device:buffer(dtype, shape, init) end

--- Makes a buffer of data, whose shape it takes. Raises: shape, range, oom.
---@param dtype luhip.dtype|table
---@param data table|string|luhip.array
---@return luhip.buffer
function device:from(dtype, data) end

--- Makes a buffer whose rows are padded as the device likes them. All methods work as for others.
---@param dtype luhip.dtype
---@param shape integer[]
---@param init? luhip.data
---@return luhip.buffer
function device:pitched(dtype, shape, init) end

--- Reads several buffers behind one fence. A stale one fails the whole, and nothing is copied. Raises: what a buffer's claims say.
---@param buffers luhip.buffer[]
---@return luhip.array[]
function device:read(buffers) end

--- Writes several: { { x, data }, ... }. Every part is attempted; the first error is raised after all were.
---@param parts { [1]: luhip.buffer, [2]: luhip.data }[]
function device:write(parts) end

--- Host arrays of bytes, pinned where they can be, plain where not.
---@param sizes integer[]
---@return luhip.array[]
function device:staging(sizes) end

--- The raw address for neighbours in C. Tests claims, waits for earlier work, keeps the memory alive.
---@param buffer luhip.buffer
---@return luhip.resource
function device:resource(buffer) end

--- Compiles HIP C++ text. Options: name, defines = { N = 4 }, include_dirs, headers = { ["a.h"] = text }, flags, names = { "scale<float>" }, access = { kernel = { parameter = "out" } }, strict. Raises: compile (with diagnostics), not_found, timeout.
---@param source string
---@param options? table
---@return luhip.program
function device:compile(source, options) end

--- Compiles and gives one kernel; the name may be left out when there is only one. Beside the options of compile: lazy = true compiles at the first launch, background = true at once, beside the script. Raises: compile, not_found.
---@param source string
---@param name? string
---@param options? table
---@return luhip.kernel
function device:kernel(source, name, options) end

--- A new stream. Raises: too_many_streams.
---@return luhip.stream
function device:stream() end

--- All streams that are there, the default stream first.
---@return luhip.stream[]
function device:streams() end

--- An event on a stream, the current one by default.
---@param stream? luhip.stream
---@return luhip.event
function device:record(stream) end

--- Runs fn with the stream as the current one, in this coroutine and those it creates. Gives what fn gives.
---@param stream luhip.stream
---@param fn function
---@param ... any
---@return any
function device:with(stream, fn, ...) end

--- Runs fn; launches are compiled and checked, and nothing happens on the device. Reads give zeros.
---@param fn function
---@param ... any
---@return any
function device:dry_run(fn, ...) end

--- Runs fn once as warm-up, then records it as a graph. Options: stream, warmup = false. An error inside cancels. Raises: capture.
---@param fn function
---@param options? table
---@return luhip.graph
function device:capture(fn, options) end

--- Milliseconds on the device, the median of the samples, and the samples. Options: warmup, samples.
---@param fn function
---@param options? table
---@return number
---@return number[]
function device:time(fn, options) end

--- Opens a window where the stream is; nothing is waited for. Raises: capture.
---@param stream? luhip.stream
---@return luhip.window
function device:start_profile(stream) end

--- Times every operation of fn by itself: print it, `:rows()`, `:trace "out.json"`.
---@param fn function
---@return luhip.profile
function device:profile(fn) end

--- Waits for all streams. With buffers it tests their claims first. Raises the failure of an operation that no buffer carries.
---@param buffers? luhip.buffer[]
function device:sync(buffers) end

--- Whether the buffers' content is what their last writers made; nil and the error otherwise. Does not wait.
---@param buffers luhip.buffer|luhip.buffer[]
---@return true|nil
---@return luhip.error?
function device:check(buffers) end

--- Lets go of what has passed and of pending frees. Never waits.
function device:flush() end

--- Figures: buffers, in_use, padding, reserved, limit, pinned, device_free, device_total (bytes).
---@return table
function device:memory() end

--- Gives cached memory back to the driver.
function device:memory_cleanup() end

--- What the pools of all streams hold, and who has it: print it.
---@return table
function device:memory_report() end

--- The pools of all streams, device and pinned, with their figures.
---@return table[]
function device:memory_pools() end

--- Who has memory: { id =, stream =, role =, bytes =, padding =, what = }.
---@return table[]
function device:memory_holders() end

--- Persistent mode of the current stream while fn runs, or from now on: what is allocated comes in exact sizes and is kept for the next time.
---@param mode "persistent"|"auto"
---@param fn? function
---@param ... any
---@return any
function device:memory_mode(mode, fn, ...) end

--- The layout of the current stream's pools.
---@return table[]
function device:pools() end

--- Pools for streams to come, and for the current one: a preset ("sub-slices", "exclusive"), a list, or a plan. Raises: pools_in_use, config, capture.
---@param layout string|table[]
function device:install_pools(layout) end

--- What memory fn needs, without running it: a layout for install_pools, and the peaks. Raises: oom, too_big.
---@param fn function
---@param ... any
---@return table[]
---@return table
function device:plan(fn, ...) end

--- What compiles for it: name, version, and what part it has in the cache's keys.
---@return table
function device:toolchain() end

--- Ends this user's use of the device. The last one waits for its work and gives everything back. Raises: capture.
function device:close() end

--- The same as close.
function device:free() end

--- Memory on a device, or a view of some: element type, shape, strides. `#x` is its count; printing shows some values. Work that failed leaves its claim on the bytes that it should have written: reading them raises it.
---@class luhip.buffer
---@field dtype luhip.dtype of its elements
---@field shape integer[] along each dimension
---@field strides integer[] elements from one to the next
---@field count integer elements
---@field bytes integer count times the element's size
---@field device luhip.device where it lies
---@field is_contiguous boolean without gaps, the last dimension fastest
local buffer = {}

--- Writes all of it, or elements (rows of an n-D buffer) from `first` on.
---@param data luhip.data
---@param first? integer
function buffer:write(data, first) end

--- Sets every element.
---@param value number|boolean|table
function buffer:fill(value) end

--- Copies from another buffer of the same shape and type, on the same device or another. Raises: shape, unsupported_strides.
---@param source luhip.buffer
function buffer:copy(source) end

--- Reads elements, or rows of an n-D buffer, and waits.
---@param first? integer
---@param last? integer
---@return luhip.array
function buffer:read(first, last) end

--- The same without waiting.
---@param first? integer
---@param last? integer
---@return luhip.future
function buffer:read_async(first, last) end

--- Reads into a host array of the same count and type, and waits.
---@param array luhip.array
function buffer:read_into(array) end

--- The values, nested by shape, or those of some elements or rows.
---@param first? integer
---@param last? integer
---@return table
function buffer:totable(first, last) end

--- The bytes, packed, of the same.
---@param first? integer
---@param last? integer
---@return string
function buffer:bytes_string(first, last) end

--- Elements, or rows of an n-D buffer, both ends included. Raises: range.
---@param first integer
---@param last integer
---@return luhip.buffer
function buffer:slice(first, last) end

--- One row, with a dimension less. Raises: range.
---@param i integer
---@return luhip.buffer
function buffer:row(i) end

--- Columns of a 2-D buffer. Raises: range.
---@param first integer
---@param last integer
---@return luhip.buffer
function buffer:columns(first, last) end

--- The same elements in another shape. Raises: shape, unsupported_strides.
---@param shape luhip.shape
---@return luhip.buffer
function buffer:reshape(shape) end

--- A view with the dimensions the other way round.
---@return luhip.buffer
function buffer:transpose() end

--- Itself where it is contiguous, else a packed copy.
---@return luhip.buffer
function buffer:contiguous() end

--- The same bytes as another type. Raises: shape.
---@param dtype luhip.dtype|table
---@return luhip.buffer
function buffer:view(dtype) end

--- The memory that a view with gaps reaches over, for kernels that take strides.
---@return luhip.buffer
function buffer:span() end

--- A converted copy. Raises: range.
---@param dtype luhip.dtype
---@return luhip.buffer
function buffer:astype(dtype) end

--- As `device:check`.
---@return true|nil
---@return luhip.error?
function buffer:check() end

--- Ends its use; views of it live on. Twice is once.
function buffer:free() end

--- Memory of the host: `a[i]`, `a[i] = v`, `#a`. Reads give them; they outlive device and stream.
---@class luhip.array
---@field dtype luhip.dtype of its elements
---@field shape integer[] along each dimension
---@field count integer elements
---@field bytes integer count times the element's size
---@field pinned boolean the device copies from and to it directly
local array = {}

--- Sets each element to fn of it. Gives the array.
---@param fn fun(value: any, i: integer): any
---@return luhip.array
function array:map(fn) end

--- Sets all of it. Gives the array.
---@param data luhip.data
---@return luhip.array
function array:write(data) end

--- The values, nested by shape.
---@return table
function array:totable() end

--- The bytes.
---@return string
function array:bytes_string() end

--- Lets go of the memory.
function array:free() end

--- What `device:compile` made.
---@class luhip.program
---@field log string the compiler's warnings; "" when there are none
local program = {}

--- A kernel, or an instance of a template by its name expression. Raises: not_found.
---@param name string
---@return luhip.kernel
function program:kernel(name) end

--- The names there are.
---@return string[]
function program:kernels() end

--- A `__device__` or `__constant__` variable as a buffer of these elements, bytes by default. Raises: not_found.
---@param name string
---@param dtype? luhip.dtype
---@return luhip.buffer
function program:global(name, dtype) end

--- Lets go of it; kernels of it go on.
function program:free() end

--- A kernel. `k(grid, block [, shared])` gives a launcher, as `k:bind` does.
---@class luhip.kernel
---@field name string as asked for
---@field params table[] { name =, type =, kind = "value"|"in"|"out"|"inout" }
---@field registers integer of a thread; 0 on the CPU device
---@field max_threads integer of a block
---@field shared_bytes integer of its own, static
---@field local_bytes integer of a thread
---@field const_bytes integer constant memory of its module
local kernel = {}

--- Launches it: config is { grid =, block =, shared =, stream =, touches = }, then its arguments. A grid may be a u32 buffer of three. Raises what is wrong with the call; what the work does wrong is met by who reads its results. Raises: limits, range.
---@param config table
---@param ... any
function kernel:launch(config, ...) end

--- Checks the geometry once; the launcher is called with the arguments. Raises: limits.
---@param config table
---@return luhip.launcher
function kernel:bind(config) end

--- Blocks of this size that a multiprocessor holds at once.
---@param block integer
---@param shared? integer
---@return integer
function kernel:occupancy(block, shared) end

--- A block size that fills the device.
---@return integer
function kernel:suggest_block() end

--- Whether it is compiled; of kernels with `background`. Never waits.
---@return boolean
function kernel:ready() end

--- Lets go of it.
function kernel:free() end

--- A kernel with its geometry: call it with the kernel's arguments.
---@class luhip.launcher
---@field kernel luhip.kernel what it launches
local launcher = {}

--- Lets go of it.
function launcher:free() end

--- A queue of the device's. Order between streams is kept for every buffer without being asked for.
---@class luhip.stream
---@field id integer of the process
local stream = {}

--- Waits for its work.
function stream:sync() end

--- Whether its work is done. Never waits.
---@return boolean
function stream:query() end

--- An event where the stream is now.
---@return luhip.event
function stream:record() end

--- Its further work waits, on the device, for the event or the other stream.
---@param other luhip.event|luhip.stream
function stream:wait(other) end

--- As sync, and lets other coroutines run (luhip.async).
function stream:await() end

--- Step 1 of a capture: what runs now is the warm-up, and its memory is kept. Raises: capture.
function stream:prepare_capture() end

--- Step 2: from here on operations become nodes of a graph. Raises: capture.
function stream:begin_capture() end

--- Step 3. Raises: capture, and what failed inside.
---@return luhip.graph
function stream:end_capture() end

--- Back to none from any step.
function stream:cancel_capture() end

--- Which step it is at.
---@return "none"|"prepared"|"recording"
function stream:capture_state() end

--- Ends its use; pending work still runs.
function stream:free() end

--- A place in a stream.
---@class luhip.event
local event = {}

--- Waits for it.
function event:wait() end

--- Whether it has come. Never waits.
---@return boolean
function event:query() end

--- Milliseconds from this one to a later one. Raises: not_ready.
---@param later luhip.event
---@return number
function event:elapsed(later) end

--- As wait, and lets other coroutines run (luhip.async).
function event:await() end

--- Lets go of it.
function event:free() end

--- A read on its way.
---@class luhip.future
local future = {}

--- Whether it is done. Never waits; raises when the work failed.
---@return boolean
function future:ready() end

--- Waits, and gives the array (a list for reads of several buffers): the same each time.
---@return luhip.array
function future:wait() end

--- As wait, and lets other coroutines run (luhip.async).
---@return luhip.array
function future:await() end

--- A descriptor that becomes readable when it is done; the future owns it. For event loops.
---@return integer
function future:fd() end

--- Lets go of it.
function future:free() end

--- Recorded work. It owns what it replays: buffers (freed ones too), kernels, bytes of recorded writes. `#g` is its number of nodes.
---@class luhip.graph
---@field kind "driver"|"list" who replays: the driver, or luhip one by one
local graph = {}

--- Enqueues all of it, as one operation; skipped like a launch when an input is stale.
---@param stream? luhip.stream
function graph:replay(stream) end

--- Other arguments for its i-th launch, from the next replay on; checked as those of a launch. Raises: range.
---@param i integer
---@param ... any
function graph:update(i, ...) end

--- { kind =, kernel =, launch =, grid =, block =, args =, bytes = } in their order.
---@return table[]
function graph:nodes() end

--- The graph in Graphviz's language.
---@return string
function graph:dot() end

--- Waits for its replays and lets go of everything.
function graph:free() end

--- A profile window that is open, from `device:start_profile`. A failed or skipped operation of the device while it is open makes it worthless: it then raises that, and never gives a time.
---@class luhip.window
local window = {}

--- Closes it where the stream is now. Nothing is waited for.
---@return luhip.duration
function window:stop() end

--- Closes it without a result.
function window:abandon() end

--- The same as abandon.
function window:free() end

--- How long a window took, when it is known.
---@class luhip.duration
local duration = {}

--- Milliseconds.
---@return number
function duration:wait() end

--- Whether it is known. Never waits.
---@return boolean
function duration:ready() end

--- As wait, and lets other coroutines run (luhip.async).
---@return number
function duration:await() end

--- Start and end on the host's monotonic clock, in milliseconds.
---@return number
---@return number
function duration:span() end

--- Lets go of it.
function duration:free() end

--- A buffer's raw address, which stays valid while this is held.
---@class luhip.resource
---@field pointer integer the address
---@field bytes integer how many from there on
local resource = {}

--- Lets go of the memory.
function resource:free() end

--- A code object, from `luhip.compile`.
---@class luhip.image
---@field code string the ELF image
---@field log string the compiler's warnings
---@field kernels table[] what is known of each kernel
local image = {}

--- Lets go of it.
function image:free() end

--- What luhip raises. `tostring(e)` tells all of it; docs/errors.md explains every kind.
---@class luhip.error
---@field kind string one of a closed set: "type", "range", "compile", ...
---@field message string one sentence
---@field failures luhip.error[] of a read that met several failures
---@field diagnostics table[] of a compile: { file =, line =, column =, severity =, text = }
---@field log string of a compile, the whole of it
---@field cause luhip.error? what it came from
---@field skips string[] launches that did not run because of it, the newest 16
---@field carriers integer how many allocations carry it
---@field kernel string? of a fault
---@field block integer[]? of a fault, where it is known
---@field thread integer[]? of a fault, where it is known
local error = {}

---@class luhip
local luhip = {}

--- The version: "0.1.0".
function luhip.version() end

--- Lists the devices: `luhip.devices()`. Starts none.
---@return table[]
function luhip.devices() end

--- Opens a device: `luhip.open()`, `luhip.open "cpu"`, `luhip.open { device = "cpu", ... }`.
---@param which? any an id, or options; by default the best present device, or LUHIP_DEVICE
---@return luhip.device
function luhip.open(which) end

--- Sets settings, `luhip.config { timeout = 5000 }`, or gives one, `luhip.config "timeout"`; see luhip.config.
function luhip.config() end

--- Compiles for an architecture that need not be here: `luhip.compile { arch = "gfx90a", source = text }`.
---@param options table `arch` and `source`, and what dev:compile takes (name, defines, include_dirs, names, ...)
---@return luhip.image
function luhip.compile(options) end

--- Forgets all compiled kernels, in memory and on disk: `luhip.clear_cache()`. What is loaded stays.
---@return integer
function luhip.clear_cache() end

--- Makes a host array: `luhip.array("f32", 16)`.
---@param dtype string
---@param shape any a number or a list of them
---@return luhip.array
function luhip.array(dtype, shape) end

--- A null pointer argument of a kernel.
function luhip.null() end

--- The names of element types.
function luhip.dtypes() end

--- The kinds of errors, a closed set; docs/errors.md has the cause and the cure of each.
function luhip.error_kinds() end

--- Whether a value is an error object of luhip: with `kind`, `message`, and all of it by tostring.
---@param value any anything
---@return boolean
function luhip.is_error(value) end

--- Division that rounds up: how many blocks of b cover a elements.
---@param a integer
---@param b integer not 0
---@return integer
function luhip.cdiv(a, b) end

--- Times a function on the device: `dev:time(fn, options)`; see luhip.timing.
function luhip.time() end

--- Times every operation of a function: `dev:profile(fn)`; see luhip.profile.
function luhip.profile() end

--- What the pools of a device hold, persistent mode, and plans: see luhip.memory.
function luhip.memory_report() end

--- Writes a buffer to a file: `luhip.save("x.npy", x)`; see luhip.files.
---@param ... any path, buffer or array, options
function luhip.save(...) end

--- Reads a file into host memory: `luhip.load "x.npy"`; see luhip.files.
---@param ... any path, and what the format has no word for: type, shape
function luhip.load(...) end

--- Makes a kernel of one expression.
---@param inputs string "f32 x, f32 y"
---@param outputs string "f32 z"
---@param operation string statements that set the outputs: "z = x * y + 1"
---@param options? table `name` of the kernel, `preamble`: text before it (functions, includes)
---@return any
function luhip.elementwise(inputs, outputs, operation, options) end

--- Makes a reduction.
---@param inputs string "f32 x, f32 y"
---@param output string "f32 y"
---@param map string an expression of the inputs' names: "x * y"
---@param reduce string an expression of a and b: "a + b"
---@param identity string its neutral value: "0"
---@param options? table `post`: an expression of a; `accumulate`: the element type to combine in, the output's if there is none; `name`; `preamble`
---@return any
function luhip.reduce(inputs, output, map, reduce, identity, options) end

--- Makes a scan.
---@param dtype string an element type, or a capital letter for any
---@param combine string an expression of a and b: "a + b", "a > b ? a : b"
---@param identity string its neutral value: "0"
---@param options? table `exclusive`: without the element itself; `name`; `preamble`
---@return any
function luhip.scan(dtype, combine, identity, options) end

--- Makes a generator. Its `seed` and `drawn` (pairs of numbers so far) are fields: setting `drawn` goes back or ahead.
---@param seed? integer 64 bits
---@return any
function luhip.random(seed) end

return luhip
