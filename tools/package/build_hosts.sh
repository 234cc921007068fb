# Builds the programs of examples/hosts for installed packages: a part of test_hosts.sh, which runs it in an empty Debian. Here are
# the crates, the archive of the Go module, and the folder hosts; the programs come into the folder programs.
mkdir programs
echo "$(cc --version | head -n 1); $(rustc --version); $(go version)"

seconds cc -std=c99 -Wall -Wextra -Werror hosts/encoder.c -o programs/c_encoder $(pkg-config --cflags --libs tailor-runtime)
seconds c++ -std=c++17 -Wall -Wextra -Werror hosts/encoder.cc -o programs/cpp_encoder $(pkg-config --cflags --libs tailor-runtime)

# The crates as a directory source: what is in them, and their hashes.
for crate in tailor-sys tailor; do
  mkdir -p rust/vendor/$crate
  tar -xzf $crate-[0-9]*.crate -C rust/vendor/$crate --strip-components=1
  hash=$(sha256sum $crate-[0-9]*.crate)
  echo "{\"files\":{},\"package\":\"${hash%% *}\"}" >rust/vendor/$crate/.cargo-checksum.json
done
mkdir rust/src rust/.cargo
cp hosts/encoder.rs rust/src/main.rs
cat >rust/.cargo/config.toml <<END
[source.crates-io]
replace-with = "vendored"
[source.vendored]
directory = "vendor"
END
cat >rust/Cargo.toml <<END
[package]
name = "rust_encoder"
version = "0.1.0"
edition = "2021"
[dependencies]
tailor = "*"
END
cd rust
seconds cargo build --quiet --offline --release
cd ..
cp rust/target/release/rust_encoder programs

mkdir goproxy
tar -xzf tailor-go-[0-9]*.tar.gz -C goproxy
cp -r hosts/go go_host  # /root/go is where Go keeps modules
cd go_host
export GOPROXY=file:///root/goproxy GONOSUMDB=tailor.internal GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod edit -dropreplace tailor.internal/tailor
seconds go build -o ../programs/go_encoder .
cd ..
