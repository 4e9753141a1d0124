-- Whether a tuning parameter can change the types of a kernel's arguments.
local signature = require "luhip.tune.signature"

local function is_fixed(source, kernel)
  return signature.is_fixed(source, kernel, { "T", "N", "BLOCK" })
end

describe("the types of a kernel's parameters", function()
  it("are the same for all configurations where no parameter is among their words", function()
    for _, source in ipairs {
      'extern "C" __global__ void k(const float *x, int n) { x[BLOCK] = N; }',
      'extern "C" __global__ void __launch_bounds__(BLOCK) k(const float *x) { T y; }',
      "typedef float real;\n#define PTR real *\n__global__ void k(PTR x) {}",
      "using real = float; __global__ void k(real *x /* T */) {} // T",
      "#if N\n#define M 1\n#else\n#define M 2\n#endif\n__global__ void k(float *x) { x[0] = M; }",
      "__device__ T other(T x) { return x; }\n__global__ void k(float *x) { *x = other(*x); }",
      "#include <math.h>\n__global__ void k(float *x);\n__global__ void k(float *x) {}",
    } do
      assert.is_true(is_fixed(source, "k"), source)
      assert.is_true(is_fixed(source), source)
    end
    assert.is_true(is_fixed("__global__ void j(T *x) {} __global__ void k(int *x) {}", "k"))
    assert.is_true(is_fixed("namespace ns { __global__ void k(int *x) {} }", "ns::k"))
  end)

  it("are not where one is, or where that cannot be seen", function()
    for _, source in ipairs {
      "__global__ void k(const T *x) {}",
      "typedef T real;\n#define PTR real *\n__global__ void k(PTR x) {}",
      "using real = vec<N>; __global__ void k(real *x) {}",
      "#define JOIN(a, b) a##b\n#define VEC \\\n JOIN(float, N)\n__global__ void k(VEC *x) {}",
      "#if N\ntypedef float real;\n#else\ntypedef double real;\n#endif\n__global__ void k(real *x) {}",
      "#if N\n__global__ void k(float *x) {}\n#else\n__global__ void k(int *x) {}\n#endif",
      "__global__ void k(\n#if N\nfloat\n#endif\n*x) {}",
      '#include "types.h"\n__global__ void k(real *x) {}',
      "template <class A> __global__ void k(A *x) {}",
      "void k(float *x) {}",
    } do
      assert.is_false(is_fixed(source, "k"), source)
    end
    assert.is_false(is_fixed("__global__ void j(T *x) {} __global__ void k(int *x) {}"))
  end)
end)
