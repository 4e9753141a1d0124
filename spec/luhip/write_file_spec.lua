-- Files that luhip writes for the user: whole, or an error.

local core = require "luhip.core"
local png = require "luhip.png"
local support = require "spec.support"
local tune = require "luhip.tune"

local function is(test, path)
  return (os.execute(("test %s %s"):format(test, support.quote(path))))
end

-- A device that is always full; /dev/full where there is one.
local function full(directory)
  if is("-c", "/dev/full") then
    return "/dev/full"
  end
  local path = directory .. "/full"
  return os.execute(("mknod %s c 1 7 2>/dev/null"):format(support.quote(path))) and path
end

describe("core.write_file", function()
  support.scope()
  local directory

  before_each(function()
    directory = support.temporary_directory()
  end)

  it("writes what it is given and leaves nothing else behind", function()
    local path = directory .. "/a"
    assert.is_true(core.write_file(path, "one\0two"))
    assert.is_true(core.write_file(path, "3"))
    assert.equal("3", support.read_file(path))
    local list = io.popen("ls -A " .. support.quote(directory))
    assert.equal("a\n", list:read "a")
    list:close()
  end)

  it("keeps the mode of a file that is there", function()
    local path = directory .. "/a"
    assert.is_true(core.write_file(path, "1"))
    os.execute("chmod 640 " .. support.quote(path))
    assert.is_true(core.write_file(path, "2"))
    local mode = io.popen("stat -c %a " .. support.quote(path))
    assert.equal("640\n", mode:read "a")
    mode:close()
  end)

  it("writes through links", function()
    assert.is_true(core.write_file(directory .. "/a", "1"))
    os.execute(("ln -s a %s/b"):format(support.quote(directory)))
    assert.is_true(core.write_file(directory .. "/b", "2"))
    assert.equal("2", support.read_file(directory .. "/a"))
    assert.is_true(is("-L", directory .. "/b"))
  end)

  it("says why a file cannot be written", function()
    local ok, why = core.write_file(directory .. "/none/a", "1")
    assert.is_nil(ok)
    assert.truthy(why:find(directory .. "/none/a: No such file", 1, true), why)
    ok, why = core.write_file(directory, "1")
    assert.is_nil(ok)
    assert.truthy(why:find("directory", 1, true), why)
  end)

  it("hears of a full disk and leaves a device a device", function()
    local path = full(directory)
    if not path then
      return pending "there is no device that is always full"
    end
    local ok, why = core.write_file(path, "1")
    assert.is_nil(ok)
    assert.truthy(why:find("No space", 1, true), why)
    support.assert_error_kind("file", function()
      png.write(path, 1, 1, "a")
    end, "No space")
    assert.is_true(is("-c", path))
  end)
end)

support.each_device(function(id)
  it("profiles and tuning results hear of a full disk", function()
    local path = full(support.temporary_directory())
    if not path then
      return pending "there is no device that is always full"
    end
    local dev = support.open(id)
    local profile = dev:profile(function()
      dev:buffer("f32", 4, 0)
    end)
    support.assert_error_kind("file", function()
      profile:trace(path)
    end, "No space")
    local result = tune {
      device = dev,
      source = 'extern "C" __global__ void nothing() {}',
      params = { A = { 1 } },
      grid = 1,
      block = 1,
      progress = false,
    }
    support.assert_error_kind("file", function()
      result:save_json(path)
    end, "No space")
    assert.is_true(is("-c", path))
  end)
end)
