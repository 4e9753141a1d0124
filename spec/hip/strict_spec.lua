-- Strict mode: what hiprtc 5.2 lacks is an error on the CPU device too, and the recommended spelling compiles on both.

local core = require "luhip.core"
local items = require "spec.hip.strict"
local support = require "spec.support"

local GROUP = 9 -- a compiler gives up after some twenty errors

-- One kernel a statement, each on a line of its own; first[i] is the line of items[i].
local function source(list, which)
  local lines, line_of = {}, {}
  for _, item in ipairs(list) do
    for line in (item.top and which == 3 and item.top or ""):gmatch "[^\n]+" do
      lines[#lines + 1] = line
    end
  end
  for i, item in ipairs(list) do
    lines[#lines + 1] = ('extern "C" __global__ void k%d(float *o, int *i, double *d) { %s }'):format(i, item[which])
    line_of[i] = #lines
  end
  return table.concat(lines, "\n") .. "\n", line_of
end

-- Which items of the group compile, though they should not.
local function accepted(compile, list)
  local text, line_of = source(list, 2)
  local ok, e = pcall(compile, text)
  local refused = {}
  if not ok then
    assert(e.kind == "compile", tostring(e))
    for _, diagnostic in ipairs(e.diagnostics) do
      refused[diagnostic.line] = refused[diagnostic.line] or diagnostic.severity == "error"
    end
  end
  local names = {}
  for i, item in ipairs(list) do
    if not refused[line_of[i]] then
      names[#names + 1] = item[1]
    end
  end
  return names
end

-- The same over all items, alone where a group leaves doubt.
local function all_accepted(compile)
  local names = {}
  for first = 1, #items, GROUP do
    local group = { table.unpack(items, first, math.min(first + GROUP - 1, #items)) }
    local by_name = {}
    for _, item in ipairs(group) do
      by_name[item[1]] = item
    end
    for _, name in ipairs(accepted(compile, group)) do
      local ok = pcall(compile, (source({ by_name[name] }, 2)))
      if ok then
        names[#names + 1] = name
      end
    end
  end
  return names
end

local has_hiprtc = pcall(core.compile_for, "gfx90a", 'extern "C" __global__ void k() {}')

describe("strict mode", function()
  support.scope()
  local dev
  before_each(function()
    dev = support.open "cpu:0"
  end)

  local function strictly(text)
    return dev:compile(text, { strict = true })
  end

  it("refuses each item of docs/strict.md on the CPU device, and its name is in the error", function()
    assert.same({}, all_accepted(strictly))
    support.assert_error_kind("compile", function()
      strictly 'extern "C" __global__ void k(int *i) { __syncwarp(); }'
    end, "not_in_hiprtc___syncwarp")
    support.assert_error_kind("compile", function()
      strictly 'extern "C" __global__ void k(int *i) { i[0] = std::min(1, 2); }'
    end, "std_of_hiprtc")
  end)

  it("takes every item without strict, and the recommended spelling with it", function()
    dev:compile((source(items, 2)))
    strictly((source(items, 3)))
  end)

  it("is part of what a compile is cached by", function()
    local text = 'extern "C" __global__ void k(float *o) { o[0] = INFINITY; }'
    for _ = 1, 2 do
      dev:compile(text)
      support.assert_error_kind("compile", function()
        strictly(text)
      end, "INFINITY")
    end
    support.assert_error_kind("type", function()
      dev:compile(text, { strict = 1 })
    end, "strict")
  end)

  it("leaves what a source defines itself", function()
    strictly [[
      #ifndef INFINITY
      #define INFINITY __builtin_inff()
      #endif
      typedef unsigned char uint8_t;
      __device__ void __syncwarp() {}
      #include <assert.h>
      #include <stdint.h>
      extern "C" __global__ void k(float *o, uint8_t *b) {
        __syncwarp();
        assert(b[0] == 0);
        o[0] = INFINITY;
      }
    ]]
  end)

  local OF_STD = [[
    extern "C" __global__ void k(int *i) {
      typename std::enable_if<std::is_same<int, int>::value, int>::type a = std::integral_constant<int, 3>::value;
      std::size_t b = std::true_type::value + std::false_type::value;
      std::uint32_t c = std::is_integral<int>::value + std::is_floating_point<int>::value;
      std::int32_t d = std::is_arithmetic<int>::value + std::is_signed<int>::value + std::is_scalar<int>::value;
      std::uint64_t e = std::is_convertible<int, float>::value;
      std::int64_t f = 1;
      uint32_t g = 1;
      uint64_t h = 1;
      int32_t j = 1;
      int64_t l = 1;
      size_t m = 1;
      i[0] = a + (int)(b + c + d + e + f + g + h + j + l + m);
    }
  ]]

  it("leaves what hiprtc has of std and of the fixed-width types", function()
    strictly(OF_STD)
    if has_hiprtc then
      core.compile_for("gfx90a", OF_STD)
    end
  end)

  it("lists every item in docs/strict.md", function()
    local text = support.read_file "docs/strict.md"
    for _, item in ipairs(items) do
      assert(text:find("`" .. item[1], 1, true), item[1] .. " is missing")
    end
  end)

  if has_hiprtc then
    it("hiprtc refuses what strict mode does", function()
      assert.same(
        {},
        all_accepted(function(text)
          return core.compile_for("gfx90a", text)
        end)
      )
    end)

    it("hiprtc takes the recommended spellings, in strict mode too", function()
      core.compile_for("gfx90a", (source(items, 3)))
      core.compile_for("gfx90a", (source(items, 3)), { strict = true })
    end)
  end
end)
