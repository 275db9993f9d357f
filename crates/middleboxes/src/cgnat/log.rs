//! The log of blocks and mappings (RFC 6888, section 4): who had which external address and ports, and when.

use std::io::Write;
use std::net::Ipv4Addr;

use args::Timestamp;

use super::entries::Inside;
use super::Endpoint;

/// A block: external address, first and last port.
type Block = (u32, u16, u16);

/// Something that is logged.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A subscriber got a block.
    Assigned(u32, Block),
    /// A subscriber's block is free again.
    Released(u32, Block),
    /// An inside endpoint got an external one.
    Mapped(Inside, Endpoint),
    /// An external endpoint is free again.
    Unmapped(Inside, Endpoint),
}

/// What happened while packets were processed, to be written afterwards.
#[derive(Debug, Default)]
pub struct Journal {
    tells_blocks: bool,
    tells_mappings: bool,
    events: Vec<Event>,
}

impl Journal {
    /// An empty journal.
    pub fn new(tells_blocks: bool, tells_mappings: bool) -> Journal {
        Journal { tells_blocks, tells_mappings, events: Vec::new() }
    }

    /// Notes an event of a block.
    pub fn block(&mut self, event: impl FnOnce() -> Event) {
        if self.tells_blocks {
            self.events.push(event());
        }
    }

    /// Notes an event of a mapping.
    pub fn mapping(&mut self, event: impl FnOnce() -> Event) {
        if self.tells_mappings {
            self.events.push(event());
        }
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Writes what happened. A full disk must not stop the packets.
    pub fn write(&mut self, file: &mut dyn Write, now_ns: i64) {
        let time = Timestamp::from_nanos(now_ns);
        for event in self.events.drain(..) {
            let _ = writeln!(file, "{time} {}", describe(&event));
        }
    }

    /// Forgets what happened.
    pub fn clear(&mut self) {
        self.events.clear();
    }

    /// Takes in what another journal tells, before what this one does.
    pub fn put_before(&mut self, other: &mut Journal) {
        other.events.append(&mut self.events);
        std::mem::swap(&mut self.events, &mut other.events);
    }
}

fn describe(event: &Event) -> String {
    let block = |word: &str, subscriber: u32, (address, first, last): Block| {
        format!("{word} {} {} {first}-{last}", Ipv4Addr::from(subscriber), Ipv4Addr::from(address))
    };
    let mapping = |word: &str, inside: &Inside, external: &Endpoint| {
        format!("{word} {} {} {external}", inside.protocol.name(), inside.endpoint())
    };
    match event {
        Event::Assigned(subscriber, range) => block("assigned", *subscriber, *range),
        Event::Released(subscriber, range) => block("released", *subscriber, *range),
        Event::Mapped(inside, external) => mapping("mapped", inside, external),
        Event::Unmapped(inside, external) => mapping("unmapped", inside, external),
    }
}
