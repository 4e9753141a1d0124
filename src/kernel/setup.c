/*
 * setup.c - compile options.
 *
 * -D among the flags becomes a #define in the text, since on the command line it would reach the compilers' built-in
 * headers too, and break them (-DB=64 against `template <bool B>`). Folders become absolute: the same relative path
 * means other files after a chdir, and providers start compilers in folders of their own.
 */
#include "kernel/setup.h"
#include "kernel/names.h"
#include "kernel/prelude.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static luhip_status no_memory(luhip_error **error) {
  return error_set(error, LUHIP_E_MEMORY, "out of host memory");
}

/* Takes over the string; false (and freed) when memory runs out or it is NULL already. */
static bool strings_take(struct strings *strings, char *string) {
  size_t n = strings->n;
  if (string && (n & (n - 1)) == 0) {
    char **grown = realloc(strings->list, (n ? 2 * n : 1) * sizeof *grown);
    if (!grown) {
      free(string);
      return false;
    }
    strings->list = grown;
  }
  if (string) strings->list[strings->n++] = string;
  return string != NULL;
}

static void strings_free(struct strings *strings) {
  for (size_t i = 0; i < strings->n; i++) free(strings->list[i]);
  free(strings->list);
}

static bool is_word(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}

/* A macro's name, perhaps with parameters: NAME or NAME(a, b). */
static bool is_macro_name(const char *name, size_t length) {
  size_t i = 0;
  while (i < length && is_word(name[i], i == 0)) i++;
  if (i == 0 || i == length) return i > 0;
  if (name[i] != '(' || name[length - 1] != ')') return false;
  for (i++; i + 1 < length; i++)
    if (!is_word(name[i], false) && !strchr(" ,.", name[i])) return false;
  return true;
}

static luhip_status add_definition(struct setup *setup, const char *name, size_t length, const char *value,
                                   luhip_error **error) {
  if (!is_macro_name(name, length))
    return error_set(error, LUHIP_E_ARGUMENT, "define '%.*s' is no macro name", (int)length, name);
  if (length == 7 && memcmp(name, "defined", 7) == 0)
    return error_set(error, LUHIP_E_ARGUMENT, "define 'defined' is no macro name");
  if (strpbrk(value, "\n\r"))
    return error_set(error, LUHIP_E_ARGUMENT, "the value of define '%.*s' has several lines", (int)length, name);
  struct text text = {0};
  text_append(&text, name, length);
  text_add(&text, " ");
  text_add(&text, value);
  return strings_take(&setup->definitions, text_take(&text)) ? LUHIP_OK : no_memory(error);
}

static luhip_status add_folder(struct setup *setup, const char *folder, luhip_error **error) {
  if (!*folder) return error_set(error, LUHIP_E_ARGUMENT, "an include folder without a name");
  return strings_take(&setup->folders, file_absolute(folder)) ? LUHIP_OK : no_memory(error);
}

/* The other options that name a folder keep their place among the flags. */
static size_t folder_flag(const char *flag) {
  static const char *const names[] = {"-isystem", "-iquote", "-idirafter"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(flag, names[i], strlen(names[i])) == 0) return strlen(names[i]);
  return 0;
}

static bool keep_flag(struct setup *setup, const char *flag, size_t length, const char *folder) {
  if (!folder) return strings_take(&setup->flags, strdup(flag));
  return strings_take(&setup->flags, strndup(flag, length)) && strings_take(&setup->flags, file_absolute(folder));
}

/* -DNAME, -DNAME=value, -D NAME... ; the same for -I. *i moves over a flag's own argument. */
static luhip_status add_flag(struct setup *setup, const luhip_compile_options *options, size_t *i,
                             luhip_error **error) {
  const char *flag = options->flags[*i];
  bool define = strncmp(flag, "-D", 2) == 0, folder = strncmp(flag, "-I", 2) == 0;
  size_t length = define || folder ? 2 : folder_flag(flag);
  const char *value = length ? flag + length : NULL;
  if (value && !*value) {
    if (*i + 1 == options->nflags) return error_set(error, LUHIP_E_ARGUMENT, "flag '%s' lacks its argument", flag);
    value = options->flags[++*i];
  }
  if (folder) return add_folder(setup, value, error);
  if (!define) return keep_flag(setup, flag, length, value) ? LUHIP_OK : no_memory(error);
  const char *equals = strchr(value, '=');
  length = equals ? (size_t)(equals - value) : strlen(value);
  return add_definition(setup, value, length, equals ? equals + 1 : "1", error);
}

