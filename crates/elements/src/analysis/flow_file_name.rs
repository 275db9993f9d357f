//! Names of files, one a flow: a pattern whose escapes tell of the flow's first packet.

use std::net::Ipv4Addr;

use element::{annotation, Packet};
use wire::protocol;

use super::summary::describe::u16_at;

/// More than a file's name may have.
const MAX_WIDTH: usize = 4096;

/// A pattern such as `/tmp/flow%03n`.
pub struct NamePattern(Vec<Piece>);

enum Piece {
    Text(String),
    Escape(Escape),
}

/// What stands between `%` and a letter, and the letter, which may be missing at the end.
struct Escape {
    letter: Option<char>,
    has_zeroes: bool,
    width: usize,
    precision: Option<usize>,
}

/// Reads a number from the front of a text; `None` if there is none.
fn number(text: &mut &str) -> Option<usize> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(len).filter(|_| len > 0)?;
    *text = rest;
    Some(digits.parse().unwrap_or(usize::MAX))
}

impl Escape {
    /// Reads what follows `%`.
    fn parse(text: &mut &str) -> Escape {
        let has_zeroes = text.starts_with('0');
        *text = text.strip_prefix('0').unwrap_or(text);
        let width = number(text).unwrap_or(0).min(MAX_WIDTH);
        let precision = text.strip_prefix('.').map(|rest| {
            *text = rest;
            number(text).unwrap_or(0)
        });
        let mut chars = text.chars();
        let letter = chars.next();
        *text = chars.as_str();
        Escape { letter, has_zeroes, width, precision }
    }

    /// What stands for the escape, or what is wrong with it.
    fn value(&self, packet: &Packet) -> Result<String, String> {
        let (network, transport) = (packet.network(), packet.transport());
        let aggregate = self.part_of(packet.anno_u32(annotation::AGGREGATE));
        let address = |at: usize| u32::from(u16_at(network, at)) << 16 | u32::from(u16_at(network, at + 2));
        Ok(match self.letter {
            Some('n') => (aggregate as i32).to_string(),
            Some('x') => format!("{aggregate:x}"),
            Some('X') => format!("{aggregate:X}"),
            Some('s') => self.address(address(12)),
            Some('d') => self.address(address(16)),
            Some('S') => u16_at(transport, 0).to_string(),
            Some('D') => u16_at(transport, 2).to_string(),
            Some('p') if network.get(9) == Some(&protocol::TCP) => "T".to_string(),
            Some('p') => "U".to_string(),
            Some('%') => "%".to_string(),
            Some(letter) => return Err(format!("bad filename pattern `%{letter}'")),
            None => return Err("bad filename pattern".to_string()),
        })
    }

    /// A byte of a number, or a half, counted from the front.
    fn part_of(&self, number: u32) -> u32 {
        match self.precision {
            Some(idx @ 0..=3) => number >> ((3 - idx) * 8) & 0xFF,
            Some(idx @ 4..=5) => number >> ((5 - idx) * 16) & 0xFFFF,
            _ => number,
        }
    }

    fn address(&self, address: u32) -> String {
        match self.precision {
            Some(0..=3) => self.part_of(address).to_string(),
            _ => Ipv4Addr::from(address).to_string(),
        }
    }
}

impl NamePattern {
    /// Any text is a pattern; mistakes are told when it is used.
    pub fn parse(mut text: &str) -> NamePattern {
        let mut pieces = Vec::new();
        while let Some((before, rest)) = text.split_once('%') {
            text = rest;
            pieces.push(Piece::Text(before.to_string()));
            pieces.push(Piece::Escape(Escape::parse(&mut text)));
        }
        pieces.push(Piece::Text(text.to_string()));
        NamePattern(pieces)
    }

    /// The name for the flow of a packet; mistakes are told to `tell`.
    pub fn name(&self, packet: &Packet, tell: &mut dyn FnMut(&str)) -> String {
        let mut name = String::new();
        for piece in &self.0 {
            let escape = match piece {
                Piece::Text(text) => {
                    name += text;
                    continue;
                }
                Piece::Escape(escape) => escape,
            };
            let value = escape.value(packet).unwrap_or_else(|error| {
                tell(&error);
                String::new()
            });
            let padding = if escape.has_zeroes { "0" } else { "_" };
            name += &padding.repeat(escape.width.saturating_sub(value.len()));
            name += &value;
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(pattern: &str) -> (String, Vec<String>) {
        let mut packet = Packet::from_bytes(&[
            0x45, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 1, 22, 3, 4, 5, 6, 7, 8, 0, 80, 1, 0,
        ]);
        packet.set_network_header(0, 20);
        packet.set_anno_u32(annotation::AGGREGATE, 0x0102_A3B4);
        let mut told = Vec::new();
        let name = NamePattern::parse(pattern).name(&packet, &mut |text| told.push(text.to_string()));
        (name, told)
    }

    #[test]
    fn escapes_tell_of_the_packet() {
        let names = [
            ("%n-%x-%X", "16950196-102a3b4-102A3B4"),
            ("%.0n,%.1n,%.2n,%.3n,%.4n,%.5n,%.6n,%.n", "1,2,163,180,258,41908,16950196,1"),
            ("%.2x%.3X", "a3B4"),
            ("%s %.1s %d %.3d %.9d", "1.22.3.4 22 5.6.7.8 8 5.6.7.8"),
            ("%S>%D%p%%", "80>256T%"),
            ("%04.0n %4.0n %03%", "0001 ___1 00%"),
        ];
        for (pattern, expected) in names {
            assert_eq!(name(pattern), (expected.to_string(), Vec::new()));
        }
    }

    #[test]
    fn unknown_escapes_are_told() {
        let told = |text: &str| vec![text.to_string()];
        assert_eq!(name("a%03qb"), ("a000b".to_string(), told("bad filename pattern `%q'")));
        assert_eq!(name("a%2"), ("a__".to_string(), told("bad filename pattern")));
    }

    proptest! {
        #[test]
        fn any_text_is_a_pattern(pattern in "([%.0-9nxsdSDpXé]|[^/]){0,12}") {
            name(&pattern);
        }
    }
}
