/*
 * cache_folder.h - where this user's cached files go.
 */
#ifndef LUHIP_BASE_CACHE_FOLDER_H
#define LUHIP_BASE_CACHE_FOLDER_H

#include "base/text.h"

/* The setting cache.folder, else $XDG_CACHE_HOME/luhip, else ~/.cache/luhip is added to the path, and nothing when
   cache.enabled is off, or when there is no such place. The folder need not exist. */
void cache_folder(struct text *path);

#endif
