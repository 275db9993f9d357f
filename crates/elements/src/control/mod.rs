//! Elements that act on the graph: scripts, sockets, names, schedules.

mod scripting;
mod socket;

element::elements![
    address_info,
    chatter_socket,
    control_socket,
    driver_manager,
    error,
    message,
    port_info,
    schedule_info,
    script,
    static_thread_sched
];
