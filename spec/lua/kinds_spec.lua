-- The kinds of errors: every one can be produced, its message names what was given and what is wanted, and
-- docs/errors.md explains exactly these, with messages that are really said.
local luhip = require "luhip"
local support = require "spec.support"
local work = require "spec.server.work"
local testing = require("luhip.core").testing

local SOURCE = [[
extern "C" __global__ void one(float *x) { x[threadIdx.x] = 1; }
extern "C" __global__ void spin(volatile int *x) { while (x[0] == 0) ; }
extern "C" __global__ void wild(float *x) { x[1ll << 36] = 1; }
]]
local OVER = { grid = 1, block = 4 }

-- kind -> { a function of an open device and its id that raises it, what its text holds... }
local produce = {}

produce.argument = {
  function(dev)
    local one = dev:kernel(SOURCE, "one")
    one:launch(OVER, dev:buffer("f32", 4), 3)
  end,
  "'one'",
  "2",
  "1",
}
produce.type = {
  function(dev)
    dev:kernel(SOURCE, "one"):launch(OVER, dev:buffer("f64", 4))
  end,
  "argument 1",
  "'x'",
  "'one'",
  "f64",
  "f32",
}
produce.range = {
  function(dev)
    dev:buffer("f32", 4):slice(3, 9)
  end,
  "buffer:slice",
  "9",
  "4",
}
produce.shape = {
  function(dev)
    dev:buffer("f32", { 4, 4 }):reshape { 5 }
  end,
  "f32[4, 4]",
  "16",
  "f32[5]",
}
produce.freed = {
  function(dev)
    local x = dev:buffer("f32", 4)
    x:free()
    x:read()
  end,
  "buffer",
  "freed",
}
produce.limits = {
  function(dev)
    dev:kernel(SOURCE, "one"):launch({ grid = 1, block = dev.max_threads * 2 }, dev:buffer("f32", 4))
  end,
  "'one'",
  "block",
  "are possible on",
}
produce.compile = {
  function(dev)
    dev:kernel("\n  float x = y;", { name = "bad.hip" })
  end,
  "bad.hip:2:13",
  "'y'",
}
produce.not_found = {
  function(dev)
    dev:compile(SOURCE):kernel "two"
  end,
  "'two'",
  "one",
  "spin",
  "wild",
}
produce.oom = {
  function(dev)
    local x = support.beyond_memory(dev)
    x:fill(1)
    x:read(1, 1)
  end,
  "bytes (u8[",
  "in use",
  "limit",
}
produce.too_big = {
  function(dev)
    dev:buffer("f64", { 1 << 62, 8 })
  end,
  "f64[4611686018427387904, 8]",
}
produce.unsupported_strides = {
  function(dev)
    dev:buffer("f32", { 4, 4, 4 }, 0):transpose():read()
  end,
  "f32[4, 4, 4]",
  "contiguous()",
}
produce.capture = {
  function(dev)
    dev:stream():end_capture()
  end,
  "end_capture",
  "begin_capture",
}
produce.launch = {
  function(dev)
    local one, x = dev:kernel(SOURCE, "one"), dev:buffer("f32", 4, 0)
    testing.driver_fail { call = "hipModuleLaunchKernel", error = "hipErrorInvalidValue" }
    one:launch(OVER, x)
    x:read()
  end,
  "'one'",
  "hipErrorInvalidValue",
  wrapped = true,
}
produce.fault = {
  function(dev)
    local x = dev:buffer("f32", 4, 0)
    dev:kernel(SOURCE, "wild"):launch({ grid = 1, block = 1 }, x)
    x:read()
  end,
  "'wild'",
  on = "^cpu",
}
produce.poisoned = {
  function(dev)
    local one, x = dev:kernel(SOURCE, "one"), dev:buffer("f32", 4, 0)
    dev:sync()
    one:launch(OVER, x)
    testing.driver_fail { call = "hipStreamQuery", error = "hipErrorIllegalAddress", sticky = true }
    pcall(dev.sync, dev)
    x:read()
  end,
  "'one'",
  "hipErrorIllegalAddress",
  "open it again",
  wrapped = true,
}
produce.timeout = {
  function(_, id)
    local dev <close> = luhip.open { device = id, timeout = 50 }
    local x = dev:buffer("i32", 1, 0)
    dev:kernel(SOURCE, "spin"):launch({ grid = 1, block = 1 }, x)
    x:read()
  end,
  "'spin'",
  "50 ms",
  on = "^cpu",
  alone = true,
}
produce.driver = {
  function(dev)
    testing.driver_fail { call = "hipStreamCreateWithFlags", error = "hipErrorUnknown", times = 100 }
    dev:stream()
  end,
  "stream",
  "hipErrorUnknown",
  wrapped = true,
}
produce.no_device = {
  function()
    luhip.open "cpu:77"
  end,
  "'cpu:77'",
  "present:",
  "cpu:0",
}
produce.options_conflict = {
  function(dev, id)
    luhip.open { device = id, limit = dev:memory().limit + 4096 }
  end,
  "limit",
  "4096",
  "is open already",
}
produce.too_many_streams = {
  function(dev)
    luhip.config { streaming = { max_streams = 1 } }
    support.defer(function()
      require("luhip.core").config_set("script", "streaming.max_streams", nil)
    end)
    local _, second = dev:stream(), dev:stream()
    return second
  end,
  "1 streams",
  "streaming.max_streams",
}
produce.pools_in_use = {
  function(dev)
    local x = dev:buffer("f32", 4, 0)
    dev:sync()
    dev:install_pools { { kind = "exclusive", page = 1 << 20 } }
    return x
  end,
  "16",
}
produce.cache = {
  function()
    local folder = support.temporary_directory()
    support.run({ "chmod", "777", folder })
    luhip.config { cache = { folder = folder } }
    support.defer(function()
      require("luhip.core").config_set("script", "cache.folder", nil)
    end)
    luhip.clear_cache()
  end,
  "the compile cache",
  "chmod 700",
}
produce.config = {
  function()
    luhip.config { timout = 5000 }
  end,
  "'timout'",
  "did you mean 'timeout'",
}
produce.forked = {
  function(dev)
    local text = testing.fork(function()
      local _, e = pcall(dev.buffer, dev, "f32", 1, 0)
      return e.kind .. "\n" .. tostring(e)
    end)
    local kind, message = text:match "^(.-)\n(.*)$"
    error(require("luhip.core").error(kind, message), 0)
  end,
  "fork",
}
produce.interrupted = {
  function(_, id)
    local result = support.lua(
      [[
      local luhip = require "luhip"
      local dev = luhip.open(...)
      local x = dev:buffer("i32", 1, 0)
      dev:kernel('extern "C" __global__ void spin(volatile int *x) { while (x[0] == 0) ; }')
        :launch({ grid = 1, block = 1 }, x)
      local pid = io.open("/proc/self/stat"):read "n"
      os.execute(("(sleep 0.2; kill -INT %d) &"):format(pid))
      coroutine.wrap(function()
        local _, e = pcall(dev.sync, dev)
        io.stdout:write(e.kind, "\n", e.message)
        io.stdout:flush()
        os.exit(0, false)
      end)()
    ]],
      {},
      id
    )
    local kind, message = result.stdout:match "^(.-)\n(.*)$"
    error(require("luhip.core").error(kind, message), 0)
  end,
  "interrupted",
  on = "^cpu",
}
produce.verify = {
  function(dev)
    local x = dev:buffer("f32", 4, 0)
    local result = require "luhip.tune" {
      name = "kinds",
      device = dev,
      source = SOURCE,
      kernel = "one",
      params = { P = { 1 } },
      grid = function()
        return 1
      end,
      block = function()
        return 4
      end,
      args = { x },
      expect = { x = luhip.array("f32", 4) },
      progress = false,
    }
    error(result.rows[1].error, 0)
  end,
  "x",
}
produce.not_ready = {
  function(dev)
    local gate = work.gate(dev)
    local first = dev:record()
    gate:close()
    local last = dev:record()
    support.defer(function()
      gate:open()
    end)
    first:elapsed(last)
  end,
  "elapsed",
}
produce.file = {
  function()
    require("luhip.png").write("/dev/null/picture.png", 1, 1, "abc")
  end,
  "/dev/null/picture.png",
  "Not a directory",
}
produce.memory = {
  function()
    luhip.array("u8", 1 << 46)
  end,
  "70368744177664 bytes",
}

