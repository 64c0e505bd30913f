//! Names the shared library as programs ask for the driver: once it is loaded, the loader returns it for that name.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
}
