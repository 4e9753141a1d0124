-- One script that goes through most of what the server does, beside a model of what must be in its buffers: for specs
-- that run it once for every way in which the driver can fail.
--
--   local run = scenario.new(id, lost)   -- lost(): whether the device is expected to be of no use any more
--   run:all()                            -- every step; raises when something is not as the model says
--   run:close()
--
-- Whether a call of the driver was failed inside a step is asked of testing.driver_struck. A step in which none was
-- must work. One in which one was may raise; then what it writes either carries a failure or is as it was before.

local luhip = require "luhip"
local testing = require("luhip.core").testing
local work = require "spec.server.work"

local scenario = { n = 64 }
scenario.__index = scenario

local n = scenario.n

function scenario.new(id, lost)
  return setmetatable({ id = id, lost = lost, buffers = {}, model = {} }, scenario)
end

local function carries(buffer)
  testing.driver_pause(true)
  local clean, e = buffer:check()
  testing.driver_pause(false)
  return not clean, e
end

--- Calls fn. Returns whether it worked, whether a driver call was failed inside, and its result or error. `excused`:
--- what it is about may be stale already.
function scenario:step(what, fn, excused)
  local before, lost = testing.driver_struck(), self.lost()
  local ok, result = pcall(fn)
  local hit = testing.driver_struck() > before
  if not ok and not (hit or lost or excused) then
    error(("%s: failed by itself: %s"):format(what, result), 0)
  elseif not ok and not luhip.is_error(result) then
    error(("%s: not one of our errors: %s"):format(what, result), 0)
  end
  return ok, hit, result
end

--- A step that makes something, or nil.
function scenario:make(what, fn, excused)
  local ok, _, result = self:step(what, fn, excused)
  return ok and result or nil
end

function scenario:any_bad()
  for _, model in pairs(self.model) do
    if model.bad then
      return true
    end
  end
  return false
end

--- After a step that may have claimed any of them.
function scenario:look()
  for name, buffer in pairs(self.buffers) do
    self.model[name].bad = not self.lost() and carries(buffer)
  end
end

--- An operation on buffers, by their names in `reads` and `writes`; values of what was written from `values`.
function scenario:operate(what, reads, writes, fn, values)
  local stale = false
  for _, name in ipairs(reads) do
    if not self.buffers[name] then
      return
    end
    stale = stale or self.model[name].bad
  end
  for _, name in ipairs(writes) do
    if not self.buffers[name] then
      return
    end
  end
  local new = values and values(function(name)
    return self.model[name].value
  end) or {}
  local ok, hit, e = self:step(what, fn)
  if self.lost() then
    return
  end
  for i, name in ipairs(writes) do
    local bad, why = carries(self.buffers[name])
    if stale and ok and not bad then
      error(("%s: its input is stale, but %s is not"):format(what, name), 0)
    elseif bad and not (stale or hit) then
      error(("%s: %s carries a failure: %s"):format(what, name, why), 0)
    elseif not ok and not bad and stale then
      error(("%s: %s is clean after %s"):format(what, name, e), 0)
    end
    if bad or ok then
      self.model[name] = { value = new[i], bad = bad }
    end
  end
end

--- What is in a buffer must be what the model says, or fail.
function scenario:verify(name)
  local buffer, model = self.buffers[name], self.model[name]
  if not buffer then
    return
  end
  local ok, hit, result = nil, nil, nil
  for _ = 1, 2 do -- a read that is failed itself tells nothing of the buffer
    local before = testing.driver_struck()
    ok, result = pcall(buffer.read, buffer)
    hit = testing.driver_struck() > before
    if not hit then
      break
    end
  end
  if self.lost() or hit then
    return
  end
  if ok == model.bad then
    error(("%s: read %s, but the model says %s"):format(name, ok and "worked" or tostring(result), model.bad), 0)
  elseif ok and (result[1] ~= model.value or result[n] ~= model.value) then
    error(("%s: %g and %g, not %g"):format(name, result[1], result[n], model.value), 0)
  end
end

---- The steps ----------------------------------------------------------------------------------------------------

function scenario:open()
  self.dev = self:make("open", function()
    return luhip.open { device = self.id }
  end)
  return self.dev ~= nil
end

