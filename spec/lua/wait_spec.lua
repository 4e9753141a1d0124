-- B7: a wait for the device ends when the host's hook asks for the thread.

local luhip = require "luhip"
local support = require "spec.support"

-- Ctrl-C after a moment, at a script that waits for a kernel which runs until it is stopped.
local function interrupted(id, wait)
  local code = ([[
    local luhip = require "luhip"
    local dev = luhip.open { device = "%s", timeout = 20000 }
    local x = dev:buffer("i32", 1, 0)
    local spin = dev:kernel [=[
      extern "C" __global__ void spin(volatile int *x) { while (x[0] == 0) ; }
    ]=]
    spin:launch({ grid = 1, block = 1 }, x)
    local s, e = dev:stream(), dev:record()
    io.stdout:write "waiting\n"
    io.stdout:flush()
    local ok, err = pcall(function() %s end)
    io.stdout:write(tostring(ok), " ", tostring(err), "\n")
    io.stdout:flush()
    os.exit(0)
  ]]):format(id, wait)
  local script = os.tmpname()
  support.write_file(script, code)
  support.defer(function()
    os.remove(script)
  end)
  -- Without job control a shell starts background jobs deaf to SIGINT.
  local line = ([[
    set -m
    %s %s > %s.out 2>&1 &
    for _ in $(seq 400); do grep -q waiting %s.out 2>/dev/null && break; sleep 0.05; done
    sleep 0.2
    kill -INT $!
    for _ in $(seq 100); do kill -0 $! 2>/dev/null || break; sleep 0.05; done
    kill -9 $! 2>/dev/null
    cat %s.out
    rm -f %s.out
  ]]):format(support.interpreter, script, script, script, script, script)
  return support.run({ "bash", "-c", line }, { env = support.environment(), timeout = 60 })
end

support.each_device(function(id)
  -- The interpreter of sanitised builds has no handler for Ctrl-C.
  if id:find "^cpu" and support.interpreter == "/usr/bin/lua5.4" then
    for name, wait in pairs {
      ["dev:sync"] = "dev:sync()",
      ["x:read"] = "x:read()",
      ["future:wait"] = "x:read_async():wait()",
      ["event:wait"] = "e:wait()",
      ["a launch whose grid is in a buffer"] = 'spin:launch({ grid = dev:buffer("u32", 3, 1), block = 1 }, x)',
      ["a launch on a stream with too much to do"] = "local run = spin(1, 1) for _ = 1, 40000 do run(x) end",
      ["a write in chunks"] = 'dev:buffer("u8", 104 << 20):write(("x"):rep(104 << 20))',
    } do
      it("B7 Ctrl-C ends " .. name, function()
        local r = interrupted(id, wait)
        assert.truthy(r.stdout:find("false [^\n]*interrupted!"), r.stdout .. r.stderr)
      end)
    end

    it("B7 Ctrl-C ends a wait for a compile in the background", function()
      local path = support.temporary_directory() .. "/clang++"
      support.write_file(path, "#!/bin/sh\nsleep 3\n")
      os.execute("chmod +x " .. support.quote(path))
      local r = interrupted(
        id,
        ([[
          require("luhip.core").testing.kernel_setenv("LUHIP_CLANG", "%s")
          dev:kernel('extern "C" __global__ void k() {}', { background = true }):launch({ grid = 1, block = 1 })
        ]]):format(path)
      )
      assert.truthy(r.stdout:find("false [^\n]*interrupted!"), r.stdout .. r.stderr)
    end)

    -- Making room waits for who uses what is cached; what the wait did not see the end of stays cached.
    for name, use in pairs {
      ["a fill"] = "y:fill(1)",
      ["a launch"] = "spin:launch({ grid = 1, block = 1 }, y)",
      ["a clean-up"] = "dev:memory_cleanup()",
    } do
      it("B7 Ctrl-C ends the wait of " .. name .. " that makes room, which frees and claims nothing then", function()
        local r = interrupted(
          id,
          ([[
            local old, y = dev:buffer("u8", 5000), dev:buffer("i32", 99999)
            old:fill(1)
            old:free()
            local before = dev:memory().cached
            require("luhip.core").testing.driver_fail { call = "hipMalloc", error = "hipErrorOutOfMemory" }
            local _, e = pcall(function() %s end)
            print(before >= 5000 and dev:memory().cached == before, y:check())
            error(e, 0)
          ]]):format(use)
        )
        assert.truthy(r.stdout:find("true\ttrue\nfalse [^\n]*interrupted!"), r.stdout .. r.stderr)
      end)
    end

    it("B7 Ctrl-C ends a wait inside a coroutine, and raises where it was resumed", function()
      local r = interrupted(id, "print(pcall(coroutine.wrap(function() dev:sync() end))) return 1")
      assert.truthy(r.stdout:find("false [^\n]*interrupted!"), r.stdout .. r.stderr)
    end)
  end

  it("B7 a hook that does not raise lets the wait go on", function()
    local dev = luhip.open(id)
    support.defer(function()
      dev:close()
    end)
    local x = dev:buffer("i32", 4, 1)
    local calls = 0
    debug.sethook(function()
      calls = calls + 1
    end, "c")
    local ok, values = pcall(x.totable, x)
    debug.sethook()
    assert.is_true(ok, tostring(values))
    assert.same({ 1, 1, 1, 1 }, values)
    assert.is_true(calls > 0)
  end)
end)
