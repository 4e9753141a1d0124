-- luhip.clear_cache: what goes and what stays.
local luhip = require "luhip"
local support = require "spec.support"

describe("luhip.clear_cache", function()
  support.scope()
  local folder

  before_each(function()
    folder = support.temporary_directory() .. "/cache"
    luhip.config { cache = { folder = folder } }
    support.defer(function()
      require("luhip.core").config_set("script", "cache.folder", nil)
    end)
  end)

  it("K2 forgets what is on disk and in memory, and what is loaded stays", function()
    local dev = support.open(support.devices()[1])
    local source = 'extern "C" __global__ void k(int *x) { x[0] = 41; } // ' .. folder
    local k, x = dev:kernel(source), dev:buffer("i32", 1, 0)
    support.write_file(folder .. "/notes.txt", "mine")
    assert.equal(1, luhip.clear_cache())
    assert.equal(0, luhip.clear_cache())
    assert.equal("mine", support.read_file(folder .. "/notes.txt"))
    k:launch({ grid = 1, block = 1 }, x)
    assert.equal(41, x:read()[1])
    local before = require("luhip.core").compile_stats().compiles
    dev:kernel(source)
    assert.equal(before + 1, require("luhip.core").compile_stats().compiles)
  end)

  it("K2 a folder that is not there holds nothing", function()
    assert.equal(0, luhip.clear_cache())
    assert.is_nil(io.open(folder))
    luhip.config { cache = { folder = folder, enabled = false } }
    assert.equal(0, luhip.clear_cache())
    require("luhip.core").config_set("script", "cache.enabled", nil)
  end)

  it("K5 a folder that others may write is left alone", function()
    support.run("mkdir -m 777 " .. support.quote(folder))
    support.write_file(folder .. "/a.kernel", "x")
    support.assert_error_kind("cache", luhip.clear_cache, folder, "chmod 700")
    assert.equal("x", support.read_file(folder .. "/a.kernel"))
    support.run("rm -r " .. support.quote(folder))
    support.write_file(folder, "a file")
    support.assert_error_kind("cache", luhip.clear_cache, folder)
  end)
end)