-- Sanitised interpreters know no Ctrl-C, and end at an allocation that cannot be.
local apart = { interrupted = true, memory = true }

-- The error of a kind, on a fresh device.
local function error_of(kind, id)
  local case = produce[kind]
  local dev = not case.alone and support.open(id) or nil
  if case.wrapped then
    testing.driver_reset()
    support.defer(testing.driver_reset)
  end
  return support.assert_error_kind(kind, function()
    case[1](dev, id)
  end, table.unpack(case, 2))
end

support.each_device(function(id)
  for _, kind in ipairs(luhip.error_kinds) do
    local case = produce[kind]
    if case and (not case.on or id:find(case.on)) and not (support.sanitizer and apart[kind]) then
      it("says what is wrong: " .. kind, function()
        local e = error_of(kind, id)
        assert.is_true(#e.message > 10)
        assert.is_nil(e.message:find "%.$")
      end)
    end
  end
end)

describe("docs/errors.md", function()
  support.scope()
  local text = support.read_file(support.root .. "/docs/errors.md")

  local function sections()
    local found, at = {}, 1
    while true do
      local _, stop, kind = text:find("\n## `([%l_]+)`\n", at)
      if not stop then
        return found
      end
      at = stop
      found[kind] = text:sub(stop, (text:find("\n## ", stop, true) or #text + 1) - 1)
    end
  end

  it("explains exactly the kinds that there are, with cause, cure and message", function()
    local found, count = sections(), 0
    for _, kind in ipairs(luhip.error_kinds) do
      local body = found[kind]
      assert.truthy(body, kind .. " is not explained")
      for _, part in ipairs { "Cause: ", "Cure: ", "\n```\n" } do
        assert.truthy(body:find(part, 1, true), ("%s: no %s"):format(kind, part))
      end
    end
    for kind in pairs(found) do
      count = count + 1
      assert.truthy(produce[kind], kind .. " is explained and never produced")
    end
    assert.equal(#luhip.error_kinds, count)
  end)

  -- Numbers differ between machines.
  local function plain(message)
    return (
      message
        :gsub("^[^\n]-%.lua:%d+: ", "")
        :gsub("0x%x+", "0x0")
        :gsub("%d+", "0")
        :gsub("/tmp/[%w._]+", "/tmp/x")
        :gsub("; present:.*", "")
    )
  end

  for _, kind in ipairs(luhip.error_kinds) do
    local case = produce[kind]
    if case and not (support.sanitizer and apart[kind]) then
      it("shows a message that is really said: " .. kind, function()
        local said = plain(error_of(kind, "cpu:0").message)
        local shown = (sections()[kind] or ""):match "\n```\n(.-)\n```" or ""
        assert.equal(said, plain(shown))
      end)
    end
  end
end)
