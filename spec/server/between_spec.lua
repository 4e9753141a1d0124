-- Several devices at once: copies between them, tuning on each, the same script on all. On cpu:0 and cpu:0/64 here, and
-- on every pair of devices that are present.

local luhip = require "luhip"
local support = require "spec.support"
local tune = require "luhip.tune"

local ids = support.devices { warp64 = true }

local ADD = [[
  extern "C" __global__ void add(int *x, int n, int v) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] += v;
  }
]]

describe("devices together", function()
  support.scope()

  -- Every ordered pair, and fn(to, from) with both open.
  local function each_pair(name, fn)
    for _, to in ipairs(ids) do
      for _, from in ipairs(ids) do
        if to ~= from then
          it(("%s (%s from %s)"):format(name, to, from), function()
            fn(support.open(to), support.open(from))
          end)
        end
      end
    end
  end

  each_pair("C6 a copy brings the bytes over, of all and of a part", function(to, from)
    local values = {}
    for i = 1, 1000 do
      values[i] = i * 3 - 500
    end
    local x, y = to:buffer("i32", 1000, -1), from:from("i32", values)
    assert.equal(x, x:copy(y))
    assert.same(values, x:totable())
    x:fill(0)
    x:slice(11, 20):copy(y:slice(501, 510))
    local got = x:totable()
    assert.same({ 0, values[501], values[510], 0 }, { got[10], got[11], got[20], got[21] })
  end)

  each_pair("C6 rows at a pitch arrive in rows, at the pitch of the other side", function(to, from)
    local table_of = {}
    for r = 1, 5 do
      table_of[r] = {}
      for c = 1, 7 do
        table_of[r][c] = r * 10.0 + c
      end
    end
    local packed, pitched = from:buffer("f32", { 5, 7 }, table_of), from:pitched("f32", { 5, 7 })
    pitched:write(table_of)
    for _, source in ipairs { packed, pitched } do
      for _, target in ipairs { to:buffer("f32", { 5, 7 }, 0), to:pitched("f32", { 5, 7 }) } do
        target:copy(source)
        assert.same(table_of, target:totable())
      end
    end
  end)

  each_pair("C6 a copy of no elements is legal, and one of another type or size is refused", function(to, from)
    to:buffer("i32", 0):copy(from:buffer("i32", 0))
    support.assert_error_kind("type", function()
      to:buffer("i32", 4):copy(from:buffer("f32", 4))
    end)
    support.assert_error_kind("shape", function()
      to:buffer("i32", 4):copy(from:buffer("i32", 5))
    end)
    local freed = from:buffer("i32", 4)
    freed:free()
    support.assert_error_kind("freed", function()
      to:buffer("i32", 4):copy(freed)
    end)
  end)

  each_pair("C6 a copy in several parts brings all of them", function(to, from)
    local n = (40 << 20) // 8 + 3
    local y, x = from:buffer("i64", n, 7), to:buffer("i64", n)
    y:slice(n, n):fill(9)
    y:slice(n // 2, n // 2):fill(8)
    x:copy(y)
    assert.same(
      { 7, 8, 7, 9 },
      { x:read(1, 1)[1], x:read(n // 2, n // 2)[1], x:read(n - 1, n - 1)[1], x:read(n, n)[1] }
    )
  end)

  each_pair(
    "B2 a copy comes after what writes its source and before what writes it next, on any stream",
    function(to, from)
      local add_from, add_to = from:kernel(ADD), to:kernel(ADD)
      local n = 1 << 16
      local x, y = to:buffer("i32", n, 0), from:buffer("i32", n, 0)
      local s, t = from:stream(), to:stream()
      for i = 1, 5 do
        from:with(s, function()
          add_from:launch({ grid = 4, block = 64 }, y, n, 1)
        end)
        to:with(i % 2 == 0 and t or to:streams()[1], function()
          x:copy(y)
        end)
        add_from:launch({ grid = 4, block = 64 }, y, n, 100) -- must not be in this copy
        add_to:launch({ grid = 4, block = 64 }, x, n, 1000)
        local value = i + 100 * (i - 1) + 1000
        assert.same({ value, value }, { x:read(1, 1)[1], x:read(n, n)[1] })
      end
    end
  )

  each_pair("C6 a stale source makes the destination stale with the same failure", function(to, from)
    local x, y = to:buffer("i32", 4, 5), support.beyond_memory(from):view "i32"
    local part = y:slice(1, 4)
    support.assert_error_kind("oom", function()
      part:read()
    end)
    x:copy(part)
    local copied = support.assert_error_kind("oom", function()
      x:read()
    end)
    assert.truthy(tostring(copied):find(from.id, 1, true), tostring(copied))
    x:fill(1)
    assert.same({ 1, 1, 1, 1 }, x:totable())
  end)

  each_pair(
    "F4 a copy between devices is refused while its stream records, and the recording goes on",
    function(to, from)
      local x, y = to:buffer("i32", 4, 5), from:buffer("i32", 4, 6)
      local graph <close> = to:capture(function()
        x:fill(7)
      end)
      local s = to:stream()
      to:with(s, function()
        s:prepare_capture()
        x:fill(8)
        s:begin_capture()
        x:fill(9)
        support.assert_error_kind("capture", function()
          x:copy(y)
        end, "between devices")
      end)
      local second <close> = s:end_capture()
      second:replay()
      assert.equal(9, x:read()[1])
      graph:replay()
      assert.equal(7, x:read()[1])
    end
  )

  each_pair("one script tunes on both", function(to, from)
    for _, dev in ipairs { to, from } do
      local x, ones = dev:buffer("i32", 256, 0), luhip.array("i32", 256):map(function()
        return 1
      end)
      local result = tune {
        name = "add on " .. dev.id:gsub("%W", "_"),
        device = dev,
        source = ADD,
        kernel = "add",
        params = { B = { 32, 64 } },
        grid = function()
          return 2
        end,
        block = function(p)
          return p.B
        end,
        args = { x, 256, 1 },
        expect = { x = ones },
        strategy = "exhaustive",
      }
      assert.equal(2, #result.rows)
      assert.is_true(result.best ~= nil and result.best.status == "ok")
    end
  end)

  it("the same script gives the same results on all, within tolerance", function()
    local SCRIPT = [[
      #include <hip/hip_runtime.h>
      extern "C" __global__ void waves(float *out, const float *x, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        float sum = 0;
        for (int k = 1; k <= 8; k++) sum += sinf(k * x[i]) * expf(-0.25f * k) + sqrtf(fabsf(x[i])) / k;
        out[i] = sum;
      }
      extern "C" __global__ void total(float *out, const float *x, int n) {
        __shared__ float part[64];
        float sum = 0;
        for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
        part[threadIdx.x] = sum;
        __syncthreads();
        for (int half = 32; half > 0; half /= 2) {
          if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
          __syncthreads();
        }
        if (threadIdx.x == 0) *out = part[0];
      }
    ]]
    local N = 1000
    local first, first_total
    for _, id in ipairs(ids) do
      local dev = support.open(id)
      local program = dev:compile(SCRIPT)
      local x = dev:buffer("f32", N, function(i)
        return (i - 500) / 100
      end)
      local y, sum = dev:buffer("f32", N), dev:buffer("f32", 1)
      program:kernel("waves"):launch({ grid = luhip.cdiv(N, 128), block = 128 }, y, x, N)
      program:kernel("total"):launch({ grid = 1, block = 64 }, sum, y, N)
      local values, total = y:totable(), sum:read()[1]
      first, first_total = first or values, first_total or total
      for i = 1, N do
        assert.is_true(math.abs(values[i] - first[i]) <= 2e-5 * (1 + math.abs(first[i])), id .. " element " .. i)
      end
      assert.is_true(math.abs(total - first_total) <= 1e-4 * (1 + math.abs(first_total)), id)
    end
    assert.is_true(first[1] ~= first[N // 2])
  end)
end)
