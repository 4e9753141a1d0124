-- What is wrong with the call, not with a candidate, ends the run and names the caller's line.

local support = require "spec.support"
local tune = require "luhip.tune"

local SOURCE = [[
extern "C" __global__ void f(const float *x, float *y) {
  if (MODE == 1) __builtin_trap();
  y[0] = x[0];
}
]]

-- The line of the caller, as error messages begin with it.
local function here()
  local info = debug.getinfo(2, "Sl")
  return ("%s:%d: "):format(info.short_src, info.currentline)
end

support.each_device(function(id)
  local function options(more)
    local dev = support.open(id)
    local x, y = dev:from("f32", { 5 }), dev:from("f32", { 7 })
    local given = {
      device = dev,
      source = SOURCE,
      kernel = "f",
      params = { { "MODE", { 0, 2 } } },
      grid = 1,
      block = 1,
      args = { x, y },
      progress = false,
    }
    for key, value in pairs(more) do
      given[key] = value
    end
    return given, y
  end

  for _, key in ipairs { "grid", "block", "shared", "source", "kernel" } do
    it("an error of the user's function for " .. key .. " ends the run as it was raised", function()
      local line
      local given = options {
        [key] = function(p)
          line = here()
          error("not for " .. p.MODE)
        end,
      }
      local ok, e = pcall(tune, given)
      assert.is_false(ok)
      local file, number = line:match "^(.*):(%d+): $"
      assert.equal(("%s:%d: not for 0"):format(file, tonumber(number) + 1), e)
    end)
  end

  it("an argument that is nothing, or on another device, is one error", function()
    local given = options {}
    for _, isolate in ipairs { false, true } do
      local ok, e = pcall(
        tune,
        options {
          isolate = isolate,
          args = { given.args[1], function() end },
        }
      )
      assert.is_false(ok)
      assert.truthy(tostring(e):find("tune: args: the function of entry 2 gives nothing", 1, true), tostring(e))
    end
    if id == "cpu:0" then
      local other = support.open "cpu:0/64"
      support.assert_error_kind("argument", function()
        tune(options { args = { given.args[1], other:buffer("f32", 1) } })
      end, "the buffer of entry 2 is on cpu:0/64, the run on cpu:0; copy it there")
    end
  end)

  it("a function that gives no number ends the run, and says what it gave", function()
    for _, key in ipairs { "grid", "block", "shared" } do
      for given, told in pairs { [false] = "nothing", x = "'x'", [true] = "true" } do
        support.assert_error_kind("type", function()
          tune(options {
            [key] = function()
              return given or nil
            end,
          })
        end, ("tune: %s: its function gives %s; a number"):format(key, told))
      end
    end
    support.assert_error_kind("argument", function()
      tune(options { block = "MODES" })
    end, "tune: block.x: expression 'MODES', column 1: 'MODES' is no parameter, did you mean 'MODE'?")
  end)

  it("an argument of the wrong type is one error, unless a parameter or a function decides on it", function()
    local dev = support.open(id)
    local f, n = dev:buffer("f32", 4, 1), dev:buffer("i32", 4, 1)
    local source = 'extern "C" __global__ void k(T *x, int n) { if (n > A) x[0] = 1; }'
    local function run(args, text, types)
      return tune(options {
        source = (text or source):gsub("%f[%w]T%f[%W]", types and "T" or "float"),
        kernel = "k",
        params = { { "A", { 1, 2 } }, { "T", types or { "any" } } },
        args = args,
      })
    end
    for why, args in pairs {
      ["argument 1 ('x') of kernel 'k': given an i32 buffer"] = { n, 4 },
      ["argument 2 ('n') of kernel 'k': given 4.5"] = { f, 4.5 },
      ["argument 2 ('n') of kernel 'k': given an f32 buffer"] = { f, f },
      ["argument 1 ('x') of kernel 'k': given 7"] = { 7, 7 },
    } do
      for _, isolate in ipairs { false, true } do
        local ok, e = pcall(
          tune,
          options {
            source = source:gsub("T", "float"),
            kernel = "k",
            params = { A = { 1, 2 } },
            args = args,
            isolate = isolate,
          }
        )
        assert.is_false(ok)
        assert.equal("type", e.kind)
        assert.truthy(e.message:find("tune: args: " .. why, 1, true), e.message)
      end
      assert.same({ 1, 1 }, { f:read()[1], n:read()[1] })
    end
    assert.same({ ok = 2, launch = 2 }, run({ f, 4 }, source, { "float", "int" }).counts)
    local function four(p)
      return p.A == 1 and 4 or 4.5
    end
    assert.same({ ok = 1, launch = 1 }, run({ f, four }).counts)
  end)

  it("a device is what luhip.open gives, not its id", function()
    support.assert_error_kind("type", function()
      tune(options { device = "cpu" })
    end, "tune: device: a device expected, as luhip.open 'cpu' gives it, not its id 'cpu'")
  end)

  it("an error of an argument's function ends the run, and buffers hold their first content", function()
    local given, y = options {}
    given.args[2] = function(p)
      return p.none.at_all
    end
    local ok, e = pcall(tune, given)
    assert.is_false(ok)
    assert.truthy(tostring(e):find("field 'none'", 1, true), e)
    assert.same({ 7 }, y:read():totable())
  end)

  it("an error object stays what it is", function()
    local luhip = require "luhip"
    local given = options {
      grid = function()
        return luhip.cdiv(1, 0)
      end,
    }
    support.assert_error_kind("argument", function()
      tune(given)
    end, "caller_spec.lua", "cdiv: division by zero")
  end)

  it("a kernel that the source does not have ends the run", function()
    support.assert_error_kind("not_found", function()
      tune(options { kernel = "g" })
    end, "caller_spec.lua", "kernel 'g' not found")
  end)

  it("a wrong access ends the run", function()
    support.assert_error_kind("not_found", function()
      tune(options { access = { z = "out" } })
    end, "caller_spec.lua", "'z'")
    support.assert_error_kind("argument", function()
      tune(options { access = { x = "out" } })
    end, "caller_spec.lua", "'x'")
  end)

  it("a kernel that only some configurations have is a row", function()
    local r = tune(options {
      kernel = function(p)
        return p.MODE == 2 and "f" or "g"
      end,
    })
    assert.same({ "compile", "ok" }, { r.rows[1].status, r.rows[2].status })
  end)

  it("the error of a row carries the line of the call", function()
    local given = options { source = SOURCE .. "\n#if MODE == 2\nbroken\n#endif\n" }
    local file, line = here():match "^(.*):(%d+): $"
    local r = tune(given)
    assert.equal("compile", r.rows[2].status)
    assert.equal(("%s:%d: "):format(file, tonumber(line) + 1), r.rows[2].error.position)
  end)

  if id:find "^cpu" then
    it("errors of dev:time and dev:profile carry the line of the call", function()
      local dev = support.open(id)
      local bad = dev:kernel 'extern "C" __global__ void bad() { __builtin_trap(); }'
      for _, name in ipairs { "time", "profile" } do
        local e = support.assert_error_kind("fault", function()
          dev[name](dev, function()
            bad:launch { grid = 1, block = 1 }
          end)
        end, "'bad'")
        assert.truthy(e.position:find("caller_spec.lua:%d+: $"), e.position)
      end
    end)
  end
end)

describe("luhip.compile", function()
  local luhip = require "luhip"

  it("says what is missing, on the line of the call", function()
    support.assert_error_kind("argument", function()
      luhip.compile { source = "" }
    end, "caller_spec.lua", "luhip.compile: 'arch' is missing")
    support.assert_error_kind("argument", function()
      luhip.compile { arch = "gfx90a" }
    end, "caller_spec.lua", "luhip.compile: 'source' is missing")
    support.assert_error_kind("type", function()
      luhip.compile { arch = "gfx90a", source = 5 }
    end, "luhip.compile: source: a string expected, not a number")
  end)

  it("names the line of the call for what the core refuses", function()
    support.assert_error_kind("argument", function()
      luhip.compile { arch = "gfx90a", source = "", nme = "x" }
    end, "caller_spec.lua", "'nme'")
  end)
end)
