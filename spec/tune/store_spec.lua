local core = require "luhip.core"
local store = require "luhip.tune.store"
local support = require "spec.support"

support.scope()

local function row(i, more)
  local record = {
    kind = "row",
    name = "k",
    key = ("0"):rep(31) .. "1",
    device = "cpu",
    problem = { N = 8 },
    params = { A = i },
    status = "ok",
    ms = i / 7,
    samples = { i / 7, 0.1, 1e-300 },
    objective = "ms",
  }
  for key, value in pairs(more or {}) do
    record[key] = value
  end
  return record
end

local function file()
  return support.temporary_directory() .. "/x.tune"
end

describe("core.json_text", function()
  it("writes what core.json reads back as the same", function()
    for _, value in ipairs {
      { 1, -2, 0.1, 1 / 3, 1e300, 5e-324, -0.5, 123456789.123456789, 2.0, math.mininteger, math.maxinteger },
      { a = { b = { c = true } }, ['q"\\\n\1'] = "é\0z", n = 0 },
      { "", "x", false },
    } do
      assert.same(value, core.json(core.json_text(value)))
    end
    assert.equal("float", math.type(core.json(core.json_text { 2.0 })[1]))
    local state = 1
    for _ = 1, 2000 do
      state = state * 6364136223846793005 + 1442695040888963407
      local x = string.unpack("<d", string.pack("<i8", state))
      if x == x and x - x == 0 then
        assert.equal(x, core.json(core.json_text { x })[1])
      end
      for _, y in ipairs { (state >> 40) / 1e9, (state >> 11) * 10.0 ^ ((state & 31) - 24), 1 / ((state >> 50) + 1) } do
        local text = core.json_text { y }
        assert.equal(y, core.json(text)[1], text)
        assert.equal(y, tonumber(text:sub(2, -2)), text)
      end
    end
  end)

  it("writes every text so that it reads back as the same", function()
    local state, special = 1, { '"', "\\", "\0", "\31", " ", "\127", "\200", "\255", "!", "#" }
    for length = 0, 40 do
      for _ = 1, 8 do
        local bytes = {}
        for i = 1, length do
          state = state * 6364136223846793005 + 1442695040888963407
          local roll = state >> 40
          bytes[i] = roll % 5 == 0 and special[(roll >> 8) % #special + 1] or string.char(97 + (roll >> 8) % 26)
        end
        local text = table.concat(bytes)
        assert.equal(text, core.json(core.json_text { text })[1])
        assert.equal(1, core.json(core.json_text { [text .. "x"] = 1 })[text .. "x"])
      end
    end
  end)

  it("orders names, and writes null for what JSON has not", function()
    assert.equal('{"a":1,"b":[null,null],"c":{}}', core.json_text { b = { 0 / 0, core.null }, c = {}, a = 1 })
    for _, count in ipairs { 31, 32, 33, 100 } do
      local many, parts = {}, {}
      for i = 1, count do
        local name = ("n%03d"):format(i)
        many[name], parts[i] = { x = i }, ('"%s":{"x":%d}'):format(name, i)
      end
      assert.equal("{" .. table.concat(parts, ",") .. "}", core.json_text(many))
    end
    assert.equal('{"a\\u0000b":1}', core.json_text { ["a\0b"] = 1 })
    local close = { "", "a", "abcdefgh", "abcdefgh1", "abcdefgh2", "abcdefgi", "b", "\u{e9}" }
    local parts, object = {}, {}
    for i, name in ipairs(close) do
      parts[i], object[name] = ('"%s":%d'):format(name, i), i
    end
    assert.equal("{" .. table.concat(parts, ",") .. "}", core.json_text(object))
  end)

  it("refuses what is no data", function()
    for _, value in ipairs { { [true] = 1 }, { print }, { [2.5] = 1 } } do
      support.assert_error_kind("type", function()
        core.json_text(value)
      end, "JSON")
    end
    local ring = {}
    ring.x = ring
    support.assert_error_kind("argument", function()
      core.json_text(ring)
    end, "too deeply")
  end)
end)

describe("a store", function()
  it("keeps what was appended", function()
    local path = file()
    local s = store.open(path)
    for i = 1, 10 do
      s:append(row(i))
    end
    s:append(row(3, { ms = 99.0 }))
    s:close()
    local again = store.read(path)
    assert.equal(0, again.damaged)
    assert.equal(10, #again:rows())
    assert.same(row(4), again:find(row(4).key, { A = 4 }))
    assert.equal(99.0, again:find(row(3).key, { A = 3.0 }).ms)
    assert.is_nil(again:find("other", { A = 4 }))
    assert.is_nil(again:find(row(4).key, { A = 4, B = 1 }))
  end)

  it("loses the record in flight at most, wherever it is cut", function()
    local path = file()
    local s = store.open(path)
    local ends = {}
    for i = 1, 4 do
      s:append(row(i))
      ends[i] = #support.read_file(path)
    end
    s:close()
    local text = support.read_file(path)
    for cut = 0, #text do
      support.write_file(path, text:sub(1, cut))
      local whole = 0
      for _, e in ipairs(ends) do
        whole = whole + (e - 1 <= cut and 1 or 0)
      end
      local partial = cut > (ends[whole] or 0) and 1 or 0
      local read = store.read(path)
      assert.equal(whole, #read:rows())
      assert.is_true(read.damaged <= partial)
      if cut % 7 == 0 then
        local more = store.open(path)
        more:append(row(50))
        more:close()
        assert.equal(whole + 1, #store.read(path):rows(), "appended behind a cut at " .. cut)
      end
    end
  end)

  it("sees a changed byte, and loses that record alone", function()
    local path = file()
    local s = store.open(path)
    for i = 1, 3 do
      s:append(row(i))
    end
    s:close()
    local text = support.read_file(path)
    local at = text:find('"A":2', 1, true)
    support.write_file(path, text:sub(1, at + 3) .. "7" .. text:sub(at + 5))
    local read = store.read(path)
    assert.equal(1, read.damaged)
    assert.equal(2, #read:rows())
  end)

  it("is appended to by many processes at once", function()
    local path = file()
    local code = [[
      local store = require "luhip.tune.store"
      local s = store.open(arg[1])
      for i = 1, 200 do
        s:append { kind = "row", name = "k", key = arg[2], params = { A = i }, status = "ok", ms = 1.5,
          note = ("x"):rep(i) }
      end
      s:close()
    ]]
    local script = path .. ".lua"
    support.write_file(script, code)
    local command = {}
    for i = 1, 4 do
      command[i] = ("%s %s %s key%d &"):format(
        support.quote(support.interpreter),
        support.quote(script),
        support.quote(path),
        i
      )
    end
    command[5] = "wait"
    local result = support.run(table.concat(command, "\n"), { env = support.environment() })
    assert.equal(0, result.code, result.stderr)
    local read = store.read(path)
    assert.equal(0, read.damaged)
    assert.equal(800, #read:rows())
  end)

  it("goes on in the file that has its name, when another one took it", function()
    local path = file()
    local s, other = store.open(path), store.open(path .. ".new")
    s:append(row(1))
    other:append(row(2))
    other:close()
    assert.is_true(os.rename(path .. ".new", path))
    s:append(row(3))
    s:append(row(4))
    local kept = {}
    for i, one in ipairs(store.read(path):rows()) do
      kept[i] = one.params.A
    end
    assert.same({ 2, 3, 4 }, kept)
    os.remove(path)
    s:append(row(5))
    s:close()
    assert.equal(1, #store.read(path):rows())
  end)

  it("may be a file that has lost its name", function()
    local path = file()
    support.write_file(
      path .. ".lua",
      [[local core = require "luhip.core"
        local journal = core.journal(arg[1])
        journal:append "{}"
        journal:append "{}"
        print(#core.journal_records(arg[1]))]]
    )
    local command = "exec 9<>%s; rm %s; %s %s /proc/self/fd/9"
    local quoted = support.quote(path)
    local result = support.run(
      command:format(quoted, quoted, support.quote(support.interpreter), support.quote(path .. ".lua")),
      { env = support.environment() }
    )
    assert.equal("2\n", result.stdout, result.stderr)
  end)

  it("lets nobody append while it is locked", function()
    local path = file()
    local journal, script = core.journal(path), path .. ".lua"
    support.write_file(
      script,
      'require("luhip.core").journal(arg[1]):append "{}" io.open(arg[1] .. ".done", "w"):close()'
    )
    journal:lock()
    support.run(
      ("%s %s %s & echo $!"):format(support.quote(support.interpreter), support.quote(script), support.quote(path)),
      { env = support.environment() }
    )
    support.write_file(path .. ".new", "")
    assert.is_true(os.rename(path .. ".new", path))
    assert.is_nil(io.open(path .. ".done"))
    journal:unlock()
    journal:close()
    local done
    repeat
      os.execute "sleep 0.02"
      done = io.open(path .. ".done")
    until done
    done:close()
    assert.equal(1, #core.journal_records(path))
  end)

  it("is no other file", function()
    local path = file()
    for _, text in ipairs { "name,device\n1,2\n", '{"a": 1}\n', "x" } do
      support.write_file(path, text)
      assert.is_nil((store.read(path)))
      support.assert_error_kind("file", function()
        store.open(path)
      end, path, "no store of tuning runs")
      assert.equal(text, support.read_file(path))
    end
    for _, text in ipairs { "", "\n", 'deadbeef {"a', "deadb", ("\0"):rep(100), "deadbeef x\ndeadbeef y\n" } do
      support.write_file(path, text)
      assert.equal(0, store.read(path).count)
    end
  end)

  it("counts starts without an end", function()
    local s = store.open(file())
    local start = { kind = "start", name = "k", key = row(1).key, params = { A = 1 } }
    s:append(start)
    assert.is_nil(s:crashes(start.key, { A = 1 }))
    s:append(start)
    assert.equal(2, s:crashes(start.key, { A = 1 }))
    s:append(row(1))
    assert.is_nil(s:crashes(start.key, { A = 1 }))
    s:close()
  end)

  it("passes over records that it does not know", function()
    local s = store.open(file())
    s:append { kind = "later", key = "x", params = {} }
    s:append(row(1))
    s:close()
    local read = store.read(s.path)
    assert.equal(1, read.unknown)
    assert.equal(1, #read:rows())
  end)

  it("tells keys apart", function()
    local fields =
      { name = "k", source = "s", options = "o", device = "d", driver = "1", toolchain = "t", problem = { N = 1 } }
    local seen = { [store.key(fields)] = true }
    for name in pairs(fields) do
      local other = {}
      for n, v in pairs(fields) do
        other[n] = n == name and (n == "problem" and { N = 2 } or v .. "x") or v
      end
      assert.is_nil(seen[store.key(other)], name)
      seen[store.key(other)] = true
    end
  end)

  it("names the file that has no room", function()
    local journal <close> = core.journal "/dev/full"
    support.assert_error_kind("file", function()
      journal:append "{}"
    end, "cannot append a record to /dev/full: No space left on device")
  end)

  it("makes no folder but the user's own", function()
    local folder = support.temporary_directory()
    local path = folder .. "/none/deep/x.tune"
    support.assert_error_kind("file", function()
      store.open(path)
    end, ("cannot write %s: there is no folder %s/none/deep"):format(path, folder))
    assert.is_nil(core.folder_names(folder .. "/none"))
    local code = [[
      local store = require "luhip.tune.store"
      store.open(store.own_path "k"):close()
    ]]
    local env = support.environment { LUHIP_TUNE_DIR = folder .. "/own/deep" }
    support.write_file(folder .. "/own.lua", code)
    local result = support.run({ support.interpreter, folder .. "/own.lua" }, { env = env })
    assert.equal(0, result.code, result.stderr)
    assert.is_table(core.folder_names(folder .. "/own/deep"))
  end)

  it("is in no place of a scheme that is not known", function()
    local path = "postgre://tuner@db/tuning"
    local said = path .. ": 'postgre://' is no scheme that is known; there are postgres://user@host/base, "
    said = said .. "postgresql://user@host/base and paths of files"
    support.assert_error_kind("argument", function()
      store.open(path)
    end, "cannot open " .. said)
    assert.equal(said, select(2, store.read(path)))
    for _, other in ipairs { "file:///tmp/x.tune", "sqlite+x://a" } do
      assert.is_string(store.wrong_scheme(other))
    end
    for _, right in ipairs { "x.tune", "/a/b:c", "a:/b", "postgres://h/b", "postgresql://h/b" } do
      assert.is_nil(store.wrong_scheme(right))
    end
  end)

  it("names the file that cannot be opened", function()
    support.assert_error_kind("file", function()
      store.open "/proc/nowhere/x.tune"
    end, "/proc/nowhere/x.tune")
    assert.is_nil(store.read "/proc/nowhere/x.tune")
  end)
end)
