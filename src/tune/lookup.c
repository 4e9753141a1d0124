/*
 * lookup.c - configurations by index, indices of configurations, neighbours. See space.h; layout.h has the fields.
 *
 * Rows of a group lie in the order of memcmp, so what begins with the same digits is one range of rows, which shrinks
 * by binary search as more digits are fixed.
 */
#include <stdlib.h>
#include <string.h>

#include "tune/layout.h"

enum { KEY_BYTES = 128 };

struct range {
  uint64_t first, behind;
};

static uint32_t digit_at(const struct tune_group *g, uint64_t row, uint32_t column) {
  const uint8_t *at = g->rows + row * g->row_bytes + (size_t)column * g->width;
  uint32_t digit = 0;
  for (uint32_t b = 0; b < g->width; b++) digit = digit << 8 | at[b];
  return digit;
}

/* The first row of the range whose digit in the column is at least this; they ascend where all before is the same. */
static uint64_t lower(const struct tune_group *g, struct range range, uint32_t column, uint64_t digit) {
  while (range.first < range.behind) {
    uint64_t middle = range.first + (range.behind - range.first) / 2;
    if (digit_at(g, middle, column) < digit)
      range.first = middle + 1;
    else
      range.behind = middle;
  }
  return range.first;
}

static struct range narrow(const struct tune_group *g, struct range range, uint32_t column, uint32_t digit) {
  uint64_t first = lower(g, range, column, digit);
  uint64_t behind = lower(g, (struct range){first, range.behind}, column, (uint64_t)digit + 1);
  return (struct range){first, behind};
}

/* ---- one configuration ------------------------------------------------------------------------------------------- */

uint64_t tune_space_count(const struct tune_space *s) {
  return s->count;
}

uint32_t tune_space_axes(const struct tune_space *s) {
  return s->axis_count;
}

uint32_t tune_space_values(const struct tune_space *s, uint32_t axis, const struct tune_value **values) {
  *values = s->axes[axis].values;
  return s->axes[axis].count;
}

size_t tune_space_bytes(const struct tune_space *s) {
  size_t bytes = sizeof *s;
  for (uint32_t i = 0; i < s->group_count; i++) bytes += (size_t)s->groups[i].capacity * s->groups[i].row_bytes;
  for (uint32_t i = 0; i < s->axis_count; i++) bytes += s->axes[i].count * sizeof *s->axes[i].values;
  return bytes;
}

static void row_digits(const struct tune_group *g, uint64_t row, uint32_t *digits) {
  if (g->width == 0) {
    digits[g->axes[0]] = (uint32_t)row;
    return;
  }
  const uint8_t *bytes = g->rows + row * g->row_bytes;
  for (uint32_t i = 0; g->width == 1 && i < g->count; i++) digits[g->axes[i]] = bytes[i];
  if (g->width == 1) return;
  for (uint32_t i = 0; i < g->count; i++) digits[g->axes[i]] = digit_at(g, row, i);
}

void tune_space_nth(const struct tune_space *s, uint64_t index, uint32_t *digits) {
  for (uint32_t i = 0; i < s->group_count; i++) {
    const struct tune_group *g = &s->groups[i];
    row_digits(g, index / g->stride, digits);
    index %= g->stride;
  }
}

/* The first bytes of a row, up to eight, as a number: the order of numbers is that of memcmp. */
static inline uint64_t head_of(const uint8_t *row, size_t bytes) {
  uint64_t head;
  memcpy(&head, row, sizeof head);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  head = __builtin_bswap64(head);
#endif
  return bytes < sizeof head ? head >> 8 * (sizeof head - bytes) : head;
}

/* The digits as a row; false: one of them is none, and might be cut to one that is there. */
static bool make_key(const struct tune_space *s, const struct tune_group *g, const uint32_t *digits, uint8_t *key) {
  for (uint32_t i = 0; i < g->count; i++) {
    uint32_t digit = digits[g->axes[i]];
    if (digit >= s->axes[g->axes[i]].count) return false;
    if (g->width == 1) {
      key[i] = (uint8_t)digit;
      continue;
    }
    for (uint32_t b = g->width; b-- > 0;) *key++ = (uint8_t)(digit >> (8 * b));
  }
  return true;
}

