/*
 * hip/hip_cooperative_groups.h - thread blocks, tiles of a warp and the threads that happen to run together.
 *
 * Groups are names for what barriers, shuffles and votes do anyway. A tile is a run of lanes of one warp, its
 * operations are warp operations of that width. grid_group tells indices only: a barrier over the whole grid would
 * need all blocks to be resident, so it has no sync(). This header is read where the source includes it, after the
 * user's macros: every name in it that is not part of the interface is a reserved one.
 */
#if !defined(LUHIP_COOPERATIVE_GROUPS_H) && !defined(LUHIP_CPU_SCAN)
#define LUHIP_COOPERATIVE_GROUPS_H
#include <hip/hip_runtime.h>

namespace cooperative_groups {

/* Any group. `__mask`: its lanes in the warp, where it is a part of one; a block otherwise. */
class thread_group {
protected:
  unsigned __rank, __size;
  unsigned long long __mask;

public:
  __forceinline__ thread_group(unsigned __r, unsigned __s, unsigned long long __m)
      : __rank(__r), __size(__s), __mask(__m) {}
  __forceinline__ unsigned thread_rank() const { return __rank; }
  __forceinline__ unsigned size() const { return __size; }
  __forceinline__ unsigned num_threads() const { return __size; }
  __forceinline__ bool is_valid() const { return __size != 0; }
  __forceinline__ void sync() const {
    if (__mask)
      __syncwarp();
    else
      __syncthreads();
  }
};

class thread_block : public thread_group {
public:
  __forceinline__ thread_block() : thread_group(luhip_thread(), blockDim.x * blockDim.y * blockDim.z, 0) {}
  static __forceinline__ dim3 group_index() { return blockIdx; }
  static __forceinline__ dim3 thread_index() { return threadIdx; }
  static __forceinline__ dim3 group_dim() { return blockDim; }
  static __forceinline__ dim3 dim_threads() { return blockDim; }
  static __forceinline__ void sync() { __syncthreads(); }
};
static __forceinline__ thread_block this_thread_block() {
  return thread_block();
}

class grid_group {
public:
  static __forceinline__ dim3 group_dim() { return gridDim; }
  static __forceinline__ bool is_valid() { return false; }
  static __forceinline__ unsigned long long block_rank() {
    return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
  }
  static __forceinline__ unsigned long long num_blocks() {
    return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
  }
  static __forceinline__ unsigned long long thread_rank() {
    return block_rank() * (blockDim.x * blockDim.y * blockDim.z) + luhip_thread();
  }
  static __forceinline__ unsigned long long num_threads() {
    return num_blocks() * (blockDim.x * blockDim.y * blockDim.z);
  }
  static __forceinline__ unsigned long long size() { return num_threads(); }
};
static __forceinline__ grid_group this_grid() {
  return grid_group();
}

/* Tiles of __n lanes; __n divides the warp. */
template <unsigned __n, class __parent = void> class thread_block_tile : public thread_group {
  static_assert(__n >= 1 && (__n & (__n - 1)) == 0 && __n <= unsigned(warpSize), "a tile is a part of one warp");
  static constexpr unsigned long long __full = __n == 64 ? ~0ull : (1ull << (__n & 63)) - 1;
  static __forceinline__ unsigned __first() { return __lane_id() & ~(__n - 1); }
  __forceinline__ unsigned long long __votes(int __yes) const { return __ballot(__yes) >> __first() & __full; }

public:
  __forceinline__ thread_block_tile() : thread_group(luhip_thread() % __n, __n, __full << __first()) {}
  __forceinline__ unsigned meta_group_rank() const { return luhip_thread() / __n; }
  __forceinline__ unsigned meta_group_size() const { return (blockDim.x * blockDim.y * blockDim.z + __n - 1) / __n; }
  template <class __t> __forceinline__ __t shfl(__t __v, int __lane) const { return __shfl(__v, __lane, __n); }
  template <class __t> __forceinline__ __t shfl_down(__t __v, unsigned __by) const {
    return __shfl_down(__v, __by, __n);
  }
  template <class __t> __forceinline__ __t shfl_up(__t __v, unsigned __by) const { return __shfl_up(__v, __by, __n); }
  template <class __t> __forceinline__ __t shfl_xor(__t __v, unsigned __with) const {
    return __shfl_xor(__v, int(__with), __n);
  }
  __forceinline__ unsigned long long ballot(int __yes) const { return __votes(__yes); }
  __forceinline__ int any(int __yes) const { return __votes(__yes) != 0; }
  __forceinline__ int all(int __yes) const { return __votes(!__yes) == 0; }
};
template <unsigned __n, class __parent>
static __forceinline__ thread_block_tile<__n, __parent> tiled_partition(const __parent &) {
  return thread_block_tile<__n, __parent>();
}
/* A tile whose size is known at run time only: it has ranks and a barrier. */
static __forceinline__ thread_group tiled_partition(const thread_group &, unsigned __n) {
  unsigned long long __full = __n >= 64 ? ~0ull : (1ull << __n) - 1;
  return thread_group(luhip_thread() % __n, __n, __full << (__lane_id() & ~(__n - 1)));
}

/* The lanes that reached this point together. */
class coalesced_group : public thread_group {
  __forceinline__ int __lane_of(unsigned __r) const {
    unsigned long long __m = __mask;
    for (; __r; __r--) __m &= __m - 1;
    return __m ? __builtin_ctzll(__m) : int(__lane_id());
  }
  static __forceinline__ unsigned __below(unsigned long long __m) {
    return unsigned(__popcll(__m & ((1ull << __lane_id()) - 1)));
  }
  __forceinline__ unsigned long long __votes(int __yes) const {
    unsigned long long __all = __ballot(__yes) & __mask, __packed = 0;
    for (unsigned __i = 0; __i < __size; __i++) __packed |= (__all >> __lane_of(__i) & 1) << __i;
    return __packed;
  }

public:
  __forceinline__ explicit coalesced_group(unsigned long long __m)
      : thread_group(__below(__m), unsigned(__popcll(__m)), __m) {}
  template <class __t> __forceinline__ __t shfl(__t __v, unsigned __r) const {
    return __shfl(__v, __lane_of(__r % __size));
  }
  template <class __t> __forceinline__ __t shfl_down(__t __v, unsigned __by) const {
    return __shfl(__v, __lane_of(__rank + __by < __size ? __rank + __by : __rank));
  }
  template <class __t> __forceinline__ __t shfl_up(__t __v, unsigned __by) const {
    return __shfl(__v, __lane_of(__rank >= __by ? __rank - __by : __rank));
  }
  __forceinline__ unsigned long long ballot(int __yes) const { return __votes(__yes); }
  __forceinline__ int any(int __yes) const { return (__ballot(__yes) & __mask) != 0; }
  __forceinline__ int all(int __yes) const { return (__ballot(!__yes) & __mask) == 0; }
};
static __forceinline__ coalesced_group coalesced_threads() {
  return coalesced_group(__activemask());
}

template <class __group> static __forceinline__ void sync(const __group &__g) {
  __g.sync();
}
template <class __group> static __forceinline__ unsigned thread_rank(const __group &__g) {
  return __g.thread_rank();
}
template <class __group> static __forceinline__ unsigned group_size(const __group &__g) {
  return __g.size();
}

} // namespace cooperative_groups
#endif
