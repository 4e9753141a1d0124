-- The CPU device's memory (src/cpu/arena.c), through its driver table.

local support = require "spec.support"
local testing = require("luhip.core").testing
local hip = testing.hip

local PAGE = 4096

-- Access rights of the mapping that holds an address, as /proc/self/maps writes them: "rw-p".
local function rights(address)
  for line in io.lines "/proc/self/maps" do
    local first, last, access = line:match "^(%x+)%-(%x+) (%S+)"
    if address >= tonumber(first, 16) and address < tonumber(last, 16) then
      return access
    end
  end
end

local function resident()
  local file = assert(io.open "/proc/self/statm")
  local pages = file:read("a"):match "^%d+ (%d+)"
  file:close()
  return tonumber(pages) * PAGE
end

describe("the CPU device's memory", function()
  local before

  setup(function()
    -- What earlier specs left to the collector is given back by who closes a device next.
    collectgarbage()
    collectgarbage()
    require("luhip").open("cpu:0"):close()
  end)

  before_each(function()
    hip.set_device(0)
    hip.device_sync()
    before = testing.cpu_arena()
  end)

  after_each(function()
    hip.checked(false)
    local after = testing.cpu_arena()
    assert.equal(before.live, after.live)
    assert.equal(before.live_bytes, after.live_bytes)
  end)

  it("A4 a request beyond the device's memory fails, and a small one right after works", function()
    local free, total = hip.mem_info()
    assert.same({ nil, "hipErrorOutOfMemory" }, { hip.malloc(1 << 40) })
    assert.same({ nil, "hipErrorOutOfMemory" }, { hip.malloc(-1) })
    assert.same({ nil, "hipErrorOutOfMemory" }, { hip.malloc(total + 1) })
    assert.equal(free, hip.mem_info())
    local p = assert(hip.malloc(4))
    hip.poke(p, "abcd")
    assert.equal("abcd", hip.peek(p, 4))
    assert(hip.free(p))
  end)

  it("A5 zero bytes are a null pointer, and freeing it does nothing", function()
    assert.equal(0, hip.malloc(0))
    assert.equal(0, hip.host_malloc(0))
    assert(hip.free(0))
    assert(hip.host_free(0))
  end)

  it("blocks are aligned to 256 bytes and keep apart", function()
    local blocks = {}
    for bytes = 1, 3000, 37 do
      local p = assert(bytes % 2 == 0 and hip.malloc(bytes) or hip.host_malloc(bytes))
      assert.equal(0, p % 256)
      hip.poke(p, string.rep(string.char(bytes % 251), bytes))
      blocks[bytes] = p
    end
    for bytes, p in pairs(blocks) do
      assert.equal(string.rep(string.char(bytes % 251), bytes), hip.peek(p, bytes))
      assert(bytes % 2 == 0 and hip.free(p) or hip.host_free(p))
    end
  end)

  it("a block of the size of one that was just freed costs no new memory", function()
    local p = assert(hip.malloc(10000))
    assert(hip.free(p))
    local q = assert(hip.malloc(9000)) -- as many pages
    assert.equal(p, q)
    assert(hip.free(q))
  end)

  it("free, total and the figures of live blocks add up", function()
    local free, total = hip.mem_info()
    local p, q = assert(hip.malloc(5000)), assert(hip.host_malloc(1))
    local now = testing.cpu_arena()
    assert.equal(before.live + 2, now.live)
    assert.equal(before.live_bytes + 3 * PAGE, now.live_bytes)
    assert.same({ free - 3 * PAGE, total }, { hip.mem_info() })
    assert(hip.host_free(q))
    assert(hip.free(p))
    assert.same({ free, total }, { hip.mem_info() })
  end)

  it("large blocks give their memory back to the system when they are freed", function()
    local bytes = 96 << 20
    local s = assert(hip.stream())
    local p = assert(hip.malloc(bytes))
    assert(hip.fill(p, 1, bytes, 8, s))
    assert(hip.stream_sync(s))
    local full = resident()
    assert(hip.free(p))
    assert.is_true(resident() < full - bytes // 2)
    assert.equal(before.cached_bytes, testing.cpu_arena().cached_bytes)
    assert(hip.stream_destroy(s))
  end)

  it("freed small blocks are kept, but no more than 64 MiB of them", function()
    local blocks = {}
    for i = 1, 40 do
      blocks[i] = assert(hip.malloc(2 << 20))
    end
    for _, p in ipairs(blocks) do
      assert(hip.free(p))
    end
    local cached = testing.cpu_arena().cached_bytes
    assert.is_true(cached > 32 << 20 and cached <= 64 << 20)
  end)

  it("a page without access stands before and after each block", function()
    local p = assert(hip.malloc(2 * PAGE))
    assert.equal("rw-p", rights(p))
    assert.equal("rw-p", rights(p + 2 * PAGE - 1))
    assert.equal("---p", rights(p + 2 * PAGE))
    assert.equal("---p", rights(p - 1))
    assert(hip.free(p))
  end)

  it("in checked mode a block ends where its page ends, and is gone when it is freed", function()
    hip.checked(true)
    local p = assert(hip.malloc(1000))
    assert.equal(0, p % 16)
    assert.equal(8, PAGE - (p + 1000) % PAGE) -- 1000 is 8 short of a multiple of 16
    assert.equal("---p", rights((p + 1000) // PAGE * PAGE + PAGE))
    assert(hip.free(p))
    assert.equal("---p", rights(p))
  end)

  it("checked mode belongs to one ordinal", function()
    hip.checked(true)
    hip.set_device(1)
    local p = assert(hip.malloc(1000))
    hip.set_device(0)
    local q = assert(hip.malloc(1000))
    assert.equal(0, p % PAGE)
    assert.not_equal(0, q % PAGE)
    assert(hip.free(p))
    assert(hip.free(q))
  end)

  it("so many blocks that guards cost too many mappings do without", function()
    support.not_under("thread", pending, "each mapping takes it milliseconds")
    support.not_under("valgrind", pending, "it has room for 30000 mappings")
    local blocks = {}
    for i = 1, 21000 do
      blocks[i] = assert(hip.malloc(4))
    end
    assert.is_true(testing.cpu_arena().guarded <= 20000)
    assert.equal("rw-p", rights(blocks[21000]))
    hip.poke(blocks[21000], "last")
    assert.equal("last", hip.peek(blocks[21000], 4))
    for i = 1, #blocks do
      assert(hip.free(blocks[i * 7919 % 21000 + 1]))
    end
  end)

  it("the block nearest to an address is found", function()
    local p = assert(hip.malloc(5000))
    assert.same({ p, 5000 }, { testing.cpu_nearest(p) })
    assert.same({ p, 5000 }, { testing.cpu_nearest(p + 4999) })
    assert.same({ p, 5000 }, { testing.cpu_nearest(p + 5000) })
    assert.same({ p, 5000 }, { testing.cpu_nearest(p + 2 * PAGE) }) -- on the guard page
    assert(hip.free(p))
    assert.not_equal(p, (testing.cpu_nearest(p)))
    assert.is_nil(testing.cpu_nearest(16))
    assert.is_nil(testing.cpu_nearest(before.base + (1 << 38)))
  end)

  it("A5 what is no block of this kind is not freed", function()
    local p, q = assert(hip.malloc(100)), assert(hip.host_malloc(100))
    local memory, host = hip.pageable(64)
    for _, wrong in ipairs { p + 16, q, host, before.base, 1 } do
      assert.same({ nil, "hipErrorInvalidDevicePointer" }, { hip.free(wrong) })
    end
    for _, wrong in ipairs { q + 16, p, host, before.base, 1 } do
      assert.same({ nil, "hipErrorInvalidValue" }, { hip.host_free(wrong) })
    end
    assert(hip.free(p))
    assert(hip.host_free(q))
    assert.same({ nil, "hipErrorInvalidDevicePointer" }, { hip.free(p) })
    assert.same({ nil, "hipErrorInvalidValue" }, { hip.host_free(q) })
    assert.is_userdata(memory)
  end)

  it("a forked child has a copy of its own, and the device to itself", function()
    support.not_under("thread", pending, "it cannot follow a fork of a process with threads")
    local s = assert(hip.stream())
    local p = assert(hip.malloc(64))
    assert(hip.fill(p, 1, 64, 8, s))
    assert(hip.stream_sync(s))
    assert(hip.gate(s)) -- the stream's thread is busy when the child is made
    assert.is_true(testing.in_child(function()
      assert(hip.stream_query(s)) -- what was under way is the parent's
      assert(hip.peek(p, 64) == string.rep("\1", 64))
      assert(hip.fill(p, 2, 64, 8, s))
      assert(hip.stream_sync(s))
      assert(hip.peek(p, 64) == string.rep("\2", 64))
      local t, q = assert(hip.stream()), assert(hip.malloc(1000))
      assert(hip.fill(q, 3, 1000, 8, t))
      assert(hip.device_sync())
      assert(hip.peek(q, 1000) == string.rep("\3", 1000))
      assert(hip.free(q) and hip.free(p) and hip.stream_destroy(t) and hip.stream_destroy(s))
    end))
    hip.open_gates()
    assert(hip.stream_sync(s))
    assert.equal(string.rep("\1", 64), hip.peek(p, 64))
    assert(hip.free(p))
    assert(hip.stream_destroy(s))
  end)
end)

describe("LUHIP_CPU_MEMORY", function()
  local function limit(text)
    local old = testing.setenv("LUHIP_CPU_MEMORY", text)
    local bytes, reason = testing.cpu_memory_limit()
    testing.setenv("LUHIP_CPU_MEMORY", old)
    return bytes, reason
  end

  it("is bytes, or a number with a unit", function()
    assert.equal(1234567, (limit "1234567"))
    assert.equal(512 << 10, (limit "512K"))
    assert.equal(3 << 20, (limit "3m"))
    assert.equal(2 << 30, (limit "2G"))
    assert.equal(1 << 40, (limit "1T"))
  end)

  it("L1 that is no size is reported with its name and value", function()
    for _, wrong in ipairs { "x", "-1", "12x", "0", "G", "1.5G", "99999999999T", " 1" } do
      local bytes, reason = limit(wrong)
      assert.is_nil(bytes)
      assert.truthy(reason:find("LUHIP_CPU_MEMORY is '" .. wrong .. "'", 1, true))
    end
  end)

  it("limits the device, and a wrong one is the reason why it cannot be used", function()
    local code = [[
      local luhip = require "luhip"
      local d
      for _, device in ipairs(luhip.devices()) do
        if device.backend == "cpu" then d = device end
      end
      print(d.reason or d.memory)
      if not d.reason then
        local dev = luhip.open "cpu"
        local ok, e = pcall(function() return dev:buffer("u8", 65 << 20, 0):read() end)
        print(ok, e.kind)
        print(dev:buffer("u8", 1 << 20, 7):read()[5])
      end
    ]]
    local r = support.lua(code, { env = { LUHIP_CPU_MEMORY = "64M" } })
    assert.equal("67108864\nfalse\toom\n7\n", r.stdout, r.stderr)
    r = support.lua(code, { env = { LUHIP_CPU_MEMORY = "lots" } })
    assert.truthy(r.stdout:find("LUHIP_CPU_MEMORY is 'lots'", 1, true), r.stdout .. r.stderr)
  end)
end)
