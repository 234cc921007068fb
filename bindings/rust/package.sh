#!/usr/bin/env bash
# Packages the crates, without network: package.sh FOLDER. FOLDER gets tailor-sys-VERSION.crate and tailor-VERSION.crate, as
# crates.io takes them, and vendor, a directory source with both, for projects that build offline:
#   [source.crates-io]
#   replace-with = "vendored"
#   [source.vendored]
#   directory = "FOLDER/vendor"
# CARGO names the cargo program. The same source gives the same bytes, in a Git repository or not.
set -euo pipefail
rust=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
cargo=${CARGO:-cargo}
rm -rf "$out"/*.crate "$out/vendor" "$out/source" "$out/target/package"
mkdir -p "$out/vendor" "$out/source"
# Without the commit, which cargo would add from the repository: it would be wrong for changes that are not committed.
cp -rL "$rust/tailor-sys" "$rust/tailor" "$out/source"
source=(--config 'source.crates-io.replace-with="vendored"' --config "source.vendored.directory=\"$out/vendor\"")

package() {  # $1: crate
  (cd "$out/source/$1" && "$cargo" package --quiet --offline --allow-dirty --no-verify --target-dir "$out/target" "${source[@]}")
  local crate=("$out/target/package/$1"-[0-9]*.crate)
  cp "${crate[0]}" "$out/"
  mkdir "$out/vendor/$1"
  tar -xzf "${crate[0]}" -C "$out/vendor/$1" --strip-components=1
  printf '{"files":{},"package":"%s"}' "$(sha256sum "${crate[0]}" | cut -d ' ' -f 1)" >"$out/vendor/$1/.cargo-checksum.json"
}

package tailor-sys
package tailor
rm -rf "$out/source"
