--- What is written to a file: the host array of a buffer, a view or an array.
-- Dependencies: luhip.core, luhip.errors.
-- @module luhip.host_array

local core = require "luhip.core"
local errors = require "luhip.errors"

--- Brings a buffer to the host; a view with gaps is packed before, since files have no strides.
-- @tparam string what the caller's word for its function, in messages
-- @param x a buffer or a host array
-- @treturn array a host array is given back as it is
-- @raise kind "type"; those of reading
local function host_array(what, x)
  local meta = debug.getmetatable(x)
  if meta == core.metatables.buffer then
    return x:contiguous():read()
  elseif meta == core.metatables.array then
    return x
  end
  errors.raise("type", "%s: a buffer or a host array expected, not %s", what, errors.describe(x))
end

return host_array
