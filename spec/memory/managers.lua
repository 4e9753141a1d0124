-- What the specs of pools share.

local testing = require("luhip.core").testing

local managers = {}

--- A manager of plain bytes of the host with these pools; options as of testing.memory_manager.
function managers.open(pools, options)
  local wanted = { pools = pools }
  for key, value in pairs(options or {}) do
    wanted[key] = value
  end
  return testing.memory_manager(wanted)
end

--- Its pool of a role: "", "persistent".
function managers.pool(box, role)
  for _, p in ipairs(box:pools()) do
    if p.role == role then
      return p
    end
  end
end

return managers
