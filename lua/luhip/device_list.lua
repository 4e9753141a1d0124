--- The devices as a table of text: `luhip devices`, and `:devices` at the prompt.
-- Dependencies: luhip.tune.report.
-- @module luhip.device_list

local device_list = {}

local UNITS = { "bytes", "KiB", "MiB", "GiB", "TiB" }

--- A size in words.
-- @tparam ?number bytes
-- @treturn string "1.5 GiB"; "-" for none
function device_list.size_text(bytes)
  if not bytes or bytes <= 0 then
    return "-"
  end
  local unit, value = 1, bytes
  while value >= 1024 and unit < #UNITS do
    value, unit = value / 1024, unit + 1
  end
  return ("%.4g %s"):format(value, UNITS[unit])
end

local function device_row(device)
  if device.reason and device.reason ~= "" then
    return { device.id, "cannot be used: " .. device.reason }
  end
  local units = device.units and device.units > 0 and tostring(device.units) or "-"
  return { device.id, device.name or "-", device.arch or "-", device_list.size_text(device.memory), units }
end

--- The lines.
-- @tparam {table,...} devices what luhip.devices() gives
-- @treturn {string,...} a table of id, name, arch, memory and units; a device that cannot be used has its reason
function device_list.lines(devices)
  local usable, unusable = { { "id", "name", "arch", "memory", "units" } }, {}
  for _, device in ipairs(devices) do
    local row = device_row(device)
    table.insert(#row == 2 and unusable or usable, row)
  end
  local columns = require("luhip.tune.report").columns
  local lines = #usable > 1 and columns(usable, { true, true, true }) or {}
  for _, row in ipairs(unusable) do
    lines[#lines + 1] = row[1] .. "  " .. row[2]
  end
  if #lines == 0 then
    lines[1] = "no devices"
  end
  return lines
end

return device_list
