--- Which device a worker takes that was started together with others on one machine (mpirun, srun): each its own.
--
-- Launchers tell a process its number among those of its machine, by a variable. A worker that no setting gives a
-- device takes the one of that number among the best that are there, and from the first again behind the last. Where
-- the launcher shows each process a device of its own (srun --gpus-per-task=1), there is nothing left to choose.
-- Dependencies: luhip, luhip.config.
-- @module luhip.tune.ranks

local config = require "luhip.config"
local luhip = require "luhip"

local ranks = {}

-- Open MPI, Slurm, MPICH and Intel MPI (Hydra), MVAPICH, Cray.
local VARIABLES = {
  "OMPI_COMM_WORLD_LOCAL_RANK",
  "SLURM_LOCALID",
  "MPI_LOCALRANKID",
  "MV2_COMM_WORLD_LOCAL_RANK",
  "PALS_LOCAL_RANKID",
}

--- The number of this process among those that were started with it on this machine.
-- @treturn ?integer from 0; nil where nobody says so
function ranks.number()
  for _, name in ipairs(VARIABLES) do
    local value = os.getenv(name)
    local number = value and value:find "^%d+$" and math.tointeger(tonumber(value))
    if number then
      return number
    end
  end
  return nil
end

-- Ids of the GPUs of the back end that an open without an id takes.
local function gpus()
  local list, backend = {}, nil
  for _, device in ipairs(luhip.devices()) do
    if not device.reason and device.backend ~= "cpu" then
      backend = backend or device.backend
      list[#list + 1] = device.backend == backend and device.id or nil
    end
  end
  return list
end

--- The device of this process.
-- @treturn ?string its id; nil where a setting names one, or there is nothing to choose
function ranks.device()
  local number = ranks.number()
  if not number or config.config "device" then
    return nil
  end
  local list = gpus()
  return #list > 1 and list[number % #list + 1] or nil
end

return ranks
