/*
 * edit.c - line editing at the prompt: core.editor, on libedit where it is installed.
 *
 * libedit is loaded when an editor is asked for, so neither building nor running luhip needs it. Its own interface is
 * used (el_gets and the like) and not its imitation of readline, because Debian's lua5.4 has readline's variables of the
 * same names. What is declared below is libedit's ABI, which has been stable since its libedit.so.2.
 *
 * Reading bytes is ours: a read that a signal ends must end the line (Ctrl-C, see interrupt.c) or draw it anew (the
 * process was stopped and goes on, the window has another size), where libedit would read on. The characters are those
 * of the environment's locale, UTF-8 where it names none; the process's own locale stays as it is.
 *
 * A process has one editor at a time, as it has one terminal. No Lua error crosses libedit's frames.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "lua/binding.h"

#define HISTORY_LINES 2000
#define FEWEST_COLUMNS 12 /* of a terminal that lines are edited in */
#define LONGEST_PROMPT 64

/* ---- libedit --------------------------------------------------------------------------------------------------------- */

struct line_info {
  const char *buffer, *cursor, *end;
};
struct history_event {
  int number;
  const char *text;
};
enum { EL_PROMPT = 0, EL_EDITOR = 2, EL_SIGNAL = 3, EL_BIND = 4, EL_ADDFN = 9, EL_HIST = 10 };
enum { EL_GETCFN = 13, EL_CLIENTDATA = 14, EL_PREP_TERM = 16, EL_REFRESH = 20 };
enum { H_SETSIZE = 1, H_ENTER = 10, H_SETUNIQUE = 20 };
enum { CC_REFRESH = 4, CC_REDISPLAY = 8, CC_REFRESH_BEEP = 9 };

#define LIBEDIT(X)                                                                                                     \
  X(void *, el_init, (const char *, FILE *, FILE *, FILE *))                                                           \
  X(void, el_end, (void *))                                                                                            \
  X(int, el_set, (void *, int, ...))                                                                                   \
  X(int, el_wset, (void *, int, ...))                                                                                  \
  X(int, el_get, (void *, int, ...))                                                                                   \
  X(const char *, el_gets, (void *, int *))                                                                            \
  X(const struct line_info *, el_line, (void *))                                                                       \
  X(int, el_insertstr, (void *, const char *))                                                                         \
  X(void, el_resize, (void *))                                                                                         \
  X(int, el_source, (void *, const char *))                                                                            \
  X(void *, history_init, (void))                                                                                      \
  X(void, history_end, (void *))                                                                                       \
  X(int, history, (void *, struct history_event *, int, ...))

#define X(result, name, parameters) static result(*name) parameters;
LIBEDIT(X)
#undef X

static bool load_libedit(void) {
  static const char *const names[] = {"libedit.so.2", "libedit.so.0", "libedit.so"};
  if (el_init) return true;
  void *library = NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !library; i++)
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  bool whole = library != NULL;
#define X(result, name, parameters) whole = whole && (name = (result(*) parameters)dlsym(library, #name)) != NULL;
  LIBEDIT(X)
#undef X
  if (!whole) el_init = NULL;
  return whole;
}

/* ---- the editor -------------------------------------------------------------------------------------------------------- */

struct lb_editor {
  lua_State *L; /* while a line is read */
  void *line, *history;
  locale_t locale;
  mbstate_t partial; /* of a character whose first bytes were read */
  char prompt[LONGEST_PROMPT];
};

static atomic_flag taken = ATOMIC_FLAG_INIT;
static volatile sig_atomic_t continued, resized;

static void on_continue(int number) {
  (void)number;
  continued = 1;
}
static void on_resize(int number) {
  (void)number;
  resized = 1;
}

static struct lb_editor *editor_of(void *line) {
  void *editor = NULL;
  el_get(line, EL_CLIENTDATA, &editor);
  return editor;
}

static const char *give_prompt(void *line) {
  return editor_of(line)->prompt;
}

/* After a read that a signal has ended: whether the line goes on. */
static bool goes_on(void *line) {
  if (!continued && !resized) return false;
  if (continued) el_set(line, EL_PREP_TERM, 1);
  if (resized) el_resize(line);
  continued = resized = 0;
  el_set(line, EL_REFRESH);
  return true;
}

/* Waits until standard input has something, or ended: true. False when a signal came, also one that came just before:
   its handler has only set a flag, and a plain read would not know. */
static bool await_input(void) {
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  sigset_t heard, before;
  sigemptyset(&heard);
  sigaddset(&heard, SIGINT);
  sigaddset(&heard, SIGCONT);
  sigaddset(&heard, SIGWINCH);
  pthread_sigmask(SIG_BLOCK, &heard, &before);
  bool signalled = lb_interrupted() || continued || resized;
  if (!signalled) signalled = ppoll(&input, 1, NULL, &before) < 0 && errno == EINTR;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return !signalled;
}

