/*
 * config.c - the layers of settings.
 *
 * Values are kept as text, as the environment has them, and parsed when they are looked at: what cannot be parsed is
 * refused when a layer is set, and for the environment by config_check. One lock guards the stored layers.
 */
#include "base/config.h"

#include "base/error.h"
#include "base/log.h"
#include "base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

enum type { TEXT, PATH, COUNT, MILLISECONDS, SIZE, SWITCH, LEVEL, SINK, PRESET, POLICY };
static const char *const type_names[] = {"text",   "path",  "count", "milliseconds", "size",
                                         "switch", "level", "sink",  "word",         "word"};

struct setting {
  luhip_setting shown;
  enum type type;
  uint64_t low, high;
  const char *wanted;
};

static const struct setting settings[CONFIG_COUNT] = {
#define X(ID, key, variable, type, low, high, standard, own, wanted, meaning)                                          \
  {{key, variable, "", standard, meaning, own}, type, low, high, wanted},
    CONFIG_SETTINGS(X)
#undef X
};

static const char *const keys[CONFIG_COUNT + 1] = {
#define X(ID, key, variable, type, low, high, standard, own, wanted, meaning) key,
    CONFIG_SETTINGS(X)
#undef X
        NULL};

static const char *const variables[CONFIG_COUNT + 1] = {
#define X(ID, key, variable, type, low, high, standard, own, wanted, meaning) variable,
    CONFIG_SETTINGS(X)
#undef X
        NULL};

