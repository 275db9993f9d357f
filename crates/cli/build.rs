//! How the program is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Linked to a fixed address: a program that can be anywhere writes some 27000 addresses into its own memory before it begins,
    // which takes half a millisecond and 430 KiB for each instance.
    if std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        // The unwinder is linked in: as a library of its own it asks the processor for all its features when it is loaded, which is slow
        // in a virtual machine.
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}
