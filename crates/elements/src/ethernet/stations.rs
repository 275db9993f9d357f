//! Which port the stations of an Ethernet were last heard on: as many as there is room for.

use std::hash::BuildHasher;

use args::EtherAddr;
use element::{Arg, Configure, Handler, Saved, SavedLine};
use table::chained::Growth;

/// The argument that limits stations.
pub const CAPACITY: Arg =
    Arg::keyword("CAPACITY", "unsigned", "Most stations, 1 to 16777216. Default 65536.");
const DEFAULT_CAPACITY: u32 = 65536;

/// The handler that tells how many there are.
pub const STATIONS: Handler = Handler::read("stations", "How many stations are known.");
/// The handler that tells how often there were too many.
pub const UNLEARNED: Handler =
    Handler::read("unlearned", "Frames whose sender was not learned because there are too many stations.");

/// Marks a slot that is taken: no address has this bit.
const TAKEN: u64 = 1 << 48;
const ADDRESS: u64 = TAKEN - 1;
/// The number of a VLAN is in the bits from here on.
const VLAN_SHIFT: u32 = 49;
/// Slots that are looked at for stations to forget.
const N_VISITS: usize = 64;
const FIRST_SLOTS: usize = 64;
/// Buckets of Click's table before it has grown.
const FIRST_BUCKETS: u32 = 63;

/// An Ethernet address, perhaps in a VLAN, as the number it is looked up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u64);

/// A station as it was last heard of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Station {
    /// [`TAKEN`], the address and the VLAN; 0 if the slot is free.
    key: u64,
    /// When, as the packet's timestamp has it.
    pub heard_ns: i64,
    /// How many stations were met before it.
    sequence: u64,
    /// On which port.
    pub port: u32,
}

/// The stations, by address: a table with linear probing that is at most half full.
///
/// The slots found last are tried first: frames come in trains. When there is no room for a station that is new, those that have
/// been silent make some; if there are none, the new one is not learned, so that forged addresses displace nobody.
pub struct Stations {
    slots: Vec<Station>,
    shift: u32,
    multiplier: u64,
    n_stations: usize,
    next_sequence: u64,
    last_heard: usize,
    last_found: usize,
    /// Where the last search for stations to forget has ended.
    cursor: usize,
    /// When Click's table would have grown, on which the order of its list depends.
    growth: Growth,
    capacity: usize,
    /// How often a new station was not learned.
    pub n_unlearned: u64,
}

/// No stations yet, of which CAPACITY says how many there may be.
pub fn stations(conf: &mut Configure<'_>) -> Stations {
    let capacity = conf.args.get_with("CAPACITY", args::bounded(1u32, 1 << 24));
    Stations::new(capacity.unwrap_or(DEFAULT_CAPACITY) as usize)
}

impl Key {
    /// The key of the address that the 8 bytes begin with.
    #[inline(always)]
    pub fn of(bytes: [u8; 8]) -> Key {
        Key(u64::from_le_bytes(bytes) & ADDRESS | TAKEN)
    }

    /// The key of that address in a VLAN.
    #[inline(always)]
    pub fn in_vlan(bytes: [u8; 8], vlan: u16) -> Key {
        Key(Key::of(bytes).0 | u64::from(vlan) << VLAN_SHIFT)
    }

    /// Whether the address is a group's.
    #[inline(always)]
    pub fn is_group(self) -> bool {
        self.0 & 1 != 0
    }
}

impl Station {
    /// Its address.
    pub fn address(&self) -> EtherAddr {
        let [b0, b1, b2, b3, b4, b5, ..] = self.key.to_le_bytes();
        EtherAddr([b0, b1, b2, b3, b4, b5])
    }

    /// Its VLAN, if its key has one.
    pub fn vlan(&self) -> u16 {
        (self.key >> VLAN_SHIFT) as u16
    }

    /// What Click's hash table finds the address by.
    fn click_hash(&self) -> u32 {
        let [b0, b1, b2, b3, b4, b5] = self.address().0.map(u32::from);
        (b4 | b5 << 8 | b2 << 16 | b3 << 24) ^ (b0 << 9 | b1 << 17)
    }
}

impl Stations {
    /// No stations; at most so many will be known.
    pub fn new(capacity: usize) -> Stations {
        Stations {
            slots: vec![Station::default(); FIRST_SLOTS],
            shift: 64 - FIRST_SLOTS.trailing_zeros(),
            // Random, so that nobody can choose addresses that crowd together.
            multiplier: std::hash::RandomState::new().hash_one(0u64) | 1,
            n_stations: 0,
            next_sequence: 0,
            last_heard: 0,
            last_found: 0,
            cursor: 0,
            growth: Growth::new(FIRST_BUCKETS),
            capacity,
            n_unlearned: 0,
        }
    }

    /// Forgets all stations.
    pub fn clear(&mut self) {
        *self = Stations { n_unlearned: self.n_unlearned, ..Stations::new(self.capacity) };
    }

