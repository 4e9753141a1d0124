/*
 * hash.c - BLAKE2b as RFC 7693 specifies it, unkeyed, digest of 16 bytes. Written from the RFC.
 */
#include "base/hash.h"

#include <string.h>

static const uint64_t initial[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u,
};

/* Message word order of the rounds; rounds 10 and 11 repeat 0 and 1. */
static const uint8_t order[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static uint64_t load64(const uint8_t *bytes) {
  uint64_t word = 0;
  for (int i = 7; i >= 0; i--) word = word << 8 | bytes[i];
  return word;
}

static void store64(uint8_t *bytes, uint64_t word) {
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(word >> (8 * i));
}

static uint64_t rotate(uint64_t word, int bits) {
  return word >> bits | word << (64 - bits);
}

static void mix(uint64_t v[16], int a, int b, int c, int d, uint64_t x, uint64_t y) {
  v[a] += v[b] + x;
  v[d] = rotate(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = rotate(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = rotate(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = rotate(v[b] ^ v[c], 63);
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
  for (int round = 0; round < 12; round++) {
    const uint8_t *s = order[round % 10];
    mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
    mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
    mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
    mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
    mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
    mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
    mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
    mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
  }
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
