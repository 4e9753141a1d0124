-- Launches that come again and again, on CUDA, and kernels that print: over a driver of the spec's own, with kernels
-- that NVIDIA's NVRTC compiles where it is installed.

local fake = require "spec.hip.fake"
local support = require "spec.support"

describe("the cuda provider", function()
  support.scope()

  local function run(...)
    if not fake.has_nvrtc() then
      pending "NVRTC is not installed"
    end
    return fake.cuda(...)
  end

  -- A kernel `scale` of which an int is the first argument; `again(i)` launches it with i, and says by which calls.
  local AGAIN = [[
    local argument = assert(package.loadlib("libcuda.so.1", "fake_cuda_argument"))
    local dev = luhip.open "cuda:0"
    local x = dev:buffer("f32", 256, 1)
    local SOURCE = 'extern "C" __global__ void scale(int a, float *x) { x[threadIdx.x] *= a; }'
    local kernel = dev:kernel(SOURCE)
    local scale = kernel:bind { grid = 1, block = 256 }
    local function by(launch, ...)
      local arguments, list = table.pack(...), {}
      local counts = calls(function() launch(table.unpack(arguments)) end)
      for name, n in pairs(counts) do
        if not name:find "^cuDeviceGet" then -- which specs ask, to look at launches
          table.insert(list, n == 1 and name or name .. " " .. n)
        end
      end
      table.sort(list)
      return table.concat(list, ", ")
    end
    local function again(i)
      local names = by(scale, i, x)
      assert(argument() == tostring(i), "launched with " .. argument() .. " for " .. i)
      return names
    end
    local function warm(launch, ...)
      for _ = 1, 64 do
        assert(by(launch, ...):find "^[%w, ]*cuLaunchKernel$")
      end
      dev:sync()
    end
    warm(scale, 1, x)
  ]]
  local MADE = "cuFuncGetModule, cuGraphAddKernelNode, cuGraphCreate, cuGraphInstantiateWithFlags, cuGraphLaunch"

  it("launches a kernel as a graph of its own when it comes often, with the arguments of the time", function()
    run(AGAIN .. ([[
      assert(again(1) == %q)
      assert(again(1) == "cuGraphLaunch")
      assert(again(2) == "cuGraphExecKernelNodeSetParams, cuGraphLaunch")
      assert(again(2) == "cuGraphLaunch")
      local other = kernel:bind { grid = 2, block = 256 }
      warm(other, 5, x)
      assert(by(other, 5, x):find "cuGraphCreate")
      assert(again(2) == "cuGraphLaunch" and by(other, 6, x):find "SetParams" and again(2) == "cuGraphLaunch")
      -- one note for all launches of a kernel that is not bound: what differs is set
      local function launch(grid, i)
        kernel:launch({ grid = grid, block = 32 }, i, x)
      end
      warm(launch, 1, 7)
      assert(by(launch, 1, 7):find "cuGraphCreate" and by(launch, 1, 7) == "cuGraphLaunch")
      assert(by(launch, 3, 7) == "cuGraphExecKernelNodeSetParams, cuGraphLaunch" and argument() == "7")
      assert(by(launch, 3, 8) == "cuGraphExecKernelNodeSetParams, cuGraphLaunch" and argument() == "8")
    ]]):format(MADE))
  end)

  it("makes nothing while the device may have something to do: the driver may wait for that", function()
    run(AGAIN .. [[
      local other = kernel:bind { grid = 2, block = 256 }
      for _ = 1, 64 do other(1, x) end
      assert(by(other, 1, x) == "cuLaunchKernel") -- nobody has asked yet what has passed
      dev:sync()
      assert(by(other, 1, x):find "cuGraphCreate")
    ]])
  end)

  it("such a graph serves one stream: it would wait for its own launch before on another", function()
    run(AGAIN .. ([[
      assert(again(1) == %q)
      local s = dev:stream()
      local function there(i)
        return dev:with(s, again, i)
      end
      local calls = there(2)
      assert(calls:find "cuLaunchKernel" and not calls:find "cuGraph", calls)
      calls = again(2)
      assert(calls:find "cuGraphExecKernelNodeSetParams, cuGraphLaunch", calls)
      for i = 1, 64 do
        calls = there(i)
        assert(calls:find "cuLaunchKernel" and not calls:find "cuGraph", calls)
      end
      dev:sync()
      calls = there(65)
      assert(calls:find "cuGraphExecDestroy" and calls:find "cuGraphCreate", calls)
      calls = there(65)
      assert(calls == "cuGraphLaunch", calls)
      assert(again(65):find "cuLaunchKernel")
    ]]):format(MADE))
  end)

  it("what a window measures is launched as ever", function()
    run(AGAIN .. [[
      again(1)
      local window <close> = dev:start_profile()
      assert(again(2) == "cuLaunchKernel")
      local duration <close> = window:stop()
      duration:wait()
      assert(again(2) == "cuGraphExecKernelNodeSetParams, cuGraphLaunch")
    ]])
  end)

  it("such a graph goes with its launcher, its kernel and its device", function()
    run(AGAIN .. [[
      local function destroyed(fn, n)
        local counts = calls(fn)
        assert(counts.cuGraphExecDestroy == n and counts.cuGraphDestroy == n, counts.cuGraphExecDestroy)
      end
      again(1)
      dev:sync()
      destroyed(function() scale:free() end, 0) -- a finaliser does the same, and must not wait
      destroyed(function() dev:flush() end, 1)
      scale = kernel:bind { grid = 1, block = 256 }
      warm(scale, 1, x)
      again(1)
      for _ = 1, 64 do kernel:launch({ grid = 1, block = 32 }, 1, x) end
      dev:sync()
      kernel:launch({ grid = 1, block = 32 }, 1, x)
      destroyed(function() dev:close() end, 2)
      scale:free()
      assert(not pcall(scale, 1, x))
    ]])
  end)

  it("no more than 64 such graphs are alive; the launches of others are as ever", function()
    run(AGAIN .. [[
      local launchers = { scale }
      for i = 2, 65 do
        launchers[i] = kernel:bind { grid = i, block = 256 }
        warm(launchers[i], 1, x)
      end
      for i = 1, 64 do
        dev:sync()
        assert(by(launchers[i], 1, x):find "cuGraphCreate")
      end
      dev:sync()
      local a = by(launchers[65], 1, x)
      assert(a == "cuFuncGetModule, cuLaunchKernel", a)
      assert(by(launchers[65], 1, x) == "cuLaunchKernel")
      launchers[3]:free()
      for _ = 1, 4098 do
        launchers[65](1, x)
        dev:sync()
      end
      a = by(launchers[65], 2, x)
      assert(a == "cuGraphExecKernelNodeSetParams, cuGraphLaunch", a)
    ]])
  end)

  local MAKING = { "cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags", "cuFuncGetModule" }
  for _, refused in ipairs(MAKING) do
    it("launches go on as ever when the driver refuses " .. refused, function()
      run(AGAIN .. [[
        for i = 1, 3 do
          assert(again(i):find "cuLaunchKernel$")
          dev:sync()
        end
      ]], { env = { FAKE_CUDA_FAIL = refused } })
    end)
  end

  it("arguments that the driver does not take for the graph are launched as ever", function()
    run(AGAIN .. [[
      again(1)
      for _ = 1, 2 do
        assert(again(2) == "cuGraphExecKernelNodeSetParams, cuLaunchKernel")
      end
    ]], { env = { FAKE_CUDA_FAIL = "cuGraphExecKernelNodeSetParams" } })
  end)

  it("a launch of the graph that fails is the launch's failure", function()
    run(AGAIN .. [[
      again(1)
      scale(1, x) -- returns, as every launch whose work fails
      raises("launch", "kernel 'scale'", x.read, x)
    ]], { env = { FAKE_CUDA_FAIL = "cuGraphLaunch" } })
  end)

  it("waits by the driver once a kernel may print, which is when what was printed comes out", function()
    run [[
      local dev = luhip.open "cuda:0"
      local x = dev:buffer("i32", 64, 3)
      local function waits(name)
        local counts = calls(function() assert(x:read()[64] == 3) end)
        return counts.cuStreamWriteValue32_v2, counts.cuStreamSynchronize
      end
      local words, waited = waits()
      assert(words == 1 and waited == 0)
      dev:kernel '#include <stdio.h>\nextern "C" __global__ void tell(int *x) { printf("%d", x[0]); }'
      words, waited = waits()
      assert(words == 0 and waited == 1)
      assert(calls(function() x:fill(3) dev:sync() end).cuStreamSynchronize == 1)
    ]]
  end)
end)
