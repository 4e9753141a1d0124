/*
 * options.c - the compiler options that a kernel's author gives.
 *
 * A list of what is allowed, not of what is not: compilers have options that write files, load plug-ins, run
 * programs or read further options from files, and get new ones every year. What is missing here can be added.
 */
#include "cpu/options.h"

#include <stdio.h>
#include <string.h>

#include "cpu/arch.h"

enum shape {
  SHAPE_EXACT,  /* this option */
  SHAPE_PREFIX, /* what begins so */
  SHAPE_VALUE,  /* with a value, joined or as the next argument */
  SHAPE_LINE    /* the same, and stands for a line of source */
};

static const struct rule {
  const char *text;
  enum shape shape;
  bool light; /* a precompiled header stays usable */
} rules[] = {
    {"-I", SHAPE_VALUE, true},
    {"-isystem", SHAPE_VALUE, true},
    {"-iquote", SHAPE_VALUE, true},
    {"-idirafter", SHAPE_VALUE, true},
    {"-include", SHAPE_LINE, true},
    {"-D", SHAPE_LINE, true},
    {"-U", SHAPE_LINE, true},
    {"-w", SHAPE_EXACT, true},
    {"-W", SHAPE_PREFIX, true},
    {"-R", SHAPE_PREFIX, true},
    {"-pedantic", SHAPE_PREFIX, true},
    {"-O", SHAPE_PREFIX, false},
    {"-g", SHAPE_EXACT, false},
    {"-g0", SHAPE_EXACT, false},
    {"-g1", SHAPE_EXACT, false},
    {"-g2", SHAPE_EXACT, false},
    {"-g3", SHAPE_EXACT, false},
    {"-gline-tables-only", SHAPE_EXACT, false},
    {"-std=c++", SHAPE_PREFIX, false},
    {"-std=gnu++", SHAPE_PREFIX, false},
    {"-march=", SHAPE_PREFIX, false},
    {"-mtune=", SHAPE_PREFIX, false},
    {"-mavx", SHAPE_PREFIX, false},
    {"-mno-avx", SHAPE_PREFIX, false},
    {"-msse", SHAPE_PREFIX, false},
    {"-mfma", SHAPE_EXACT, false},
    {"-mno-fma", SHAPE_EXACT, false},
    {"-mrecip", SHAPE_PREFIX, false},
    {"-mprefer-vector-width=", SHAPE_PREFIX, false},
    {"-ferror-limit=", SHAPE_PREFIX, true},
    {"-fmax-errors=", SHAPE_PREFIX, true},
    {"-ffp-contract=", SHAPE_PREFIX, false},
    {"-ffp-model=", SHAPE_PREFIX, false},
    {"-fdenormal-fp-math", SHAPE_PREFIX, false},
    {"-fveclib=", SHAPE_PREFIX, false},
    {"-ftemplate-depth=", SHAPE_PREFIX, false},
    {"-fconstexpr-", SHAPE_PREFIX, false},
    {"-fbracket-depth=", SHAPE_PREFIX, false},
    {"-finline-limit=", SHAPE_PREFIX, false},
};

/* -f<name> and -fno-<name>. */
static const char *const switches[] = {
    "fast-math",          "math-errno",      "trapping-math",
    "associative-math",   "reciprocal-math", "signed-zeros",
    "finite-math-only",   "rounding-math",   "unsafe-math-optimizations",
    "approx-func",        "honor-nans",      "honor-infinities",
    "unroll-loops",       "vectorize",       "tree-vectorize",
    "slp-vectorize",      "inline",          "inline-functions",
    "strict-aliasing",    "wrapv",           "signed-char",
    "unsigned-char",      "builtin",         "strict-overflow",
    "omit-frame-pointer", "ms-extensions",   "permissive",
};

static bool is_switch(const char *option) {
  if (strncmp(option, "-f", 2) != 0) return false;
  const char *name = option + (strncmp(option, "-fno-", 5) == 0 ? 5 : 2);
  for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
    if (strcmp(name, switches[i]) == 0) return true;
  return false;
}

/* -Wl, -Wa, -Wp and -Wno-error=... look alike; the first three hand options to other programs. */
static bool hands_on(const char *option) {
  return strncmp(option, "-Wl,", 4) == 0 || strncmp(option, "-Wa,", 4) == 0 || strncmp(option, "-Wp,", 4) == 0;
}

static const struct rule *rule_of(const char *option) {
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    bool exact = strcmp(option, rules[i].text) == 0;
    if (exact || (rules[i].shape != SHAPE_EXACT && strncmp(option, rules[i].text, strlen(rules[i].text)) == 0))
      return &rules[i];
  }
  return NULL;
}

/* One option as it was given: `value` is NULL where it takes none, "" where it is missing. */
struct option {
  const struct rule *rule; /* NULL: a switch, or not allowed */
  const char *text, *value;
  size_t arguments; /* how many it takes up */
};

static struct option read_option(const char *const *options, size_t count, size_t at) {
  struct option option = {.rule = rule_of(options[at]), .text = options[at], .arguments = 1};
  if (!option.rule || option.rule->shape < SHAPE_VALUE) return option;
  option.value = options[at] + strlen(option.rule->text);
  if (!*option.value && at + 1 < count) {
    option.value = options[at + 1];
    option.arguments = 2;
  }
  return option;
}

bool cpu_options_allowed(const char *const *options, size_t count, char *why, size_t len) {
  for (size_t i = 0; i < count;) {
    struct option option = read_option(options, count, i);
    if ((!option.rule && !is_switch(option.text)) || hands_on(option.text)) {
      snprintf(why, len, "compiler option '%.200s' is not allowed", option.text);
      return false;
    }
    if (option.value && !*option.value) {
      snprintf(why, len, "compiler option '%s' needs a value", option.text);
      return false;
    }
    if (!cpu_arch_allows(option.text, why, len)) return false;
    i += option.arguments;
  }
  return true;
}

static bool is_line(const struct option *option) {
  return option->rule && option->rule->shape == SHAPE_LINE;
}

void cpu_options_add_lines(const char *const *options, size_t count, struct text *text) {
  for (size_t i = 0; i < count;) {
    struct option option = read_option(options, count, i);
    i += option.arguments;
    if (!is_line(&option)) continue;
    int length = (int)strcspn(option.value, "\n"); /* as compilers do */
    if (option.rule->text[1] == 'U') {
      text_printf(text, "#undef %.*s\n", length, option.value);
    } else if (option.rule->text[1] == 'i') {
      text_printf(text, "#include \"%.*s\"\n", length, option.value);
    } else {
      int name = (int)strcspn(option.value, "=\n");
      bool valued = option.value[name] == '=';
      text_printf(text, "#define %.*s %.*s\n", name, option.value, valued ? length - name - 1 : 1,
                  valued ? option.value + name + 1 : "1");
    }
  }
}

void cpu_options_add_arguments(const char *const *options, size_t count, struct command_line *line) {
  for (size_t i = 0; i < count;) {
    struct option option = read_option(options, count, i);
    for (size_t j = 0; j < option.arguments && !is_line(&option); j++) cpu_line_add(line, options[i + j]);
    i += option.arguments;
  }
}

bool cpu_options_are_light(const char *const *options, size_t count) {
  for (size_t i = 0; i < count;) {
    struct option option = read_option(options, count, i);
    if (!option.rule || !option.rule->light) return false;
    i += option.arguments;
  }
  return true;
}
