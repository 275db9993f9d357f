//! The connections of a router: finding, making and leading them elsewhere.

use graph::Place;

use crate::router::{Connection, Element, Port, Router, Side};

impl Router {
    /// The connections, the oldest first.
    pub(crate) fn wires(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter().filter(|connection| !connection.is_dead)
    }

    /// How many connections were made since the last compaction.
    pub(crate) fn n_wires_ever(&self) -> usize {
        self.connections.len()
    }

    /// Numbers of the connections, the oldest first; those that are made later are not among them.
    pub(crate) fn wire_numbers(&self) -> Vec<usize> {
        (0..self.connections.len()).filter(|idx| !self.connections[*idx].is_dead).collect()
    }

    pub(crate) fn wire(&self, idx: usize) -> &Connection {
        &self.connections[idx]
    }

    /// The connections at one side of an element, the newest first.
    pub(crate) fn touching(&self, element: usize, side: Side) -> Vec<usize> {
        let list = match side {
            Side::Input => &self.entering[element],
            Side::Output => &self.leaving[element],
        };
        list.iter().rev().copied().collect()
    }

    /// The connections at a port, the newest first.
    pub(crate) fn at(&self, end: Port, side: Side) -> Vec<usize> {
        let mut list = self.touching(end.element, side);
        list.retain(|idx| self.end(*idx, side).port == end.port);
        list
    }

    /// The ports connected to a port, the newest first.
    pub(crate) fn neighbours(&self, end: Port, side: Side) -> Vec<Port> {
        self.at(end, side).into_iter().map(|idx| self.end(idx, side.other())).collect()
    }

    /// For each port of a side, its newest connection, if there is any.
    pub(crate) fn newest(&self, element: usize, side: Side) -> Vec<Option<usize>> {
        let mut list = Vec::new();
        for idx in self.touching(element, side) {
            let port = self.end(idx, side).port;
            if port >= list.len() {
                list.resize(port + 1, None);
            }
            list[port] = list[port].or(Some(idx));
        }
        list
    }

    pub(crate) fn end(&self, connection: usize, side: Side) -> Port {
        match side {
            Side::Input => self.connections[connection].to,
            Side::Output => self.connections[connection].from,
        }
    }

    pub(crate) fn has_connection(&self, from: Port, to: Port) -> bool {
        self.leaving[from.element].iter().any(|idx| {
            let connection = &self.connections[*idx];
            connection.from == from && connection.to == to
        })
    }

    /// Connects two ports, unless they are connected.
    pub fn connect(&mut self, from: Port, to: Port, place: Place) {
        if self.has_connection(from, to) {
            return;
        }
        let idx = self.connections.len();
        self.connections.push(Connection { from, to, place, is_dead: false });
        self.leaving[from.element].push(idx);
        self.entering[to.element].push(idx);
        self.count_up(from, Side::Output);
        self.count_up(to, Side::Input);
    }

    fn count_up(&mut self, end: Port, side: Side) {
        let n_ports = self.elements[end.element].n_ports_mut(side);
        *n_ports = (*n_ports).max(end.port + 1);
    }

    fn unlink(&mut self, connection: usize, side: Side) {
        let end = self.end(connection, side);
        let list = match side {
            Side::Input => &mut self.entering[end.element],
            Side::Output => &mut self.leaving[end.element],
        };
        list.retain(|idx| *idx != connection);
        let top = self.touching(end.element, side).into_iter().map(|idx| self.end(idx, side).port + 1).max();
        *self.elements[end.element].n_ports_mut(side) = top.unwrap_or(0);
    }

    pub(crate) fn disconnect(&mut self, connection: usize) {
        if self.connections[connection].is_dead {
            return;
        }
        self.unlink(connection, Side::Output);
        self.unlink(connection, Side::Input);
        self.connections[connection].is_dead = true;
    }

    /// Leads one end of a connection to another port.
    pub(crate) fn reconnect(&mut self, connection: usize, side: Side, to: Port) {
        self.unlink(connection, side);
        let list = match side {
            Side::Input => {
                self.connections[connection].to = to;
                &mut self.entering[to.element]
            }
            Side::Output => {
                self.connections[connection].from = to;
                &mut self.leaving[to.element]
            }
        };
        list.push(connection);
        self.count_up(to, side);
        self.may_repeat = true;
    }

    pub(crate) fn remove_bad_connections(&mut self) {
        for idx in self.wire_numbers() {
            let Connection { from, to, .. } = self.connections[idx];
            if self.elements[from.element].is_dead || self.elements[to.element].is_dead {
                self.disconnect(idx);
            }
        }
    }

    /// Of connections that are alike, leaves the newest.
    pub(crate) fn remove_repeated(&mut self) {
        if !std::mem::take(&mut self.may_repeat) {
            return;
        }
        for element in 0..self.elements.len() {
            let mut seen = Vec::new();
            for idx in self.touching(element, Side::Output) {
                let Connection { from, to, .. } = self.connections[idx];
                if seen.contains(&(from, to)) {
                    self.disconnect(idx);
                } else {
                    seen.push((from, to));
                }
            }
        }
    }
}

impl Element {
    fn n_ports_mut(&mut self, side: Side) -> &mut usize {
        match side {
            Side::Input => &mut self.n_inputs,
            Side::Output => &mut self.n_outputs,
        }
    }
}

impl Side {
    pub fn other(self) -> Side {
        match self {
            Side::Input => Side::Output,
            Side::Output => Side::Input,
        }
    }
}
