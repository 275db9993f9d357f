//! Where packets enter and leave: capture files, devices, taps.
#![forbid(unsafe_code)]

pub mod capture;

element::elements![];
