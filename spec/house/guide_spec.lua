-- docs/guide: what its pages show is run.
--
-- A page is one program: its ```lua blocks in order, on the CPU device, in a folder of its own; errors have the
-- page's line numbers. After it the ```sh lines of the `luhip` command and of Lua are run in the same folder, and the
-- ```c blocks are compiled, linked and run together. Scripts that other ```sh lines name exist. ```text shows what is
-- not run.
local support = require "spec.support"

local GUIDE = support.root .. "/docs/guide"
local KNOWN = { lua = true, python = true, sh = true, c = true, text = true }

-- The text of a page with all but the blocks of a language emptied, and how many blocks there are.
local function blocks(text, language)
  local lines, count, inside = {}, 0, nil
  for line in text:gmatch "([^\n]*)\n" do
    local fence = line:match "^```(.*)$"
    if fence then
      inside = not inside and fence or nil
      count = count + (inside == language and 1 or 0)
    end
    table.insert(lines, not fence and inside == language and line or "")
  end
  assert(not inside, "a block has no end")
  return table.concat(lines, "\n") .. "\n", count
end

local pages = {}
for path in support.run({ "find", GUIDE, "-name", "*.md" }).stdout:gmatch "[^\n]+" do
  table.insert(pages, path)
end
table.sort(pages)

-- A folder for a page, with a `luhip` that runs this tree's.
local function folder_for()
  local folder = support.temporary_directory()
  support.write_file(
    folder .. "/luhip",
    ('#!/bin/sh\nexec %s %s/lua/luhip/cli.lua "$@"\n'):format(support.interpreter, support.root)
  )
  assert(os.execute("chmod +x " .. folder .. "/luhip"))
  return folder
end

local function run_in(folder, command)
  return support.run(command, {
    directory = folder,
    env = support.environment {
      LUHIP_DEVICE = "cpu",
      LUHIP_TUNE_DIR = folder,
      PATH = folder .. ":" .. os.getenv "PATH",
    },
    timeout = 300,
  })
end

local function run_c(folder, text)
  support.write_file(folder .. "/page.c", text)
  local result = run_in(
    folder,
    ("gcc -std=c11 -Wall -Wextra -Werror -I%s/src page.c -o page %s/libluhip.so -Wl,-rpath,%s "):format(
      support.root,
      support.build,
      support.build
    ) .. "$(pkg-config --cflags --libs lua5.4) -pthread"
  )
  assert.equal("", result.stderr)
  assert.equal(0, result.code)
  result = run_in(folder, { "./page" })
  assert.equal("", result.stderr)
  assert.equal(0, result.code)
end

describe("docs/guide", function()
  support.scope()

  it("is there", function()
    assert.is_true(#pages >= 15)
  end)

  it("says of every kind of error what to do", function()
    local text = support.read_file(GUIDE .. "/15-troubleshooting.md")
    for _, kind in ipairs(require("luhip").error_kinds) do
      assert.is_truthy(text:find(("[%s](../errors.md#%s)"):format(kind, kind), 1, true), kind)
    end
  end)

  for _, path in ipairs(pages) do
    local page = path:match "[^/]+$"
    local text = support.read_file(path)

    it(page .. " shows code that runs", function()
      local folder = folder_for()
      local program, count = blocks(text, "lua")
      if count > 0 then
        support.write_file(folder .. "/" .. page .. ".lua", program)
        local result = run_in(folder, { support.interpreter, page .. ".lua" })
        assert.equal("", result.stderr)
        assert.equal(0, result.code)
      end
      for line in blocks(text, "sh"):gmatch "[^\n]+" do
        if line:match "^luhip " or line:match "^lua5%.4 " then
          local result = run_in(folder, line)
          assert.equal(0, result.code, line .. "\n" .. result.stdout .. result.stderr)
        end
        for script in line:gmatch "scripts/[%w-]+" do
          assert.is_true(os.execute(("test -x %s/%s"):format(support.root, script)), script)
        end
        for file in line:gmatch "examples/[%w_./-]+" do
          assert.is_true(os.execute(("test -e %s/%s"):format(support.root, file)), file)
        end
      end
      local source, parts = blocks(text, "c")
      if parts > 0 and not support.sanitizer then -- a sanitised library wants a sanitised program around it
        run_c(folder, source)
      end
    end)

    it(page .. " has a title, known kinds of blocks, and links that lead somewhere", function()
      assert.matches("^# %S", text)
      local inside
      for line in text:gmatch "([^\n]*)\n" do
        local fence = line:match "^```(.*)$"
        if fence then
          inside = not inside
          assert.is_true(not inside or KNOWN[fence] == true, ("```%s"):format(fence))
        elseif not inside then
          for target in line:gmatch "%]%(([^)#]+)[^)]*%)" do
            local found = target:match "^https?://" or os.execute(("test -e '%s/%s'"):format(GUIDE, target))
            assert.is_truthy(found, target)
          end
        end
      end
    end)
  end
end)
