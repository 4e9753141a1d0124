/*
 * journal.h - a file of records that only grows: one line each, with a checksum, so that a cut anywhere loses at most the
 * record that was being written.
 *
 * A line is the record's CRC-32 (that of zip and gzip) as 8 hexadecimal digits, a space, the record and a newline; lines of
 * earlier versions have 16 digits of its BLAKE2b hash instead. Each is appended by a single write to a descriptor in append mode, under flock, so any number of processes may append. A line that somebody left
 * without its end is ended first. What the write call took survives the end of the process; only journal_sync makes it
 * survive the machine's.
 */
#ifndef LUHIP_TUNE_JOURNAL_H
#define LUHIP_TUNE_JOURNAL_H

#include <stddef.h>

struct journal;

/* Results are 0 or an errno value. The file is made when it is missing. */
int journal_open(const char *path, struct journal **journal);
/* The record has no newline in it. On an error the file is what it was, as far as that can be had. */
int journal_append(struct journal *journal, const char *record, size_t bytes);
int journal_sync(struct journal *journal);
/* Nobody appends until it is unlocked, this journal neither. Whoever renames another file to the journal's name meanwhile
   replaces it: those who wait, and those who come later, append to that one. */
int journal_lock(struct journal *journal);
void journal_unlock(struct journal *journal);
void journal_close(struct journal *journal);
/* What it was opened with; valid until it is closed. */
const char *journal_path(const struct journal *journal);

enum journal_line { JOURNAL_RECORD, JOURNAL_DAMAGED, JOURNAL_END };
/* The next line of a journal's text; moves *at behind it. Empty lines are passed over. A last line without its newline is
   a record when the checksum says so. */
enum journal_line journal_next(const char **at, const char *end, const char **record, size_t *bytes);

#endif
