/*
 * declarator.c - reading a kernel's header.
 *
 * The parameter list is the last pair of parentheses that follows a name and belongs to no attribute: macros and
 * __launch_bounds__(...) may stand before the name. A parameter's name is its last word, if something before that
 * word can be a type.
 */
#include "kernel/declarator.h"

#include <stdlib.h>
#include <string.h>

static bool is_one_of(struct lex_token token, const char *const *words) {
  for (; *words; words++)
    if (lex_is(token, *words)) return true;
  return false;
}

/* Words whose parentheses are no parameter list. */
static bool is_attribute(struct lex_token token) {
  static const char *const words[] = {"__launch_bounds__",
                                      "__attribute__",
                                      "__attribute",
                                      "__declspec",
                                      "alignas",
                                      "_Alignas",
                                      "decltype",
                                      "noexcept",
                                      "throw",
                                      "asm",
                                      "__asm__",
                                      "__cluster_dims__",
                                      "__block_size__",
                                      "__maxnreg__",
                                      "__typeof__",
                                      "typeof",
                                      "requires",
                                      "explicit",
                                      NULL};
  return is_one_of(token, words);
}

size_t declarator_skip(const struct lex_token *tokens, size_t n, size_t open) {
  size_t depth = 0;
  for (size_t i = open; i < n; i++) {
    depth += lex_is_open(tokens[i]);
    if (lex_is_close(tokens[i]) && --depth == 0) return i;
  }
  return n - 1;
}

/* From `<` to its `>`, brackets inside taken whole. */
static size_t skip_angles(const struct lex_token *tokens, size_t n, size_t open) {
  size_t depth = 0;
  for (size_t i = open; i < n; i++) {
    if (lex_is_open(tokens[i]))
      i = declarator_skip(tokens, n, i);
    else if (lex_is(tokens[i], "<"))
      depth++;
    else if (lex_is(tokens[i], ">") && --depth == 0)
      return i;
  }
  return n - 1;
}

/* Walks back over "ns::" in front of a name, but not over a return type's. */
static size_t name_begin(const struct lex_token *tokens, size_t name) {
  while (name >= 2 && lex_is(tokens[name - 1], "::") && tokens[name - 2].kind == LEX_WORD) name -= 2;
  return name;
}

/* `word` names the function, if it is one, whose parameters begin at `open`. */
static bool take_list(const struct lex_token *tokens, size_t n, size_t word, size_t open, struct declarator *found) {
  found->name = name_begin(tokens, word);
  found->name_end = word + 1;
  found->open = open;
  found->close = declarator_skip(tokens, n, open);
  return true;
}

bool declarator_find(const struct lex_token *tokens, size_t n, struct declarator *found) {
  *found = (struct declarator){0};
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    struct lex_token token = tokens[i];
    if (token.kind == LEX_WORD && lex_is(token, "template")) {
      found->is_template = true;
      size_t word = i;
      if (i + 1 < n && lex_is(tokens[i + 1], "<")) i = skip_angles(tokens, n, i + 1);
      if (!found->head_end) found->head = word, found->head_end = i + 1;
    } else if (token.kind == LEX_STRING && i && lex_is(tokens[i - 1], "extern"))
      found->c_linkage = lex_is(token, "\"C\"");
    else if (lex_is(token, "=") || (any && lex_is(token, "->")))
      return any && !lex_is(token, "=");
    else if (lex_is(token, "<") && i && tokens[i - 1].kind == LEX_WORD) {
      size_t word = i - 1;
      i = skip_angles(tokens, n, i); /* of a type, or of a specialisation's name */
      if (i + 1 < n && lex_is(tokens[i + 1], "(")) {
        any = take_list(tokens, n, word, i + 1, found);
        i = found->close;
      }
    } else if (lex_is(token, "(")) {
      if (any && i == found->close + 1) return false; /* MACRO(x)(...): the name is the macro's business */
      size_t close = declarator_skip(tokens, n, i);
      if (i && tokens[i - 1].kind == LEX_WORD && !is_attribute(tokens[i - 1]))
        any = take_list(tokens, n, i - 1, i, found);
      i = close;
    } else if (lex_is_open(token))
      i = declarator_skip(tokens, n, i);
  }
  return any && lex_is(tokens[found->close], ")");
}

void declarator_add_word(struct text *text, struct lex_token word) {
  char small[128];
  if (word.end - word.begin < (ptrdiff_t)sizeof small) {
    text_append(text, small, lex_copy(word, small));
    return;
  }
  char *copy = malloc((size_t)(word.end - word.begin) + 1);
  if (!copy) {
    text->failed = true;
    return;
  }
  text_append(text, copy, lex_copy(word, copy));
  free(copy);
}

void declarator_name(const struct lex_token *tokens, const struct declarator *d, struct text *name) {
  for (size_t i = d->name; i < d->name_end; i++) declarator_add_word(name, tokens[i]);
}

/* ---- parameters ------------------------------------------------------------------------------------------------- */

static bool is_qualifier(struct lex_token token) {
  static const char *const words[] = {"const",
                                      "volatile",
                                      "struct",
                                      "class",
                                      "enum",
                                      "union",
                                      "typename",
                                      "register",
                                      "constexpr",
                                      "__restrict__",
                                      "__restrict",
                                      "restrict",
                                      "__grid_constant__",
                                      "LUHIP_OUT",
                                      NULL};
  return is_one_of(token, words);
}

