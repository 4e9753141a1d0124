-- Compiling for the CPU device (src/cpu/compile.c and what it uses), through the driver table.
--
-- The device header is there before a source's first line; LUHIP_EXPORT(i, name) is what the kernel layer's marker
-- comes to for kernel i.

local support = require "spec.support"
local testing = require("luhip.core").testing
local compile = testing.hip.compile

local small = [[extern "C" __global__ void k(int *p) { *p = 1; } LUHIP_EXPORT(0, k)]]

local function setenv(name, value)
  local old = testing.setenv(name, value)
  support.defer(function()
    testing.setenv(name, old)
  end)
end

local function files(directory)
  local list = {}
  local pipe = assert(io.popen("find " .. support.quote(directory) .. " -mindepth 1 -type f"))
  for line in pipe:lines() do
    table.insert(list, line)
  end
  pipe:close()
  table.sort(list)
  return list
end

local function good(request)
  local r = compile(request)
  assert.equal("hipSuccess", r.rc, r.log)
  return r
end

local function bad(rc, request, ...)
  local r = compile(request)
  assert.equal(rc, r.rc, r.log)
  assert.is_nil(r.code)
  for _, fragment in ipairs { ... } do
    assert.truthy(r.log:find(fragment, 1, true), r.log)
  end
  return r
end

-- A program that stands in for the compiler; script(text, path) gives it another text.
local function script(text, path)
  path = path or support.temporary_directory() .. "/clang++"
  support.write_file(path, "#!/bin/sh\n" .. text .. "\n")
  assert(os.execute("chmod +x " .. path))
  setenv("LUHIP_CLANG", path)
  return path
end