/* The first row that is not before the key, by the heads, and where `whole` is set by what is behind them. */
static inline __attribute__((always_inline)) uint64_t first_row(const struct tune_group *g, const uint8_t *key,
                                                                size_t bytes, bool whole) {
  uint64_t first = 0, head = head_of(key, bytes);
  for (uint64_t n = g->valid; n > 0;) {
    uint64_t half = n / 2;
    const uint8_t *row = g->rows + (first + half) * bytes;
    uint64_t own = head_of(row, bytes);
    bool less = own < head;
    if (whole && own == head) less = memcmp(row + sizeof own, key + sizeof own, bytes - sizeof own) < 0;
    first = less ? first + half + 1 : first;
    n = less ? n - half - 1 : half;
  }
  return first;
}

/* The row with these digits among all of a group, whose row_bytes are KEY_BYTES at most. */
static bool find_key(const struct tune_space *s, const struct tune_group *g, const uint32_t *digits, uint64_t *row) {
  uint8_t key[KEY_BYTES + TUNE_SLACK] = {0};
  size_t bytes = g->row_bytes;
  if (!make_key(s, g, digits, key)) return false;
  *row = bytes > sizeof(uint64_t) ? first_row(g, key, bytes, true) : first_row(g, key, bytes, false);
  return *row < g->valid && memcmp(g->rows + *row * bytes, key, bytes) == 0;
}

/* The row with these digits within a range that agrees up to `column`. */
static bool find_row(const struct tune_group *g, const uint32_t *digits, struct range range, uint32_t column,
                     uint64_t *row) {
  if (g->width == 0) {
    *row = digits[g->axes[0]];
    return *row < g->valid;
  }
  for (; column < g->count && range.first < range.behind; column++)
    range = narrow(g, range, column, digits[g->axes[column]]);
  *row = range.first;
  return range.first < range.behind;
}

static struct range all_rows(const struct tune_group *g) {
  return (struct range){0, g->valid};
}

bool tune_space_find(const struct tune_space *s, const uint32_t *digits, uint64_t *index) {
  uint64_t sum = 0, row;
  for (uint32_t i = 0; i < s->group_count; i++) {
    const struct tune_group *g = &s->groups[i];
    bool keyed = g->width > 0 && g->row_bytes <= KEY_BYTES;
    if (!(keyed ? find_key(s, g, digits, &row) : find_row(g, digits, all_rows(g), 0, &row))) return false;
    sum += row * g->stride;
  }
  *index = sum;
  return true;
}

/* ---- neighbours -------------------------------------------------------------------------------------------------- */

struct list {
  uint64_t *items;
  uint64_t count, capacity, most;
};

