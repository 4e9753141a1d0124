/*
 * rocm_arch.c - target ids.
 *
 * A target id is a processor and features, each switched on or off: name(:feature[+-])*, as "Target ID" of LLVM's
 * "User Guide for AMDGPU Backend" has it. Two features are known there: xnack and sramecc, each on some processors
 * only. hiprtc ends the process on a processor, a feature or a spelling that it does not know, so the whole is held
 * against comgr's own tables first: its list of processors, and the features that its metadata gives for each. The
 * guide wants the features in alphabetical order; hiprtc takes both orders, and so does this.
 */
#include "hip/rocm_arch.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

/* comgr's metadata are handles, passed by value. */
struct comgr_metadata {
  uint64_t handle;
};

static struct {
  int (*amd_comgr_get_isa_count)(size_t *count);
  int (*amd_comgr_get_isa_name)(size_t index, const char **name);
  int (*amd_comgr_get_isa_metadata)(const char *isa, struct comgr_metadata *metadata);
  int (*amd_comgr_metadata_lookup)(struct comgr_metadata map, const char *key, struct comgr_metadata *value);
  int (*amd_comgr_destroy_metadata)(struct comgr_metadata metadata);
} comgr;

/* ---- comgr ---------------------------------------------------------------------------------------------- */

static bool resolve(void *library) {
  static const char *const names[] = {"amd_comgr_get_isa_count", "amd_comgr_get_isa_name", "amd_comgr_get_isa_metadata",
                                      "amd_comgr_metadata_lookup", "amd_comgr_destroy_metadata"};
  void *const slots[] = {&comgr.amd_comgr_get_isa_count, &comgr.amd_comgr_get_isa_name,
                         &comgr.amd_comgr_get_isa_metadata, &comgr.amd_comgr_metadata_lookup,
                         &comgr.amd_comgr_destroy_metadata};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *symbol = dlsym(library, names[i]);
    if (!symbol) return false;
    memcpy(slots[i], &symbol, sizeof symbol);
  }
  return true;
}

/* The one that the runtime has loaded already, if any: its tables are the ones that count. */
static bool load_comgr(void) {
  static const char *const libraries[] = {"libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so", NULL};
  static const int modes[] = {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL};
  for (int mode = 0; mode < 2; mode++)
    for (int i = 0; libraries[i]; i++) {
      void *library = dlopen(libraries[i], modes[mode]);
      if (library && resolve(library)) return true;
    }
  return false;
}

/* comgr's full name of a processor, NULL for one it does not know; adds the names of all to the list. */
static const char *find_isa(const char *processor, size_t length, size_t count, struct text *known) {
  const char *found = NULL;
  for (size_t i = 0; i < count; i++) {
    const char *name = NULL;
    if (comgr.amd_comgr_get_isa_name(i, &name) || !name) continue;
    const char *gfx = strstr(name, "gfx");
    if (!gfx) continue;
    if (strlen(gfx) == length && !strncmp(gfx, processor, length)) found = name;
    text_printf(known, "%s%s", known->length ? ", " : "", gfx);
  }
  return found;
}

/* ---- features ------------------------------------------------------------------------------------------- */

enum { FEATURES = 2 };

static const char *const feature_names[FEATURES] = {"sramecc", "xnack"};

static void ask_features(const char *isa, bool has[FEATURES]) {
  struct comgr_metadata metadata, features, feature;
  memset(has, 0, FEATURES * sizeof *has);
  if (comgr.amd_comgr_get_isa_metadata(isa, &metadata)) return;
  if (!comgr.amd_comgr_metadata_lookup(metadata, "Features", &features)) {
    for (int i = 0; i < FEATURES; i++) {
      has[i] = !comgr.amd_comgr_metadata_lookup(features, feature_names[i], &feature);
      if (has[i]) comgr.amd_comgr_destroy_metadata(feature);
    }
    comgr.amd_comgr_destroy_metadata(features);
  }
  comgr.amd_comgr_destroy_metadata(metadata);
}

static int feature_of(const char *name, size_t length) {
  for (int i = 0; i < FEATURES; i++)
    if (strlen(feature_names[i]) == length && !strncmp(feature_names[i], name, length)) return i;
  return -1;
}

/* What is wrong with one feature, "xnack+" of `length` characters; NULL: nothing. Notes it as seen. */
static const char *fault_of(const char *feature, size_t length, const bool has[FEATURES], bool seen[FEATURES]) {
  bool switched = length && (feature[length - 1] == '+' || feature[length - 1] == '-');
  int i = feature_of(feature, length - switched);
  if (i < 0 || !has[i]) return "is not known there";
  if (!switched) return "lacks its + or -";
  if (seen[i]) return "comes twice";
  seen[i] = true;
  return NULL;
}

static void tell_feature(const char *arch, size_t processor, const char *feature, size_t length, const char *fault,
                         const bool has[FEATURES], struct text *log) {
  text_printf(log, "architecture '%s': feature '%.*s' %s; %.*s knows ", arch, (int)length, feature, fault,
              (int)processor, arch);
  int n = 0;
  for (int i = 0; i < FEATURES; i++)
    if (has[i]) text_printf(log, "%s%s+ and %s-", n++ ? ", " : "", feature_names[i], feature_names[i]);
  text_add(log, n ? "\n" : "no features\n");
}

static bool features_known(const char *arch, size_t processor, const char *isa, struct text *log) {
  bool has[FEATURES], seen[FEATURES] = {false};
  ask_features(isa, has);
  for (const char *at = arch + processor; *at;) {
    const char *feature = at + 1; /* behind the colon */
    size_t length = strcspn(feature, ":");
    const char *fault = fault_of(feature, length, has, seen);
    if (fault) {
      tell_feature(arch, processor, feature, length, fault, has, log);
      return false;
    }
    at = feature + length;
  }
  return true;
}

bool rocm_arch_known(const char *arch, struct text *log) {
  size_t count = 0, processor = strcspn(arch, ":");
  if (!load_comgr() || comgr.amd_comgr_get_isa_count(&count)) {
    text_add(log,
             "libamd_comgr cannot be asked which architectures it knows, and hiprtc ends the process on one that it "
             "does not: nothing was compiled\n");
    return false;
  }
  struct text known = {0};
  const char *isa = find_isa(arch, processor, count, &known);
  if (!isa)
    text_printf(log, "this hiprtc knows no architecture '%s'; it knows %s\n", arch, known.data ? known.data : "none");
  text_free(&known);
  return isa && features_known(arch, processor, isa, log);
}
