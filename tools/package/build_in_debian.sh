#!/usr/bin/env bash
# ./dev package --debs of the last commit inside another Debian: build_in_debian.sh SUITE FOLDER; packages in FOLDER/SUITE.packages
#
# FOLDER keeps the system with its compilers between calls, and the build.
set -euo pipefail
root=$(realpath "$(dirname "$0")/../..")
. "$root/tools/package/debian.sh"
suite=$1 folder=$2
plain=$(plain_system "$suite" "$folder")
folder=$(realpath "$folder")
builder=$folder/$suite.builder
[ -e "$builder/usr/bin/apt-get" ] || copy_of "$plain" "$builder"
echo 'Dpkg::Use-Pty "0";' >"$builder/etc/apt/apt.conf.d/pty"  # none is there

# The source as the archive of ./dev package has it.
mkdir -p "$builder/root/tailor"
find "$builder/root/tailor" -mindepth 1 -maxdepth 1 ! -name build-package -exec rm -rf {} +
git -C "$root" archive HEAD | tar -x -C "$builder/root/tailor"
note "$suite: ./dev package --debs"
within "$builder" 'cd tailor; ./dev package --debs'
rm -rf "$folder/$suite.packages"
cp -a "$builder/root/tailor/build-package/packages" "$folder/$suite.packages"
