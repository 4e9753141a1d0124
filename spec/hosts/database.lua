-- A PostgreSQL of the specs' own, and workers that share a tuning run in it.
local fake = require "spec.tune.fake"
local support = require "spec.support"

local database = {}

-- ---- a server of our own -------------------------------------------------------------------------------------------

local function sh(text)
  local r = support.run({ "/bin/sh", "-c", text }, { timeout = 300 })
  return r.code, r.stdout, r.stderr
end

local function check(text)
  local code, out, err = sh(text)
  assert(code == 0, text .. "\n" .. out .. err)
  return out
end

local bin, base, url
local number = 0

-- PostgreSQL refuses to run as root: there it runs as the user of Debian's package.
local function as_server(text)
  local _, id = sh "id -u"
  if id == "0\n" then
    text = ("setpriv --reuid=postgres --regid=postgres --clear-groups env HOME=%s %s"):format(base, text)
  end
  return check(text)
end

--- Starts a server.
function database.start()
  base = support.temporary_directory()
  bin = check("ls -d /usr/lib/postgresql/*/bin | tail -n 1"):gsub("%s+$", "")
  check(("chmod 755 %s; id -u postgres >/dev/null && [ $(id -u) = 0 ] && chown postgres %s; true"):format(base, base))
  as_server(("%s/initdb -D %s/data -A trust -U tuner >/dev/null"):format(bin, base))
  local options = ("-c listen_addresses= -c unix_socket_directories=%s -c fsync=off"):format(base)
  as_server(("%s/pg_ctl -D %s/data -w -l %s/log -o '%s' start >/dev/null"):format(bin, base, base, options))
  url = ("postgres:///postgres?host=%s&user=tuner"):format(base)
end

--- Stops it.
function database.stop()
  as_server(("%s/pg_ctl -D %s/data -m immediate stop >/dev/null"):format(bin, base))
end

--- The address of a new database in it.
function database.fresh()
  number = number + 1
  check(("%s/psql -h %s -U tuner -q postgres -c 'create database t%d'"):format(bin, base, number))
  return (url:gsub("/postgres%?", "/t" .. number .. "?"))
end

--- What is in a database's store: "7 ok" for each row.
function database.rows_in(where)
  local list = {}
  for _, row in ipairs(require("luhip.tune.store").read(where):rows()) do
    list[#list + 1] = ("%d %s"):format(row.params.A, row.status)
  end
  return list
end

-- ---- workers -------------------------------------------------------------------------------------------------------

-- A device of Lua whose kernel writes down every launch, and dies where a spec wants that.
local BODY = [[
local function first(name)
  return (os.execute("mkdir " .. folder .. "/" .. name .. " 2>/dev/null"))
end
local function parent()
  return io.open("/proc/self/stat"):read("a"):match "%%) %%S (%%d+)"
end
local x, y = fake.buffer { 1 }, fake.buffer { 0 }
local device = fake.device {
  params = { { name = "x", kind = "in" }, { name = "y", kind = "out" } },
  compile = function(defines)
    log(defines.A)
    for _ = 1, 3 do
      core.sleep(10)
    end
    %s
  end,
  ms = function(defines)
    return 1 + math.abs(defines.A - 7)
  end,
  run = function(_, x, y)
    y.values[1] = 2 * x.values[1]
  end,
}
local result = tune {
  name = "k", device = device, source = "text", kernel = "k", params = { A = tune.range(1, 24) },
  grid = 1, block = 1, args = { x, y }, expect = { y = { 2 } }, problem = { N = 1 }, measure = { max_samples = 3 },
}
print("done", #result.rows, result.counts.ok or 0, result.counts.fault or 0)
]]

--- A folder with a script, work.lua, that tries A = 1 to 24; `behaviour` is run for each.
function database.script(behaviour)
  local folder = support.temporary_directory()
  support.write_file(folder .. "/work.lua", fake.script(folder, BODY:format(behaviour or "")))
  return folder
end

--- The command of one worker, as words.
function database.worker(where, ...)
  return { support.interpreter, support.root .. "/lua/luhip/cli.lua", "tune", "--worker", where, ... }
end

--- Words as one of a shell's lines.
function database.line(words)
  local quoted = {}
  for i, word in ipairs(words) do
    quoted[i] = support.quote(word)
  end
  return table.concat(quoted, " ")
end

--- Runs a shell's command in a folder; gives the lines that it prints, sorted, all that it says, and the exit code.
function database.run(command, folder, environment)
  local r = support.run({ "/bin/sh", "-c", command }, {
    env = support.environment(environment),
    directory = folder,
    timeout = 300,
  })
  local lines = {}
  for line in r.stdout:gmatch "[^\n]+" do
    lines[#lines + 1] = line
  end
  table.sort(lines)
  return lines, r.stderr, r.code
end

--- Runs `count` workers at once, as `run` does.
function database.work(where, folder, count, ...)
  local words = database.worker(where, ...)
  words[#words + 1] = "work.lua"
  return database.run((database.line(words) .. " &\n"):rep(count) .. "wait", folder)
end

--- How often each configuration was tried.
function database.tried(folder)
  local counts = {}
  for a in support.read_file(folder .. "/log"):gmatch "%d+" do
    counts[tonumber(a)] = (counts[tonumber(a)] or 0) + 1
  end
  return counts
end

--- A list of n times `count`.
function database.times(n, count)
  local list = {}
  for a = 1, n do
    list[a] = count
  end
  return list
end

return database
