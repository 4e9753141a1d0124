--- Lines of earlier sessions: a file with a line each, its owner's alone.
--
-- $XDG_STATE_HOME/luhip/history, or ~/.local/state/luhip/history. A line is appended when it is read, so that a
-- process that dies and several at once lose nothing. Where there is no home, or it cannot be written, sessions are
-- without one; nobody is told.
-- Dependencies: luhip.core.
-- @module luhip.prompt.history

local core = require "luhip.core"

local history = {}

local KEPT = 2000 -- lines; a file of twice as many is cut to these

--- The file's path.
-- @treturn ?string nil where there is no home
function history.path()
  local state, home = os.getenv "XDG_STATE_HOME", os.getenv "HOME"
  if state and state:sub(1, 1) == "/" then
    return state .. "/luhip/history"
  elseif home and home:sub(1, 1) == "/" then
    return home .. "/.local/state/luhip/history"
  end
end

--- Reads the last lines.
-- @treturn {string,...} oldest first
function history.load()
  local path, lines = history.path(), {}
  local state = path and core.path_state(path)
  local file = state and state.type == "file" and io.open(path, "r")
  if not file then
    return lines
  end
  local ok = pcall(function()
    for line in file:lines() do
      lines[#lines + 1] = line:find "%S" and not line:find "%z" and line or nil
    end
  end)
  file:close()
  if not ok or #lines <= KEPT then
    return lines
  end
  local last = table.move(lines, #lines - KEPT + 1, #lines, 1, {})
  if #lines >= 2 * KEPT and state.own then
    core.write_file(path, table.concat(last, "\n") .. "\n")
  end
  return last
end

local made

--- Keeps a line.
-- @tparam string line without its end
function history.add(line)
  local path = history.path()
  if not path or not line:find "%S" then
    return
  end
  if not made then
    core.make_folder((path:match "^(.*)/"))
    made = true
  end
  core.append_private(path, line .. "\n")
end

return history
