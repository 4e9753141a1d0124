/*
 * explorer.h - a search of a space guided by a surrogate: which configuration to try next, given what others cost.
 *
 * A few configurations are drawn at random. Then a pool of candidates is kept: random ones, the neighbours of the best,
 * and good ones in which a group of axes is set to what the model likes best, one other digit being drawn anew two times
 * of three. The one with the lowest confidence bound is next. Each candidate costs less than a microsecond, whatever the
 * space's size. Equal seeds and costs give equal searches, on every machine. One thread at a time.
 */
#ifndef LUHIP_TUNE_EXPLORER_H
#define LUHIP_TUNE_EXPLORER_H

#include <stdbool.h>
#include <stdint.h>

struct explorer;
struct tune_space;

/* The space is borrowed, and built. NULL: no memory. */
struct explorer *explorer_new(const struct tune_space *space, uint64_t seed, uint32_t first);
void explorer_free(struct explorer *e);

/* The next configuration to try, each at most once. caution: how many deviations an uncertain candidate is given; not a
   number: the expected improvement decides. false: there is none left, or no memory. */
bool explorer_next(struct explorer *e, double caution, uint64_t *index);
/* What a configuration cost, proposed here or not; see surrogate_add. It is not proposed again. */
bool explorer_tell(struct explorer *e, uint64_t index, double cost);

#endif
