-- The processor that kernels are compiled for (src/cpu/arch.c): LUHIP_CPU_ARCH and the option -march=.

local support = require "spec.support"
local testing = require("luhip.core").testing

-- A flag of /proc/cpuinfo that comes with the level, and with none below it; a macro that compilers define with it.
local levels = {
  { name = "x86-64", flag = "sse2", macro = "__SSE2__" },
  { name = "x86-64-v2", flag = "sse4_2", macro = "__SSE4_2__" },
  { name = "x86-64-v3", flag = "avx2", macro = "__AVX2__" },
  { name = "x86-64-v4", flag = "avx512vl", macro = "__AVX512VL__" },
}

local macros = {}
for i, level in ipairs(levels) do
  macros[i] = ("#ifdef %s\n  if (i == 0) level = %d;\n#endif\n"):format(level.macro, i)
end
local source = [[
  extern "C" __global__ void scale(float *x, const float *y, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float shared[64];
    shared[threadIdx.x] = i < n ? y[i] : 0;
    __syncthreads();
    if (i < n) x[i] = 2 * shared[threadIdx.x ^ 1] + __half2float(__float2half(shared[threadIdx.x]));
    int level = 0;
]] .. table.concat(macros) .. [[
    if (i == 0) *out = level;
  }
]]

local function set(text)
  local old = testing.setenv("LUHIP_CPU_ARCH", text)
  support.defer(function()
    testing.setenv("LUHIP_CPU_ARCH", old)
  end)
end

-- How many levels this processor has. valgrind knows three of them.
local function available()
  local flags = support.read_file("/proc/cpuinfo"):match "flags%s*:([^\n]*)" .. " "
  local count = 0
  while levels[count + 1] and flags:find(" " .. levels[count + 1].flag .. " ", 1, true) do
    count = count + 1
  end
  return support.sanitizer == "valgrind" and math.min(count, 3) or count
end

-- Compiles and runs the kernel; the level it was compiled for, by what the compiler defined.
local function run(dev, flags)
  local scale = dev:kernel(source, "scale", { flags = flags })
  local y = {}
  for i = 1, 100 do
    y[i] = i / 8
  end
  local x, from, level = dev:buffer("f32", 100, 0), dev:buffer("f32", 100, y), dev:buffer("i32", 1, -1)
  scale:launch({ grid = 2, block = 64 }, x, from, level, 100)
  local result = x:read()
  for i = 1, 98 do
    assert.equal(2 * y[((i - 1) ~ 1) + 1] + y[i], result[i])
  end
  return level:read()[1]
end

describe("the processor that kernels are compiled for", function()
  support.scope()
  local count = available()

  it("is any level that this one has, each with code of its own", function()
    local dev = support.open "cpu:0"
    for i = 1, count do
      set(levels[i].name)
      assert.equal(i, run(dev))
    end
    set "native"
    assert.is_true(run(dev) >= count)
    set(nil)
    assert.is_true(run(dev) >= count)
  end)

  it("is part of the compiler's identity, so that the cache does not mix them", function()
    local seen = {}
    for i = 1, count do
      set(levels[i].name)
      local identity = testing.hip.toolchain()
      assert.is_nil(seen[identity])
      seen[identity] = true
    end
  end)

  it("L1 a level that is unknown, or that this processor lacks, is an error that lists those there are", function()
    local dev = support.open "cpu:0"
    for _, wrong in ipairs { "x86-64-v9", "znver5", "-O2", " native", "x86-64-v3 " } do
      set(wrong)
      local said = ("LUHIP_CPU_ARCH is '%s', which is no architecture known here: there are native, x86-64, "):format(
        wrong
      )
      support.assert_error_kind("not_found", function()
        dev:compile(source)
      end, said)
    end
    for i = count + 1, #levels do
      set(levels[i].name)
      support.assert_error_kind("not_found", function()
        dev:compile(source)
      end, ("'%s', which this processor cannot run: it runs native"):format(levels[i].name))
    end
  end)

  it("L1 a wrong one is the reason why the device cannot be used", function()
    local r = support.lua(
      [[
        local luhip = require "luhip"
        for _, device in ipairs(luhip.devices()) do
          if device.backend == "cpu" then print(device.reason) end
        end
        print(pcall(luhip.open, "cpu"))
      ]],
      { env = { LUHIP_CPU_ARCH = "pentium" } }
    )
    local said = "LUHIP_CPU_ARCH is 'pentium', which is no architecture known here"
    local _, first = r.stdout:find(said, 1, true)
    assert.truthy(first, r.stdout .. r.stderr)
    assert.truthy(r.stdout:find(said, first, true), r.stdout .. r.stderr)
  end)

  it("an option of the user's for a level that is not here is an error, not a kernel that dies", function()
    local dev = support.open "cpu:0"
    for i, level in ipairs(levels) do
      local option = "-march=" .. level.name
      if i <= count then
        assert.equal(i, run(dev, { option }))
      else
        local allowed, why = testing.cpu_option_allowed(option)
        assert.is_false(allowed)
        assert.truthy(why:find(("'%s', which this processor cannot run"):format(level.name), 1, true), why)
      end
    end
  end)
end)
