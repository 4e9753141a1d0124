-- Names that an object does not have are errors, not nil: they are misspelt.

local core = require "luhip.core"
local luhip = require "luhip"
local support = require "spec.support"
local fails = support.assert_error_kind

support.each_device(function(id)
  support.scope()

  -- One object of each class that a script can have, by the class's name.
  local function objects()
    local dev = support.open(id)
    local x = dev:buffer("f32", 4, 1)
    local prog = dev:compile 'extern "C" __global__ void k(float *x) {}'
    local kernel = prog:kernel "k"
    local window = dev:start_profile()
    return {
      device = dev,
      buffer = x,
      array = x:read(),
      program = prog,
      kernel = kernel,
      launcher = kernel:bind { grid = 1, block = 1 },
      stream = dev:stream(),
      event = dev:record(),
      future = x:read_async(),
      graph = dev:capture(function()
        kernel:launch({ grid = 1, block = 1 }, x)
      end),
      window = window,
      duration = window:stop(),
      resource = dev:resource(x),
    }
  end

  it("a misspelt field is an error that names the class and the nearest name", function()
    local all = objects()
    for class, object in pairs(all) do
      fails("argument", function()
        return object.nonsense_xyz
      end, "a luhip." .. class .. " has no field or method 'nonsense_xyz'")
      fails("argument", function()
        object:fere()
      end, "did you mean 'free'?")
    end
    fails("argument", function()
      return all.device.unit
    end, "did you mean 'units'?")
    fails("argument", function()
      return all.buffer.lenght
    end, "its fields are bytes, count, ")
    fails("argument", function()
      return all.kernel.nmae
    end, "did you mean 'name'?")
  end)

  it("the error is the user's line", function()
    local line = debug.getinfo(1, "l").currentline + 2
    local _, e = pcall(function()
      return support.open(id).nonsense_xyz
    end)
    assert.matches("fields_spec.lua:" .. line .. ":", tostring(e))
  end)

  it("an object without elements is not indexed by numbers, and ends no ipairs silently", function()
    local all = objects()
    fails("type", function()
      return all.buffer[1]
    end, "luhip.buffer has no elements to be indexed by a number", "read()")
    fails("type", function()
      for _ in ipairs(all.buffer) do
        error "an element"
      end
    end, "no elements")
    fails("type", function()
      return all.device[true]
    end, "luhip.device has no elements to be indexed by a boolean")
    fails("type", function()
      return all.stream[nil]
    end, "a nil")
  end)

  it("what a module adds is found, and what has no value is nil", function()
    local dev = support.open(id)
    core.methods.device.answer = function()
      return 42
    end
    assert.equal(42, dev:answer())
    core.methods.device.answer = nil
    fails("argument", function()
      return dev.answer
    end, "'answer'")
    for _, name in ipairs { "free", "shape", "read" } do
      assert.is_not_nil(dev:buffer("f32", 1)[name])
    end
  end)

  it("getmetatable tells classes apart without asking for a field", function()
    local all = objects()
    for class, object in pairs(all) do
      assert.equal("luhip." .. class, getmetatable(object))
    end
  end)

  it("errors have nil for fields that they lack, as handlers ask any error", function()
    local e = select(2, pcall(luhip.open, "nothing:0"))
    assert.is_true(luhip.is_error(e))
    assert.is_nil(e.errno)
    assert.is_nil(e[1])
  end)
end)
