//! Elements that act on the graph: scripts, sockets, names, schedules.

mod scripting;

element::elements![address_info, driver_manager, message, schedule_info, script, static_thread_sched];
