--- What went wrong with a candidate, as data: the status of its row, and the words for a process that died.
-- Dependencies: luhip.errors.
-- @module luhip.tune.failure

local errors = require "luhip.errors"

local failure = {}

-- Kinds of errors that mean one status wherever they appear.
local STATUS_OF_KIND = {
  compile = "compile",
  limits = "limits",
  fault = "fault",
  poisoned = "fault",
  timeout = "timeout",
  verify = "verify",
}

-- Otherwise the stage decides.
local STATUS_OF_STAGE = {
  constraint = "constraint",
  geometry = "limits",
  compile = "compile",
  launch = "launch",
  verify = "verify",
  measure = "objective",
  objective = "objective",
}

--- The kind of an error that counts: a read or a sync that met several failures carries them, and the first is the one
-- to blame.
-- @param e any error
-- @treturn ?string
function failure.kind(e)
  local kind = errors.kind(e)
  if kind and not STATUS_OF_KIND[kind] and e.failures[1] then
    return errors.kind(e.failures[1])
  end
  return kind
end

--- The status of a row.
-- @tparam ?string kind from `failure.kind`
-- @tparam string stage how far the candidate came
-- @treturn string
function failure.status(kind, stage)
  return STATUS_OF_KIND[kind] or STATUS_OF_STAGE[stage]
end

--- Whether an error of this kind may be the first sign of a device that did not survive.
-- @tparam ?string kind from `failure.kind`
-- @treturn boolean
function failure.is_suspicious(kind)
  return not STATUS_OF_KIND[kind] or kind == "fault" or kind == "poisoned" or kind == "timeout"
end

--- Whether it is the user's wish to end.
-- @param e any error
-- @treturn boolean
function failure.is_interrupt(e)
  return errors.kind(e) == "interrupted" or (type(e) == "string" and e:find "interrupted!" ~= nil)
end

--- The error itself where it is one of ours, else one with its text.
-- @param e any error
-- @return error
function failure.as_error(e)
  if errors.kind(e) then
    return e
  end
  return errors.new("argument", "%s", tostring(e))
end

local NAMES = { [4] = "SIGILL", [6] = "SIGABRT", [7] = "SIGBUS", [8] = "SIGFPE", [9] = "SIGKILL", [11] = "SIGSEGV" }

--- The name of a signal.
-- @tparam integer number
-- @treturn string
function failure.signal(number)
  return NAMES[number] or ("signal %d"):format(number)
end

return failure
