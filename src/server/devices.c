/*
 * devices.c - which devices there are: ids, the list, and the facts of each.
 */
#include "server/server.h"

#include "base/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- facts --------------------------------------------------------------------------------------------------- */

static int attribute(const struct device_name *name, hip_device_attribute_t which, int otherwise) {
  int value;
  if (name->api->hipDeviceGetAttribute(&value, which, name->ordinal) != hip_Success) return otherwise;
  return value;
}

/* What lies behind the L2 of AMD's devices, which the driver does not tell: MiB of Infinity Cache by architecture, for the
   largest device of each. Sources: AMD's CDNA 3 white paper; the data sheets of the Radeon RX 6000, 7000 and 9000 series
   and of the Ryzen AI Max. */
static size_t infinity_cache(const char *arch) {
  static const struct {
    const char *arch;
    unsigned mib;
  } known[] = {{"gfx942", 256}, {"gfx950", 256}, {"gfx1030", 128}, {"gfx1031", 96}, {"gfx1032", 32}, {"gfx1034", 16},
               {"gfx1100", 96}, {"gfx1101", 64}, {"gfx1102", 32},  {"gfx1151", 32}, {"gfx1200", 32}, {"gfx1201", 64}};
  size_t length = strcspn(arch, ":");
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strlen(known[i].arch) == length && memcmp(known[i].arch, arch, length) == 0) return (size_t)known[i].mib << 20;
  return 0;
}

hip_error_t devices_describe(const struct device_name *name, luhip_device_info *info) {
  *info = (luhip_device_info){0};
  name->provider->id(name->ordinal, info->id, sizeof info->id);
  snprintf(info->backend, sizeof info->backend, "%s", name->provider->name);
  hip_error_t rc = name->api->hipDeviceGetName(info->name, sizeof info->name, name->ordinal);
  if (rc == hip_Success) rc = name->api->hipxDeviceArch(info->arch, sizeof info->arch, name->ordinal);
  if (rc == hip_Success) rc = name->api->hipDeviceTotalMem(&info->memory_bytes, name->ordinal);
  if (rc != hip_Success) return rc;
  if (name->api->hipDriverGetVersion(&info->driver_version) != hip_Success) info->driver_version = 0;
  info->warp_size = attribute(name, hip_DeviceAttributeWarpSize, 32);
  info->units = attribute(name, hip_DeviceAttributeMultiprocessorCount, 1);
  info->max_threads = attribute(name, hip_DeviceAttributeMaxThreadsPerBlock, 1024);
  for (int i = 0; i < 3; i++) {
    info->max_block[i] = attribute(name, hip_DeviceAttributeMaxBlockDimX + i, info->max_threads);
    info->max_grid[i] = attribute(name, hip_DeviceAttributeMaxGridDimX + i, 65535);
  }
  info->shared_bytes = (size_t)attribute(name, hip_DeviceAttributeMaxSharedMemoryPerBlock, 0);
  int optin = attribute(name, hip_DeviceAttributeSharedMemPerBlockOptin, 0);
  if (optin > 0 && (size_t)optin > info->shared_bytes) info->shared_bytes = (size_t)optin;
  int alignment = attribute(name, hip_DeviceAttributeTextureAlignment, 256);
  info->alignment = alignment < 32 ? 32 : (size_t)alignment;
  int l2 = attribute(name, hip_DeviceAttributeL2CacheSize, 0);
  info->cache_bytes = infinity_cache(info->arch);
  if (info->cache_bytes == 0 && l2 > 0) info->cache_bytes = (size_t)l2;
  info->integrated = attribute(name, hip_DeviceAttributeIntegrated, 0) != 0;
  return hip_Success;
}

/* ---- the list ------------------------------------------------------------------------------------------------ */

struct listing {
  luhip_device_info *list;
  size_t max, count;
};

static luhip_device_info *list_next(struct listing *listing) {
  size_t index = listing->count++;
  return index < listing->max ? &listing->list[index] : NULL;
}

