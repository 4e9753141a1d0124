-- Launches whose arguments are compared with those of the launch before: each is as if it were the first.

local support = require "spec.support"

local N = 64

local source = [[
  extern "C" __global__ void mix(const float *x, float *y, float a, int n, bool b, double d, unsigned char c,
                                 LUHIP_OUT void *z) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] += a * x[i];
    if (threadIdx.x == 0) ((double *)z)[0] = b ? d + c : -1.0;
  }
  extern "C" __global__ void set(float *x, float value) { x[threadIdx.x] = value; }
]]

support.each_device(function(id)
  local dev, program, mix, set

  before_each(function()
    dev = support.open(id)
    program = dev:compile(source)
    mix, set = program:kernel "mix", program:kernel "set"
  end)

  -- A launch of the kernel, by both ways that keep arguments.
  local function ways(kernel, block)
    local bound = kernel:bind { grid = 1, block = block or N }
    return {
      bound = bound,
      launch = function(...)
        kernel:launch({ grid = 1, block = block or N }, ...)
      end,
    }
  end

  it("D2 D8 any argument may be another one at any launch", function()
    for name, run in pairs(ways(mix)) do
      local x, y, z = dev:buffer("f32", N, 1), dev:buffer("f32", N, 0), dev:buffer("f64", 1, 0)
      local other = dev:buffer("f32", N, 10)
      run(x, y, 2.0, N, true, 0.5, 3, z)
      run(x, y, 2.0, N, true, 0.5, 3, z)
      assert.equal(4.0, y:read()[N], name)
      assert.equal(3.5, z:read()[1], name)
      run(other, y, 2.0, N, true, 0.5, 200, z)
      assert.equal(24.0, y:read()[N], name)
      assert.equal(200.5, z:read()[1], name)
      run(other, y, 2, N - 1, false, 0.5, 200, z)
      assert.equal(24.0, y:read()[N], name)
      assert.equal(44.0, y:read()[1], name)
      assert.equal(-1.0, z:read()[1], name)
      run(y, other, -0.0, N, true, 7, 0, z)
      assert.equal(10.0, other:read()[1], name)
      assert.equal(7.0, z:read()[1], name)
    end
  end)

  it("D3 what does not fit is refused after what did, and leaves no trace in the next launch", function()
    for _, run in pairs(ways(set)) do
      local x, wrong, gone = dev:buffer("f32", N, 0), dev:buffer("i32", N, 0), dev:buffer("f32", N, 0)
      run(x, 1.0)
      run(gone, 1.0)
      gone:free()
      for _, case in ipairs {
        { "type", wrong, 1.0 },
        { "range", x, 1e300 },
        { "type", x, "one" },
        { "type", x, true },
        { "freed", gone, 1.0 },
        { "argument", x },
      } do
        support.assert_error_kind(case[1], function()
          run(table.unpack(case, 2))
        end)
        assert.equal(1.0, x:read()[N])
        run(x, 1.0)
        run(x, 2.0)
        assert.equal(2.0, x:read()[N])
        run(x, 1.0)
      end
    end
  end)

  it(
    "A4 memory that comes later, of a buffer whose handle or address is that of another before, is the right one",
    function()
      for _, run in pairs(ways(set, 1)) do
        for i = 1, 20 do
          local x = dev:buffer("f32", i)
          run(x, i)
          run(x:view "f32", i + 0.5)
          assert.equal(i + 0.5, x:read()[1])
          local tail = x:slice(i)
          run(tail, -i)
          assert.equal(-i, x:read()[i])
          if i > 1 then
            assert.equal(i + 0.5, x:read()[1])
          end
          x:free()
        end
      end
    end
  )

  it("D4 D7 a launcher does nothing in a dry run, is skipped for stale arguments, and works again", function()
    local y = dev:buffer("f32", N, 1)
    local z = dev:buffer("f64", 1, 0)
    for name, run in pairs(ways(mix)) do
      local x = dev:buffer("f32", N, 1)
      y:fill(1)
      run(x, y, 1.0, N, true, 0, 1, z)
      dev:dry_run(function()
        run(x, y, 1.0, N, true, 0, 1, z)
      end)
      assert.equal(2.0, y:read()[1], name)
      -- x cannot be written: what it should have been made of is too big for any device.
      local big = dev:buffer("f32", 1 << 38)
      mix:launch({ grid = 1, block = 1 }, big, x, 1.0, 1, true, 0, 1, z)
      z:fill(0)
      run(x, y, 1.0, N, true, 0, 1, z)
      assert.is_nil((y:check()), name)
      x:fill(3)
      y:fill(1)
      z:fill(0)
      run(x, y, 1.0, N, true, 0, 1, z)
      assert.equal(4.0, y:read()[1], name)
    end
  end)

  it("B2 a launch on another stream comes after the one before", function()
    local a, b = dev:stream(), dev:stream()
    local run = set:bind { grid = 1, block = N }
    local x = dev:buffer("f32", N, 0)
    for i = 1, 50 do
      dev:with(i % 2 == 0 and a or b, function()
        run(x, i)
      end)
    end
    assert.equal(50.0, x:read()[N])
  end)

  it("K4 a kernel that was launched goes with its program", function()
    for _ = 1, 3 do
      local x = dev:buffer("f32", N, 0)
      local p = dev:compile(source)
      for _, run in pairs(ways(p:kernel "set")) do
        run(x, 5)
      end
      dev:sync()
      assert.equal(5.0, x:read()[1])
      p = nil -- luacheck: ignore
      collectgarbage()
    end
  end)
end)
