"""The crates as packages: made without network, vendored, found by each way that the build script knows.

Usage: rust_package_test.py CARGO RUSTC PROJECT LIBRARIES WORK"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CARGO, RUSTC = sys.argv[1:3]
PROJECT, LIBRARIES, WORK = (Path(argument).resolve() for argument in sys.argv[3:6])

VERSION = ".".join(re.findall(r"#define TAILOR_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
                              (PROJECT / "api/include/tailor/version.h").read_text()))

PROGRAM = """
fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(feature = "compiler")]
    {
        use tailor::{dims, graph::{CompileOptions, Graph}, DType, Tensor};
        let graph = Graph::new("g")?;
        let n = graph.symbol("N")?;
        let x = graph.input("x", DType::F32, &dims![n])?;
        graph.output("y", (x * 2.0)?)?;
        let isolated = std::env::args().count() > 1;
        let executable = graph.compile_with(CompileOptions { targets: &["host"], isolated, ..Default::default() })?;
        println!("{:?}", executable.session(1)?.run(&[Tensor::from(&[1.5f32, 4.0])])?[0].as_slice::<f32>()?);
    }
    println!("{}", tailor::version());
    Ok(())
}
"""
RPATH = """
fn main() {
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", std::env::var("DEP_TAILOR_RUST_LIBRARY_DIR").unwrap());
}
"""


def environment(**variables):
    """The environment without anything that finds the libraries."""
    dropped = ("TAILOR_LIBRARY_DIR", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "RUSTC": RUSTC, "CARGO": CARGO, **{name: str(value) for name, value in variables.items()}}


def cargo(project, *arguments, **variables):
    command = [CARGO, *arguments[:1], "--offline", "--quiet", *arguments[1:]]
    return subprocess.run(command, cwd=project, env=environment(**variables), text=True, capture_output=True)


def succeeded(result):
    assert result.returncode == 0, f"{result.args}: {result.stdout}\n{result.stderr}"
    return result.stdout


def refused(result, *texts):
    assert result.returncode != 0, result.stdout
    for text in texts:
        assert text in result.stderr, f"{text!r} is not in {result.stderr}"


def package(folder):
    script = PROJECT / "bindings/rust/package.sh"
    succeeded(subprocess.run([script, folder], env=environment(), text=True, capture_output=True))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.crate")}


def new_project(name, features, rpath=False):
    folder = WORK / name
    (folder / "src").mkdir(parents=True)
    (folder / ".cargo").mkdir()
    (folder / ".cargo/config.toml").write_text(
        f'[build]\ntarget-dir = "{WORK / "target"}"\n[profile.dev]\ndebug = 0\nincremental = false\n'
        f'[source.crates-io]\nreplace-with = "vendored"\n[source.vendored]\ndirectory = "{WORK / "packages/vendor"}"\n')
    (folder / "src/main.rs").write_text(PROGRAM)
    if rpath:
        (folder / "build.rs").write_text(RPATH)
    (folder / "Cargo.toml").write_text(
        f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n'
        f'[features]\ncompiler = []\ndefault = [{", ".join(repr(f) for f in features if f == "compiler")}]\n'
        f'[dependencies]\ntailor = {{ version = "={VERSION}", features = [{", ".join(repr(f) for f in features)}] }}\n'
        .replace("'", '"'))
    return folder


def write_pkg_config(libraries, version):
    folder = WORK / f"pkgconfig-{version}"
    folder.mkdir()
    for name in ("tailor-runtime", "tailor", "tailor-onnx"):
        (folder / f"{name}.pc").write_text(f"libdir={libraries}\nName: {name}\nDescription: -\nVersion: {version}\n"
                                           f"Libs: -L{libraries} -l{name.replace('-', '_')}\n")
    return folder


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    crates = package(WORK / "packages")
    assert sorted(crates) == [f"tailor-{VERSION}.crate", f"tailor-sys-{VERSION}.crate"], crates
    assert package(WORK / "again") == crates, "the same files give the same bytes"

    # The folder of TAILOR_LIBRARY_DIR: cargo run needs no rpath, a program alone has one. The worker is found too.
    compiling = new_project("compiling", ["compiler"], rpath=True)
    found = {"TAILOR_LIBRARY_DIR": LIBRARIES}
    assert succeeded(cargo(compiling, "run", **found)) == f"[3.0, 8.0]\n{VERSION}\n"
    alone = subprocess.run([WORK / "target/debug/compiling", *["isolated"] * (LIBRARIES / "../libexec").exists()],
                           env=environment(), text=True, capture_output=True)
    assert succeeded(alone) == f"[3.0, 8.0]\n{VERSION}\n"

    # pkg-config.
    running = new_project("running", [])
    pkg_config = {"PKG_CONFIG_PATH": write_pkg_config(LIBRARIES, VERSION)}
    assert succeeded(cargo(running, "run", **pkg_config)) == f"{VERSION}\n"

    # Errors say what to do.
    refused(cargo(running, "build", PKG_CONFIG_LIBDIR="/nowhere"),
            f"libtailor_runtime.so of version {VERSION} or later was not found", "Set TAILOR_LIBRARY_DIR",
            f"--atleast-version={VERSION} tailor-runtime")
    refused(cargo(running, "build", PKG_CONFIG_PATH=write_pkg_config(LIBRARIES, "0.0.9")), f"of version {VERSION} or later")
    refused(cargo(running, "build", PKG_CONFIG="/no/pkg-config"), "/no/pkg-config", "No such file")
    refused(cargo(running, "build", TAILOR_LIBRARY_DIR="/nowhere"), "TAILOR_LIBRARY_DIR is /nowhere",
            "no libtailor_runtime.so")
    refused(cargo(running, "build", TAILOR_LIBRARY_DIR="build/lib"), "build/lib: it must be an absolute path")
    refused(cargo(new_project("both", ["static", "onnx"]), "build", **found), "exclude each other")

    # The runtime inside the program.
    static = new_project("static_runtime", ["static"])
    if (LIBRARIES / "libtailor_runtime.a").exists():
        assert succeeded(cargo(static, "run", **found)) == f"{VERSION}\n"
        needed = succeeded(subprocess.run(["readelf", "-d", WORK / "target/debug/static_runtime"], text=True,
                                          capture_output=True))
        assert "libtailor_runtime" not in needed, needed
    else:
        refused(cargo(static, "build", **found), "no libtailor_runtime.a")


if __name__ == "__main__":
    main()
