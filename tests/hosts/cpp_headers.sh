#!/bin/sh
# Compiles each header of the C++ layer by itself, as C++17 and C++20, with and without exceptions:
# cpp_headers.sh SOURCE_DIR COMPILER...
set -eu
root=$1
shift
for compiler in "$@"; do
  for header in "$root"/api/include/tailor/*.hpp "$root"/api/include/tailor/hpp/*.hpp "$root"/bindings/onnx/include/tailor/*.hpp; do
    for flags in "-std=c++17" "-std=c++20" "-std=c++17 -fno-exceptions -fno-rtti"; do
      printf '#include "%s"\n' "$header" |
        "$compiler" $flags -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ \
          -I "$root/api/include" -I "$root/bindings/onnx/include" -
    done
  done
done
