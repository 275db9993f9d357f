//! Where packets enter and leave: capture files, devices, taps.
