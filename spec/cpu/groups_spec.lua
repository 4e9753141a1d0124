-- Cooperative groups: the block, tiles of a warp, the lanes that run together. At both warp sizes.

local support = require("spec.support")

support.each_device(function(id)
  if not id:find("^cpu") then
    return
  end

  it("groups: a block and the grid know their threads", function()
    local dev = support.open(id)
    local k = dev:kernel([[
      #include <hip/hip_cooperative_groups.h>
      namespace cg = cooperative_groups;
      extern "C" __global__ void k(int *out) {
        __shared__ int first;
        cg::thread_block block = cg::this_thread_block();
        if (block.thread_rank() == 5) first = block.group_index().x * 1000 + block.size();
        block.sync();
        out[cg::this_grid().thread_rank()] = first + (int)block.thread_index().y;
        cg::sync(block);
      }]])
    local out = dev:buffer("i32", 3 * 24)
    k:launch({ grid = 3, block = { 8, 3 } }, out)
    for i, got in ipairs(out:read():totable()) do
      assert.equal((i - 1) // 24 * 1000 + 24 + (i - 1) % 24 // 8, got)
    end
  end)

  it("groups: tiles reduce, vote and shuffle among themselves", function()
    local dev = support.open(id)
    local k = dev:kernel([[
      #include <hip/hip_cooperative_groups.h>
      namespace cg = cooperative_groups;
      template <unsigned n> __device__ int sum(cg::thread_block_tile<n, cg::thread_block> tile, int v) {
        for (unsigned d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
        return tile.shfl(v, 0);
      }
      extern "C" __global__ void k(int *out) {
        int t = threadIdx.x;
        auto block = cg::this_thread_block();
        auto tile = cg::tiled_partition<8>(block);
        out[t] = sum(tile, t);
        out[64 + t] = tile.shfl_xor(t, 3) * 1000 + (int)tile.ballot(t % 8 == 2 || t == 1);
        out[128 + t] = tile.any(t == 9) + 2 * tile.all(t < 16) + 4 * (int)tile.meta_group_rank();
        auto pair = cg::tiled_partition<2>(block);
        out[192 + t] = pair.shfl_up(t, 1) + 100 * (int)pair.thread_rank();
        cg::thread_group quarter = cg::tiled_partition(block, 4);
        quarter.sync();
        out[256 + t] = quarter.thread_rank() + 10 * quarter.size();
      }]])
    local out = dev:buffer("i32", 5 * 64)
    k:launch({ grid = 1, block = 64 }, out)
    local got = out:read():totable()
    for t = 0, 63 do
      local first = t // 8 * 8
      assert.equal(8 * first + 28, got[1 + t])
      assert.equal((t ~ 3) * 1000 + 4 + (first == 0 and 2 or 0), got[65 + t])
      assert.equal((first == 8 and 1 or 0) + (t < 16 and 2 or 0) + 4 * (t // 8), got[129 + t])
      assert.equal(t - t % 2 + 100 * (t % 2), got[193 + t])
      assert.equal(t % 4 + 40, got[257 + t])
    end
  end)

  it("groups: lanes that run together find each other", function()
    local dev = support.open(id)
    local k = dev:kernel([[
      #include <hip/hip_cooperative_groups.h>
      extern "C" __global__ void k(int *out, int *count) {
        int t = threadIdx.x;
        out[t] = -1;
        if (t % 3 == 0) {
          auto group = cooperative_groups::coalesced_threads();
          int base = 0;
          if (group.thread_rank() == 0) base = atomicAdd(count, (int)group.size());
          base = group.shfl(base, 0);
          out[t] = base + (int)group.thread_rank();
        }
      }]])
    local out, count = dev:buffer("i32", 32), dev:from("i32", { 5 })
    k:launch({ grid = 1, block = 32 }, out, count)
    local wanted = {}
    for t = 0, 31 do
      wanted[t + 1] = t % 3 == 0 and 5 + t // 3 or -1
    end
    assert.same(wanted, out:read():totable())
    assert.same({ 16 }, count:read():totable())
  end)
end, { warp64 = true })
