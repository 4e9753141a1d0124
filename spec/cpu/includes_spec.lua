-- What a kernel's source may include, and that macros of its own cannot reach the device headers.

local support = require("spec.support")

-- Each header with a line that needs it.
local HEADERS = {
  ["hip/hip_runtime.h"] = "dim3 d; out[0] = d.x;",
  ["cuda_runtime.h"] = "out[0] = __float_as_int(0.0f) + 1;",
  ["hip/hip_fp16.h"] = "out[0] = __half2int_rn(__float2half(1.0f));",
  ["cuda_fp16.h"] = "half2 h = __float2half2_rn(1.0f); out[0] = (int)(float)h.y;",
  ["hip/hip_bf16.h"] = "out[0] = (int)__bfloat162float(__float2bfloat16(1.0f));",
  ["hip/hip_bfloat16.h"] = "out[0] = (int)float(hip_bfloat16(1.0f));",
  ["cuda_bf16.h"] = "__nv_bfloat16 b = 1.0f; out[0] = (int)float(b);",
  ["hip/hip_complex.h"] = "out[0] = (int)hipCrealf(make_hipFloatComplex(1, 2));",
  ["hip/hip_vector_types.h"] = "out[0] = make_int4(1, 2, 3, 4).x;",
  ["hip/hip_cooperative_groups.h"] = "out[0] = cooperative_groups::this_thread_block().size();",
  ["cooperative_groups.h"] = "out[0] = cooperative_groups::this_thread_block().thread_rank() + 1;",
  ["stdint.h"] = "uint8_t v = 257; out[0] = v;",
  ["cstdint"] = "std::uint64_t v = 1; out[0] = (int)v;",
  ["stddef.h"] = "struct s { char c; int i; }; out[0] = offsetof(s, i) - 3;",
  ["cstddef"] = "std::size_t v = 1; out[0] = (int)v;",
  ["stdbool.h"] = "bool b = true; out[0] = b;",
  ["limits.h"] = "out[0] = INT_MAX - 2147483646;",
  ["climits"] = "out[0] = CHAR_BIT - 7;",
  ["float.h"] = "out[0] = FLT_MAX > 1e38f;",
  ["cfloat"] = "out[0] = DBL_EPSILON < 1;",
  ["math.h"] = "out[0] = (int)sqrtf(1.0f);",
  ["cmath"] = "out[0] = (int)std::sqrt(1.0f) + (int)std::abs(0);",
  ["limits"] = "out[0] = std::numeric_limits<int>::max() - 2147483646;",
  ["type_traits"] = "out[0] = std::is_same<std::remove_reference_t<int &>, int>::value;",
  ["utility"] = "int a = 1, b = 2; std::swap(a, b); out[0] = std::move(b);",
  ["algorithm"] = "out[0] = std::min(1, 2) + std::max(0, -1) + std::clamp(5, 0, 0);",
  ["array"] = "std::array<int, 2> a{1, 2}; out[0] = a[0];",
  ["functional"] = "out[0] = std::plus<int>()(1, 0);",
  ["initializer_list"] = "int sum = 0; for (int v : {2, -1}) sum += v; out[0] = sum;",
  ["stdio.h"] = 'if (out[0] == 12345) printf("never\\n"); out[0] = 1;',
  ["cstdio"] = "out[0] = 1;",
  ["stdlib.h"] = "out[0] = abs(-1);",
  ["cstdlib"] = "out[0] = abs(-1);",
  ["string.h"] = "int v = 1; memcpy(out, &v, sizeof v);",
  ["cstring"] = "int v[2]; std::memset(v, 0, sizeof v); out[0] = v[0] + 1;",
  ["assert.h"] = "assert(out != nullptr); out[0] = 1;",
  ["cassert"] = "assert(1 < 2); out[0] = 1;",
  ["cuda.h"] = "out[0] = 1;",
  ["math_constants.h"] = "out[0] = M_PI > 3;",
}

