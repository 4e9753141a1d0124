-- Module images of the CPU device, their kernels and globals (src/cpu/module.c, function.c, image.c).

local support = require "spec.support"
local testing = require("luhip.core").testing
local hip = testing.hip

local source = [[
extern "C" __global__ void add(int *p, int v) { p[threadIdx.x + blockIdx.x * blockDim.x] += v; } LUHIP_EXPORT(0, add)
namespace ns {
template <class T> __global__ void scale(T *p, char a, double b) { *p = a * b; } LUHIP_EXPORT(1, scale<float>)
}
__global__ void over(int) {} LUHIP_EXPORT(2, static_cast<void (*)(int)>(over))
__global__ void over(float) {} LUHIP_EXPORT(3, static_cast<void (*)(float)>(over))
extern "C" __global__ void nothing() {} LUHIP_EXPORT(4, nothing)
__constant__ int table[4] = {1, 2, 3, 4};
__device__ double plain;
static __device__ int counter = 7;
namespace ns { __device__ float inner[2]; namespace { __device__ short hidden = 3; } }
__constant__ const int fixed[2] = {5, 6};
extern "C" __global__ void look(int *p) {
  p[0] = table[1]; p[1] = counter++; p[2] = ns::inner[1]; p[3] = ns::hidden++; p[4] = fixed[p[5] & 1];
} LUHIP_EXPORT(5, look)
__device__ float helper(int i) { __shared__ float common[4]; common[i & 3] = i; __syncthreads(); return common[0]; }
extern "C" __global__ void tile(float *p) {
  __shared__ float own[100]; own[threadIdx.x] = helper(threadIdx.x); __syncthreads(); *p = own[0];
} LUHIP_EXPORT(6, tile)
template <int n> __global__ void big(float *p) {
  __shared__ float own[n]; own[threadIdx.x] = *p; __syncthreads(); *p = own[n / 2];
} LUHIP_EXPORT(7, big<3000>) LUHIP_EXPORT(8, big<17000>)
extern "C" __global__ void dynamic(float *p) {
  extern __shared__ float all[]; all[threadIdx.x] = *p; __syncthreads(); *p = all[1];
} LUHIP_EXPORT(9, dynamic)
]]

