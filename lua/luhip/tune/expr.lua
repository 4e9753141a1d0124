--- Small expressions over tuning parameters: "BX * TK * 4 <= 65536".
--
-- A parser of its own, so that no text of a user is ever loaded as Lua. It reads what Lua, Python and C agree
-- on and refuses what they read differently:
--
-- * numbers, 'text', "text", true/false (True/False), nil (None), parameter names, parentheses
-- * + - * / // % ** and unary minus; `/` is true division, `//` and `%` round down
-- * == ~= != < <= > >=, chained as in Python (1 < a <= 4); `x in (1, 2)`, `x not in [1, 2]`
-- * and or not (&& || !); 0, false and nil are false, as in C
-- * min, max, abs, floor, ceil, cdiv
--
-- An expression is parsed into closures once. A divisor of zero makes the whole expression undefined rather than
-- raising. Dependencies: luhip.errors, luhip.nearest.
-- @module luhip.tune.expr

local errors = require "luhip.errors"
local nearest = require "luhip.nearest"

local expr = {}

local MAX_DEPTH = 100
local UNDEFINED = {} -- raised inside an evaluation by a zero divisor, caught by Expr.eval

local function truth(v)
  return v ~= nil and v ~= false and v ~= 0
end

-- ---- words ---------------------------------------------------------------------------------------------

local CONSTANTS = { ["true"] = true, ["True"] = true, ["false"] = false, ["False"] = false }
local NOTHING = { ["nil"] = true, ["None"] = true }
local SPELLED = { ["and"] = "and", ["or"] = "or", ["not"] = "not", ["in"] = "in" }
local OPERATORS = { ["&&"] = "and", ["||"] = "or", ["!"] = "not", ["!="] = "~=" }
for _, op in ipairs { "==", "~=", "<=", ">=", "<", ">", "+", "-", "*", "/", "//", "%", "**" } do
  OPERATORS[op] = op
end
for _, op in ipairs { "(", ")", "[", "]", "{", "}", "," } do
  OPERATORS[op] = op
end

