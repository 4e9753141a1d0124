/*
 * hash.h - BLAKE2b (RFC 7693) with a 128-bit digest: cache keys, and checksums of cache entries. Collisions
 * are out of reach even for who tries, so a key may stand for the content.
 */
#ifndef LUHIP_BASE_HASH_H
#define LUHIP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { HASH_BYTES = 16, HASH_BLOCK = 128 };

struct hash {
  uint64_t state[8];
  uint64_t total[2]; /* bytes compressed so far, 128 bits */
  uint8_t block[HASH_BLOCK];
  size_t filled;
};

void hash_start(struct hash *hash);
void hash_add(struct hash *hash, const void *bytes, size_t length);
void hash_finish(struct hash *hash, uint8_t digest[HASH_BYTES]);
void hash_of(const void *bytes, size_t length, uint8_t digest[HASH_BYTES]);

/* Fields of a key: each is preceded by its length, so that no two lists of fields give the same bytes. */
void hash_add_string(struct hash *hash, const char *string); /* NULL differs from "" */
void hash_add_u64(struct hash *hash, uint64_t number);

#endif
