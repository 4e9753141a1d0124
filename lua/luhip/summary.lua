--- What buffers, host arrays and kernels look like when they are printed.
--
--    luhip.buffer: f32[4, 256] on cpu:0: 0, 0.5, 1, 1.5, 2, 2.5, ... (min 0, mean 255.75, max 511.5)
--
-- Printing reads the device, but never fails: a buffer that was freed, that a failure claims or that cannot be read now
-- says so instead. Statistics of more than 2^20 elements are those of the first 2^20.
-- Dependencies: luhip.errors.
-- @module luhip.summary

local errors = require "luhip.errors"

local summary = {}

local SHOWN = 6 -- values
local MOST = 1 << 20 -- elements that statistics look at

local COMPLEX = { c64 = true, c128 = true }

-- ---- values ----------------------------------------------------------------------------------------------------

local function value_text(value)
  if type(value) == "table" then
    return ("%s%+gi"):format(value_text(value[1]), value[2])
  elseif math.type(value) == "float" then
    return value ~= value and "nan" or ("%.6g"):format(value)
  end
  return tostring(value)
end

-- u64 of 2^63 and above are negative in Lua; as numbers to add and compare they are not.
local function unsigned(value)
  return value < 0 and value + 0x1p64 or value
end

-- Minimum, mean, maximum and the count of NaN; nil where nothing is a number.
local function statistics(data, count, dtype)
  local least, most, sum, numbers = nil, nil, 0.0, 0
  for i = 1, count do
    local value = data[i]
    if dtype == "u64" then
      value = unsigned(value)
    end
    if value == value then
      if not least or value < least then
        least = value
      end
      if not most or value > most then
        most = value
      end
      sum = sum + value
      numbers = numbers + 1
    end
  end
  return least, numbers > 0 and sum / numbers, most, count - numbers
end

local function statistics_text(data, count, dtype, total)
  local least, mean, most, nans = statistics(data, count, dtype)
  local parts = {}
  if least then
    parts[1] = ("min %s, mean %s, max %s"):format(value_text(least), value_text(mean), value_text(most))
  end
  if nans > 0 then
    parts[#parts + 1] = ("%d NaN"):format(nans)
  end
  local of = count < total and (" of the first %d"):format(count) or ""
  return (" (%s%s)"):format(table.concat(parts, ", "), of)
end

-- Structs: the first two.
local function structs_text(data, dtype, total)
  local shown = {}
  for i = 1, math.min(2, total) do
    shown[i] = dtype:text(data[i])
  end
  return table.concat(shown, ", ") .. (total > 2 and ", ..." or "")
end

local function values_text(data, count, dtype, total)
  if total == 0 then
    return "empty"
  elseif type(dtype) == "table" then
    return structs_text(data, dtype, total)
  end
  local shown = {}
  for i = 1, math.min(SHOWN, count) do
    shown[i] = value_text(data[i])
  end
  local text = table.concat(shown, ", ") .. (total > SHOWN and ", ..." or "")
  if dtype == "bool" or COMPLEX[dtype] then
    return text
  end
  return text .. statistics_text(data, count, dtype, total)
end

-- ---- objects ---------------------------------------------------------------------------------------------------

-- What a buffer holds. One whose elements lie so that no single copy reads them (a transposed one) is packed first; not
-- at once, since packing is work for the device, which a recording would take down.
local function read(buffer)
  local ok, data = pcall(buffer.read, buffer)
  if ok then
    return data
  elseif errors.kind(data) ~= "unsupported_strides" then
    error(data, 0)
  end
  local packed <close> = buffer:contiguous()
  return packed:read()
end

-- The first elements of a buffer as a host array, and how many.
local function first_elements(buffer)
  local count = buffer.count
  if count <= MOST then
    return read(buffer), count
  end
  local rows = buffer.shape[1]
  local of_row = count // rows
  local last = math.max(1, math.min(rows, MOST // of_row))
  return read(buffer:slice(1, last)), math.min(last * of_row, MOST)
end

--- Text of a buffer.
-- @tparam buffer buffer
-- @tparam string head what it is: "luhip.buffer: f32[4] on cpu:0"
-- @treturn string one line; never raises, whatever state the buffer is in
function summary.buffer(buffer, head)
  local ok, text = pcall(function()
    local data, count = first_elements(buffer)
    return values_text(data, count, buffer.dtype, buffer.count)
  end)
  return ("%s: %s"):format(head, ok and text or errors.message(text))
end

--- Text of a host array.
-- @tparam array array
-- @tparam string head what it is
-- @treturn string one line
function summary.array(array, head)
  local ok, text = pcall(function()
    local count = #array
    return values_text(array, math.min(count, MOST), array.dtype, count)
  end)
  return ("%s: %s"):format(head, ok and text or errors.message(text))
end

--- Text of a kernel: its parameters, and what it needs.
-- @tparam kernel kernel
-- @tparam string head what it is
-- @treturn string one line
function summary.kernel(kernel, head)
  local ok, text = pcall(function()
    local parameters = {}
    for i, param in ipairs(kernel.params) do
      local declared = param.name ~= "" and ("%s %s"):format(param.type, param.name) or param.type
      parameters[i] = declared:gsub("%* ", "*")
    end
    local needs = {}
    for _, field in ipairs { "registers", "shared_bytes", "local_bytes" } do
      if kernel[field] > 0 then
        needs[#needs + 1] = ("%d %s"):format(kernel[field], (field:gsub("_", " ")))
      end
    end
    local tail = #needs > 0 and ("; %s"):format(table.concat(needs, ", ")) or ""
    return (" (%s)%s"):format(table.concat(parameters, ", "), tail)
  end)
  return head .. (ok and text or "")
end

--- Lets tostring use these texts. What the core's own tostring gives is the head of each; a freed object and a kernel
-- that is not compiled have nothing to add.
-- @tparam table core luhip.core
function summary.install(core)
  core.heads = core.heads or {}
  for _, class in ipairs { "buffer", "array", "kernel" } do
    local meta = core.metatables[class]
    local head = core.heads[class] or meta.__tostring
    core.heads[class] = head
    meta.__tostring = function(object)
      local text = head(object)
      return text:find "%)$" and text or summary[class](object, text)
    end
  end
end

return summary
