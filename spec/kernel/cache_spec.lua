-- The compile cache in memory and on disk (src/kernel/cache.c, disk.c, entry.c, depend.c).

local core = require "luhip.core"
local support = require "spec.support"
local testing = core.testing

local quote = support.quote

-- What fn adds to the statistics.
local function counted(fn, ...)
  local before = core.compile_stats()
  local result = fn(...)
  local after = core.compile_stats()
  local added = {}
  for name, count in pairs(after) do
    added[name] = count - before[name]
  end
  return added, result
end

local function entries(folder)
  local list = {}
  local pipe = io.popen("ls -A " .. quote(folder) .. " 2>/dev/null")
  for name in pipe:lines() do
    if name:match "%.kernel$" then
      table.insert(list, folder .. "/" .. name)
    end
  end
  pipe:close()
  return list
end

local function mode(path)
  local pipe = io.popen("stat -c %a " .. quote(path))
  local text = pipe:read "l"
  pipe:close()
  return text
end

local compiled = { compiles = 1, memory_hits = 0, disk_hits = 0, disk_rejects = 0 }
local from_memory = { compiles = 0, memory_hits = 1, disk_hits = 0, disk_rejects = 0 }
local from_disk = { compiles = 0, memory_hits = 0, disk_hits = 1, disk_rejects = 0 }
local replaced = { compiles = 1, memory_hits = 0, disk_hits = 0, disk_rejects = 1 }

