/*
 * hash.c - BLAKE2b as RFC 7693 specifies it, unkeyed, digest of 16 bytes. Written from the RFC.
 */
#include "base/hash.h"

#include <string.h>

static const uint64_t initial[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u,
};

static inline uint64_t load64(const uint8_t *b) {
  return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 | (uint64_t)b[4] << 32 |
         (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

static void store64(uint8_t *bytes, uint64_t word) {
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(word >> (8 * i));
}

static inline uint64_t rotate(uint64_t word, int bits) {
  return word >> bits | word << (64 - bits);
}

static inline __attribute__((always_inline)) void mix(uint64_t v[16], int a, int b, int c, int d, uint64_t x,
                                                      uint64_t y) {
  v[a] += v[b] + x;
  v[d] = rotate(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = rotate(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = rotate(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = rotate(v[b] ^ v[c], 63);
}

/* A round takes the message's words in the order given: as constants, so that v and m stay where they are quick to reach
   (a table of orders costs three times as much). */
#define ROUND(s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15)                                    \
  do {                                                                                                                 \
    mix(v, 0, 4, 8, 12, m[s0], m[s1]);                                                                                 \
    mix(v, 1, 5, 9, 13, m[s2], m[s3]);                                                                                 \
    mix(v, 2, 6, 10, 14, m[s4], m[s5]);                                                                                \
    mix(v, 3, 7, 11, 15, m[s6], m[s7]);                                                                                \
    mix(v, 0, 5, 10, 15, m[s8], m[s9]);                                                                                \
    mix(v, 1, 6, 11, 12, m[s10], m[s11]);                                                                              \
    mix(v, 2, 7, 8, 13, m[s12], m[s13]);                                                                               \
    mix(v, 3, 4, 9, 14, m[s14], m[s15]);                                                                               \
  } while (0)

static void twelve_rounds(uint64_t v[16], const uint64_t m[16]) {
  ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);
  ROUND(11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4);
  ROUND(7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8);
  ROUND(9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13);
  ROUND(2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9);
  ROUND(12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11);
  ROUND(13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10);
  ROUND(6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5);
  ROUND(10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0);
  ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);
}

static void compress(struct hash *hash, const uint8_t block[HASH_BLOCK], size_t bytes, int last) {
  uint64_t m[16], v[16];
  hash->total[0] += bytes;
  hash->total[1] += hash->total[0] < bytes;
  for (int i = 0; i < 16; i++) m[i] = load64(block + 8 * i);
  memcpy(v, hash->state, sizeof hash->state);
  memcpy(v + 8, initial, sizeof initial);
  v[12] ^= hash->total[0];
  v[13] ^= hash->total[1];
  if (last) v[14] = ~v[14];
  twelve_rounds(v, m);
  for (int i = 0; i < 8; i++) hash->state[i] ^= v[i] ^ v[i + 8];
}

void hash_start(struct hash *hash) {
  *hash = (struct hash){0};
  memcpy(hash->state, initial, sizeof initial);
  hash->state[0] ^= 0x01010000u ^ HASH_BYTES; /* parameter block: fan-out 1, depth 1, no key */
}

/* The last block is compressed by hash_finish, so a full one waits here until more bytes come. */
void hash_add(struct hash *hash, const void *bytes, size_t length) {
  const uint8_t *from = bytes;
  while (length) {
    if (hash->filled == HASH_BLOCK) {
      compress(hash, hash->block, HASH_BLOCK, 0);
      hash->filled = 0;
    }
    size_t part = HASH_BLOCK - hash->filled;
    if (part > length) part = length;
    memcpy(hash->block + hash->filled, from, part);
    hash->filled += part;
    from += part;
    length -= part;
  }
}

void hash_finish(struct hash *hash, uint8_t digest[HASH_BYTES]) {
  memset(hash->block + hash->filled, 0, HASH_BLOCK - hash->filled);
  compress(hash, hash->block, hash->filled, 1);
  for (int i = 0; i < HASH_BYTES / 8; i++) store64(digest + 8 * i, hash->state[i]);
}

void hash_of(const void *bytes, size_t length, uint8_t digest[HASH_BYTES]) {
  struct hash hash;
  hash_start(&hash);
  hash_add(&hash, bytes, length);
  hash_finish(&hash, digest);
}

void hash_add_u64(struct hash *hash, uint64_t number) {
  uint8_t bytes[8];
  store64(bytes, number);
  hash_add(hash, bytes, sizeof bytes);
}

void hash_add_string(struct hash *hash, const char *string) {
  if (!string) {
    hash_add_u64(hash, UINT64_MAX);
    return;
  }
  size_t length = strlen(string);
  hash_add_u64(hash, length);
  hash_add(hash, string, length);
}
