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
-- An expression is parsed once, into code that luhip.core evaluates (src/tune), alone or inside a space, so that there
-- is one evaluator for both. A divisor of zero makes the whole expression undefined rather than raising.
-- Dependencies: luhip.core, luhip.errors, luhip.nearest.
-- @module luhip.tune.expr

local core = require "luhip.core"
local errors = require "luhip.errors"
local nearest = require "luhip.nearest"

local expr = {}

local MAX_DEPTH = 100

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

-- Name to the code's operator and the values it takes; min and max take any number.
local FUNCTIONS = {
  min = { op = "min", least = 1 },
  max = { op = "max", least = 1 },
  abs = { op = "abs", least = 1, most = 1 },
  floor = { op = "floor", least = 1, most = 1 },
  ceil = { op = "ceil", least = 1, most = 1 },
  cdiv = { op = "cdiv", least = 2, most = 2 },
}

local SHOWN = 100 -- bytes of an expression in a message, at most
local BEFORE = 60 -- of these before the place that is meant

--- An expression for a message: of a long one what stands around a place, cut between words.
-- @tparam string text
-- @tparam[opt=1] integer at the place
-- @treturn string
function expr.excerpt(text, at)
  at = at or 1
  if #text <= SHOWN then
    return text
  end
  local first = at > BEFORE and text:find("%f[^%s]", at - BEFORE) or 1
  first = first > at and at - BEFORE or first
  local last = math.min(#text, first + SHOWN - 1)
  local cut = last < #text and text:sub(first, last):match "^.*()%s" or nil
  if cut and first + cut - 2 >= at then
    last = first + cut - 2
  end
  return (first > 1 and "... " or "") .. text:sub(first, last) .. (last < #text and " ..." or "")
end

local function fail(state, at, format, ...)
  errors.raise("argument", "expression '%s', column %d: %s", expr.excerpt(state.text, at), at, format:format(...))
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
  local hint = ({ ["="] = "; == compares", ["&"] = "; && or 'and'", ["|"] = "; || or 'or'" })[symbol] or ""
  fail(state, at, "unexpected '%s'%s", symbol, hint)
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

-- ---- the parser: every function emits code and returns the number of the instruction that is its result -------

-- Code is a flat list: operator, operand, operand. Instructions count from 0.
local function emit(state, op, a, b)
  local code, n = state.code, #state.code
  code[n + 1], code[n + 2], code[n + 3] = op, a, b or a
  return n // 3
end

-- A constant; nil is what the list of constants has a hole for.
local function emit_constant(state, value)
  local n = state.constants.n
  state.constants[n + 1], state.constants.n = value, n + 1
  return emit(state, "const", n)
end

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
  local node = list[1]
  if #list == 1 then
    return emit(state, f.op, node, node)
  end
  for i = 2, #list do
    node = emit(state, f.op, node, list[i])
  end
  return node
end

local function check_known(state, name, at)
  if state.known and not state.known[name] then
    local near = nearest(name, state.known_list)
    local hint = near and (", did you mean '%s'?"):format(near)
      or #state.known_list == 0 and "; there are none"
      or "; there are " .. table.concat(state.known_list, ", ")
    fail(state, at, "'%s' is no parameter%s", name, hint)
  end
end

local function parse_name(state)
  local name, at = state.value, state.at
  advance(state)
  if state.kind == "(" then
    return parse_call(state, name, at)
  end
  if CONSTANTS[name] ~= nil then
    return emit_constant(state, CONSTANTS[name])
  elseif NOTHING[name] then
    return emit_constant(state, nil)
  end
  check_known(state, name, at)
  if not state.used[name] then
    state.names[#state.names + 1] = name
    state.used[name] = emit(state, "param", #state.names - 1)
  end
  return state.used[name]
end

local function parse_atom(state)
  local kind, value = state.kind, state.value
  state.composite = false
  if kind == "number" or kind == "text" then
    advance(state)
    return emit_constant(state, value)
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
  return emit(state, "pow", base, exponent)
end

function parse_unary(state)
  if state.kind == "-" then
    advance(state)
    local node = nested(state, parse_unary)
    state.composite = true
    return emit(state, "neg", node)
  elseif state.kind == "+" then
    advance(state)
    return nested(state, parse_unary)
  end
  return parse_power(state)
end

local PRODUCT = { ["*"] = "mul", ["/"] = "div", ["//"] = "idiv", ["%"] = "mod" }
local SUM = { ["+"] = "add", ["-"] = "sub" }

local function parse_left(state, operations, parse)
  local left = parse(state)
  while operations[state.kind] do
    local operation = operations[state.kind]
    advance(state)
    left = emit(state, operation, left, parse(state))
    state.composite = true
  end
  return left
end

local function parse_product(state)
  return parse_left(state, PRODUCT, parse_unary)
end

local function parse_sum(state)
  return parse_left(state, SUM, parse_product)
end

local COMPARE = { ["=="] = "eq", ["~="] = "ne", ["<"] = "lt", ["<="] = "le", [">"] = "gt", [">="] = "ge" }

-- value == a or value == b or ...
local function parse_members(state, value)
  if not CLOSING[state.kind] then
    fail(state, state.at, "a list expected after 'in', before %s", shown(state))
  end
  local list = parse_list(state, state.kind)
  local node = #list == 0 and emit_constant(state, false) or nil
  for _, member in ipairs(list) do
    local equal = emit(state, "eq", value, member)
    node = node and emit(state, "or", node, equal) or equal
  end
  return node
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
  local node = parse_members(state, value)
  state.composite = true
  return negated and emit(state, "not", node) or node
end

local function parse_comparison(state)
  local left = parse_sum(state)
  local member = parse_membership(state, left)
  if member then
    return member
  end
  local all
  while COMPARE[state.kind] do
    local compare = COMPARE[state.kind]
    advance(state)
    local right = parse_sum(state)
    local node = emit(state, compare, left, right)
    all, left = all and emit(state, "and", all, node) or node, right
    state.composite = true
  end
  return all or left
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
  return emit(state, "not", node)
end

local function parse_and(state)
  local left = parse_not(state)
  while state.kind == "and" do
    advance(state)
    left = emit(state, "and", left, parse_not(state))
    state.composite = true
  end
  return left
end

function parse_or(state)
  local left = parse_and(state)
  while state.kind == "or" do
    advance(state)
    left = emit(state, "or", left, parse_and(state))
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
  local value, lost, why = self.code:eval(p)
  if lost == "bad" then
    errors.raise("type", "expression '%s': %s", expr.excerpt(self.text), why)
  end
  return value, lost
end

--- Evaluates the expression as a condition.
-- @tparam table p parameter values by name
-- @treturn boolean 0, false and nil are false
-- @treturn ?string "undefined" when a divisor was zero; the first result is then false
-- @raise as `eval`
function Expr:test(p)
  local value, undefined = self:eval(p)
  return value ~= nil and value ~= false and value ~= 0, undefined
end

--- Parses an expression.
-- @tparam string text
-- @tparam[opt] {string,...} known the parameters' names; with it, any other name is an error
-- @treturn Expr with `text`, `names` (those it uses, in order of first use), `code` (of core.expression), `eval` and
--   `test`
-- @raise kind "argument" naming the expression, the column and what is wrong there
function expr.parse(text, known)
  local state = { text = text, next = 1, depth = 0, composite = false }
  state.names, state.used, state.code, state.constants = {}, {}, {}, { n = 0 }
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
  if node ~= #state.code // 3 - 1 then
    emit(state, "or", node, node) -- the last instruction is the result
  end
  local code = core.expression(state.code, state.constants, state.names)
  return setmetatable({ text = text, names = state.names, code = code }, Expr)
end

return expr
