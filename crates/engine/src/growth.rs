//! How many packets may come of one.

use std::collections::HashMap;

use element::{Causes, ElementIdx, Made};

use crate::meetings::HORIZON;
use crate::world::World;

/// How many packets at most come to any element behind `begin` of each that it emits, on the way to `met`; `usize::MAX` if there may be any
/// number, or more than a few elements on the way.
pub fn of(world: &World, begin: ElementIdx, met: &[ElementIdx]) -> usize {
    if met.len() > HORIZON {
        return usize::MAX;
    }
    let longest = longest(world, begin, met).unwrap_or(usize::MAX);
    Search { world, longest, known: HashMap::new() }.behind(begin, Causes::NOTHING, false)
}

/// How long packets are at most that come of those which an element makes, if that is known. An element may get a packet, and then, if
/// that stays in no loop, an answer to it.
fn longest(world: &World, begin: ElementIdx, met: &[ElementIdx]) -> Option<usize> {
    let made = *world.wiring.longest.get(&begin)?;
    met.iter().filter(|element| **element != begin).try_fold(made, |longest, element| {
        Some(longest + 2 * usize::from(world.classes.get(*element)?.lengthens?))
    })
}

struct Search<'a> {
    world: &'a World,
    /// Bytes that a packet has at most.
    longest: usize,
    /// What is known of elements, for packets that are answers to others, and for those that are not.
    known: HashMap<(ElementIdx, bool), usize>,
}

impl Search<'_> {
    /// How many come of a packet that comes to an element, with itself: none of them may go on.
    fn at(&mut self, element: ElementIdx, is_answer: bool) -> usize {
        if self.world.wiring.stores(element) {
            return 1;
        }
        let place = (element, is_answer);
        if let Some(known) = self.known.get(&place) {
            return *known;
        }
        // In a loop there is no end, unless it is found that no packet stays in it.
        self.known.insert(place, usize::MAX);
        let causes = self.world.causes(element).unwrap_or(Causes::ANYTHING);
        let n = self.behind(element, causes, is_answer).max(1);
        self.known.insert(place, n);
        n
    }

    /// How many come of a packet that leaves an element, which causes this.
    fn behind(&mut self, element: ElementIdx, causes: Causes, is_answer: bool) -> usize {
        let n_outputs = self.world.wiring.n_ports(element).1;
        let mut by_output = Vec::new();
        let made = self.world.slots.get(element).and_then(Option::as_ref).map(|element| element.made());
        let made = made.filter(|_| causes.include(Causes::MORE));
        let answers = matches!(made, Some(Made::Answer));
        if answers && is_answer {
            return 0;
        }
        for port in (0..n_outputs).filter(|port| self.world.wiring.output_is_push(element, *port)) {
            for (next, _) in self.world.wiring.downstream(element, port) {
                by_output.push((port, self.at(next, is_answer || answers)));
            }
        }
        match made {
            Some(Made::Pieces(least)) => {
                // A longer one is no IP packet.
                let longest = self.longest.min(u16::MAX.into());
                let most = longest.checked_div(least).map_or(usize::MAX, |n| n + 1);
                let n_of = |(port, n): &(usize, usize)| if *port == 0 { n.saturating_mul(most) } else { *n };
                by_output.iter().map(n_of).max().unwrap_or(1)
            }
            _ if causes.include(Causes::COPIES) => {
                by_output.iter().fold(0, |sum, (_, n)| sum.saturating_add(*n))
            }
            _ => by_output.iter().map(|(_, n)| *n).max().unwrap_or(1),
        }
    }
}
