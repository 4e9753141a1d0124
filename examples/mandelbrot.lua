-- The Mandelbrot set as a picture: one thread a pixel, in 16 x 16 blocks.
--
--   luhip examples/mandelbrot.lua [picture.ppm or .png]     LUHIP_SIZE: its width (default 384)

local luhip = require "luhip"
local png = require "luhip.png"

local path = arg and arg[1] or "mandelbrot.ppm"
local width = luhip.config "size" or 384
local height = math.max(1, width * 2 // 3)
local limit = 200

local dev = luhip.open()
local mandelbrot = dev:kernel(
  [[
extern "C" __global__ void mandelbrot(int *count, int width, int height, int limit) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= width || row >= height) return;
  const double cr = -2.0 + 3.0 * (column + 0.5) / width;
  const double ci = -1.0 + 2.0 * (row + 0.5) / height;
  double zr = 0.0, zi = 0.0;
  int n = 0;
  while (n < limit && zr * zr + zi * zi <= 4.0) {
    const double next = zr * zr - zi * zi + cr;
    zi = 2.0 * zr * zi + ci;
    zr = next;
    n++;
  }
  count[row * width + column] = n;
}
]],
  "mandelbrot",
  { name = "mandelbrot.hip", access = { mandelbrot = { count = "out" } } }
)

local function reference(column, row)
  local cr, ci = -2.0 + 3.0 * (column + 0.5) / width, -1.0 + 2.0 * (row + 0.5) / height
  local zr, zi, n = 0.0, 0.0, 0
  while n < limit and zr * zr + zi * zi <= 4.0 do
    zr, zi, n = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci, n + 1
  end
  return n
end

local function color(n)
  if n == limit then
    return "\0\0\0"
  end
  local t = n / limit
  return string.char(
    math.floor(255 * t ^ 0.3),
    math.floor(255 * t ^ 0.6),
    math.floor(255 * (1 - t) * math.min(1, 8 * t + 0.2))
  )
end

local count = dev:buffer("i32", { height, width })
mandelbrot:launch(
  { grid = { luhip.cdiv(width, 16), luhip.cdiv(height, 16) }, block = { 16, 16 } },
  count,
  width,
  height,
  limit
)
local result = count:bytes_string()

local colors = {}
for n = 0, limit do
  colors[n] = color(n)
end
local pixels, different = {}, 0
for row = 0, height - 1 do
  for column = 0, width - 1 do
    local i = row * width + column
    local n = string.unpack("<i4", result, i * 4 + 1)
    different = different + (n ~= reference(column, row) and 1 or 0)
    pixels[i + 1] = colors[n] or "\255\0\0"
  end
end

-- Near the edge of the set the last bit decides, and a device may fuse a multiplication with an addition.
local share = different / (width * height)
print(
  ("mandelbrot on %s: %d x %d pixels, %.3f %% differ from the reference"):format(dev.id, width, height, share * 100)
)
if share > 0.01 then
  print "mandelbrot: WRONG: more than 1 % of the pixels differ"
  os.exit(1, true)
end
if path:lower():find "%.png$" then
  png.write(path, width, height, table.concat(pixels))
else
  local file = assert(io.open(path, "wb"))
  assert(file:write(("P6\n%d %d\n255\n"):format(width, height), table.concat(pixels)))
  assert(file:close())
end
print(("mandelbrot: ok, the picture is %s"):format(path))
