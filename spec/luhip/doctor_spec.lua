-- `luhip doctor`: what it finds, what it says is missing, and its exit code.
local support = require "spec.support"

describe("luhip doctor", function()
  support.scope()

  local function doctor(env, before, ...)
    local folder = support.temporary_directory()
    local all = { XDG_CONFIG_HOME = folder .. "/config", LUHIP_CACHE_DIR = folder .. "/cache" }
    for name, value in pairs(env or {}) do
      all[name] = value
    end
    local code = (before or "") .. "os.exit(require('luhip.doctor').run { ... }, true)"
    local result = support.lua(code, { env = all, directory = folder }, ...)
    return result, folder
  end

  local function has(result, ...)
    for _, fragment in ipairs { ... } do
      assert.truthy(
        result.stdout:find(fragment, 1, true),
        fragment .. " is not in:\n" .. result.stdout .. result.stderr
      )
    end
  end

  it("finds a device, the compiler and the state of the cache, and changes nothing", function()
    local result, folder = doctor()
    assert.equal(0, result.code, result.stderr)
    assert.equal("", result.stderr)
    has(result, "cpu:0", "compiler ", "version", folder .. "/cache", "not there yet", "processors", "(not there)")
    assert.is_nil(io.open(folder .. "/cache"))
    for _, device in ipairs(require("luhip").devices()) do
      has(result, device.reason or device.id)
    end
  end)

  it("names the one command for what is missing", function()
    local result = doctor(nil, "package.path = package.path:gsub('/usr/share[^;]*;?', '') ")
    assert.equal(0, result.code, result.stderr)
    has(result, "lua-dkjson             missing: tuning results as JSON", "\n  apt-get install ")
    assert.matches("\n  apt%-get install [%w .+-]*lua%-dkjson\n$", result.stdout)
  end)

  it("tells which settings hold and where they come from", function()
    local result, folder = doctor(
      { LUHIP_TIMEOUT = "77" },
      [[
      os.execute("mkdir -p config/luhip && printf '{ device = \"cpu\" }' > config/luhip/config.lua")
      os.execute("printf '{ streaming = { max_streams = 9 } }' > luhip.conf.lua && chmod 600 luhip.conf.lua")
    ]]
    )
    assert.equal(0, result.code, result.stderr)
    has(result, "timeout                77 (LUHIP_TIMEOUT)", "max_streams  9 (" .. folder .. "/luhip.conf.lua: ")
    has(result, "device                 cpu (" .. folder .. "/config/luhip/config.lua: device)")
  end)

  it("fails for a wrong setting and for a wrong file, and shows the rest all the same", function()
    local result = doctor { LUHIP_TIMEOUT = "soon" }
    assert.equal(1, result.code)
    has(result, "LUHIP_TIMEOUT is 'soon', which is not a number of milliseconds", "cpu:0")
    result = doctor(nil, [[os.execute("printf '{ devise = 1 }' > luhip.conf.lua && chmod 600 luhip.conf.lua")]])
    assert.equal(1, result.code)
    has(result, "luhip.conf.lua: devise is no setting; did you mean 'device'?", "cpu:0")
  end)

  it("fails for a chosen device that is not there", function()
    for _, id in ipairs { "cpux", "cpu:9", "cpu:0/63" } do
      local result = doctor { LUHIP_DEVICE = id }
      assert.equal(1, result.code)
      has(result, "the device that is set, '" .. id .. "', is not here; there is ")
    end
    for _, id in ipairs { "cpu", "cpu:0", "cpu:0/64" } do
      assert.equal(0, doctor({ LUHIP_DEVICE = id }).code)
    end
  end)

  it("fails when no device can be used, and tells why", function()
    local result = doctor { LUHIP_CPU_MEMORY = "none" }
    has(result, "cpu                    cannot be used: LUHIP_CPU_MEMORY is 'none'")
    assert.equal(1, result.code)
  end)

  it("tells when there is no compiler for kernels of the CPU device", function()
    local result = doctor { LUHIP_CLANG = "/nonexistent/clang++" }
    has(result, "LUHIP_CLANG names the compiler '/nonexistent/clang++'")
    local gpu = false
    for _, device in ipairs(require("luhip").devices()) do
      gpu = gpu or (not device.reason and device.backend ~= "cpu")
    end
    assert.equal(gpu and 0 or 1, result.code)
  end)

  it("tells why a cache folder is not used", function()
    local make = "os.execute 'mkdir -p cache && chmod %s cache' "
    has(doctor(nil, make:format "777"), "group or world may write it: nothing is kept")
    has(doctor(nil, make:format "700"), "0 kernels, 0 bytes")
    has(doctor(nil, "os.execute 'touch cache' "), "not a folder but a file")
    has(doctor { LUHIP_CACHE = "off" }, "nothing is kept on disk")
  end)

  it("takes no arguments", function()
    assert.equal(2, doctor(nil, nil, "more").code)
  end)
end)
