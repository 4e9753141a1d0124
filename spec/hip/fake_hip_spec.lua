-- The rocm provider over a library of the spec's own (spec/support/fake_hip.c), where there is no AMD GPU: libraries of
-- ROCm 5, 6 and 7, what is optional in them, devices that reach each other, captures, and what their errors become.
-- Kernels are compiled by AMD's own hiprtc; they are not run.

local fake = require "spec.hip.fake"
local support = require "spec.support"

describe("the rocm provider", function()
  support.scope()

  local function run(script, options)
    return fake.hip(fake.SOURCE .. script, options)
  end

  for _, version in ipairs { 50221153, 60140091, 70051831 } do
    local name = ("%d.%d"):format(version // 10000000, version // 100000 % 100)

    it("ROCm " .. name .. ": the architecture comes from the layout of that version", function()
      local text = run(
        [[
        local dev = luhip.open "rocm:1"
        print(dev.id, dev.name, dev.arch, dev.warp_size, dev.shared_bytes)
        print(testing.stream_ordered(dev, 77), testing.mapped(dev, 78))
        print(testing.can_access_peer(dev, 0), testing.can_access_peer(dev, 1), testing.can_access_peer(dev, 9))
        ]],
        { version = version }
      )
      assert.equal(
        "rocm:1\tfake AMD GPU 1\tgfx90a:sramecc+:xnack-\t64\t65536\n77\t78\n1\t0\thipErrorInvalidDevice\n",
        text
      )
    end)

    it("ROCm " .. name .. ": buffers, kernels and graphs, by the runtime from 6.0 on and by the list before", function()
      local text = run(
        [[
        local dev = luhip.open "rocm:0"
        local x, y = dev:buffer("i32", 64, 3), dev:buffer("i32", 64, 0)
        local k = dev:kernel(COPY)
        assert(k.name == "copy" and #k.params == 3 and k.max_threads == 1024)
        local counts = calls(function() k:launch({ grid = 1, block = 64 }, x, y, 64) end)
        assert(counts.hipModuleLaunchKernel == 1)
        local g = dev:capture(function()
          y:copy(x)
          k:launch({ grid = 1, block = 64 }, x, y, 64)
          x:fill(9)
        end)
        assert(y:read()[1] == 3 and x:read()[1] == 9, "the first of two runs")
        x:fill(4)
        counts = calls(function() g:replay() end)
        assert(y:read()[64] == 4 and x:read()[64] == 9)
        print(g.kind, counts.hipGraphLaunch, counts.hipModuleLaunchKernel)
        g:replay()
        assert(y:read()[64] == 9)
        g:free()
        dev:close()
        ]],
        { version = version }
      )
      assert.equal(version < 60000000 and "list\t0\t1\n" or "driver\t1\t0\n", text)
    end)
  end

  it("modules are loaded and unloaded once each, and have their kernels and globals by name", function()
    run [[
      local dev = luhip.open "rocm:0"
      local counts = calls(function()
        local p = dev:compile(COPY)
        p:kernel "copy"
        raises("not_found", "'none'", p.kernel, p, "none")
        local t = p:global "table_"
        assert(t.bytes == 16, t.bytes)
        p:free()
        dev:close()
      end)
      assert(counts.hipModuleLoadData == 1 and counts.hipModuleUnload == 1)
    ]]
  end)

  it("what the host's memory and rows are filled with is what is read", function()
    run [[
      local dev = luhip.open "rocm:0"
      for _, case in ipairs { { "u8", 200 }, { "i16", -7 }, { "f32", 1.5 }, { "f64", 2.25 } } do
        assert(dev:buffer(case[1], 33, case[2]):read()[33] == case[2], case[1])
      end
      local p = dev:pitched("i32", { 3, 5 }, 9)
      assert(p:totable()[3][5] == 9)
    ]]
  end)

  it("copies between devices that reach each other with one copy, and no wait of the host's", function()
    run [[
      local a, b = luhip.open "rocm:0", luhip.open "rocm:1"
      local x, y = a:buffer("i32", 100, 0), b:buffer("i32", 100, 7)
      x:copy(y)
      a:sync()
      b:sync()
      local counts = calls(function() x:copy(y) end)
      assert(counts.hipMemcpyPeerAsync == 1 and counts.hipStreamWaitEvent == 2 and counts.hipEventRecord == 2)
      assert(counts.hipStreamQuery + counts.hipEventQuery + counts.hipStreamSynchronize == 0)
      assert(x:read()[100] == 7)
    ]]
  end)

  for what, options in pairs {
    ["that cannot reach each other"] = { env = { FAKE_HIP_PEERS = "0" } },
    ["of a library without hipMemcpyPeerAsync"] = { flags = "-DWITHOUT_hipMemcpyPeerAsync" },
  } do
    it("copies through the host between devices " .. what, function()
      run(
        [[
        local a, b = luhip.open "rocm:0", luhip.open "rocm:1"
        local x, y = a:buffer("i32", 100, 0), b:buffer("i32", 100, 7)
        local counts = calls(function() x:copy(y) end)
        assert(counts.hipMemcpyPeerAsync == 0 and counts.hipMemcpyAsync >= 2)
        assert(x:read()[100] == 7)
        ]],
        options
      )
    end)
  end

  it("half of the functions for memory in the order of a stream is none of them", function()
    local text = run(
      [[
      local dev = luhip.open "rocm:0"
      print((testing.stream_ordered(dev, 5)))
      ]],
      { flags = "-DWITHOUT_hipMallocAsync" }
    )
    assert.equal("nil\n", text)
  end)

  -- A script that prints why there is no rocm device, and how opening one says it.
  local WHY = [[
    for _, device in ipairs(luhip.devices()) do
      if device.backend == "rocm" then
        print(device.reason)
        raises("no_device", device.reason, luhip.open, "rocm:0")
      end
    end
  ]]

  it("a library that lacks a function is told by the function's name", function()
    local text = run(WHY, { flags = "-DWITHOUT_hipMemGetInfo" })
    assert.matches("libamdhip64.so.6 has no hipMemGetInfo", text, 1, true)
  end)

  it("no device, and a device count that fails, are told with the version that is installed", function()
    local version = { version = 60140091 }
    version.env = { FAKE_HIP_DEVICES = "0" }
    assert.matches("HIP 6.1 is installed, but there is no AMD GPU (hipErrorNoDevice)", run(WHY, version), 1, true)
    version.env = { FAKE_HIP_FAIL = "hipGetDeviceCount" }
    assert.matches("HIP 6.1 is installed, but there is no AMD GPU (hipErrorUnknown)", run(WHY, version), 1, true)
  end)

  it("with no device it still compiles", function()
    run(
      [[
      local image = luhip.compile { arch = "gfx90a", source = COPY }
      assert(image.kernels[1].name == "copy" and image.code:sub(1, 4) == "\127ELF")
      ]],
      { env = { FAKE_HIP_DEVICES = "0" } }
    )
  end)

  it("a library without hiprtc is told so", function()
    local text = run(WHY, { flags = "-DWITHOUT_hiprtc", alone = true })
    assert.matches("neither libamdhip64 nor libhiprtc has the hiprtc functions", text, 1, true)
  end)

  it("a device whose properties cannot be read is not opened", function()
    run(
      [[ raises("no_device", "rocm:0 cannot be started: the driver answered hipErrorUnknown", luhip.open, "rocm:0") ]],
      { env = { FAKE_HIP_FAIL = "hipGetDevicePropertiesR0600" } }
    )
  end)

  for call, case in pairs {
    hipModuleLoadData = { "driver", "dev:kernel(COPY)" },
    hipModuleLaunchKernel = { "launch", "dev:kernel(COPY):launch({ grid = 1, block = 4 }, x, x, 4) x:read()" },
    hipMemsetD32Async = { "driver", "x:fill(3) x:read()" },
  } do
    it("an error of " .. call .. " is told by its name, and the device works on", function()
      run(
        ([[
        local dev = luhip.open "rocm:0"
        local x = dev:buffer("i32", 4)
        x:write { 1, 2, 3, 4 }
        raises("%s", "hipErrorUnknown", function() %s end)
        x:write { 1, 2, 3, 5 }
        assert(x:read()[4] == 5)
        ]]):format(table.unpack(case)),
        { env = { FAKE_HIP_FAIL = call } }
      )
    end)
  end
end)