/* core.await_input(): returns when a line can be read from the terminal, and after a signal */
int lb_await_input(lua_State *L) {
  (void)L;
  continued = resized = 0;
  while (!await_input() && !lb_interrupted()) continued = resized = 0;
  return 0;
}

/* One character for libedit: 1; 0 at the end; -1 when a signal or an error ended the read. */
static int give_character(void *line, wchar_t *character) {
  struct lb_editor *editor = editor_of(line);
  for (;;) {
    char byte;
    errno = EINTR;
    ssize_t n = await_input() ? read(STDIN_FILENO, &byte, 1) : -1;
    if (n < 0 && errno == EINTR && goes_on(line)) continue;
    if (n <= 0) return (int)n;
    size_t used = mbrtowc(character, &byte, 1, &editor->partial);
    if (used == (size_t)-2) continue;
    if (used == 0 || used == 1) return 1;
    memset(&editor->partial, 0, sizeof editor->partial); /* no character: it is left out */
  }
}

/* ---- completion ---------------------------------------------------------------------------------------------------------- */

struct completion {
  struct lb_editor *editor;
  const struct line_info *text;
  char *insert, *listing; /* malloc'ed */
};

/* (completion): calls complete(text before the cursor), which gives what to insert and what to show below the line. */
static int run_completion(lua_State *L) {
  struct completion *completion = lua_touserdata(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &taken);
  lua_pushlstring(L, completion->text->buffer, (size_t)(completion->text->cursor - completion->text->buffer));
  lua_call(L, 1, 2);
  if (lua_type(L, -2) == LUA_TSTRING) completion->insert = strdup(lua_tostring(L, -2));
  if (lua_type(L, -1) == LUA_TSTRING) completion->listing = strdup(lua_tostring(L, -1));
  return 0;
}

static unsigned char on_tab(void *line, int character) {
  (void)character;
  struct lb_editor *editor = editor_of(line);
  struct completion completion = {.editor = editor, .text = el_line(line)};
  lua_State *L = editor->L;
  if (!L || !lua_checkstack(L, 8)) return CC_REFRESH_BEEP;
  lua_pushcfunction(L, run_completion);
  lua_pushlightuserdata(L, &completion);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
  unsigned char result = CC_REFRESH_BEEP;
  if (completion.insert && *completion.insert && el_insertstr(line, completion.insert) == 0) result = CC_REFRESH;
  if (completion.listing && *completion.listing) {
    printf("\n%s\n", completion.listing);
    fflush(stdout);
    result = CC_REDISPLAY;
  }
  free(completion.insert);
  free(completion.listing);
  return result;
}

/* ---- making and closing ------------------------------------------------------------------------------------------------- */

/* UTF-8 where the environment names no locale, or one that is not installed. */
static locale_t make_locale(void) {
  locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
  if (locale && strcmp(nl_langinfo_l(CODESET, locale), "ANSI_X3.4-1968") != 0) return locale;
  locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  if (!utf8) return locale;
  if (locale) freelocale(locale);
  return utf8;
}

/* Why lines cannot be edited here, or NULL. */
static const char *unfit(void) {
  const char *terminal = getenv("TERM");
  struct winsize size;
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return "standard input or output is no terminal";
  if (!terminal || !*terminal || strcmp(terminal, "dumb") == 0) return "the terminal cannot move its cursor (TERM)";
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_col < FEWEST_COLUMNS)
    return "the terminal is too narrow";
  return NULL;
}

static void bind_keys(void *line) {
  static const char *const keys[][2] = {{"^I", "luhip-complete"},          {"^R", "em-inc-search-prev"},
                                        {"\\e[3~", "ed-delete-next-char"}, {"\\e[1~", "ed-move-to-beg"},
                                        {"\\e[4~", "ed-move-to-end"},      {"\\e[1;5C", "em-next-word"},
                                        {"\\e[1;5D", "ed-prev-word"}};
  el_wset(line, EL_ADDFN, L"luhip-complete", L"completes a name", on_tab); /* el_set would leak copies */
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) el_set(line, EL_BIND, keys[i][0], keys[i][1], NULL);
}

static bool start(struct lb_editor *editor) {
  struct history_event event;
  editor->locale = make_locale();
  locale_t before = editor->locale ? uselocale(editor->locale) : (locale_t)0;
  editor->line = el_init("luhip", stdin, stdout, stderr);
  editor->history = history_init();
  if (editor->line && editor->history) {
    history(editor->history, &event, H_SETSIZE, HISTORY_LINES);
    history(editor->history, &event, H_SETUNIQUE, 1);
    el_set(editor->line, EL_CLIENTDATA, editor);
    el_set(editor->line, EL_PROMPT, give_prompt);
    el_set(editor->line, EL_EDITOR, "emacs");
    el_set(editor->line, EL_SIGNAL, 0);
    el_set(editor->line, EL_HIST, history, editor->history);
    el_set(editor->line, EL_GETCFN, give_character);
    bind_keys(editor->line);
    el_source(editor->line, NULL); /* the user's own ~/.editrc */
  }
  if (before) uselocale(before);
  return editor->line && editor->history;
}

