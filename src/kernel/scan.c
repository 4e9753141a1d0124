/*
 * scan.c - one pass over the tokens of a source, with a stack of what the braces opened.
 *
 * At namespace scope the tokens of the current statement are kept; its `{` decides what it opens: a namespace,
 * an extern "C" block, a kernel's body, or something else, whose content is only counted through. A `}` closes.
 *
 * #if/#else may unbalance the braces (two headers, one body), so a conditional remembers the whole state at #if and
 * every #else or #elif goes on from there; after #endif the last branch's state holds. To make remembering free
 * the stack and the statement are linked lists that only grow at their heads: a state is three words. All nodes live
 * in an arena until the scan ends.
 */
#include "kernel/scan.h"
#include "kernel/bounds.h"
#include "kernel/declarator.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum scope_kind { SCOPE_NAMESPACE, SCOPE_LINKAGE, SCOPE_KERNEL, SCOPE_OTHER };

struct scope {
  const struct scope *parent; /* NULL: opened at the top */
  enum scope_kind kind;
  bool c_linkage;    /* of what is declared here */
  const char *name;  /* of a namespace: "a::b", "" when unnamed or inline; in the arena */
  size_t kernel;     /* SCOPE_KERNEL */
  size_t name_bytes; /* of this and all outer names */
};

/* What #else goes back to. */
struct state {
  const struct scope *scope;
  const struct statement_token *last;
  size_t depth; /* open brackets in the statement */
};

struct conditional {
  struct state at_if;
  bool skipping;       /* this branch is left out */
  bool outer_skipping; /* so is all of it */
  bool taken;          /* #if 1: later branches are left out */
};

struct arena_chunk {
  struct arena_chunk *next;
  size_t used, size;
};

enum { CHUNK_BYTES = 64 * 1024, MAX_ALIASES = 16, MAX_STATEMENT = 4096, MAX_NAME = 2048 };

/* An object-like macro whose body contains __global__. */
struct alias {
  struct lex_token name;
  const char *bounds; /* in the arena; NULL: none */
  bool c_linkage;
};

struct scanner {
  struct scan *scan;
  const char *text;
  struct state state;
  struct conditional *conditionals;
  size_t nconditionals, conditional_capacity, kernel_capacity;
  struct arena_chunk *chunks;
  struct alias aliases[MAX_ALIASES];
  size_t naliases;
};

static void *arena_get(struct scanner *s, size_t bytes) {
  bytes = (bytes + 15) & ~(size_t)15;
  size_t head = (sizeof(struct arena_chunk) + 15) & ~(size_t)15;
  if (!s->chunks || s->chunks->size - s->chunks->used < bytes) {
    size_t size = head + (bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES);
    struct arena_chunk *chunk = malloc(size);
    if (!chunk) {
      s->scan->failed = true;
      return NULL;
    }
    *chunk = (struct arena_chunk){.next = s->chunks, .used = head, .size = size};
    s->chunks = chunk;
  }
  void *memory = (char *)s->chunks + s->chunks->used;
  s->chunks->used += bytes;
  return memory;
}

static void arena_free(struct scanner *s) {
  while (s->chunks) {
    struct arena_chunk *next = s->chunks->next;
    free(s->chunks);
    s->chunks = next;
  }
}

/* ---- kernels and the words that make one ------------------------------------------------------------------------ */

static const struct alias *find_alias(const struct scanner *s, struct lex_token word) {
  for (size_t i = 0; i < s->naliases; i++)
    if (lex_same(word, s->aliases[i].name)) return &s->aliases[i];
  return NULL;
}

/* 0: an ordinary word; 1: __global__; 2: a macro for extern "C" __global__. */
static int global_word(const struct scanner *s, struct lex_token word) {
  if (lex_is(word, "__global__")) return 1;
  const struct alias *alias = find_alias(s, word);
  return alias ? 1 + alias->c_linkage : 0;
}

static bool is_namespace_like(const struct scope *scope) {
  return !scope || scope->kind == SCOPE_NAMESPACE || scope->kind == SCOPE_LINKAGE;
}

static void scope_push(struct scanner *s, enum scope_kind kind, bool c_linkage, const char *name, size_t kernel) {
  struct scope *scope = arena_get(s, sizeof *scope);
  if (scope) {
    size_t outer = s->state.scope ? s->state.scope->name_bytes : 0;
    *scope = (struct scope){s->state.scope, kind, c_linkage, name, kernel, outer + strlen(name)};
    s->state.scope = scope;
  }
  s->state.last = NULL;
  s->state.depth = 0;
}

