-- The lexer that finds kernels in a source (src/kernel/lex.c, declarator.c, scan.c).

require "spec.support"
local testing = require("luhip.core").testing
local scan = testing.kernel_scan

local function names(list)
  local out = {}
  for i, kernel in ipairs(list) do
    out[i] = kernel.name
  end
  return table.concat(out, " ")
end

-- "type name" of each parameter.
local function params(kernel)
  local out = {}
  for i, p in ipairs(kernel.params) do
    out[i] = p.type .. "|" .. p.name .. (p.out and "|out" or "") .. (p.pack and "|pack" or "")
  end
  return table.concat(out, "; ")
end

describe("the kernel lexer", function()
  it("finds definitions and passes declarations over", function()
    local text = "__global__ void a(int *);\n__global__ void b(int *x) { if (x) { *x = 1; } }\nvoid c(int) {}"
    local found = scan(text)
    assert.equal("b", names(found))
    assert.equal("}", text:sub(found[1].last, found[1].last))
    assert.equal(text:find "\nvoid c", found[1].last + 1)
    assert.is_false(found.hidden)
  end)

  it("is not fooled by comments, literals and line splices", function()
    local text = [==[
// __global__ void a(int) {}
/* __global__ void b(int) { */
// a comment that goes on \
__global__ void c(int) {}
const char *s = "__global__ void d() {", *r = R"x(__global__ void e() { )" )x", q = '{', t = '\'';
int separated = 1'000'000, hex = 0x1p-3;
__glo\
bal__ void f\
g(int x) { char q = '}'; const char *s = "}"; /* } */ }
]==]
    local found = scan(text)
    assert.equal("fg", names(found))
    assert.equal("int|x", params(found[1]))
    assert.is_false(found.hidden)
  end)

  it("qualifies names, with unnamed and inline namespaces adding nothing", function()
    local found = scan [==[
namespace a { namespace { inline namespace v1 { __global__ void one() {} } } }
namespace a::b::inline c [[deprecated]] { __global__ void two() {} }
namespace __attribute__((visibility("default"))) d { __global__ void three() {} }
__global__ void a::four(int x) {}
namespace e = a;
using namespace a;
__global__ void five() {}]==]
    assert.equal("a::one a::b::two d::three a::four five", names(found))
    assert.equal("one", found[1].local_name)
    assert.equal("a::four", found[4].local_name)
  end)

  it("knows C linkage, by prefix and by block", function()
    local found = scan [==[
extern "C" __global__ void a() {}
extern "C" { __global__ void b() {} extern "C++" { __global__ void c() {} } namespace n { __global__ void d() {} } }
extern "C++" __global__ void e() {}
__global__ void f() {}]==]
    local linkage = {}
    for i, kernel in ipairs(found) do
      linkage[i] = kernel.name .. "=" .. tostring(kernel.c_linkage)
    end
    assert.equal("a=true b=true c=false n::d=true e=false f=false", table.concat(linkage, " "))
  end)

  it("knows templates, their specialisations, and passes instantiations over", function()
    local found = scan [==[
template <typename T, int N = (3 > 2), class U = X<Y<int>>, bool B = (1 << 4) >= 2>
static __global__ void scale(T *x, const T *__restrict__ y, Args... args) {}
template <> __global__ void scale<float, 4>(float *x) {}
template __global__ void scale<int>(int *);
__global__ void plain(X<int, float> v) {}]==]
    assert.equal("scale scale plain", names(found))
    assert.is_true(found[1].template)
    assert.is_true(found[2].template)
    assert.is_false(found[3].template)
    assert.equal("T *|x; const T *|y; Args...|args|pack", params(found[1]))
    assert.equal("X<int, float>|v", params(found[3]))
  end)

  it("takes attributes, launch bounds and any order of specifiers", function()
    local found = scan [==[
__global__ __launch_bounds__(256, 2) void a(int x) {}
__global__ void __launch_bounds__(64) b(int x) {}
__attribute__((amdgpu_flat_work_group_size(1, 64))) void __global__ c(int x) {}
static inline __global__ void MY_BOUNDS(256) d(int x) noexcept {}
__global__ auto e(int x) -> void {}
[[nodiscard]] __global__ void f([[maybe_unused]] int x, __attribute__((unused)) float *y) {}]==]
    assert.equal("a b c d e f", names(found))
    for i = 1, 5 do
      assert.equal("int|x", params(found[i]))
    end
    assert.equal("int|x; float *|y", params(found[6]))
  end)

  it("tells parameter names from types", function()
    local found = scan [==[
__global__ void k(float a, const float *__restrict__ x, LUHIP_OUT float *y, unsigned int, const T, std::uint32_t,
  struct P p, float (*m)[16], float v[4][3], void (*f)(int), T *const restrict t = nullptr, int less = a < 3,
  ns::A<int> *q, volatile unsigned long long *, half h, __half, dim3) {}
__global__ void none(void) {}]==]
    assert.equal(
      "float|a; const float *|x; float *|y|out; unsigned int|; const T|; std::uint32_t|; struct P|p; float(*)[16]|m; "
        .. "float[4][3]|v; void(*)(int)|f; T * const|t; int|less; ns::A<int> *|q; "
        .. "volatile unsigned long long *|; half|h; __half|; dim3|",
      params(found[1])
    )
    assert.equal("", params(found[2]))
  end)

  it("keeps its place when #if unbalances the braces", function()
    local text = [[
#if A
__global__ void a(float *x) {
#else
__global__ void a(double *x, int y) {
#endif
#  if B
  if (x) {
#  elif C
  if (y) {
#  else
  {
#  endif
  }
}
namespace n {
#ifdef D
}
namespace m {
#endif
__global__ void b(int z) {}
}
__global__ void c() {}
]]
    local found = scan(text)
    assert.equal("a a m::b c", names(found))
    assert.is_nil(found[1].last)
    assert.equal("\nnamespace n", text:sub(found[2].last + 1, found[2].last + 12))
  end)

  it("leaves #if 0 and the #else of #if 1 out", function()
    local found = scan [==[
#if 0
__global__ void dead() { don't
#elif X
__global__ void a() {}
#endif
#if 1 /* always */
__global__ void b() {}
#else
__global__ void never() {
#endif
#error don't "read this
__global__ void c() {}]==]
    assert.equal("a b c", names(found))
  end)

  it("takes a plain macro for __global__, and tells when macros make kernels", function()
    local found =
      scan '#define KERNEL __global__\n#define CKERNEL extern "C" KERNEL void\nKERNEL void a() {}\nCKERNEL b() {}'
    assert.equal("a b", names(found))
    assert.is_true(found[2].c_linkage)
    assert.is_false(found.hidden)
    for _, text in ipairs {
      "#define MAKE(n) __global__ void n() {}\nMAKE(a)",
      "#define BODY __global__ void a() {}\nBODY",
      "#define K __global__\n#define MAKE(n) K void n() {}",
      "struct S { static __global__ void a() {} };",
      "__global__ void NAME(a)(int *x) {}",
      "__global__ void a(int *x",
    } do
      assert.is_true(scan(text).hidden, text)
    end
  end)

  it("survives any text, and finds what stands before the damage", function()
    local base = [==[
extern "C" __global__ void first(float *x) { x[0] = 1; }
namespace n { template <class T, int N> __global__ void t(T (*a)[N], const char *s = "x") { } }
#if X
#define M(a) __global__ void a(int x) { \
  return; }
#else
R"(raw)" '\'' 1'0 /* c */ // d
#endif
]==]
    local bytes =
      { "{", "}", "(", ")", "<", ">", "#", "\n", '"', "'", "\\", "/*", "*/", 'R"(', "\0", "template", "::", "," }
    local state = 12345
    local function random(n)
      state = (state * 1103515245 + 12345) & 0x7fffffff
      return (state >> 8) % n + 1
    end
    for _ = 1, 400 do
      local text = base
      for _ = 1, random(6) do
        local at = random(#text)
        text = text:sub(1, at) .. bytes[random(#bytes)] .. text:sub(at + random(3))
      end
      local found = scan(text)
      assert.is_true(#found <= 4)
      for _, kernel in ipairs(found) do
        assert.is_true(not kernel.last or text:sub(kernel.last, kernel.last) == "}")
      end
    end
    assert.equal("first", names(scan(base:sub(1, 60) .. ("{("):rep(200))))
  end)

  it("reads long sources in linear time: deep brackets, long statements, many conditionals", function()
    assert.equal(0, #scan(("{"):rep(100000)))
    assert.equal(0, #scan(("("):rep(100000)))
    assert.equal(0, #scan(("a<"):rep(50000)))
    assert.equal(1, #scan(("M(x)\n"):rep(20000) .. "__global__ void k() {}"))
    assert.equal(0, #scan(("#if A\n{\n#else\n"):rep(20000)))
    assert.equal(0, #scan(("template <"):rep(20000)))
  end)
end)

describe("name expressions", function()
  it("K1 have one spelling: white space, &, :: and > > aside", function()
    for given, wanted in pairs {
      ["axpy"] = "axpy",
      [" & ns :: k < float , 4 > "] = "ns::k<float,4>",
      ["::k<complex<double> >"] = "k<complex<double>>",
      ["k<unsigned  int>"] = "k<unsigned int>",
      ["k<const float*>"] = "k<const float*>",
    } do
      local normal, valid = testing.kernel_normal_name(given)
      assert.equal(wanted, normal)
      assert.is_true(valid)
    end
  end)

  it("K1 that could close the declaration are none", function()
    for _, given in ipairs { "", "&", "a; int b", "a) + (b", "k<(>", "a\nb", "a // b", "a /* b", "#define", "<x>" } do
      local _, valid = testing.kernel_normal_name(given)
      assert.is_false(valid, given)
    end
  end)
end)
