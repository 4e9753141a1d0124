-- The rules of the server, each in a line; the specs named after them say the rest. `scripts/test --rules` runs the
-- specs and prints which rule was held on which device. A spec counts for a rule when its name begins with the rule's
-- id ("M:" for the last).
--
-- repair: the rule repairs what comparable servers do wrong, and each of these is part of the name of a spec that fails
-- on that behaviour.

return {
  -- Identity and lifetime
  { "A1", "one server per device and process, shared by all its users, closed by the last" },
  { "A2", "callers hold handles; ids are unique in the process and never used again" },
  { "A3", "a buffer is an allocation, an offset, a length, a type, a shape and strides; views keep the allocation" },
  { "A4", "memory comes with the first use; its failure is the buffer's, and never the device's" },
  { "A5", "a freed handle is an error, freeing twice is nothing, and zero bytes are legal everywhere" },
  -- Streams and order
  { "B1", "streams are made on demand up to a maximum, each with managers, a drop queue and caches of its own" },
  {
    "B2",
    "order across streams is automatic, per buffer, and made on the device",
    repair = {
      "holds for copies, fills and reads, whoever made the buffer and however often it was written",
    },
  },
  { "B3", "memory freed while another stream may use it is not used again until that has passed" },
  { "B4", "a stream freed with work pending finishes it; collecting never waits" },
  { "B5", "events are recorded, waited for and asked; elapsed is never negative and refuses what has no time" },
  { "B6", "the current stream, dry runs and plans are scopes of a coroutine" },
  { "B7", "no wait holds the device's lock, and a wait ends when the host wants its thread" },
  -- Staging, write, read, copy
  { "C1", "staging gives pinned memory, or plain memory where there is none" },
  { "C2", "every write of several is attempted; success cleans just the bytes written", repair = { "just" } },
  { "C3", "a source may change as soon as write returns" },
  { "C4", "packed and evenly pitched layouts are one copy, others are refused; wrong ranges are errors" },
  { "C5", "a read checks claims first, then copies all behind one fence" },
  { "C6", "copies, fills and sub-ranges are operations like any other, claims included" },
  { "C7", "arrays that a read gave outlive stream and device" },
  { "C8", "flush frees what may be freed; streams lists what exists" },
  -- Launch
  { "D1", "a kernel compiles where it is made, a lazy one at its first launch" },
  { "D2", "a lazy kernel that does not compile claims what it would have written" },
  { "D3", "arguments, grid, block and shared memory are checked, and errors name what is wrong" },
  { "D4", "a dry run stops after the checks" },
  { "D5", "a grid may come from a buffer of three u32" },
  { "D6", "a grid with a zero does nothing" },
  { "D7", "a stale input skips the launch, and what it would have written takes the failure" },
  { "D8", "a launch claims what it writes until it is enqueued; a failed one leaves its error there" },
  { "D9", "const pointers are read, others read and written unless declared out; touches declares the rest" },
  { "D10", "a launch raises the caller's errors alone" },
  -- Claims
  { "E1", "a failure lives as long as some allocation carries it" },
  { "E2", "claims are byte ranges that are set, split and fused" },
  { "E3", "writing and freeing release claims; reading, checking and waiting do not" },
  { "E4", "chains that share no buffer never contaminate each other" },
  { "E5", "a read's error lists each failure once, with the way back to its root" },
  { "E6", "a fault found later claims what its operation and those that read from it wrote" },
  { "E7", "check tests claims, sync waits, resource gives raw memory" },
  { "E8", "a device that a fault has poisoned says so, names the launch, and can be closed" },
  -- Capture and replay
  {
    "F1",
    "captures go none, prepared, recording, none; cancel unwinds from anywhere",
    repair = {
      "cancel unwinds from any state",
    },
  },
  { "F2", "what runs while a capture is prepared takes the memory that the recording will need" },
  { "F3", "a begin that the driver refuses leaves everything as it was" },
  {
    "F4",
    "what cannot be recorded is refused up front, and the recording goes on",
    repair = {
      "what cannot be recorded is refused by name, and the recording goes on undamaged",
    },
  },
  { "F5", "a failed operation dooms the recording; the stream is usable again" },
  { "F6", "a graph owns what it replays", repair = { "a graph owns its buffers, kernels and host bytes" } },
  { "F7", "an end that fails gives no graph, and claims what would have been written" },
  { "F8", "recording changes no claim and no order" },
  { "F9", "a replay orders, skips and claims like a launch", repair = { "a stale input skips the replay" } },
  { "F10", "freeing a graph waits for its replays, collecting it does not" },
  { "F11", "arguments of a recorded launch can be changed, with the checks of a launch" },
  { "F12", "where the driver cannot capture, the server replays its own list" },
  { "F13", "capture(fn) warms up, records and ends; an error cancels" },
  -- Profiling
  { "G1", "a window is measured by its own two events and waits for nothing" },
  { "G2", "windows nest and overlap, each for itself" },
  { "G3", "windows are refused while recording; wrong tokens are errors" },
  { "G4", "a failed or skipped operation makes every open window worthless" },
  { "G5", "a window whose events cannot be read is an error, never zero" },
  -- Metadata
  { "H1", "tables of integers are uploaded once, and kept by their content" },
  { "H2", "what a capture used is pinned to its graph" },
  -- Drop queue
  { "I1", "two generations and one fence free what the device is done with", repair = { "bytes" } },
  { "I2", "a fence that the driver refused gives its refusal to whoever waits" },
  -- Memory
  { "J1", "each stream has a device and a pinned manager, with one persistent and several dynamic pools" },
  { "J2", "a request is served by the first pool that takes it; what fails says how much was there" },
  { "J3", "exclusive, sliced, direct and persistent pools", repair = { "best fit", "hole", "emptied" } },
  { "J4", "two presets or an explicit list, checked as a whole", repair = { "direct" } },
  { "J5", "pools are exchanged where nothing lives in them" },
  { "J6", "cleanup touches what is free; figures add up", repair = { "pinned" } },
  { "J7", "the persistent mode is a window, and may be forced or forbidden" },
  { "J8", "a limit for the whole device, before which what is cached is given back" },
  { "J9", "a plan finds the peaks of a function, to be installed" },
  -- Compile and caches
  { "K1", "kernels are HIP C++ with defines, include folders, headers, flags and names" },
  { "K2", "compiled kernels are kept in memory and on disk, and damage is rebuilt" },
  { "K3", "a failed compile has parsed diagnostics; a missing kernel names those that are there" },
  { "K4", "a module goes with its last kernel" },
  { "K5", "nothing is loaded or run that others could have put there" },
  { "K6", "compiles run in parallel where the toolchain allows" },
  -- Configuration and logs
  { "L1", "five layers of settings, nothing ignored" },
  { "L2", "five loggers at three levels, to stderr, a file or a function" },
  -- Figures
  { "M", "the figures that the rules name" },
}