describe("compiling for the CPU device", function()
  support.scope()

  it("gives code, an empty log, and the lowered names of the kernels", function()
    local r = good {
      source = [[
        namespace ns {
        template <class T, int n> __global__ void scale(T *x) { *x *= n; } LUHIP_EXPORT(1, scale<float, 3>)
        }
        extern "C" __global__ void plain() {} LUHIP_EXPORT(0, plain)
        __global__ void over(int) {}
        __global__ void over(float *) {} LUHIP_EXPORT(2, static_cast<void (*)(float *)>(over))
      ]],
      kernels = { "plain", "ns::scale<float, 3>", "over" },
    }
    assert.equal("", r.log)
    assert.same({ "plain", "_ZN2ns5scaleIfLi3EEEvPT_", "_Z4overPf" }, r.lowered)
    assert.same({}, r.dependencies)
    assert.equal("\127ELF", r.code:sub(1, 4))
  end)

  it("K3 names the program, with line and column, and no path of ours", function()
    local r = bad("hipErrorInvalidSource", {
      name = "my axpy.hip",
      source = "int a;\n__global__ void k(float *p) {\n  *p = undeclared;\n}\n",
    }, "my axpy.hip:3:8: error: use of undeclared identifier 'undeclared'")
    assert.is_nil(r.log:find("/", 1, true), r.log)
  end)

  it("K3 names the program for odd names too", function()
    for _, name in ipairs { 'quo"te.hip', "back\\slash.hip", "a/b c.hip", "%s%n.hip" } do
      bad("hipErrorInvalidSource", { name = name, source = "int x = y;" }, name:gsub("\\", "\\") .. ":1:9: error:")
    end
  end)

  it("gives warnings with code", function()
    local r = good { name = "w.hip", source = "void f() { int unused; }", options = { "-Wall" } }
    assert.truthy(r.log:find("w.hip:1:16: warning: unused variable 'unused'", 1, true), r.log)
  end)

  it("D3 a kernel that is not there is an error, unless it may be missing", function()
    local source = "#if 0\n" .. small .. "\n#endif\n"
    bad("hipErrorInvalidSource", { name = "m.hip", source = source, kernels = { "k" } }, "m.hip: error: kernel 'k'")
    assert.same({ "" }, good({ source = source, kernels = { "k" }, optional = true }).lowered)
  end)

  it("finds headers given as text, by both spellings and from each other", function()
    local r = good {
      source = '#include "sub/one.h"\n#include <two.h>\nint x = ONE + TWO + THREE;',
      header_names = { "sub/one.h", "two.h", "sub/three.h" },
      header_texts = { '#include "three.h"\n#define ONE 1\n', "#define TWO 2\n", "#define THREE 3\n" },
    }
    assert.same({}, r.dependencies)
  end)

  it("names such a header in messages as it was given", function()
    bad("hipErrorInvalidSource", {
      source = '#include "sub/one.h"\n',
      header_names = { "sub/one.h" },
      header_texts = { "\nint x = y;\n" },
    }, "sub/one.h:2:9: error:")
  end)

  it("K5 refuses headers whose names leave the folder", function()
    for _, name in ipairs { "../x.h", "/tmp/x.h", "a/../../x.h", "", "a/.." } do
      bad("hipErrorInvalidValue", { source = "", header_names = { name }, header_texts = { "" } }, "'" .. name .. "'")
    end
  end)

  it("K2 lists the files that were read from include folders, whatever they are called", function()
    local directory = support.temporary_directory()
    local odd = directory .. "/a b#c$d"
    assert(os.execute("mkdir " .. support.quote(odd)))
    support.write_file(odd .. "/one.h", '#include "t wo.h"\n')
    support.write_file(odd .. "/t wo.h", "#define TWO 2\n")
    local r = good { source = '#include "one.h"\n#include <cmath>\nint x = TWO;', options = { "-I", odd } }
    table.sort(r.dependencies)
    assert.same({ odd .. "/one.h", odd .. "/t wo.h" }, r.dependencies)
    assert.same(2, #good({ source = '#include "one.h"\nint x = TWO;', options = { "-I" .. odd } }).dependencies)
  end)

  it("names a header that is not there", function()
    bad("hipErrorInvalidSource", { source = '\n#include "nowhere.h"\n' }, "kernel.hip:2:10: fatal error: 'nowhere.h'")
  end)

  it("K5 refuses options that write files, load plug-ins, or read options elsewhere", function()
    local options = "-o -c -E -S -x @file file.cpp - -fplugin=x.so -fpass-plugin=x.so -Xclang -mllvm -Wl,-z "
      .. "-Wa,x -Wp,-MD -MD -MF --config=x -fuse-ld=x -B. -save-temps -ftime-trace=x -fprofile-generate "
      .. "-fmodules -fsanitize=address -m32 -nostdinc -l -L. -v -### -gsplit-dwarf"
    assert.is_false((testing.cpu_option_allowed ""))
    for option in options:gmatch "%S+" do
      local allowed, why = testing.cpu_option_allowed(option)
      assert.is_false(allowed, option)
      assert.truthy(why:find("'" .. option .. "'", 1, true))
    end
    bad("hipErrorInvalidValue", { source = small, options = { "-O2", "-o" } }, "'-o'")
  end)

  it("passes on the options that kernels want", function()
    local options = "-O2 -Ofast -DX=1 -UX -I. -isystem. -Wall -Wno-unused -w -g -std=c++20 -ffast-math -fno-fast-math "
      .. "-funroll-loops -fno-vectorize -ffp-contract=off -march=x86-64-v3 -Rpass=loop-vectorize"
    for option in options:gmatch "%S+" do
      local allowed, why = testing.cpu_option_allowed(option)
      assert.is_true(allowed, why)
    end
    assert.is_true(testing.cpu_option_allowed("-I", "a b", "-D", "X", "-include", "x.h"))
    assert.is_false(testing.cpu_option_allowed "-I")
    assert.is_false(testing.cpu_option_allowed("-D", ""))
    good { source = "static_assert(F(2) == 3 && Z);", options = { "-DF(a)=a+1", "-DZ" } }
    good { source = "#ifdef Y\n#error\n#endif", options = { "-DY", "-UY" } }
    good { source = "static_assert(X == 3 && __cplusplus > 201703L);", options = { "-D", "X=3", "-std=c++20" } }
    local r = good {
      source = "__global__ void k(float *p, int n) { for (int i = 0; i < n; i++) p[i] *= 2; } LUHIP_EXPORT(0, k)",
      options = { "-Rpass=loop-vectorize" },
    }
    assert.truthy(r.log:find("remark: vectorized loop", 1, true), r.log)
  end)

  it("keeps the author's macros away from the device headers", function()
    local directory = support.temporary_directory()
    support.write_file(directory .. "/first.h", 'static_assert(T == 7, "");\n#define SEEN T\n')
    for _ = 1, 2 do
      good {
        source = "static_assert(SEEN == 7);",
        options = { "-DT=7", "-D", "x=oops", "-include", directory .. "/first.h" },
      }
    end
    bad(
      "hipErrorInvalidSource",
      { name = "l.hip", source = "\nint a = b;", options = { "-DX=1" } },
      "l.hip:2:9: error:"
    )
  end)

  it("names functions that are declared and not defined, as C++ writes them", function()
    local r = bad("hipErrorInvalidSource", {
      name = "u.hip",
      source = [[
        namespace ns { __device__ float helper(const float *, int); }
        extern "C" __global__ void k(float *p) { *p = ns::helper(p, 1); } LUHIP_EXPORT(0, k)
      ]],
      kernels = { "k" },
    }, "u.hip: error: undefined: ns::helper(float const*, int)")
    assert.equal("", table.concat(r.lowered))
  end)

  it("K5 links kernels with nothing of the host's but mathematics and what compilers need", function()
    for _, name in ipairs { "system", "open", "fork", "exit", "dlopen", "lua_close" } do
      local call = 'extern "C" int NAME(...); extern "C" __global__ void k(int *p) { *p = NAME(p); } LUHIP_EXPORT(0, k)'
      bad("hipErrorInvalidSource", { source = call:gsub("NAME", name) }, "undefined: " .. name)
    end
    good {
      source = [[extern "C" __global__ void k(double *p, const double *q, int n) {
        for (int i = 0; i < n; i++) { p[i] = sin(q[i]) + tgamma(q[i]) + fmod(q[i], 3.0); }
        memmove(p + 1, p, n * sizeof(double));
      } LUHIP_EXPORT(0, k)]],
    }
  end)

  it("refuses globals that need code to be initialised", function()
    bad("hipErrorInvalidSource", {
      source = "__device__ int f(); int seen = f(); int f() { volatile int x = 3; return x; }",
    }, "constants only")
  end)

  it("expands a source for the scanner, with the user's lines alone", function()
    local r = good {
      preprocess = true,
      source = "#include <hip/hip_runtime.h>\n#define KERNEL(n) __global__ void n()\nKERNEL(a) {}\n"
        .. "#if 0\nKERNEL(b) {}\n#endif\n",
    }
    assert.truthy(r.code:find("__global__ void a() {}", 1, true), r.code)
    assert.is_nil(r.code:find("KERNEL", 1, true))
    assert.is_nil(r.code:find(" b()", 1, true))
    assert.is_nil(r.code:find("threadIdx", 1, true))
    local wrong = { preprocess = true, name = "p.hip", source = "\n#error wrong\n" }
    bad("hipErrorInvalidSource", wrong, "p.hip:2:2: error: wrong")
  end)

  it("refuses an architecture that is not this machine's, and a request without a source", function()
    bad("hipErrorInvalidValue", { source = small, arch = "gfx90a" }, "gfx90a")
    bad("hipErrorInvalidValue", { source = nil }, "needs a source")
  end)

  it("compiles for either warp size", function()
    local hip = testing.hip
    for device, warp in pairs { [0] = 32, [1] = 64 } do
      local arch = hip.arch(device)
      assert.truthy(arch:match("/" .. warp .. "$"))
      good { source = ('static_assert(warpSize == %d, "");'):format(warp), arch = arch }
    end
    assert.not_equal(hip.toolchain(0), hip.toolchain(1))
  end)
end)

describe("the compiler of the CPU device", function()
  support.scope()

  local function no_files_left()
    local directory = support.temporary_directory()
    setenv("TMPDIR", directory)
    return function()
      assert.same({}, files(directory))
    end
  end

  it("that is not there is an error that says how to get it", function()
    setenv("LUHIP_CLANG", "/nonexistent/clang++")
    bad("hipErrorFileNotFound", { source = small }, "/nonexistent/clang++", "LUHIP_CLANG")
    assert.same({ "hipErrorFileNotFound" }, { select(2, testing.hip.toolchain(0)) })
    assert.truthy(testing.hip.toolchain(0):find("/nonexistent/clang++", 1, true))
    for _, wrong in ipairs { "./clang++", "no-such-compiler", "/etc/passwd", "/tmp" } do
      testing.setenv("LUHIP_CLANG", wrong)
      bad("hipErrorFileNotFound", { source = small }, wrong)
    end
  end)

  it("that fails without a word is told with its exit code", function()
    local path = script "exit 3"
    bad("hipErrorInvalidSource", { source = small }, path, "exit code 3", "no reason")
  end)

  it("has an identity that changes with the program", function()
    local path = script "exit 1"
    local one = testing.hip.toolchain(0)
    assert.equal(one, testing.hip.toolchain(0))
    assert(os.execute("touch -d 2001-01-01 " .. path))
    local two = testing.hip.toolchain(0)
    assert.not_equal(one, two)
    support.write_file(path, "#!/bin/sh\nexit 22\n")
    assert.not_equal(two, testing.hip.toolchain(0))
  end)

  it("K5 leaves no files behind, however a compile ends", function()
    local check = no_files_left()
    good { source = small }
    good { source = small, preprocess = true }
    check()
    bad("hipErrorInvalidSource", { source = "syntax error" })
    bad("hipErrorInvalidSource", { source = 'extern "C" int system(); int x() { return system(); }' })
    bad("hipErrorInvalidValue", { source = "", header_names = { "../x" }, header_texts = { "" } })
    bad("hipErrorInvalidValue", { source = "", options = { "-o" } })
    check()
  end)

  it("K5 that takes too long is ended, with all it has started", function()
    script "sleep 60 & sleep 60"
    local check = no_files_left()
    bad("hipErrorLaunchTimeOut", { source = small, timeout = 200 }, "longer than 200 ms")
    check()
  end)

  it("that crashes is told from one that finds errors", function()
    local path = script "kill -SEGV $$"
    local check = no_files_left()
    bad("hipErrorUnknown", { source = small }, "crashed", "signal 11")
    script("exit 139", path)
    bad("hipErrorUnknown", { source = small }, "crashed", "exit code 139")
    script("echo strange words; exit 1", path)
    bad("hipErrorInvalidSource", { source = small }, "strange words")
    check()
  end)

  it("that makes nothing, or nonsense, is an error", function()
    script "exit 0"
    bad("hipErrorUnknown", { source = small }, "no object file")
    script 'while [ "$1" != -o ]; do shift; done; echo nonsense >"$2"'
    bad("hipErrorUnknown", { source = small }, "object file cannot be read")
  end)

  it("K5 sees nothing of the user's environment that changes what it does", function()
    local directory = support.temporary_directory()
    support.write_file(directory .. "/only_here.h", "#define HERE 1\n")
    for _, name in ipairs { "CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH" } do
      setenv(name, directory)
    end
    setenv("CCC_OVERRIDE_OPTIONS", "+-DEVIL")
    bad("hipErrorInvalidSource", { source = "#include <only_here.h>\n" }, "'only_here.h' file not found")
    good { source = "#ifdef EVIL\n#error evil\n#endif\n" }
  end)

  it("needs no cache folder, and uses none that others may write", function()
    local directory = support.temporary_directory()
    support.write_file(directory .. "/file", "")
    setenv("LUHIP_CACHE_DIR", directory .. "/file/below")
    good { source = small }
    testing.setenv("LUHIP_CACHE_DIR", directory .. "/open")
    assert(os.execute(("mkdir -m 777 D/open && mkdir -m 777 D/open/device"):gsub("D", directory)))
    good { source = small }
    assert.same({}, files(directory .. "/open"))
    setenv("LUHIP_CACHE", "off")
    testing.setenv("LUHIP_CACHE_DIR", directory .. "/off")
    good { source = small }
    assert.is_nil(io.open(directory .. "/off"))
  end)

  it("mends its headers in the cache, and does without a precompiled one that is damaged", function()
    local directory = support.temporary_directory()
    setenv("LUHIP_CACHE_DIR", directory)
    good { source = small }
    good { source = small }
    local precompiled
    for _, path in ipairs(files(directory)) do
      if path:match "%.pch$" then
        precompiled = path
      elseif path:match "/hip_runtime%.h$" then
        support.write_file(path, "#error damaged\n")
      elseif path:match "/luhip_std%.h$" then
        os.remove(path)
      end
    end
    assert.is_string(precompiled)
    good { source = small }
    if io.open(precompiled) then
      support.write_file(precompiled, "no precompiled header at all")
    end
    good { source = small }
    bad("hipErrorInvalidSource", { source = "int x = y;" }, "kernel.hip:1:9: error:")
    assert(os.execute("rm -rf " .. directory .. "/device"))
    good { source = small }
  end)

  it("works on when the host ignores SIGCHLD", function()
    testing.ignore_sigchld(true)
    local r, broken = compile { source = small, kernels = { "k" } }, compile { source = "int x = y;" }
    testing.ignore_sigchld(false)
    assert.equal("hipSuccess", r.rc, r.log)
    assert.same({ "k" }, r.lowered)
    assert.equal("hipErrorInvalidSource", broken.rc)
  end)
end)
