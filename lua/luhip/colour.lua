--- Colour in what the command prints: at a terminal only, and not where NO_COLOR is set.
-- Dependencies: luhip.core.
-- @module luhip.colour

local CODES = { red = "31", yellow = "33", bold = "1" }

--- A text in a colour, where its file shows colours.
-- @tparam integer fd the descriptor it is written to: 1 or 2
-- @tparam string name "red", "yellow" or "bold"
-- @tparam string text
-- @treturn string
local function colour(fd, name, text)
  local unwanted, terminal = os.getenv "NO_COLOR", os.getenv "TERM"
  if (unwanted and unwanted ~= "") or not terminal or terminal == "" or terminal == "dumb" then
    return text
  end
  local ok, core = pcall(require, "luhip.core")
  if not ok or not core.isatty(fd) then
    return text
  end
  return ("\27[%sm%s\27[0m"):format(CODES[name], text)
end

return colour
