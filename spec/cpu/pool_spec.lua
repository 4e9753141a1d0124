-- The CPU device's threads: how many, what they leave to the host, several launches at once, fork, and the end.

local support = require "spec.support"
local testing = require("luhip.core").testing

local source = [[
  extern "C" __global__ void sum(int *out, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = blockIdx.x + t;
    for (int o = 32; o; o >>= 1) {
      __syncthreads();
      if (t < o) s[t] += s[t + o];
    }
    if (t == 0) atomicAdd(out, s[0]);
  }
  extern "C" __global__ void wrong(int *out) { if (blockIdx.x == 3 && threadIdx.x == 5) *(volatile int *)8 = 1; }
  extern "C" __global__ void endless(int *out) { while (*(volatile int *)out == 0); }
]]

local function expected(blocks)
  return 64 * (blocks * (blocks - 1) // 2) + blocks * 2016
end

support.each_device(function(id)
  if not id:find "^cpu" then
    return
  end

  it("any number of threads gives the same results", function()
    for _, threads in ipairs { 1, 2, 3, 8 } do
      local result = support.lua(
        ([[
        local luhip = require "luhip"
        local dev = luhip.open %q
        local sum = dev:kernel(%q, "sum")
        for _, blocks in ipairs { 1, 2, 100, 1000 } do
          local out = dev:buffer("i32", 1, 0)
          sum:launch({ grid = blocks, block = 64 }, out, 64)
          print(dev.units, out:read()[1])
        end
      ]]):format(id, source),
        { env = { LUHIP_CPU_THREADS = threads } }
      )
      local wanted = {}
      for i, blocks in ipairs { 1, 2, 100, 1000 } do
        wanted[i] = ("%d\t%d\n"):format(threads, expected(blocks))
      end
      assert.equal(table.concat(wanted), result.stdout, result.stderr)
    end
  end)

  it("a number of threads that is none is the reason why the device cannot be used", function()
    for _, wrong in ipairs { "abc", "-3", "0", "2x", " 2" } do
      local result = support.lua(
        [[
        local luhip = require "luhip"
        for _, device in ipairs(luhip.devices()) do
          if device.backend == "cpu" then print(device.reason) end
        end
        local ok, e = pcall(luhip.open, "cpu")
        print(ok, e)
      ]],
        { env = { LUHIP_CPU_THREADS = wrong } }
      )
      local said = ("LUHIP_CPU_THREADS is '%s', which is not a number of threads"):format(wrong)
      local first = result.stdout:find(said, 1, true)
      assert.truthy(first, result.stdout .. result.stderr)
      assert.truthy(result.stdout:find("false\t.*" .. said:gsub("%-", "%%-"), first), result.stdout)
    end
  end)

  it("launches on several streams at once are each right, faults between them", function()
    local dev = support.open(id)
    local program = dev:compile(source)
    local sum, wrong = program:kernel "sum", program:kernel "wrong"
    local streams, outs = {}, {}
    for i = 1, 4 do
      streams[i] = dev:stream()
      outs[i] = dev:buffer("i32", 1, 0)
    end
    local bad = dev:buffer("i32", 1, 0)
    for round = 1, 20 do
      for i = 1, 4 do
        sum:launch({ grid = 10 * i, block = 64, stream = streams[i] }, outs[i], 64)
      end
      if round % 5 == 0 then
        wrong:launch({ grid = 5, block = 64, stream = streams[1] }, bad)
        support.assert_error_kind("fault", function()
          bad:read()
        end)
        bad:fill(0)
      end
    end
    for i = 1, 4 do
      assert.equal(20 * expected(10 * i), outs[i]:read()[1])
    end
  end)

  it("its threads take the signals of faults and leave all others to the host", function()
    local result = support.lua(
      ([[
      local luhip = require "luhip"
      local dev = luhip.open %q
      local out = dev:buffer("i32", 1, 0)
      dev:kernel(%q, "sum"):launch({ grid = 100, block = 64 }, out, 64)
      out:read()
      -- Signal 4 of a thread that has not begun is still held back by the C library; other libraries' threads may
      -- hold back all for ever.
      local shown, ours, all_begun
      repeat
        shown, ours, all_begun = {}, 0, true
        for task in io.popen("ls /proc/" .. io.open("/proc/self/stat"):read "n" .. "/task"):lines() do
          local status = io.open("/proc/self/task/" .. task .. "/status"):read "a"
          local name, blocked = status:match "Name:%%s*(%%S+)", status:match "SigBlk:%%s*(%%x+)"
          shown[#shown + 1] = name .. "\t" .. blocked
          if name:find "^luhip%%-cpu" then
            ours = ours + 1
            all_begun = all_begun and tonumber(blocked, 16) >> 3 & 1 == 0
          end
        end
      until ours >= 3 and all_begun
      print(table.concat(shown, "\n"))
    ]]):format(id, source),
      { env = { LUHIP_CPU_THREADS = 3 } }
    )
    local found = 0
    for name, blocked in result.stdout:gmatch "(%S+)\t(%x+)" do
      if name:find "^luhip%-cpu" then
        found = found + 1
        local mask = tonumber(blocked, 16)
        for _, signal in ipairs { 4, 5, 7, 8, 11 } do
          assert.equal(0, mask >> (signal - 1) & 1, name .. " " .. signal)
        end
        for _, signal in ipairs { 1, 2, 10, 14, 15, 17, 28 } do
          assert.equal(1, mask >> (signal - 1) & 1, name .. " " .. signal)
        end
      end
    end
    assert.is_true(found >= 3, result.stdout .. result.stderr)
  end)

  it("a host's handler, installed before or after, gets the host's faults and not the kernel's", function()
    local dev = support.open(id)
    local program = dev:compile(source)
    local out = dev:buffer("i32", 1, 0)
    local function kernel_faults()
      program:kernel("wrong"):launch({ grid = 5, block = 64 }, out)
      support.assert_error_kind("fault", function()
        out:read()
      end)
      out:fill(0)
    end
    kernel_faults()
    testing.host_handle()
    support.defer(function()
      testing.host_handle(false)
    end)
    assert.is_true(testing.host_fault())
    for _ = 1, 3 do
      kernel_faults()
      assert.is_true(testing.host_fault())
      assert.is_true(testing.host_fault())
    end
  end)

  it("the process may end while a kernel runs", function()
    local result = support.lua(
      ([[
      local luhip = require "luhip"
      local dev = luhip.open { device = %q, timeout = 60000 }
      local out = dev:buffer("i32", 1, 0)
      dev:kernel(%q, "endless"):launch({ grid = 3, block = 64 }, out)
      io.stdout:write "ends"
      os.exit(7, false)
    ]]):format(id, source),
      { timeout = 30 }
    )
    assert.equal("ends", result.stdout, result.stderr)
    assert.equal(7, result.code, result.stderr)
  end)
end)
