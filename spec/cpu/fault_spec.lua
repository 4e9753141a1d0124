-- What a kernel does wrong becomes an error that says who did it, and the device goes on.

local support = require "spec.support"

local source = [[
  #include <assert.h>
  __device__ __noinline__ int deep(int n, volatile int *p) {
    volatile char fill[512];
    fill[n % 512] = n;
    return n == 0 ? 0 : deep(n - 1, p) + fill[(n + *p) % 512];
  }
  __device__ __noinline__ int big(int n) {
    volatile int local[40000];
    for (int i = 0; i < 40000; i += 1000) local[i] = n;
    return local[n * 1000];
  }
  typedef int aligned __attribute__((vector_size(16)));
  extern "C" __global__ void wrong(int *out, int n, int how, int block, int thread, int barrier) {
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    if (barrier) __syncthreads();
    if (blockIdx.x == block && t == thread) {
      volatile int zero = 0, *null = nullptr;
      switch (how) {
      case 0: out[n + thread] = 1; break;
      case 1: out[0] = out[n + 2]; break;
      case 2: *null = 1; break;
      case 3: out[0] = *null; break;
      case 4: out[0] = deep(100000, &zero); break;
      case 5: out[0] = big(3); break;
      case 6: out[0] = n / zero; break;
      case 7: out[0] = n % zero; break;
      case 8: __builtin_trap();
      case 9: abort();
      case 10: assert(n < 0 && "n is never negative"); break;
      case 11: while (!zero); break;
      case 12: while (!zero) __syncthreads(); break;
      case 13: while (!zero) out[1] = __shfl(out[1], 0) + 1; break;
      case 14: reinterpret_cast<void (*)()>(64)(); break;
      case 16: out[0] = (-2147483647 - 1 + zero) / (zero - 1); break;
      case 17: out[0] = (-2147483647 - 1 + zero) % (zero - 1); break;
      case 18: *reinterpret_cast<volatile aligned *>(reinterpret_cast<char *>(out) + 4) = aligned{1, 2, 3, 4}; break;
      case 15: *reinterpret_cast<volatile int *>(0x8000000000000000ull) = 1; break;
      }
    }
    if (t < n) out[t] = 1;
  }
]]
local _, newlines = source:match("^(.-)assert%(n < 0"):gsub("\n", "")
local assert_line = newlines + 1

-- An array of n ints that end at a guard page, so that what lies behind faults, is 16 bytes times something.
local n = 1024

