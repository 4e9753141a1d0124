-- Building tuning spaces: the eight spaces of arXiv 2509.26253, from files in T1 form, and a product of 10^12.
--
--   scripts/bench spaces FOLDER      a folder of T1 files with General.ExpectedValid
--
-- What is timed is all between the file's text and an indexed space: reading JSON, parsing conditions, enumerating.
-- The best of five. A condition that the file's Note quotes in '...' (Kernel Tuner's implicit one) is added.

local core = require "luhip.core"
local space = require "luhip.tune.space"
local t1 = require "luhip.tune.t1"

local REPEATS = 5

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

local function files_of(folder)
  local list = {}
  local pipe = assert(io.popen("ls '" .. folder:gsub("'", "'\\''") .. "'/*.json"))
  for path in pipe:lines() do
    list[#list + 1] = path
  end
  pipe:close()
  return list
end

local function load(text)
  local problem = core.json(text)
  local implicit = (problem.General.Note or ""):match "'([^']*<=[^']*)'"
  if implicit then
    table.insert(problem.ConfigurationSpace.Conditions, { Expression = implicit })
  end
  return t1.space(problem), problem
end

local function best_of(fn)
  local best, result = math.huge, nil
  for _ = 1, REPEATS do
    collectgarbage()
    local before = core.monotime()
    result = fn()
    best = math.min(best, core.monotime() - before)
  end
  return best * 1000, result
end

local function peak_memory()
  for line in io.lines "/proc/self/status" do
    local kib = line:match "^VmHWM:%s+(%d+)"
    if kib then
      return tonumber(kib) / 1024
    end
  end
end

local function row(...)
  print(("%-24s %16s %12s %10s"):format(...))
end

local function published(folder)
  row("space", "product", "valid", "ms")
  local total, wrong = 0, 0
  for _, path in ipairs(files_of(folder)) do
    local text = read(path)
    local ms, s = best_of(function()
      return (load(text))
    end)
    local expected = core.json(text).General.ExpectedValid
    total, wrong = total + ms, wrong + (expected ~= s.count and 1 or 0)
    local note = expected ~= s.count and (" WRONG: %d expected"):format(expected) or ""
    row(path:match "([^/]+)%.json$", tostring(s.product), tostring(s.count), ("%.2f%s"):format(ms, note))
  end
  row("together", "", "", ("%.2f"):format(total))
  print(("peak memory of the process: %.1f MiB (Kernel Tuner 1.4.0: 3700 ms, 368 MB)"):format(peak_memory()))
  return wrong == 0
end

local function product()
  local params = {}
  for i = 1, 12 do
    params[i] = { ("P%02d"):format(i), { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 } }
  end
  local ms, s = best_of(function()
    local s = space.new { params = params }
    s:sample(1000, 1)
    return s
  end)
  row("12 of 10 values", tostring(s.product), tostring(s.count), ("%.2f"):format(ms))
  print "  built, counted, 1000 positions drawn"
end

if not arg[1] then
  print "usage: scripts/bench spaces FOLDER    a folder of T1 files with General.ExpectedValid"
  os.exit(2)
end
local right = published(arg[1])
product()
os.exit(right and 0 or 1, true)