static bool list_add(struct list *list, uint64_t item) {
  if (list->count == list->most) {
    list->count++; /* says that there are more */
    return false;
  }
  if (list->count == list->capacity) {
    uint64_t capacity = list->capacity ? list->capacity * 2 : 64;
    uint64_t *items = realloc(list->items, capacity * sizeof *items);
    if (!items) return false;
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = item;
  return true;
}

/* Rows of the group that differ from the digits in one column. */
static bool near_rows(const struct tune_space *s, const struct tune_group *g, uint32_t *digits, bool strict,
                      struct list *rows) {
  struct range range = all_rows(g);
  for (uint32_t column = 0; column < g->count; column++) {
    uint32_t axis = g->axes[column], own = digits[axis], count = s->axes[axis].count;
    uint32_t from = strict && own > 0 ? own - 1 : 0, to = strict && own + 1 < count ? own + 2 : count;
    for (uint32_t digit = from; digit < to; digit++) {
      uint64_t row;
      digits[axis] = digit;
      bool found = digit != own && find_row(g, digits, range, column, &row);
      if (found && !list_add(rows, row)) {
        digits[axis] = own;
        return false;
      }
    }
    digits[axis] = own;
    if (g->width) range = narrow(g, range, column, own);
  }
  return true;
}

/* Rows that differ by one value at most in every column, the own row included, in order. */
static bool adjacent_rows(const struct tune_space *s, const struct tune_group *g, const uint32_t *digits,
                          struct range range, uint32_t column, struct list *rows) {
  if (column == g->count) return list_add(rows, range.first);
  uint32_t axis = g->axes[column], own = digits[axis];
  for (uint32_t digit = own > 0 ? own - 1 : 0; digit <= own + 1 && digit < s->axes[axis].count; digit++) {
    struct range part = g->width ? narrow(g, range, column, digit) : (struct range){digit, (uint64_t)digit + 1};
    if (part.first < part.behind && !adjacent_rows(s, g, digits, part, column + 1, rows)) return false;
  }
  return true;
}

static int order(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* One group differs, and the others' rows must be there as they are. */
static bool one_group(const struct tune_space *s, uint32_t *digits, bool strict, struct list *list) {
  uint32_t lost = 0, only = 0;
  uint64_t sum = 0, row;
  for (uint32_t i = 0; i < s->group_count; i++) {
    if (find_row(&s->groups[i], digits, all_rows(&s->groups[i]), 0, &row))
      sum += row * s->groups[i].stride;
    else
      lost++, only = i;
  }
  for (uint32_t i = 0; i < s->group_count && lost < 2; i++) {
    const struct tune_group *g = &s->groups[i];
    if (lost == 1 && i != only) continue;
    uint64_t from = list->count;
    uint64_t own = find_row(g, digits, all_rows(g), 0, &row) ? row : 0;
    if (!near_rows(s, g, digits, strict, list)) return false;
    for (uint64_t k = from; k < list->count; k++) list->items[k] = sum + (list->items[k] - own) * g->stride;
  }
  return true;
}

/* Every index so far with every row of the next group. */
static bool multiply(struct list *list, const struct list *rows, uint64_t stride) {
  struct list product = {.most = list->most};
  for (uint64_t i = 0; i < list->count; i++) {
    for (uint64_t k = 0; k < rows->count; k++) {
      if (list_add(&product, list->items[i] + rows->items[k] * stride)) continue;
      free(product.items);
      list->count = product.count;
      return false;
    }
  }
  free(list->items);
  *list = product;
  return true;
}

static bool all_groups(const struct tune_space *s, const uint32_t *digits, struct list *list) {
  bool ok = list_add(list, 0);
  for (uint32_t i = 0; ok && i < s->group_count; i++) {
    const struct tune_group *g = &s->groups[i];
    struct list rows = {.most = list->most};
    ok = adjacent_rows(s, g, digits, all_rows(g), 0, &rows);
    if (!ok) list->count = rows.count;
    ok = ok && multiply(list, &rows, g->stride);
    free(rows.items);
  }
  return ok;
}

static void drop(struct list *list, uint64_t item) {
  for (uint64_t i = 0; i < list->count; i++) {
    if (list->items[i] != item) continue;
    memmove(&list->items[i], &list->items[i + 1], (list->count - i - 1) * sizeof item);
    list->count--;
    return;
  }
}

bool tune_space_near(const struct tune_space *s, const uint32_t *given, enum tune_near kind, uint64_t most,
                     uint64_t **items, uint64_t *count) {
  struct list list = {.most = most};
  uint64_t own;
  uint32_t *digits = malloc(s->axis_count * sizeof *digits);
  bool ok = digits != NULL;
  if (ok) {
    memcpy(digits, given, s->axis_count * sizeof *digits);
    ok = kind == TUNE_ADJACENT ? all_groups(s, digits, &list) : one_group(s, digits, kind == TUNE_STRICT, &list);
  }
  *count = list.count;
  if (ok && kind == TUNE_ADJACENT && tune_space_find(s, digits, &own)) drop(&list, own);
  if (ok && list.count > 0) qsort(list.items, list.count, sizeof *list.items, order);
  free(digits);
  if (!ok) {
    free(list.items);
    return false;
  }
  *items = list.items;
  *count = list.count;
  return true;
}
