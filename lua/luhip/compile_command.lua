--- `luhip compile`: code objects for any architecture, with no device.
--
-- It reads its words itself and not by argparse: flags go through to the compiler in their order and with whatever they
-- hold, and it works where argparse is not installed. luhip.command_line has the words once more, for shells; a spec
-- holds both against each other.
-- Dependencies: luhip.core, luhip.nearest, luhip.missing_path, luhip.whole_file.
-- @module luhip.compile_command

local nearest = require "luhip.nearest"

local command = {}

local USAGE = [[
usage: luhip compile --arch ARCH[,ARCH...] FILE... [-o OUTPUT] [options]

  --arch gfx90a,gfx1030   architectures to compile for; each may carry features (gfx90a:xnack-)
  -o, --output PATH       where the code goes: %a is the architecture, %n the file's name without its ending;
                          for several files without %n in it, a folder, in which each is %n.co. Folders that are
                          missing are made. Default: %n.%a.co
  --name EXPRESSION       a template kernel to be made, as in 'scale<float, 4>'; may be repeated
  -D NAME[=VALUE]         defines a macro (1 without a value)
  -I FOLDER               looks for includes there
  --list                  prints each kernel: parameters, registers, memory
  --no-cache              compiles afresh
  -f..., -m..., -O..., -W...   go to the compiler as they are
  --                      what follows are files, whatever they begin with

Warnings go to standard error. Exit code: 0; 1 when something does not compile or cannot be written; 2 for wrong use.
]]

--- What `--help` prints.
command.usage = USAGE

local function usage_error(format, ...)
  error({ usage = format:format(...) }, 0)
end

-- ---- arguments -------------------------------------------------------------------------------------------------

local WITH_VALUE = {
  ["--arch"] = "arch",
  ["-o"] = "output",
  ["--output"] = "output",
  ["--name"] = "name",
  ["-D"] = "define",
  ["-I"] = "include",
}

local SWITCHES = { ["--list"] = "list", ["--no-cache"] = "no_cache", ["--help"] = "help", ["-h"] = "help" }