static void scope_pop(struct scanner *s, struct lex_token brace) {
  const struct scope *scope = s->state.scope;
  s->state.last = NULL;
  if (!scope) return; /* one brace too many: what follows is read as top level again */
  if (scope->kind == SCOPE_KERNEL) s->scan->kernels[scope->kernel].end = (size_t)(brace.end - s->text);
  s->state.scope = scope->parent;
}

/* Outer namespaces first. */
static void add_scope_names(struct text *name, const struct scope *scope) {
  size_t n = 0;
  for (const struct scope *at = scope; at; at = at->parent) n += at->kind == SCOPE_NAMESPACE && *at->name;
  const char **names = n ? malloc(n * sizeof *names) : NULL;
  if (n && !names) {
    name->failed = true;
    return;
  }
  size_t i = n;
  for (const struct scope *at = scope; at; at = at->parent)
    if (at->kind == SCOPE_NAMESPACE && *at->name) names[--i] = at->name;
  for (; i < n; i++) {
    text_add(name, names[i]);
    text_add(name, "::");
  }
  free(names);
}

static struct scan_kernel *new_kernel(struct scanner *s) {
  struct scan *scan = s->scan;
  if (scan->nkernels == s->kernel_capacity) {
    size_t capacity = s->kernel_capacity ? 2 * s->kernel_capacity : 8;
    struct scan_kernel *kernels = realloc(scan->kernels, capacity * sizeof *kernels);
    if (!kernels) {
      scan->failed = true;
      return NULL;
    }
    scan->kernels = kernels;
    s->kernel_capacity = capacity;
  }
  struct scan_kernel *kernel = &scan->kernels[scan->nkernels];
  *kernel = (struct scan_kernel){.end = SCAN_NO_END};
  return kernel;
}

/* Notes the kernel's launch bounds. A `#` in the declaration is a directive: which of its lines count is not known. */
static void note_bounds(struct scanner *s, const struct lex_token *tokens, size_t n, const struct declarator *d,
                        struct scan_kernel *kernel) {
  struct bounds bounds = {0};
  struct text head = {0};
  for (size_t i = 0; i < n; i++) bounds_take(&bounds, tokens[i]);
  for (size_t i = 0; i < n && !bounds.done; i++) {
    const struct alias *alias = tokens[i].kind == LEX_WORD ? find_alias(s, tokens[i]) : NULL;
    if (!alias || !alias->bounds) continue;
    text_add(&bounds.text, alias->bounds);
    bounds.done = true;
  }
  if (bounds.done && bounds.text.length && !memchr(tokens[0].begin, '#', (size_t)(tokens[n - 1].end - tokens[0].begin)))
    kernel->bounds = text_take(&bounds.text);
  s->scan->failed |= bounds.text.failed;
  text_free(&bounds.text);
  bounds_head(tokens, d, &head);
  kernel->head = text_take(&head);
}

/* The statement before a `{` contains __global__: a kernel's definition, or hidden. */
static void open_kernel(struct scanner *s, const struct lex_token *tokens, size_t n) {
  struct declarator d;
  const struct scope *scope = s->state.scope;
  bool fits = !scope || scope->name_bytes <= MAX_NAME;
  struct scan_kernel *kernel = fits && declarator_find(tokens, n, &d) ? new_kernel(s) : NULL;
  if (!kernel) {
    s->scan->hidden = true;
    scope_push(s, SCOPE_OTHER, false, "", 0);
    return;
  }
  bool c_linkage = d.c_linkage || (scope && scope->c_linkage);
  for (size_t i = 0; i < n; i++) c_linkage |= tokens[i].kind == LEX_WORD && global_word(s, tokens[i]) == 2;
  struct text local = {0}, name = {0};
  declarator_name(tokens, &d, &local);
  add_scope_names(&name, scope);
  text_append(&name, local.data ? local.data : "", local.length);
  kernel->local = text_take(&local);
  kernel->name = text_take(&name);
  kernel->is_template = d.is_template;
  kernel->c_linkage = c_linkage && !d.is_template;
  note_bounds(s, tokens, n, &d, kernel);
  bool ok = declarator_params(tokens, &d, kernel) && kernel->local && kernel->name && kernel->head;
  s->scan->failed |= !ok;
  scope_push(s, SCOPE_KERNEL, false, "", s->scan->nkernels++);
}

