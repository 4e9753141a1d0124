/*
 * file.h - whole files, read and written safely. Results are 0 or an errno value.
 */
#ifndef LUHIP_BASE_FILE_H
#define LUHIP_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct file_content {
  char *data; /* malloc'ed, one NUL after the last byte */
  size_t bytes;
};

/* Any regular file. */
int file_read(const char *path, struct file_content *content);
/* A regular file in `folder` (not a link) that belongs to this user and that only they may write; EPERM
   otherwise. The test and the read are of the same open file. */
int file_read_own(int folder, const char *name, struct file_content *content);
/* Writes under a temporary name in `folder` (mode 0600) and renames: a reader sees the whole or nothing. */
int file_replace(int folder, const char *name, const void *data, size_t bytes);

/* Writes a file of the user's. A regular one, or one that is not there, is replaced at once where its folder allows it;
   links, devices and pipes are written through. What the system says late, at the close, is an error too. */
int file_write(const char *path, const void *data, size_t bytes);

/* Makes every folder of the path that is missing; ones that exist are left as they are. */
int file_make_folders(const char *path, mode_t mode);

/* Opens a folder that belongs to this user and that only they may write, making it and what is above it
   (mode 0700) when it is missing. EPERM: it is there but not safe. Gives a descriptor. */
int file_open_own_folder(const char *path, int *folder);
/* Absolute, by the working directory; NULL when memory runs out. The caller frees it. */
char *file_absolute(const char *path);

#endif
