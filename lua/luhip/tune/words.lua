--- The options among the words of `luhip tune`.
--
-- Behind a script, words are the script's own unless they are options of ours; one that is nearly such an option is
-- refused, since it would be passed on without a word and the run would not be what was asked for.
-- Dependencies: luhip.nearest.
-- @module luhip.tune.words

local nearest = require "luhip.nearest"

local words = {}

local function nearest_option(name, known)
  local names = {}
  for one in pairs(known) do
    names[#names + 1] = one
  end
  table.sort(names)
  return nearest(name, names)
end

--- Says that there is no such option.
-- @tparam string word as it was written
-- @tparam string name the option's name in it
-- @tparam table known the options there are
-- @treturn string
function words.unknown(word, name, known)
  local near = nearest_option(name, known)
  return ("unknown option '%s'; %s"):format(
    word,
    near and ("did you mean --%s?"):format(near) or "see luhip tune --help"
  )
end

-- Whether a letter more, less or another makes one word of the other.
local function one_off(a, b)
  local i = 1
  while i <= #a and a:byte(i) == b:byte(i) do
    i = i + 1
  end
  local from, to = a:sub(i), b:sub(i)
  return from:sub(2) == to:sub(2) or from:sub(2) == to or from == to:sub(2)
end

-- Why a word behind the script is taken for one of our options misspelt, and not for the script's; nil when it is not.
-- Short words are near to each other by chance.
local function misspelt(word, name, known)
  local near = nearest_option(name, known)
  if near and (#name > 4 or one_off(name, near)) then
    return ("unknown option '%s'; did you mean --%s? If it is the script's own: -- %s"):format(word, near, word)
  end
  return nil
end

local function name_and_value(word)
  local name, value = word:match "^%-%-([%w_][%w_-]*)=(.*)$"
  return name or word:match "^%-%-([%w_][%w_-]*)$", value
end

--- Reads options out of words; a `--` ends them.
-- @tparam {string,...} given
-- @tparam table known by name, whether an option takes a value
-- @tparam[opt] boolean leading what follows the first other word may be that one's own
-- @treturn ?table lists of values (true for those without one) by name; nil when something is wrong
-- @treturn {string,...}|string the other words; or what is wrong
-- @treturn ?integer how many of these stood before the `--`; nil without one
function words.read(given, known, leading)
  local options, rest, i = {}, {}, 1
  while i <= #given do
    local word = given[i]
    if word == "--" then
      local before = #rest
      return options, table.move(given, i + 1, #given, before + 1, rest), before
    end
    local name, value = name_and_value(word)
    local own = leading and #rest > 0
    local wrong = own and name and known[name] == nil and misspelt(word, name, known)
    if wrong then
      return nil, wrong
    elseif not name or (own and known[name] == nil) then
      rest[#rest + 1] = word
    elseif known[name] == nil then
      return nil, words.unknown(word, name, known)
    elseif not known[name] and value then
      return nil, ("--%s takes no value"):format(name)
    elseif known[name] and not value then
      i = i + 1
      value = given[i]
      if not value then
        return nil, ("%s needs a value"):format(word)
      end
    end
    if name and known[name] ~= nil then
      options[name] = options[name] or {}
      table.insert(options[name], value or true)
    end
    i = i + 1
  end
  return options, rest
end

--- The value that holds of an option.
-- @tparam table options what `words.read` gave
-- @tparam string name
-- @return nil where it is not there
function words.last(options, name)
  return options[name] and options[name][#options[name]]
end

return words
