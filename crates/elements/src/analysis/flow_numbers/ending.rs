//! How flows end.

use std::cmp::Reverse;

use super::super::flow_key::Key;
use super::{is_before, seconds, Flow, FlowNumbers};

impl FlowNumbers {
    /// Looks for ended flows if it is time.
    #[inline]
    pub fn reap_if_due(&mut self) {
        if self.is_reaping_due() {
            self.reap();
        }
    }

    /// Whether it is time to look for ended flows.
    #[inline]
    pub fn is_reaping_due(&self) -> bool {
        self.now_s >= self.reap_s
    }

    #[cold]
    fn reap(&mut self) {
        if self.reap_s != 0 {
            let mut waiting = std::mem::take(&mut self.fragments);
            let mut queues: Vec<_> = waiting.drain().collect();
            queues.sort_by_cached_key(|(hosts, _)| self.hosts.place(hosts));
            for (hosts, mut queue) in queues {
                self.release(&mut queue);
                if !queue.is_empty() {
                    self.fragments.insert(hosts, queue);
                }
            }
            self.end_where(FlowNumbers::is_silent);
        }
        self.reap_s = self.now_s.wrapping_add(self.timeouts.reap);
    }

    fn is_silent(&self, key: &Key, flow: &Flow) -> bool {
        is_before(seconds(flow.last_ns), self.now_s.wrapping_sub(self.timeouts.of(key, flow)))
            && !self.fragments.contains_key(&key.hosts)
    }

    /// Ends flows: those of the same hosts together, the last found first.
    fn end_where(&mut self, is_over: impl Fn(&FlowNumbers, &Key, &Flow) -> bool) {
        let over = self.flows.iter().filter(|(_, key, flow)| is_over(self, key, flow));
        let mut over: Vec<_> = over.map(|(idx, key, flow)| (key.hosts, flow.looked_up, idx)).collect();
        if self.keeps_ended {
            over.sort_by_cached_key(|(hosts, looked_up, _)| (self.hosts.place(hosts), Reverse(*looked_up)));
        }
        for (_, _, idx) in over {
            if let Some((key, flow)) = self.flows.remove(idx) {
                self.end(key, flow);
            }
        }
    }

    /// Ends all flows, as if much time had passed, and lets fragments go.
    pub fn clear(&mut self) {
        let times = (self.now_s, self.reap_s);
        (self.now_s, self.reap_s) = (i32::MAX as u32, i32::MAX as u32);
        self.reap();
        (self.now_s, self.reap_s) = times;
    }

    /// Ends all flows and drops what waits.
    pub fn end_all(&mut self) {
        self.fragments.clear();
        self.end_where(|_, _, _| true);
    }

    /// Goes on with another's flows and fragments, by own times; the other one has none left.
    pub fn take_over(&mut self, old: &mut FlowNumbers) {
        std::mem::swap(self, old);
        std::mem::swap(&mut self.timeouts, &mut old.timeouts);
        (self.takes_icmp, self.keeps_fragments) = (old.takes_icmp, old.keeps_fragments);
        self.keeps_ended = old.keeps_ended;
        self.reap_s = self.reap_s.min(self.now_s.wrapping_add(self.timeouts.reap));
    }
}