describe("modules of the CPU device", function()
  local code, lowered, module, s, p

  setup(function()
    hip.set_device(0)
    local names = { "add", "scale", "over", "over", "nothing", "look", "tile", "big", "big", "dynamic" }
    local r = hip.compile { source = source, kernels = names }
    assert.equal("hipSuccess", r.rc, r.log)
    code, lowered = r.code, r.lowered
  end)

  before_each(function()
    hip.set_device(0)
    module = assert(hip.load(code))
    s = assert(hip.stream())
    p = assert(hip.malloc(4096))
    assert(hip.fill(p, 0, 4096, 8, s))
  end)

  after_each(function()
    assert(hip.stream_sync(s))
    assert(hip.stream_destroy(s))
    assert(hip.free(p))
    assert(hip.unload(module))
  end)

  local function kernel(name)
    return assert(hip.get_function(module, name))
  end

  local function result(bytes)
    assert(hip.stream_sync(s))
    return hip.peek(p, bytes)
  end

  it("launch kernels with packed arguments", function()
    assert(hip.launch(kernel "add", { 2 }, { 4 }, 0, s, string.pack("<i8i4", p, 5)))
    assert(hip.launch(kernel "add", { 1 }, { 2 }, 0, s, string.pack("<i8i4", p, 1)))
    assert.equal(string.pack("<i4i4i4i4i4i4i4i4i4", 6, 6, 5, 5, 5, 5, 5, 5, 0), result(36))
    assert(hip.launch(kernel(lowered[2]), { 1 }, { 1 }, 0, s, string.pack("<i8i1!8xxxxxxxd", p, 3, 0.5)))
    assert.equal(1.5, (string.unpack("<f", result(4))))
  end)

  it("D3 refuse launches beyond the limits, and with missing arguments", function()
    local add, nothing = kernel "add", kernel "nothing"
    local args = string.pack("<i8i4", p, 5)
    local limits = { nil, "hipErrorInvalidConfiguration" }
    for _, block in ipairs { { 1025 }, { 1024, 2 }, { 0 }, { 1, 0 }, { 1, 1, 0 }, { 32, 32, 2 }, { 1 << 31 } } do
      assert.same(limits, { hip.launch(add, { 1 }, block, 0, s, args) })
    end
    for _, grid in ipairs { { 0 }, { 1, 0 }, { 1 << 31 }, { 1, 65536 }, { 1, 1, 65536 } } do
      assert.same(limits, { hip.launch(add, grid, { 1 }, 0, s, args) })
    end
    assert.same(limits, { hip.launch(add, { 1 }, { 1 }, 65537, s, args) })
    assert.same(limits, { hip.launch(add, { 1 }, { 1 }, -1, s, args) })
    assert(hip.launch(nothing, { 1, 65535 }, { 1 }, 65520, s))
    assert(hip.launch(nothing, { 1, 1, 1 }, { 4, 4, 64 }, 0, s))
    local invalid = { nil, "hipErrorInvalidValue" }
    assert.same(invalid, { hip.launch(add, { 1 }, { 1 }, 0, s) })
    assert.same(invalid, { hip.launch(add, { 1 }, { 1 }, 0, s, args:sub(1, 11)) })
    assert.same(invalid, { hip.launch(add, { 1 }, { 1 }, 0, s, "") })
    assert.same({ nil, "hipErrorInvalidHandle" }, { hip.launch(0, { 1 }, { 1 }, 0, s, args) })
    assert.same({ nil, "hipErrorInvalidHandle" }, { hip.launch(add, { 1 }, { 1 }, 0, 0, args) })
    hip.set_device(1)
    local other = assert(hip.stream())
    hip.set_device(0)
    assert.same({ nil, "hipErrorInvalidHandle" }, { hip.launch(add, { 1 }, { 1 }, 0, other, args) })
    assert(hip.stream_destroy(other))
    assert.equal("\0\0\0\0", result(4))
  end)

  it("have kernels by lowered name, and by plain name where that is one kernel's", function()
    for _, name in ipairs(lowered) do
      kernel(name)
    end
    assert.equal(kernel "_ZN2ns5scaleIfEEvPT_cd", kernel "ns::scale")
    assert.same({ nil, "hipErrorNotFound" }, { hip.get_function(module, "over") })
    assert.same({ nil, "hipErrorNotFound" }, { hip.get_function(module, "helper") })
    assert.same({ nil, "hipErrorNotFound" }, { hip.get_function(module, "") })
    assert.same({ nil, "hipErrorInvalidValue" }, { hip.get_function(module) })
    assert.same({ nil, "hipErrorInvalidHandle" }, { hip.get_function(0, "add") })
  end)

  it("count each kernel's own shared memory, and that of functions it may call", function()
    local function shared(name)
      return hip.function_attribute(kernel(name), 1)
    end
    assert.equal(16, shared "add") -- helper's, which any kernel might call
    assert.equal(400 + 16, shared "tile")
    assert.equal(12000 + 16, shared(lowered[8]))
    assert.equal(16, shared "dynamic")
    assert.equal(65536 - 416, hip.function_attribute(kernel "tile", 8))
    assert.equal(1024, hip.function_attribute(kernel "tile", 0))
    assert.same({ nil, "hipErrorInvalidValue" }, { hip.function_attribute(kernel "tile", 99) })
    local args = string.pack("<i8", p)
    assert(hip.launch(kernel "tile", { 1 }, { 32 }, 65536 - 416, s, args))
    local limits = { nil, "hipErrorInvalidConfiguration" }
    assert.same(limits, { hip.launch(kernel "tile", { 1 }, { 32 }, 65536 - 415, s, args) })
    assert.same(limits, { hip.launch(kernel(lowered[9]), { 1 }, { 1 }, 0, s, args) })
  end)

  it("give dynamic shared memory up to the limit", function()
    assert(hip.fill(p, 0x40000000, 1, 32, s))
    assert(hip.launch(kernel "dynamic", { 1 }, { 1024 }, 4096, s, string.pack("<i8", p)))
    assert.equal(2.0, (string.unpack("<f", result(4))))
  end)

  it("tell how many blocks fit a unit", function()
    local add = kernel "add"
    assert.equal(4, hip.occupancy(add, 256, 0))
    assert.equal(1, hip.occupancy(add, 1000, 0))
    assert.equal(32, hip.occupancy(add, 1, 0))
    assert.equal(3, hip.occupancy(add, 64, 20000))
    assert.equal(0, hip.occupancy(add, 2000, 0))
    assert.equal(0, hip.occupancy(add, 64, 65536))
    assert.equal(0, hip.occupancy(add, 64, -1))
    assert.same({ nil, "hipErrorInvalidValue" }, { hip.occupancy(add, 0, 0) })
  end)

  it("have globals by name, static and in namespaces too, with their sizes and first values", function()
    local sizes = { table = 16, plain = 8, counter = 4, ["ns::inner"] = 8, ["ns::hidden"] = 2, fixed = 8 }
    for name, bytes in pairs(sizes) do
      local address, size = hip.global(module, name)
      assert.equal(bytes, size, name)
      assert.is_true(address > 0)
    end
    assert.equal(string.pack("<i4i4i4i4", 1, 2, 3, 4), hip.peek((hip.global(module, "table")), 16))
    for _, name in ipairs { "nowhere", "inner", "add", "luhip_cpu_rt", "" } do
      assert.same({ nil, "hipErrorNotFound" }, { hip.global(module, name) })
    end
  end)

  it("let globals be written and read in stream order, within their bounds", function()
    local address = assert(hip.global(module, "table"))
    local inner, counter = assert(hip.global(module, "ns::inner")), assert(hip.global(module, "counter"))
    local keep, host = hip.pageable(16)
    hip.poke(host, string.pack("<i4", 99))
    assert(hip.copy(address + 4, host, 4, "h2d", s))
    hip.poke(host, string.pack("<f", 3.0))
    assert(hip.copy(inner + 4, host, 4, "h2d", s))
    assert(hip.launch(kernel "look", { 1 }, { 1 }, 0, s, string.pack("<i8", p)))
    assert(hip.copy(host, counter, 4, "d2h", s))
    assert.equal(8, (string.unpack("<i4", hip.peek(host, 4))))
    assert.equal(string.pack("<i4i4i4i4i4", 99, 7, 3, 3, 5), hip.peek(p, 20))
    local wrong = { nil, "hipErrorInvalidValue" }
    assert.same(wrong, { hip.copy(address, host, 17, "h2d", s) })
    assert.same(wrong, { hip.copy(address - 1, host, 1, "h2d", s) })
    assert.same(wrong, { hip.copy(host, counter + 1, 4, "d2h", s) })
    assert.is_userdata(keep)
  end)

  it("keep constants from being written", function()
    local address = assert(hip.global(module, "fixed"))
    local keep, host = hip.pageable(8)
    assert(hip.copy(host, address, 8, "d2h", s))
    assert.equal(string.pack("<i4i4", 5, 6), hip.peek(host, 8))
    assert.same({ nil, "hipErrorInvalidValue" }, { hip.copy(address, host, 4, "h2d", s) })
    assert.same({ nil, "hipErrorInvalidValue" }, { hip.fill(address, 0, 4, 8, s) })
    assert.is_userdata(keep)
  end)

  it("have globals of their own each time an image is loaded", function()
    local again = assert(hip.load(code))
    local one, two = assert(hip.global(module, "table")), assert(hip.global(again, "table"))
    assert.not_equal(one, two)
    hip.poke(one, "x")
    assert.equal("\1", hip.peek(two, 1))
    assert(hip.unload(again))
  end)

  it("C7 come and go many times without growing", function()
    local function resident()
      local file = assert(io.open "/proc/self/statm")
      local pages = file:read("a"):match "^%d+ (%d+)"
      file:close()
      return tonumber(pages) * 4096
    end
    local function turn(n)
      for _ = 1, n do
        local m = assert(hip.load(code))
        assert(hip.launch(assert(hip.get_function(m, "nothing")), { 4 }, { 4 }, 0, s))
        assert(hip.stream_sync(s))
        assert(hip.unload(m))
      end
    end
    if support.sanitizer then
      turn(20) -- sanitizers note every module for ever
      return
    end
    turn(100)
    local before = resident()
    turn(300)
    assert.is_true(resident() - before < 2 << 20)
  end)
end)

