--- Whether a kernel takes the same arguments whatever the configuration is.
--
-- Parameters are defines, so that one of them may decide on a type: `T *x` with T = "float" or "half", or a type whose
-- name a macro puts together. Where none can, an argument of the wrong type is the caller's mistake, not a candidate's
-- failure. That is read off the text: no parameter is a word of the kernel's parameter list, nor of what the list's
-- words are defined as. What cannot be seen (text that is included, a choice between two) is not the same.
-- Dependencies: none.
-- @module luhip.tune.signature

local signature = {}

-- Text without comments and with lines that were continued whole.
local function plain(source)
  return (source:gsub("\\\r?\n", " "):gsub("/%*.-%*/", " "):gsub("//[^\n]*", ""))
end

local function add_words(text, words, list)
  for word in text:gmatch "[%a_][%w_]*" do
    if not words[word] then
      words[word] = true
      list[#list + 1] = word
    end
  end
end

local NO_NAME = { __launch_bounds__ = true, __attribute__ = true }

-- The parameter list of the kernel: of its name, or, where that is left out, of the only one; nil where there are two.
local function parameters(text, kernel)
  local found = nil
  for at in text:gmatch "()%f[%w_]__global__%f[^%w_]" do
    for name, list in text:sub(at):gmatch "([%a_][%w_]*)%s*(%b())" do
      if not NO_NAME[name] then
        if (not kernel or name == kernel) and found and found ~= list then
          return nil
        end
        found = (not kernel or name == kernel) and list or found
        break
      end
    end
  end
  return found
end

-- What a word is defined as, wherever that may be.
local function definitions(text, word)
  local list = {}
  for line in ("\n" .. text):gmatch("\n[ \t]*#[ \t]*define[ \t]+" .. word .. "%f[^%w_]([^\n]*)") do
    list[#list + 1] = line
  end
  for what in text:gmatch("%f[%w_]typedef%s+([^;]-)%f[%w_]" .. word .. "%s*;") do
    list[#list + 1] = what
  end
  for what in text:gmatch("%f[%w_]using%s+" .. word .. "%s*=([^;]*);") do
    list[#list + 1] = what
  end
  return list
end

--- Whether the types of a kernel's parameters are the same for every configuration.
-- @tparam string source
-- @tparam ?string kernel its name; nil: the only one
-- @tparam {string,...} names of the tuning parameters
-- @treturn boolean false also where it cannot be told
function signature.is_fixed(source, kernel, names)
  local text = plain(source)
  local list = parameters(text, kernel and kernel:match "[%w_]+$")
  if not list or list:find("#", 1, true) or text:find '#%s*include%s*"' or text:find "template" then
    return false
  end
  local words, open = {}, {}
  add_words(list, words, open)
  local i = 1
  while open[i] do
    local all = definitions(text, open[i])
    if #all > 1 then
      return false -- a condition chooses
    end
    add_words(all[1] or "", words, open)
    i = i + 1
  end
  for _, name in ipairs(names) do
    if words[name] then
      return false
    end
  end
  return true
end

return signature
