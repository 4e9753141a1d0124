/*
 * arch.c - the processor that kernels are compiled for.
 *
 * That is the processor that they run on, unless LUHIP_CPU_ARCH names a lower level of the x86-64 ABI ("x86-64-v3"): for
 * measuring what wider vectors bring, or for results that do not differ between two machines. What a level asks of a
 * processor is the table of the psABI, section 3.1.1 ("micro-architecture levels"); the processor is asked by CPUID,
 * and the operating system by XGETBV, whether it saves the vector registers. A level that is not there is refused: a
 * kernel would die of its first wide instruction.
 *
 * Under valgrind the compiler sees a wider processor than the kernels will: it runs outside. CPUID does not lie there,
 * as valgrind answers it, so that the highest level it shows takes the place of "native".
 */
#include "cpu/arch.h"

#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "base/valgrind.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Bits that must be set: of leaf 1's ECX, leaf 7's EBX, leaf 0x80000001's ECX, and of the register XCR0. */
struct features {
  unsigned basic, extended, amd, saved;
};
#define BIT(n) (1u << (n))

static const struct level {
  const char *name;
  struct features needs; /* beyond those of the level before */
} levels[] = {
    {"x86-64", {0, 0, 0, 0}},
    /* SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF */
    {"x86-64-v2", {BIT(0) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(23), 0, BIT(0), 0}},
    /* FMA, MOVBE, OSXSAVE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT; the halves of the registers of 256 bits */
    {"x86-64-v3", {BIT(12) | BIT(22) | BIT(27) | BIT(28) | BIT(29), BIT(3) | BIT(5) | BIT(8), BIT(5), BIT(1) | BIT(2)}},
    /* AVX-512 F, DQ, CD, BW, VL; masks and the registers of 512 bits */
    {"x86-64-v4", {0, BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31), 0, BIT(5) | BIT(6) | BIT(7)}},
};
enum { LEVELS = sizeof levels / sizeof levels[0] };

static struct features processor(void) {
  struct features has = {0};
  unsigned a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d)) has.basic = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) has.extended = b;
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) has.amd = c;
  if (has.basic & BIT(27)) __asm__ volatile("xgetbv" : "=a"(has.saved), "=d"(d) : "c"(0));
  return has;
}

/* How many of the levels this processor has. */
static int available(void) {
  struct features has = processor();
  int count = 0;
  while (count < LEVELS) {
    const struct features *needs = &levels[count].needs;
    if (needs->basic & ~has.basic || needs->extended & ~has.extended || needs->amd & ~has.amd ||
        needs->saved & ~has.saved)
      break;
    count++;
  }
  return count;
}
#else
static const struct level { const char *name; } levels[] = {{""}};
enum { LEVELS = 0 };

static int available(void) {
  return 0;
}
#endif

/* -1 when there is no such level. */
static int level_of(const char *name) {
  int level = LEVELS - 1;
  while (level >= 0 && strcmp(levels[level].name, name) != 0) level--;
  return level;
}

/* "native, x86-64 and x86-64-v2" */
static void list(int count, char *text, size_t len) {
  size_t used = (size_t)snprintf(text, len, "native");
  for (int i = 0; i < count && used < len; i++)
    used += (size_t)snprintf(text + used, len - used, "%s%s", i + 1 < count ? ", " : " and ", levels[i].name);
}

static bool check(const char *name, const char *setting, char *reason, size_t len) {
  char there[96];
  int level = level_of(name), count = available();
  if (level >= 0 && level < count) return true;
  if (level < 0) {
    list(LEVELS, there, sizeof there);
    snprintf(reason, len, "%s'%.40s', which is no architecture known here: there are %s", setting, name, there);
  } else {
    list(count, there, sizeof there);
    snprintf(reason, len, "%s'%.40s', which this processor cannot run: it runs %s", setting, name, there);
  }
  return false;
}

bool cpu_arch_option(char option[ARCH_OPTION], char *reason, size_t len) {
  struct config_value value;
  const char *name = value.text;
  config_find(CONFIG_CPU_ARCH, &value);
  char setting[128];
  snprintf(setting, sizeof setting, "%.100s is ", value.origin);
  if (!*name || strcmp(name, "native") == 0) {
    int count = valgrind_is_running() ? available() : 0;
    name = count ? levels[count - 1].name : "native";
  } else if (!check(name, setting, reason, len)) {
    return false;
  }
  snprintf(option, ARCH_OPTION, "-march=%.20s", name);
  return true;
}

bool cpu_arch_allows(const char *option, char *reason, size_t len) {
  static const char march[] = "-march=";
  const char *name = option + sizeof march - 1;
  if (strncmp(option, march, sizeof march - 1) != 0 || level_of(name) < 0) return true;
  return check(name, "compiler option '-march=' is given ", reason, len);
}
