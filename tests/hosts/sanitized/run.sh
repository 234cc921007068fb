#!/usr/bin/env bash
# Host programs with the runtime library under sanitizers: run.sh (address|thread) RUNTIME_LIBRARIES COMPILER_LIBRARIES PYTHON
# RUNTIME_LIBRARIES has the sanitized libtailor_runtime alone; COMPILER_LIBRARIES the plain libtailor. Not instrumented: the
# compiler, generated code, the interpreter and its modules.
set -euo pipefail
kind=$1 runtime=$(realpath "$2") compiler=$(realpath "$3") python=$(realpath -s "$4")
cd "$(dirname "$0")/../../.."
here=tests/hosts/sanitized
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
rounds=${TAILOR_SANITIZED_ROUNDS:-100}
export OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=bindings/python

TAILOR_LIBRARY_DIR=$compiler "$python" $here/make_artifact.py "$folder/sanitized.tlr"

# detect_container_overflow: libtailor uses Abseil's shared library, which is not instrumented.
export ASAN_OPTIONS=detect_container_overflow=0:detect_stack_use_after_return=1
export LSAN_OPTIONS=suppressions=$PWD/$here/lsan.supp:print_suppressions=0
export TSAN_OPTIONS=second_deadlock_stack=1
run=()
case $kind in
  address)
    flags=(-fsanitize=address,undefined -fno-sanitize-recover=all)
    preload=$(cc -print-file-name=libasan.so):$(cc -print-file-name=libubsan.so) ;;
  thread)
    flags=(-fsanitize=thread)
    preload=$(cc -print-file-name=libtsan.so)
    ! setarch -R true 2>/dev/null || run=(setarch -R) ;;  # GCC 12's cannot place its memory where addresses are very random
esac
cc -std=c99 -g -O1 "${flags[@]}" -I. -Iapi/include $here/threads.c -o "$folder/threads" -L"$runtime" -ltailor_runtime -lpthread
cc -std=c99 -g -O1 "${flags[@]}" -I. -Iapi/include tests/hosts/c_misuse_*.c -o "$folder/misuse" \
  -L"$compiler" -ltailor -L"$runtime" -ltailor_runtime -lpthread
export LD_LIBRARY_PATH=$runtime:$compiler TAILOR_LIBRARY_DIR=$runtime

check() {  # NAME COMMAND...: ends this script if the command fails
  local name=$1 output
  shift
  output=$("$@")
  echo "$kind: $name, $output"
}
for seed in 1 2 3; do
  check "C threads" "${run[@]}" "$folder/threads" "$folder/sanitized.tlr" "$rounds" $seed
  check "C misuse" "${run[@]}" "$folder/misuse" $seed
  # PYTHONMALLOC: each object is a block of its own, for leaks too.
  check "Python threads" env PYTHONMALLOC=malloc LD_PRELOAD="$preload" \
    "${run[@]}" "$python" $here/threads.py "$folder/sanitized.tlr" $((rounds / 4)) $seed
done
