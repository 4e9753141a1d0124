--- What each kernel took: `dev:profile(fn)`.
--
--    local p = dev:profile(function()
--      for _ = 1, 100 do step(x, y, n) end
--    end)
--    print(p)
--    p:trace "out.json"
--
-- While fn runs, every operation of the device is timed by itself, on every stream and of every thread. Times are the
-- device's own. A failed or skipped operation makes them worthless: profile raises that failure.
-- Dependencies: luhip.core, luhip.errors, luhip.whole_file.
-- @module luhip.profile

local core = require "luhip.core"
local errors = require "luhip.errors"
local whole_file = require "luhip.whole_file"

local profile = {}

local Profile = { __name = "luhip.profile" }
local methods = {}
Profile.__index = errors.strict(methods, "luhip.profile", { "device", "count", "ms" })

-- ---- rows ------------------------------------------------------------------------------------------------------

local function add(row, ms)
  row.calls = row.calls + 1
  row.total = row.total + ms
  row.min = math.min(row.min, ms)
  row.max = math.max(row.max, ms)
end

-- One row for each kernel and each other kind of operation, the costliest first.
local function summarise(trace, count)
  local rows, found, all = {}, {}, 0
  for i = 1, count do
    local kind, name, _, _, ms = trace:record(i)
    local key = kind .. " " .. name
    local row = found[key]
    if not row then
      row = { kind = kind, name = name, calls = 0, total = 0.0, min = math.huge, max = 0.0, first = i }
      found[key] = row
      rows[#rows + 1] = row
    end
    add(row, ms)
    all = all + ms
  end
  for _, row in ipairs(rows) do
    row.mean = row.total / row.calls
    row.share = all > 0 and row.total / all or 0.0
  end
  table.sort(rows, function(a, b)
    if a.total ~= b.total then
      return a.total > b.total
    end
    return a.first < b.first
  end)
  for _, row in ipairs(rows) do
    row.first = nil
  end
  return rows, all
end

--- The table that print shows, costliest first.
-- @treturn {table,...} { kind, name, calls, total, mean, min, max, share }: times in ms, share of all times, 0 to 1;
--   kind is "launch", "write", "read", "copy", "fill" or "replay"
function methods:rows()
  local rows = {}
  for i, row in ipairs(self.summary) do
    rows[i] = {}
    for key, value in pairs(row) do
      rows[i][key] = value
    end
  end
  return rows
end

--- Every operation by itself, in the order in which they were enqueued.
-- @treturn {table,...} { kind, name, stream, start, ms }, and of launches grid, block and shared, of others bytes:
--   `stream` is the stream's id, `start` in ms on the host's monotonic clock, `ms` what it took
function methods:records()
  local records = {}
  for i = 1, self.count do
    local kind, name, stream, start, ms = self.native:record(i)
    local record = { kind = kind, name = name, stream = stream, start = start, ms = ms }
    for key, value in pairs(self.native:details(i)) do
      record[key] = value
    end
    records[i] = record
  end
  return records
end

function Profile:__tostring()
  local lines = {
    ("luhip.profile: %d operations on %s, %.3f ms"):format(self.count, self.device, self.ms),
  }
  if self.count > 0 then
    lines[2] = ("  %8s %11s %11s %11s %11s %7s  %s"):format(
      "calls",
      "total ms",
      "mean ms",
      "min ms",
      "max ms",
      "share",
      "what"
    )
  end
  for _, row in ipairs(self.summary) do
    local what = row.kind == "launch" and row.name or ("(%s)"):format(row.name)
    lines[#lines + 1] = ("  %8d %11.4f %11.4f %11.4f %11.4f %6.1f%%  %s"):format(
      row.calls,
      row.total,
      row.mean,
      row.min,
      row.max,
      100 * row.share,
      what
    )
  end
  return table.concat(lines, "\n")
end

-- ---- traces ----------------------------------------------------------------------------------------------------

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r" }

local function json_string(text)
  local escaped = text:gsub('[%c"\\]', function(c)
    return ESCAPES[c] or ("\\u%04x"):format(c:byte())
  end)
  return '"' .. escaped .. '"'
end

-- Nanoseconds as microseconds with three digits, whatever the locale.
local function json_us(ns)
  return ("%d.%03d"):format(ns // 1000, ns % 1000)
end

local function whole_ns(ms)
  return math.floor(1e6 * ms + 0.5)
end

local function json_arguments(details)
  local parts = {}
  for _, key in ipairs { "grid", "block", "shared", "bytes" } do
    local value = details[key]
    if type(value) == "table" then
      parts[#parts + 1] = ('"%s":[%d,%d,%d]'):format(key, value[1], value[2], value[3])
    elseif value then
      parts[#parts + 1] = ('"%s":%d'):format(key, value)
    end
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

local function metadata(what, stream, name)
  local format = '{"ph":"M","pid":1,"tid":%d,"name":"%s","args":{"name":%s}}'
  return format:format(stream, what, json_string(name))
end

-- The first start of all operations.
local function origin(self)
  local least = math.huge
  for i = 1, self.count do
    local _, _, _, start = self.native:record(i)
    least = math.min(least, start)
  end
  return least
end

-- Calls emit with each event as JSON. Operations of one stream follow each other; a rounding must not let them overlap,
-- which viewers do not show, so times are whole nanoseconds.
local function events(self, emit)
  local first = origin(self)
  local ends = {}
  emit(metadata("process_name", 0, "luhip " .. self.device))
  for i = 1, self.count do
    local kind, name, stream, start, ms = self.native:record(i)
    if not ends[stream] then
      ends[stream] = 0
      emit(metadata("thread_name", stream, stream == self.default and "default stream" or "stream " .. stream))
    end
    local from = math.max(whole_ns(start - first), ends[stream])
    ends[stream] = math.max(whole_ns(start - first + ms), from)
    local format = '{"ph":"X","pid":1,"tid":%d,"ts":%s,"dur":%s,"name":%s,"cat":"%s","args":%s}'
    emit(
      format:format(
        stream,
        json_us(from),
        json_us(ends[stream] - from),
        json_string(name),
        kind,
        json_arguments(self.native:details(i))
      )
    )
  end
end

--- Writes all operations in the trace event format, which chrome://tracing and https://ui.perfetto.dev show: one thread
-- for each stream.
-- @tparam string path
-- @raise kinds "type" and "file"
function methods:trace(path)
  if type(path) ~= "string" then
    errors.raise("type", "trace: a path expected, not %s", errors.describe(path))
  end
  local parts = {}
  events(self, function(text)
    parts[#parts + 1] = text
  end)
  local text = '{"displayTimeUnit":"ns","traceEvents":[\n' .. table.concat(parts, ",\n") .. "\n]}\n"
  whole_file.write(path, text, "trace: %s")
end

-- ---- profiling -------------------------------------------------------------------------------------------------

--- Runs a function and times every operation of the device meanwhile: `dev:profile(fn)`. Waits for them.
-- One at a time on a device; not while a stream is being recorded.
-- @tparam device dev
-- @tparam function fn
-- @treturn profile with rows() and trace(path); print shows a table; fields `count` (operations) and `ms` (their sum)
-- @raise what fn raises; what an operation failed with; kinds "type", "argument", "capture"
function profile.profile(dev, fn, ...)
  errors.check_self(dev, "device", "profile")
  errors.check_function(fn, "profile")
  errors.check_no_more("profile", ...)
  local native <close> = core.trace(dev)
  local default = dev:streams()[1].id
  fn()
  native:stop()
  local count = native:wait()
  local rows, ms = summarise(native, count)
  return setmetatable(
    { device = dev.id, default = default, count = count, ms = ms, summary = rows, native = native },
    Profile
  )
end

return profile