local function known_options()
  local words = {}
  for word in pairs(WITH_VALUE) do
    words[#words + 1] = word
  end
  for word in pairs(SWITCHES) do
    words[#words + 1] = word
  end
  table.sort(words)
  return words
end

local take = {}

function take.arch(o, value)
  for arch in value:gmatch "[^,]+" do
    o.archs[#o.archs + 1] = arch
  end
  if not value:find "[^,]" then
    usage_error("--arch: '%s' names no architecture", value)
  end
end

function take.output(o, value)
  o.output = value
end

function take.name(o, value)
  table.insert(o.names, value)
end

function take.define(o, value)
  local name, text = value:match "^([^=]*)=(.*)$"
  o.defines[name or value] = text or 1
end

function take.include(o, value)
  table.insert(o.include_dirs, value)
end

-- "--arch=gfx90a" and "-DX=1" as "--arch gfx90a" and "-D X=1".
local function split(word)
  local name, value = word:match "^(%-%-[%w-]+)=(.*)$"
  if name then
    return name, value
  end
  if word:find "^%-[DIo]." then
    return word:sub(1, 2), word:sub(3)
  end
  return word
end

-- Gives the place of the next word.
local function parse_word(o, words, i)
  local option, value = split(words[i])
  if option == "--" then
    table.move(words, i + 1, #words, #o.files + 1, o.files)
    return #words + 1
  elseif option:sub(1, 1) ~= "-" or option == "-" then
    table.insert(o.files, words[i])
  elseif SWITCHES[option] then
    if value then
      usage_error("%s takes no value, and was given '%s'", option, value)
    end
    o[SWITCHES[option]] = true
  elseif WITH_VALUE[option] then
    if not value then
      i = i + 1
      value = words[i]
    end
    if not value or value == "" then
      usage_error("%s needs a value", option)
    end
    take[WITH_VALUE[option]](o, value)
  elseif option:find "^%-[fmOW]" then
    table.insert(o.flags, words[i])
  else
    local guess = nearest(option, known_options())
    usage_error("unknown option '%s'%s", option, guess and "; did you mean " .. guess .. "?" or "")
  end
  return i + 1
end

--- Reads the words after `luhip compile`.
-- @tparam {string,...} words
-- @treturn table archs, files, output, names, defines, include_dirs, flags, list, no_cache, help
-- @raise { usage = message } for what makes no sense
function command.parse(words)
  local o = { archs = {}, files = {}, names = {}, defines = {}, include_dirs = {}, flags = {}, output = "%n.%a.co" }
  local i = 1
  while words[i] do
    i = parse_word(o, words, i)
  end
  if o.help then
    return o
  elseif #o.archs == 0 then
    usage_error "--arch is missing: which architecture is it for?"
  elseif #o.files == 0 then
    usage_error "no file to compile"
  end
  return o
end

local function base_name(path)
  return (path:gsub("^.*/", ""):gsub("%.[^.]*$", ""))
end

--- Where each file's code goes.
-- @tparam table o what parse gave
-- @treturn {table,...} { file, arch, output } in order
-- @raise { usage = message } when two would be written to one place
function command.outputs(o)
  local jobs, taken = {}, {}
  local pattern = o.output
  if #o.files > 1 and not pattern:find "%%n" then
    pattern = pattern:gsub("/*$", "") .. "/%n.co"
  end
  for _, file in ipairs(o.files) do
    for _, arch in ipairs(o.archs) do
      local values = { a = arch:gsub("[^%w+-]", "_"), n = base_name(file), ["%"] = "%" }
      local output = pattern:gsub("%%(.)", values)
      local job = file .. " for " .. arch
      if taken[output] == job then
        usage_error("%s is there twice", job)
      elseif taken[output] then
        usage_error("%s and %s would both be written to %s; put %%a and %%n into -o", job, taken[output], output)
      end
      taken[output] = job
      jobs[#jobs + 1] = { file = file, arch = arch, output = output }
    end
  end
  return jobs
end

-- ---- compiling -------------------------------------------------------------------------------------------------

-- The text of a source; nil and why not.
local function read_file(path)
  local text, why = require("luhip.whole_file").read(path)
  if not text then
    return nil, require "luhip.missing_path"(path) or "cannot read " .. why
  elseif text:find("\0", 1, true) then
    return nil,
      ("%s has a zero byte in line %d: it is no source text"):format(
        path,
        select(2, text:match("^[^\0]*"):gsub("\n", "")) + 1
      )
  end
  return text
end

local function write_file(path, bytes)
  local core = require "luhip.core"
  local folder = path:match "^(.*)/[^/]*$"
  if folder and folder ~= "" then
    core.make_folder(folder)
  end
  return core.write_file(path, bytes)
end

local function parameter_text(parameter)
  local text = parameter.type
  if parameter.name ~= "" then
    text = text:find "%*$" and text .. parameter.name or text .. " " .. parameter.name
  end
  return parameter.kind == "value" and text or ("%s (%s)"):format(text, parameter.kind)
end

--- One kernel in words, a few lines.
-- @tparam table kernel as core.compile_for's image has it
-- @treturn string
function command.describe(kernel)
  local parameters = {}
  for i, parameter in ipairs(kernel.params) do
    parameters[i] = parameter_text(parameter)
  end
  local lines = { ("  %s(%s)"):format(kernel.name, table.concat(parameters, ", ")) }
  if kernel.lowered ~= kernel.name then
    lines[#lines + 1] = "    symbol " .. kernel.lowered
  end
  if kernel.registers then
    local facts = "    %d vector registers, %d scalar, %d spilled; shared %d bytes, local %d, arguments %d; "
    lines[#lines + 1] = (facts .. "warp %d, at most %d threads"):format(
      kernel.registers,
      kernel.scalar_registers,
      kernel.spills,
      kernel.shared_bytes,
      kernel.local_bytes,
      kernel.argument_bytes,
      kernel.warp_size,
      kernel.max_threads
    )
  end
  return table.concat(lines, "\n")
end

local function complain(text)
  io.stderr:write("luhip compile: ", text, "\n")
end

-- All of a compile's error, in the user's terms; else the one sentence.
local function error_text(e)
  return e.kind == "compile" and tostring(e):gsub("\n+$", "") or e.message
end

-- One file for one architecture; false when it failed.
local function compile_one(job, source, o)
  local core = require "luhip.core"
  local ok, image = pcall(core.compile_for, job.arch, source, {
    name = job.file,
    names = o.names,
    defines = o.defines,
    include_dirs = o.include_dirs,
    flags = o.flags,
    cache = not o.no_cache,
  })
  if not ok then
    complain(core.is_error(image) and error_text(image) or tostring(image))
    return false
  end
  if image.log ~= "" then
    io.stderr:write(image.log, image.log:find "\n$" and "" or "\n")
  end
  local written, why = write_file(job.output, image.code)
  if not written then
    complain("cannot write " .. why)
    return false
  end
  print(("%s for %s: %s, %d bytes"):format(job.file, job.arch, job.output, #image.code))
  if o.list then
    for _, kernel in ipairs(image.kernels) do
      print(command.describe(kernel))
    end
  end
  return true
end

local function compile_all(jobs, o)
  local failed = false
  local sources = {}
  for _, job in ipairs(jobs) do
    local source = sources[job.file]
    if source == nil then
      local why
      source, why = read_file(job.file)
      sources[job.file] = source or false
      if not source then
        complain(why)
      end
    end
    failed = not (source and compile_one(job, source, o)) or failed
  end
  return failed and 1 or 0
end

--- Runs the command.
-- @tparam {string,...} words what follows `luhip compile`
-- @treturn integer the exit code
function command.run(words)
  local ok, result = pcall(function()
    local o = command.parse(words)
    return { o, not o.help and command.outputs(o) }
  end)
  if not ok then
    if type(result) ~= "table" or not result.usage then
      error(result, 0)
    end
    complain(result.usage .. " (luhip compile --help)")
    return 2
  end
  local o, jobs = result[1], result[2]
  if o.help then
    io.stdout:write(USAGE)
    return 0
  end
  return compile_all(jobs, o)
end

return command
