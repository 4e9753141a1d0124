-- Objects that are written in Lua: a name that they do not have is an error, as it is for those of the core.

local luhip = require "luhip"
local support = require "spec.support"

support.each_device(function(id)
  support.scope()

  local function objects()
    local dev = support.open(id)
    local P = luhip.struct("P", { { "x", "f32" } })
    return {
      ["luhip.struct"] = P,
      ["luhip.struct_array"] = dev:from(P, { { x = 1 } }):read(),
      ["luhip.elementwise"] = luhip.elementwise("f32 x", "f32 y", "y = x"),
      ["luhip.reduce"] = luhip.reduce("f32 x", "f32 y", "x", "a + b", "0"),
      ["luhip.scan"] = luhip.scan("f32", "a + b", "0"),
      ["luhip.random"] = luhip.random(1),
      ["luhip.profile"] = dev:profile(function() end),
      ["luhip.memory_report"] = dev:memory_report(),
    }
  end

  it("a misspelt name is an error that tells what there is", function()
    local all = objects()
    for what, object in pairs(all) do
      support.assert_error_kind("argument", function()
        return object.nonsense_xyz
      end, ("a %s has no field or method 'nonsense_xyz'; there are "):format(what))
      assert.is_nil(object.__tojson)
      assert.is_nil(object[true])
    end
    for name, object in pairs {
      bytes = { all["luhip.struct"], "byts" },
      totable = { all["luhip.struct_array"], "totabel" },
      source = { all["luhip.elementwise"], "sorce" },
      drawn = { all["luhip.random"], "darwn" },
      count = { all["luhip.profile"], "cuont" },
      holders = { all["luhip.memory_report"], "holder" },
    } do
      support.assert_error_kind("argument", function()
        return object[1][object[2]]
      end, ("did you mean '%s'?"):format(name), "strict_objects_spec.lua:")
      assert.is_not_nil(object[1][name])
    end
  end)
end)
