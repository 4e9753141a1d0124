--- Pictures of buffers: PNG and PPM.
--
--    local picture = require "luhip.picture"
--    picture.save("heat.png", field)                                  -- black for the least value, white for the most
--    picture.save("heat.png", field, { low = 0, high = 100, colors = "heat" })
--    picture.save("photo.ppm", rgb)                                   -- u8, rows x columns x 3
--
-- A picture is a 2-D buffer or host array of numbers, its first row on top, or one of u8 with three of them for each
-- point: red, green, blue. The ending of the path tells the format.
-- Dependencies: luhip.errors, luhip.host_array, luhip.png, luhip.whole_file.
-- @module luhip.picture

local errors = require "luhip.errors"
local host_array = require "luhip.host_array"
local png = require "luhip.png"
local whole_file = require "luhip.whole_file"

local picture = {}

-- Colours along a line from 0 to 1; what lies between two is mixed.
local SCALES = {
  grey = { { 0, 0, 0 }, { 255, 255, 255 } },
  heat = { { 0, 0, 0 }, { 170, 0, 30 }, { 255, 110, 0 }, { 255, 220, 60 }, { 255, 255, 255 } },
  diverging = { { 30, 60, 180 }, { 150, 180, 230 }, { 245, 245, 245 }, { 235, 160, 130 }, { 180, 20, 40 } },
}

--- The names of colour scales: "grey", "heat" (dark to bright), "diverging" (blue to white to red).
picture.scales = { "grey", "heat", "diverging" }

-- The three bytes of each of 256 steps.
local function ramp(name)
  local scale = SCALES[name]
  if not scale then
    errors.raise(
      "argument",
      "picture: no colours '%s'; there are %s",
      tostring(name),
      table.concat(picture.scales, ", ")
    )
  end
  local colors = {}
  for step = 0, 255 do
    local place = step / 255 * (#scale - 1)
    local k = math.min(math.floor(place), #scale - 2)
    local from, to, part = scale[k + 1], scale[k + 2], place - k
    local mixed = {}
    for c = 1, 3 do
      mixed[c] = math.floor(from[c] + (to[c] - from[c]) * part + 0.5)
    end
    colors[step] = string.char(table.unpack(mixed))
  end
  return colors
end

-- The least and the most of what is a number.
local function bounds(array)
  local low, high = math.huge, -math.huge
  for i = 1, array.count do
    local v = array[i]
    if v == v and v > -math.huge and v < math.huge then
      low, high = math.min(low, v), math.max(high, v)
    end
  end
  return low, high
end

local function mapped(array, options)
  if type(array.count > 0 and array[1] or 0) ~= "number" then
    errors.raise("type", "picture: numbers expected, not %s", array.dtype)
  end
  local least, most = bounds(array)
  local low, high = options.low or least, options.high or most
  local colors, pixels = ramp(options.colors or "grey"), {}
  local scale = high > low and 255 / (high - low) or 0
  for i = 1, array.count do
    local v = array[i]
    local step = v ~= v and 0 or math.floor(math.max(0, math.min(255, (v - low) * scale)))
    pixels[i] = colors[step]
  end
  return table.concat(pixels)
end

local function check_options(options)
  if type(options) ~= "table" then
    errors.raise("type", "picture: options are a table, not %s", errors.describe(options))
  end
  for key, value in pairs(options) do
    if key ~= "low" and key ~= "high" and key ~= "colors" then
      errors.raise("argument", "picture: no option '%s'; there are low, high and colors", tostring(key))
    elseif key ~= "colors" and math.type(value) == nil then
      errors.raise("type", "picture: %s: a number expected, not a %s", key, type(value))
    end
  end
  local rises = not options.low or not options.high or options.low < options.high
  if not rises then -- nor do they when one is no number
    errors.raise("range", "picture: low has to be below high, not %s and %s", options.low, options.high)
  end
end

--- A picture's width, height and pixels: three bytes each, row by row from the top.
-- @param x a 2-D buffer or host array of numbers, or one of u8 whose last dimension is 3
-- @tparam[opt] table options `low` and `high`, what the first and the last colour stand for; `colors`, a scale
-- @treturn integer width
-- @treturn integer height
-- @treturn string pixels
function picture.pixels(x, options)
  options = options or {}
  check_options(options)
  local array = host_array("picture", x)
  local shape = array.shape
  if #shape == 3 and shape[3] == 3 and array.dtype == "u8" then
    return shape[2], shape[1], array:bytes_string()
  elseif #shape ~= 2 then
    errors.raise(
      "shape",
      "picture: rows and columns expected, or u8 with 3 for each point; not %s[%s]",
      array.dtype,
      table.concat(shape, ", ")
    )
  end
  return shape[2], shape[1], mapped(array, options)
end

--- Writes a picture.
-- @tparam string path ends in .png or .ppm
-- @param x as for `picture.pixels`
-- @tparam[opt] table options as for `picture.pixels`
-- @raise kinds "type", "shape", "argument", "file"
function picture.save(path, x, options)
  local ending = type(path) == "string" and path:lower():match "%.(%w+)$"
  if ending ~= "png" and ending ~= "ppm" then
    errors.raise("argument", "picture.save: the path ends in .png or .ppm, not like '%s'", tostring(path))
  end
  local width, height, pixels = picture.pixels(x, options)
  if width == 0 or height == 0 then
    errors.raise("shape", "picture.save: a picture of %d x %d points has nothing in it", width, height)
  elseif ending == "png" then
    png.write(path, width, height, pixels)
    return
  end
  whole_file.write(path, ("P6\n%d %d\n255\n"):format(width, height) .. pixels)
end

return picture
