//! Where packets enter and leave: capture files, devices, taps.
#![forbid(unsafe_code)]

pub mod capture;
mod device;
mod dump_source;
mod dump_window;
mod mark_ip;
#[cfg(test)]
mod offload_source;
pub mod segment;
#[cfg(test)]
mod testing;
mod traffic;
mod tunnel;
mod vnet;

element::elements![from_dump, to_dump, from_device, to_device, kernel_tun, kernel_tap];
