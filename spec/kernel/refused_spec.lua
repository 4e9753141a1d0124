-- What a compiler that fails for reasons of its own becomes: by kind, and in words that name the program.

local support = require "spec.support"
local testing = require("luhip.core").testing

if not testing then
  return
end

support.each_device(function(id)
  for answer, case in pairs {
    hipErrorUnknown = { "compile", "the compiler crashed on 'mine.hip'" },
    hipErrorFileNotFound = { "not_found", "there is no compiler for kernels of" },
    hipErrorOutOfMemory = { "memory", "out of host memory" },
    hipErrorNotSupported = { "driver", "compiling 'mine.hip' failed: hipErrorNotSupported" },
  } do
    it("K3 a compiler that answers " .. answer .. " is told as what it is, and nothing of it is kept", function()
      local dev = support.open(id)
      local source = 'extern "C" __global__ void mine(int *p) { *p = 3; }\n'
      local options = { name = "mine.hip", cache = false }
      testing.kernel_forget()
      testing.driver_fail { call = "hipxCompile", error = answer }
      support.assert_error_kind(case[1], function()
        dev:compile(source, options)
      end, case[2])
      assert.equal(1, testing.driver_struck())
      local x = dev:buffer("i32", 1, 0)
      dev:compile(source, options):kernel("mine"):launch({ grid = 1, block = 1 }, x)
      assert.equal(3, x:read()[1])
    end)
  end
end)