    /// Goes on with other stations. If they are more than the capacity they stay, and others are not learned.
    pub fn go_on_with(&mut self, others: Stations) {
        *self = Stations { capacity: self.capacity, ..others };
    }

    /// Notes that a station was heard. If there are too many, those that were last heard before `silent_ns` make room.
    #[inline(always)]
    pub fn hear(&mut self, key: Key, port: u32, heard_ns: i64, silent_ns: i64) {
        if let Some(station) = self.slots.get_mut(self.last_heard).filter(|station| station.key == key.0) {
            station.port = port;
            station.heard_ns = heard_ns;
            return;
        }
        self.hear_other(key, port, heard_ns, silent_ns);
    }

    #[inline(never)]
    fn hear_other(&mut self, key: Key, port: u32, heard_ns: i64, silent_ns: i64) {
        let mut at = self.seek(key.0);
        let is_new = self.slots.get(at).is_none_or(|station| station.key == 0);
        if is_new {
            if self.n_stations >= self.capacity {
                self.forget_some_before(silent_ns);
                if self.n_stations >= self.capacity {
                    self.n_unlearned += 1;
                    return;
                }
                // Stations may have moved.
                at = self.seek(key.0);
            }
            if (self.n_stations + 1) * 2 > self.slots.len() {
                self.enlarge();
                at = self.seek(key.0);
            }
            self.n_stations += 1;
            self.growth.grow(self.n_stations as u64, self.next_sequence);
        }
        if let Some(station) = self.slots.get_mut(at) {
            let sequence = if is_new { self.next_sequence } else { station.sequence };
            *station = Station { key: key.0, heard_ns, sequence, port };
        }
        self.next_sequence += u64::from(is_new);
        self.last_heard = at;
    }

    /// The station with this address.
    #[inline(always)]
    pub fn find(&mut self, key: Key) -> Option<&Station> {
        if self.slots.get(self.last_found).is_none_or(|station| station.key != key.0) {
            self.last_found = self.seek(key.0);
        }
        self.slots.get(self.last_found).filter(|station| station.key == key.0)
    }

