--- Files read and written whole.
-- Dependencies: luhip.core, luhip.errors.
-- @module luhip.whole_file

local core = require "luhip.core"
local errors = require "luhip.errors"

local whole_file = {}

--- Reads a file.
-- @tparam string path
-- @treturn ?string its bytes; nil when it cannot be read
-- @treturn ?string why not: the path and the reason
function whole_file.read(path)
  local file, why = io.open(path, "rb")
  if not file then
    return nil, why
  end
  local bytes, reason = file:read "a"
  file:close()
  return bytes, reason and ("%s: %s"):format(path, reason)
end

--- Writes a file, whole or not at all.
-- @tparam string path
-- @tparam string bytes
-- @tparam[opt] string format of the message, around the path and the reason: "cannot write %s"
-- @raise kind "file"
function whole_file.write(path, bytes, format)
  local written, why = core.write_file(path, bytes)
  if not written then
    errors.raise("file", format or "%s", why)
  end
end

return whole_file
