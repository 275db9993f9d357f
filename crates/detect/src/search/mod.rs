//! Finding the rules that a payload matches: first those that may, by patterns of theirs, then these one by one.

pub mod evaluate;
pub mod groups;
pub mod http;
pub mod rarity;
pub mod scanner;
pub mod short;
pub mod verify;

use crate::rules::header::HeaderTest;
use crate::rules::payload::{Part, PayloadKind};
use crate::rules::{Action, BitAction, Rule, RuleSet, Scope};
use groups::Groups;

/// A rule, and what its evaluation needs to know of it.
#[derive(Debug)]
pub struct Compiled {
    /// The rule.
    pub rule: Rule,
    /// The test whose content is searched for all rules together.
    pub fast: Option<usize>,
    /// Whether it counts from the beginning of the payload, that is, of a packet or a message.
    pub is_anchored: bool,
    /// Whether it looks at parts of HTTP's messages.
    pub has_parts: bool,
    /// Whether it looks at packets by themselves, even of TCP.
    pub is_of_packets: bool,
}

/// Rules, ready to be searched.
#[derive(Debug)]
pub struct Program {
    /// The rules, in the order of their evaluation.
    pub rules: Vec<Compiled>,
    /// The groups.
    pub groups: Groups,
    /// Names of the flows' bits.
    pub bits: Vec<String>,
    /// Whether there are rules of single packets.
    pub has_packet_rules: bool,
}

impl Program {
    /// Prepares rules: `pass` comes first, and rules that set bits before those that ask for them; else their order stays.
    pub fn new(set: RuleSet) -> Program {
        let mut rules: Vec<Compiled> = set.rules.into_iter().map(Compiled::new).collect();
        rules.sort_by_key(|compiled| {
            let sets = |(action, _): &(BitAction, u16)| *action == BitAction::Set;
            (compiled.rule.action != Action::Pass, !compiled.rule.bits.iter().any(sets))
        });
        let groups = Groups::new(&rules);
        let has_packet_rules = rules.iter().any(|compiled| compiled.is_of_packets);
        Program { rules, groups, bits: set.bits, has_packet_rules }
    }

    /// Numbers the bits as others did, by their names: flows know them by these numbers. New ones come behind.
    pub fn keep_bits(&mut self, before: &[String]) {
        let mut bits = before.to_vec();
        let numbers: Vec<u16> = self.bits.iter().map(|name| number_of(&mut bits, name)).collect();
        for (_, bit) in self.rules.iter_mut().flat_map(|compiled| &mut compiled.rule.bits) {
            *bit = numbers.get(usize::from(*bit)).copied().unwrap_or(*bit);
        }
        self.bits = bits;
    }

    /// The rule with an index.
    pub fn rule(&self, idx: u32) -> Option<&Rule> {
        self.rules.get(idx as usize).map(|compiled| &compiled.rule)
    }
}

fn number_of(bits: &mut Vec<String>, name: &str) -> u16 {
    let idx = bits.iter().position(|known| known == name).unwrap_or_else(|| {
        bits.push(name.to_string());
        bits.len() - 1
    });
    u16::try_from(idx).unwrap_or(u16::MAX)
}

impl Compiled {
    fn new(rule: Rule) -> Compiled {
        let contents = || {
            rule.payload.iter().enumerate().filter_map(|(i, test)| match &test.kind {
                PayloadKind::Content(content) if !test.is_negated => Some((i, content)),
                _ => None,
            })
        };
        let longest = || contents().max_by_key(|(i, content)| (content.bytes.len(), usize::MAX - i));
        let fast = contents().find(|(_, content)| content.is_fast).or_else(longest).map(|(i, _)| i);
        let is_anchored = rule.payload.iter().any(|test| match &test.kind {
            PayloadKind::Content(content) => content.is_anchored || content.is_last && test.is_negated,
            PayloadKind::Pattern(pattern) => pattern.is_anchored,
            PayloadKind::HasMore(_) | PayloadKind::Number(_) | PayloadKind::Jump(_) => !test.is_relative,
            PayloadKind::Len(_) => true,
        });
        let has_parts = rule.payload.iter().any(|test| test.part != Part::All);
        let asks_len = rule.header.iter().any(|test| matches!(test, HeaderTest::PayloadLen(_)));
        let is_of_packets = rule.flow.scope == Scope::Packet || asks_len || fast.is_none();
        Compiled { rule, fast, is_anchored: is_anchored || has_parts, has_parts, is_of_packets }
    }
}
