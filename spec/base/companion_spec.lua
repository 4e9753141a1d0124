-- A program that runs beside this process: messages of any length either way, and how its end is told.
local core = require "luhip.core"
local support = require "spec.support"

describe("a companion", function()
  support.scope()

  local function start(code, environment)
    local all = support.environment(environment)
    local companion = core.companion({ support.interpreter, "-e", code }, all)
    support.defer(function()
      companion:free()
    end)
    return companion
  end

  -- The next message; nothing else may come.
  local function receive(companion)
    while true do
      local message = companion:receive(1000)
      if message ~= nil then
        return message
      end
    end
  end

  local ECHO = [[
    local channel = require("luhip.core").companion_of_parent()
    while true do
      local message = channel:receive(1000)
      if message == false or message == "end" then
        os.exit(3)
      elseif message then
        channel:send(message:reverse())
      end
    end
  ]]

  it("talks in whole messages of any length, with any bytes, in their order", function()
    local companion = start(ECHO)
    for _, message in ipairs { "", "one", "\0\1\255", ("long"):rep(300000) } do
      assert.is_true(companion:send(message))
      assert.is_true(message:reverse() == receive(companion))
    end
    for i = 1, 100 do
      companion:send("m" .. i)
    end
    for i = 1, 100 do
      assert.equal(("m" .. i):reverse(), receive(companion))
    end
    assert.is_nil(companion:receive(0))
    companion:send "end"
    assert.is_false(receive(companion))
    assert.same({ "exited", 3 }, { companion:finish(10000) })
    assert.same({ "exited", 3 }, { companion:finish(0) }, "twice is once")
    assert.is_false(companion:send "more")
    assert.is_false(companion:receive(0))
  end)

  it("that dies is gone, and tells of which signal", function()
    local companion = start "os.execute('kill -KILL $PPID') while true do end"
    assert.is_false(receive(companion))
    assert.same({ "killed", 9 }, { companion:finish(10000) })
  end)

  it("sees the end of the channel, and may end by itself", function()
    local companion = start [[
      local channel = require("luhip.core").companion_of_parent()
      channel:send "here"
      while channel:receive(1000) ~= false do
      end
      os.exit(7)
    ]]
    assert.equal("here", receive(companion))
    assert.same({ "exited", 7 }, { companion:finish(60000) })
  end)

  it("that goes on is killed when it is ended or freed", function()
    local companion = start "require('luhip.core').companion_of_parent():send 'here' while true do end"
    assert.equal("here", receive(companion))
    assert.same({ "killed", 9 }, { companion:finish(0) })
    local other =
      start "require('luhip.core').companion_of_parent():send(io.open('/proc/self/stat'):read 'a') while true do end"
    local pid = receive(other):match "^%d+"
    other:free()
    other:free()
    assert.is_nil(io.open("/proc/" .. pid .. "/stat"))
    support.assert_error_kind("freed", function()
      other:send "x"
    end)
  end)

  it("has our variables but for those that are set anew, no input, and nothing of ours open", function()
    support.not_under("valgrind", pending, "it has descriptors of its own in every process")
    local companion = start(
      [[
        local names = {}
        for name in io.popen("ls /proc/" .. io.open("/proc/self/stat"):read "a":match "^%d+" .. "/fd"):lines() do
          names[#names + 1] = name
        end
        local channel = require("luhip.core").companion_of_parent()
        channel:send(os.getenv "SOME")
        channel:send(os.getenv "PATH")
        channel:send(io.read "a")
        channel:send(table.concat(names, " "))
      ]],
      { SOME = "value=with=equals" }
    )
    assert.equal("value=with=equals", receive(companion))
    assert.equal(os.getenv "PATH", receive(companion))
    assert.equal("", receive(companion))
    assert.matches("^0 1 2 3 ?", receive(companion))
  end)

  it("that cannot be started says so, and who was not started has nobody to talk with", function()
    support.not_under("valgrind", pending, "there a program that is missing has been started all the same")
    support.assert_error_kind("file", function()
      core.companion({ "/no/such/program" }, {})
    end, "cannot start /no/such/program", "No such file")
    for _, given in ipairs { { {}, {} }, { { 1 }, {} }, { { "x" }, { 1 } }, { { "x" }, { a = 1 } } } do
      assert.is_false((pcall(core.companion, given[1], given[2])))
    end
    local result = support.lua 'print(pcall(require("luhip.core").companion_of_parent))'
    assert.truthy(result.stdout:find("nobody has started this process", 1, true), result.stdout)
    assert.truthy(core.executable():find("^/"))
  end)
end)