local function each_kind(id, options)
  local dev, wrong, good

  local function start()
    dev = support.open(id, options)
    wrong = dev:kernel(source, "wrong", { name = "wrong.hip" })
    good = dev:buffer("i32", n, 3)
  end

  local function goes_on()
    wrong:launch({ grid = 4, block = 256 }, good, n, -1, 0, 0, 0)
    assert.equal(1, good:read()[256])
  end

  -- Runs it with and without a barrier before, in blocks of one and of three dimensions; the error must name the place
  -- each time.
  local function fails(kind, how, ...)
    for barrier = 0, 1 do
      for _, block in ipairs { { 96, 1, 1 }, { 4, 6, 4 } } do
        local out = dev:buffer("i32", n, 0)
        wrong:launch({ grid = 5, block = block }, out, n, how, 3, 61, barrier)
        local e = support.assert_error_kind(kind, function()
          out:read()
        end, "'wrong'", ...)
        assert.equal("wrong", e.kernel)
        assert.same({ 3, 0, 0 }, e.block)
        if e.thread or kind == "fault" then
          local x, y = block[1], block[2]
          assert.same({ 61 % x, 61 // x % y, 61 // x // y }, e.thread)
        end
        goes_on()
      end
    end
  end

  if options.checked then
    it("a write outside its buffer names the buffer", function()
      start()
      fails("fault", 0, "wrote 244 bytes past the end of 'out'")
    end)
    it("a read outside its buffer names the buffer", function()
      start()
      fails("fault", 1, "read 8 bytes past the end of 'out'")
    end)
  end
  it("a null pointer written and read", function()
    start()
    fails("fault", 2, "wrote through a null pointer")
    fails("fault", 3, "read through a null pointer")
  end)
  it("an address that cannot exist", function()
    start()
    fails("fault", 15, "an address that cannot exist")
  end)
  it("a vector that is not aligned, which is no null pointer", function()
    start()
    fails("fault", 18, "a misaligned vector access")
  end)
  it("a call of something that is no function", function()
    start()
    fails("fault", 14)
  end)
  it("a stack that overflows, by recursion and by one large array", function()
    start()
    fails("fault", 4, "stack")
    fails("fault", 5, "stack")
  end)
  it("an integer divided by zero, and the smallest by -1", function()
    start()
    fails("fault", 6, "divided an integer by zero")
    fails("fault", 7, "divided an integer by zero")
    fails("fault", 16, "or the smallest integer by -1")
    fails("fault", 17, "or the smallest integer by -1")
  end)
  it("a trap and an abort", function()
    start()
    fails("fault", 8, "trap")
    fails("fault", 9, "trapped: abort() was called")
  end)
  it("an assertion, with its text, file and line", function()
    start()
    fails("fault", 10, [[n < 0 && "n is never negative" (wrong.hip:]] .. assert_line .. ")")
  end)
end

support.each_device(function(id)
  if not id:find "^cpu" then
    return
  end
  describe("checked:", function()
    each_kind(id, { checked = true })
  end)
  describe("unchecked:", function()
    each_kind(id, {})
  end)

  it("endless loops are stopped: bare, over barriers, over shuffles", function()
    local dev = support.open(id, { timeout = 150 })
    local wrong = dev:kernel(source, "wrong")
    for how = 11, 13 do
      for barrier = 0, 1 do
        local out = dev:buffer("i32", n, 0)
        wrong:launch({ grid = 4, block = 64 }, out, n, how, 2, 5, barrier)
        local e = support.assert_error_kind("timeout", function()
          out:read()
        end, "'wrong'", "150 ms")
        assert.same({ 2, 0, 0 }, e.block)
        local good = dev:buffer("i32", n, 0)
        wrong:launch({ grid = 4, block = 64 }, good, n, -1, 0, 0, 0)
        assert.equal(1, good:read()[64])
      end
    end
  end)

  it("many blocks may fault at once; one is told of, and later launches are whole", function()
    local dev = support.open(id, { checked = true })
    local kernel = dev:kernel [[
      extern "C" __global__ void k(int *out, int n, int wrong) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        out[wrong && i % 3 == 0 ? n + 2 : i] = i;
      }
    ]]
    for _ = 1, 20 do
      local out = dev:buffer("i32", 6400, 0)
      kernel:launch({ grid = 100, block = 64 }, out, 6400, 1)
      support.assert_error_kind("fault", function()
        out:read()
      end, "8 bytes past the end of 'out'")
      local good = dev:buffer("i32", 6400, 0)
      kernel:launch({ grid = 100, block = 64 }, good, 6400, 0)
      local got = good:read()
      for i = 0, 6399, 97 do
        assert.equal(i, got[i + 1])
      end
    end
  end)

  it("a fault without a kernel is the host's as before", function()
    local result = support.lua(([[
      local luhip = require "luhip"
      local dev = luhip.open %q
      local x = dev:buffer("i32", 4, 0)
      dev:kernel("extern \"C\" __global__ void k(int *x) { x[0] = 1; }"):launch({ grid = 1, block = 1 }, x)
      x:read()
      local pid = io.open("/proc/self/stat"):read "n"
      os.execute("kill -SEGV " .. pid)
      for _ = 1, 1e9 do end
    ]]):format(id))
    -- A sanitiser's handler is one that was there before: it reports and exits.
    assert.truthy(support.sanitizer and result.stderr:find "SEGV" or result.signal == 11, result.stderr)
  end)
end)
