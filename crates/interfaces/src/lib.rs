//! Where packets enter and leave: capture files, devices, taps.
#![forbid(unsafe_code)]

pub mod capture;
mod dump_window;
mod reason;
pub mod segment;
#[cfg(test)]
mod testing;
mod traffic;

element::elements![from_dump, to_dump];
