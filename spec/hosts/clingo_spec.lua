-- clingo: an answer set program whose Lua part asks the device.
local hosts = require "spec.hosts.support"
local support = require "spec.support"

if not hosts.wanted then
  return
end

describe("clingo", function()
  it("computes terms with a kernel", function()
    local path = support.temporary_directory() .. "/program.lp"
    support.write_file(path, "#script (lua)\n" .. hosts.preamble() .. [==[
        local luhip = require "luhip"
        local dev = luhip.open "cpu:0"
        local square = dev:kernel [[
          extern "C" __global__ void square(int *x) { x[threadIdx.x] *= x[threadIdx.x]; }
        ]]
        function squared(n)
          local x = dev:buffer("i32", 1, n.number)
          square(1, 1)(x)
          return clingo.Number(x:read()[1])
        end
        #end.
        number(3..5). answer(@squared(X)) :- number(X).
        #show answer/1.
      ]==])
    local result = support.run { "clingo", path }
    assert.matches("answer%(9%) answer%(16%) answer%(25%)", result.stdout)
    assert.is_nil(result.stdout:match "error" or result.stderr:match "error")
  end)
end)
