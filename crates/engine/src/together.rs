//! Lines about packets that go together where Click's go one by one: they are said in the order of the packets.

use element::{ElementIdx, Outbox};

use crate::world::World;

/// The packets that a run of a task moves together, and what elements say of them.
#[derive(Default)]
pub struct Together {
    /// Whether the task that runs now moves packets together.
    is_on: bool,
    /// The packets that are on their way, in order.
    packets: Vec<usize>,
    held: Vec<Held>,
}

struct Held {
    /// The place of the packet that it is about.
    place: usize,
    element: ElementIdx,
    channel: String,
    text: String,
}

impl Together {
    /// The task that runs now moves packets together.
    pub fn begin(&mut self) {
        self.is_on = true;
    }

    /// The task's run is over.
    #[inline]
    pub fn end(&mut self) {
        self.is_on = false;
    }

    /// Whether the task that runs now moves packets together.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Notes which packets set out.
    #[cold]
    pub fn set_out(&mut self, outbox: &Outbox) {
        self.packets.extend(outbox.batches().flat_map(|batch| batch.iter().map(|packet| packet.id())));
    }

    /// Holds a line about a packet back, if packets are on their way together.
    pub fn holds(&mut self, element: ElementIdx, channel: &str, packet: usize, text: &str) -> bool {
        if self.packets.is_empty() {
            return false;
        }
        // One that was made or has moved since belongs to who spoke last.
        let last = self.held.last().map_or(0, |last| last.place);
        let place = self.packets.iter().position(|id| *id == packet).unwrap_or(last);
        self.held.push(Held { place, element, channel: channel.to_string(), text: text.to_string() });
        true
    }
}

impl World {
    /// All packets that went together have come to their ends: says what was held back.
    #[cold]
    pub(crate) fn have_arrived(&mut self) {
        self.together.packets.clear();
        let mut held = std::mem::take(&mut self.together.held);
        held.sort_by_key(|line| line.place);
        for Held { element, channel, text, .. } in held.drain(..) {
            self.chatter.say_on(element::Runtime::name(self, element), &channel, &text);
        }
        self.together.held = held;
    }
}
