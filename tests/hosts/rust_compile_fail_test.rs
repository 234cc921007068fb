//! Misuse of the Rust wrapper that the compiler refuses. Each file of rust_compile_fail names the error of its first line; with
//! `--cfg good` it compiles.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

/// The codes of errors, and what rustc (TAILOR_RUSTC, with TAILOR_RUST_CRATES) says.
fn errors_of(file: &Path, good: bool) -> (Vec<String>, String) {
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{} is not set", name));
    let crates = variable("TAILOR_RUST_CRATES");
    let mut rustc = Command::new(variable("TAILOR_RUSTC"));
    rustc.args(["--edition", "2021", "--crate-type", "lib", "--emit", "metadata", "-L", &crates]);
    rustc.arg("--extern").arg(format!("tailor={}/libtailor.rlib", crates)).arg(file);
    if good {
        rustc.args(["--cfg", "good"]);
    }
    let name = file.file_stem().unwrap().to_str().unwrap();
    let directory = std::env::temp_dir().join(format!("tailor_compile_fail_{}_{}_{}", std::process::id(), name, good));
    fs::create_dir_all(&directory).unwrap();
    rustc.args(["--out-dir", directory.to_str().unwrap(), "--crate-name", &format!("{}_{}", name, good)]);
    let said = String::from_utf8_lossy(&rustc.output().expect("rustc runs").stderr).into_owned();
    fs::remove_dir_all(&directory).unwrap();
    let code = |line: &str| line.strip_prefix("error[").and_then(|rest| rest.split(']').next()).map(str::to_owned);
    let mut codes: Vec<String> = said.lines().filter_map(code).collect();
    codes.dedup();
    if codes.is_empty() && said.contains("error:") {
        codes.push("another error".into());
    }
    (codes, said)
}

#[test]
fn the_compiler_refuses_misuse() {
    let folder = std::env::var_os("TAILOR_RUST_COMPILE_FAIL").expect("TAILOR_RUST_COMPILE_FAIL names the folder");
    let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 20);
    let (queue, wrong) = (Mutex::new(files), Mutex::new(Vec::new()));
    let next = || queue.lock().unwrap().pop();
    let check = || {
        while let Some(file) = next() {
            let text = fs::read_to_string(&file).unwrap();
            let expected = text.lines().next().unwrap().trim_start_matches("// ").to_owned();
            for (good, expected) in [(true, vec![]), (false, vec![expected])] {
                let (codes, said) = errors_of(&file, good);
                if codes != expected {
                    wrong.lock().unwrap().push(format!("{:?}, good: {}: {:?}\n{}", file, good, codes, said));
                }
            }
        }
    };
    thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(&check))));
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
