--- Comparing what a kernel wrote with a reference.
--
-- A value passes when |actual - reference| <= absolute + relative * |reference|. NaN passes only where the reference
-- has NaN, and not even there with `nan = false`; an infinity only against the same infinity. Integers and booleans are
-- compared exactly, unless `tolerance` is a table, whose `absolute` then counts for integers too. Complex numbers are
-- compared part by part.
--
-- The default tolerance (absolute and relative alike) is 1e-4 for f32 and c64, 1e-9 for f64 and c128, 1e-2 for f16 and
-- 5e-2 for bf16. Dependencies: luhip.errors.
-- @module luhip.tune.verify

local errors = require "luhip.errors"

local verify = {}

local SHOWN = 5 -- mismatches named in a message

local KEYS = { "absolute", "relative", "nan" }

local DEFAULT = { f16 = 1e-2, bf16 = 5e-2, f32 = 1e-4, c64 = 1e-4, f64 = 1e-9, c128 = 1e-9 }
local COMPLEX = { c64 = true, c128 = true }

-- ---- tolerance -------------------------------------------------------------------------------------------------

local function check_bound(name, value)
  if type(value) ~= "number" then
    errors.raise("type", "%s: a number expected, not a %s", name, type(value))
  elseif value ~= value or value < 0 or value == math.huge then
    errors.raise("argument", "%s: %s is no tolerance", name, value)
  end
  return value
end

--- Reads tolerances: one for all outputs, or one for each by its name or position.
-- @param given what `verify.tolerance` takes, or a table of such by output
-- @tparam ?table expect the expectations, by output
-- @treturn function of an output's key, gives its tolerance
-- @raise kinds "type" and "argument"
function verify.tolerances(given, expect)
  local single = type(given) ~= "table" or next(given) == nil
  for _, key in ipairs(KEYS) do
    single = single or given[key] ~= nil
  end
  if single then
    local tolerance = verify.tolerance(given)
    return function()
      return tolerance
    end
  end
  local by = {}
  for key, value in pairs(given) do
    if type(expect) ~= "table" or expect[key] == nil then
      errors.raise(
        "argument",
        "tolerance: '%s' is neither absolute, relative, nan nor an output of expect",
        tostring(key)
      )
    end
    by[key] = verify.tolerance(value)
  end
  return function(key)
    return by[key]
  end
end

--- Reads a tolerance.
-- @param tolerance nil for the defaults, a number for absolute and relative alike, or { absolute =, relative =, nan = }
--   in which a missing bound is 0, if both are missing the default; `nan`: whether NaN passes where the reference has
--   NaN, true by default
-- @treturn ?table nil for the defaults, else `absolute`, `relative` (nil for the defaults), `integers` (whether
--   integers get it too) and `nan`
-- @raise kinds "type" and "argument"
function verify.tolerance(tolerance)
  if tolerance == nil then
    return nil
  elseif type(tolerance) == "number" then
    check_bound("tolerance", tolerance)
    return { absolute = tolerance, relative = tolerance, integers = false, nan = true }
  elseif type(tolerance) ~= "table" then
    errors.raise("type", "tolerance: a number or { absolute =, relative = } expected, not a %s", type(tolerance))
  end
  for key in pairs(tolerance) do
    if key ~= "absolute" and key ~= "relative" and key ~= "nan" then
      errors.raise("argument", "tolerance: unknown key '%s'; there are absolute, relative and nan", tostring(key))
    end
  end
  local nan = tolerance.nan == nil or tolerance.nan
  if type(nan) ~= "boolean" then
    errors.raise("type", "tolerance.nan: a boolean expected, not a %s", type(nan))
  elseif tolerance.nan ~= nil and tolerance.absolute == nil and tolerance.relative == nil then
    return { nan = nan }
  end
  return {
    absolute = check_bound("tolerance.absolute", tolerance.absolute or 0),
    relative = check_bound("tolerance.relative", tolerance.relative or 0),
    integers = true,
    nan = nan,
  }
end

local function bounds_for(dtype, tolerance)
  local default = DEFAULT[dtype]
  if not tolerance or not tolerance.absolute then
    return default or 0, default or 0
  elseif default then
    return tolerance.absolute, tolerance.relative
  end
  return tolerance.integers and tolerance.absolute or 0, tolerance.integers and tolerance.relative or 0
end

-- ---- references ------------------------------------------------------------------------------------------------

local function is_complex_leaf(value)
  return #value == 2 and type(value[1]) == "number" and type(value[2]) == "number"
end

