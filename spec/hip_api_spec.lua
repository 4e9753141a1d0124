-- The driver interface is HIP's: every name, value and signature of src/hip/types.h and the list in src/hip/api.h,
-- held to the installed HIP headers by the C compiler, and to what the library exports by the linker.

local support = require "spec.support"

local function shell(command)
  local result = support.run(command)
  return result.code, result.stdout, result.stderr
end

-- Where the headers are: Debian's libamdhip64-dev, or a ROCm of its own.
local function include_folder()
  for _, folder in ipairs { "/usr/include", (os.getenv "ROCM_PATH" or "/opt/rocm") .. "/include" } do
    local file = io.open(folder .. "/hip/hip_runtime_api.h")
    if file then
      file:close()
      return folder
    end
  end
  error "HIP's headers are not installed: apt-get install libamdhip64-dev (scripts/setup does)"
end

-- The entries of the table: { kind, name, parameters }, as the preprocessor gives them.
local function entries()
  local result = support.run("cc -E -P -Isrc -", {
    stdin = [[
#include "hip/api.h"
#define SHOW(kind, name, ...) @kind name __VA_ARGS__@
#define REQUIRED_(...) SHOW(REQUIRED, __VA_ARGS__)
#define OPTIONAL_(...) SHOW(OPTIONAL, __VA_ARGS__)
HIP_API(REQUIRED_, OPTIONAL_)
]],
  })
  assert.equal(0, result.code, result.stderr)
  local list = {}
  for kind, name, parameters in result.stdout:gmatch "@(%u+) (%w+) (%b()), %b()@" do
    table.insert(list, { kind = kind, name = name, parameters = parameters })
  end
  assert.is_true(#list > 40)
  return list
end

local types = [[
#define hip_error_t hipError_t
#define hip_device_t hipDevice_t
#define hip_device_attribute_t hipDeviceAttribute_t
#define hip_func_attribute_t hipFunction_attribute
#define hip_func_setting_t hipFuncAttribute
#define hip_memcpy_kind_t hipMemcpyKind
#define hip_deviceptr_t hipDeviceptr_t
#define hip_stream_t hipStream_t
#define hip_event_t hipEvent_t
#define hip_module_t hipModule_t
#define hip_function_t hipFunction_t
#define hip_stream_callback_t hipStreamCallback_t
#define hip_stream_capture_mode_t hipStreamCaptureMode
#define hip_stream_capture_status_t hipStreamCaptureStatus
#define hip_graph_t hipGraph_t
#define hip_graph_exec_t hipGraphExec_t
#define hip_graph_node_t hipGraphNode_t
#define hip_graph_exec_update_result_t hipGraphExecUpdateResult
]]

local head = [[
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1
#include <hip/hip_runtime_api.h>
#include "hip/api.h"
]]

describe("the driver interface", function()
  support.scope()

  -- Compiles the text with both headers in sight; the compiler's complaints, "" when there are none.
  local function complaints(text, flags)
    local folder = support.temporary_directory()
    support.write_file(folder .. "/probe.c", head .. text)
    local _, _, message =
      shell(("cc -std=gnu11 -w -Isrc -I%s %s/probe.c -o %s/probe %s"):format(include_folder(), folder, folder, flags))
    return message
  end

  it("has HIP's values", function()
    assert.equal(
      "",
      complaints(
        [[
#define SAME(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #theirs " differs");
#define X(name, value) SAME(hip_##name, hip##name)
HIP_ERRORS(X) HIP_MEMCPY_KINDS(X) HIP_FLAGS(X)
HIP_CAPTURE_MODES(X) HIP_CAPTURE_STATUSES(X) HIP_GRAPH_UPDATES(X)
#undef X
#define X(name, value) SAME(hip_DeviceAttribute##name, hipDeviceAttribute##name)
HIP_ATTRIBUTES(X)
#undef X
#define X(name, value) SAME(hip_FUNC_ATTRIBUTE_##name, HIP_FUNC_ATTRIBUTE_##name)
HIP_FUNC_ATTRIBUTES(X)
#undef X
#define X(name, value) SAME(hip_FuncAttribute##name, hipFuncAttribute##name)
HIP_FUNC_SETTINGS(X)
]],
        "-c"
      )
    )
  end)

  it("has HIP's signatures", function()
    local text = { types }
    local header = support.read_file(include_folder() .. "/hip/hip_runtime_api.h")
    for _, entry in ipairs(entries()) do
      -- What is optional may be younger than the header.
      local declared = entry.kind == "REQUIRED" or header:find("hipError_t " .. entry.name .. "(", 1, true)
      if not entry.name:match "^hipx" and declared then
        table.insert(
          text,
          ('_Static_assert(__builtin_types_compatible_p(__typeof__(&%s), hipError_t (*)%s), "%s differs");'):format(
            entry.name,
            entry.parameters,
            entry.name
          )
        )
      end
    end
    assert.equal("", complaints(table.concat(text, "\n"), "-c"))
  end)

  it("requires nothing that HIP's library does not export", function()
    local text = { "int main(void) { void *volatile entry;" }
    for _, entry in ipairs(entries()) do
      if entry.kind == "REQUIRED" and not entry.name:match "^hipx" then
        table.insert(text, ("entry = (void *)%s;"):format(entry.name))
      end
    end
    table.insert(text, "return entry == 0; }")
    assert.equal("", complaints(table.concat(text, "\n"), "-lamdhip64"))
  end)

  it("is noticed when it differs: the probe itself is tried", function()
    assert.truthy(
      complaints('_Static_assert(hip_ErrorNotReady == hipErrorNotFound, "wrong value");', "-c"):find "wrong value"
    )
    assert.truthy(
      complaints(
        types
          .. '_Static_assert(__builtin_types_compatible_p(__typeof__(&hipFree), hip_error_t (*)(int)), "wrong type");',
        "-c"
      ):find "wrong type"
    )
  end)
end)
