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
