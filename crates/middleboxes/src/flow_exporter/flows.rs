//! The flows of both IP versions, which share one limit, and the monitor's time.

use super::cache::{Cache, Ended, Flow, Rules};
use super::key::{FlowKey, V4, V6};
use super::sight::Sighting;

/// How often silent flows are looked for while packets come.
const SEARCH_NS: i64 = 250_000_000;
/// Flows looked at in one search while packets come.
const N_VISITS: usize = 256;

/// All flows.
pub struct Flows {
    v4: Cache<V4>,
    v6: Cache<V6>,
    rules: Rules,
    capacity: usize,
    /// Flows that had to end to make room.
    pub n_evicted: u64,
    time: Time,
    search_at_ns: i64,
}

/// The monitor's time: that of the latest packet, and it goes on while none come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Time {
    now_ns: i64,
    steady_ns: Option<i64>,
}

impl Time {
    /// Lets as much time pass as did by a steady clock.
    pub fn pass(&mut self, steady_ns: i64) {
        let passed_ns = self.steady_ns.map_or(0, |before_ns| steady_ns.saturating_sub(before_ns).max(0));
        self.now_ns = self.now_ns.saturating_add(passed_ns);
        self.steady_ns = Some(steady_ns);
    }

    /// A packet with this time came. Its time may be later than all before, as in a capture that is read faster than it
    /// was recorded; it never turns time back.
    #[inline(always)]
    pub fn see(&mut self, time_ns: i64) -> i64 {
        self.now_ns = self.now_ns.max(time_ns);
        self.now_ns
    }
}

impl Flows {
    /// No flows.
    pub fn new(rules: Rules, capacity: u32) -> Flows {
        Flows {
            v4: Cache::new(capacity),
            v6: Cache::new(capacity),
            rules,
            capacity: capacity as usize,
            n_evicted: 0,
            time: Time::default(),
            search_at_ns: 0,
        }
    }

    /// The number of flows.
    pub fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// The monitor's time.
    pub fn now_ns(&self) -> i64 {
        self.time.now_ns
    }

    /// Lets as much time pass as did by a steady clock.
    pub fn pass(&mut self, steady_ns: i64) {
        self.time.pass(steady_ns);
    }

    /// Starts loading what counting a packet reads; yields the hash of its key.
    #[inline(always)]
    pub fn prefetch(&self, key: &FlowKey) -> u64 {
        match key {
            FlowKey::V4(key) => self.v4.prefetch(key),
            FlowKey::V6(key) => self.v6.prefetch(key),
        }
    }

    /// Starts loading the flow of a packet; yields where it most likely is, for [`Flows::add`].
    #[inline(always)]
    pub fn prefetch_flow(&self, key: &FlowKey, hash: u64) -> u32 {
        match key {
            FlowKey::V4(_) => self.v4.prefetch_flow(hash),
            FlowKey::V6(_) => self.v6.prefetch_flow(hash),
        }
    }

    /// Counts a packet.
    #[inline(always)]
    pub fn add(&mut self, sighting: &Sighting, near: u32, ended: &mut dyn FnMut(Ended)) {
        let now_ns = self.time.see(sighting.time_ns);
        let is_added = match &sighting.key {
            FlowKey::V4(key) => self.v4.add(key, near, sighting, &self.rules, now_ns),
            FlowKey::V6(key) => self.v6.add(key, near, sighting, &self.rules, now_ns),
        };
        if !is_added {
            self.add_rarely(sighting, ended);
        }
    }

    #[inline(never)]
    fn add_rarely(&mut self, sighting: &Sighting, ended: &mut dyn FnMut(Ended)) {
        let (rules, now_ns) = (self.rules, self.time.now_ns);
        let is_added = match &sighting.key {
            FlowKey::V4(key) => self.v4.add_and_end(key, sighting, &rules, now_ns, ended),
            FlowKey::V6(key) => self.v6.add_and_end(key, sighting, &rules, now_ns, ended),
        };
        if is_added {
            return;
        }
        if self.len() >= self.capacity {
            self.n_evicted += 1;
            // Whoever has most flows gives one up, so that no version starves the other.
            if self.v4.len() >= self.v6.len() {
                self.v4.make_room(&rules, ended);
            } else {
                self.v6.make_room(&rules, ended);
            }
        }
        match sighting.key {
            FlowKey::V4(key) => self.v4.begin(key, sighting, &rules, now_ns, ended),
            FlowKey::V6(key) => self.v6.begin(key, sighting, &rules, now_ns, ended),
        }
    }

    /// Ends some flows that are due, if it is time to look for them.
    #[inline(always)]
    pub fn search(&mut self, ended: &mut dyn FnMut(Ended)) {
        if self.time.now_ns >= self.search_at_ns {
            let is_done = self.advance(N_VISITS, ended);
            self.search_at_ns = self.time.now_ns.saturating_add(if is_done { SEARCH_NS } else { 0 });
        }
    }

    /// Ends flows that are due; `false` if there was more to do than `n_visits` allowed.
    #[inline(never)]
    pub fn advance(&mut self, n_visits: usize, ended: &mut dyn FnMut(Ended)) -> bool {
        let now_ns = self.time.now_ns;
        let is_v4_done = self.v4.advance(now_ns, n_visits, &self.rules, ended);
        self.v6.advance(now_ns, n_visits, &self.rules, ended) && is_v4_done
    }

    /// Ends some flows, those of IPv4 first; `false` once there are no more.
    pub fn end_some(&mut self, ended: &mut dyn FnMut(Ended)) -> bool {
        if self.v4.len() > 0 {
            self.v4.end_some(&self.rules, ended);
        } else {
            self.v6.end_some(&self.rules, ended);
        }
        self.len() > 0
    }

    /// Most flows at a time.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// All flows, those of IPv4 first.
    pub fn iter(&self) -> impl Iterator<Item = (FlowKey, &Flow)> {
        self.v4.iter().chain(self.v6.iter())
    }
}
