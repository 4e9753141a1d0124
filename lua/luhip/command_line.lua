--- The words of the luhip command, as argparse has them: for `--help` of each command, and for completion in shells.
--
-- Words behind a script are the script's own, so cli.lua looks at the first word itself and comes here only for the
-- commands. `compile` and `tune` read their words themselves (flags go through to a compiler, scripts have words of
-- their own); what is here of them is what a shell completes.
-- Dependencies: argparse (Debian's lua-argparse).
-- @module luhip.command_line

local command_line = {}

local SHELLS = { "bash", "zsh", "fish" }

command_line.commands = { "bench", "compile", "completions", "devices", "doctor", "tune" }

--- Why there is no parser, where argparse is not installed.
command_line.missing = "this needs argparse, which is not installed; on Debian: apt-get install lua-argparse"

local function add_compile(parser)
  local compile = parser:command("compile", "code objects for AMD GPUs, with no device")
  compile:argument("file", "HIP source"):args "*"
  compile:option("--arch", "architectures to compile for, separated by commas")
  compile:option("-o --output", "where the code goes; %a is the architecture, %n the file's name")
  compile:option("--name", "a template kernel to be made")
  compile:option("-D", "defines a macro")
  compile:option("-I", "looks for includes there")
  compile:flag("--list", "prints each kernel")
  compile:flag("--no-cache", "compiles afresh")
end

local function add_tune(parser)
  local tune = parser:command("tune", "tuning under watch, kept and resumed; works on stores")
  tune:argument("script", "a script, or inspect, merge, convert or prune"):args "*"
  tune:option("--budget", "stop after so many seconds (60) or configurations (200c)")
  tune:option("--store", "where rows are kept")
  tune:flag("--resume", "what the store knows is not measured again")
  tune:flag("--no-resume", "everything is measured again")
  tune:option("--hang", "seconds after which a configuration ends its process")
  tune:option("--worker", "a database of workers that share the runs: postgres://user@host/base")
  tune:option("--report", "a page of the result, in HTML")
  tune:option("--t4", "the rows as T4")
  tune:option("--csv", "the rows as CSV")
end

--- The parser of all words.
-- @treturn ?table argparse's; nil where that is not installed
function command_line.parser()
  local ok, argparse = pcall(require, "argparse")
  if not ok then
    return nil
  end
  local parser =
    argparse("luhip", "Runs Lua scripts that drive GPUs; without arguments, a prompt."):command_target "command"
  parser:flag("-v --version", "prints the version")
  parser:option("-e", "runs code")
  parser:flag("-i", "runs a script, then reads chunks")
  parser:command("devices", "what is here, and why what is here cannot be used")
  parser:command("doctor", "what is missing and how to get it, and which settings hold")
  add_compile(parser)
  add_tune(parser)
  local bench = parser:command("bench", "luhip's overhead, measured here")
  bench:argument("device", "what to measure; the best device by default"):args "?"
  local completions = parser:command("completions", "completion of these words, for a shell")
  completions:argument("shell", "bash, zsh or fish"):choices(SHELLS)
  return parser
end

--- Reads the words of a command.
-- @tparam {string,...} words the command's name first
-- @treturn ?table what argparse gives; nil when they make no sense
-- @treturn ?string why
function command_line.parse(words)
  local parser = command_line.parser()
  if not parser then
    return nil, command_line.missing
  end
  local ok, result = parser:pparse(words)
  if ok then
    return result
  end
  return nil, (result:gsub("\nDid you mean (.-)%?.*", "; did you mean %1?"))
end

-- ---- completion ------------------------------------------------------------------------------------------------

-- What argparse's text lacks: a first word may be a script as well, what follows a script are files, and the choices of
-- an argument. The text for zsh calls its function at the end, which is right where compinit loads it from a file, and
-- not where a shell that is starting reads it by eval.
local finish = {}

function finish.bash(text)
  local more = [=[
    if [[ "$cmd" = completions && $COMP_CWORD -gt 1 && "$cur" != -* ]]; then
        COMPREPLY=($(compgen -W "%s" -- "$cur"))
        return 0
    fi

]=]
  local at = text:find('    if [[ "$cur" = -* ]]; then', 1, true)
  return text:sub(1, at - 1) .. more:format(table.concat(SHELLS, " ")) .. text:sub(at)
end

function finish.zsh(text)
  text = text:gsub('(_describe "command" commands)', "%1\n  _files")
  text = text:gsub("(\n  esac\n\n  return 1\n}\n)", "\n    *)\n      _files && return 0\n      ;;%1", 1)
  return (
    text:gsub(
      "\n_luhip%s*$",
      [[

if (( $funcstack[(I)_luhip] )); then
  _luhip "$@"
else
  compdef _luhip luhip
fi
]]
    )
  )
end

function finish.fish(text)
  local more = [[
complete -c luhip -n '__fish_luhip_using_command' -F
complete -c luhip -n '__fish_luhip_seen_command completions' -xa '%s'
]]
  return text .. more:format(table.concat(SHELLS, " "))
end

--- What a shell reads to complete luhip's words.
-- @tparam string shell "bash", "zsh" or "fish"
-- @treturn string
function command_line.completions(shell)
  local parser = command_line.parser()
  local make = { bash = parser.get_bash_complete, zsh = parser.get_zsh_complete, fish = parser.get_fish_complete }
  return finish[shell](make[shell](parser))
end

return command_line
