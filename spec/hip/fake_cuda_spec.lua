-- The cuda provider over a driver of the spec's own (spec/support/fake_cuda.c), where there is no NVIDIA GPU: which
-- calls an operation makes, devices that reach each other, drivers of several versions, and what their errors become.

local fake = require "spec.hip.fake"
local support = require "spec.support"

describe("the cuda provider", function()
  support.scope()

  local run = fake.cuda

  for _, version in ipairs { 11080, 12040, 13000 } do
    it(("finds what it needs in a driver of CUDA %d.%d"):format(version // 1000, version % 1000 // 10), function()
      local text = run(
        [[
        local dev = luhip.open "cuda:1"
        print(dev.id, dev.name, dev.arch, dev.warp_size, dev.shared_bytes)
        print(calls(function() end).cuInit, testing.stream_ordered(dev, 77), testing.mapped(dev, 78))
        print(testing.can_access_peer(dev, 0), testing.can_access_peer(dev, 1), testing.can_access_peer(dev, 9))
        ]],
        { version = version }
      )
      assert.equal("cuda:1\tfake GPU 1\tsm_90\t32\t232448\n0\t77\t78\n1\t0\thipErrorInvalidDevice\n", text)
    end)
  end

  it("makes one call of the driver for a write, a fill, a copy, and one and a look for a read", function()
    run [[
      local dev = luhip.open "cuda:0"
      local x, y, host = dev:buffer("f32", 1024, 1), dev:buffer("f32", 1024, 2), luhip.array("f32", 1024)
      dev:sync()
      local function only(fn, expected)
        fn() -- what is taken once and kept
        dev:sync()
        local counts = calls(fn)
        for name, n in pairs(expected) do
          assert(counts[name] == n, name .. ": " .. counts[name])
        end
        for name in pairs(counts) do
          assert(expected[name], name)
        end
      end
      only(function() x:fill(3) end, { cuMemsetD32Async = 1 })
      only(function() x:copy(y) end, { cuMemcpyDtoDAsync_v2 = 1 })
      only(function() x:write(host) end, { cuMemcpyHtoDAsync_v2 = 1 })
      only(function() local a <close> = x:read() end, { cuMemcpyDtoHAsync_v2 = 1, cuStreamWriteValue32_v2 = 1 })
      only(function() x:fill(1) dev:sync() end, { cuMemsetD32Async = 1, cuStreamQuery = 1 })
      only(function()
        local w <close> = dev:start_profile()
        x:fill(1)
        local d <close> = w:stop()
        d:wait()
      end, { cuEventRecord = 2, cuMemsetD32Async = 1, cuStreamWriteValue32_v2 = 1, cuEventElapsedTime = 1 })
    ]]
  end)

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
        assert(calls:find "cuLaunchKernel", calls)
      end
      assert(calls:find "cuGraphExecDestroy", calls)
      calls = there(65)
      assert(calls:find "cuGraphCreate", calls)
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
      destroyed(function() scale:free() end, 1)
      scale = kernel:bind { grid = 1, block = 256 }
      warm(scale, 1, x)
      again(1)
      for _ = 1, 65 do kernel:launch({ grid = 1, block = 32 }, 1, x) end
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
        assert(by(launchers[i], 1, x):find "cuGraphCreate")
      end
      assert(by(launchers[65], 1, x) == "cuFuncGetModule, cuLaunchKernel")
      assert(by(launchers[65], 1, x) == "cuLaunchKernel")
      launchers[3]:free()
      for _ = 1, 4096 do launchers[65](1, x) end
      assert(by(launchers[65], 2, x) == "cuGraphExecKernelNodeSetParams, cuGraphLaunch")
    ]])
  end)

  local MAKING = { "cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags", "cuFuncGetModule" }
  for _, refused in ipairs(MAKING) do
    it("launches go on as ever when the driver refuses " .. refused, function()
      run(AGAIN .. [[
        for i = 1, 3 do
          assert(again(i):find "cuLaunchKernel$")
        end
      ]], { env = { FAKE_CUDA_FAIL = refused } })
    end)
  end

  it("arguments that the driver does not take for the graph are launched as ever", function()
    run(AGAIN .. [[
      again(1)
      assert(again(2) == "cuGraphDestroy, cuGraphExecDestroy, cuGraphExecKernelNodeSetParams, cuLaunchKernel")
      assert(again(2):find "cuGraphCreate" and again(2) == "cuGraphLaunch")
    ]], { env = { FAKE_CUDA_FAIL = "cuGraphExecKernelNodeSetParams" } })
  end)

  it("a launch of the graph that fails is the launch's failure", function()
    run(AGAIN .. [[
      again(1)
      scale(1, x) -- returns, as every launch whose work fails
      raises("launch", "kernel 'scale'", x.read, x)
    ]], { env = { FAKE_CUDA_FAIL = "cuGraphLaunch" } })
  end)

  it("a read waits for a word that the stream writes, or asks the stream where the driver has none", function()
    local script = [[
      local dev = luhip.open "cuda:0"
      local x = dev:buffer("i32", 64, 3)
      local looks = 0
      for i = 1, 4 do
        x:fill(i)
        local counts = calls(function() assert(x:read()[64] == i) end)
        assert(counts.cuStreamWriteValue32_v2 == (i == 1 and 1 or %d))
        looks = looks + counts.cuStreamQuery
      end
      assert(looks == %d, looks)
      assert(calls(function() dev:close() end).cuMemFreeHost >= 1)
    ]]
    run(script:format(1, 0))
    run(script:format(0, 4), { env = { FAKE_CUDA_FAIL = "cuStreamWriteValue32_v2" } })
  end)

  it("a read asks the stream when the word does not come, and tells what became of the stream", function()
    run(
      [[
      local dev = luhip.open "cuda:0"
      local x = dev:buffer("i32", 64, 3)
      local counts = calls(function() assert(x:read()[64] == 3) end)
      assert(counts.cuStreamQuery + counts.cuEventQuery >= 1)
    ]],
      { env = { FAKE_CUDA_NO_WORDS = "1" } }
    )
    run(
      [[
      local dev = luhip.open "cuda:0"
      local x = dev:buffer("i32", 64, 3)
      raises("driver", "hipErrorUnknown", x.read, x)
    ]],
      { env = { FAKE_CUDA_NO_WORDS = "1", FAKE_CUDA_FAIL = "cuStreamQuery" } }
    )
  end)

  it("takes a small source along with the command, wherever it lies, and stages others", function()
    run [[
      local dev, other = luhip.open "cuda:0", luhip.open "cuda:1"
      local x, y = dev:buffer("u8", 8192), dev:buffer("u8", 8193)
      local pinned = other:staging({ 8192 })[1]
      pinned:map(function(_, i) return i % 251 end)
      local function held(b, data)
        local before = dev:memory().pinned.reserved
        b:write(data)
        dev:sync()
        return dev:memory().pinned.reserved - before
      end
      assert(held(x, ("a"):rep(8192)) == 0 and x:read()[8192] == 97)
      assert(held(x, luhip.array("u8", 8192, 5)) == 0 and x:read()[8192] == 5)
      assert(held(x, pinned) == 0 and x:read()[250] == 250)
      assert(held(y, ("b"):rep(8193)) > 0 and y:read()[8193] == 98)
    ]]
  end)

  it("copies between devices that reach each other with one copy, and no wait of the host's", function()
    run [[
      local a, b = luhip.open "cuda:0", luhip.open "cuda:1"
      local x, y = a:buffer("i32", 100, 0), b:buffer("i32", 100, 7)
      x:copy(y)
      a:sync()
      b:sync()
      local counts = calls(function() x:copy(y) end)
      assert(counts.cuMemcpyPeerAsync == 1 and counts.cuStreamWaitEvent == 2 and counts.cuEventRecord == 2)
      assert(counts.cuStreamQuery + counts.cuEventQuery + counts.cuStreamSynchronize == 0)
      assert(counts.cuMemcpyDtoHAsync_v2 == 0 and counts.cuCtxEnablePeerAccess == 0)
      assert(x:read()[100] == 7)
      -- what writes the source next comes after the copy
      local s = b:stream()
      assert(calls(function() b:with(s, y.fill, y, 8) end).cuStreamWaitEvent >= 0)
      local p, q = a:pitched("i32", { 3, 5 }, 0), b:pitched("i32", { 3, 5 }, 9)
      for i = 1, 2 do -- access is allowed once; the second time the driver says so
        local rows = calls(function() p:copy(q) end)
        assert(rows.cuMemcpy2DAsync_v2 == 1 and rows.cuMemcpyPeerAsync == 0)
        assert(p:totable()[3][5] == 9)
        q:fill(9)
      end
    ]]
  end)

  it("copies through the host where devices cannot reach each other", function()
    run(
      [[
      local a, b = luhip.open "cuda:0", luhip.open "cuda:1"
      local x, y = a:buffer("i32", 100, 0), b:buffer("i32", 100, 7)
      local counts = calls(function() x:copy(y) end)
      assert(counts.cuMemcpyPeerAsync == 0 and counts.cuMemcpyDtoHAsync_v2 == 1 and counts.cuMemcpyHtoDAsync_v2 == 1)
      assert(x:read()[100] == 7)
    ]],
      { env = { FAKE_CUDA_PEERS = "0" } }
    )
  end)

  it("a copy between devices that the driver refuses is told, and the destination carries it", function()
    run(
      [[
      local a, b = luhip.open "cuda:0", luhip.open "cuda:1"
      local x, y = a:buffer("i32", 100, 0), b:buffer("i32", 100, 7)
      local ok, e = pcall(x.copy, x, y)
      assert(not ok and e.kind == "driver" and e.message:find "hipErrorUnknown", tostring(e))
      ok, e = pcall(x.read, x)
      assert(not ok and e.kind == "driver", tostring(e))
      assert(y:read()[1] == 7)
      x:fill(1)
      assert(x:read()[1] == 1)
    ]],
      { env = { FAKE_CUDA_FAIL = "cuMemcpyPeerAsync" } }
    )
  end)
end)

support.each_device(function(id)
  local testing = require("luhip.core").testing

  it("memory in the order of a stream, and the host's memory for kernels, where the driver has them", function()
    local dev = support.open(id)
    local ordered, mapped = testing.stream_ordered(dev, 41), testing.mapped(dev, 42)
    assert.equal(id:find "^cuda" and 41 or ordered, ordered)
    assert.equal(id:find "^cuda" and 42 or mapped, mapped)
  end)
end)
