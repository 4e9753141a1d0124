-- Tuning stores in a real PostgreSQL: several workers at one run, some of which die.
local database = require "spec.hosts.database"
local hosts = require "spec.hosts.support"
local support = require "spec.support"

if not hosts.wanted then
  return
end

describe("a store in PostgreSQL", function()
  setup(database.start)
  teardown(database.stop)

  local fresh, script, work, tried, times, rows_in =
    database.fresh, database.script, database.work, database.tried, database.times, database.rows_in

  it("is shared by workers: each configuration is measured once, and all end with all rows", function()
    local where, folder = fresh(), script()
    local lines, said = work(where, folder, 3)
    assert.same({ "done\t24\t24\t0", "done\t24\t24\t0", "done\t24\t24\t0" }, lines, said)
    assert.same(times(24, 1), tried(folder))
    assert.equal(24, #rows_in(where))
    work(where, folder, 1) -- a late one finds everything done
    assert.same(times(24, 1), tried(folder))
  end)

  it("loses nothing when a worker is killed: it is replaced, and its configuration is another's", function()
    local where = fresh()
    local folder = script [[
      if defines.A == "5" and first "killed" then
        os.execute("kill -9 " .. core.pid())
      elseif defines.A == "11" and first "gone" then
        os.execute("kill -9 " .. parent()) -- the process that watches: this one goes with it
        while true do
          core.sleep(10)
        end
      end]]
    local lines, said = work(where, folder, 3)
    assert.same({ "done\t24\t24\t0", "done\t24\t24\t0" }, lines, said)
    local expected = times(24, 1)
    expected[5], expected[11] = 2, 2
    assert.same(expected, tried(folder))
    local rows = rows_in(where)
    table.sort(rows)
    assert.equal(24, #rows)
    for i = 2, #rows do
      assert.not_equal(rows[i - 1], rows[i])
    end
    local _, replaced = said:gsub("was killed while it tried A=5", "")
    local _, taken = said:gsub("died of SIGKILL; another has what it tried", "")
    assert.equal(1, replaced + taken, said)
  end)

  it("marks a configuration that takes its workers with it, once, and goes on", function()
    local where = fresh()
    local folder = script [[
      if defines.A == "5" then
        os.execute("kill -9 " .. core.pid())
      elseif defines.A == "9" then
        os.execute("kill -SEGV " .. core.pid())
      end]]
    local lines, said = work(where, folder, 2)
    assert.same({ "done\t24\t22\t2", "done\t24\t22\t2" }, lines, said)
    local expected = times(24, 1)
    expected[5] = 2
    local counts = tried(folder)
    assert.is_true(counts[9] == 1 or counts[9] == 2) -- blamed at once, or taken over first
    counts[9] = 1
    assert.same(expected, counts)
  end)

  it("shares a budget among searches", function()
    local where, folder = fresh(), script()
    local lines, said = work(where, folder, 2, "--budget", "10c")
    assert.same({ "done\t10\t10\t0", "done\t10\t10\t0" }, lines, said)
    for _, count in pairs(tried(folder)) do
      assert.equal(1, count)
    end
    assert.equal(10, #rows_in(where))
  end)

  it("keeps what became of a configuration only from the worker whose claim it is", function()
    local claims = require "luhip.tune.database"
    local where = fresh()
    local function join(lease)
      local db = claims.open(where)
      db:join("run", "k", lease)
      return db
    end
    local function row(n)
      return { kind = "row", key = "key", name = "k", params = { A = 1 }, status = "ok", ms = n }
    end
    local one, other, hasty = join(600), join(600), join(0)
    one:fill(1, function()
      return { A = 1 }
    end)
    other:fill(1, error) -- it is filled
    assert.same({ A = 1 }, one:claim())
    assert.is_nil(other:claim()) -- one lives
    assert.same({ { A = 1 }, 1 }, { hasty:claim() }) -- no beat for a lease
    assert.is_false(one:append(row(1)))
    assert.equal(1, hasty:outstanding())
    assert.is_true(hasty:append(row(2)))
    assert.is_false(hasty:append(row(3)))
    assert.equal(0, hasty:outstanding())
    assert.equal(2, one:find("key", { A = 1 }).ms)
    assert.equal(2, one:results()[1].ms)
    one:close()
    other:close()
    hasty:close()
  end)

  it("takes over at once from a worker whose connection is gone", function()
    local claims = require "luhip.tune.database"
    local where = fresh()
    local one, other = claims.open(where), claims.open(where)
    one:join("run", "k", 600)
    other:join("run", "k", 600)
    assert.is_true(one:offer({ A = 1 }, 2))
    assert.is_true(other:offer({ A = 2 }, 2))
    assert.is_false(other:offer({ A = 3 }, 2))
    assert.is_true(other:offer({ A = 1 }, 2)) -- it is there
    assert.same({ A = 2 }, one:claim { A = 2 })
    assert.is_nil(other:claim { A = 2 })
    one:append { kind = "end", key = "key", params = { A = 2 } } -- given back: that is no attempt
    assert.same({ { A = 2 }, 0 }, { one:claim { A = 2 } })
    one:close()
    local taken
    repeat -- the server notices a little later
      taken = other:claim { A = 2 }
    until taken
    assert.same({ A = 2 }, taken)
    other:close()
  end)

  it("is a store as a file is: inspected, merged, resumed from", function()
    local where, folder = fresh(), script()
    work(where, folder, 1, "--budget", "6c")
    local luhip = ("%s %s/lua/luhip/cli.lua tune "):format(support.interpreter, support.root)
    local function run(words)
      local r = support.run({ "/bin/sh", "-c", luhip .. words }, { env = support.environment {}, directory = folder })
      assert.equal(0, r.code, r.stdout .. r.stderr)
      return r.stdout
    end
    assert.truthy(run("inspect " .. support.quote(where)):find "k +[^\n]*N=1 +6 +0")
    assert.truthy(run("merge copy.tune " .. support.quote(where)):find("6 rows added", 1, true))
    assert.truthy(run("--resume --store " .. support.quote(where) .. " work.lua"):find "done\t24\t24")
    assert.same(times(24, 1), tried(folder))
  end)

  it("says what is wrong with an address, without its password", function()
    local store = require "luhip.tune.store"
    support.assert_error_kind("file", function()
      store.open "postgres://me:secret@/nowhere?host=/no/such/folder"
    end, "cannot open the database postgres://me:***@/nowhere")
  end)
end)
