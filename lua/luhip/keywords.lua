--- The words that C++ keeps for itself, which nothing in generated text can be called.
-- The list is table 5 of ISO C++17, [lex.key], and [lex.digraph] for the operators that are words.
-- Dependencies: none.
-- @module luhip.keywords

local TEXT = [[
  alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl const
  const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern false
  float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
  protected public register reinterpret_cast return short signed sizeof static static_assert static_cast struct switch
  template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
  while xor xor_eq
]]

--- True for each of them.
local keywords = {}
for word in TEXT:gmatch "%S+" do
  keywords[word] = true
end

return keywords
