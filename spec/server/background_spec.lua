-- K6: compiles in the background.

local core = require "luhip.core"
local support = require "spec.support"
local testing = core.testing

local one = { grid = 1, block = 1 }

-- A source that no cache knows.
local function source(value)
  return ('extern "C" __global__ void k(LUHIP_OUT int *x) { *x = %d; } // %s'):format(
    value,
    support.temporary_directory()
  )
end

local BROKEN = 'extern "C" __global__ void broken(const int *x, LUHIP_OUT int *y) { *y = nowhere; }'

support.each_device(function(id)
  local dev, x

  before_each(function()
    dev = support.open(id)
    x = dev:buffer("i32", 1, 0)
  end)

  it("K6 a kernel compiled in the background is what any kernel is", function()
    local kernels = {}
    for i = 1, 6 do
      kernels[i] = dev:kernel(source(i), "k", { background = true })
    end
    for i, k in ipairs(kernels) do
      k:launch(one, x)
      assert.equal(i, x:read()[1])
      assert.is_true(k:ready())
      assert.equal("k", k.name)
    end
    local k = dev:kernel(source(9), { background = true, defines = { N = 4 } })
    local run = k:bind(one)
    run(x)
    assert.equal(9, x:read()[1])
  end)

  it("K6 templates, headers and folders go along, whatever becomes of the tables", function()
    local folder = support.temporary_directory()
    support.write_file(folder .. "/part.h", "#define PART 40\n")
    local options = {
      background = true,
      headers = { ["text.h"] = "#define TEXT 2" },
      include_dirs = { folder },
      defines = { V = 100 },
      access = { ["put<int>"] = { x = "out" } },
    }
    local k = dev:kernel(
      '#include "part.h"\n#include "text.h"\ntemplate <typename T> __global__ void put(T *x) { *x = PART + TEXT + V; }',
      "put<int>",
      options
    )
    options.defines.V = 7
    options.headers, options.include_dirs = nil, nil
    collectgarbage()
    k:launch(one, x)
    assert.equal(142, x:read()[1])
    assert.equal("out", k.params[1].kind)
  end)

  it("K6 what does not compile is a failure of what would have been written (D2)", function()
    local y = dev:buffer("i32", 1, 0)
    local k = dev:kernel(BROKEN, { background = true, name = "broken.hip" })
    k:launch(one, x, y)
    assert.is_true(x:check())
    support.assert_error_kind("compile", function()
      y:read()
    end, "broken.hip", "nowhere")
    support.assert_error_kind("compile", function()
      return k.params
    end, "nowhere")
  end)

  it("K6 options are checked at once, and dev:compile has none of it", function()
    support.assert_error_kind("type", function()
      dev:kernel(BROKEN, { background = 1 })
    end, "background", "boolean")
    support.assert_error_kind("argument", function()
      dev:compile(BROKEN, { background = true })
    end, "background", "dev:kernel")
    local k = dev:kernel(source(3), { background = false })
    k:launch(one, x)
    assert.equal(3, x:read()[1])
    assert.is_true(k:ready())
    k:free()
    support.assert_error_kind("freed", function()
      k:ready()
    end)
    assert.is_false(dev:kernel(source(3), { lazy = true }):ready())
  end)

  it("K6 kernels that nobody wants any more, and a device that closes, leave nothing behind", function()
    for i = 1, 12 do
      dev:kernel(source(i), { background = true })
    end
    collectgarbage()
    local last = dev:kernel(source(20), { background = true })
    dev:close()
    support.assert_error_kind("freed", function()
      last:launch(one, x)
    end)
    last:free()
  end)

  if id:find "^cpu" then
    -- Compiles wait until the gate is there.
    local function gated()
      local folder = support.temporary_directory()
      local path, gate = folder .. "/clang++", folder .. "/gate"
      local clang = io.popen("command -v clang++-19 clang++-18 clang++-17 clang++-16 | head -1"):read "l"
      support.write_file(
        path,
        ('#!/bin/sh\nwhile [ ! -e "%s" ]; do sleep 0.01; done\nexec %s "$@"\n'):format(gate, clang)
      )
      os.execute("chmod +x " .. support.quote(path))
      testing.kernel_setenv("LUHIP_CLANG", path)
      support.defer(function()
        testing.kernel_setenv("LUHIP_CLANG", nil)
      end)
      return function()
        support.write_file(gate, "open")
      end
    end

    it("K6 the program goes on while a kernel compiles", function()
      local open = gated()
      local k = dev:kernel(source(5), { background = true })
      assert.is_false(k:ready())
      assert.truthy(tostring(k):find "not compiled yet")
      x:fill(8)
      assert.equal(8, x:read()[1])
      open()
      k:launch(one, x)
      assert.equal(5, x:read()[1])
      assert.is_true(k:ready())
    end)

    it("K6 a child process says that the compile was its parent's", function()
      local open = gated()
      local k = dev:kernel(source(7), { background = true })
      local text = testing.fork(function()
        local ok, e = pcall(k.launch, k, one, x)
        return tostring(ok) .. " " .. e.kind
      end)
      assert.equal("false forked", text)
      open()
      k:launch(one, x)
      assert.equal(7, x:read()[1])
    end)
  end
end)
