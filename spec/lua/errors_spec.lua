-- Error objects: their fields and text, and the arguments that raise them.

local core = require "luhip.core"
local luhip = require "luhip"
local support = require "spec.support"

local fails = support.assert_error_kind

describe("error objects", function()
  it("are told from everything else", function()
    local _, e = pcall(luhip.open, "none:0")
    assert.is_true(luhip.is_error(e))
    for _, other in ipairs { "text", 5, {}, print, io.stdout, luhip.array("u8", 1) } do
      assert.is_false(luhip.is_error(other))
    end
    assert.is_false(luhip.is_error())
  end)

  it("carry kind, message, and the place in the script", function()
    local _, e = pcall(function()
      luhip.array("f32", -1)
    end)
    assert.equal("range", e.kind)
    assert.truthy(e.message:find("at least 0, got -1", 1, true))
    assert.is_nil(e.message:find("spec", 1, true))
    assert.truthy(e.position:find "errors_spec%.lua:%d+: $")
    assert.equal(e.position .. e.message, tostring(e))
    assert.equal("x: " .. tostring(e) .. "!", "x: " .. e .. "!")
    assert.equal("luhip.error", getmetatable(e))
    assert.is_nil(e.nothing)
  end)

  it("have lists for every kind, empty where there is nothing", function()
    local _, e = pcall(luhip.array, "f32", -1)
    assert.same({}, e.failures)
    assert.same({}, e.diagnostics)
    assert.same({}, e.skips)
    assert.equal(0, e.skipped)
    for _, name in ipairs { "log", "kernel", "block", "thread", "cause" } do
      assert.is_nil(e[name], name)
    end
  end)

  it("can be made by Lua modules, with fields of their own", function()
    local cause = core.error("file", "cannot be read")
    local e = core.error("verify", "differs", { row = 3, cause = cause, kind = "no", message = "no" })
    assert.same({ "verify", "differs", 3 }, { e.kind, e.message, e.row })
    assert.equal(cause, e.cause)
    assert.equal("differs\n  caused by: cannot be read", tostring(e))
    assert.is_true(luhip.is_error(e))
    local ok, same = pcall(error, e)
    assert.is_false(ok)
    assert.equal(e, same)
    fails("argument", function()
      core.error("no kind", "x")
    end, "no kind")
    fails("type", function()
      core.error("verify", 5)
    end)
    fails("type", function()
      core.error("verify", "x", 5)
    end)
  end)

  it("name the function and the argument, also when it is called by pcall", function()
    for _, case in ipairs {
      { luhip.array, "bad argument #1 to 'luhip.array' (dtype: a string expected, got nil)" },
      { luhip.open, "bad argument #1 to 'luhip.open'", 5 },
      { luhip.array("u8", 1).map, "bad argument #1 to 'array:map' (f: a function expected", luhip.array("u8", 1) },
      { core.isatty, "bad argument #1 to 'luhip.isatty' (fd must be at least 0, got -1)", -1 },
    } do
      local _, e = pcall(case[1], case[3])
      assert.is_true(luhip.is_error(e), tostring(e))
      assert.truthy(e.message:find(case[2], 1, true), e.message)
    end
  end)

  it("name options that are unknown, and the nearest that is known", function()
    fails("argument", function()
      luhip.open { devise = "cpu" }
    end, "unknown key 'devise'", "did you mean 'device'")
    fails("argument", function()
      luhip.open { colour = "red" }
    end, "unknown key 'colour'", "device, limit, checked, timeout")
    fails("argument", function()
      luhip.open { "cpu" }
    end, "number")
    fails("type", function()
      luhip.open { device = 5 }
    end, "device")
    fails("type", function()
      luhip.open { device = "cpu:0", checked = 1 }
    end, "checked")
    fails("range", function()
      luhip.open { device = "cpu:0", limit = -1 }
    end, "limit")
  end)

  it("name a device that is not there", function()
    fails("no_device", function()
      luhip.open "cpu:7"
    end, "cpu:7")
    fails("argument", function()
      luhip.open "cpu:0\0"
    end, "zero byte")
  end)
end)

