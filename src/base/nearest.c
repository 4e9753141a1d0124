/*
 * nearest.c - edit distance between short names (Levenshtein's, one row at a time).
 */
#include "base/nearest.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { LONGEST_NAME = 31 };

static int smaller(int a, int b) {
  return a < b ? a : b;
}

/* How many letters to insert, delete or replace. Both names are at most LONGEST_NAME long. */
static int edit_distance(const char *a, const char *b) {
  int row[LONGEST_NAME + 1];
  int width = (int)strlen(b);
  for (int j = 0; j <= width; j++) row[j] = j;
  for (int i = 1; a[i - 1]; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= width; j++) {
      int cost = tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]);
      int best = smaller(smaller(row[j], row[j - 1]) + 1, diagonal + cost);
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[width];
}

/* A third of the name or two of its letters may differ, but not all of them. */
static int allowed_distance(const char *name) {
  int letters = 0;
  for (const char *c = name; *c; c++) letters += isalnum((unsigned char)*c) != 0;
  int part = (int)strlen(name) / 3;
  return smaller(part > 2 ? part : 2, letters - 1);
}

const char *nearest_name(const char *name, const char *const *names) {
  const char *found = NULL;
  int least = allowed_distance(name);
  if (strlen(name) > LONGEST_NAME) return NULL;
  for (; *names; names++) {
    if (strlen(*names) > LONGEST_NAME) continue;
    int distance = edit_distance(name, *names);
    if (distance > least || (found && distance == least)) continue;
    least = distance;
    found = *names;
  }
  return found;
}
