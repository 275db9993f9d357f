//! Tests of header fields.

use super::text::Mistake;
use crate::packet::View;

/// A range of numbers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub least: u32,
    /// The greatest.
    pub most: u32,
    /// Whether it stands for all other numbers.
    pub is_negated: bool,
}

/// A test of a header field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderTest {
    /// `dsize`: bytes of payload.
    PayloadLen(Range),
    /// `ttl`.
    Ttl(Range),
    /// `tos`.
    Tos(Range),
    /// `id`.
    Id(Range),
    /// `itype`.
    IcmpType(Range),
    /// `icode`.
    IcmpCode(Range),
    /// `icmp_id`.
    IcmpId(Range),
    /// `icmp_seq`.
    IcmpSequence(Range),
    /// `seq`.
    Sequence(Range),
    /// `ack`.
    Acknowledgment(Range),
    /// `window`.
    Window(Range),
    /// `ip_proto`.
    Protocol(Range),
    /// `flags`.
    Flags(Flags),
    /// `fragbits`.
    FragmentBits(Flags),
    /// `sameip`.
    SameAddress,
}

/// Which bits of a field must be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags {
    /// The bits.
    pub bits: u8,
    /// Bits that do not matter.
    pub ignored: u8,
    /// How.
    pub how: FlagsHow,
}

/// How bits of a field must be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagsHow {
    /// These and no other.
    Exactly,
    /// These and maybe others.
    All,
    /// One of these.
    Any,
    /// None of these.
    NotAll,
}

impl HeaderTest {
    /// Whether a packet passes the test.
    #[inline]
    pub fn passes(&self, view: &View<'_>) -> bool {
        let within = |range: &Range, value: Option<u32>| value.is_some_and(|value| range.contains(value));
        match self {
            HeaderTest::PayloadLen(range) => {
                within(range, view.is_whole.then(|| u32::try_from(view.payload.len()).unwrap_or(u32::MAX)))
            }
            HeaderTest::Ttl(range) => range.contains(u32::from(view.ttl)),
            HeaderTest::Tos(range) => range.contains(u32::from(view.tos)),
            HeaderTest::Id(range) => within(range, view.id.map(u32::from)),
            HeaderTest::IcmpType(range) => within(range, view.icmp.map(|icmp| u32::from(icmp.kind))),
            HeaderTest::IcmpCode(range) => within(range, view.icmp.map(|icmp| u32::from(icmp.code))),
            HeaderTest::IcmpId(range) => within(range, view.icmp.map(|icmp| u32::from(icmp.id))),
            HeaderTest::IcmpSequence(range) => within(range, view.icmp.map(|icmp| u32::from(icmp.sequence))),
            HeaderTest::Sequence(range) => within(range, view.tcp.map(|tcp| tcp.sequence)),
            HeaderTest::Acknowledgment(range) => within(range, view.tcp.map(|tcp| tcp.acknowledgment)),
            HeaderTest::Window(range) => within(range, view.tcp.map(|tcp| u32::from(tcp.window))),
            HeaderTest::Protocol(range) => range.contains(u32::from(view.protocol)),
            HeaderTest::Flags(flags) => view.tcp.is_some_and(|tcp| flags.matches(tcp.flags)),
            HeaderTest::FragmentBits(flags) => flags.matches(view.fragment_bits),
            HeaderTest::SameAddress => view.source == view.destination,
        }
    }
}

impl Range {
    /// Whether a number belongs to it.
    #[inline]
    pub fn contains(&self, value: u32) -> bool {
        (self.least..=self.most).contains(&value) != self.is_negated
    }

    /// Reads `5`, `!5`, `<5`, `>=5`, `5<>10` or `5-10`; the latter two include both ends.
    pub fn parse(text: &str) -> Result<Range, Mistake> {
        let wrong = || {
            let help = "write `5`, `!5`, `<5`, `>5`, `<=5`, `>=5` or `5<>10`";
            Mistake::new(format!("`{text}` is no number or range"), help)
        };
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
        if let Some(rest) = text.strip_prefix('!') {
            let range = Range::parse(rest.trim())?;
            return Ok(Range { is_negated: !range.is_negated, ..range });
        }
        let range = |least, most| Range { least, most, is_negated: false };
        let (prefix, rest) = text.split_at(text.find(|c| !matches!(c, '<' | '>' | '=')).unwrap_or(0));
        match prefix {
            "" => {}
            "=" => return number(rest).map(|n| range(n, n)),
            "<=" => return number(rest).map(|n| range(0, n)),
            ">=" => return number(rest).map(|n| range(n, u32::MAX)),
            "<" => return number(rest)?.checked_sub(1).map(|n| range(0, n)).ok_or_else(wrong),
            ">" => return number(rest)?.checked_add(1).map(|n| range(n, u32::MAX)).ok_or_else(wrong),
            _ => return Err(wrong()),
        }
        let ends = text.split_once("<>").or_else(|| text.split_once('-'));
        let (least, most) = ends.unwrap_or((text, text));
        let most = if most.trim().is_empty() { u32::MAX } else { number(most)? };
        Some(range(number(least)?, most)).filter(|range| range.least <= most).ok_or_else(wrong)
    }
}

impl Flags {
    #[inline]
    fn matches(&self, value: u8) -> bool {
        let value = value & !self.ignored;
        match self.how {
            FlagsHow::Exactly => value == self.bits,
            FlagsHow::All => value & self.bits == self.bits,
            FlagsHow::Any => value & self.bits != 0,
            FlagsHow::NotAll => value & self.bits == 0,
        }
    }

    /// Reads letters of `letters`, each standing for a bit, with `+`, `*` or `!`, and after a comma those to ignore.
    pub fn parse(text: &str, letters: &[(char, u8)]) -> Result<Flags, Mistake> {
        let bits = |text: &str| {
            let mut bits = 0;
            for letter in text.chars().filter(|letter| !letter.is_whitespace()) {
                let known = letters.iter().find(|(known, _)| known.eq_ignore_ascii_case(&letter));
                let (_, bit) = known.ok_or_else(|| {
                    let known: String = letters.iter().map(|(letter, _)| *letter).collect();
                    Mistake::new(format!("`{letter}` is no flag"), format!("the flags are {known}"))
                })?;
                bits |= bit;
            }
            Ok(bits)
        };
        let (set, ignored) = text.split_once(',').unwrap_or((text, ""));
        let how = match set {
            set if set.contains('+') => FlagsHow::All,
            set if set.contains('*') => FlagsHow::Any,
            set if set.contains('!') => FlagsHow::NotAll,
            _ => FlagsHow::Exactly,
        };
        let set: String = set.chars().filter(|c| !matches!(c, '+' | '*' | '!')).collect();
        Ok(Flags { bits: bits(&set)?, ignored: bits(ignored)?, how })
    }
}
