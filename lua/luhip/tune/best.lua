--- The stored winner: `tune.best("matmul", dev, { N = 4096 })`.
--
-- Candidates come in this order; of each kind the best of every device and problem, ten at most:
--
-- 1. the same device and the same problem; those measured with the device's present driver and compiler first,
-- 2. the same device and the nearest problem: of the same fields, with texts equal; the distance is the sum over the
--    numbers of |log2 (a / b)|, so that 1024 x 1 is far from 32 x 32,
-- 3. other devices: those of the same arch first, then by the same distance,
-- 4. the default that the caller gives, or that the tuning run declared.
--
-- One that does not satisfy the caller's constraints is passed over. `next` goes on to the next one when a winner
-- fails where it is used; with `try`, that happens by itself.
-- Dependencies: luhip.core, luhip.errors, luhip.tune.{expr,space,store}.
-- @module luhip.tune.best

local core = require "luhip.core"
local errors = require "luhip.errors"
local expr = require "luhip.tune.expr"
local space = require "luhip.tune.space"
local store = require "luhip.tune.store"

local best = {}

local TOP = 10

-- ---- how near ------------------------------------------------------------------------------------------------------

--- The distance of two problems.
-- @tparam table a { field = number, text or boolean }
-- @tparam table b likewise
-- @treturn ?number 0 for the same; nil for problems that cannot be compared
function best.distance(a, b)
  local sum = 0
  for name, value in pairs(a) do
    local other = b[name]
    if type(value) == "number" and type(other) == "number" and value > 0 and other > 0 then
      sum = sum + math.abs(math.log(value / other, 2))
    elseif value ~= other then
      return nil
    end
  end
  for name in pairs(b) do
    if a[name] == nil then
      return nil
    end
  end
  return sum
end

-- Imported records know a device by its name alone.
local function same_device(recorded, identity, device)
  return recorded == identity or (recorded ~= "" and recorded == device.name)
end

local function toolchain_of(device)
  local ok, name = pcall(function()
    return device:toolchain()
  end)
  return ok and name or nil
end

-- ---- candidates ----------------------------------------------------------------------------------------------------