local function flatten(value, complex, list)
  for i = 1, #value do
    local item = value[i]
    if type(item) == "table" and not (complex and is_complex_leaf(item)) then
      flatten(item, complex, list)
    else
      list[#list + 1] = item
    end
  end
  return list
end

--- A reference as a flat list.
-- @param reference a table, flat or nested, or a host array
-- @tparam string dtype of the output it belongs to
-- @treturn table the values in row-major order; complex ones are {re, im}
function verify.flat(reference, dtype)
  if type(reference) == "table" and getmetatable(reference) == nil then
    return flatten(reference, COMPLEX[dtype], {})
  end
  local list = {}
  for i = 1, #reference do
    list[i] = reference[i]
  end
  return list
end

--- Checks that a flat reference can be compared at all.
-- @tparam table list from `verify.flat`
-- @tparam string dtype of the output
-- @tparam integer count elements of the output
-- @tparam string what names the output in messages
-- @raise kinds "shape" for another count, "type" for a value that is no number, boolean or complex pair
function verify.check_reference(list, dtype, count, what)
  if #list ~= count then
    errors.raise("shape", "%s: the reference has %d values, the buffer %d", what, #list, count)
  end
  for i = 1, count do
    local kind = type(list[i])
    if COMPLEX[dtype] then
      if kind ~= "table" or not is_complex_leaf(list[i]) then
        errors.raise("type", "%s: reference value %d is no {re, im} pair", what, i)
      end
    elseif kind ~= "number" and kind ~= "boolean" then
      errors.raise("type", "%s: reference value %d is a %s, not a number", what, i, kind)
    end
  end
end

-- ---- comparing -------------------------------------------------------------------------------------------------

local function number_of(value)
  if value == true then
    return 1
  elseif value == false then
    return 0
  end
  return value
end

-- Whether one number passes, and how far off it is (NaN: no distance).
local function close(actual, reference, absolute, relative)
  if actual == reference then
    return true, 0
  elseif actual ~= actual or reference ~= reference then
    return actual ~= actual and reference ~= reference, nil
  end
  local off = math.abs((actual + 0.0) - reference)
  if reference == math.huge or reference == -math.huge then
    return false, off
  end
  -- unequal integers beyond 2^53 can be 0 apart as floats: with no tolerance they still differ
  local bound = absolute + relative * math.abs(reference + 0.0)
  return bound > 0 and off <= bound, off
end

local function close_parts(actual, reference, absolute, relative)
  local first, off = close(actual[1], reference[1], absolute, relative)
  local second, off2 = close(actual[2], reference[2], absolute, relative)
  return first and second, math.max(off or 0, off2 or 0)
end

local function has_nan(value) -- a number, a boolean or a complex pair
  if type(value) == "table" then
    return has_nan(value[1]) or has_nan(value[2])
  end
  return value ~= value
end

local function text_of(value)
  if type(value) == "table" then
    return ("{%s, %s}"):format(text_of(value[1]), text_of(value[2]))
  elseif math.type(value) == "float" then
    return value ~= value and "nan" or ("%.9g"):format(value)
  end
  return tostring(value)
end

-- "12" for flat data, "12 (row 2, column 4)" style positions "12 [2][4]" for shaped data.
local function place(index, shape)
  if not shape or #shape < 2 then
    return tostring(index)
  end
  local rest, text = index - 1, ""
  for d = #shape, 1, -1 do
    text = ("[%d]"):format(rest % shape[d] + 1) .. text
    rest = rest // shape[d]
  end
  return ("%d %s"):format(index, text)
end

--- Compares values with a reference of the same count.
-- @param actual anything with # and [i]
-- @tparam table reference flat
-- @tparam table how `dtype`, and optionally `shape` and `tolerance` (from `verify.tolerance`)
-- @treturn ?table nil when all pass; else `count` (mismatches), `first` (up to five of { index, actual, expected }),
--   `worst` (largest distance, nil where none is a number) and `message`
function verify.compare(actual, reference, how)
  local absolute, relative = bounds_for(how.dtype, how.tolerance)
  local test = COMPLEX[how.dtype] and close_parts or close
  local refused = how.tolerance and not how.tolerance.nan
  local count, worst, first = 0, nil, {}
  for i = 1, #reference do
    local a, r = actual[i], reference[i]
    local ok, off = a == r, nil -- most are; NaN is not equal to itself
    if not ok then
      ok, off = test(number_of(a), number_of(r), absolute, relative)
      ok = ok and not (refused and has_nan(r))
    end
    if not ok then
      count = count + 1
      if off and (not worst or off > worst) then
        worst = off
      end
      if #first < SHOWN then
        first[#first + 1] = { index = i, actual = actual[i], expected = reference[i] }
      end
    end
  end
  if count == 0 then
    return nil
  end
  local shown = {}
  for i, m in ipairs(first) do
    shown[i] = ("%s is %s, not %s"):format(place(m.index, how.shape), text_of(m.actual), text_of(m.expected))
  end
  local message = ("%d of %d values differ: %s%s"):format(
    count,
    #reference,
    table.concat(shown, "; "),
    count > #first and "; ..." or ""
  )
  return { count = count, first = first, worst = worst, message = message }
end

return verify