describe("an image that is none", function()
  local code

  setup(function()
    hip.set_device(0)
    local r = hip.compile { source = 'extern "C" __global__ void k() {} LUHIP_EXPORT(0, k)', kernels = { "k" } }
    assert.equal("hipSuccess", r.rc, r.log)
    code = r.code
  end)

  it("truncated anywhere, is refused", function()
    for length = 0, #code - 1, 61 do
      assert.same({ nil, "hipErrorInvalidImage" }, { hip.load(code:sub(1, length)) })
    end
    assert.same({ nil, "hipErrorInvalidImage" }, { hip.load(code:sub(1, -2)) })
  end)

  it("with any byte changed, is refused", function()
    for at = 1, #code, 97 do
      local changed = code:sub(1, at - 1) .. string.char((code:byte(at) + 1) % 256) .. code:sub(at + 1)
      assert.same({ nil, "hipErrorInvalidImage" }, { hip.load(changed) })
    end
  end)

  it("but another file, is refused", function()
    local file = assert(io.open("/proc/self/exe", "rb"))
    local program = file:read "a"
    file:close()
    for _, other in ipairs { "", "x", string.rep("\0", 1000), program, "\127ELF" .. string.rep("\255", 200) } do
      assert.same({ nil, "hipErrorInvalidImage" }, { hip.load(other) })
    end
  end)

  it("for the other warp size, is not for this device", function()
    hip.set_device(1)
    local got = { hip.load(code) }
    hip.set_device(0)
    assert.same({ nil, "hipErrorNoBinaryForGpu" }, got)
  end)
end)

describe("plain names", function()
  it("are what people call a symbol", function()
    local plain = testing.cpu_plain_name
    assert.equal("axpy", plain "axpy")
    assert.equal("axpy", plain "_Z4axpyfPKfPf")
    assert.equal("scale", plain "_Z5scaleIfLi4EEvPT_")
    assert.equal("ns::inner::scale", plain "_ZN2ns5inner5scaleIfEEvPT_")
    assert.equal("table", plain "_ZL5table")
    assert.equal("ns::table", plain "_ZN2nsL5tableE")
    assert.equal("table", plain "_ZN12_GLOBAL__N_15tableE")
    assert.is_nil(plain "_ZZ1kvE1s")
    assert.is_nil(plain "_Z99short")
    assert.is_nil(plain "_ZN")
    assert.is_nil(plain("_Z200" .. ("x"):rep(200)))
  end)
end)