support.each_device(function(id)
  if not id:find("^cpu") then
    return
  end

  it("includes: a source may begin with each header it knows", function()
    local dev = support.open(id)
    local out = dev:buffer("i32", 1)
    for header, body in pairs(HEADERS) do
      local source = ('#include <%s>\nextern "C" __global__ void k(int *out) { %s }\n'):format(header, body)
      local ok, e = pcall(dev.kernel, dev, source)
      assert.is_true(ok, header .. ": " .. tostring(e))
      out:fill(0)
      e:launch({ grid = 1, block = 1 }, out)
      assert.same({ 1 }, out:read():totable(), header)
    end
  end)

  it("includes: all headers together, twice", function()
    local dev = support.open(id)
    local lines = {}
    for header in pairs(HEADERS) do
      table.insert(lines, ("#include <%s>"):format(header))
    end
    local text = table.concat(lines, "\n")
    dev:compile(text .. "\n" .. text .. '\nextern "C" __global__ void k(int *out) { out[0] = 1; }\n')
  end)

  it("includes: an unknown header is an error with its line", function()
    local dev = support.open(id)
    support.assert_error_kind("compile", function()
      dev:compile('extern "C" __global__ void k() {}\n#include <vector>\n', { name = "v.hip" })
    end, "v.hip:2:10", "vector")
  end)

  it("includes: macros of the source and of the options do not reach the headers", function()
    local dev = support.open(id)
    local k = dev:kernel(
      [[
      #define min(a, b) ((a) < (b) ? (a) : (b))
      #define max(a, b) ((a) > (b) ? (a) : (b))
      #define __local
      #define abs2(x) ((x) * (x))
      #define L 3
      #define T float
      #define x_ 1
      #include <hip/hip_runtime.h>
      #include <hip/hip_fp16.h>
      #include <hip/hip_cooperative_groups.h>
      #include <cmath>
      #include <algorithm>
      extern "C" __global__ void k(T *out) {
        float4 v = make_float4(1, 2, 3, 4) * 2.0f;
        out[0] = min(v.x, v.y) + max(1, 2) + abs2(L) + B + N + atomicAdd(out + 1, 1.0f);
        out[0] += __half2float(__hmul(half(2), half(3)));
        out[1] += __shfl(1.0f, 0) + cooperative_groups::this_thread_block().size() + fmaxf(A, U);
      }]],
      "k",
      { defines = { B = 64, N = 10, A = 5, C = 6, U = 7, F = 8, size_t_ = 9, value = 3, type = 4, x = "x" } }
    )
    local out = dev:buffer("f32", 2, 0)
    k:launch({ grid = 1, block = 1 }, out)
    assert.same({ 2 + 2 + 9 + 64 + 10 + 6, 1 + 1 + 1 + 7 }, out:read():totable())
  end)

  it("includes: assert.h takes NDEBUG as it is where it is included", function()
    local dev = support.open(id)
    local k = dev:kernel([[
      #define NDEBUG
      #include <assert.h>
      extern "C" __global__ void k(int *out) { assert(out == nullptr); out[0] = 1; }]])
    local out = dev:buffer("i32", 1, 0)
    k:launch({ grid = 1, block = 1 }, out)
    assert.same({ 1 }, out:read():totable())
  end)

  it("includes: the standard types and traits", function()
    local dev = support.open(id)
    dev:compile([[
      #include <type_traits>
      using namespace std;
      enum class colour : unsigned char { red };
      struct base {}; struct derived : base { int v; };
      static_assert(is_same<decay_t<const int &>, int>::value && is_same_v<decay_t<int[3]>, int *>, "");
      static_assert(is_same_v<conditional_t<true, int, float>, int> && is_same_v<common_type_t<int, float>, float>, "");
      static_assert(is_integral_v<const long> && !is_integral_v<float> && is_floating_point_v<double>, "");
      static_assert(is_pointer_v<int *const>, "");
      static_assert(is_enum_v<colour> && is_same_v<underlying_type_t<colour>, unsigned char>, "");
      static_assert(is_signed_v<int> && is_unsigned_v<unsigned> && is_signed_v<float> && is_class_v<base>, "");
      static_assert(is_base_of_v<base, derived>, "");
      static_assert(is_convertible_v<derived *, base *> && !is_convertible_v<base *, derived *>, "");
      static_assert(is_trivially_copyable_v<derived> && is_array_v<int[2]>, "");
      static_assert(extent_v<int[2]> == 2 && is_void_v<void>, "");
      static_assert(is_same_v<make_unsigned_t<long long>, unsigned long long>, "");
      static_assert(is_same_v<make_signed_t<char>, signed char>, "");
      static_assert(conjunction_v<true_type, is_integral<int>>, "");
      static_assert(!disjunction_v<false_type> && negation_v<false_type>, "");
      template <class T, enable_if_t<is_integral_v<T>, int> = 0> constexpr int kind(T) { return 1; }
      template <class T, enable_if_t<is_floating_point_v<T>, int> = 0> constexpr int kind(T) { return 2; }
      static_assert(kind(1) == 1 && kind(1.0f) == 2 && integral_constant<int, 3>::value == 3, "");
      template <size_t... i> constexpr size_t sum(index_sequence<i...>) { return (i + ...); }
      static_assert(sum(make_index_sequence<5>()) == 10, "");
      extern "C" __global__ void k(int *out) { out[0] = max(1, 2) + (int)abs(-1.5f); }
    ]])
  end)
end, { warp64 = true })