local FUNCTIONS = {
  min = { least = 1, call = math.min },
  max = { least = 1, call = math.max },
  abs = { least = 1, most = 1, call = math.abs },
  floor = { least = 1, most = 1, call = math.floor },
  ceil = { least = 1, most = 1, call = math.ceil },
  cdiv = {
    least = 2,
    most = 2,
    call = function(a, b)
      if b == 0 then
        error(UNDEFINED, 0)
      end
      return -(-a // b)
    end,
  },
}

local function fail(state, at, format, ...)
  errors.raise("argument", "expression '%s', column %d: %s", state.text, at, format:format(...))
end

local function read_number(state, at)
  local text = state.text:match("^0[xX]%x+", at)
    or state.text:match("^%d+%.?%d*[eE][+-]?%d+", at)
    or state.text:match("^%.%d+[eE][+-]?%d+", at)
    or state.text:match("^%d+%.?%d*", at)
    or state.text:match("^%.%d+", at)
  if not text then
    return nil
  end
  if state.text:find("^[%w_.]", at + #text) then
    fail(state, at, "'%s' is not a number", state.text:match("^[%w_.]+", at))
  end
  return #text, tonumber(text)
end

local function read_operator(state, at)
  for length = 2, 1, -1 do
    local text = state.text:sub(at, at + length - 1)
    if #text == length and OPERATORS[text] then
      return length, OPERATORS[text]
    end
  end
  return nil
end

-- One token from `at` on: its kind ("number", "text", "name", "end" or an operator), its value and its length.
local function read_token(state, at)
  local text = state.text
  if at > #text then
    return "end", nil, 0
  end
  local length, value = read_number(state, at)
  if length then
    return "number", value, length
  end
  local word = text:match("^[%a_][%w_]*", at)
  if word then
    return SPELLED[word] or "name", word, #word
  end
  local quoted = text:match('^"[^"\\]*"', at) or text:match("^'[^'\\]*'", at)
  if quoted then
    return "text", quoted:sub(2, -2), #quoted
  end
  length, value = read_operator(state, at)
  if length then
    return value, value, length
  end
  local symbol = text:sub(at, at)
  if symbol == "^" then
    fail(state, at, "'^' is a power in Lua and an exclusive or elsewhere; write ** for a power")
  end
  fail(state, at, "unexpected '%s'", symbol)
end

local function advance(state)
  local at = state.text:find("%S", state.next) or #state.text + 1
  local kind, value, length = read_token(state, at)
  state.kind, state.value, state.at, state.next = kind, value, at, at + length
end

local function shown(state)
  if state.kind == "end" then
    return "the end"
  end
  return "'" .. state.text:sub(state.at, state.next - 1) .. "'"
end

local function expect(state, kind)
  if state.kind ~= kind then
    fail(state, state.at, "'%s' expected before %s", kind, shown(state))
  end
  advance(state)
end

-- ---- the parser: every function returns a closure of the parameters' table ------------------------------

local parse_or

local function nested(state, parse)
  state.depth = state.depth + 1
  if state.depth > MAX_DEPTH then
    fail(state, state.at, "nested too deeply")
  end
  local node = parse(state)
  state.depth = state.depth - 1
  return node
end

local CLOSING = { ["("] = ")", ["["] = "]", ["{"] = "}" }

local function parse_list(state, opening)
  local list = {}
  expect(state, opening)
  while state.kind ~= CLOSING[opening] do
    list[#list + 1] = nested(state, parse_or)
    if state.kind ~= "," then
      break
    end
    advance(state)
  end
  expect(state, CLOSING[opening])
  return list
end

local function parse_call(state, name, at)
  local f = FUNCTIONS[name]
  if not f then
    fail(state, at, "there is no function '%s'; there are abs, cdiv, ceil, floor, max, min", name)
  end
  local list = parse_list(state, "(")
  if #list < f.least or #list > (f.most or math.huge) then
    fail(state, at, "%s takes %s%d value(s), not %d", name, f.most and "" or "at least ", f.least, #list)
  end
  local call = f.call
  return function(p)
    local values = {}
    for i, node in ipairs(list) do
      values[i] = node(p)
    end
    return call(table.unpack(values, 1, #list))
  end
end

local function parse_name(state)
  local name, at = state.value, state.at
  advance(state)
  if state.kind == "(" then
    return parse_call(state, name, at)
  end
  if CONSTANTS[name] ~= nil then
    local value = CONSTANTS[name]
    return function()
      return value
    end
  end
  if NOTHING[name] then
    return function()
      return nil
    end
  end
  if state.known and not state.known[name] then
    local near = nearest(name, state.known_list)
    local hint = near and (", did you mean '%s'?"):format(near)
      or "; there are " .. table.concat(state.known_list, ", ")
    fail(state, at, "'%s' is no parameter%s", name, hint)
  end
  if not state.used[name] then
    state.used[name] = true
    state.names[#state.names + 1] = name
  end
  return function(p)
    return p[name]
  end
end

local function parse_atom(state)
  local kind, value = state.kind, state.value
  state.composite = false
  if kind == "number" or kind == "text" then
    advance(state)
    return function()
      return value
    end
  elseif kind == "name" then
    return parse_name(state)
  elseif kind == "(" then
    advance(state)
    local node = nested(state, parse_or)
    expect(state, ")")
    state.composite = false
    return node
  end
  fail(state, state.at, "a value expected before %s", shown(state))
end

local parse_unary

local function parse_power(state)
  local base = parse_atom(state)
  if state.kind ~= "**" then
    return base
  end
  advance(state)
  local exponent = nested(state, parse_unary)
  state.composite = true
  return function(p)
    local b, e = base(p), exponent(p)
    if math.type(b) == "integer" and math.type(e) == "integer" and e >= 0 then
      return math.tointeger(b ^ e) or b ^ e
    end
    return b ^ e
  end
end

function parse_unary(state)
  if state.kind == "-" then
    advance(state)
    local node = nested(state, parse_unary)
    state.composite = true
    return function(p)
      return -node(p)
    end
  elseif state.kind == "+" then
    advance(state)
    return nested(state, parse_unary)
  end
  return parse_power(state)
end

local ARITHMETIC = {
  ["+"] = function(a, b)
    return a + b
  end,
  ["-"] = function(a, b)
    return a - b
  end,
  ["*"] = function(a, b)
    return a * b
  end,
}

local function divider(divide)
  return function(a, b)
    if b == 0 then
      error(UNDEFINED, 0)
    end
    return divide(a, b)
  end
end

local DIVISION = {
  ["*"] = ARITHMETIC["*"],
  ["/"] = divider(function(a, b)
    return a / b
  end),
  ["//"] = divider(function(a, b)
    return a // b
  end),
  ["%"] = divider(function(a, b)
    return a % b
  end),
}
local SUM = { ["+"] = ARITHMETIC["+"], ["-"] = ARITHMETIC["-"] }

local function parse_left(state, operations, parse)
  local left = parse(state)
  while operations[state.kind] do
    local operation = operations[state.kind]
    advance(state)
    local a, b = left, parse(state)
    left = function(p)
      return operation(a(p), b(p))
    end
    state.composite = true
  end
  return left
end

local function parse_product(state)
  return parse_left(state, DIVISION, parse_unary)
end

local function parse_sum(state)
  return parse_left(state, SUM, parse_product)
end

local COMPARE = {
  ["=="] = function(a, b)
    return a == b
  end,
  ["~="] = function(a, b)
    return a ~= b
  end,
  ["<"] = function(a, b)
    return a < b
  end,
  ["<="] = function(a, b)
    return a <= b
  end,
  [">"] = function(a, b)
    return a > b
  end,
  [">="] = function(a, b)
    return a >= b
  end,
}

local function parse_members(state)
  if not CLOSING[state.kind] then
    fail(state, state.at, "a list expected after 'in', before %s", shown(state))
  end
  local list = parse_list(state, state.kind)
  return function(value, p)
    for _, node in ipairs(list) do
      if value == node(p) then
        return true
      end
    end
    return false
  end
end

-- "x in (...)", "x not in (...)"; nil when there is no membership test here.
local function parse_membership(state, value)
  local negated = state.kind == "not"
  if negated then
    advance(state)
    if state.kind ~= "in" then
      fail(state, state.at, "'in' expected before %s", shown(state))
    end
  elseif state.kind ~= "in" then
    return nil
  end
  advance(state)
  local contains = parse_members(state)
  state.composite = true
  return function(p)
    return contains(value(p), p) ~= negated
  end
end

local function parse_comparison(state)
  local first = parse_sum(state)
  local member = parse_membership(state, first)
  if member then
    return member
  end
  if not COMPARE[state.kind] then
    return first
  end
  local compares, operands = {}, {}
  while COMPARE[state.kind] do
    compares[#compares + 1] = COMPARE[state.kind]
    advance(state)
    operands[#operands + 1] = parse_sum(state)
  end
  state.composite = true
  return function(p)
    local left = first(p)
    for i, compare in ipairs(compares) do
      local right = operands[i](p)
      if not compare(left, right) then
        return false
      end
      left = right
    end
    return true
  end
end

local function parse_not(state)
  if state.kind ~= "not" then
    return parse_comparison(state)
  end
  local at = state.at
  advance(state)
  local node = nested(state, parse_not)
  if state.composite then
    fail(state, at, "'not' before an operator reads differently in Lua and Python; write parentheses")
  end
  return function(p)
    return not truth(node(p))
  end
end

local function parse_and(state)
  local left = parse_not(state)
  while state.kind == "and" do
    advance(state)
    local a, b = left, parse_not(state)
    left = function(p)
      local v = a(p)
      if truth(v) then
        return b(p)
      end
      return v
    end
    state.composite = true
  end
  return left
end

function parse_or(state)
  local left = parse_and(state)
  while state.kind == "or" do
    advance(state)
    local a, b = left, parse_and(state)
    left = function(p)
      local v = a(p)
      if truth(v) then
        return v
      end
      return b(p)
    end
    state.composite = true
  end
  return left
end

-- ---- the object -----------------------------------------------------------------------------------------

local Expr = { __name = "luhip.tune.expr" }
Expr.__index = Expr

function Expr:__tostring()
  return self.text
end

--- Evaluates the expression.
-- @tparam table p parameter values by name
-- @return the value; nil and "undefined" when a divisor was zero
-- @raise kind "type" when values do not fit an operator, naming the expression
function Expr:eval(p)
  local ok, value = pcall(self.node, p)
  if ok then
    return value
  elseif value == UNDEFINED then
    return nil, "undefined"
  end
  errors.raise("type", "expression '%s': %s", self.text, (tostring(value):gsub("^[^ ]*:%d+: ", "")))
end

--- Evaluates the expression as a condition.
-- @tparam table p parameter values by name
-- @treturn boolean 0, false and nil are false
-- @treturn ?string "undefined" when a divisor was zero; the first result is then false
-- @raise as `eval`
function Expr:test(p)
  local value, undefined = self:eval(p)
  return truth(value), undefined
end

--- Parses an expression.
-- @tparam string text
-- @tparam[opt] {string,...} known the parameters' names; with it, any other name is an error
-- @treturn Expr with `text`, `names` (those it uses, in order of first use), `eval` and `test`
-- @raise kind "argument" naming the expression, the column and what is wrong there
function expr.parse(text, known)
  local state = { text = text, next = 1, depth = 0, names = {}, used = {}, composite = false }
  if known then
    state.known, state.known_list = {}, known
    for _, name in ipairs(known) do
      state.known[name] = true
    end
  end
  advance(state)
  local node = parse_or(state)
  if state.kind ~= "end" then
    fail(state, state.at, "unexpected %s", shown(state))
  end
  return setmetatable({ text = text, names = state.names, node = node }, Expr)
end

return expr
