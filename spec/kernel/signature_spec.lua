-- What the compiler tells of each kernel's parameters (src/kernel/prelude.c, signature.c).

local support = require "spec.support"

local source = [[
#include <hip/hip_fp16.h>
typedef float real;
using index_t = unsigned long long;
#define ARRAY(T) const T *__restrict__
struct Params { int n; float scale; char flag; };
struct Opaque;
enum Plain { A, B };
enum class Small : unsigned char { C };
extern "C" __global__ void scalars(bool a, char b, signed char c, unsigned char d, short e, unsigned short f, int g,
                                   unsigned h, long i, unsigned long j, long long k, index_t l, real m, double n) {}
extern "C" __global__ void pointers(ARRAY(real) a, real *b, LUHIP_OUT int *c, void *d, const void *e, float **f,
                                    const Params *g, Opaque *h, float i[16], float (*j)[4], const char *k,
                                    volatile int *l, void (*m)(int)) {}
extern "C" __global__ void wholes(Params p, Plain e, Small s, float4 f, const float3 *g, uchar4 *h, double2 i, dim3 j,
                                  __half k, const __half *l) {}
extern "C" __global__ void none() {}
namespace ns {
template <typename T, int N> __global__ void scale(T *x, const T *y, T a, int) {}
template <typename... Args> __global__ void pack(int first, Args... rest) {}
namespace { __global__ void inner(const int n, float *const out) {} }
}
]]

local function describe_params(kernel)
  local out = {}
  for i, p in ipairs(kernel.params) do
    out[i] = ("%s %s %s"):format(p.type, p.name == "" and "-" or p.name, p.kind)
  end
  return out
end

support.each_device(function(id)
  local program

  before_each(function()
    program = support.open(id):compile(source, {
      name = "signature.hip",
      names = { "ns::scale<double, 3>", "ns::pack<float, int *>" },
    })
  end)

  it("tells every scalar, through typedefs", function()
    assert.same({
      "bool a value",
      "char b value",
      "signed char c value",
      "unsigned char d value",
      "short e value",
      "unsigned short f value",
      "int g value",
      "unsigned int h value",
      "long long i value",
      "unsigned long long j value",
      "long long k value",
      "unsigned long long l value",
      "float m value",
      "double n value",
    }, describe_params(program:kernel "scalars"))
  end)

  it("D9 tells pointers: const is in, others are inout, LUHIP_OUT is out", function()
    assert.same({
      "const float * a in",
      "float * b inout",
      "int * c out",
      "void * d inout",
      "const void * e in",
      "float ** f inout",
      "const Params * g in",
      "Opaque * h inout",
      "float * i inout",
      "float * j inout",
      "const char * k in",
      "int * l inout",
      "void(*)(int) m value",
    }, describe_params(program:kernel "pointers"))
  end)

  it("tells structs, enums, vector types and half", function()
    assert.same({
      "Params p value",
      id:find "^cuda" and "int e value" or "unsigned int e value", -- an enum's type is the compiler's choice
      "unsigned char s value",
      "float4 f value",
      "const float3 * g in",
      "uchar4 * h inout",
      "double2 i value",
      "uint3 j value",
      "half k value",
      "const half * l in",
    }, describe_params(program:kernel "wholes"))
    assert.equal(12, program:kernel("wholes").params[1].bytes)
  end)

  it("tells kernels without parameters, in namespaces, from templates and packs", function()
    assert.same({}, describe_params(program:kernel "none"))
    assert.same({ "int n value", "float * out inout" }, describe_params(program:kernel "ns::inner"))
    assert.same(
      { "double * x inout", "const double * y in", "double a value", "int - value" },
      describe_params(program:kernel "ns::scale<double,3>")
    )
    assert.same(
      { "int first value", "float rest value", "int * rest inout" },
      describe_params(program:kernel "ns::pack<float, int*>")
    )
  end)
end)
