--- `dev` at the prompt: opened at once where that is cheap, else when it is first used.
--
-- The CPU device is there in a fraction of a millisecond; looking for GPUs loads their drivers' libraries, which takes
-- longer than a prompt should. So where a device file of a GPU is there, or the settings name one, `dev` waits until
-- it is asked for.
-- Dependencies: luhip.core, luhip.
-- @module luhip.prompt.device

local core = require "luhip.core"

-- What a GPU's kernel driver makes: AMD's, NVIDIA's, WSL's.
local GPU_FILES = { "/dev/kfd", "/dev/nvidiactl", "/dev/dxg" }

-- What to open now, or nil: that is to be found out later.
local function cheap()
  local config = require "luhip.config"
  config.load()
  local wanted = config.config "device"
  if wanted and wanted ~= "" then
    return wanted:find "^cpu" and wanted or nil
  end
  for _, path in ipairs(GPU_FILES) do
    if core.path_state(path) then
      return nil
    end
  end
  return "cpu"
end

--- The prompt's device.
-- @treturn table open(): the device, opened when it is not; opened(): the device or nil; close(); text(): a line that
--   announces it
local function new()
  local self, dev = {}, nil
  function self.open()
    dev = dev or require("luhip").open()
    return dev
  end
  function self.opened()
    return dev
  end
  function self.close()
    if dev then
      dev:close()
    end
    dev = nil
  end
  function self.text()
    local found, id = pcall(cheap)
    if found and id and not dev then
      local ok, opened = pcall(require("luhip").open, id)
      dev = ok and opened or nil
    end
    return dev and "dev is " .. dev.id or "dev is opened when it is first used"
  end
  return self
end

return new
