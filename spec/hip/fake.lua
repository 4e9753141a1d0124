-- Runs scripts over drivers of the specs' own, where there is no GPU: spec/support/fake_cuda.c and fake_hip.c.
--
--   fake.cuda(script, { version = 13000, env = {} })             -- what the script printed
--   fake.hip(script, { version = 60140091, env = {}, flags = "-DWITHOUT_hipMallocAsync" })
--
-- A script has luhip, testing, `calls(fn)`: how often fn calls each function of the driver, and
-- `raises(kind, text, fn, ...)`.

local support = require "spec.support"

local fake = {}

local HEAD = [[
  local luhip = require "luhip"
  local testing = require("luhip.core").testing
  local read = assert(package.loadlib("%s", "%s"))
  local function calls(fn)
    read()
    fn()
    local counts = setmetatable({}, { __index = function() return 0 end })
    for name, n in read():gmatch "(%%S+) (%%d+)" do
      counts[name] = tonumber(n)
    end
    return counts
  end
  local function raises(kind, text, fn, ...)
    local ok, e = pcall(fn, ...)
    assert(not ok and e.kind == kind and e.message:find(text, 1, true), tostring(e.kind) .. ": " .. tostring(e))
    return e
  end
]]

local function build(output, source, flags)
  local built =
    support.run(("cc -shared -fPIC -O1 -w %s -o %s %s/spec/support/%s"):format(flags, output, support.root, source))
  assert(built.code == 0, built.stderr)
end

local function run(folder, library, counts, script, env, more)
  local path = os.getenv "LD_LIBRARY_PATH"
  local all = { LD_LIBRARY_PATH = path and folder .. ":" .. path or folder, LUHIP_DEVICE = false }
  for _, given in ipairs { env, more or {} } do
    for name, value in pairs(given) do
      all[name] = value
    end
  end
  local result = support.lua(HEAD:format(library, counts) .. script, { env = all })
  assert(result.code == 0, result.stderr)
  return result.stdout
end

function fake.cuda(script, options)
  options = options or {}
  local folder = support.temporary_directory()
  build(folder .. "/libcuda.so.1", "fake_cuda.c", "-DVERSION=" .. (options.version or 13000))
  return run(folder, "libcuda.so.1", "fake_cuda_calls", script, {}, options.env)
end

-- Whether there is a compiler for fake.cuda's devices.
local nvrtc
function fake.has_nvrtc()
  if nvrtc == nil then
    nvrtc = fake.cuda [[
      local ok = pcall(function() return luhip.open "cuda:0":toolchain() end)
      io.write(ok and "yes" or "no")
    ]] == "yes"
  end
  return nvrtc
end

-- The library that has hiprtc's functions here.
local rtc
local function hiprtc()
  if rtc then
    return rtc
  end
  local result = support.lua [[
    local core = require "luhip.core"
    local name = core.find_library { "libamdhip64.so.5", "libamdhip64.so.6", "libhiprtc.so.7" }
    for line in io.lines "/proc/self/maps" do
      local path = line:match "/.*"
      if name and path and path:find("/" .. name, 1, true) then
        io.write(path)
        return
      end
    end
  ]]
  assert(result.code == 0, result.stderr)
  rtc = result.stdout
  return rtc
end

--- options.alone: no library beside it has hiprtc either.
function fake.hip(script, options)
  options = options or {}
  local version, folder = options.version or 60140091, support.temporary_directory()
  local name = ("libamdhip64.so.%d"):format(version // 10000000)
  build(folder .. "/" .. name, "fake_hip.c", ("-DVERSION=%d %s"):format(version, options.flags or ""))
  if version >= 70000000 then
    build(folder .. "/libhiprtc.so.7", "fake_hip.c", "-DRTC")
  end
  -- Names that are tried before ours, and hiprtc's where ours is to be alone, are of files that cannot be loaded.
  local others = { "libamdhip64.so.7", "libamdhip64.so.6" }
  if options.alone then
    others = { "libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so" }
  end
  for _, other in ipairs(others) do
    if other > name then
      support.write_file(folder .. "/" .. other, "")
    end
  end
  return run(folder, name, "fake_hip_calls", script, { FAKE_HIP_RTC = hiprtc() }, options.env)
end

--- Source of a kernel and a global, for fakes whose compiler is real.
fake.SOURCE = [==[
  local COPY = "extern \"C\" { __device__ int table_[4]; }\n" ..
    "extern \"C\" __global__ void copy(const int *x, int *y, int n) {" ..
    " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] + table_[i % 4]; }"
]==]

return fake
