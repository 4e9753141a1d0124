-- Compiling: kernels found, options, name expressions, and what errors say (src/kernel/compile.c, source.c,
-- setup.c, diagnose.c).

local support = require "spec.support"
local testing = require("luhip.core").testing

local function kernel_names(program)
  local list = program:kernels()
  table.sort(list)
  return table.concat(list, " ")
end

support.each_device(function(id)
  local dev

  before_each(function()
    dev = support.open(id)
  end)

  -- The i32 that a kernel (int *) writes.
  local function result(kernel)
    local out = dev:buffer("i32", 1, -1)
    kernel:launch({ grid = 1, block = 1 }, out)
    return out:totable()[1]
  end

  local function compile_error(source, options, ...)
    return support.assert_error_kind("compile", function()
      dev:compile(source, options)
    end, ...)
  end

  describe("kernels", function()
    it("K1 are found wherever the preprocessor leaves them", function()
      local program = dev:compile [[
        #include <hip/hip_runtime.h>
        #define KERNEL __global__
        #ifdef NOT_DEFINED
        __global__ void gone(int *x) {}
        #endif
        #if 0
        don't __global__ void gone2(int *x) {
        #endif
        #if defined(NOT_DEFINED)
        __global__ void both(float *x, int n) {
        #else
        KERNEL void both(int *x) {
        #endif
          *x = 5; }
        namespace a { namespace { extern "C" KERNEL void c_inside(int *x) { *x = 6; } } }
      ]]
      assert.equal("a::c_inside both", kernel_names(program))
      assert.equal("x", program:kernel("both").params[1].name)
      assert.equal(5, result(program:kernel "both"))
      assert.equal(6, result(program:kernel "a::c_inside"))
    end)

    it("K1 are found though the source defines macros of everyday names", function()
      local noexcept = id:find "^cuda" and "" or "noexcept" -- which NVRTC refuses
      local program = dev:compile(([[
        #define run 1
        #define packed __attribute__((packed))
        #define params 2
        #define align 8
        #define bytes 3
        #define used
        #define visibility
        #define trace
        #define T float
        #define N 4
        #define i 7
        #define x 5
        #define type int
        #define value 4
        __global__ void k(int *y) %s { *y = i; }
      ]]):format(noexcept))
      assert.equal(7, result(program:kernel()))
    end)

    if not id:find "^cuda" then -- NVRTC does not preprocess alone
      it("K1 that macros make are found", function()
        local program = dev:compile [[
          #include <hip/hip_fp16.h>
          #include <hip/hip_runtime.h>
          #define MAKE(name, value) __global__ void name(int *made) { *made = value; }
          MAKE(one, 1)
          namespace n { MAKE(two, 2) }
        ]]
        assert.equal("n::two one", kernel_names(program))
        assert.equal(2, result(program:kernel "n::two"))
        assert.equal("made", program:kernel("one").params[1].name)
      end)
    end

    it("K1 of headers given as text are found, if they are included", function()
      local program = dev:compile('#include "used.h"\n#include <sub/also.h>\n', {
        headers = {
          ["used.h"] = "#pragma once\nnamespace h { __global__ void k(int *x) { *x = VALUE; } }",
          ["sub/also.h"] = '#include "used.h"\n__global__ void also(int *x) { *x = 4; }',
          ["unused.h"] = "__global__ void unused(int *x) {}",
        },
        defines = { VALUE = 3 },
      })
      assert.equal("also h::k", kernel_names(program))
      assert.equal(3, result(program:kernel "h::k"))
    end)

    it("K1 of files in include folders are found", function()
      local folder = support.temporary_directory() .. "/with space"
      assert(os.execute("mkdir " .. support.quote(folder)))
      support.write_file(
        folder .. "/k.h",
        "template <class T> __global__ void t(T *tx) { *tx = 9; }\n__global__ void f(int *fx) { *fx = 8; }"
      )
      local program = dev:compile('#include "k.h"', { include_dirs = { folder }, names = { "t<int>" } })
      assert.equal("f t<int>", kernel_names(program))
      assert.equal("tx", program:kernel("t<int>").params[1].name)
      assert.equal(8, result(program:kernel "f"))
      assert.equal(9, result(program:kernel "t<int>"))
    end)

    it("K1 need not be there at all: a program may have only globals", function()
      local program = dev:compile("__device__ int value = 7;", { name = "globals.hip" })
      assert.same({}, program:kernels())
      support.assert_error_kind("not_found", function()
        program:kernel()
      end, "program 'globals.hip' has no kernels")
    end)

    it("K3 that are missing are answered with the ones that exist", function()
      local program = dev:compile(
        "__global__ void a(int *x) {}\nnamespace n { __global__ void b(int *x) {} }\n"
          .. "template <class T> __global__ void t(T *x) {}",
        { name = "list.hip" }
      )
      support.assert_error_kind("not_found", function()
        program:kernel "c"
      end, "kernel 'c' not found", "'list.hip'", "a, n::b", "templates", "t")
      support.assert_error_kind("not_found", function()
        program:kernel()
      end, "several", "a, n::b")
      assert.equal("a", program:kernel("a").name)
      assert.equal(program:kernel "n::b", program:kernel " n :: b ")
    end)
  end)

  describe("name expressions", function()
    local source = [[
      template <class T> struct box { T v; };
      namespace ns {
        template <class T, int N> __global__ void k(int *x) { *x = sizeof(T) * 100 + N; }
        __global__ void plain(int *x) { *x = 1; }
      }
      using namespace ns;
    ]]

    it("K1 name templates; duplicates and spellings of one name are one kernel", function()
      local program = dev:compile(source, {
        names = { "ns::k<double, 3>", "&ns::k<double,3>", "k<box<box<int>>, 2>", "k<box<box<int> >,2>", "ns::plain" },
      })
      assert.equal("k<box<box<int>>, 2> ns::k<double, 3> ns::plain", kernel_names(program))
      assert.equal(803, result(program:kernel "ns::k<double,3>"))
      assert.equal(402, result(program:kernel "k<box<box<int> >, 2>"))
      assert.equal(program:kernel "ns::k<double,3>", program:kernel "&ns::k< double , 3 >")
    end)

    it("K3 that match nothing are told with the kernels that exist", function()
      local e = compile_error(
        source,
        { name = "n.hip", names = { "ns::q<int>", "nothing" } },
        "'ns::q<int>'",
        "'nothing'",
        "ns::plain",
        "ns::k"
      )
      assert.equal(2, #e.diagnostics)
      assert.equal("n.hip", e.diagnostics[1].file)
      compile_error(source, { names = { "ns::k<int>" } }, "'ns::k<int>'")
    end)

    it("K3 that are none at all are the caller's error", function()
      for _, name in ipairs { "", "a; int b", "k<(>" } do
        support.assert_error_kind("argument", function()
          dev:compile(source, { names = { name } })
        end, "name expression")
      end
    end)
  end)

  describe("options", function()
    it("K1 defines reach the user's text with their type, and no built-in header", function()
      local program = dev:compile(
        [[
          #include <hip/hip_runtime.h>
          __global__ void k(int *x) { *x = B * 1000 + ADD(2, 3) * 10 + EMPTY FLAG; }
        ]],
        { defines = { B = 64, ["ADD(a, b)"] = "((a) + (b))", EMPTY = "", FLAG = true } }
      )
      assert.equal(64051, result(program:kernel()))
    end)

    it("K1 -D and -I among the flags mean the same", function()
      local folder = support.temporary_directory()
      support.write_file(folder .. "/v.h", "#define FROM_FILE 5")
      local program = dev:compile('#include "v.h"\n__global__ void k(int *x) { *x = B + C + FROM_FILE; }', {
        flags = { "-DB=64", "-D", "C", "-I" .. folder },
      })
      assert.equal(70, result(program:kernel()))
    end)

    it("K1 wrong ones are the caller's error", function()
      for _, options in ipairs {
        { defines = { ["a b"] = 1 } },
        { defines = { ["1x"] = 1 } },
        { defines = { x = "1\n#error no" } },
        { defines = { ["f(a"] = 1 } },
        { flags = { "-D" } },
        { headers = { ['a"b'] = "" } },
        { include_dirs = { "" } },
        { name = "two\nlines" },
      } do
        support.assert_error_kind("argument", function()
          dev:compile("", options)
        end)
      end
    end)

    it("K1 relative include folders are relative to the working directory, and -I. finds what is beside it", function()
      local folder = support.temporary_directory()
      assert(os.execute("mkdir -p " .. folder .. "/sub"))
      support.write_file(folder .. "/here.h", "#define HERE 1")
      support.write_file(folder .. "/sub/there.h", "#define THERE 2")
      local child = support.lua(
        [[
          local dev = require("luhip").open(...)
          local source = '#include "here.h"\n#include "there.h"\n__global__ void k(int *x) { *x = HERE + THERE; }'
          local k = dev:kernel(source, "k", { include_dirs = { "." }, flags = { "-isystem", "sub" } })
          local out = dev:buffer("i32", 1)
          k:launch({ grid = 1, block = 1 }, out)
          print(out:totable()[1])
        ]],
        { directory = folder },
        id
      )
      assert.equal("3\n", child.stdout, child.stderr)
    end)

    it("D9 access overrides what a pointer's type says, by kernel and parameter", function()
      local source = "__global__ void k(const int *a, int *b, int n) {}\ntemplate <class T> __global__ void t(T *c) {}"
      local program = dev:compile(source, { names = { "t<int>" }, access = { k = { b = "out" }, t = { c = "in" } } })
      assert.equal("in", program:kernel("k").params[1].kind)
      assert.equal("out", program:kernel("k").params[2].kind)
      assert.equal("in", program:kernel("t<int>").params[1].kind)
      assert.equal("inout", dev:compile(source):kernel("k").params[2].kind)
      for _, case in ipairs {
        { "not_found", { q = { b = "out" } }, "kernel 'q'", "k" },
        { "not_found", { k = { z = "out" } }, "'z'", "a, b, n" },
        { "argument", { k = { b = "write" } }, "write" },
        { "argument", { k = { n = "in" } }, "'n'", "no pointer" },
        { "argument", { k = { a = "out" } }, "'a'", "const int *" },
      } do
        support.assert_error_kind(case[1], function()
          dev:compile(source, { access = case[2] })
        end, case[3], case[4])
      end
    end)
  end)

  describe("a failed compile", function()
    it("K3 gives the program's own name, line, column and text, first errors first, and the whole log", function()
      local e =
        compile_error("int a = 1;\n  float b = undefined_thing;\n\nint c = other_thing;\n", { name = "dir/saxpy.hip" })
      local first, second = e.diagnostics[1], e.diagnostics[2]
      assert.equal("dir/saxpy.hip", first.file)
      assert.equal(2, first.line)
      assert.equal(13, first.column)
      assert.equal("error", first.severity)
      assert.truthy(first.text:find("undefined_thing", 1, true))
      assert.equal(4, second.line)
      assert.truthy(e.message:find("dir/saxpy.hip:2:13: ", 1, true))
      assert.truthy(e.message:find("and 1 more error", 1, true))
      assert.truthy(e.log:find("other_thing", 1, true))
    end)

    it("K3 keeps lines and columns, though markers and defines stand in the text", function()
      local e = compile_error(
        "__global__ void k(int *x) {} int y = nothing_here;\n"
          .. "__global__ void l(int *x) {} __global__ void m(int *x) {} int z = nor_here;",
        { name = "c.hip", defines = { A = 1, B = 2 } }
      )
      assert.equal(
        "1:38 2:67",
        ("%d:%d %d:%d"):format(
          e.diagnostics[1].line,
          e.diagnostics[1].column,
          e.diagnostics[2].line,
          e.diagnostics[2].column
        )
      )
      assert.is_nil(e.log:find("LUHIP_MARK(0, k)", 1, true))
    end)

    it("K3 puts warnings and notes behind errors", function()
      local e = compile_error('#warning "w"\nint f(int);\nint g = f(1, 2);\n')
      local order = {}
      for i, d in ipairs(e.diagnostics) do
        order[i] = d.severity
      end
      assert.equal("error", order[1])
      assert.truthy(table.concat(order, " "):match "^error warning")
    end)

    it("K3 names the folders that were searched for a missing header", function()
      local folder = support.temporary_directory()
      compile_error(
        '#include "missing.h"\n',
        { include_dirs = { folder }, headers = { ["given.h"] = "" } },
        "missing.h",
        folder,
        "given.h"
      )
    end)

    it("K3 says it when a kernel is overloaded, returns a value or takes a reference", function()
      compile_error(
        "__global__ void k(int *x) {}\n__global__ void k(float *x) {}",
        nil,
        "kernel.hip:2:",
        "'k'",
        "overloaded"
      )
      if id:find "^cpu" then -- where the compilers of GPUs have such a function too, they have words of their own
        compile_error("__global__ void norm(float *x) {}", nil, "kernel.hip:1:", "'norm'", "a built-in function")
        for _, name in ipairs { "sqrt", "memcpy", "min" } do
          local text = ('\nextern "C" __global__ void %s(float *x) {}'):format(name)
          local place = ("kernel.hip:2:%d: kernel '%s'"):format(#text, name)
          local e = compile_error(text, nil, place, "a built-in function")
          assert.equal(1, #e.diagnostics)
        end
      end
      compile_error("__global__ int k(int *x) { return 1; }", nil, "kernel.hip:1:", "'k'", "must return void")
      compile_error("\n__global__ void k(int &x) {}", nil, "kernel.hip:2:", "'k'", "references")
    end)

    it("K3 says it when a kernel takes a variable number of arguments", function()
      for _, head in ipairs { "k(int *x, ...)", "k(int *x...)", "k(...)", "k(int *x, ...) noexcept" } do
        local e = compile_error("__global__ void " .. head .. " {}", nil, "'k'", "a variable number of arguments")
        assert.is_nil(e.message:find("must return void", 1, true))
        local refused = id:find "^cuda" and head:find "noexcept" and 1 or 0 -- by NVRTC, as well
        assert.equal(1 + refused, #e.diagnostics)
      end
    end)

    it("K3 shows nothing of our own text beside an error that was told, and the log has all of it", function()
      for _, source in ipairs {
        "__global__ void k(int *x) {}\n__global__ void k(float *x) {}",
        "__global__ void k(int *x) {}\n__global__ void k(int *x) {}",
        "__global__ void k(int *x, ...) {}",
        "__global__ int k(int *x) { return 1; }",
        "__global__ void k(int &x) {}",
      } do
        local e = compile_error(source)
        local shown = tostring(e)
        for _, inner in ipairs { "luhip%-prelude", "LUHIP_", "luhip_", "scratch space" } do
          assert.is_nil(shown:find(inner), shown)
        end
        assert.truthy(shown:find("\nkernel.hip:", 1, true), shown)
        -- NVRTC does not say where a macro's text is from, but ends with how many errors it found.
        assert.truthy(
          e.log:find(id:find "^cuda" and " detected in the compilation of " or "luhip-prelude", 1, true),
          e.log
        )
        assert.is_nil(shown:find(" detected in the compilation of ", 1, true), shown)
      end
    end)

    it("K3 shows one hint of a device's headers for each wrong call, and the lines of the user's", function()
      local shown = tostring(compile_error [[
        __device__ int own(int);
        __global__ void k(int *p) { atomicAdd(p, p, p);
          own(p, 1); }
      ]])
      local _, hints = shown:gsub("note: candidate", "")
      assert.equal(id:find "^cuda" and 1 or 2, hints, shown) -- NVRTC has none for a function of one declaration
      assert.truthy(shown:find("own(p, 1); }\n", 1, true), shown)
      assert.is_nil(shown:find("expanded from", 1, true), shown)
      assert.is_nil(shown:find("LUHIP_", 1, true), shown)
    end)

    it("K3 tells where it searched for includes only", function()
      for _, text in ipairs { "file not found", "No such file or directory", "could not open source file" } do
        local e = compile_error("#error " .. text .. "\n", nil, text)
        assert.is_nil(tostring(e):find("searched", 1, true))
      end
    end)

    it("K3 survives sources that end early, are empty, or hold odd bytes", function()
      for _, source in ipairs {
        "__global__ void k(int *x) {",
        "/* no end",
        '"no end',
        'R"(no end',
        "#if 1\n",
        "__global__ x",
        id:find "^cuda" and "{" or "\255\254{", -- NVRTC takes these bytes for blanks
      } do
        local ok, e = pcall(compile_error, source)
        assert.is_true(ok, ("%q: %s"):format(source, e))
      end
      for _, source in ipairs { "", "\n", "// only this", "__global__ void k(int *x) { *x = 1; } //" } do
        dev:compile(source)
      end
    end)

    it("K3 leaves the device as it was", function()
      compile_error "nonsense"
      assert.equal(1, result(dev:kernel "__global__ void k(int *x) { *x = 1; }"))
    end)
  end)

  it("K3 keeps warnings of a compile that worked", function()
    local program = dev:compile('#warning "mind this"\n__global__ void k(int *x) {}', { name = "warned.hip" })
    assert.truthy(program.log:find("warned.hip:1:", 1, true))
    assert.truthy(program.log:find("mind this", 1, true))
  end)
end)

describe("compiler logs", function()
  local function parse(log)
    local out = {}
    for i, d in ipairs(testing.kernel_parse_log(log)) do
      out[i] = ("%s|%d|%d|%d|%s"):format(d.file, d.line, d.column, d.severity, d.text)
    end
    return out
  end

  it("K3 of clang, gcc, hiprtc and NVRTC are parsed", function()
    assert.same(
      {
        "a.hip|3|10|0|expected ';'",
        "a.hip|4|2|0|'x.h' file not found",
        "dir/b c.h|7|0|1|unused: error: no",
        "|0|0|0|no such file: 'x'",
        "clang|0|0|0|unknown argument '-q'",
        "t.hip|16|0|0|An exception specification is not allowed",
        't.hip|20|0|1|variable "x" was declared but never referenced',
        "C:a.hip|1|2|2|declared here",
      },
      parse [[
In file included from a.hip:1:
a.hip:3:10: error: expected ';'
   int x
       ^ error: this is source
a.hip:4:2: fatal error: 'x.h' file not found
dir/b c.h:7: warning: unused: error: no
error: no such file: 'x'
clang: error: unknown argument '-q'
t.hip(16): error: An exception specification is not allowed
t.hip(20): warning #177-D: variable "x" was declared but never referenced
C:a.hip:1:2: note: declared here
2 errors generated.]]
    )
  end)

  it("K3 of any content do no harm", function()
    for _, log in ipairs {
      "",
      "\n\n",
      ": error:",
      "a:1:2: error:",
      "(: error: x",
      "):error: x",
      "999999999999:1: error: x",
      "a:99999999999: error: x",
      "error #: x",
      "a: error #",
    } do
      parse(log)
    end
  end)
end)
