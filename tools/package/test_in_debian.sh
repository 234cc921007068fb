#!/usr/bin/env bash
# Installs the packages into an empty Debian and uses them as their users do: test_in_debian.sh PACKAGES SUITE FOLDER
#
# FOLDER keeps the plain system between calls. Changes nothing outside FOLDER.
set -euo pipefail
root=$(realpath "$(dirname "$0")/../..")
. "$root/tools/package/debian.sh"
packages=$(realpath "$1") suite=$2
plain=$(plain_system "$suite" "$3")
folder=$(realpath "$3")
developer=$folder/$suite.developer host=$folder/$suite.host

fresh() {  # $1: an empty system, with the packages and files to use them on
  copy_of "$plain" "$1"
  cp "$packages"/*.deb "$root/tests/packaging/consumer/installed.c" "$root/tests/models/exported/classical_mlp.onnx" "$1/root/"
  cp -r "$root/bindings/python/examples/minilm" "$root/README.md" "$root/tools/package/try_python.py" "$1/root/"
}

note "$suite: all of C; C programs by pkg-config; the command line tool"
fresh "$developer"
within "$developer" '
  get gcc libc6-dev pkg-config
  seconds get ./tailor*.deb
  examples=/usr/share/doc/tailor-dev/examples
  seconds cc -std=c99 -Wall -Wextra -Werror $examples/compile_and_run.c -o compile_and_run $(pkg-config --cflags --libs tailor)
  seconds ./compile_and_run softmax.tlr
  cc -std=c99 $examples/run_artifact.c -o run_artifact $(pkg-config --cflags --libs tailor-runtime)
  ./run_artifact softmax.tlr 3
  cc -std=c99 installed.c -o installed $(pkg-config --cflags --libs tailor)
  seconds ./installed "# in the worker process"
  seconds tailor compile classical_mlp.onnx -o mlp.tlr
  tailor inspect mlp.tlr >inspected; head -n 3 inspected' | tee "$folder/$suite.output"
grep -qx 'B = 2: last row 0.250 0.250 0.250 0.250' "$folder/$suite.output"

note "$suite: from apt install to the README's first result, without downloads; python3-tailor"
fresh "$host"
within "$host" '
  sed -n "/^\`\`\`python$/,/^\`\`\`$/p" README.md | grep -v "^\`" >example.py
  get --download-only ./*.deb
  first_result "get ./*.deb" "python3 example.py"
  python3 try_python.py compile scale.tlr
  apt-get remove -y -qq -o Dpkg::Use-Pty=0 tailor >/dev/null
  absent sh -c "ldconfig -p | grep -e libtailor.so -e libtailor_onnx"
  python3 try_python.py run scale.tlr
  apt-get purge -y -qq -o Dpkg::Use-Pty=0 python3-tailor "tailor*" >/dev/null; absent sh -c "find /usr /etc -name \"*tailor*\" | grep ."'

note "$suite: removed again without a trace"
within "$developer" 'apt-get purge -y -qq -o Dpkg::Use-Pty=0 "tailor*" >/dev/null; absent sh -c "find /usr /etc -name \"*tailor*\" | grep ."'
rm -rf --one-file-system "$developer" "$host"