struct stored {
  char *text, *origin; /* text NULL: not set here */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stored layers[CONFIG_LAYERS][CONFIG_COUNT];
static bool frozen[CONFIG_COUNT]; /* atomic */

/* ---- parsing ------------------------------------------------------------------------------------------------- */

static bool parse_count(const char *text, uint64_t *number) {
  char *end;
  if (!isdigit((unsigned char)text[0])) return false;
  errno = 0;
  *number = strtoull(text, &end, 10);
  return !errno && !*end;
}

/* "4G" -> bytes */
static bool parse_size(const char *text, uint64_t *bytes) {
  static const char units[] = "KMGT";
  unsigned shift = 0;
  char *end;
  if (!isdigit((unsigned char)text[0])) return false;
  errno = 0;
  uint64_t number = strtoull(text, &end, 10);
  if (*end) {
    const char *unit = strchr(units, toupper((unsigned char)*end));
    if (!unit || end[1]) return false;
    shift = 10 * (unsigned)(unit - units + 1);
  }
  if (errno || number > UINT64_MAX >> shift) return false;
  *bytes = number << shift;
  return true;
}

/* The place of a word in a list, two of which mean the same: "off 0 on 1". */
static bool parse_word(const char *text, const char *const *words, unsigned alike, uint64_t *number) {
  for (unsigned i = 0; words[i]; i++) {
    if (strcmp(words[i], text) != 0) continue;
    *number = i / alike;
    return true;
  }
  return false;
}

static bool parse(const struct setting *setting, const char *text, uint64_t *number) {
  static const char *const switches[] = {"off", "false", "no", "0", "on", "true", "yes", "1", NULL};
  static const char *const levels[] = {"off", "basic", "full", NULL};
  static const char *const presets[] = {"sub-slices", "exclusive", "direct", NULL};
  static const char *const policies[] = {"auto", "disabled", "enforced", NULL}; /* luhip_persistent_policy */
  *number = 0;
  switch (setting->type) {
  case COUNT:
  case MILLISECONDS:
    return parse_count(text, number) && *number >= setting->low && *number <= setting->high;
  case SIZE:
    return parse_size(text, number) && *number >= setting->low;
  case SWITCH:
    return parse_word(text, switches, 4, number);
  case LEVEL:
    return parse_word(text, levels, 1, number);
  case PRESET:
    return parse_word(text, presets, 1, number);
  case POLICY:
    return parse_word(text, policies, 1, number);
  case TEXT:
  case PATH:
  case SINK:
    break;
  }
  return *text != '\0';
}

static luhip_status tell_wrong(const struct setting *setting, const char *text, const char *origin,
                               luhip_error **error) {
  return error_set(error, LUHIP_E_CONFIG, "%s is '%.60s%s', which is not %s", origin, text,
                   strlen(text) > 60 ? "..." : "", setting->wanted);
}

/* ---- looking ------------------------------------------------------------------------------------------------- */

static bool find_stored(enum config_layer layer, enum config_id id, struct config_value *value) {
  const struct stored *stored = &layers[layer][id];
  if (!stored->text) return false;
  value->layer = layer;
  snprintf(value->text, sizeof value->text, "%s", stored->text);
  snprintf(value->origin, sizeof value->origin, "%s", stored->origin);
  return true;
}

static bool find_variable(enum config_id id, struct config_value *value) {
  const char *text = getenv(variables[id]);
  if (!text || !*text) return false;
  value->layer = CONFIG_ENVIRONMENT;
  snprintf(value->text, sizeof value->text, "%s", text);
  snprintf(value->origin, sizeof value->origin, "%s", variables[id]);
  return true;
}

void config_find(enum config_id id, struct config_value *value) {
  pthread_mutex_lock(&lock);
  bool found = find_stored(CONFIG_PROGRAM, id, value) || find_variable(id, value) ||
               find_stored(CONFIG_PROJECT, id, value) || find_stored(CONFIG_USER, id, value);
  pthread_mutex_unlock(&lock);
  if (found) return;
  value->layer = CONFIG_DEFAULT;
  snprintf(value->text, sizeof value->text, "%s", settings[id].shown.standard);
  value->origin[0] = '\0';
}

luhip_status config_number(enum config_id id, uint64_t *number, luhip_error **error) {
  struct config_value value;
  uint64_t parsed;
  config_find(id, &value);
  if (!value.text[0]) return LUHIP_OK;
  if (!parse(&settings[id], value.text, &parsed)) return tell_wrong(&settings[id], value.text, value.origin, error);
  *number = parsed;
  return LUHIP_OK;
}

bool config_is_on(enum config_id id) {
  uint64_t on = 0;
  if (config_number(id, &on, NULL) != LUHIP_OK) parse(&settings[id], settings[id].shown.standard, &on);
  return on != 0;
}

/* ---- the loggers ----------------------------------------------------------------------------------------------- */

static luhip_status apply_sink(luhip_error **error) {
  struct config_value value;
  config_find(CONFIG_LOG_SINK, &value);
  int failed = log_set_file(strcmp(value.text, "stderr") == 0 ? NULL : value.text);
  if (!failed) return LUHIP_OK;
  return error_set(error, LUHIP_E_CONFIG, "%s is '%.200s', which cannot be opened: %s", value.origin, value.text,
                   strerror(failed));
}

static luhip_status apply_logs(luhip_error **error) {
  uint64_t general = 0;
  luhip_status status = config_number(CONFIG_LOG_LEVEL, &general, error);
  for (int topic = 0; !status && topic < LOG_TOPICS; topic++) {
    uint64_t level = general;
    status = config_number((enum config_id)(CONFIG_LOG_COMPILE + topic), &level, error);
    if (!status) log_set_level((enum log_topic)topic, (enum log_level)level);
  }
  return status ? status : apply_sink(error);
}

/* ---- setting --------------------------------------------------------------------------------------------------- */

static luhip_status find_key(const char *key, const char *origin, enum config_id *id, luhip_error **error) {
  for (int i = 0; i < CONFIG_COUNT; i++) {
    if (strcmp(keys[i], key) != 0) continue;
    *id = (enum config_id)i;
    return LUHIP_OK;
  }
  const char *near = nearest_name(key, keys);
  const char *where = origin ? origin : key;
  if (near) return error_set(error, LUHIP_E_CONFIG, "%s is no setting; did you mean '%s'?", where, near);
  return error_set(error, LUHIP_E_CONFIG, "%s is no setting; docs/configuration.md and `luhip doctor` list them",
                   where);
}

void config_freeze(enum config_id id) {
  __atomic_store_n(&frozen[id], true, __ATOMIC_RELAXED);
}

/* Whether the value would hold, and is another than the one that does. */
static bool comes_too_late(enum config_id id, enum config_layer layer, const char *text) {
  struct config_value value;
  if (!__atomic_load_n(&frozen[id], __ATOMIC_RELAXED)) return false;
  config_find(id, &value);
  return layer >= value.layer && strcmp(value.text, text) != 0;
}

static luhip_status accept(enum config_layer layer, const char *key, const char *text, const char *origin,
                           enum config_id *id, luhip_error **error) {
  uint64_t number;
  luhip_status status = find_key(key, origin, id, error);
  if (status || !text) return status;
  const char *where = origin ? origin : key;
  if (layer == CONFIG_PROJECT && settings[*id].shown.own) {
    return error_set(error, LUHIP_E_CONFIG,
                     "%s cannot be set there: it names what is run or written; your own file, %s and scripts may",
                     where, variables[*id]);
  }
  if (strlen(text) >= sizeof((struct config_value *)0)->text)
    return error_set(error, LUHIP_E_CONFIG, "%s has %zu bytes, which is too long", where, strlen(text));
  if (!parse(&settings[*id], text, &number)) return tell_wrong(&settings[*id], text, where, error);
  if (comes_too_late(*id, layer, text))
    return error_set(error, LUHIP_E_CONFIG, "%s comes too late: it is settled with the first use of the device", where);
  return LUHIP_OK;
}

luhip_status config_try(enum config_layer layer, const char *key, const char *text, const char *origin,
                        luhip_error **error) {
  enum config_id id = CONFIG_COUNT;
  return accept(layer, key, text, origin, &id, error);
}

/* Exchanges what is stored for `fresh`, and gives back what was. */
static struct stored exchange(enum config_layer layer, enum config_id id, struct stored fresh) {
  pthread_mutex_lock(&lock);
  struct stored old = layers[layer][id];
  layers[layer][id] = fresh;
  pthread_mutex_unlock(&lock);
  return old;
}

static void stored_free(struct stored stored) {
  free(stored.text);
  free(stored.origin);
}

static bool is_log(enum config_id id) {
  return id >= CONFIG_LOG_LEVEL && id <= CONFIG_LOG_SINK;
}

luhip_status config_set(enum config_layer layer, const char *key, const char *text, const char *origin,
                        luhip_error **error) {
  enum config_id id = CONFIG_COUNT;
  luhip_status status = accept(layer, key, text, origin, &id, error);
  if (status) return status;
  struct stored fresh = {NULL, NULL};
  if (text) fresh = (struct stored){strdup(text), strdup(origin ? origin : key)};
  if (text && (!fresh.text || !fresh.origin)) {
    stored_free(fresh);
    return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a setting");
  }
  struct stored old = exchange(layer, id, fresh);
  if (is_log(id)) status = apply_logs(error);
  if (status) {
    struct stored refused = exchange(layer, id, old);
    old = refused;
    apply_logs(NULL);
  }
  stored_free(old);
  return status;
}

/* ---- the environment --------------------------------------------------------------------------------------------- */

/* Variables of the tests and of the build are no settings. */
static bool is_foreign(const char *name) {
  static const char *const others[] = {"LUHIP_BUILD", "LUHIP_COLLECTOR", NULL};
  if (strncmp(name, "LUHIP_TEST_", 11) == 0) return true;
  for (const char *const *other = others; *other; other++) {
    if (strcmp(name, *other) == 0) return true;
  }
  return false;
}

static bool is_known(const char *name) {
  for (int i = 0; i < CONFIG_COUNT; i++) {
    if (strcmp(variables[i], name) == 0) return true;
  }
  return is_foreign(name);
}

static void warn_unknown(void) {
  for (char **entry = environ; entry && *entry; entry++) {
    char name[64];
    size_t length = strcspn(*entry, "=");
    if (strncmp(*entry, "LUHIP_", 6) != 0 || length >= sizeof name) continue;
    memcpy(name, *entry, length);
    name[length] = '\0';
    if (is_known(name)) continue;
    const char *near = nearest_name(name, variables);
    if (near)
      log_warning("the environment variable %s means nothing to luhip; did you mean %s?", name, near);
    else
      log_warning("the environment variable %s means nothing to luhip", name);
  }
}

luhip_status config_check(luhip_error **error) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, warn_unknown);
  for (int i = 0; i < CONFIG_COUNT; i++) {
    const char *text = getenv(variables[i]);
    uint64_t number;
    if (!text || !*text || parse(&settings[i], text, &number)) continue;
    return tell_wrong(&settings[i], text, variables[i], error);
  }
  return apply_logs(error);
}

/* ---- the public face ------------------------------------------------------------------------------------------------ */

size_t luhip_settings(luhip_setting *list, size_t max) {
  for (size_t i = 0; i < CONFIG_COUNT && i < max; i++) {
    list[i] = settings[i].shown;
    list[i].type = type_names[settings[i].type];
  }
  return CONFIG_COUNT;
}

luhip_status luhip_config_set(const char *key, const char *value, luhip_error **error) {
  return config_set(CONFIG_PROGRAM, key, value, NULL, error);
}

luhip_status luhip_config_get(const char *key, char **value, char **origin, luhip_error **error) {
  enum config_id id = CONFIG_COUNT;
  struct config_value found;
  luhip_status status = find_key(key, NULL, &id, error);
  if (status) return status;
  config_find(id, &found);
  char *text = value ? strdup(found.text) : NULL, *from = origin ? strdup(found.origin) : NULL;
  if ((value && !text) || (origin && !from)) {
    free(text);
    free(from);
    return error_set(error, LUHIP_E_MEMORY, "the host has no memory for a setting");
  }
  if (value) *value = text;
  if (origin) *origin = from;
  return LUHIP_OK;
}
