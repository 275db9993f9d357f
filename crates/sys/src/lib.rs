//! A thin layer over the Linux system calls that packets need.