static void list_unusable(struct listing *listing, const struct hip_provider *provider, const char *reason) {
  luhip_device_info *info = list_next(listing);
  if (!info) return;
  *info = (luhip_device_info){0};
  snprintf(info->id, sizeof info->id, "%s", provider->name);
  snprintf(info->backend, sizeof info->backend, "%s", provider->name);
  snprintf(info->reason, sizeof info->reason, "%s", *reason ? reason : "it cannot be used");
}

static void list_provider(struct listing *listing, const struct hip_provider *provider) {
  char reason[256] = "";
  struct device_name name = {provider, hip_load(provider, reason, sizeof reason), 0};
  int listed = name.api ? provider->listed() : 0;
  if (listed <= 0) {
    list_unusable(listing, provider, reason);
    return;
  }
  for (name.ordinal = 0; name.ordinal < listed; name.ordinal++) {
    luhip_device_info *info = list_next(listing);
    hip_error_t rc = info ? devices_describe(&name, info) : hip_Success;
    if (rc != hip_Success) snprintf(info->reason, sizeof info->reason, "the driver answered %s", hip_error_name(rc));
  }
}

size_t luhip_devices(luhip_device_info *list, size_t max) {
  struct listing listing = {list, list ? max : 0, 0};
  for (size_t i = 0; hip_providers[i]; i++) list_provider(&listing, hip_providers[i]);
  return listing.count;
}

/* ---- finding one --------------------------------------------------------------------------------------------- */

/* "there are cpu:0 and rocm (no driver)": what an id that names nothing could have named. */
static void describe_present(char *text, size_t len) {
  enum { SHOWN = 16 };
  luhip_device_info *list = calloc(SHOWN, sizeof *list);
  size_t count = list ? luhip_devices(list, SHOWN) : 0, at = 0;
  if (count > SHOWN) count = SHOWN;
  *text = '\0';
  for (size_t i = 0; i < count && at < len; i++) {
    int written = snprintf(text + at, len - at, "%s%s%s%s%s", i ? ", " : "", list[i].id, *list[i].reason ? " (" : "",
                           list[i].reason, *list[i].reason ? ")" : "");
    at += written > 0 ? (size_t)written : 0;
  }
  if (!count) snprintf(text, len, "none");
  free(list);
}

static luhip_status no_device(const char *id, const char *why, luhip_error **error) {
  char present[1024];
  describe_present(present, sizeof present);
  return error_set(error, LUHIP_E_NO_DEVICE, "no device '%s'%s%s; present: %s", id, *why ? ": " : "", why, present);
}

static luhip_status find_best(struct device_name *name, luhip_error **error) {
  for (size_t i = 0; hip_providers[i]; i++) {
    char reason[256] = "";
    const struct hip_provider *provider = hip_providers[i];
    const struct hip_api *api = hip_load(provider, reason, sizeof reason);
    if (!api || provider->listed() <= 0) continue;
    *name = (struct device_name){provider, api, 0};
    return LUHIP_OK;
  }
  char present[1024];
  describe_present(present, sizeof present);
  return error_set(error, LUHIP_E_NO_DEVICE, "no device can be used: %s", present);
}

luhip_status devices_find(const char *id, struct device_name *name, luhip_error **error) {
  struct config_value setting;
  if (!id || !*id) {
    config_find(CONFIG_DEVICE, &setting);
    id = setting.text;
  }
  if (!*id) return find_best(name, error);
  size_t length = strcspn(id, ":");
  for (size_t i = 0; hip_providers[i]; i++) {
    const struct hip_provider *provider = hip_providers[i];
    if (strlen(provider->name) != length || strncmp(provider->name, id, length) != 0) continue;
    char reason[256] = "";
    const struct hip_api *api = hip_load(provider, reason, sizeof reason);
    if (!api) return no_device(id, reason, error);
    int ordinal = provider->ordinal(id[length] ? id + length + 1 : "0");
    if (ordinal < 0) return no_device(id, provider->ids, error);
    *name = (struct device_name){provider, api, ordinal};
    return LUHIP_OK;
  }
  return no_device(id, "no back end of that name is built in", error);
}