support.each_device(function(id)
  it("say which field of what cannot be set", function()
    local dev = support.open(id)
    local x = dev:buffer("f32", 2)
    local k = dev:kernel 'extern "C" __global__ void nothing() {}'
    for name, object in pairs { device = dev, buffer = x, kernel = k, stream = dev:stream(), event = dev:record() } do
      fails("type", function()
        object.foo = 1
      end, "field 'foo' of a luhip." .. name .. " cannot be set", "errors_spec.lua")
    end
    fails("type", function()
      x[1] = 2
    end, "a luhip.buffer cannot be assigned to by a key that is a number")
    fails("type", function()
      k.name = "other"
    end, "'name'")
  end)

  it("wrong objects are refused by every method, and named", function()
    local dev = support.open(id)
    local x = dev:buffer("f32", 4)
    local objects = { dev, x, x:read(), dev:stream(), dev:record(), x:read_async(), dev:resource(x) }
    for _, object in ipairs(objects) do
      local name = getmetatable(object)
      local methods = core.methods[name:match "%.(.*)"]
      for method, fn in pairs(methods) do
        for _, wrong in ipairs { 5, "x", {}, io.stdout, luhip.null, core.error("file", "x") } do
          if debug.getinfo(fn, "S").what == "C" then
            fails("type", function()
              fn(wrong)
            end, fn == core.methods.device.close and "device:" or method, name)
          end
        end
      end
    end
  end)

  it("metamethods called on other values refuse them", function()
    local dev = support.open(id)
    for class, meta in pairs(core.metatables) do
      for name, fn in pairs(meta) do
        local takes_any = name == "__concat" or name == "__eq"
        if type(fn) == "function" and debug.getinfo(fn, "S").what == "C" and not takes_any then
          for _, wrong in ipairs { 5, "x", {}, io.stdout, luhip.null } do
            local ok, e = pcall(fn, wrong, name == "__index" and "kind" or 1, 1)
            assert.is_true(not ok or name == "__index", class .. name)
            assert.is_true(ok or luhip.is_error(e), class .. name .. ": " .. tostring(e))
          end
        end
      end
    end
    assert.is_true(dev:buffer("u8", 1, 0):check())
  end)

  it("K3 a compile error lists its diagnostics, and holds the log", function()
    local dev = support.open(id)
    local source = 'extern "C" __global__ void f(int *x) {\n  *x = nothing;\n}'
    local ok, e = pcall(dev.compile, dev, source, { name = "f.hip" })
    assert.is_false(ok)
    assert.equal("compile", e.kind)
    assert.equal("f.hip", e.diagnostics[1].file)
    assert.equal(2, e.diagnostics[1].line)
    assert.equal(8, e.diagnostics[1].column)
    assert.equal("error", e.diagnostics[1].severity)
    assert.truthy(e.diagnostics[1].text:find "nothing")
    assert.truthy(e.log:find("f.hip:2:8", 1, true))
    assert.truthy(tostring(e):find("f.hip:2:8", 1, true))
  end)

  if id:find "^cpu" then
    it("D10 a fault surfaces at the read, with kernel, block and thread", function()
      local dev = support.open(id)
      local x = dev:buffer("i32", 64, 0)
      local bad = dev:kernel [[
        extern "C" __global__ void bad(int *x) { if (threadIdx.x == 3) __builtin_trap(); x[0] = 1; }
      ]]
      bad:launch({ grid = 1, block = 64 }, x)
      local e = fails("fault", function()
        x:read()
      end, "bad")
      local fault = e.failures[1] or e
      assert.equal("bad", fault.kernel)
      assert.same({ 0, 0, 0 }, fault.block)
      assert.same({ 3, 0, 0 }, fault.thread)
      local ok, claim = x:check()
      assert.is_nil(ok)
      assert.equal("fault", claim.kind)
      ok, claim = dev:check { x }
      assert.is_nil(ok)
      assert.equal("fault", claim.kind)
      x:fill(0)
      assert.is_true(x:check())
    end)

    it("D7 what was skipped over is told", function()
      local dev = support.open(id)
      local x, y = dev:buffer("i32", 4, 0), dev:buffer("i32", 4, 0)
      local bad = dev:kernel 'extern "C" __global__ void bad(int *x) { x[0] = 1; __builtin_trap(); }'
      local copy = dev:kernel [[
        extern "C" __global__ void copy(const int *x, int *y) { y[threadIdx.x] = x[threadIdx.x]; }
      ]]
      bad:launch({ grid = 1, block = 1 }, x)
      dev:sync()
      copy:launch({ grid = 1, block = 4 }, x, y)
      local e = fails("fault", function()
        y:read()
      end, "bad", "copy")
      local failure = e.failures[1] or e
      assert.equal(1, failure.skipped)
      assert.truthy(failure.skips[1]:find "copy")
    end)
  end
end)