function scenario:prepare()
  self.k = self:make("compile", function()
    local k = work.kernels(self.dev)
    for _, name in ipairs { "add", "set", "copy", "accumulate", "sum", "shift" } do
      assert(k[name])
    end
    return k
  end)
  for i = 1, 2 do
    self["s" .. i] = self:make("stream", function()
      return self.dev:stream()
    end)
  end
  for _, name in ipairs { "a", "b", "c", "d" } do
    self.buffers[name] = self:make("buffer", function()
      return self.dev:buffer("f32", n)
    end)
    if not self.buffers[name] then
      return false
    end
    self.model[name] = { value = 0, bad = false }
    self:fill(name, 0)
  end
  return true
end

function scenario:on(stream, fn)
  return function()
    if not stream then
      return fn()
    end
    return self.dev:with(stream, fn)
  end
end

function scenario:fill(name, value, stream)
  self:operate(
    "fill",
    {},
    { name },
    self:on(stream, function()
      self.buffers[name]:fill(value)
    end),
    function()
      return { value }
    end
  )
end

function scenario:write(name, value, stream, how)
  local data = string.pack("<f", value):rep(n)
  self:operate(
    "write",
    {},
    { name },
    self:on(stream, function()
      if how == "pinned" then
        local array = self.dev:staging({ 4 * n })[1]
        array:write(data)
        self.buffers[name]:view("u8"):write(array)
      else
        self.buffers[name]:view("u8"):write(data)
      end
    end),
    function()
      return { value }
    end
  )
end