support.each_device(function(id)
  local dev, folder
  local source = "__global__ void k(int *x, LUHIP_OUT float *y, int n) { *x = V; }"

  before_each(function()
    local kept = os.getenv "LUHIP_CACHE_DIR"
    folder = support.temporary_directory() .. "/cache"
    testing.kernel_setenv("LUHIP_CACHE_DIR", folder)
    support.defer(function()
      testing.kernel_setenv("LUHIP_CACHE_DIR", kept)
      testing.kernel_setenv("LUHIP_CACHE", nil)
    end)
    testing.kernel_forget()
    dev = support.open(id)
  end)

  local function compile(options, text)
    options = options or {}
    options.defines = options.defines or { V = 1 }
    return dev:compile(text or source, options)
  end

  local function value(program)
    local out = dev:buffer("i32", 1)
    program:kernel("k"):launch({ grid = 1, block = 1 }, out, require("luhip").null, 0)
    return out:totable()[1]
  end

  it("K2 serves the same source from memory, then from disk in a new process", function()
    assert.same(compiled, (counted(compile)))
    local added, program = counted(compile)
    assert.same(from_memory, added)
    assert.equal(1, value(program))
    testing.kernel_forget()
    added, program = counted(compile)
    assert.same(from_disk, added)
    assert.equal(1, value(program))
    local params = program:kernel("k").params
    assert.equal("x int * inout", table.concat({ params[1].name, params[1].type, params[1].kind }, " "))
    assert.equal("out", params[2].kind)
    assert.equal(1, #entries(folder))
  end)

  it("K2 keeps the log and the templates of a compile that worked", function()
    local text = '#warning "kept"\ntemplate <class T> __global__ void t(T *x) {}'
    compile({}, text)
    testing.kernel_forget()
    local added, program = counted(compile, {}, text)
    assert.same(from_disk, added)
    assert.truthy(program.log:find("kept", 1, true))
    support.assert_error_kind("not_found", function()
      program:kernel "t"
    end, "templates", "t")
  end)

  it("K2 tells apart all that decides the result", function()
    local headers = { ["h.h"] = "" }
    local variants = {
      {},
      { defines = { V = 2 } },
      { defines = { V = 1, W = 1 } },
      { flags = { "-O1" } },
      { names = { "k" } },
      { name = "other.hip" },
      { headers = headers },
      { headers = { ["h.h"] = " " } },
      { include_dirs = { "/nonexistent" } },
    }
    for _, options in ipairs(variants) do
      assert.same(compiled, (counted(compile, options)))
    end
    for _, options in ipairs(variants) do
      assert.same(from_memory, (counted(compile, options)))
    end
    assert.same(compiled, (counted(compile, {}, source .. " ")))
    assert.equal(2, value(compile { defines = { V = 2 } }))
  end)

  it("K2 keeps sources of one length apart", function()
    local function make(operator)
      return "__global__ void k(int *x, float *y, int n) { *x = 7 " .. operator .. " 3; }"
    end
    for _ = 1, 2 do
      assert.equal(10, value(compile({}, make "+")))
      assert.equal(4, value(compile({}, make "-")))
      testing.kernel_forget()
    end
  end)

  it("K2 with another access shares the compiled code", function()
    compile()
    local added, program = counted(compile, { access = { k = { x = "out" } } })
    assert.same(from_memory, added)
    assert.equal("out", program:kernel("k").params[1].kind)
    assert.equal("inout", compile():kernel("k").params[1].kind)
  end)

  it("K2 with cache = false neither looks nor stores", function()
    assert.same(compiled, (counted(compile, { cache = false })))
    assert.same(compiled, (counted(compile, { cache = false })))
    assert.equal(0, #entries(folder))
  end)

  it("K2 LUHIP_CACHE=off leaves the disk alone", function()
    testing.kernel_setenv("LUHIP_CACHE", "off")
    assert.same(compiled, (counted(compile)))
    assert.same(from_memory, (counted(compile)))
    testing.kernel_forget()
    assert.same(compiled, (counted(compile)))
    assert.equal(0, #entries(folder))
  end)

  it("K2 notices changed, vanished and shadowing include files", function()
    local first, second = support.temporary_directory(), support.temporary_directory()
    local options = { include_dirs = { first, second } }
    local text = '#include "v.h"\n' .. source:gsub("V", "FROM_FILE")
    local function check(expected, number)
      local added, program = counted(compile, options, text)
      assert.same(expected, added)
      assert.equal(number, value(program))
    end
    support.write_file(second .. "/v.h", "#define FROM_FILE 11")
    os.execute "sleep 0.02" -- files that are as young as the compile are not trusted
    check(compiled, 11)
    check(from_memory, 11)
    testing.kernel_forget()
    check(from_disk, 11)
    support.write_file(second .. "/v.h", "#define FROM_FILE 12")
    os.execute "sleep 0.02"
    check(compiled, 12)
    testing.kernel_forget()
    check(from_disk, 12)
    support.write_file(first .. "/v.h", "#define FROM_FILE 13")
    os.execute "sleep 0.02"
    check(compiled, 13)
    os.remove(first .. "/v.h")
    check(compiled, 12)
    os.remove(second .. "/v.h")
    support.assert_error_kind("compile", function()
      compile(options, text)
    end, "v.h")
  end)

  it("K2 keeps nothing that asked for files which may come later", function()
    local include, other = support.temporary_directory(), support.temporary_directory()
    local asks = '#if __has_include("opt.h")\n#include "opt.h"\n#else\n#define V 1\n#endif\n'
    support.write_file(other .. "/asks.h", asks)
    os.execute "sleep 0.02"
    local variants = {
      { asks .. source, { defines = {} } },
      { '#include "given.h"\n' .. source, { defines = {}, headers = { ["given.h"] = asks } } },
      { '#include "asks.h"\n' .. source, { defines = {} } },
      { asks:gsub("__has_include", "HAS", 1) .. source, { defines = { HAS = "__has_include" } } },
    }
    for _, variant in ipairs(variants) do
      local text, options = variant[1], variant[2]
      options.include_dirs = { include, other }
      local added, program = counted(compile, options, text)
      assert.same(compiled, added)
      assert.equal(1, value(program))
      support.write_file(include .. "/opt.h", "#define V 2")
      assert.equal(2, value(compile(options, text)))
      os.remove(include .. "/opt.h")
      assert.equal(1, value(compile(options, text)))
    end
    assert.equal(0, #entries(folder))
  end)

  -- How often the compiler runs when a source that does not compile is compiled twice.
  local function compiles_of_bad(options, text)
    local before = core.compile_stats().compiles
    for _ = 1, 2 do
      support.assert_error_kind("compile", function()
        compile(options, text)
      end, "cannot compile")
    end
    assert.equal(0, #entries(folder))
    return core.compile_stats().compiles - before
  end

  it("K2 a failure is kept in memory, and not on disk", function()
    assert.equal(1, compiles_of_bad({}, "nonsense"))
    assert.equal(1, compiles_of_bad({ defines = { V = 2 } }, "nonsense"))
    assert.equal(1, compiles_of_bad({ headers = { ["a.h"] = "#error no\n" } }, '#include "a.h"\n'))
    testing.kernel_forget()
    assert.equal(1, compiles_of_bad({}, "nonsense"))
    assert.equal(2, compiles_of_bad({ cache = false }, "nonsense"))
  end)

  it("K2 a failure that may be one of a file's is not kept", function()
    local include = support.temporary_directory()
    assert.equal(2, compiles_of_bad({ include_dirs = { include } }, "nonsense"))
    assert.equal(2, compiles_of_bad({}, '#include "not_there.h"\n'))
    assert.equal(2, compiles_of_bad({ headers = { ["a.h"] = '#include "not_there.h"\n' } }, '#include "a.h"\n'))
    assert.equal(2, compiles_of_bad({}, "#if __has_include(<not_there.h>)\n#else\nnonsense\n#endif\n"))
  end)

  it("K2 rebuilds entries that are damaged or cut, silently, and replaces them", function()
    compile()
    local path = entries(folder)[1]
    local whole = support.read_file(path)
    local damaged = {
      "",
      whole:sub(1, 10),
      whole:sub(1, 48),
      whole:sub(1, #whole // 2),
      whole:sub(1, -2),
      whole .. "x",
      ("\0"):rep(#whole),
    }
    for at = 1, #whole, #whole // 23 do
      table.insert(damaged, whole:sub(1, at - 1) .. string.char(whole:byte(at) ~ 1) .. whole:sub(at + 1))
    end
    for i, bytes in ipairs(damaged) do
      support.write_file(path, bytes)
      testing.kernel_forget()
      if i <= 7 then
        local added, program = counted(compile)
        assert.same(replaced, added)
        assert.equal(1, value(program))
        testing.kernel_forget()
        assert.same(from_disk, (counted(compile)))
      elseif id:find "^cpu" then -- a compile each would take long, and only this compiler can be stopped
        local before = core.compile_stats().disk_rejects
        support.assert_error_kind("timeout", function()
          compile { timeout = 1 }
        end)
        assert.equal(before + 1, core.compile_stats().disk_rejects)
      end
    end
  end)

  it("K2 an entry under another's name is not taken", function()
    compile()
    local first = entries(folder)[1]
    compile { defines = { V = 2 } }
    local list = entries(folder)
    local second = list[1] == first and list[2] or list[1]
    support.write_file(first, support.read_file(second))
    testing.kernel_forget()
    local added, program = counted(compile)
    assert.same(replaced, added)
    assert.equal(1, value(program))
  end)

  it("K5 makes the folder and its entries for the user alone", function()
    compile()
    assert.equal("700", mode(folder))
    assert.equal("600", mode(entries(folder)[1]))
  end)

  -- Runs a compile in a process of its own; returns its stdout and stderr.
  local function child(env)
    return support.lua(
      [[
        local core = require "luhip.core"
        local dev = require("luhip").open(...)
        for _ = 1, 2 do
          local k = dev:kernel("__global__ void k(int *x) { *x = 5; }", nil, { cache = true })
          local out = dev:buffer("i32", 1)
          k:launch({ grid = 1, block = 1 }, out)
          assert(out:totable()[1] == 5)
          if core.testing then core.testing.kernel_forget() end
        end
        local s = core.compile_stats()
        print(s.compiles, s.disk_hits, s.disk_rejects)
      ]],
      { env = env },
      id
    )
  end

  it("K5 refuses an entry that others may write, with a warning, and replaces it", function()
    assert.equal("1\t1\t0\n", child({ LUHIP_CACHE_DIR = folder }).stdout)
    local path = entries(folder)[1]
    assert(os.execute("chmod 666 " .. quote(path)))
    local result = child { LUHIP_CACHE_DIR = folder }
    assert.equal("1\t1\t1\n", result.stdout)
    assert.truthy(result.stderr:find(path, 1, true), result.stderr)
    assert.equal("600", mode(path))
    result = child { LUHIP_CACHE_DIR = folder }
    assert.equal("0\t2\t0\n", result.stdout)
    assert.equal("", result.stderr)
  end)

  it("K5 refuses an entry that is a link or a folder, or that another user owns", function()
    child { LUHIP_CACHE_DIR = folder }
    local path = entries(folder)[1]
    local whole = support.read_file(path)
    support.write_file(folder .. "/elsewhere", whole)
    assert(os.execute(("ln -sf elsewhere %s"):format(quote(path))))
    assert.equal("1\t1\t1\n", child({ LUHIP_CACHE_DIR = folder }).stdout)
    if os.execute("chown 12345 " .. quote(path) .. " 2>/dev/null") then -- only root can make one
      local result = child { LUHIP_CACHE_DIR = folder }
      assert.equal("1\t1\t1\n", result.stdout)
      assert.truthy(result.stderr:find("a file of yours", 1, true))
    end
    assert(os.execute(("rm %s && mkdir %s"):format(quote(path), quote(path))))
    local result = child { LUHIP_CACHE_DIR = folder }
    assert.equal("2\t0\t2\n", result.stdout) -- a folder cannot be replaced by a rename
  end)

  it("K5 does without a folder that others may write, and says so once", function()
    assert(os.execute(("mkdir -p %s && chmod 777 %s"):format(quote(folder), quote(folder))))
    local result = child { LUHIP_CACHE_DIR = folder }
    assert.equal("2\t0\t0\n", result.stdout)
    local _, warnings = result.stderr:gsub("compile cache", "")
    assert.equal(1, warnings, result.stderr)
    assert.equal(0, #entries(folder))
  end)

  it("K2 does without a folder that cannot be made, and says so once", function()
    local file = support.temporary_directory() .. "/file"
    support.write_file(file, "")
    local result = child { LUHIP_CACHE_DIR = file .. "/below" }
    assert.equal("2\t0\t0\n", result.stdout)
    local _, warnings = result.stderr:gsub("compile cache", "")
    assert.equal(1, warnings, result.stderr)
  end)

  it("K2 lives in XDG_CACHE_HOME/luhip, else ~/.cache/luhip", function()
    local home = support.temporary_directory()
    local env = { LUHIP_CACHE_DIR = false, XDG_CACHE_HOME = home .. "/xdg", HOME = home }
    assert.equal("1\t1\t0\n", child(env).stdout)
    assert.equal(1, #entries(home .. "/xdg/luhip"))
    env.XDG_CACHE_HOME = false
    assert.equal("1\t1\t0\n", child(env).stdout)
    assert.equal(1, #entries(home .. "/.cache/luhip"))
    assert.equal("700", mode(home .. "/.cache/luhip"))
  end)

  -- Allocated bytes of a file.
  local function size(path)
    local pipe = io.popen("stat -c '%b %B' " .. quote(path))
    local blocks, bytes = pipe:read("n", "n")
    pipe:close()
    return blocks * bytes
  end

  local function compile_v(v)
    testing.kernel_forget()
    return counted(dev.compile, dev, source, { defines = { V = v } })
  end

  it("K2 the folder is kept within its limit: what was not used for longest goes", function()
    support.defer(function()
      testing.kernel_setenv("LUHIP_CACHE_LIMIT", nil)
    end)
    testing.kernel_setenv("LUHIP_CACHE_LIMIT", "0")
    compile_v(1)
    local one = size(entries(folder)[1])
    for v = 2, 6 do
      compile_v(v)
    end
    assert.equal(6, #entries(folder))
    assert.same(from_disk, (compile_v(1))) -- now the newest
    support.write_file(folder .. "/.new-1-1", "left by a process that died")
    support.write_file(folder .. "/.new-1-2", "of one that writes just now")
    support.write_file(folder .. "/notes.txt", ("x"):rep(10 * one))
    os.execute("touch -d '2 hours ago' " .. quote(folder .. "/.new-1-1"))
    testing.kernel_setenv("LUHIP_CACHE_LIMIT", tostring(one * 4 + one // 2))
    for v = 7, 8 do
      compile_v(v)
      assert.is_true(#entries(folder) <= 4)
    end
    assert.is_true(#entries(folder) >= 3)
    assert.same(from_disk, (compile_v(8)))
    assert.same(from_disk, (compile_v(1)))
    assert.same(compiled, (compile_v(2)))
    local file = io.open(folder .. "/.new-1-1")
    assert.is_nil(file)
    for _, name in ipairs { "/.new-1-2", "/notes.txt" } do
      file = assert(io.open(folder .. name))
      file:close()
    end
  end)

  it("K2 the limit holds for a folder that others filled, whatever this process stored elsewhere", function()
    support.defer(function()
      testing.kernel_setenv("LUHIP_CACHE_LIMIT", nil)
    end)
    local other = support.temporary_directory() .. "/cache"
    for v = 1, 3 do
      local script = ("require('luhip').open(...):compile(%q, { defines = { V = %d } })"):format(source, v)
      local result = support.lua(script, { env = { LUHIP_CACHE_DIR = other, LUHIP_CACHE_LIMIT = "0" } }, id)
      assert.equal(0, result.code, result.stderr)
    end
    assert.equal(3, #entries(other))
    testing.kernel_setenv("LUHIP_CACHE_LIMIT", tostring(size(entries(other)[1]) * 5 // 2))
    compile_v(1)
    assert.equal(1, #entries(folder))
    testing.kernel_setenv("LUHIP_CACHE_DIR", other)
    compile_v(4)
    assert.equal(2, #entries(other))
    assert.same(from_disk, (compile_v(4)))
  end)

  it("K2 an entry that is larger than the limit is kept, alone", function()
    support.defer(function()
      testing.kernel_setenv("LUHIP_CACHE_LIMIT", nil)
    end)
    testing.kernel_setenv("LUHIP_CACHE_LIMIT", "1")
    for v = 1, 3 do
      assert.same(compiled, (compile_v(v)))
      assert.equal(1, #entries(folder))
    end
    assert.same(from_disk, (compile_v(3)))
  end)

  it("K2 processes that share a small folder lose nothing but time", function()
    local script = [[
      local dev = require("luhip").open(...)
      for i = 1, 6 do
        local k = dev:kernel("__global__ void k(int *x) { *x = V; }", nil, { defines = { V = i } })
        local out = dev:buffer("i32", 1)
        k:launch({ grid = 1, block = 1 }, out)
        assert(out:totable()[1] == i)
      end
      print "ok"
    ]]
    local path = support.temporary_directory() .. "/s.lua"
    support.write_file(path, script)
    local process = ("%s %s %s"):format(support.interpreter, path, id)
    local result = support.run(("%s & %s & wait"):format(process, process), {
      env = support.environment { LUHIP_CACHE_DIR = folder, LUHIP_CACHE_LIMIT = "20K" },
    })
    assert.equal("ok\nok\n", result.stdout, result.stderr)
    assert.is_true(#entries(folder) <= 5)
  end)

  it("K2 is shared by processes that compile the same at once", function()
    local script = [[
      local dev = require("luhip").open(...)
      for i = 1, 3 do
        local k = dev:kernel("__global__ void k(int *x) { *x = V; }", nil, { defines = { V = i } })
        local out = dev:buffer("i32", 1)
        k:launch({ grid = 1, block = 1 }, out)
        assert(out:totable()[1] == i)
      end
      print "ok"
    ]]
    local path = support.temporary_directory() .. "/s.lua"
    support.write_file(path, script)
    local one = ("%s %s %s"):format(support.interpreter, path, id)
    local result = support.run(("%s & %s & %s & wait"):format(one, one, one), {
      env = support.environment { LUHIP_CACHE_DIR = folder },
    })
    assert.equal("ok\nok\nok\n", result.stdout, result.stderr)
    assert.equal(3, #entries(folder))
  end)

  it("K6 threads that want the same at once compile it once, and share a failure too", function()
    local script = [[
      local device = ...
      local dev = require("luhip").open(device)
      local ok = pcall(function()
        local k = dev:kernel("__global__ void k(int *x) { *x = 1; }", "k", { name = "threads.hip" })
        local out = dev:buffer("i32", 1)
        k:launch({ grid = 1, block = 1 }, out)
        assert(out:totable()[1] == 1)
      end)
      local good, e = pcall(dev.compile, dev, "nonsense", { name = "threads.hip" })
      dev:close()
      assert(ok and not good and e.kind == "compile")
    ]]
    local added, results = counted(testing.threads, script, 4, id)
    for _, result in ipairs(results) do
      assert.is_true(result.ok, result.message)
    end
    assert.equal(4, #results)
    assert.equal(2, added.compiles)
    assert.equal(3, added.memory_hits)
    assert.equal(1, #entries(folder))
  end)
end)
