//! Elements that act on the graph: scripts, sockets, names, schedules.

element::elements![];
