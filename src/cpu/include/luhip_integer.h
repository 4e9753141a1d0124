/*
 * luhip_integer.h - HIP's integer intrinsics: counts, reversals, wide products, byte and bit shuffles.
 */
#ifndef LUHIP_INTEGER_H
#define LUHIP_INTEGER_H
/* One function a line. */
/* clang-format off */
#include "luhip_vector_types.h"

static inline constexpr int __popc(unsigned x) { return __builtin_popcount(x); }
static inline constexpr int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline constexpr int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
static inline constexpr int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline constexpr int __ffs(int x) { return __builtin_ffs(x); }
static inline constexpr int __ffs(unsigned x) { return __builtin_ffs(int(x)); }
static inline constexpr int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline constexpr int __ffsll(unsigned long long x) { return __builtin_ffsll((long long)x); }
static inline constexpr int __ffsll(unsigned long x) { return __builtin_ffsll((long long)x); }
static inline constexpr int __ffsll(long x) { return __builtin_ffsll(x); }
static inline constexpr unsigned __lastbit_u32_u32(unsigned x) { return x ? unsigned(__builtin_ctz(x)) : ~0u; }
static inline constexpr unsigned __lastbit_u32_u64(uint64_t x) { return x ? unsigned(__builtin_ctzll(x)) : ~0u; }

static inline constexpr unsigned __brev(unsigned x) {
#if defined(__clang__)
  return __builtin_bitreverse32(x);
#else
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
#endif
}
static inline constexpr unsigned long long __brevll(unsigned long long x) {
#if defined(__clang__)
  return __builtin_bitreverse64(x);
#else
  return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
#endif
}

static inline constexpr unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }
static inline constexpr int __mul24(int x, int y) {
  return int(unsigned(int(unsigned(x) << 8) >> 8) * unsigned(int(unsigned(y) << 8) >> 8));
}
static inline constexpr int __mulhi(int x, int y) { return int((long long)x * y >> 32); }
static inline constexpr unsigned __umulhi(unsigned x, unsigned y) { return unsigned((unsigned long long)x * y >> 32); }
static inline constexpr long long __mul64hi(long long x, long long y) { return (long long)((__int128)x * y >> 64); }
static inline constexpr unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned long long)((unsigned __int128)x * y >> 64);
}
static inline constexpr int mulhi(int x, int y) { return __mulhi(x, y); }
static inline constexpr unsigned umulhi(unsigned x, unsigned y) { return __umulhi(x, y); }
static inline constexpr long long mul64hi(long long x, long long y) { return __mul64hi(x, y); }
static inline constexpr unsigned long long umul64hi(unsigned long long x, unsigned long long y) {
  return __umul64hi(x, y);
}
static inline constexpr int mul24(int x, int y) { return __mul24(x, y); }
static inline constexpr unsigned umul24(unsigned x, unsigned y) { return __umul24(x, y); }

static inline constexpr unsigned __sad(int x, int y, unsigned z) {
  return (x > y ? unsigned(x) - unsigned(y) : unsigned(y) - unsigned(x)) + z;
}
static inline constexpr unsigned __usad(unsigned x, unsigned y, unsigned z) { return (x > y ? x - y : y - x) + z; }
static inline constexpr int __hadd(int x, int y) { return int(((long long)x + y) >> 1); }
static inline constexpr int __rhadd(int x, int y) { return int(((long long)x + y + 1) >> 1); }
static inline constexpr unsigned __uhadd(unsigned x, unsigned y) { return unsigned(((uint64_t)x + y) >> 1); }
static inline constexpr unsigned __urhadd(unsigned x, unsigned y) { return unsigned(((uint64_t)x + y + 1) >> 1); }

static inline constexpr unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  uint64_t bytes = (uint64_t)y << 32 | x;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) r |= unsigned(bytes >> (s >> i * 4 & 7) * 8 & 255) << i * 8;
  return r;
}
static inline constexpr unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift) {
  return unsigned(((uint64_t)hi << 32 | lo) << (shift & 31) >> 32);
}
static inline constexpr unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift) {
  return unsigned(((uint64_t)hi << 32 | lo) >> (shift & 31));
}
static inline constexpr unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned shift) {
  return shift >= 32 ? lo : __funnelshift_l(lo, hi, shift);
}
static inline constexpr unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned shift) {
  return shift >= 32 ? hi : __funnelshift_r(lo, hi, shift);
}
static inline constexpr unsigned __rotl32(unsigned x, unsigned n) { return x << (n & 31) | x >> (-n & 31); }
static inline constexpr unsigned __rotr32(unsigned x, unsigned n) { return x >> (n & 31) | x << (-n & 31); }
static inline constexpr uint64_t __rotl64(uint64_t x, unsigned n) { return x << (n & 63) | x >> (-n & 63); }
static inline constexpr uint64_t __rotr64(uint64_t x, unsigned n) { return x >> (n & 63) | x << (-n & 63); }

/* Bit fields: offset and width are taken modulo the word; a field that reaches past the top is cut there. */
static inline constexpr unsigned __bitextract_u32(unsigned x, unsigned offset, unsigned width) {
  offset &= 31, width &= 31;
  return width ? x >> offset & ((1u << width) - 1) : 0;
}
static inline constexpr uint64_t __bitextract_u64(uint64_t x, unsigned offset, unsigned width) {
  offset &= 63, width &= 63;
  return width ? x >> offset & (((uint64_t)1 << width) - 1) : 0;
}
static inline constexpr unsigned __bitinsert_u32(unsigned x, unsigned field, unsigned offset, unsigned width) {
  offset &= 31, width &= 31;
  unsigned mask = (1u << width) - 1;
  return (x & ~(mask << offset)) | (field & mask) << offset;
}
static inline constexpr uint64_t __bitinsert_u64(uint64_t x, uint64_t field, unsigned offset, unsigned width) {
  offset &= 63, width &= 63;
  uint64_t mask = ((uint64_t)1 << width) - 1;
  return (x & ~(mask << offset)) | (field & mask) << offset;
}

/* The offset-th set bit of mask from base upwards (0: base itself; negative: downwards); -1 when there is none. */
static inline constexpr int __fns64(uint64_t mask, unsigned base, int offset) {
  if (offset == 0) return mask >> (base & 63) & 1 ? int(base) : -1;
  int step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -offset;
  for (int bit = int(base); bit >= 0 && bit < 64; bit += step)
    if (mask >> bit & 1 && --left == 0) return bit;
  return -1;
}
static inline constexpr int __fns32(uint64_t mask, unsigned base, int offset) { return __fns64(mask, base, offset); }
static inline constexpr unsigned __fns(unsigned mask, unsigned base, int offset) {
  return unsigned(__fns64(mask, base, offset));
}

/* Sums of four products of bytes, or of two of halfwords and bytes, added to c. */
static inline constexpr int __dp4a(int a, int b, int c) {
  unsigned sum = unsigned(c);
  for (int i = 0; i < 32; i += 8) sum += unsigned(int(int8_t(a >> i)) * int8_t(b >> i));
  return int(sum);
}
static inline constexpr unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 32; i += 8) c += (a >> i & 255) * (b >> i & 255);
  return c;
}
static inline int amd_mixed_dot(char4 a, char4 b, int c, bool) {
  return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

#endif
