-- The C interface without Lua: api.c, linked with the static library.
local support = require "spec.support"

local CASES = { "launch", "structs", "errors", "claims", "graph", "profile", "order", "threads", "config" }
local FLAGS = {
  address = "-fsanitize=address,undefined -fno-omit-frame-pointer",
  thread = "-fsanitize=thread",
  coverage = "--coverage",
}

local function build()
  local directory = support.temporary_directory()
  local command = ("gcc -std=c11 -D_GNU_SOURCE -g -Wall -Wextra -Werror %s -Isrc spec/embed/api.c -o %s/api "):format(
    FLAGS[support.sanitizer] or "",
    directory
  ) .. ("%s/libluhip.a -pthread -lm -ldl"):format(support.build)
  local result = support.run(command)
  assert.equal(0, result.code, result.stdout .. result.stderr)
  return directory .. "/api"
end

support.each_device(function(id)
  local program

  setup(function()
    program = build()
  end)

  for _, case in ipairs(CASES) do
    it("a C host: " .. case, function()
      local result = support.run { program, id, case }
      assert.equal("ok\n", result.stdout, result.stderr)
      assert.equal(0, result.code)
    end)
  end
end)
