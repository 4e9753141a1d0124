/*
 * cache_folder.c - where this user's cached files go.
 */
#include "base/cache_folder.h"

#include "base/config.h"

#include <stdlib.h>

/* An absolute path out of the environment; relative ones are not followed. */
static const char *environment_path(const char *name) {
  const char *value = getenv(name);
  return value && value[0] == '/' ? value : NULL;
}

void cache_folder(struct text *path) {
  struct config_value own;
  const char *base;
  if (!config_is_on(CONFIG_CACHE)) return;
  config_find(CONFIG_CACHE_FOLDER, &own);
  if (own.text[0])
    text_add(path, own.text);
  else if ((base = environment_path("XDG_CACHE_HOME")) != NULL)
    text_printf(path, "%s/luhip", base);
  else if ((base = environment_path("HOME")) != NULL)
    text_printf(path, "%s/.cache/luhip", base);
}
