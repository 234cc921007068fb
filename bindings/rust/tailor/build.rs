//! Passes on where the libraries are: as the rpath of this package's examples and tests, and to build scripts of dependents.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if let Ok(folder) = std::env::var("DEP_TAILOR_LIBRARY_DIR") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", folder);
        println!("cargo:library_dir={}", folder);
    }
}
