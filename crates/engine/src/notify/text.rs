//! Signals as texts.

use std::collections::BTreeMap;

use element::Signal;

use super::{Found, Kind};
use crate::configured::order_of;
use crate::world::World;

/// Notifiers of a kind that Click keeps together, and those whose states share a word.
const BLOCK: usize = 4096;
const WORD: usize = 32;

/// A word of notifiers' states, as far as a signal has to do with it.
#[derive(Default)]
struct Word {
    mask: u32,
    active: u32,
}

impl World {
    /// A signal as Click prints it. Click numbers notifiers as elements are configured, those of each kind from 0.
    pub(crate) fn signal_text(&self, signal: &Signal) -> String {
        let ids = match (signal, self.notifiers.found(signal)) {
            (_, Some(Found::AnyOf(ids))) => ids,
            (Signal::Idle, _) | (_, Some(Found::Idle)) => return "idle".to_string(),
            _ => return "busy*".to_string(),
        };
        let mut words: BTreeMap<(&str, usize), Word> = BTreeMap::new();
        for (kind, name) in [(Kind::Empty, "empty"), (Kind::Full, "full")] {
            for (number, id) in self.notifiers_of(kind).enumerate().filter(|(_, id)| ids.contains(id)) {
                let bit = 1 << (number % WORD);
                let word = words.entry((name, number / WORD)).or_default();
                word.mask |= bit;
                word.active |= if self.notifiers.list[id as usize].is_active() { bit } else { 0 };
            }
        }
        let texts: Vec<String> = words.iter().map(|((name, at), word)| word.text(name, *at)).collect();
        texts.join("+")
    }

    /// The notifiers of a kind, in the order in which Click makes them: as elements are configured, then as they are
    /// initialised.
    fn notifiers_of(&self, kind: Kind) -> impl Iterator<Item = u32> + '_ {
        let is_late = |idx: &usize| self.notifiers.made_late.get(*idx).copied().unwrap_or(false);
        let (mut late, mut order): (Vec<_>, Vec<_>) = order_of(&self.classes).into_iter().partition(is_late);
        late.retain(|idx| !self.wiring.output_is_push(*idx, 0));
        order.append(&mut late);
        order.into_iter().filter_map(move |idx| self.notifiers.of(idx, kind))
    }
}

impl Word {
    fn text(&self, name: &str, at: usize) -> String {
        let (block, at) = (at / (BLOCK / WORD), at % (BLOCK / WORD));
        let block = if block == 0 { String::new() } else { (block + 1).to_string() };
        let star = if self.active == 0 { "" } else { "*" };
        format!("{name}{block}.{at}/{:x}:{:x}{star}", self.mask, self.active)
    }
}
