-- Real code objects from AMD's hiprtc, with no GPU. Needs Debian's libamdhip64-5 (scripts/setup test brings it).

local support = require "spec.support"
local luhip = require "luhip"
local core = require "luhip.core"

local SOURCE = [[
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <stdint.h>
typedef float real;
struct pair { int a; double b; };
namespace ns {
__global__ void add(const real *a, uint32_t n, half *h) { h[threadIdx.x] = (half)a[n]; }
}
extern "C" __global__ void axpy(float a, const float *__restrict__ x, LUHIP_OUT float *y, bool on, pair p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (on) y[i] = a * x[i] + p.a;
}
template <class T, int N> __global__ void scale(T *p, float4 v) { p[threadIdx.x] *= N + v.x; }
#if 0
__global__ void gone(int *p) {}
#endif
#define KERNEL(name) extern "C" __global__ void name(int *p) { *p = 1; }
]]

local function compile(arch, source, options)
  options = options or {}
  options.arch, options.source = arch, source
  options.cache = false
  return luhip.compile(options)
end

local function types(kernel)
  local list = {}
  for i, parameter in ipairs(kernel.params) do
    list[i] = parameter.type
  end
  return list
end

describe("rocm", function()
  support.scope()

  it("is listed with a reason where it cannot be used, and as rocm:0 where it can", function()
    local found = {}
    for _, device in ipairs(luhip.devices()) do
      if device.backend == "rocm" then
        found[#found + 1] = device
        if device.reason then
          assert.matches("%a", device.reason)
          support.assert_error_kind("no_device", function()
            luhip.open "rocm:0"
          end, "rocm")
        else
          assert.matches("^rocm:%d+$", device.id)
        end
      end
    end
    assert.is_true(#found > 0)
  end)

  it("compiles for architectures that are not here", function()
    for _, arch in ipairs { "gfx90a", "gfx1030", "gfx906:xnack-" } do
      local image = compile(arch, SOURCE, { name = "signatures.hip", names = { "scale<float, 4>" } })
      assert.equal("\127ELF", image.code:sub(1, 4))
      assert.equal(224, ("<I2"):unpack(image.code, 19)) -- e_machine: AMD GPU
      assert.equal("", image.log)
      image:free()
    end
  end)

  it("K1 reads signatures, lowered names and metadata out of the code object", function()
    local image = compile("gfx90a", SOURCE, { names = { "scale<float, 4>" } })
    local kernels = {}
    for _, kernel in ipairs(image.kernels) do
      kernels[kernel.name] = kernel
    end
    assert.same({ "const float *", "unsigned int", "half *" }, types(kernels["ns::add"]))
    assert.equal("_ZN2ns3addEPKfjP6__half", kernels["ns::add"].lowered)
    local axpy = kernels.axpy
    assert.equal("axpy", axpy.lowered)
    assert.same({ "float", "const float *", "float *", "bool", "pair" }, types(axpy))
    assert.equal("out", axpy.params[3].kind)
    assert.equal(16, axpy.params[5].bytes)
    local scale = kernels["scale<float, 4>"]
    assert.same({ "float *", "float4" }, types(scale))
    assert.matches("^_Z5scale", scale.lowered)
    assert.is_nil(kernels.gone)
    assert.equal(64, axpy.warp_size)
    assert.is_true(axpy.registers > 0 and axpy.scalar_registers > 0 and axpy.max_threads >= 256)
    assert.equal(0, axpy.shared_bytes)
  end)

  it("knows shared memory and the launch bounds of each kernel", function()
    local image = compile(
      "gfx1030",
      [[
__global__ void __launch_bounds__(64) tile(float *p) {
  __shared__ float t[128];
  t[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = t[127 - threadIdx.x];
}
]]
    )
    local kernel = image.kernels[1]
    assert.equal(512, kernel.shared_bytes)
    assert.equal(64, kernel.max_threads)
    assert.equal(32, kernel.warp_size)
  end)

  it("an unknown architecture is an error that lists what hiprtc knows, and the process lives", function()
    for _, arch in ipairs { "gfx1", "nonsense", "gfx90a0", "gf" } do
      support.assert_error_kind("argument", function()
        compile(arch, SOURCE)
      end, arch, "gfx90a", "gfx906")
    end
    support.assert_error_kind("argument", function()
      compile("", SOURCE)
    end)
  end)

  it("a feature that the architecture does not know is an error that lists those it knows", function()
    local cases = {
      { "gfx90a:bogus+", "'bogus+' is not known there", "gfx90a knows sramecc+ and sramecc-, xnack+ and xnack-" },
      { "gfx90a:xnack", "'xnack' lacks its + or -", "gfx90a knows sramecc+" },
      { "gfx90a:", "feature ''", "gfx90a knows" },
      { "gfx90a:xnack+:", "feature ''", "gfx90a knows" },
      { "gfx90a::xnack+", "feature ''", "gfx90a knows" },
      { "gfx90a:+", "feature '+'", "gfx90a knows" },
      { "gfx90a:xnack++", "'xnack++' is not known", "gfx90a knows" },
      { "gfx90a:XNACK+", "'XNACK+' is not known", "gfx90a knows" },
      { "gfx90a:xnack+ ", "'xnack+ ' is not known", "gfx90a knows" },
      { "gfx90a:xnack+:xnack-", "'xnack-' comes twice", "gfx90a knows" },
      { "gfx900:sramecc+", "'sramecc+' is not known", "gfx900 knows xnack+ and xnack-" },
      { "gfx1030:xnack+", "'xnack+' is not known", "gfx1030 knows no features" },
    }
    for _, case in ipairs(cases) do
      support.assert_error_kind("argument", function()
        compile(case[1], SOURCE)
      end, table.unpack(case))
    end
    support.assert_error_kind("argument", function()
      compile(":xnack+", SOURCE)
    end)
  end)

  it("takes the features that an architecture has, in any order", function()
    for _, arch in ipairs { "gfx90a:sramecc+:xnack-", "gfx908:xnack+:sramecc-", "gfx1010:xnack-" } do
      compile(arch, "__global__ void k(int *p) { *p = 1; }"):free()
    end
  end)

  it("refuses options that make something else than a code object", function()
    for flag in ("-fsyntax-only -E -S -c -o -emit-llvm --offload-arch=gfx1 -save-temps -M"):gmatch "%S+" do
      support.assert_error_kind("argument", function()
        compile("gfx90a", "__global__ void k() {}\n", { flags = { flag } })
      end, "compiler option '" .. flag .. "' is not allowed")
    end
    support.assert_error_kind("argument", function()
      compile("gfx90a", "__global__ void k() {}\n", { flags = { "-include" } })
    end, "'-include' needs a value")
  end)

  it("takes options of optimisation, warnings and names", function()
    local flags = { "-O1", "-Wall", "-ffast-math", "-fno-unroll-loops", "-U", "V", "-DV=3", "-mcumode", "-w" }
    compile("gfx1030", "__global__ void k(int *p) { *p = V; }\n", { flags = flags }):free()
  end)

  it("K3 errors name the program, line and column, and the log holds no file of comgr's", function()
    local e = support.assert_error_kind("compile", function()
      compile("gfx90a", "__global__ void k(int *p) {\n  p[0] = foo;\n}\n", { name = "my prog.hip" })
    end, "my prog.hip:2:10", "foo")
    assert.equal("my prog.hip", e.diagnostics[1].file)
    assert.equal(2, e.diagnostics[1].line)
    assert.equal(10, e.diagnostics[1].column)
    assert.equal("error", e.diagnostics[1].severity)
    assert.is_nil(e.log:find("comgr", 1, true))
  end)

  it("K3 warnings come with the image", function()
    local image =
      compile("gfx90a", "__global__ void k(int *p) {\n#warning take care\n  *p = 1; }\n", { name = "w.hip" })
    assert.matches("w.hip:2:2: warning: take care", image.log)
  end)

  it("finds headers given as text and in folders with spaces, and says where it looked", function()
    local folder = support.temporary_directory() .. "/a folder"
    core.make_folder(folder)
    support.write_file(folder .. "/two.h", "#define TWO 2\n")
    local source = '#include "one.h"\n#include <two.h>\n__global__ void k(int *p) { *p = ONE + TWO; }\n'
    local image = compile("gfx906", source, { headers = { ["one.h"] = "#define ONE 1\n" }, include_dirs = { folder } })
    assert.equal("k", image.kernels[1].name)
    support.assert_error_kind("compile", function()
      compile("gfx906", source, { headers = { ["one.h"] = "#define ONE 1\n" } })
    end, "two.h")
  end)

  it("K2 notices a changed file of an include folder, though hiprtc tells none", function()
    local folder = support.temporary_directory()
    local source = '#include "shared.h"\n__global__ void k(int *p) { __shared__ int t[N]; t[*p] = 1; *p = t[p[1]]; }\n'
    for _, n in ipairs { 16, 32 } do
      support.write_file(folder .. "/shared.h", ("#define N %d\n"):format(n))
      local image = luhip.compile { arch = "gfx906", source = source, include_dirs = { folder } }
      assert.equal(4 * n, image.kernels[1].shared_bytes)
    end
  end)

  it("every kernel of the examples compiles", function()
    local listed = support.run { "ls", support.root .. "/examples/kernels" }
    local count = 0
    for file in listed.stdout:gmatch "[^\n]+%.hip" do
      local image = compile("gfx90a", support.read_file(support.root .. "/examples/kernels/" .. file), { name = file })
      assert.is_true(#image.kernels > 0, file)
      count = count + 1
    end
    assert.is_true(count > 0, "no example kernels")
  end)

  it("luhip compile shows a compile's errors as a script sees them, and says what it cannot write", function()
    local folder = support.temporary_directory()
    local function run(...)
      local words = { support.interpreter, support.root .. "/lua/luhip/cli.lua", "compile", "--arch", "gfx90a", ... }
      local r = support.run(words, { env = support.environment(), directory = folder })
      assert.same({ 1, "" }, { r.code, r.stdout })
      return r.stderr
    end
    support.write_file(folder .. "/k.hip", "__global__ void k(int *p) {}\n")
    assert.equal(
      "luhip compile: cannot compile 'k.hip': no kernel is named 'no<int>' (use of undeclared identifier 'no'); "
        .. "the source has: k (and 1 more error)\n"
        .. "error: no kernel is named 'no<int>' (use of undeclared identifier 'no'); the source has: k\n"
        .. "error: in the names asked for: use of undeclared identifier 'no'\n",
      run("k.hip", "--name", "no<int>")
    )
    assert.equal("luhip compile: cannot write k.hip/k.co: Not a directory\n", run("k.hip", "-o", "k.hip/%n.co"))
  end)

  it("a freed image says so", function()
    local image = compile("gfx90a", "__global__ void k() {}\n")
    image:free()
    image:free()
    support.assert_error_kind("freed", function()
      return image.code
    end)
    assert.matches("freed", tostring(image))
  end)
end)
