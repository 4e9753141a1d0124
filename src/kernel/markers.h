/*
 * markers.h - how a kernel's parameter list gets out of the compiler.
 *
 * The kernel layer finds each __global__ function with a small lexer (scan.c) and writes, on the same line
 * right after its body, a marker: LUHIP_MARK(i, name). Standing where the function stands, the marker is
 * subject to the same #if and the same namespace; being on the same line it moves no line number. Template
 * kernels asked for by name expression, kernels that a macro makes and kernels of headers get their marker at the
 * end of the text, with the name in parentheses so that commas in it do not matter: LUHIP_MARK(2, (scale<float, 4>)).
 *
 * The prelude (KERNEL_PRELUDE, put before the user's first line, which then follows a #line directive)
 * defines LUHIP_MARK: it instantiates a template over decltype(&name) and so emits a constant
 *
 *   extern "C" __constant__ const luhip_sig<n> luhip_sig_<i>;
 *
 * whose bytes are read from the ELF image (elf.c) before anything is loaded:
 *   u32 version (SIGNATURE_VERSION), u32 nparams, then nparams records of 6 u32:
 *     bytes, align, kind (0 value, 1 pointer to const, 2 pointer), code, lanes, element bytes
 *   where code, lanes and element bytes describe the value, or what the pointer points to: a signature code
 *   below, the number of vector lanes (1 for scalars, 4 for float4), sizeof of the whole value or pointee
 *   (0 for void and incomplete types). Version 0 says that the kernel does not exist: its marker at the end of
 *   the text met a stand-in. What no kernel may be (not void, references) is a static_assert of the marker.
 *
 * LUHIP_MARK also expands LUHIP_EXPORT(i, name), which a provider's own device header may define before the
 * prelude (the CPU device emits its kernel descriptor there); the prelude makes it empty otherwise. Both expand
 * after the user's own #defines, so they use no names but keywords and ones that begin with luhip_ or __.
 *
 * A kernel with __launch_bounds__ has LUHIP_BOUNDS(i, 256, 2) behind its marker, with what stands in the brackets; the
 * device header makes a constant `luhip_kb_<i>` of the first argument, and without one it is nothing. A template's
 * bounds may need its parameters, so after its body stands LUHIP_TEMPLATE_BOUNDS(k, (N, 2), template <class T, int N>),
 * which declares the variable template `luhip_tb_<k>`; the instance's marker in the tail then has
 * LUHIP_BOUNDS(i, luhip_tb_<k><float, 64>).
 */
#ifndef LUHIP_KERNEL_MARKERS_H
#define LUHIP_KERNEL_MARKERS_H

#define SIGNATURE_VERSION 1

/* X(NAME, text): what an element is. OPAQUE is a struct, enum class, or anything else. */
#define SIGNATURE_CODES(X)                                                                                             \
  X(OPAQUE, "")                                                                                                        \
  X(VOID, "void")                                                                                                      \
  X(BOOL, "bool")                                                                                                      \
  X(CHAR, "char")                                                                                                      \
  X(I8, "signed char")                                                                                                 \
  X(U8, "unsigned char")                                                                                               \
  X(I16, "short")                                                                                                      \
  X(U16, "unsigned short")                                                                                             \
  X(I32, "int")                                                                                                        \
  X(U32, "unsigned int")                                                                                               \
  X(I64, "long long")                                                                                                  \
  X(U64, "unsigned long long")                                                                                         \
  X(F16, "half")                                                                                                       \
  X(BF16, "bfloat16")                                                                                                  \
  X(F32, "float")                                                                                                      \
  X(F64, "double")                                                                                                     \
  X(POINTER, "pointer")

enum signature_code {
#define X(name, text) SIGNATURE_##name,
  SIGNATURE_CODES(X)
#undef X
      SIGNATURE_CODE_COUNT
};

#endif