/* namespace a::inline b [[...]] { : the names, inline ones left out. Index is that of the word `namespace`. */
static void open_namespace(struct scanner *s, const struct lex_token *tokens, size_t n, size_t index) {
  struct text name = {0};
  bool is_inline = index > 0 && lex_is(tokens[index - 1], "inline");
  for (size_t i = index + 1; i < n; i++) {
    if (tokens[i].kind == LEX_WORD && lex_is(tokens[i], "inline"))
      is_inline = true;
    else if (tokens[i].kind == LEX_WORD && i + 1 < n && lex_is(tokens[i + 1], "("))
      i = declarator_skip(tokens, n, i + 1); /* __attribute__((...)) */
    else if (lex_is(tokens[i], "["))
      i = declarator_skip(tokens, n, i);
    else if (tokens[i].kind == LEX_WORD && is_inline)
      is_inline = false;
    else if (tokens[i].kind == LEX_WORD) {
      if (name.length) text_add(&name, "::");
      declarator_add_word(&name, tokens[i]);
    }
  }
  char *kept = arena_get(s, name.length + 1);
  if (kept) memcpy(kept, name.data ? name.data : "", name.length + 1);
  s->scan->failed |= name.failed;
  text_free(&name);
  scope_push(s, SCOPE_NAMESPACE, s->state.scope && s->state.scope->c_linkage, kept ? kept : "", 0);
}

/* A `{` at namespace scope, outside brackets: the statement so far tells what it opens. Only its end is looked at
   when it is very long (a file of macro calls without semicolons), which also bounds what #else can repeat. */
static void open_brace(struct scanner *s) {
  size_t n = 0;
  for (const struct statement_token *t = s->state.last; t && n < MAX_STATEMENT; t = t->previous) n++;
  struct lex_token *tokens = malloc((n + 1) * sizeof *tokens);
  if (!tokens) {
    s->scan->failed = true;
    return;
  }
  const struct statement_token *from = s->state.last;
  for (size_t i = n; i > 0; i--, from = from->previous) tokens[i - 1] = from->token;
  size_t space = n;
  bool global = false;
  for (size_t i = 0; i < n; i++) {
    global |= tokens[i].kind == LEX_WORD && global_word(s, tokens[i]);
    if (tokens[i].kind == LEX_WORD && lex_is(tokens[i], "namespace")) space = i;
  }
  if (space < n)
    open_namespace(s, tokens, n, space);
  else if (n >= 2 && tokens[n - 1].kind == LEX_STRING && lex_is(tokens[n - 2], "extern"))
    scope_push(s, SCOPE_LINKAGE, lex_is(tokens[n - 1], "\"C\""), "", 0);
  else if (global)
    open_kernel(s, tokens, n);
  else
    scope_push(s, SCOPE_OTHER, false, "", 0);
  free(tokens);
}

/* ---- tokens ----------------------------------------------------------------------------------------------------- */

static void statement_add(struct scanner *s, struct lex_token token) {
  struct statement_token *node = arena_get(s, sizeof *node);
  if (!node) return;
  *node = (struct statement_token){s->state.last, token};
  s->state.last = node;
}

static void take_in_namespace(struct scanner *s, struct lex_token token) {
  bool outside = s->state.depth == 0;
  if (outside && lex_is(token, "{"))
    open_brace(s);
  else if (outside && lex_is(token, "}"))
    scope_pop(s, token);
  else if (outside && lex_is(token, ";"))
    s->state.last = NULL;
  else {
    if (lex_is_open(token))
      s->state.depth++;
    else if (lex_is_close(token) && !outside)
      s->state.depth--;
    statement_add(s, token);
  }
}

/* Inside a body only braces matter; a __global__ there is nothing this scanner understands. */
static void take_in_body(struct scanner *s, struct lex_token token) {
  if (lex_is(token, "{"))
    scope_push(s, SCOPE_OTHER, false, "", 0);
  else if (lex_is(token, "}"))
    scope_pop(s, token);
  else if (token.kind == LEX_WORD && global_word(s, token))
    s->scan->hidden = true;
}

/* ---- directives ------------------------------------------------------------------------------------------------- */

static bool is_skipping(const struct scanner *s) {
  return s->nconditionals && s->conditionals[s->nconditionals - 1].skipping;
}

/* #if with a literal condition: 0 or 1; -1 for everything else. */
static int literal_condition(struct lexer *lexer) {
  struct lex_token value = lex_next(lexer);
  struct lex_token after = lex_next(lexer);
  if (after.kind != LEX_END) return -1;
  if (lex_is(value, "0") || lex_is(value, "false")) return 0;
  return lex_is(value, "1") || lex_is(value, "true") ? 1 : -1;
}

