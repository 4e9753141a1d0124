-- printf in kernels.

local support = require "spec.support"

local function printed(id, source, launches)
  local result = support.lua(([[
    local luhip = require "luhip"
    local dev = luhip.open %q
    local kernel = dev:kernel(%q, "k")
    local word = dev:buffer("i32", 4, 7)
    %s
    dev:sync()
  ]]):format(id, source, launches or "kernel:launch({ grid = 1, block = 1 }, word)"))
  assert.equal(0, result.code, result.stderr)
  return result.stdout
end

support.each_device(function(id)
  if not id:find "^cpu" then
    return
  end

  it("printf writes what the host's printf would", function()
    local text = printed(
      id,
      [[
      extern "C" __global__ void k(int *x) {
        float f = 1.5f;
        printf("%d|%5u|%-4x|%lld|%c|%s|%g|%.3f|%e|%%\n", -3, 7u, 255, 1ll << 40, 'q', "text", f, 2.0 / 3, 1e100);
        printf("%08.3f|%+d|%#o|%zu|%5.2s|\n", 3.14159, 4, 8, sizeof(int), "abc");
        printf("no newline");
        printf(", %d\n", x[0]);
      }
    ]]
    )
    local wanted = ("%d|%5u|%-4x|%d|%s|%s|%g|%.3f|%e|%%\n"):gsub("u|", "d|", 1)
    wanted = wanted:format(-3, 7, 255, 1 << 40, "q", "text", 1.5, 2.0 / 3, 1e100)
    wanted = wanted .. ("%08.3f|%+d|%#o|%d|%5.2s|\n"):format(3.14159, 4, 8, 4, "abc") .. "no newline, 7\n"
    assert.equal(wanted, text)
  end)

  it("each call is written whole, from every thread of every block, between barriers too", function()
    local text = printed(
      id,
      [[
      extern "C" __global__ void k(int *x) {
        printf("a %d %d\n", blockIdx.x, threadIdx.x);
        __syncthreads();
        if (threadIdx.x % 8 == 0) printf("b %d %d\n", blockIdx.x, threadIdx.x);
      }
    ]],
      "kernel:launch({ grid = 20, block = 40 }, word)"
    )
    local seen, count = {}, 0
    for line in text:gmatch "[^\n]+" do
      assert.truthy(line:match "^[ab] %d+ %d+$", line)
      assert.is_nil(seen[line])
      seen[line] = true
      count = count + 1
    end
    assert.equal(20 * 40 + 20 * 5, count)
  end)

  it("long texts are not cut", function()
    local text = printed(
      id,
      [[
      extern "C" __global__ void k(int *x) { printf("%5000d|%s\n", x[0], "end"); }
    ]]
    )
    assert.equal((" "):rep(4999) .. "7|end\n", text)
  end)

  it("a bad string is a fault of the kernel, and %n is not obeyed", function()
    local text = printed(
      id,
      [[
      extern "C" __global__ void k(int *x) {
        if (x[1] == 7) printf("%n wrong\n", x);
        else printf("%s\n", reinterpret_cast<const char *>(16));
      }
    ]],
      [[
      kernel:launch({ grid = 1, block = 1 }, word)
      print("after", word:read()[1])
      local other = dev:buffer("i32", 4, 0)
      kernel:launch({ grid = 1, block = 1 }, other)
      local ok, e = pcall(function() other:read() end)
      print(ok, e.kind)
    ]]
    )
    assert.equal("%n wrong\nafter\t7\nfalse\tfault\n", text)
  end)
end)
