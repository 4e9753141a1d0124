# Sourced by the scripts beside it: where the tree is, and a build that is quiet and quick when nothing is stale.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)

# stale PRESET: whether anything that the build reads is newer than the last build.
stale() {
  local stamp=$root/build/$1/.built
  [ -f "$stamp" ] || return 0
  [ -n "$(find "$root/src" "$root/cmake" "$root/CMakeLists.txt" "$root/CMakePresets.json" \
    "$root/bench/raw.c" -newer "$stamp" -print -quit)" ]
}

# build PRESET: brings build/PRESET up to date. Says so on stderr, and shows what is in the log when it fails.
build() {
  local preset=$1 dir=$root/build/$1 log=$root/build/$1.log
  stale "$preset" || return 0
  mkdir -p "$dir"
  (
    flock 9 # two commands at once build once
    stale "$preset" || exit 0
    echo "luhip: building ($preset)" >&2
    : >"$dir/.building" # before the build, so that an edit during it counts as newer
    { [ "$dir/Makefile" -nt "$root/CMakePresets.json" ] || cmake -S "$root" --preset "$preset"; } >"$log" 2>&1 </dev/null &&
      cmake --build "$dir" -j "$jobs" >>"$log" 2>&1 </dev/null &&
      mv "$dir/.building" "$dir/.built" && exit 0
    echo "luhip: the build failed; from $log:" >&2
    # What a parallel build says about the failure is not at its end.
    { grep -m 3 -A 8 -E 'error:|CMake Error|undefined reference' "$log" || tail -n 25 "$log"; } >&2
    exit 1
  ) 9>"$root/build/$preset.lock"
}
