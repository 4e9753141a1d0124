-- __launch_bounds__: what a kernel says of its largest block holds, wherever and however it is written.

local support = require "spec.support"

local source = [[
#define BLOCK 64
#define KERNEL extern "C" __global__ __launch_bounds__(BLOCK)
extern "C" __global__ void __launch_bounds__(64) plain(int *out) { out[threadIdx.x] = 1; }
extern "C" __global__ __launch_bounds__(BLOCK * 2, 4) void product(int *out) { out[threadIdx.x] = 1; }
KERNEL void alias(int *out) { out[threadIdx.x] = 1; }
extern "C" __global__ void free_of_it(int *out) { out[threadIdx.x] = 1; }
extern "C" __global__ void __launch_bounds__(5000) huge(int *out) { out[threadIdx.x] = 1; }
extern "C" __global__ void
#ifdef NARROW
__launch_bounds__(32)
#else
__launch_bounds__(96)
#endif
either(int *out) { out[threadIdx.x] = 1; }
constexpr int most(int a, int b) { return a < b ? b : a; }
namespace deep {
constexpr int side = 12;
__global__ void __launch_bounds__(side * side) square(int *out) { out[threadIdx.x] = 1; }
template <class T, int N, int M = 2>
__global__ __launch_bounds__(most(N * M, 8), 1) void scale(T *out) { out[threadIdx.x] = N; }
}
template <int N> __global__ __launch_bounds__(BLOCK + N) void tail(int *out) { out[threadIdx.x] = N; }
template <int N> __global__ void __launch_bounds__(N) special(int *out) { out[threadIdx.x] = N; }
template <> __global__ void special<7>(int *out) { out[threadIdx.x] = 7; }
#define MAKE(name) extern "C" __global__ void __launch_bounds__(48) name(int *out) { out[threadIdx.x] = 1; }
MAKE(made)
#undef BLOCK
#include "other.h"
]]
local header = [[extern "C" __global__ void __launch_bounds__(16) other(int *out) { out[threadIdx.x] = 1; }]]

for _, id in ipairs { "cpu:0", "cpu:0/64" } do
  describe("on " .. id, function()
    local dev, program
    setup(function()
      dev = support.open(id)
      program = dev:compile(source, {
        headers = { ["other.h"] = header },
        names = { "deep::scale<float, 64>", "deep::scale<int, 5, 3>", "tail<1>", "special<64>", "special<7>" },
      })
    end)

    it("E8 launch bounds are the kernel's max_threads, and a larger block is refused", function()
      for name, most in pairs {
        plain = 64,
        product = 128,
        alias = 64,
        free_of_it = dev.max_threads,
        huge = dev.max_threads,
        ["deep::square"] = 144,
        ["deep::scale<int, 5, 3>"] = 15,
        ["tail<1>"] = 65,
        made = 48,
        other = 16,
      } do
        local kernel = program:kernel(name)
        assert.equal(most, kernel.max_threads, name)
        local out = dev:buffer(name:find "float" and "f32" or "i32", dev.max_threads, 0)
        kernel:launch({ grid = 1, block = most }, out)
        assert.is_true(out:read()[most] > 0)
        if most < dev.max_threads then
          support.assert_error_kind("limits", function()
            kernel:launch({ grid = 1, block = most + 1 }, out)
          end, tostring(most + 1), tostring(most))
        end
      end
    end)

    it("bounds that another declaration has a say in are not enforced", function()
      for _, name in ipairs { "either", "deep::scale<float, 64>", "special<64>", "special<7>" } do
        assert.equal(dev.max_threads, program:kernel(name).max_threads, name)
      end
    end)

    it("I4 errors after such kernels keep their line and column", function()
      for _, before in ipairs {
        "template <int N> __global__ __launch_bounds__(N) void t(int *o) { *o = N; } ",
        'extern "C" __global__ __launch_bounds__(64) void p(int *o) { *o = 1; } ',
      } do
        local e = support.assert_error_kind("compile", function()
          dev:compile("\n" .. before .. "int wrong = nothing;\n", { name = "k.hip" })
        end)
        local place = ("k.hip:2:%d:"):format(#before + #"int wrong = " + 1)
        assert.truthy(tostring(e):find(place, 1, true), tostring(e))
        assert.is_nil(e.log:find("LUHIP_", 1, true), e.log)
      end
    end)
  end)
end