--- Only the first half of it, twice.
function scenario:write_halves(name, value, stream)
  if not self.buffers[name] then
    return
  end
  for half = 0, 1 do
    local was = self.model[name]
    local ok = self:step(
      "write of a half",
      self:on(stream, function()
        local view = self.buffers[name]:slice(half * n // 2 + 1, (half + 1) * n // 2)
        view:write(string.pack("<f", value):rep(n // 2))
      end)
    )
    local bad = not self.lost() and carries(self.buffers[name])
    -- A half that was not written leaves a mix: it is repaired at once, so that the model has one value.
    if not ok and not self.lost() then
      self.model[name] = { value = was.value, bad = bad }
      self:fill(name, value)
      return
    end
    self.model[name] = { value = value, bad = bad }
  end
end

function scenario:copy(to, from, stream)
  self:operate(
    "copy",
    { from },
    { to },
    self:on(stream, function()
      self.buffers[to]:copy(self.buffers[from])
    end),
    function(value)
      return { value(from) }
    end
  )
end

--- add(x, v), accumulate(x -> y), sum(x, y -> z), copy(x -> y): by the kernel's name.
function scenario:launch(name, reads, writes, values, stream, ...)
  if not self.k then
    return
  end
  local arguments = table.pack(...)
  self:operate(
    "launch of " .. name,
    reads,
    writes,
    self:on(stream, function()
      local given = {}
      for i = 1, arguments.n do
        given[i] = self.buffers[arguments[i]] or arguments[i]
      end
      self.k[name]:launch(work.over(n), table.unpack(given, 1, arguments.n))
    end),
    values
  )
end

function scenario:add(x, v, stream)
  self:launch("add", { x }, { x }, function(value)
    return { value(x) + v }
  end, stream, x, n, v)
end

function scenario:accumulate(x, y, stream)
  self:launch("accumulate", { x, y }, { y }, function(value)
    return { value(x) + value(y) }
  end, stream, x, y, n)
end

function scenario:sum(x, y, z, stream)
  self:launch("sum", { x, y }, { z }, function(value)
    return { value(x) + value(y) }
  end, stream, x, y, z, n)
end

--- Adds what a table says.
function scenario:shift(x, v, stream)
  self:launch("shift", { x }, { x }, function(value)
    return { value(x) + v }
  end, stream, { v - 1, 1 }, x, n)
end

--- Streams use what others have written, in every order that matters.
function scenario:streams()
  self:fill("a", 1, self.s1)
  self:write("b", 2, self.s2)
  self:accumulate("a", "b", self.s2) -- b = 3
  self:add("a", 4, self.s1) -- a = 5, after s2 has read it
  self:write("c", 7, self.s1, "pinned")
  self:sum("a", "b", "d", self.s2) -- d = 8
  self:copy("c", "d", self.s1)
  self:write_halves("b", 9, self.s1)
  self:accumulate("b", "c", self.s2)
  self:shift("a", 3, self.s1)
  self:shift("b", 3, self.s2)
  self:shift("a", 3, self.s1) -- known by now
end

--- Fills that are copies, and rows at a pitch.
function scenario:shapes()
  self:make("a pattern", function()
    local x = self.dev:buffer("f64", n, 0.1)
    assert(x:read()[n] == 0.1 or self.lost(), "a pattern of 8 bytes")
  end)
  self:make("rows at a pitch", function()
    local x, y = self.dev:pitched("f32", { 5, 3 }, 0.5), self.dev:buffer("f32", { 5, 3 }, 0)
    y:copy(x)
    assert(y:read()[15] == 0.5 or self.lost(), "rows at a pitch")
  end)
end

function scenario:graphs()
  local g = self:make(
    "capture",
    self:on(self.s1, function()
      return self.dev:capture(function()
        self.k.add:launch(work.over(n), self.buffers.a, n, 1)
        self.k.shift:launch(work.over(n), { 2, 1 }, self.buffers.a, n)
        self.buffers.d:copy(self.buffers.a)
        self.buffers.c:fill(2)
        self.k.copy:launch(work.over(n), self.buffers.c, self.buffers.b, n)
      end, { warmup = false })
    end),
    self.model.a.bad
  )
  self:look() -- an end that failed has claimed what was recorded (F7)
  local added = 4
  local function replay(stream)
    self:operate(
      "replay",
      { "a" },
      { "a", "d", "c", "b" },
      self:on(stream, function()
        g:replay()
      end),
      function(value)
        return { value "a" + added, value "a" + added, 2, 2 }
      end
    )
  end
  if not g then
    return
  end
  replay(self.s1)
  replay(self.s2)
  local _, _, failed = self:step("update", function()
    g:update(1, self.buffers.a, n, 3)
  end)
  if not failed then
    added = 6
  end
  replay(self.s1)
  self:step("free of a graph", function()
    g:free()
  end)
  self:look() -- a wait that failed has claimed what its replays write (F10)
end

function scenario:clocks()
  local window = self:make("profile", function()
    return self.dev:start_profile(self.s1)
  end)
  self:add("a", 1, self.s1)
  if window then
    self:step("end of a profile", function()
      window:stop():wait()
    end, self:any_bad())
  end
  self:step("trace", function()
    self.dev:profile(function()
      self.buffers.d:fill(0)
    end)
  end)
  self.model.d = { value = 0, bad = not self.lost() and carries(self.buffers.d) }
  self:fill("d", 6)
  local first = self:make("record", function()
    return (self.s1 or self.dev):record()
  end)
  self:add("b", 1, self.s1)
  local last = self:make("record", function()
    return (self.s1 or self.dev):record()
  end)
  self:step("events", function()
    if first and last and self.s2 then
      self.s2:wait(last)
      last:query()
      last:wait()
      assert(first:elapsed(last) >= 0 or self.lost(), "time goes on")
    end
  end)
end

function scenario:reads()
  local future = self:make("read", function()
    return self.buffers.b:read_async()
  end, self.model.b.bad)
  if future then
    self:step("future", function()
      future:ready()
      future:fd()
      future:wait()
    end)
  end
  self:step("read of two", function()
    self.dev:read { self.buffers.a, self.buffers.c }
  end, self:any_bad())
end

function scenario:house()
  self:step("memory", function()
    self.dev:memory()
  end)
  self:step("cleanup", function()
    self.dev:buffer("f32", 3 * n, 0):free()
    self.dev:memory_cleanup()
  end)
  self:step("occupancy", function()
    if self.k then
      self.k.add:occupancy(64)
    end
  end)
  self:step("free of a stream", function()
    if self.s2 then
      self.s2:free()
    end
    self.s2 = nil
    self.dev:flush()
  end)
  self:add("c", 1)
  self:step("sync", function()
    self.dev:sync()
  end)
  self.dev:flush()
end

function scenario:all()
  if not self:open() or not self:prepare() then
    return
  end
  self:streams()
  self:shapes()
  if self.k then
    self:graphs()
  end
  self:clocks()
  self:reads()
  self:house()
  for name in pairs(self.buffers) do
    self:verify(name)
  end
end

function scenario:close()
  if self.dev then
    self.dev:close()
  end
  self.buffers, self.k, self.s1, self.s2, self.dev = {}, nil, nil, nil, nil
end

--- How often it calls each entry of the driver's table.
function scenario.count(id)
  testing.driver_reset()
  local run = scenario.new(id, function()
    return false
  end)
  run:all()
  run:close()
  return testing.driver_calls()
end

return scenario
