/*
 * nearest.h - the known name that a misspelt one most likely means, for messages.
 */
#ifndef LUHIP_BASE_NEAREST_H
#define LUHIP_BASE_NEAREST_H

/* Of a list that NULL ends; NULL when none is near enough to be worth naming. Letters' case does not count. */
const char *nearest_name(const char *name, const char *const *names);

#endif
