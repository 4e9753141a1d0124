/*
 * journal.c - core.journal: files of records with checksums, for luhip.tune.store. See tune/journal.h.
 */
#include <errno.h>
#include <string.h>

#include "lua/json.h"
#include "tune/journal.h"

struct lb_journal {
  struct journal *journal; /* NULL: closed */
};

/* The path is the last word of the sentence before the reason. */
static int failed(lua_State *L, int error, const char *what, const struct lb_journal *j) {
  return lb_raise(L, LUHIP_E_FILE, "cannot %s %s: %s", what, journal_path(j->journal), strerror(error));
}

static struct lb_journal *check_journal(lua_State *L) {
  struct lb_journal *j = lb_check(L, 1, LB_JOURNAL);
  if (!j->journal) lb_argument(L, 1, LUHIP_E_FREED, "the journal is closed");
  return j;
}

/* core.journal(path) -> journal: made when it is missing */
int lb_make_journal(lua_State *L) {
  const char *path = lb_check_text(L, 1, "path");
  struct lb_journal *j = lb_new(L, LB_JOURNAL, sizeof *j, 0);
  int error = journal_open(path, &j->journal);
  if (error) return lb_raise(L, LUHIP_E_FILE, "cannot open %s: %s", path, strerror(error));
  return 1;
}

/* journal:append(record) */
static int journal_add(lua_State *L) {
  struct lb_journal *j = check_journal(L);
  size_t bytes;
  const char *record = lb_check_string(L, 2, "record", &bytes);
  int error = journal_append(j->journal, record, bytes);
  return error ? failed(L, error, "append a record to", j) : 0;
}

/* journal:sync(): what was appended survives the machine */
static int journal_flush(lua_State *L) {
  struct lb_journal *j = check_journal(L);
  int error = journal_sync(j->journal);
  return error && error != EINVAL ? failed(L, error, "write to the disk", j) : 0; /* EINVAL: a pipe, a device */
}

/* journal:lock(): nobody appends until journal:unlock(); what is renamed to its name meanwhile replaces it */
static int journal_hold(lua_State *L) {
  struct lb_journal *j = check_journal(L);
  int error = journal_lock(j->journal);
  return error ? failed(L, error, "lock", j) : 0;
}

static int journal_release(lua_State *L) {
  journal_unlock(check_journal(L)->journal);
  return 0;
}

static int journal_free(lua_State *L) {
  struct lb_journal *j = lb_check(L, 1, LB_JOURNAL);
  struct journal *journal = j->journal;
  j->journal = NULL;
  journal_close(journal);
  return 0;
}

void lb_open_journal(lua_State *L) {
  static const luaL_Reg methods[] = {{"append", journal_add},
                                     {"sync", journal_flush},
                                     {"lock", journal_hold},
                                     {"unlock", journal_release},
                                     {"close", journal_free},
                                     {"free", journal_free},
                                     {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", journal_free}, {"__close", journal_free}, {NULL, NULL}};
  lb_class_register(L, LB_JOURNAL, &(struct lb_class_functions){methods, NULL, meta});
}
