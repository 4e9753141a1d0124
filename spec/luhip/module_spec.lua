local support = require "spec.support"

describe("require 'luhip'", function()
  it("sets no globals and starts no device", function()
    local r = support.lua [[
      local before = {}
      for name in pairs(_G) do before[name] = true end
      local luhip = require "luhip"
      require "luhip.tune"
      for name in pairs(_G) do assert(before[name], name) end
      local threads = 0
      for line in io.lines "/proc/self/status" do
        threads = tonumber(line:match "^Threads:%s*(%d+)") or threads
      end
      print(luhip.version, threads)
    ]]
    assert.equal("0.1.0\t1\n", r.stdout, r.stderr)
  end)

  it("has the names of its page", function()
    local luhip = require "luhip"
    for _, name in ipairs { "devices", "open", "array", "is_error", "cdiv" } do
      assert.is_function(luhip[name], name)
    end
    assert.is_not_nil(luhip.null)
    assert.is_table(luhip.dtypes)
    assert.equal(require "luhip.tune", luhip.tune)
    assert.is_nil(luhip.nothing)
  end)

  it("divides rounding up", function()
    local luhip = require "luhip"
    assert.equal(4, luhip.cdiv(1000, 256))
    assert.equal(4, luhip.cdiv(1024, 256))
    assert.equal(0, luhip.cdiv(0, 256))
    assert.equal(1, luhip.cdiv(1.0, 3))
    assert.equal("integer", math.type(luhip.cdiv(8.0, 2)))
    support.assert_error_kind("argument", function()
      luhip.cdiv(1, 0)
    end)
    for _, wrong in ipairs { 1.5, "8", {} } do
      support.assert_error_kind("type", function()
        luhip.cdiv(wrong, 2)
      end)
    end
  end)

  it("knows its errors from others", function()
    local luhip = require "luhip"
    local _, e = pcall(luhip.open, "nothing:0")
    assert.is_true(luhip.is_error(e))
    assert.is_false(luhip.is_error "text")
    assert.is_false(luhip.is_error(nil))
    assert.is_false(luhip.is_error { kind = "argument", message = "not ours" })
  end)

  it("names the caller's line in errors of the Lua side", function()
    local r = support.lua [[
      local luhip = require "luhip"
      print(select(2, pcall(function()
        luhip.cdiv(1, 0)
      end)))
    ]]
    assert.truthy(r.stdout:find ":3: cdiv: division by zero", r.stdout .. r.stderr)
  end)
end)