-- Rows measured with what is installed now, then the others; both stay in order.
local function current_first(rows, device)
  local driver, toolchain = tostring(device.driver_version), toolchain_of(device)
  local first, rest = {}, {}
  for _, row in ipairs(rows) do
    local current = row.driver == driver and row.toolchain == toolchain
    table.insert(current and first or rest, row)
  end
  return table.move(rest, 1, #rest, #first + 1, first)
end

local function problem_text(problem)
  local parts = {}
  for name, value in pairs(problem) do
    parts[#parts + 1] = ("%s=%s"):format(name, tostring(value))
  end
  table.sort(parts)
  return #parts > 0 and table.concat(parts, " ") or "no size"
end

local function classify(group, device, problem)
  local distance = best.distance(problem, group.problem)
  if not distance then
    return nil
  end
  local own = same_device(group.device, store.identity(device), device)
  local order = own and (distance == 0 and 1 or 2) or group.arch ~= "" and group.arch == device.arch and 3 or 4
  local why
  if order == 1 then
    why = "tuned on this device for this problem"
  elseif order == 2 then
    why = ("tuned on this device for %s, the nearest problem"):format(problem_text(group.problem))
  else
    why = ("tuned on %s for %s"):format(
      group.device ~= "" and group.device or "another device",
      problem_text(group.problem)
    )
  end
  return { group = group, order = order, distance = distance, why = why }
end

local function ordered_groups(rows, name, device, problem)
  local list = {}
  for i, group in ipairs(store.groups(rows, name)) do
    local entry = #group.rows > 0 and classify(group, device, problem)
    if entry then
      entry.at = i
      list[#list + 1] = entry
    end
  end
  table.sort(list, function(a, b)
    if a.order ~= b.order then
      return a.order < b.order
    elseif a.distance ~= b.distance then
      return a.distance < b.distance
    end
    return a.at > b.at -- what was tuned last
  end)
  return list
end

local function candidates_of(stored, name, device, problem, options)
  local list, seen = {}, {}
  local function add(params, row, why)
    local text = store.config_text(params)
    if not seen[text] then
      seen[text] = true
      list[#list + 1] = { params = params, row = row, why = why }
    end
  end
  for _, entry in ipairs(stored and ordered_groups(stored:rows(name), name, device, problem) or {}) do
    local rows = entry.order == 1 and current_first(entry.group.rows, device) or entry.group.rows
    for i = 1, math.min(#rows, options.top or TOP) do
      add(rows[i].params, rows[i], entry.why)
    end
  end
  local default = options.default or stored and stored.defaults[name]
  if default then
    add(default, nil, "the declared default")
  end
  return list
end

-- ---- constraints --------------------------------------------------------------------------------------------------

local function holds(w, params)
  if type(w) == "table" then
    w = w[1]
  end
  if type(w) == "function" then
    local ok, result = pcall(w, params)
    return ok and result and true or false
  end
  local ok, result = pcall(function()
    return (expr.parse(w):test(params))
  end)
  return ok and result
end

local function satisfies(params, options)
  if options.space then
    local ok, i = pcall(options.space.index, options.space, params)
    return ok and i ~= nil
  end
  local where = options.where
  if type(where) ~= "table" then
    where = { where }
  end
  for _, w in ipairs(where) do
    if not holds(w, params) then
      return false
    end
  end
  return true
end

-- ---- the object ---------------------------------------------------------------------------------------------------

local Best = { __name = "luhip.tune.best" }
Best.__index = Best

local function config_text(params)
  return problem_text(params)
end

function Best:__tostring()
  return ("%s: %s (%s)"):format(self.name, config_text(self.params), self.why)
end

local function copy(params)
  local result = {}
  for name, value in pairs(params) do
    result[name] = value
  end
  return result
end

-- Sets the next candidate that satisfies the constraints and works; false at the end.
local function step(self)
  while self._at < #self._candidates do
    self._at = self._at + 1
    local candidate = self._candidates[self._at]
    if not satisfies(candidate.params, self._options) then
      self._refused[#self._refused + 1] = config_text(candidate.params) .. " does not satisfy the constraints"
    else
      self.params, self.row, self.why = copy(candidate.params), candidate.row, candidate.why
      self.ms = candidate.row and candidate.row.ms
      local ok, e = true, nil
      if self._options.try then
        ok, e = pcall(self._options.try, self.params, self)
      end
      if ok then
        self.result = e
        return true
      elseif errors.kind(e) == "interrupted" or (type(e) == "string" and e:find "interrupted!") then
        error(e, 0)
      end
      self._refused[#self._refused + 1] = config_text(candidate.params) .. ": " .. errors.message(e)
    end
  end
  return false
end

local function announce(self)
  local passed = #self._refused > 0 and ("; passed over: " .. table.concat(self._refused, "; ")) or ""
  core.log("tune", "basic", tostring(self) .. passed)
end

local function exhausted(self)
  local tried = #self._refused > 0 and ": " .. table.concat(self._refused, "; ")
    or (" in %s, and no default"):format(self._path)
  errors.raise(
    "not_found",
    "tune.best: there is no configuration of '%s' for this device and problem%s",
    self.name,
    tried
  )
end

--- Goes on to the next candidate, since this one does not work.
-- @treturn Best itself, with other `params`
-- @raise kind "not_found" when there is none left, with what became of those before
function Best:next()
  self._refused[#self._refused + 1] = config_text(self.params) .. " was given up"
  if not step(self) then
    exhausted(self)
  end
  announce(self)
  return self
end

-- ---- finding ------------------------------------------------------------------------------------------------------

local OPTIONS = { store = "string", space = "table", default = "table", try = "function", top = "number" }

local function check(name, device, problem, options)
  if type(name) ~= "string" or name == "" then
    errors.raise("type", "tune.best: a name expected, not a %s", type(name))
  elseif type(device) ~= "table" and getmetatable(device) ~= "luhip.device" then
    errors.raise("type", "tune.best: a device expected, not %s", errors.describe(device))
  elseif type(problem) ~= "table" then
    errors.raise("type", "tune.best: a problem expected, as { N = 4096 }, not a %s", type(problem))
  end
  for key, value in pairs(options) do
    if key ~= "where" and not OPTIONS[key] then
      errors.raise("argument", "tune.best: unknown option '%s'; there are default, space, store, top, try, where", key)
    elseif key ~= "where" and type(value) ~= OPTIONS[key] then
      errors.raise("type", "tune.best: %s: a %s expected, not a %s", key, OPTIONS[key], type(value))
    end
  end
  if options.space and not space.is(options.space) then
    errors.raise("type", "tune.best: space: what tune.space makes expected")
  end
end

local function find_store(name, options)
  if options.store then
    local stored, why = store.read(options.store)
    if not stored then
      errors.raise("file", "tune.best: cannot read %s", why)
    end
    return stored, options.store
  end
  local path = name:gsub("[^%w._-]", "_") .. ".tune"
  local stored = store.read(path)
  if stored then
    return stored, path
  end
  return store.read(store.own_path(name)), path .. " and " .. store.own_path(name)
end

--- Finds the best known configuration.
-- @tparam string name as the tuning run was named
-- @tparam device device to run on
-- @tparam[opt={}] table problem as `problem` of the tuning run: { N = 4096 }
-- @tparam[opt] table options
--   `store`: a path; by default NAME.tune in the working directory, or else the user's own store (luhip.tune.store).
--   `where` or `space`: constraints that a configuration has to satisfy. `default`: a configuration for where nothing
--   is known. `try`: a function(params, best) that uses the configuration: when it raises, the next one is tried.
--   `top`: how many of each device and problem, 10 by default.
-- @treturn Best `params`, `ms` and `row` (nil for a default), `why` in words, `result` (what `try` returned), `next`
-- @raise kind "not_found" when there is none, with what became of the candidates; "file" for a store that is not there
function best.find(name, device, problem, options)
  problem, options = problem == nil and {} or problem, options or {}
  check(name, device, problem, options)
  local stored, path = find_store(name, options)
  local self = setmetatable({ name = name, _at = 0, _refused = {}, _options = options, _path = path }, Best)
  self._candidates = candidates_of(stored, name, device, problem, options)
  if not step(self) then
    exhausted(self)
  end
  announce(self)
  return self
end

return best
