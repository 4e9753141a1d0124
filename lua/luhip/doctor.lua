--- `luhip doctor`: what is here, what is missing, and the one command that brings it.
--
-- Everything is looked at and nothing changed: no cache folder is made, no device opened. The exit code is 0 when at
-- least one device can be used, with a compiler for it, and nothing that was set is wrong.
-- Dependencies: luhip, luhip.core.
-- @module luhip.doctor

local core = require "luhip.core"
local errors = require "luhip.errors"
local config = require "luhip.config"

local doctor = {}

-- What luhip uses of Debian 12's packages, how to see that it is there, and for what it is needed. `gpu`: only missed
-- where a GPU of that vendor is.
local PACKAGES = {
  { name = "clang-19", programs = { "clang++-19" }, serves = "compiles kernels for the CPU device" },
  { name = "binutils", programs = { "ld", "ld.lld" }, serves = "links them" },
  {
    name = "libamdhip64-5",
    libraries = { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so" },
    serves = "AMD GPUs, and `luhip compile`",
  },
  { name = "nvidia-driver", libraries = { "libcuda.so.1" }, gpu = "0x10de", serves = "NVIDIA GPUs (non-free)" },
  {
    name = "libnvrtc11.2",
    libraries = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so" },
    gpu = "0x10de",
    serves = "compiles kernels for NVIDIA GPUs (non-free)",
  },
  { name = "libedit2", libraries = { "libedit.so.2" }, serves = "line editing at the prompt" },
  { name = "lua-dkjson", module = "dkjson", serves = "tuning results as JSON" },
}

-- ---- looking -----------------------------------------------------------------------------------------------------

-- The first of the programs that is in an absolute folder of PATH, or in a usual one.
local function find_program(names)
  for _, name in ipairs(names) do
    for folder in ((os.getenv "PATH" or "") .. ":/usr/local/bin:/usr/bin:/bin"):gmatch "[^:]+" do
      local path = folder .. "/" .. name
      if folder:sub(1, 1) == "/" and core.path_state(path) then
        return path
      end
    end
  end
end

local function find(package)
  if package.programs then
    return find_program(package.programs)
  elseif package.module then
    return (_G.package.searchpath(package.module, _G.package.path))
  end
  return core.find_library(package.libraries)
end

-- Whether the PCI bus has a display controller of this vendor.
local function has_gpu(vendor)
  for number = 0, 255 do
    local file = io.open(("/sys/class/drm/card%d/device/vendor"):format(number))
    local found = file and file:read "l"
    if file then
      file:close()
    end
    if found == vendor then
      return true
    end
  end
  return vendor == "0x10de" and core.path_state "/dev/nvidiactl" ~= nil
end

-- ---- the report --------------------------------------------------------------------------------------------------

local Report = {}
Report.__index = Report

function Report:add(format, ...)
  table.insert(self.lines, select("#", ...) > 0 and format:format(...) or format)
end

function Report:row(name, format, ...)
  self:add("  %-22s %s", name, format:format(...))
end

-- Something is wrong that keeps luhip from working as was asked.
function Report:fault(name, format, ...)
  self.sound = false
  self:row(name, format, ...)
end

local function size_text(bytes)
  local units, unit, value = { "bytes", "KiB", "MiB", "GiB", "TiB" }, 1, bytes
  while value >= 1024 and unit < #units do
    value, unit = value / 1024, unit + 1
  end
  return ("%.4g %s"):format(value, units[unit])
end

-- A device that was chosen has to be there.
local function report_chosen(report)
  local id
  for i, setting in ipairs(config.settings) do -- config.config would raise what is wrong with a file once more
    id = setting.key == "device" and core.config_get(i) or id
  end
  if id == nil or id == "" then
    return
  end
  local known = {}
  for _, device in ipairs(core.devices()) do
    if not device.reason and (id == device.backend or id:gsub("/32$", ""):gsub("/64$", "") == device.id) then
      return
    elseif not device.reason then
      known[#known + 1] = device.id
    end
  end
  report:fault("wrong", "the device that is set, '%s', is not here; there is %s", id, table.concat(known, ", "))
end

local function report_devices(report)
  local usable = 0
  report:add "devices"
  for _, device in ipairs(core.devices()) do
    if device.reason then
      report:row(device.id, "cannot be used: %s", device.reason)
    else
      usable = usable + 1
      report.gpu = report.gpu or device.backend ~= "cpu"
      report:row(device.id, "%s, %s, %s", device.name, device.arch, size_text(device.memory))
    end
  end
  if usable == 0 then
    report:fault("none", "no device can be used")
  else
    report_chosen(report)
  end
end

local function report_packages(report)
  report:add "packages"
  for _, package in ipairs(PACKAGES) do
    local found = find(package)
    if found or not package.gpu or has_gpu(package.gpu) then
      report:row(package.name, "%s: %s", found or "missing", package.serves)
      if not found then
        table.insert(report.missing, package.name)
      end
    end
  end
end

local function report_compiler(report)
  local found, toolchain = core.toolchain()
  report:add "compiler of kernels for the CPU device"
  if not found and report.gpu then
    return report:row("none", "%s", toolchain)
  elseif not found then
    return report:fault("none", "%s", toolchain)
  end
  report:row("compiler", "%s", toolchain.compiler)
  report:row("linker", "%s", toolchain.linker)
  report:row("version", "%s", toolchain.version)
  if not toolchain.is_clang then
    report:row("note", "kernels run, but are not vectorised: clang-19 does that")
  end
end

local function cache_state(path)
  local state = core.path_state(path)
  if not state then
    return "not there yet; it is made with the first compile"
  elseif state.type ~= "folder" then
    return ("not a folder but a %s: nothing is kept"):format(state.type)
  elseif not state.own then
    return "it belongs to another user: nothing is kept"
  elseif state.others_write then
    return "group or world may write it: nothing is kept (chmod 700)"
  elseif not state.writable then
    return "it cannot be written: nothing new is kept"
  end
  return ("%d kernels, %s"):format(state.files, size_text(state.bytes))
end

local function report_cache(report)
  report:add "compile cache"
  local path = core.cache_folder()
  if not path then
    return report:row("off", "nothing is kept on disk")
  end
  report:row("folder", "%s", path)
  report:row("state", "%s", cache_state(path))
end

local function report_settings(report)
  report:add "settings"
  local ok, e = pcall(config.load)
  local user = config.user_path()
  report:row("your file", "%s", not user and "there is no home" or config.files.user or user .. " (not there)")
  report:row("project's file", "%s", config.files.project or "none from here upwards")
  if not ok then
    report:fault("wrong", "%s", errors.message(e))
  end
  for i, setting in ipairs(config.settings) do
    local text, layer, origin = core.config_get(i)
    if layer ~= "default" then
      report:row(setting.key, "%s (%s)", text, origin)
    end
  end
  local _, wrong = core.config_check()
  if wrong then
    report:fault("wrong", "%s", wrong.message)
  end
end

local LIMITS = {
  { "processors", "processors", tostring },
  { "memory", "memory", size_text },
  { "open_files", "open files", tostring },
  { "address_space", "address space", size_text },
  { "locked_memory", "locked memory", size_text },
}

local function report_limits(report)
  local limits = core.limits()
  report:add "limits of this process"
  for _, limit in ipairs(LIMITS) do
    local value = limits[limit[1]]
    report:row(limit[2], "%s", value and limit[3](value) or "none")
  end
end

-- The one command that brings all of it.
local function report_command(report)
  if #report.missing == 0 then
    return report:add "nothing is missing"
  end
  report:add "what is missing comes with"
  report:add("  apt-get install %s", table.concat(report.missing, " "))
end

--- Looks at everything.
-- @treturn {string,...} the lines of the report
-- @treturn boolean whether a device can be used and no setting is wrong
function doctor.examine()
  local report = setmetatable({ lines = {}, missing = {}, sound = true }, Report)
  report:add("luhip %s, %s", core.version, _VERSION)
  report_settings(report)
  report_devices(report)
  report_compiler(report)
  report_packages(report)
  report_cache(report)
  report_limits(report)
  report_command(report)
  return report.lines, report.sound
end

--- Runs the command.
-- @tparam {string,...} words its arguments: none
-- @treturn integer the exit code: 0, 1 when no device can be used or a setting is wrong, 2 for arguments
function doctor.run(words)
  if #words > 0 then
    io.stderr:write "luhip: 'doctor' takes no arguments\n"
    return 2
  end
  local lines, sound = doctor.examine()
  for _, line in ipairs(lines) do
    local bad = line:find " missing: " or line:find "cannot be used" or line:find "^  wrong "
    io.stdout:write(bad and require "luhip.colour"(1, "yellow", line) or line, "\n")
  end
  return sound and 0 or 1
end

return doctor
