/*
 * cache_folder.c - where this user's cached files go.
 */
#include "base/cache_folder.h"

#include <stdlib.h>
#include <string.h>

/* An absolute path out of the environment; relative ones are not followed. */
static const char *environment_path(const char *name) {
  const char *value = getenv(name);
  return value && value[0] == '/' ? value : NULL;
}

void cache_folder(struct text *path) {
  const char *off = getenv("LUHIP_CACHE"), *own = getenv("LUHIP_CACHE_DIR"), *base;
  if (off && (strcmp(off, "off") == 0 || strcmp(off, "0") == 0)) return;
  if (own && *own)
    text_add(path, own);
  else if ((base = environment_path("XDG_CACHE_HOME")) != NULL)
    text_printf(path, "%s/luhip", base);
  else if ((base = environment_path("HOME")) != NULL)
    text_printf(path, "%s/.cache/luhip", base);
}
