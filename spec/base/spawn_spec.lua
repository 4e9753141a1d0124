-- Running another program to its end (src/base/spawn.c).

local support = require "spec.support"
local testing = require("luhip.core").testing

local function sh(script, timeout, environment)
  return testing.spawn({ "/bin/sh", "-c", script }, timeout, environment)
end

describe("spawn", function()
  it("tells the exit code and what was written to both streams", function()
    local r = sh "echo out; echo err >&2; exit 3"
    assert.same({ ended = "exited", code = 3, output = "out\nerr\n" }, r)
  end)

  it("tells a signal", function()
    local r = sh "kill -SEGV $$"
    assert.equal("killed", r.ended)
    assert.equal(11, r.code)
  end)

  it("gives the errno of a program that cannot be started", function()
    support.not_under("valgrind", pending, "its vfork is a fork, and the C library hears of no error from the child")
    local r, errno = testing.spawn { "/nonexistent/program" }
    assert.is_nil(r)
    assert.equal(2, errno)
  end)

  it("K5 hands arguments over as they are, through no shell", function()
    local r = testing.spawn { "/bin/echo", "a b", "$HOME", "`id`", "*" }
    assert.equal("a b $HOME `id` *\n", r.output)
  end)

  it("K5 lets no descriptor through", function()
    local held = assert(io.open("/proc/self/status"))
    local r = testing.spawn { "/bin/ls", "/proc/self/fd" }
    held:close()
    assert.equal("0\n1\n2\n3\n", r.output) -- 3 is the folder that ls reads
  end)

  it("gives an empty standard input and the environment it is told", function()
    assert.equal("", sh("cat").output)
    assert.equal("x,\n", sh("echo $GIVEN,$HOME", 0, { "GIVEN=x" }).output)
  end)

  it("reads more than a pipe holds, keeps 4 MiB of it, and never blocks the program", function()
    local r = sh "head -c 6000000 /dev/zero | tr '\\0' x; exit 5"
    assert.equal("exited", r.ended)
    assert.equal(5, r.code)
    assert.equal(4 * 1024 * 1024, #r.output)
  end)

  it("K5 kills the program and its children when the time is over", function()
    local r = sh("sleep 60 & echo $!; sleep 60", 300)
    assert.equal("timeout", r.ended)
    -- Killed it is at once, and dead a little later; nobody may ever collect it.
    local function state()
      local status = io.open(("/proc/%d/status"):format(tonumber(r.output)))
      local letter = status and status:read("a"):match "State:%s+(%a)" or "X"
      if status then
        status:close()
      end
      return letter
    end
    for _ = 1, 1000 do
      if state():match "[ZX]" then
        break
      end
      os.execute "sleep 0.01"
    end
    assert.truthy(state():match "[ZX]")
  end)

  it("does not wait for a grandchild that keeps the output open", function()
    local r = sh("sleep 60 & echo done", 20000)
    assert.equal("exited", r.ended)
    assert.equal("done\n", r.output)
  end)

  it("works on when the host ignores SIGCHLD, though the exit status is lost", function()
    testing.ignore_sigchld(true)
    local r = sh "echo hello"
    testing.ignore_sigchld(false)
    assert.same({ ended = "unknown", code = 0, output = "hello\n" }, r)
  end)
end)
