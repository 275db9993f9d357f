//! Where packets enter and leave: capture files, devices, taps.
#![forbid(unsafe_code)]

element::elements![];
