-- lighttpd's mod_magnet: workers that were forked, each with a state that lives long; 10 000 requests.
local hosts = require "spec.hosts.support"
local support = require "spec.support"

if not hosts.wanted then
  return
end

local SCRIPT = [[
local luhip = require "luhip"
if not state then
  local dev = luhip.open()
  state = { dev = dev, x = dev:buffer("i32", 256, 0) }
  state.add = dev:kernel([=[
    extern "C" __global__ void add(int *x, int by) { x[threadIdx.x] += by; }
  ]=]):bind { grid = 1, block = 256 }
end
-- A buffer of its own and one that stays, for each request.
local y = state.dev:buffer("i32", 1024, 1)
state.add(state.x, 1)
state.add(y, 1)
lighty.content = { tostring(y:read()[256] + y:read()[1024]) }
lighty.header["Content-Type"] = "text/plain"
return 200
]]

describe("lighttpd", function()
  local folder, port, pid

  setup(function()
    folder = support.temporary_directory()
    port = 20000 + support.run("echo $$").stdout:match "%d+" % 20000
    support.write_file(folder .. "/gpu.lua", hosts.preamble() .. SCRIPT)
    support.write_file(
      folder .. "/lighttpd.conf",
      ([[
        server.document-root = "%s"
        server.bind = "127.0.0.1"
        server.port = %d
        server.max-worker = 2
        server.max-keep-alive-requests = 100000
        server.modules = ("mod_magnet")
        server.errorlog = "%s/error.log"
        server.pid-file = "%s/pid"
        magnet.attract-physical-path-to = ("%s/gpu.lua")
      ]]):format(folder, port, folder, folder, folder)
    )
    support.write_file(folder .. "/x", "")
    assert(
      os.execute(
        ("LUHIP_DEVICE=cpu:0 LUHIP_CACHE_DIR=%s/cache /usr/sbin/lighttpd -f %s/lighttpd.conf >%s/out 2>&1"):format(
          folder,
          folder,
          folder
        )
      )
    )
    for _ = 1, 100 do
      local file = io.open(folder .. "/pid")
      pid = file and file:read "n"
      if file then
        file:close()
      end
      if pid then
        break
      end
      os.execute "sleep 0.1"
    end
    assert.is_truthy(pid, "the server did not start")
  end)

  teardown(function()
    if pid then
      os.execute(("kill %d; sleep 0.3; pkill -KILL -P %d 2>/dev/null; true"):format(pid, pid))
    end
  end)

  -- Bytes of memory of all workers.
  local function resident()
    local total, workers = 0, 0
    for worker in support.run(("pgrep -P %d"):format(pid)).stdout:gmatch "%d+" do
      local file = assert(io.open(("/proc/%s/status"):format(worker)))
      total = total + tonumber(file:read("a"):match "VmRSS:%s*(%d+)") * 1024
      file:close()
      workers = workers + 1
    end
    assert.equal(2, workers)
    return total
  end

  -- In four connections at once, so that both workers have some.
  local function requests(n)
    local one = ("curl -sS 'http://127.0.0.1:%d/x?[1-%d]' | tr -d '\\n'"):format(port, n // 4)
    local result = support.run(("for i in 1 2 3 4; do (%s; echo) & done; wait"):format(one), { timeout = 300 })
    local answers = select(2, result.stdout:gsub("3", ""))
    assert.equal(n, answers, result.stderr .. result.stdout:sub(1, 500))
  end

  it("answers 10 000 requests without growth", function()
    requests(2000) -- whatever is made once is there now
    local before = resident()
    requests(10000)
    local growth = resident() - before
    assert.is_true(growth < 4 << 20, ("the workers grew by %d bytes"):format(growth))
    local log = io.open(folder .. "/error.log")
    assert.is_nil(log:read("a"):match "magnet[^\n]*")
    log:close()
  end)
end)
