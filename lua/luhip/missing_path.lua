--- What to say of a path that is not there: the nearest of its neighbours, or of the command's words.
-- Dependencies: luhip.core, luhip.nearest.
-- @module luhip.missing_path

local core = require "luhip.core"
local nearest = require "luhip.nearest"

--- A sentence about a path that cannot be opened because nothing is there.
-- @tparam string path
-- @tparam[opt] {string,...} commands words that a path without a folder could have meant
-- @treturn ?string nil where something is there
local function missing_path(path, commands)
  if path == "" then
    return "cannot open '': an empty word is no file's name"
  elseif core.path_state(path) then
    return nil
  end
  local folder, name = path:match "^(.*/)([^/]*)$"
  local near = nearest(name or path, core.folder_names(folder or ".") or {})
  local command = not folder and not near and nearest(path, commands or {})
  if command then
    return ("there is no file or command '%s'; did you mean 'luhip %s'?"):format(path, command)
  end
  local hint = near and ("; did you mean %s%s?"):format(folder or "", near) or ""
  return ("cannot open %s: there is no such file%s"):format(path, hint)
end

return missing_path
