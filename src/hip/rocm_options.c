/*
 * rocm_options.c - what hiprtc's clang may be told.
 *
 * A list of what is allowed, as on the CPU device: hiprtc hands options to clang's driver as they are, and some make
 * it write files or make something that is no code object (-E, -S, -o), load plug-ins, or end the process
 * (--offload-arch= of an unknown one).
 */
#include "hip/rocm_options.h"

#include <string.h>

enum shape {
  SHAPE_EXACT,  /* this option */
  SHAPE_PREFIX, /* what begins so */
  SHAPE_VALUE   /* with a value, joined or as the next argument */
};

static const struct rule {
  const char *text;
  enum shape shape;
} rules[] = {
    {"-I", SHAPE_VALUE},
    {"-isystem", SHAPE_VALUE},
    {"-iquote", SHAPE_VALUE},
    {"-idirafter", SHAPE_VALUE},
    {"-include", SHAPE_VALUE},
    {"-D", SHAPE_VALUE},
    {"-U", SHAPE_VALUE},
    {"-w", SHAPE_EXACT},
    {"-W", SHAPE_PREFIX},
    {"-R", SHAPE_PREFIX},
    {"-pedantic", SHAPE_PREFIX},
    {"-O", SHAPE_PREFIX},
    {"-g", SHAPE_EXACT},
    {"-g0", SHAPE_EXACT},
    {"-g1", SHAPE_EXACT},
    {"-g2", SHAPE_EXACT},
    {"-g3", SHAPE_EXACT},
    {"-gline-tables-only", SHAPE_EXACT},
    {"-ggdb", SHAPE_EXACT},
    {"-std=c++", SHAPE_PREFIX},
    {"-std=gnu++", SHAPE_PREFIX},
    {"--gpu-max-threads-per-block=", SHAPE_PREFIX},
    {"-mcumode", SHAPE_EXACT},
    {"-mno-cumode", SHAPE_EXACT},
    {"-mwavefrontsize64", SHAPE_EXACT},
    {"-mno-wavefrontsize64", SHAPE_EXACT},
    {"-munsafe-fp-atomics", SHAPE_EXACT},
    {"-mno-unsafe-fp-atomics", SHAPE_EXACT},
    {"-mtgsplit", SHAPE_EXACT},
    {"-mno-tgsplit", SHAPE_EXACT},
    {"-ferror-limit=", SHAPE_PREFIX},
    {"-ffp-contract=", SHAPE_PREFIX},
    {"-ffp-model=", SHAPE_PREFIX},
    {"-fdenormal-fp-math", SHAPE_PREFIX},
    {"-ftemplate-depth=", SHAPE_PREFIX},
    {"-fconstexpr-", SHAPE_PREFIX},
    {"-fbracket-depth=", SHAPE_PREFIX},
};

/* -f<name> and -fno-<name>. */
static const char *const switches[] = {
    "fast-math",
    "math-errno",
    "trapping-math",
    "associative-math",
    "reciprocal-math",
    "signed-zeros",
    "finite-math-only",
    "rounding-math",
    "unsafe-math-optimizations",
    "approx-func",
    "honor-nans",
    "honor-infinities",
    "unroll-loops",
    "vectorize",
    "slp-vectorize",
    "inline",
    "inline-functions",
    "strict-aliasing",
    "wrapv",
    "signed-char",
    "unsigned-char",
    "builtin",
    "strict-overflow",
    "ms-extensions",
    "gpu-flush-denormals-to-zero",
    "cuda-flush-denormals-to-zero",
    "hip-fp32-correctly-rounded-divide-sqrt",
};

static bool is_switch(const char *option) {
  if (strncmp(option, "-f", 2) != 0) return false;
  const char *name = option + (strncmp(option, "-fno-", 5) == 0 ? 5 : 2);
  for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
    if (strcmp(name, switches[i]) == 0) return true;
  return false;
}

/* -Wl, -Wa and -Wp hand options to other programs. */
static bool hands_on(const char *option) {
  return strncmp(option, "-Wl,", 4) == 0 || strncmp(option, "-Wa,", 4) == 0 || strncmp(option, "-Wp,", 4) == 0;
}

static const struct rule *rule_of(const char *option) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    size_t length = strlen(rules[i].text);
    if (strncmp(option, rules[i].text, length) == 0 && (rules[i].shape != SHAPE_EXACT || !option[length]))
      return &rules[i];
  }
  return NULL;
}

bool rocm_options_allowed(const char *const *options, size_t count, struct text *log) {
  for (size_t i = 0; i < count; i++) {
    const struct rule *rule = rule_of(options[i]);
    if ((!rule && !is_switch(options[i])) || hands_on(options[i])) {
      text_printf(log, "compiler option '%.200s' is not allowed\n", options[i]);
      return false;
    }
    if (!rule || rule->shape != SHAPE_VALUE || options[i][strlen(rule->text)]) continue;
    if (++i == count) {
      text_printf(log, "compiler option '%s' needs a value\n", rule->text);
      return false;
    }
  }
  return true;
}