static int editor_free(lua_State *L) {
  struct lb_editor *editor = lb_check(L, 1, LB_EDITOR);
  if (editor->L) return lb_raise(L, LUHIP_E_ARGUMENT, "editor:free: a line is being read");
  bool ours = editor->line || editor->history || editor->locale;
  if (editor->line) el_end(editor->line);
  if (editor->history) history_end(editor->history);
  if (editor->locale) freelocale(editor->locale);
  *editor = (struct lb_editor){0};
  if (ours) atomic_flag_clear(&taken);
  return 0;
}

/* core.editor(complete) -> editor; or nil and why there is none. complete(text before the cursor) -> what to insert, and
   what to show below the line, either nil. */
int lb_editor_new(lua_State *L) {
  lb_check_function(L, 1, "complete");
  lua_settop(L, 1);
  const char *why = unfit();
  if (!why && !load_libedit()) why = "libedit is not installed";
  if (!why && atomic_flag_test_and_set(&taken)) why = "another editor is in use";
  if (why) {
    lua_pushnil(L);
    lua_pushstring(L, why);
    return 2;
  }
  struct lb_editor *editor = lb_new(L, LB_EDITOR, sizeof *editor, 0); /* a failing allocation keeps the flag */
  lua_pushvalue(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &taken);
  if (start(editor)) return 1;
  lua_pushcfunction(L, editor_free);
  lua_insert(L, -2);
  lua_call(L, 1, 0);
  lua_pushnil(L);
  lua_pushliteral(L, "libedit could not be started");
  return 2;
}

/* ---- lines ---------------------------------------------------------------------------------------------------------------- */

static struct lb_editor *open_editor(lua_State *L) {
  struct lb_editor *editor = lb_check(L, 1, LB_EDITOR);
  if (!editor->line) lb_raise(L, LUHIP_E_ARGUMENT, "the editor was freed");
  if (editor->L) lb_raise(L, LUHIP_E_ARGUMENT, "a line is being read");
  return editor;
}

/* editor:read(prompt) -> the line without its end; nil at the end of input, and when a signal ended the line */
static int editor_read(lua_State *L) {
  struct lb_editor *editor = open_editor(L);
  struct sigaction action = {.sa_handler = on_continue}, continue_before, resize_before;
  snprintf(editor->prompt, sizeof editor->prompt, "%s", lb_check_text(L, 2, "prompt"));
  sigemptyset(&action.sa_mask);
  sigaction(SIGCONT, &action, &continue_before);
  action.sa_handler = on_resize;
  sigaction(SIGWINCH, &action, &resize_before);
  locale_t before = editor->locale ? uselocale(editor->locale) : (locale_t)0;
  int length = 0;
  editor->L = L;
  continued = resized = 0;
  el_set(editor->line, EL_PREP_TERM, 1); /* before the prompt is seen: what is typed then is not echoed twice */
  const char *text = el_gets(editor->line, &length);
  editor->L = NULL;
  if (before) uselocale(before);
  sigaction(SIGWINCH, &resize_before, NULL);
  sigaction(SIGCONT, &continue_before, NULL);
  if (!text || length <= 0) return 0;
  if (text[length - 1] == '\n') length--;
  lua_pushlstring(L, text, (size_t)length);
  return 1;
}

/* editor:remember(line): what the arrow keys bring back */
static int editor_remember(lua_State *L) {
  struct lb_editor *editor = open_editor(L);
  const char *line = lb_check_text(L, 2, "line");
  struct history_event event;
  locale_t before = editor->locale ? uselocale(editor->locale) : (locale_t)0;
  history(editor->history, &event, H_ENTER, line);
  if (before) uselocale(before);
  return 0;
}

void lb_open_editor(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"read", editor_read}, {"remember", editor_remember}, {"free", editor_free}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", editor_free}, {"__close", editor_free}, {NULL, NULL}};
  lb_class_register(L, LB_EDITOR, &(struct lb_class_functions){.methods = methods, .meta = meta});
}

/* core.append_private(path, text) -> true, or nil and why: behind what a file holds; one that is made is its owner's
   alone */
int lb_append_private(lua_State *L) {
  size_t bytes;
  const char *path = lb_check_text(L, 1, "path");
  const char *text = lb_check_string(L, 2, "text", &bytes);
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
  if (file < 0) return luaL_fileresult(L, 0, path);
  ssize_t written = write(file, text, bytes);
  int error = written < 0 ? errno : (size_t)written < bytes ? ENOSPC : 0;
  close(file);
  errno = error;
  return luaL_fileresult(L, error == 0, path);
}
