#!/bin/sh
# Compiles each header of the C++ layer by itself, and those that programs include with another compiler, if there is one:
# cpp_headers.sh SOURCE_DIR COMPILER [OTHER_COMPILER]
set -eu
root=$1 compiler=$2 other=${3:-}

check() {  # COMPILER FLAGS HEADER
  printf '#include "%s"\n' "$3" |
    "$1" $2 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ -I "$root/api/include" \
      -I "$root/bindings/onnx/include" -
}

for header in "$root"/api/include/tailor/*.hpp "$root"/api/include/tailor/hpp/*.hpp "$root"/bindings/onnx/include/tailor/*.hpp; do
  check "$compiler" -std=c++17 "$header"
done
if [ -n "$other" ]; then
  for header in "$root/api/include/tailor/runtime.hpp" "$root/bindings/onnx/include/tailor/onnx.hpp"; do
    check "$other" -std=c++17 "$header"
    check "$other" "-std=c++20 -fno-exceptions -fno-rtti" "$header"
  done
fi
