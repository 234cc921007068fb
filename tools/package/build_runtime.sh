#!/usr/bin/env bash
# libtailor_runtime.so for other systems than this: build_runtime.sh PYTHON TARGET FOLDER, the library in FOLDER/lib
#
# TARGET: x86_64-linux-gnu.2.28 for glibc 2.28 and later, or x86_64-linux-musl. PYTHON has the package ziglang, whose Clang comes
# with the C libraries of all targets, and links libc++ in. FlatBuffers' headers and libsodium's archive are Debian's: these ask for nothing
# that a target lacks, or linking fails.
set -euo pipefail
root=$(realpath "$(dirname "$0")/../..")
python=$1 target=$2
mkdir -p "$3"
folder=$(realpath "$3")
# What ziglang compiles of the C libraries serves all targets.
export ZIG_GLOBAL_CACHE_DIR=${ZIG_GLOBAL_CACHE_DIR:-$(dirname "$folder")/zig} ZIG_LOCAL_CACHE_DIR=$folder/zig

# /usr/include as a whole would hide the headers of the target's C library.
include=$folder/include
mkdir -p "$include"
ln -sfn /usr/include/flatbuffers /usr/include/sodium /usr/include/sodium.h "$include"
archive=$(find /usr/lib -name libsodium.a -print -quit)

cmake --preset release -S "$root" -B "$folder" --toolchain "$root/tools/package/zig.cmake" \
  -DTAILOR_ZIG_PYTHON="$python" -DTAILOR_ZIG_TARGET="$target" -DTAILOR_COMPILER=OFF -DTAILOR_TESTS=OFF \
  -DCMAKE_CXX_FLAGS="-isystem $include" -DCMAKE_SHARED_LINKER_FLAGS=-s -DCMAKE_SKIP_RPATH=ON \
  -DTAILOR_SODIUM_INCLUDE="$include" -DTAILOR_SODIUM_ARCHIVE="$archive" >"$folder/cmake.log" 2>&1 || { cat "$folder/cmake.log"; exit 1; }
ninja -C "$folder" -j"$(nproc)" tailor_runtime