static luhip_status add_header(struct setup *setup, const luhip_text_pair *header, luhip_error **error) {
  if (!header->name || !*header->name || !header->value || strpbrk(header->name, "\"<>\n\r"))
    return error_set(error, LUHIP_E_ARGUMENT, "a header needs a name and a text, and the name no quotes: '%s'",
                     header->name ? header->name : "");
  bool ok = strings_take(&setup->names, strdup(header->name)) && strings_take(&setup->texts, strdup(header->value));
  return ok ? LUHIP_OK : no_memory(error);
}

static luhip_status add_all(struct setup *setup, const luhip_compile_options *options, luhip_error **error) {
  luhip_status status = LUHIP_OK;
  for (size_t i = 0; i < options->ndefines && status == LUHIP_OK; i++) {
    const luhip_text_pair *define = &options->defines[i];
    const char *name = define->name ? define->name : "";
    status = add_definition(setup, name, strlen(name), define->value ? define->value : "1", error);
  }
  for (size_t i = 0; i < options->ninclude_dirs && status == LUHIP_OK; i++)
    status = add_folder(setup, options->include_dirs[i], error);
  for (size_t i = 0; i < options->nflags && status == LUHIP_OK; i++) status = add_flag(setup, options, &i, error);
  for (size_t i = 0; i < options->nheaders && status == LUHIP_OK; i++)
    status = add_header(setup, &options->headers[i], error);
  for (size_t i = 0; i < setup->folders.n && status == LUHIP_OK; i++) {
    struct text flag = {0};
    text_printf(&flag, "-I%s", setup->folders.list[i]);
    if (!strings_take(&setup->flags, text_take(&flag))) status = no_memory(error);
  }
  return status;
}

static luhip_status ask_toolchain(struct setup *setup, luhip_error **error) {
  const struct kernel_target *target = setup->target;
  setup->toolchain[0] = '\0';
  hip_error_t result = target->api->hipxToolchain(setup->toolchain, sizeof setup->toolchain, target->device);
  if (result == hip_Success) return LUHIP_OK;
  if (result == hip_ErrorFileNotFound)
    return error_set(error, LUHIP_E_NOT_FOUND, "there is no compiler for kernels of %s: %s", target->arch,
                     setup->toolchain[0] ? setup->toolchain : "none was found");
  return error_set(error, LUHIP_E_DRIVER, "the compiler cannot be identified: %s", hip_error_name(result));
}

static void hash_strings(struct hash *hash, const struct strings *strings) {
  hash_add_u64(hash, strings->n);
  for (size_t i = 0; i < strings->n; i++) hash_add_string(hash, strings->list[i]);
}

static void hash_all(struct setup *setup) {
  struct hash hash;
  hash_start(&hash);
  hash_add_string(&hash, LUHIP_VERSION);
  hash_add_string(&hash, kernel_prelude);
  hash_add_string(&hash, setup->toolchain);
  hash_add_string(&hash, setup->target->arch);
  hash_add_string(&hash, setup->program);
  hash_add_string(&hash, setup->source);
  hash_strings(&hash, &setup->definitions);
  hash_strings(&hash, &setup->flags);
  hash_strings(&hash, &setup->names);
  hash_strings(&hash, &setup->texts);
  hash_add_u64(&hash, setup->options->strict);
  hash_add_u64(&hash, setup->options->nnames);
  for (size_t i = 0; i < setup->options->nnames; i++) hash_add_string(&hash, setup->options->names[i]);
  hash_finish(&hash, setup->key);
}

luhip_status setup_start(struct setup *setup, const struct kernel_target *target, const char *source,
                         const luhip_compile_options *options, luhip_error **error) {
  *setup = (struct setup){.target = target, .options = options, .source = source};
  setup->program = options->name && *options->name ? options->name : "kernel.hip";
  if (strpbrk(setup->program, "\n\r")) return error_set(error, LUHIP_E_ARGUMENT, "a program's name is one line");
  luhip_status status = add_all(setup, options, error);
  if (status == LUHIP_OK) status = ask_toolchain(setup, error);
  if (status == LUHIP_OK) hash_all(setup);
  return status;
}

char *setup_search_path(const struct setup *setup) {
  struct text text = {0};
  text_add(&text, "searched: ");
  for (size_t i = 0; i < setup->folders.n; i++) text_printf(&text, "%s%s", i ? ", " : "", setup->folders.list[i]);
  if (!setup->folders.n) text_add(&text, "no include_dirs");
  if (setup->names.n) text_add(&text, "; headers given: ");
  for (size_t i = 0; i < setup->names.n; i++) text_printf(&text, "%s%s", i ? ", " : "", setup->names.list[i]);
  return text_take(&text);
}

void setup_free(struct setup *setup) {
  strings_free(&setup->definitions);
  strings_free(&setup->folders);
  strings_free(&setup->flags);
  strings_free(&setup->names);
  strings_free(&setup->texts);
}
