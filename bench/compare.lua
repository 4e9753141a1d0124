-- The kernel comparison: luhip's CPU device beside PoCL and plain OpenMP C, in interleaved rounds.
--
--   bench/kernels/run [--small] [--rounds n] [algorithm]...        builds what it needs, then runs this
--
-- Each round runs the three programs one after the other, so that a change of the machine's mood meets all of them;
-- the table has the medians over the rounds, the speed of luhip beside the others', and what is asked of it.

local PROGRAMS = {
  { name = "luhip", command = "scripts/luhip bench/kernels.lua" },
  { name = "pocl", command = "build/bench/pocl" },
  { name = "openmp", command = "build/bench/openmp" },
}
-- luhip's speed as a part of PoCL's that is asked for.
local TARGETS = {
  { "axpy", 0.6 },
  { "stencil_256x1", 0.6 },
  { "stencil_16x16", 0.45 },
  { "expf_sinf", 0.6 },
  { "nbody", 0.6 },
  { "histogram", 0.6 },
  { "reduction", 0.6 },
  { "matmul", 0.25 },
}

local rounds, words = 5, {}
local i = 1
while arg[i] do
  if arg[i] == "--rounds" then
    rounds = assert(math.tointeger(tonumber(arg[i + 1])), "compare: --rounds needs a number")
    i = i + 1
  else
    assert(arg[i]:match "^[%w_-]+$", "compare: no such algorithm: " .. arg[i])
    table.insert(words, arg[i])
  end
  i = i + 1
end

local times = {}
for round = 1, rounds do
  for _, program in ipairs(PROGRAMS) do
    io.stderr:write(("round %d of %d: %s\n"):format(round, rounds, program.name))
    local pipe = assert(io.popen(program.command .. " " .. table.concat(words, " ")))
    for line in pipe:lines() do
      local name, ms = line:match "^([%w_]+) ([%d.]+)$"
      if not name then
        error(("compare: %s printed: %s"):format(program.name, line))
      end
      times[name] = times[name] or {}
      times[name][program.name] = times[name][program.name] or {}
      table.insert(times[name][program.name], tonumber(ms))
    end
    if not pipe:close() then
      error(("compare: %s failed"):format(program.command))
    end
  end
end

local function median(samples)
  table.sort(samples)
  local middle = #samples // 2
  return #samples % 2 == 1 and samples[middle + 1] or (samples[middle] + samples[middle + 1]) / 2
end

local missed = 0
print(("%-14s %10s %10s %10s %9s %9s  %s"):format("ms", "luhip", "PoCL", "OpenMP C", "x PoCL", "x C", "target"))
for _, row in ipairs(TARGETS) do
  local name, target = table.unpack(row)
  local samples = times[name]
  if samples then
    local luhip, pocl, openmp = median(samples.luhip), median(samples.pocl), median(samples.openmp)
    local met = pocl / luhip >= target
    missed = missed + (met and 0 or 1)
    print(
      ("%-14s %10.3f %10.3f %10.3f %9.2f %9.2f  %s"):format(
        name,
        luhip,
        pocl,
        openmp,
        pocl / luhip,
        openmp / luhip,
        (">= %.2f x PoCL%s"):format(target, met and "" or "  MISSED")
      )
    )
  end
end
print(("medians of %d interleaved rounds; speeds relative to the others', more is better"):format(rounds))
print(missed == 0 and "all targets met" or ("%d targets missed"):format(missed))
