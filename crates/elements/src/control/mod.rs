//! Elements that act on the graph: scripts, sockets, names, schedules.

mod progress_line;
pub(crate) mod scripting;
mod socket;
mod terminal;

element::elements![
    address_info,
    alignment_info,
    annotation_info,
    clicky_info,
    chatter_socket,
    control_socket,
    devirtualize_info,
    driver_manager,
    error,
    error_element,
    flow_info,
    handler_task,
    message,
    null_task,
    port_info,
    progress_bar,
    quit_watcher,
    schedule_info,
    kernel_handler_proxy,
    script,
];
