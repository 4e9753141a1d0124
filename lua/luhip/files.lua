--- Files of buffers, by their ending: `luhip.save` and `luhip.load`.
--
--    luhip.save("x.npy", x)               luhip.load "x.npy"              NumPy's (luhip.npy)
--    luhip.save("all.npz", { x = x })     luhip.load "all.npz"            a table of arrays
--    luhip.save("x.png", x)                                               a picture (luhip.picture); .ppm too
--    luhip.save("x.bin", x)               luhip.load("x.bin", "f32")      the bytes alone; .raw too
--
-- Dependencies: luhip.core, luhip.errors, luhip.whole_file;
-- luhip.host_array, luhip.npy, luhip.picture when they are needed.
-- @module luhip.files

local core = require "luhip.core"
local errors = require "luhip.errors"
local whole_file = require "luhip.whole_file"

local files = {}

local KNOWN = ".npy, .npz, .bin and .raw"

local function ending_of(what, path)
  if type(path) ~= "string" then
    errors.raise("type", "%s: a path expected, not %s", what, errors.describe(path))
  end
  return path:lower():match "%.(%w+)$"
end

-- Formats that have no options are given none.
local function no_options(path, options)
  local key = options ~= nil and (type(options) ~= "table" or next(options)) or nil
  if key ~= nil then
    errors.raise(
      "argument",
      "save: '%s' takes no options (given %s)",
      path,
      errors.describe(key == true and options or key)
    )
  end
end

--- Writes a buffer or host array to a file, whole or not at all.
-- @tparam string path its ending tells the format
-- @param x a buffer, a host array, or for .npz a table of them by name
-- @tparam[opt] table options .npz: `compressed`; pictures: `low`, `high`, `colors`
-- @raise kinds "type", "argument", "shape", "file"
function files.save(path, x, options)
  local ending = ending_of("save", path)
  if ending == "npy" then
    no_options(path, options)
    require("luhip.npy").save(path, x)
  elseif ending == "npz" then
    require("luhip.npy").save_all(path, x, options)
  elseif ending == "png" or ending == "ppm" then
    require("luhip.picture").save(path, x, options)
  elseif ending == "bin" or ending == "raw" then
    no_options(path, options)
    whole_file.write(path, require "luhip.host_array"("save", x):bytes_string())
  else
    errors.raise("argument", "save: no format is known for '%s'; there are %s, .png and .ppm", path, KNOWN)
  end
end

local function load_raw(path, dtype, shape)
  local bytes, why = whole_file.read(path)
  if not bytes then
    errors.raise("file", "%s", why)
  end
  local known, one = pcall(core.array, dtype, 1)
  if not known then
    errors.raise(
      errors.kind(one) or "argument",
      "load: %s",
      errors.message(one):match "%((.*)%)$" or errors.message(one)
    )
  end
  local size = one.bytes
  if not shape and #bytes % size ~= 0 then
    errors.raise("file", "%s has %d bytes, which is no whole number of %s", path, #bytes, dtype)
  end
  local array = core.array(dtype, shape or #bytes // size)
  if array.bytes ~= #bytes then
    errors.raise("file", "%s has %d bytes, and %d are wanted", path, #bytes, array.bytes)
  end
  return core.array(dtype, shape or #bytes // size, bytes)
end

--- Reads a file into host memory.
-- @tparam string path its ending tells the format
-- @tparam[opt] string dtype of .bin and .raw
-- @param[opt] shape of .bin and .raw; by default as many elements as there are
-- @return a host array; for .npz a table of them by name
-- @raise kinds "type", "argument", "file"
function files.load(path, dtype, shape)
  local ending = ending_of("load", path)
  if ending == "npy" or ending == "npz" then
    if dtype ~= nil then
      errors.raise("argument", "load: %s tells its types itself", path)
    end
    local npy = require "luhip.npy"
    return ending == "npy" and npy.load(path) or npy.load_all(path)
  elseif ending == "bin" or ending == "raw" then
    if dtype == nil then
      errors.raise("argument", "load: which type do the elements of %s have?", path)
    end
    return load_raw(path, dtype, shape)
  end
  errors.raise("argument", "load: no format is known for '%s'; there are %s", path, KNOWN)
end

return files