static void directive_if(struct scanner *s, int condition) {
  if (s->nconditionals == s->conditional_capacity) {
    size_t capacity = s->conditional_capacity ? 2 * s->conditional_capacity : 16;
    struct conditional *grown = realloc(s->conditionals, capacity * sizeof *grown);
    if (!grown) {
      s->scan->failed = true;
      return;
    }
    s->conditionals = grown;
    s->conditional_capacity = capacity;
  }
  bool outer = is_skipping(s);
  s->conditionals[s->nconditionals++] = (struct conditional){
      .at_if = s->state, .skipping = outer || condition == 0, .outer_skipping = outer, .taken = condition == 1};
}

static void directive_else(struct scanner *s) {
  if (!s->nconditionals) return;
  struct conditional *c = &s->conditionals[s->nconditionals - 1];
  c->skipping = c->outer_skipping || c->taken;
  if (!c->skipping) s->state = c->at_if;
}

static const char *keep_bounds(struct scanner *s, const struct bounds *bounds) {
  if (!bounds->done || !bounds->text.length) return NULL;
  char *kept = arena_get(s, bounds->text.length + 1);
  return kept ? memcpy(kept, bounds->text.data, bounds->text.length + 1) : NULL;
}

/* A macro whose body makes functions __global__: a plain one is another word for it, one with parameters can
   make whole kernels. */
static void directive_define(struct scanner *s, struct lexer *lexer) {
  struct lex_token name = lex_next(lexer);
  struct lex_token token = lex_next(lexer);
  bool with_parameters = lex_is(token, "(") && !lexer->spaced;
  int global = 0;
  bool c_linkage = false, after_extern = false;
  struct bounds bounds = {0};
  for (; token.kind != LEX_END; token = lex_next(lexer)) {
    if (token.kind == LEX_WORD && global_word(s, token) > global) global = global_word(s, token);
    c_linkage |= after_extern && lex_is(token, "\"C\"");
    after_extern = lex_is(token, "extern");
    bounds_take(&bounds, token);
    with_parameters |= lex_is(token, "{"); /* a body: a whole kernel */
  }
  if (global && !lex_is(name, "__global__")) {
    if (with_parameters || s->naliases == MAX_ALIASES)
      s->scan->hidden = true;
    else
      s->aliases[s->naliases++] = (struct alias){name, keep_bounds(s, &bounds), c_linkage || global == 2};
  }
  text_free(&bounds.text);
}

static void take_directive(struct scanner *s, struct lex_token directive) {
  struct lexer lexer;
  lex_start_inside(&lexer, directive);
  struct lex_token name = lex_next(&lexer);
  if (lex_is(name, "if"))
    directive_if(s, literal_condition(&lexer));
  else if (lex_is(name, "ifdef") || lex_is(name, "ifndef"))
    directive_if(s, -1);
  else if (lex_is(name, "else") || lex_is(name, "elif") || lex_is(name, "elifdef") || lex_is(name, "elifndef"))
    directive_else(s);
  else if (lex_is(name, "endif"))
    s->nconditionals -= s->nconditionals > 0;
  else if (lex_is(name, "define") && !is_skipping(s))
    directive_define(s, &lexer);
}

/* ---- the pass --------------------------------------------------------------------------------------------------- */

static void finish(struct scanner *s) {
  /* An unfinished statement or body with __global__ in it was not understood. */
  for (const struct statement_token *t = s->state.last; t; t = t->previous)
    s->scan->hidden |= t->token.kind == LEX_WORD && global_word(s, t->token) != 0;
}

void scan_source(const char *text, size_t length, struct scan *scan) {
  *scan = (struct scan){0};
  struct scanner s = {.scan = scan, .text = text};
  struct lexer lexer;
  lex_start(&lexer, text, length);
  for (struct lex_token t = lex_next(&lexer); t.kind != LEX_END && !scan->failed; t = lex_next(&lexer)) {
    if (t.kind == LEX_DIRECTIVE)
      take_directive(&s, t);
    else if (is_skipping(&s))
      continue;
    else if (is_namespace_like(s.state.scope))
      take_in_namespace(&s, t);
    else
      take_in_body(&s, t);
  }
  finish(&s);
  free(s.conditionals);
  arena_free(&s);
}

void scan_free(struct scan *scan) {
  for (size_t i = 0; i < scan->nkernels; i++) {
    struct scan_kernel *kernel = &scan->kernels[i];
    for (size_t p = 0; p < kernel->nparams; p++) {
      free(kernel->params[p].name);
      free(kernel->params[p].type);
    }
    free(kernel->params);
    free(kernel->bounds);
    free(kernel->head);
    free(kernel->name);
    free(kernel->local);
  }
  free(scan->kernels);
  *scan = (struct scan){0};
}
