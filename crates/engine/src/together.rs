//! Lines about packets that go together where Click's go one by one: they are said in the order of the packets.

use std::sync::Arc;

use element::{ElementIdx, Limit, Line, Outbox, Runtime};

use crate::world::World;

/// What elements say of packets that a run of a task moves together, or that tasks move in a turn.
#[derive(Default)]
pub struct Together {
    /// Whether the task that runs now moves packets together.
    is_on: bool,
    /// If they go in single file, the elements that they come to one by one.
    single_file: Option<Arc<[ElementIdx]>>,
    /// Whether packets are on their way together.
    are_out: bool,
    held: Vec<Held>,
}

struct Held {
    /// The place of the packet that it is about.
    place: u32,
    element: ElementIdx,
    channel: String,
    limit: Option<Limit>,
    text: String,
}

impl Together {
    /// The task that runs now moves packets together.
    fn begin(&mut self, single_file: Option<Arc<[ElementIdx]>>) {
        self.is_on = true;
        self.single_file = single_file;
    }

    /// If packets that part go on one behind the other, and what was made of one before the next: the elements that they come to one by one.
    #[inline]
    pub fn single_file(&self) -> Option<&[ElementIdx]> {
        self.single_file.as_deref()
    }

    /// Whether the task that runs now moves packets together.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Gives packets that set out their places, unless they have them because they set out before.
    #[cold]
    pub fn set_out(&mut self, outbox: &mut Outbox, again: bool) {
        self.are_out = true;
        if !again {
            let packets = outbox.batches_mut().flat_map(|batch| batch.iter_mut());
            packets.zip(0..).for_each(|(packet, place)| packet.set_place(place));
        }
    }

    /// Holds a line back, if packets are on their way together.
    pub fn holds(&mut self, element: ElementIdx, Line { channel, place, limit, text }: Line<'_>) -> bool {
        if self.are_out {
            let (channel, text) = (channel.to_string(), text.to_string());
            self.held.push(Held { place, element, channel, limit, text });
        }
        self.are_out
    }
}

impl World {
    /// The task that an element runs now moves packets together, the way that was explored.
    pub(crate) fn go_together(&mut self, element: ElementIdx) {
        let single_file = self.way(element).and_then(|way| way.single_file.clone());
        self.together.begin(single_file);
    }

    /// No more packets go together with those that did: says what was held back.
    #[inline]
    pub(crate) fn have_arrived(&mut self) {
        if std::mem::take(&mut self.together.is_on) {
            self.together.single_file = None;
            self.say_held();
        }
    }

    /// Says what was held back of the packets that went together so far.
    #[cold]
    pub(crate) fn say_held(&mut self) {
        self.together.are_out = false;
        let mut held = std::mem::take(&mut self.together.held);
        held.sort_by_key(|line| line.place);
        for Held { place, element, channel, limit, text } in held.drain(..) {
            self.say_now(element, Line { channel: &channel, place, limit, text: &text });
        }
        self.together.held = held;
    }

    /// Says a line, unless enough was said of what it tells.
    pub(crate) fn say_now(&mut self, element: ElementIdx, line: Line<'_>) {
        if let Some(Limit { what, most }) = line.limit {
            let n = self.said.entry(what).or_default();
            if *n >= most {
                return;
            }
            *n += 1;
        }
        self.chatter.say_on(Runtime::name(self, element), line.channel, line.text);
    }
}
