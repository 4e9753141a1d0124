-- NVRTC behind the cuda provider, over a driver of the spec's own: modules and launches, options, headers, what is
-- refused and what it says, devices that are lost and started again. Kernels are compiled by NVIDIA's NVRTC where it
-- is installed; they are not run.

local fake = require "spec.hip.fake"
local support = require "spec.support"

describe("the cuda provider's compiler", function()
  support.scope()

  local function run(script, options)
    if not fake.has_nvrtc() then
      pending "NVRTC is not installed"
    end
    return fake.cuda(fake.SOURCE .. script, options)
  end

  it("K1 modules are loaded and unloaded once each, and have their kernels and globals by name", function()
    run [[
      local dev = luhip.open "cuda:0"
      local counts = calls(function()
        local p = dev:compile(COPY)
        local k = p:kernel "copy"
        assert(#k.params == 3 and k.params[2].type == "int *" and k.max_threads == 1024 and k.registers == 32)
        raises("not_found", "'none'", p.kernel, p, "none")
        assert(p:global "table_".bytes == 16)
        raises("not_found", "'none'", p.global, p, "none")
        local x = dev:buffer("i32", 8, 1)
        k:launch({ grid = 2, block = 4 }, x, x, 8)
        assert(k:occupancy(64) == 2)
        p:free()
        dev:close()
      end)
      assert(counts.cuModuleLoadData == 1 and counts.cuModuleUnload == 1 and counts.cuLaunchKernel == 1)
    ]]
  end)

  it(
    "K1 kernels that are templates or in namespaces are found by their names, and one that is left out is not",
    function()
      run [[
      local p = luhip.open("cuda:0"):compile(
        "namespace ns { __global__ void add(float *p) { *p += 1; } }\n" ..
          "template <class T, int N> __global__ void scale(T *p) { *p *= N; }\n" ..
          "#if 0\n__global__ void gone(int *p) {}\n#endif\n",
        { names = { "scale<float, 4>" } }
      )
      assert(p:kernel("ns::add").params[1].type == "float *")
      assert(p:kernel("scale<float, 4>").params[1].type == "float *")
      raises("not_found", "'gone'", p.kernel, p, "gone")
    ]]
    end
  )

  it("K3 errors have file, line and column, as clang writes them", function()
    run [[
      local dev = luhip.open "cuda:0"
      local source = "__device__ int f(int a, int b);\n__global__ void k(int *p) {\n  p[0] = foo;\n  f(p);\n}\n"
      local said = "my prog.hip:3:10: identifier 'foo' is undefined"
      local e = raises("compile", said, dev.compile, dev, source, { name = "my prog.hip" })
      local d = e.diagnostics[1]
      assert(d.file == "my prog.hip" and d.line == 3 and d.column == 10 and d.severity == "error")
      e = raises("compile", "told so", dev.compile, dev, "#error told so\n__global__ void k() {}\n", { name = "e.hip" })
      assert(e.diagnostics[1].line == 1 and not e.message:find "catastrophic")
    ]]
  end)

  it("K3 errors end behind the 20th, as clang's do", function()
    run [[
      local lines = {}
      for i = 1, 60 do
        lines[i] = ("int f%d() { return missing_%d; }"):format(i, i)
      end
      local ok, e = pcall(function() luhip.open "cuda:0":compile(table.concat(lines, "\n")) end)
      assert(not ok and e.kind == "compile" and #e.diagnostics == 20, #e.diagnostics)
      assert(tostring(e):find "missing_1" and not tostring(e):find "missing_21" and e.log:find "too many errors")
    ]]
  end)

  it("K3 warnings come with the program, and -w is without", function()
    run [[
      local source = "__global__ void k(int *p) {\n  int unused;\n  *p = 1;\n}\n"
      local dev = luhip.open "cuda:0"
      local p = dev:compile(source, { name = "w.hip" })
      assert(p.log:find("w.hip:2:7: warning", 1, true) and p.log:find("'unused'", 1, true), p.log)
      p = dev:compile(source, { name = "w.hip", flags = { "-w" } })
      assert(p.log == "", p.log)
    ]]
  end)

  it("an architecture that NVRTC does not know is an error that lists those it does", function()
    run(
      [[
      local dev = luhip.open "cuda:0"
      local e = raises("argument", "knows no architecture 'sm_10'", dev.compile, dev, COPY)
      assert(e.message:find("sm_90", 1, true), e.message)
    ]],
      { env = { FAKE_CUDA_MAJOR = "1" } }
    )
  end)

  it("options of clang's spelling are taken, and one that NVRTC does not know is told", function()
    run [[
      local flags = { "-O2", "-Wall", "-g", "-ffast-math", "-ffp-contract=off", "-std=gnu++17", "-DV=3" }
      local source = "__global__ void k(int *p) { static_assert(V == 3, \"\"); *p = V; }\n"
      local dev = luhip.open "cuda:0"
      assert(dev:kernel(source, { flags = flags }).name == "k")
      raises("argument", "--nonsense", dev.compile, dev, source, { flags = { "-DV=3", "--nonsense" } })
    ]]
  end)

  it("K2 headers are found as text and in folders, and a changed one makes another program", function()
    run(
      [[
      local core = require "luhip.core"
      local folder = os.getenv "FOLDER" .. "/a folder"
      core.make_folder(folder)
      local function write(name, text)
        local file <close> = assert(io.open(folder .. "/" .. name, "w"))
        file:write(text)
      end
      write("inner.h", "#define N 16\n")
      write("outer.h", "#include \"inner.h\"\n")
      local dev = luhip.open "cuda:0"
      local source = "#include <outer.h>\n#include \"text.h\"\n__global__ void k(int *p) { *p = N + ONE; }\n"
      local options = { headers = { ["text.h"] = "#define ONE 1\n" }, include_dirs = { folder } }
      local function compiled()
        local before = core.compile_stats().compiles
        dev:compile(source, options):free()
        collectgarbage()
        return core.compile_stats().compiles - before
      end
      assert(compiled() == 1)
      assert(compiled() == 0)
      write("inner.h", "#define N 32 \n")
      assert(compiled() == 1)
      options.flags, options.include_dirs = { "-isystem", folder, "-include", "inner.h" }, nil
      assert(compiled() == 1)
      options.flags = nil
      raises("compile", "outer.h", dev.compile, dev, source, options)
    ]],
      { env = { FOLDER = support.temporary_directory() } }
    )
  end)

  it("E8 a device that is lost is told, and is started again when it is opened again", function()
    run([[
      local dev = luhip.open "cuda:0"
      local k = dev:kernel(COPY)
      local x = dev:buffer("i32", 8, 1)
      dev:sync()
      testing.driver_fail { call = "hipStreamQuery", error = "hipErrorIllegalAddress", sticky = true }
      k:launch({ grid = 2, block = 4 }, x, x, 8)
      raises("driver", "hipErrorIllegalAddress", dev.sync, dev)
      raises("poisoned", "open it again", x.read, x)
      dev:close()
      testing.driver_reset()
      dev = luhip.open "cuda:0"
      assert(dev:buffer("i32", 8, 3):read()[8] == 3)
    ]])
  end)

  for call, kind in pairs { cuModuleLoadData = "driver", cuModuleGetFunction = "driver" } do
    it("an error of " .. call .. " is told by its name", function()
      run(
        ([[
        local dev = luhip.open "cuda:0"
        raises("%s", "hipErrorUnknown", dev.kernel, dev, COPY)
        assert(dev:buffer("i32", 4, 2):read()[4] == 2)
        ]]):format(kind),
        { env = { FAKE_CUDA_FAIL = call } }
      )
    end)
  end

  local REPLAYS = [[
    local dev = luhip.open "cuda:0"
    local k, x, y = dev:kernel(COPY), dev:buffer("i32", 8, 1), dev:buffer("i32", 8, 2)
    local g = dev:capture(function()
      k:launch({ grid = 2, block = 4 }, x, y, 8)
      y:fill(3)
    end)
    local first = calls(function() g:replay() end)
    local second = calls(function() g:update(1, x, y, 4) g:replay() end)
    print(g.kind, first.cuGraphLaunch, first.cuLaunchKernel, second.cuGraphLaunch, second.cuLaunchKernel,
      second.cuGraphExecUpdate + second.cuGraphExecUpdate_v2)
    g:free()
  ]]

  it("F9 F11 replays and updates are the driver's own, in either form of its function", function()
    for _, version in ipairs { 11080, 13000 } do
      -- While it is made anew the launch is noted, and not run.
      assert.equal("driver\t1\t0\t1\t1\t1\n", run(REPLAYS, { version = version }))
    end
  end)

  it("F12 a driver whose captures lose launches replays nothing: the list is replayed instead", function()
    local kind, graphs, launches = run(REPLAYS, { env = { FAKE_CUDA_LOSES = "1" } }):match "(%a+)\t(%d+)\t(%d+)"
    assert.same({ "list", "0", "1" }, { kind, graphs, launches })
  end)

  it("no device, and a driver that cannot be started, are told with its version", function()
    local WHY = [[
      for _, device in ipairs(luhip.devices()) do
        if device.backend == "cuda" then print(device.reason) end
      end
    ]]
    local text = fake.cuda(WHY, { version = 12040, env = { FAKE_CUDA_FAIL = "cuInit" } })
    assert.equal("the CUDA driver 12.4 cannot be started (hipErrorUnknown, CUDA's error 999)\n", text)
    text = fake.cuda(WHY, { version = 12040, env = { FAKE_CUDA_DEVICES = "0" } })
    assert.equal("the CUDA driver 12.4 is installed, but there is no NVIDIA GPU\n", text)
  end)
end)
