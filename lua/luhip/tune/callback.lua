--- Calling what the user gave as a function of the configuration.
--
-- What goes wrong with a candidate is data, but an error that the user's own function raises is the user's: it ends
-- the run as it was raised. To be told apart on its way through the runner, it travels wrapped. No dependencies.
-- @module luhip.tune.callback

local callback = {}

local Thrown = { __name = "luhip.tune.thrown" }

function Thrown:__tostring()
  return tostring(self.value)
end

local function check(ok, value, ...)
  if not ok then
    error(setmetatable({ value = value }, Thrown), 0)
  end
  return value, ...
end

--- Calls a function of the user's.
-- @tparam function fn
-- @param ... what it is given
-- @return what it returns
-- @raise what it raises, wrapped
function callback.call(fn, ...)
  return check(pcall(fn, ...))
end

--- Takes the wrapping off an error.
-- @param e any error
-- @return the error as it was raised
-- @treturn boolean whether it came from a function of the user's
function callback.unwrap(e)
  if getmetatable(e) == Thrown then
    return e.value, true
  end
  return e, false
end

return callback
