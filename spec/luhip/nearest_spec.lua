-- The nearest known word to a misspelt one, in messages. src/base/nearest.c is the same in C.

local core = require "luhip.core"
local nearest = require "luhip.nearest"

describe("the nearest word", function()
  local cases = {
    { "hlep", { "help", "version" }, "help" },
    { "bloks", { "block", "blocks" }, "blocks" },
    { "cpi", { "cuda", "cpu" }, "cpu" },
    { "LAZY", { "lazy" }, "lazy" },
    { "architecturs", { "arch", "architectures" }, "architectures" },
    { "wat", { "help", "version" }, nil },
    -- Something of the word has to be left.
    { "", { "a", "ab" }, nil },
    { "-x", { "-e", "-i" }, nil },
    { "x", { "a", "ab" }, nil },
    { "ab", { "cd", "b" }, "b" },
    { "--", { "-e", "--all" }, nil },
  }

  it("is one that shares letters with it", function()
    for _, case in ipairs(cases) do
      assert.equal(case[3], nearest(case[1], case[2]), case[1])
    end
  end)

  it("is the same for option tables, which C reads", function()
    local function message(key)
      return select(2, pcall(core.open, { [key] = true })).message
    end
    assert.matches("did you mean 'device'%?", message "devcie")
    assert.matches("unknown key 'x'; there are device", message "x")
    assert.matches("unknown key ''; there are device", message "")
  end)
end)
