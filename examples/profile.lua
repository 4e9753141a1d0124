-- Where the time goes: a small pipeline under dev:profile, a window around part of it, and a trace for a browser.
--
--   luhip examples/profile.lua [trace.json]      LUHIP_SIZE: how many numbers (default 2^20)
--
-- The trace is for https://ui.perfetto.dev or chrome://tracing.

local luhip = require "luhip"

local n = luhip.config "size" or 1 << 20
local path = arg and arg[1]
local steps = 20

local dev = luhip.open()
local program = dev:compile(
  [[
// One step of a damped walk.
extern "C" __global__ void step(const float *x, LUHIP_OUT float *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i] + 1.0f;
}
// The same with far more arithmetic, for the table to have something to tell.
extern "C" __global__ void heavy(const float *x, LUHIP_OUT float *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 50; k++) v = 0.5f * v + 1.0f;
  y[i] = v;
}
]],
  { name = "profile.hip" }
)
local step, heavy = program:kernel "step", program:kernel "heavy"
local x, y = dev:buffer("f32", n, 0), dev:buffer("f32", n)
local over = { grid = luhip.cdiv(n, 256), block = 256 }

local window
local p = dev:profile(function()
  x:fill(0)
  local w = dev:start_profile()
  for _ = 1, steps do
    step:launch(over, x, y, n)
    step:launch(over, y, x, n)
  end
  window = w:stop()
  heavy:launch(over, x, y, n)
end)

print(p)
print(("the %d steps together, from the first to the last: %.3f ms"):format(2 * steps, window:wait()))

-- After k steps from 0 the value is 2 - 2^(1 - k): exact in f32 as long as it fits, then 2.
local result = x:read()
for i = 1, n do
  if math.abs(result[i] - 2) > 1e-6 then
    print(("profile: WRONG: x[%d] is %s, not 2"):format(i, result[i]))
    os.exit(1, true)
  end
end
local calls = {}
for _, row in ipairs(p:rows()) do
  calls[row.name] = row.calls
end
if calls.step ~= 2 * steps or calls.heavy ~= 1 or calls.fill ~= 1 then
  print "profile: WRONG: the table misses calls"
  os.exit(1, true)
end
if path then
  p:trace(path)
  print("the trace is " .. path)
end
print "profile: ok"
