/*
 * cache_folder.h - where this user's cached files go.
 */
#ifndef LUHIP_BASE_CACHE_FOLDER_H
#define LUHIP_BASE_CACHE_FOLDER_H

#include "base/text.h"

/* $LUHIP_CACHE_DIR, else $XDG_CACHE_HOME/luhip, else ~/.cache/luhip is added to the path, and nothing when
   LUHIP_CACHE is "off" or "0", or when there is no such place. The folder need not exist. */
void cache_folder(struct text *path);

#endif
