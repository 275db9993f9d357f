//! Where packets enter and leave: capture files, devices, taps.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod alignment;
pub mod capture;
mod device;
mod dump_bounds;
mod dump_end;
mod dump_source;
mod dump_window;
mod idle_task;
mod intake;
mod mark_ip;
#[cfg(test)]
mod offload_source;
mod raw_transport;
mod refusals;
pub mod segment;
mod send_queue;
pub mod stage;
mod stamp;
#[cfg(test)]
mod succession;
#[cfg(test)]
mod testing;
mod trace;
mod traffic;
mod transport;
mod tunnel;
mod vnet;

element::elements![
    change_uid,
    from_dump,
    to_dump,
    from_dag_dump,
    from_nlanr_dump,
    from_device,
    to_device,
    kernel_tun,
    kernel_tap,
    socket,
    from_socket,
    to_socket,
    mcast_socket,
    raw_socket,
    from_raw_socket,
    to_raw_socket,
    from_host,
    to_host,
    kernel_filter,
    from_interface,
    to_interface,
    pcap_filter,
    to_hex_dump,
    traffic_report,
    uml_switch,
    stream_interface,
];
