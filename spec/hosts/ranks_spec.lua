-- Workers of a tuning run that are started by mpirun and by srun.
local database = require "spec.hosts.database"
local hosts = require "spec.hosts.support"
local support = require "spec.support"

if not hosts.wanted then
  return
end

local function sh(text)
  local r = support.run({ "/bin/sh", "-c", text }, { timeout = 60 })
  return r.code == 0, r.stdout .. r.stderr
end

local function is_there(program)
  return (sh(("PATH=$PATH:/usr/sbin command -v %s"):format(program)))
end

local DONE = { "done\t24\t24\t0", "done\t24\t24\t0", "done\t24\t24\t0" }

-- The run that three workers share, started by a command that takes another behind it; in a store of its own.
local function shared(launch, environment)
  local where = database.fresh()
  local folder = database.script [[
    if defines.A == "5" and first "killed" then
      os.execute("kill -9 " .. core.pid())
    end]]
  local words = database.worker(where, "--report", "out.html", "work.lua")
  local command = launch .. " " .. database.line(words)
  local lines, said, code = database.run(command, folder, environment)
  assert.same(DONE, lines, said)
  assert.equal(0, code)
  local expected = database.times(24, 1)
  expected[5] = 2 -- its first worker died of it, which luhip tune has replaced
  assert.same(expected, database.tried(folder))
  assert.equal(24, #database.rows_in(where))
  assert.truthy(support.read_file(folder .. "/out.html"):find("</html>", 1, true))
end

describe("workers that are started by", function()
  setup(database.start)
  teardown(database.stop)

  local as_root = sh 'test "$(id -u)" = 0'
  local mpirun = "mpirun --oversubscribe -n 3" .. (as_root and " --allow-run-as-root" or "")

  it("mpirun share a run", function()
    if not is_there "mpirun" then
      pending "mpirun is not installed"
    end
    shared(mpirun)
  end)

  it("mpirun, which ends all of them when one is killed: the next run has what is left to do", function()
    if not is_there "mpirun" then
      pending "mpirun is not installed"
    end
    local where = database.fresh()
    local folder = database.script [[
      if defines.A == "11" and first "gone" then
        os.execute("kill -9 " .. parent()) -- the process that mpirun started: this one goes with it
        while true do
          core.sleep(10)
        end
      end]]
    local command = mpirun .. " " .. database.line(database.worker(where, "work.lua"))
    local _, _, code = database.run(command, folder)
    assert.not_equal(0, code)
    local lines, said = database.run(command, folder)
    assert.same(DONE, lines, said)
    assert.equal(24, #database.rows_in(where))
    local again = 0
    for _, count in pairs(database.tried(folder)) do
      again = again + count - 1
    end
    assert.is_true(again >= 1 and again <= 3, "only what was in flight is tried again")
  end)

  describe("srun", function()
    local folder, why

    -- A cluster of this machine: munge, a controller and a node, with everything of theirs in a folder.
    local CONFIGURATION = [[
ClusterName=spec
SlurmctldHost=%s(127.0.0.1)
SlurmUser=root
SlurmctldPort=%d
SlurmdPort=%d
AuthType=auth/munge
AuthInfo=socket=%s/munge/socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
StateSaveLocation=%s/state
SlurmdSpoolDir=%s/spool
SlurmctldPidFile=%s/controller.pid
SlurmdPidFile=%s/node.pid
SlurmctldLogFile=%s/controller.log
SlurmdLogFile=%s/node.log
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=%s NodeAddr=127.0.0.1 CPUs=8
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=YES
]]

    local START = [[
set -e
cd %s
chmod 711 .
mkdir state spool munge
chmod 755 munge
head -c 1024 /dev/urandom > key
chmod 600 key
munged --key-file=$PWD/key --socket=$PWD/munge/socket --pid-file=$PWD/munged.pid --log-file=$PWD/munged.log \
  --seed-file=$PWD/seed
export SLURM_CONF=$PWD/slurm.conf
slurmctld -c
slurmd
for i in $(seq 100); do
  [ "$(sinfo -h -o %%T)" = idle ] && exit 0
  sleep 0.2
done
sinfo
tail -n 20 *.log
exit 1
]]

    setup(function()
      for _, program in ipairs { "srun", "slurmctld", "slurmd", "munged" } do
        why = why or not is_there(program) and program .. " is not installed" or nil
      end
      why = why or not as_root and "a node's daemon runs as root" or nil
      if why then
        return
      end
      folder = support.temporary_directory()
      local host = io.popen("hostname -s"):read "l"
      local port = 20000 + require("luhip.core").pid() % 20000
      local f = folder
      support.write_file(folder .. "/slurm.conf", CONFIGURATION:format(host, port, port + 1, f, f, f, f, f, f, f, host))
      local ok, said = sh("PATH=$PATH:/usr/sbin; " .. START:format(folder))
      assert(ok, said)
    end)

    teardown(function()
      if folder then
        sh(("cd %s && for f in *.pid; do kill $(cat $f); done; sleep 0.5"):format(folder))
      end
    end)

    it("share a run", function()
      if why then
        pending(why)
      end
      shared("srun -n 3 --overcommit", { SLURM_CONF = folder .. "/slurm.conf" })
    end)
  end)
end)
