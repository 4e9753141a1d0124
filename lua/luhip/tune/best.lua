--- The stored winner: `tune.best("matmul", dev, { N = 4096 })`.
--
-- Candidates come in this order; of each kind the best of every device and problem that satisfy the caller's
-- constraints, ten at most:
--
-- 1. the same device and the same problem; those measured with the device's present driver and compiler first,
-- 2. the same device and the nearest problem: of the same fields, with texts equal; the distance is the sum over the
--    numbers of |log2 (a / b)|, so that 1024 x 1 is far from 32 x 32; where none is asked for any problem, what was
--    tuned last first,
-- 3. other devices: those of the same arch first, then by the same distance,
-- 4. the default that the caller gives, or that the tuning run declared.
--
-- `next` goes on to the next one when a winner fails where it is used; with `try`, that happens by itself.
-- Dependencies: luhip.core, luhip.errors, luhip.nearest, luhip.tune.{expr,space,store}.
-- @module luhip.tune.best

local core = require "luhip.core"
local errors = require "luhip.errors"
local expr = require "luhip.tune.expr"
local nearest = require "luhip.nearest"
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
  local any = next(problem) == nil
  local distance = any and 0 or best.distance(problem, group.problem)
  if not distance then
    return nil
  end
  local own = same_device(group.device, store.identity(device), device)
  local same = distance == 0 and (not any or next(group.problem) == nil)
  local order = own and (same and 1 or 2) or group.arch ~= "" and group.arch == device.arch and 3 or 4
  local why
  if order == 1 then
    why = "tuned on this device for this problem"
  elseif order == 2 and any then
    why = ("tuned on this device for %s"):format(problem_text(group.problem))
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

-- ---- constraints --------------------------------------------------------------------------------------------------

local function test_of(w)
  if type(w) == "table" then
    w = w[1]
  end
  if type(w) == "function" then
    return function(params)
      local ok, result = pcall(w, params)
      return ok and result
    end
  elseif type(w) ~= "string" then
    errors.raise("type", "tune.best: where: an expression or a function expected, not a %s", type(w))
  end
  local ok, parsed = pcall(expr.parse, w)
  if not ok then
    errors.raise("argument", "tune.best: where: %s", errors.message(parsed))
  end
  return function(params)
    local tested, result = pcall(parsed.test, parsed, params)
    return tested and result
  end,
    parsed.names
end

-- What tells whether a configuration satisfies the constraints, and the names that these have for parameters.
local function constraints_of(options)
  local where, tests, names = options.where, {}, {}
  if options.space then
    return function(params)
      local ok, i = pcall(options.space.index, options.space, params)
      return ok and i ~= nil
    end,
      names
  end
  for i, w in ipairs(type(where) == "table" and where or { where }) do
    local test, used = test_of(w)
    tests[i] = test
    table.move(used or {}, 1, used and #used or 0, #names + 1, names)
  end
  return function(params)
    for _, test in ipairs(tests) do
      if not test(params) then
        return false
      end
    end
    return true
  end,
    names
end

-- Names in constraints that no group of configurations has.
local function check_names(names, name, groups, default)
  local known = {}
  for _, entry in ipairs(groups) do
    for param in pairs(entry.group.rows[1].params) do
      known[param] = true
    end
  end
  for param in pairs(default or {}) do
    known[param] = true
  end
  for _, used in ipairs(next(known) and names or {}) do
    if not known[used] then
      local list = {}
      for param in pairs(known) do
        list[#list + 1] = param
      end
      table.sort(list)
      local there = table.concat(list, ", ")
      errors.raise("argument", "tune.best: where: '%s' is no parameter of '%s'; there are %s", used, name, there)
    end
  end
end

-- ---- the list -----------------------------------------------------------------------------------------------------

-- Candidates in order, and how many were left out since they do not satisfy the constraints.
local function candidates_of(stored, name, device, problem, options)
  local list, seen, refused = {}, {}, 0
  local satisfies, names = constraints_of(options)
  local function add(params, row, why)
    local text = store.config_text(params)
    if seen[text] == nil then
      seen[text] = satisfies(params)
      refused = refused + (seen[text] and 0 or 1)
      list[#list + 1] = seen[text] and { params = params, row = row, why = why } or nil
    end
    return seen[text]
  end
  local default = options.default or stored and stored.defaults[name]
  local groups = stored and ordered_groups(stored:rows(name), name, device, problem) or {}
  check_names(names, name, groups, default)
  for _, entry in ipairs(groups) do
    local rows, added = entry.group.rows, 0
    rows = entry.order == 1 and current_first(rows, device) or rows
    for _, row in ipairs(rows) do
      added = added + (add(row.params, row, entry.why) and 1 or 0)
      if added >= (options.top or TOP) then
        break
      end
    end
  end
  if default then
    add(default, nil, "the declared default")
  end
  return list, refused
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

-- Sets the next candidate that works; false at the end.
local function step(self)
  while self._at < #self._candidates do
    self._at = self._at + 1
    local candidate = self._candidates[self._at]
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
  return false
end

local function announce(self)
  local passed = #self._refused > 0 and ("; passed over: " .. table.concat(self._refused, "; ")) or ""
  core.log("tune", "basic", tostring(self) .. passed)
end

-- Problems that are there, or another name: what may have been meant.
local function what_there_is(stored, name)
  local problems, names = {}, {}
  for _, group in ipairs(store.groups(stored and stored:rows() or {})) do
    if group.name == name and #group.rows > 0 then
      problems[#problems + 1] = problem_text(group.problem)
    elseif #group.rows > 0 then
      names[#names + 1] = tostring(group.name)
    end
  end
  local near = #problems == 0 and nearest(name, names)
  if near then
    return (", did you mean '%s'?"):format(near)
  elseif #problems == 0 then
    return ""
  end
  local more = #problems > 3 and (" and %d more"):format(#problems - 3) or ""
  return "; there are some for " .. table.concat(problems, ", ", 1, math.min(3, #problems)) .. more
end

local function exhausted(self)
  local tried = #self._refused > 0 and ": " .. table.concat(self._refused, "; ")
    or (" in %s, and no default%s"):format(self._path, self._there)
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
  local refused
  self._candidates, refused = candidates_of(stored, name, device, problem, options)
  self._there = #self._candidates == 0 and what_there_is(stored, name) or ""
  if refused > 0 then
    local text = refused == 1 and "1 configuration does" or ("%d configurations do"):format(refused)
    self._refused[1] = text .. " not satisfy the constraints"
  end
  if not step(self) then
    exhausted(self)
  end
  announce(self)
  return self
end

return best
