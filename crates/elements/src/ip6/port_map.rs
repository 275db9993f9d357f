//! Flows that share one address, told apart by ports.

use std::collections::HashMap;
use std::net::Ipv6Addr;

use super::address_map::Direction;

/// An address and a port.
pub type Endpoint = (Ipv6Addr, u16);

/// A flow as one side sees it: the endpoint that is replaced, and the other host's.
type Flow = (Endpoint, Endpoint);

/// Most flows of a map that has but one port for all.
const FLOWS_MAX: usize = 65_536;

/// No port is left for a new flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfPorts;

/// The flows.
#[derive(Debug)]
pub struct PortMap {
    /// The direction whose packets begin flows.
    begins: Direction,
    address: Ipv6Addr,
    first: u16,
    last: u16,
    /// The port given last.
    given: Option<u16>,
    outward: HashMap<Flow, Endpoint>,
    inward: HashMap<Flow, Endpoint>,
}

impl PortMap {
    /// A map whose flows are begun by packets of direction `begins` and share `address`, with a port from `first` to `last` each.
    pub fn new(begins: Direction, address: Ipv6Addr, [first, last]: [u16; 2]) -> PortMap {
        PortMap { begins, address, first, last, given: None, outward: HashMap::new(), inward: HashMap::new() }
    }

    /// What replaces `own`, the inner or mapped endpoint of a packet from or to `other`; `None` if the packet belongs to no flow
    /// and may not begin one.
    pub fn translate(
        &mut self,
        direction: Direction,
        own: Endpoint,
        other: Endpoint,
    ) -> Result<Option<Endpoint>, OutOfPorts> {
        let (same, opposite) = match direction {
            Direction::Outward => (&mut self.outward, &mut self.inward),
            Direction::Inward => (&mut self.inward, &mut self.outward),
        };
        if let Some(found) = same.get(&(own, other)) {
            return Ok(Some(*found));
        }
        if direction != self.begins {
            return Ok(None);
        }
        let port = match self.given {
            _ if self.first == self.last => Some(self.first).filter(|_| same.len() < FLOWS_MAX),
            None => Some(self.first),
            Some(given) if given < self.last => Some(given + 1),
            Some(_) => None,
        };
        let port = port.filter(|port| *port != 0).ok_or(OutOfPorts)?;
        self.given = Some(port);
        let new = (self.address, port);
        same.insert((own, other), new);
        opposite.insert((new, other), own);
        Ok(Some(new))
    }

    /// Goes on with another map's flows whose endpoints this one may give, too.
    pub fn take_over(&mut self, old: PortMap) {
        if (old.begins, old.address) != (self.begins, self.address) {
            return;
        }
        let ports = self.first..=self.last.max(self.first);
        let (begun, answers) = match self.begins {
            Direction::Outward => (old.outward, old.inward),
            Direction::Inward => (old.inward, old.outward),
        };
        let begun: HashMap<_, _> = begun.into_iter().filter(|(_, new)| ports.contains(&new.1)).collect();
        let answers = answers.into_iter().filter(|((new, _), _)| ports.contains(&new.1)).collect();
        let highest = begun.values().map(|new| new.1).max();
        self.given = old.given.filter(|given| ports.contains(given)).or(highest);
        (self.outward, self.inward) = match self.begins {
            Direction::Outward => (begun, answers),
            Direction::Inward => (answers, begun),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::Direction::*;
    use super::*;

    const HOST: Ipv6Addr = Ipv6Addr::new(1, 0, 0, 0, 0, 0, 0, 1);
    const MAPPED: Ipv6Addr = Ipv6Addr::new(2, 0, 0, 0, 0, 0, 0, 2);
    const OTHER: Endpoint = (Ipv6Addr::new(3, 0, 0, 0, 0, 0, 0, 3), 80);

    #[test]
    fn flows_are_given_ports_in_order_until_there_are_none() {
        let mut map = PortMap::new(Outward, MAPPED, [10, 11]);
        assert_eq!(map.translate(Inward, (MAPPED, 10), OTHER), Ok(None));
        assert_eq!(map.translate(Outward, (HOST, 5), OTHER), Ok(Some((MAPPED, 10))));
        assert_eq!(map.translate(Outward, (HOST, 6), OTHER), Ok(Some((MAPPED, 11))));
        assert_eq!(map.translate(Outward, (HOST, 7), OTHER), Err(OutOfPorts));
        assert_eq!(map.translate(Outward, (HOST, 5), OTHER), Ok(Some((MAPPED, 10))));
        assert_eq!(map.translate(Inward, (MAPPED, 11), OTHER), Ok(Some((HOST, 6))));
    }

    #[test]
    fn flows_may_begin_outside() {
        let mut map = PortMap::new(Inward, HOST, [10, 11]);
        assert_eq!(map.translate(Inward, (MAPPED, 5), OTHER), Ok(Some((HOST, 10))));
        assert_eq!(map.translate(Outward, (HOST, 10), OTHER), Ok(Some((MAPPED, 5))));
        assert_eq!(map.translate(Outward, (HOST, 11), OTHER), Ok(None));
    }

    #[test]
    fn one_port_serves_all_and_port_0_none() {
        let mut map = PortMap::new(Outward, MAPPED, [10, 10]);
        for port in 0..3 {
            assert_eq!(map.translate(Outward, (HOST, port), OTHER), Ok(Some((MAPPED, 10))));
        }
        assert_eq!(map.translate(Inward, (MAPPED, 10), OTHER), Ok(Some((HOST, 2))));
        let mut map = PortMap::new(Outward, MAPPED, [0, 9]);
        assert_eq!(map.translate(Outward, (HOST, 1), OTHER), Err(OutOfPorts));
    }
}