static bool is_builtin_type(struct lex_token token) {
  static const char *const words[] = {"void",     "bool",     "char",   "short",  "int",  "long",
                                      "signed",   "unsigned", "float",  "double", "auto", "wchar_t",
                                      "char16_t", "char32_t", "__half", "half",   NULL};
  return is_one_of(token, words);
}

/* Left out of the type's text. */
static bool is_decoration(struct lex_token token) {
  static const char *const words[] = {"__restrict__", "__restrict", "restrict", "__grid_constant__",
                                      "LUHIP_OUT",    "register",   NULL};
  return is_one_of(token, words);
}

/* The end of the parameter that begins at `from`: a comma or the closing parenthesis. In a default value `<` may
   mean less, so angles are not followed there. */
static size_t param_end(const struct lex_token *tokens, size_t from, size_t close) {
  size_t i = from;
  bool in_default = false;
  for (; i < close && !lex_is(tokens[i], ","); i++) {
    in_default |= lex_is(tokens[i], "=");
    if (lex_is_open(tokens[i]))
      i = declarator_skip(tokens, close, i);
    else if (!in_default && lex_is(tokens[i], "<"))
      i = skip_angles(tokens, close, i);
  }
  return i < close ? i : close;
}

/* Index of the name's token in [from, end), or end: the parameter has none. */
static size_t find_name(const struct lex_token *tokens, size_t from, size_t end) {
  size_t candidate = end;
  bool type_before = false, type_before_candidate = false;
  for (size_t i = from; i < end; i++) {
    struct lex_token token = tokens[i];
    if (lex_is(token, "(")) { /* (*name)(...), (&name)[n]; or an attribute's */
      size_t close = declarator_skip(tokens, end, i);
      if (i + 2 <= close && type_before && (lex_is(tokens[i + 1], "*") || lex_is(tokens[i + 1], "&")) && i + 2 < close)
        return tokens[i + 2].kind == LEX_WORD ? i + 2 : end;
      i = close;
    } else if (lex_is(token, "<"))
      i = skip_angles(tokens, end, i);
    else if (lex_is(token, "["))
      i = declarator_skip(tokens, end, i);
    else if (token.kind == LEX_WORD && is_attribute(token))
      continue;
    else if (token.kind == LEX_WORD && !is_qualifier(token)) {
      bool part_of_type = is_builtin_type(token) || (i > from && lex_is(tokens[i - 1], "::"));
      candidate = part_of_type ? end : i;
      type_before_candidate = type_before;
      type_before = true;
    } else if (token.kind == LEX_PUNCT && (*token.begin == '*' || *token.begin == '&'))
      candidate = end;
  }
  return type_before_candidate ? candidate : end;
}

static bool is_word_end(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '>';
}

static void add_type_token(struct text *type, struct lex_token token) {
  char last = type->length ? type->data[type->length - 1] : '\0';
  bool word = token.kind == LEX_WORD || token.kind == LEX_NUMBER;
  bool star = token.kind == LEX_PUNCT && (*token.begin == '*' || *token.begin == '&');
  if ((word && (is_word_end(last) || last == '*' || last == '&' || last == ',')) || (star && is_word_end(last)))
    text_add(type, " ");
  declarator_add_word(type, token);
}

static void add_type(struct text *type, const struct lex_token *tokens, size_t from, size_t end, size_t name) {
  for (size_t i = from; i < end; i++) {
    if (lex_is(tokens[i], "=")) return;
    if (lex_is(tokens[i], "[") && i + 1 < end && lex_is(tokens[i + 1], "["))
      i = declarator_skip(tokens, end, i); /* [[...]] */
    else if (tokens[i].kind == LEX_WORD && is_attribute(tokens[i]) && i + 1 < end && lex_is(tokens[i + 1], "("))
      i = declarator_skip(tokens, end, i + 1);
    else if (i != name && !(tokens[i].kind == LEX_WORD && is_decoration(tokens[i])))
      add_type_token(type, tokens[i]);
  }
}

static bool read_param(const struct lex_token *tokens, size_t from, size_t end, struct scan_param *param) {
  size_t before_default = from;
  while (before_default < end && !lex_is(tokens[before_default], "=")) before_default++;
  size_t name = find_name(tokens, from, before_default);
  struct text name_text = {0}, type = {0};
  if (name < before_default)
    declarator_add_word(&name_text, tokens[name]);
  else
    name = end;
  add_type(&type, tokens, from, before_default, name);
  *param = (struct scan_param){.name = text_take(&name_text), .type = text_take(&type)};
  for (size_t i = from; i < before_default; i++) {
    param->out |= tokens[i].kind == LEX_WORD && lex_is(tokens[i], "LUHIP_OUT");
    param->pack |=
        i + 2 < before_default && lex_is(tokens[i], ".") && lex_is(tokens[i + 1], ".") && lex_is(tokens[i + 2], ".");
  }
  return param->name && param->type;
}

bool declarator_params(const struct lex_token *tokens, const struct declarator *d, struct scan_kernel *kernel) {
  size_t first = d->open + 1, count = 0;
  bool none = first == d->close || (first + 1 == d->close && lex_is(tokens[first], "void"));
  if (none) return true;
  for (size_t i = first; i <= d->close; i = param_end(tokens, i, d->close) + 1) count++;
  kernel->params = calloc(count, sizeof *kernel->params);
  if (!kernel->params) return false;
  for (size_t i = first, end; i <= d->close; i = end + 1) {
    end = param_end(tokens, i, d->close);
    if (!read_param(tokens, i, end, &kernel->params[kernel->nparams++])) return false;
  }
  return true;
}
