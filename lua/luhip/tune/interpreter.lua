--- The program that runs Lua in a process of our own: the interpreter that runs this, or the system's where this is
-- another program with Lua in it. Dependencies: luhip.core, luhip.errors.
-- @module luhip.tune.interpreter

local core = require "luhip.core"
local errors = require "luhip.errors"

local NAMES = { "lua5.4", "lua" }

local function is_there(path)
  local file = io.open(path, "rb")
  return file and file:close()
end

--- Finds it.
-- @treturn string its path
-- @raise kind "not_found"
local function interpreter()
  local own = core.executable()
  if own and own:match "([^/]*)$":find "^lua" then
    return own
  end
  for folder in (os.getenv "PATH" or "/usr/local/bin:/usr/bin:/bin"):gmatch "[^:]+" do
    for _, name in ipairs(NAMES) do
      if is_there(folder .. "/" .. name) then
        return folder .. "/" .. name
      end
    end
  end
  errors.raise("not_found", "there is no lua5.4 to run it with")
end

return interpreter
