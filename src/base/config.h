/*
 * config.h - the values of the settings (L1).
 *
 * Five layers, the later one winning: what is built in, the user's file, luhip.conf.lua, the environment, what the
 * program sets. The environment is read here, at each look; the two files are Lua's to read (lua/luhip/config.lua),
 * which hands their values over. Any thread.
 */
#ifndef LUHIP_BASE_CONFIG_H
#define LUHIP_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/settings.h"
#include "luhip.h"

enum config_id {
#define X(ID, key, variable, type, low, high, standard, own, wanted, meaning) CONFIG_##ID,
  CONFIG_SETTINGS(X)
#undef X
      CONFIG_COUNT
};

enum config_layer { CONFIG_DEFAULT, CONFIG_USER, CONFIG_PROJECT, CONFIG_ENVIRONMENT, CONFIG_PROGRAM, CONFIG_LAYERS };

struct config_value {
  enum config_layer layer;
  char text[4096];   /* "": not set and nothing built in */
  char origin[4096]; /* "LUHIP_TIMEOUT", "/home/a/.config/luhip/config.lua: timeout" */
};

void config_find(enum config_id id, struct config_value *value);
/* COUNT, MILLISECONDS, SIZE, SWITCH (0 or 1), LEVEL (0 to 2), POLICY (as luhip_persistent_policy); not written where nothing is set. E_CONFIG names the
   origin, the value and what is wanted. */
luhip_status config_number(enum config_id id, uint64_t *number, luhip_error **error);
/* A wrong value counts as the built-in one: luhip_open has refused it. */
bool config_is_on(enum config_id id);

/* Sets a value of a layer, NULL: takes it away. `origin` is for messages; NULL: the key. E_CONFIG for a wrong key or
   value, and then nothing is changed. */
luhip_status config_set(enum config_layer layer, const char *key, const char *text, const char *origin,
                        luhip_error **error);
/* The same, but only looks whether it would be accepted. */
luhip_status config_try(enum config_layer layer, const char *key, const char *text, const char *origin,
                        luhip_error **error);
/* From now on what is set for this one comes too late: config_set of another value says so. */
void config_freeze(enum config_id id);
/* Looks at all of the environment: E_CONFIG for the first wrong value, a warning for a LUHIP_ variable that is none. Sets
   the loggers going. What every open of a device begins with. */
luhip_status config_check(luhip_error **error);

#endif
