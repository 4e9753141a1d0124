-- Completion of the command's words, in the shells themselves: bash is asked for what its function finds, fish by
-- `complete -C`, and zsh, which completes at a terminal only, by typing.

local support = require "spec.support"
local terminal = require "spec.support.terminal"

describe("completion of the command's words", function()
  support.scope()
  local folder

  -- A folder with scripts, a home for the shells, and a `luhip` in bin/.
  before_each(function()
    folder = support.temporary_directory()
    assert(os.execute(("mkdir %s/bin %s/home %s/scripts"):format(folder, folder, folder)))
    support.write_file(folder .. "/scripts/saxpy.lua", "")
    local command = ('#!/bin/sh\nexec "%s" "%s/lua/luhip/cli.lua" "$@"\n'):format(support.interpreter, support.root)
    support.write_file(folder .. "/bin/luhip", command)
    assert(os.execute(("chmod +x %s/bin/luhip"):format(folder)))
  end)

  local function environment()
    local env = support.environment {}
    env.HOME, env.ZDOTDIR, env.TERM = folder .. "/home", folder .. "/home", "xterm"
    env.PATH = folder .. "/bin:" .. os.getenv "PATH"
    return env
  end

  local function need(shell)
    if support.run({ "sh", "-c", "command -v " .. shell }).code ~= 0 then
      pending(shell .. " is not installed")
    end
  end

  -- What is typed, and the words that are offered for it.
  local cases = {
    ["luhip de"] = { "devices" },
    ["luhip do"] = { "doctor" },
    ["luhip compile --a"] = { "--arch" },
    ["luhip tune --re"] = { "--report", "--resume" },
    ["luhip completions "] = { "bash", "fish", "zsh" },
    ["luhip scripts/sa"] = { "scripts/saxpy.lua" },
    ["luhip tune scripts/sa"] = { "scripts/saxpy.lua" },
    ["luhip scripts/saxpy.lua scripts/sa"] = { "scripts/saxpy.lua" },
  }

  local function check(find)
    for text, words in pairs(cases) do
      local found = {}
      for line in find(text):gmatch "[^\n]+" do
        found[#found + 1] = line:match "^[^\t ]+"
      end
      table.sort(found)
      assert.same(words, found, text)
    end
  end

  it("works in bash", function()
    -- Where the function finds nothing, bash completes files by itself.
    local script = [[
      eval "$(luhip completions bash)"
      IFS=' ' read -ra COMP_WORDS <<<"$0"
      case $0 in *' ') COMP_WORDS+=('') ;; esac
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _luhip luhip "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
      [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
      printf '%s\n' "${COMPREPLY[@]}"
    ]]
    check(function(text)
      local r = support.run({ "bash", "-c", script, text }, { env = environment(), directory = folder })
      assert.equal("", r.stderr)
      return r.stdout
    end)
  end)

  it("works in fish", function()
    need "fish"
    check(function(text)
      local script = "luhip completions fish | source; complete -C $argv[1]"
      local words = { "fish", "--no-config", "-c", script, text }
      local r = support.run(words, { env = environment(), directory = folder })
      assert.equal("", r.stderr)
      return r.stdout
    end)
  end)

  -- A zsh that has read `setup`, after compinit.
  local function zsh(setup)
    need "zsh"
    local words = { "env", "-C", folder }
    for name, value in pairs(environment()) do
      words[#words + 1] = name .. "=" .. value
    end
    table.move({ "zsh", "-f", "-i", "-o", "nopromptsp" }, 1, 5, #words + 1, words)
    local t = terminal.start(words, { pending = pending, columns = 200 })
    t:type("PS1='REA''DY '; autoload -U compinit; " .. setup .. "\r")
    t:expect "READY "
    return t
  end

  -- zsh takes a tab that comes together with text for a part of the text, so the line is awaited first.
  local function complete(t, text, words)
    t:type(text)
    t:expect(text)
    t:type "\t"
    for _, word in ipairs(words) do
      t:expect(#words > 1 and word or word:sub(#text:match "[^ ]*$" + 1))
    end
    t:type "\21\r"
    t:expect "READY "
  end

  local function check_zsh(t)
    for text, words in pairs(cases) do
      complete(t, text, words)
    end
    t:type "exit\r"
    assert.equal(0, t:finish())
  end

  it("works in zsh, which reads it by eval", function()
    check_zsh(zsh 'compinit -u -d home/dump; eval "$(luhip completions zsh)"')
  end)

  it("works in zsh, which finds it in its path", function()
    support.write_file(folder .. "/home/_luhip", '#compdef luhip\neval "$(luhip completions zsh)"\n')
    check_zsh(zsh "fpath=($HOME $fpath); compinit -u -d home/dump")
  end)
end)
