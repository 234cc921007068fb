#!/usr/bin/env bash
# Installs the wheels into an empty Debian and uses them as their users do: test_wheels.sh PACKAGES SUITE FOLDER PYTHON
#
# FOLDER keeps the plain system between calls, and numpy's wheel, which PYTHON's pip fetches. Of musl systems only C is tried: Debian has musl's
# loader, but no Python for it.
set -euo pipefail
root=$(realpath "$(dirname "$0")/../..")
. "$root/tools/package/debian.sh"
packages=$(realpath "$1") suite=$2 python=$4
plain=$(plain_system "$suite" "$3")
folder=$(realpath "$3")
system=$folder/$suite.wheels

note "$suite: tailor-runtime and tailor by pip"
copy_of "$plain" "$system"
within "$system" 'get python3 python3-venv'
version=$(within "$system" 'python3 -c "import sys; print(\"%d.%d\" % sys.version_info[:2])"')
"$python" -m pip download -q --only-binary :all: --no-deps --python-version "$version" -d "$folder/numpy-$version" numpy
mkdir "$system/root/wheels"
cp "$packages"/tailor*.whl "$folder/numpy-$version"/*.whl "$system/root/wheels/"
cp -r "$root/bindings/python/examples/minilm" "$root/README.md" "$root/tools/package/try_python.py" "$system/root/"
within "$system" '
  absent command -v cc
  python3 -m venv python
  sed -n "/^\`\`\`python$/,/^\`\`\`$/p" README.md | grep -v "^\`" >example.py
  pip() { python/bin/pip --disable-pip-version-check "$@"; }
  first_result "pip install -q --no-index --find-links wheels tailor" "python/bin/python example.py"
  python/bin/python -m tailor --help >/dev/null
  python/bin/tailor --help >/dev/null
  python/bin/python try_python.py compile scale.tlr
  seconds pip uninstall -q -y tailor
  python/bin/python try_python.py run scale.tlr
  python/bin/python -c "import tailor; tailor.Graph()" 2>&1 | grep "of the package tailor"'

note "$suite: the runtime for musl, in a C program"
musl=$folder/musl
rm -rf "$musl"
mkdir -p "$musl"
unzip -q "$packages"/tailor_runtime-*musllinux*.whl 'tailor/lib/*' -d "$musl"
"$python" -m ziglang cc -target x86_64-linux-musl -dynamic -O2 -std=c99 -I"$root/api/include" "$root/bindings/c/examples/run_artifact.c" \
  "$musl/tailor/lib/libtailor_runtime.so.1" -o "$musl/run_artifact"
cp "$musl/run_artifact" "$musl/tailor/lib/libtailor_runtime.so.1" "$system/root/"
within "$system" '
  get musl
  LD_LIBRARY_PATH=/root ./run_artifact scale.tlr 3'
rm -rf --one-file-system "$system" "$musl"
