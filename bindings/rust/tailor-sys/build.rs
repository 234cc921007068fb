//! Finds Tailor's libraries: in the folder `TAILOR_LIBRARY_DIR`, else by the program pkg-config.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{exit, Command};

const FOLDER_VARIABLE: &str = "TAILOR_LIBRARY_DIR";
/// What libtailor_runtime.a needs of the system.
const SYSTEM_LIBRARIES: [&str; 4] = ["stdc++", "m", "pthread", "dl"];

fn main() {
    for variable in [FOLDER_VARIABLE, "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR"] {
        println!("cargo:rerun-if-env-changed={}", variable);
    }
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation links nothing
    }
    let libraries = libraries();
    let folder = match env::var_os(FOLDER_VARIABLE) {
        Some(folder) => in_folder(PathBuf::from(folder), &libraries),
        None => by_pkg_config(&libraries),
    };
    link(&folder, &libraries);
}

/// A library: its name, and that of its pkg-config package.
struct Library {
    name: &'static str,
    package: &'static str,
    is_static: bool,
}

impl Library {
    fn file(&self) -> String {
        format!("lib{}.{}", self.name, if self.is_static { "a" } else { "so" })
    }
}

fn has_feature(name: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{}", name)).is_some()
}

fn libraries() -> Vec<Library> {
    let shared = |name, package| Library { name, package, is_static: false };
    if has_feature("STATIC") && has_feature("COMPILER") {
        fail("the features `static` and `compiler` (which `onnx` implies) exclude each other: libtailor.so uses \
              libtailor_runtime.so, and a program must not have two runtimes");
    }
    if has_feature("STATIC") {
        return vec![Library { name: "tailor_runtime", package: "tailor-runtime-static", is_static: true }];
    }
    let mut out = vec![shared("tailor_runtime", "tailor-runtime")];
    if has_feature("COMPILER") {
        out.push(shared("tailor", "tailor"));
    }
    if has_feature("ONNX") {
        out.push(shared("tailor_onnx", "tailor-onnx"));
    }
    out
}

fn in_folder(folder: PathBuf, libraries: &[Library]) -> PathBuf {
    if folder.is_relative() {
        fail(&format!("{} is {}: it must be an absolute path", FOLDER_VARIABLE, folder.display()));
    }
    for library in libraries {
        if !folder.join(library.file()).exists() {
            let folder = folder.display();
            fail(&format!("{} is {}, where there is no {}", FOLDER_VARIABLE, folder, library.file()));
        }
    }
    folder.canonicalize().unwrap_or(folder)
}

fn by_pkg_config(libraries: &[Library]) -> PathBuf {
    let mut folder = PathBuf::new();
    for library in libraries {
        ask_pkg_config(library, &["--print-errors", concat!("--atleast-version=", env!("CARGO_PKG_VERSION"))]);
        folder = PathBuf::from(ask_pkg_config(library, &["--variable=libdir"]));
        if !folder.join(library.file()).exists() {
            let named = format!("pkg-config says that {} is in {}", library.package, folder.display());
            fail(&format!("{}, where there is no {}", named, library.file()));
        }
    }
    folder
}

/// What pkg-config says of a package that it must know.
fn ask_pkg_config(library: &Library, question: &[&str]) -> String {
    let program = env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into());
    let command = format!("{} {} {}", program.to_string_lossy(), question.join(" "), library.package);
    let reason = match Command::new(&program).args(question).arg(library.package).output() {
        Ok(output) if output.status.success() => return String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    fail(&format!(
        "{} of version {} or later was not found. Set {} to the folder that has it, or install Tailor where pkg-config finds it \
         (PKG_CONFIG_PATH).\n`{}`: {}",
        library.file(),
        env!("CARGO_PKG_VERSION"),
        FOLDER_VARIABLE,
        command,
        reason
    ))
}

fn link(folder: &Path, libraries: &[Library]) {
    for library in libraries {
        println!("cargo:rerun-if-changed={}", folder.join(library.file()).display());
    }
    let is_static = libraries[0].is_static;
    if is_static {
        for name in SYSTEM_LIBRARIES {
            println!("cargo:rustc-link-lib=dylib={}", name);
        }
    }
    let in_system = ["/usr/lib", "/lib"].iter().any(|system| folder.starts_with(system));
    let search = if is_static || in_system { folder.to_owned() } else { mirror(folder) };
    println!("cargo:rustc-link-search=native={}", search.display());
    println!("cargo:library_dir={}", folder.display());
}

/// A folder below the target folder with links to the libraries, and to the compiler's worker, which is found relative to
/// them. `cargo run` and `cargo test` let programs find libraries in such folders, and in no others.
fn mirror(folder: &Path) -> PathBuf {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let libraries = out.join("lib");
    let _ = fs::remove_dir_all(&libraries);
    let _ = fs::remove_file(out.join("libexec"));
    let made = fs::create_dir_all(&libraries).and_then(|()| {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_string_lossy().starts_with("libtailor") {
                symlink(entry.path(), libraries.join(name))?;
            }
        }
        symlink(folder.join("../libexec"), out.join("libexec"))
    });
    match made {
        Ok(()) => libraries,
        Err(error) => fail(&format!("no links to {} in {}: {}", folder.display(), libraries.display(), error)),
    }
}

fn fail(message: &str) -> ! {
    eprintln!("tailor-sys: {}", message);
    exit(1)
}
