//! The choice of a backend for a new flow.

use table::symmetric::symmetric_hash;

use super::backends::{Backend, Pool, Scheduler};
use super::maglev::NOBODY;
use super::seen::FlowKey;

impl Pool {
    /// The backend for a new flow of a service.
    pub fn choose(&mut self, service: u16, key: &FlowKey) -> Option<u16> {
        match self.scheduler {
            Scheduler::Maglev => self.by_hash(service, key),
            Scheduler::RoundRobin => self.in_turn(service),
            Scheduler::LeastConnections => self.least_busy(service),
        }
    }

    /// The backend at the flow's place in the service's table.
    pub fn by_hash(&self, service: u16, key: &FlowKey) -> Option<u16> {
        let table = &self.services.get(usize::from(service))?.table;
        let hash = symmetric_hash(key.src, key.dst, key.sport, key.dport, key.protocol);
        let at = u64::from(hash).checked_rem(table.len() as u64)?;
        table.get(at as usize).copied().filter(|number| *number != NOBODY)
    }

    /// Smooth weighted round robin: all save up their weight; the richest is next and pays what all have got.
    fn in_turn(&mut self, service: u16) -> Option<u16> {
        let Pool { services, backends, .. } = self;
        let numbers = &services.get(usize::from(service))?.backends;
        let mut best: Option<(i64, u16)> = None;
        let mut all = 0;
        for number in numbers {
            let Some(Some(backend)) = backends.get_mut(usize::from(*number)) else { continue };
            if backend.takes_flows() {
                backend.credit += i64::from(backend.weight);
                all += i64::from(backend.weight);
                if best.is_none_or(|(credit, _)| backend.credit > credit) {
                    best = Some((backend.credit, *number));
                }
            }
        }
        let (_, number) = best?;
        self.get_mut(number)?.credit -= all;
        Some(number)
    }

    fn least_busy(&self, service: u16) -> Option<u16> {
        let numbers = self.services.get(usize::from(service))?.backends.iter();
        let takers = numbers.filter_map(|number| Some((*number, self.get(*number)?)));
        // (a + 1) / v < (b + 1) / w, without division; the first of equals.
        let load = |of: &Backend, by: &Backend| (u64::from(of.n_active) + 1) * u64::from(by.weight);
        let least = takers.filter(|(_, backend)| backend.takes_flows()).reduce(|best, other| {
            if load(other.1, best.1) < load(best.1, other.1) {
                other
            } else {
                best
            }
        });
        least.map(|(number, _)| number)
    }
}
