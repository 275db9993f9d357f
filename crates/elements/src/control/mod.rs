//! Elements that act on the graph: scripts, sockets, names, schedules.

mod scripting;

element::elements![driver_manager, script];