    /// Forgets a station.
    #[cold]
    pub fn forget(&mut self, key: Key) {
        let mask = self.slots.len() - 1;
        let mut hole = self.seek(key.0);
        if self.slots.get(hole).is_none_or(|station| station.key == 0) {
            return;
        }
        self.n_stations -= 1;
        // Stations further on that would no longer be found move into the hole.
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let station = self.slots.get(at).copied().unwrap_or_default();
            if station.key == 0 {
                break;
            }
            let way = at.wrapping_sub(self.home(station.key)) & mask;
            if way >= at.wrapping_sub(hole) & mask {
                self.put(hole, station);
                hole = at;
            }
        }
        self.put(hole, Station::default());
    }

    /// Forgets the stations of which this is true.
    pub fn forget_where(&mut self, is_gone: impl Fn(&Station) -> bool) {
        let keys: Vec<Key> =
            self.iter().filter(|station| is_gone(station)).map(|station| Key(station.key)).collect();
        keys.into_iter().for_each(|key| self.forget(key));
    }

    /// Forgets some of the stations that were last heard before a time, if there are any: it looks at a few.
    fn forget_some_before(&mut self, time_ns: i64) {
        let (mut old, mut n_old) = ([Key(0); N_VISITS], 0);
        let mask = self.slots.len() - 1;
        for at in self.cursor..self.cursor + N_VISITS {
            let station = self.slots.get(at & mask).filter(|station| station.key != 0);
            if let (Some(station), Some(key)) =
                (station.filter(|station| station.heard_ns < time_ns), old.get_mut(n_old))
            {
                *key = Key(station.key);
                n_old += 1;
            }
        }
        self.cursor = (self.cursor + N_VISITS) & mask;
        old.into_iter().take(n_old).for_each(|key| self.forget(key));
    }

    /// Saves some of them: address, VLAN or 0, port, and when they were heard.
    pub fn save(&self, from: usize) -> Saved {
        let line = |station: &Station| {
            let Station { port, heard_ns, .. } = station;
            format!("{} {} {port} {heard_ns}", station.address(), station.vlan())
        };
        Saved::of(self.iter(), from, line)
    }

    /// Takes one that was saved, if it may be on that port, in that VLAN, and has not been heard meanwhile.
    pub fn restore(&mut self, line: &str, may_be: impl Fn(u32, u16) -> bool) -> Result<(), String> {
        let mut line = SavedLine::new(line);
        let address: EtherAddr = line.field()?;
        let (vlan, port, heard_ns): (u16, u32, i64) = (line.field()?, line.field()?, line.field()?);
        let [a, b, c, d, e, f] = address.0;
        let bytes = [a, b, c, d, e, f, 0, 0];
        let key = if vlan == 0 { Key::of(bytes) } else { Key::in_vlan(bytes, vlan) };
        if !may_be(port, vlan) {
            return Err(format!("there is no port {port} for {address}"));
        }
        if self.find(key).is_some() {
            return Ok(());
        }
        if self.n_stations >= self.capacity {
            return Err("there are too many stations".to_string());
        }
        self.hear(key, port, heard_ns, i64::MIN);
        Ok(())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.n_stations
    }

    /// The stations, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Station> {
        self.slots.iter().filter(|station| station.key != 0)
    }

    /// The stations and their ports, in the order of Click's table.
    pub fn list(&self) -> Vec<(EtherAddr, u32)> {
        let mut stations: Vec<_> = self.iter().collect();
        stations.sort_by_key(|station| station.sequence);
        let in_order = stations
            .into_iter()
            .map(|station| (station.sequence, station.click_hash(), (station.address(), station.port)));
        self.growth.order(in_order)
    }

    #[inline(always)]
    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(self.multiplier) >> self.shift) as usize
    }

    /// The slot of a key, or the free one where it belongs.
    #[inline]
    fn seek(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.home(key);
        while self.slots.get(at).is_some_and(|station| station.key != key && station.key != 0) {
            at = (at + 1) & mask;
        }
        at
    }

    fn put(&mut self, at: usize, station: Station) {
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = station;
        }
    }

    #[cold]
    fn enlarge(&mut self) {
        let larger = vec![Station::default(); self.slots.len() * 2];
        self.shift -= 1;
        for station in std::mem::replace(&mut self.slots, larger) {
            if station.key != 0 {
                self.put(self.seek(station.key), station);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn key(n: u8) -> Key {
        Key::of([2, 0, 0, 0, 0, n, 9, 9])
    }

    #[test]
    fn an_address_is_another_station_in_each_vlan() {
        let mut stations = Stations::new(1000);
        for vlan in [0, 1, 4094] {
            stations.hear(Key::in_vlan([2, 0, 0, 0, 0, 7, 0xff, 0xff], vlan), u32::from(vlan), 0, 0);
        }
        let mut told: Vec<_> =
            stations.iter().map(|one| (one.vlan(), one.address().0[5], one.port)).collect();
        told.sort_unstable();
        assert_eq!(told, [(0, 7, 0), (1, 7, 1), (4094, 7, 4094)]);
    }

    #[test]
    fn old_stations_are_found_little_by_little() {
        let mut stations = Stations::new(1000);
        for n in 0..=255 {
            stations.hear(key(n), 1, i64::from(n), 0);
        }
        // The table has 512 slots by now, and a station that moves into a hole may be missed until the next round.
        for _ in 0..4 * 512 / N_VISITS {
            stations.forget_some_before(100);
        }
        assert_eq!(stations.count(), 156);
        stations.forget_where(|station| station.port == 1);
        assert_eq!((stations.count(), stations.iter().count()), (0, 0));
    }

    #[test]
    fn forged_addresses_neither_displace_stations_nor_take_memory() {
        let mut stations = Stations::new(100);
        (0..100).for_each(|n| stations.hear(key(n), 1, 0, -1));
        for n in 0..1_000_000u64 {
            stations.hear(Key(TAKEN | 0xaa << 40 | n), 2, 5, -1);
        }
        assert_eq!((stations.count(), stations.n_unlearned, stations.slots.len()), (100, 1_000_000, 256));
        assert!((0..100).all(|n| stations.find(key(n)).is_some_and(|station| station.port == 1)));
        // Those that have been silent make room, and those that have not stay.
        (0..50).for_each(|n| stations.hear(key(n), 1, 10, -1));
        for n in 0..1000u64 {
            stations.hear(Key(TAKEN | 0xaa << 40 | n), 2, 20, 10);
        }
        assert_eq!(stations.count(), 100);
        assert!((0..50).all(|n| stations.find(key(n)).is_some()));
        assert!((50..100).all(|n| stations.find(key(n)).is_none()));
    }

    proptest! {
        #[test]
        fn stations_agree_with_a_map(steps in prop::collection::vec((0u8..3, any::<u8>(), 0u32..9), 0..600)) {
            let mut stations = Stations::new(1000);
            let mut model = HashMap::new();
            for (step, n, port) in steps {
                match step {
                    0 => {
                        stations.hear(key(n), port, i64::from(n), 0);
                        model.insert(n, port);
                    }
                    1 => {
                        stations.forget(key(n));
                        model.remove(&n);
                    }
                    _ => {
                        let found = stations.find(key(n)).map(|station| (station.port, station.heard_ns));
                        prop_assert_eq!(found, model.get(&n).map(|port| (*port, i64::from(n))));
                    }
                }
            }
            let mut listed: Vec<_> = stations.list().iter().map(|(address, port)| (address.0[5], *port)).collect();
            listed.sort_unstable();
            let mut expected: Vec<_> = model.into_iter().collect();
            expected.sort_unstable();
            prop_assert_eq!(listed, expected);
        }
    }
}
