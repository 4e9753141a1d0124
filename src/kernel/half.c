/*
 * half.c - see half.h. Going through float would round twice.
 */
#include "kernel/half.h"

#include <string.h>

/* A float of 1 sign bit, 15 - digits exponent bits and `digits` fraction bits. */
static uint16_t narrow(double value, int digits) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const int bias = (1 << (14 - digits)) - 1;
  const uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
  const uint16_t infinity = (uint16_t)(((1 << (15 - digits)) - 1) << digits);
  const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  uint64_t significand = bits & 0xfffffffffffffu;
  if (exponent == 1024) return (uint16_t)(sign | infinity | (significand ? 1 << (digits - 1) : 0));
  if (exponent == -1023) return sign; /* zero, or far below the smallest */
  significand |= (uint64_t)1 << 52;
  const int lowest = 1 - bias; /* below it numbers are subnormal: fewer digits */
  const int shift = 52 - digits + (exponent < lowest ? lowest - exponent : 0);
  if (shift > 53) return sign;
  uint64_t kept = significand >> shift;
  const uint64_t rest = significand - (kept << shift), tie = (uint64_t)1 << (shift - 1);
  kept += rest > tie || (rest == tie && (kept & 1));
  /* The leading one of a normal number counts as one step of the exponent, and a carry as another. */
  uint64_t magnitude = kept + (exponent < lowest ? 0 : (uint64_t)(exponent - lowest) << digits);
  return (uint16_t)(sign | (magnitude < infinity ? magnitude : infinity));
}

uint16_t half_from_double(double value) {
  return narrow(value, 10);
}
uint16_t bfloat16_from_double(double value) {
  return narrow(value, 7);
}
