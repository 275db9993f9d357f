//! Fields of IP packets as people write them: `ip dst/24`, `tcp flags`, `ip[8:2] & 0x3F0`.

use args::{NameKind, Scope};
use element::{failure, output};

/// Ports of TCP or UDP.
pub const TCP_OR_UDP: u32 = 256;
/// The transport header, whatever the protocol.
pub const TRANSPORT: u32 = 258;
/// What follows the transport header of TCP or UDP.
pub const PAYLOAD: u32 = 259;

const MAX_PROTOCOL: i32 = 0x1FF;

/// Bits of a header: which header, where, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpField {
    /// IP protocol of the header, 0 for IP itself, or one of the groups above.
    pub protocol: u32,
    /// Where the field begins.
    pub bit_offset: u32,
    /// Its length.
    pub bit_length: u32,
}

type Named = (&'static str, u32, u32);

/// Name, bit offset, bit length; where two names mean one field, the first is the one that is shown.
const IP: &[Named] = &[
    ("df", 49, 1),
    ("dscp", 8, 6),
    ("dst", 128, 32),
    ("ecn", 14, 2),
    ("fragoff", 51, 13),
    ("hl", 4, 4),
    ("id", 32, 16),
    ("len", 16, 16),
    ("mf", 50, 1),
    ("off", 48, 16),
    ("proto", 72, 8),
    ("rf", 48, 1),
    ("src", 96, 32),
    ("sum", 80, 16),
    ("tos", 8, 8),
    ("ttl", 64, 8),
    ("vers", 0, 4),
];
const ICMP: &[Named] = &[("code", 8, 8), ("sum", 16, 16), ("type", 0, 8)];
const TCP: &[Named] = &[
    ("ack", 107, 1),
    ("ackno", 64, 32),
    ("dport", 16, 16),
    ("fin", 111, 1),
    ("flags", 104, 8),
    ("hl", 96, 4),
    ("psh", 108, 1),
    ("push", 108, 1),
    ("rst", 109, 1),
    ("seq", 32, 32),
    ("seqno", 32, 32),
    ("sport", 0, 16),
    ("sum", 128, 16),
    ("syn", 110, 1),
    ("urg", 106, 1),
    ("urp", 144, 16),
    ("win", 112, 16),
];
const UDP: &[Named] = &[("dport", 16, 16), ("len", 32, 16), ("sport", 0, 16), ("sum", 48, 16)];
const PORTS: &[Named] = &[("dport", 16, 16), ("sport", 0, 16)];

fn names(header: u32) -> &'static [Named] {
    match header {
        0 => IP,
        1 => ICMP,
        6 => TCP,
        17 => UDP,
        TCP_OR_UDP => PORTS,
        _ => &[],
    }
}

fn syntax() -> String {
    "expected 'HEADER [NAME] [{OFFSET:LENGTH}] [/PREFIX] [& MASK]'".to_string()
}

fn bad_range() -> String {
    "bad offset or length in TCP/IP field".to_string()
}

fn bad_mask() -> String {
    "bad prefix or mask in TCP/IP field".to_string()
}

impl IpField {
    /// A field, if its numbers are in the range that Click can hold: lengths above 64 bits and offsets above 8191 bits
    /// only where both are whole bytes.
    fn new(protocol: i32, bit_offset: i32, bit_length: i32) -> Option<IpField> {
        if !(0..=MAX_PROTOCOL).contains(&protocol) || bit_offset < 0 || bit_length <= 0 {
            return None;
        }
        let is_small = bit_offset <= 0x1FFF && bit_length <= 64;
        let is_bytes =
            bit_offset % 8 == 0 && bit_length % 8 == 0 && bit_length <= 512 && bit_offset <= 0xFFF8;
        (is_small || is_bytes).then_some(IpField {
            protocol: protocol as u32,
            bit_offset: bit_offset as u32,
            bit_length: bit_length as u32,
        })
    }

    /// Parses a field at the start of `text`; gives it, `None` if it is a field that cannot exist, and what follows.
    /// As in Click, what stands behind a header and is no field is also printed as it is.
    pub fn parse<'t>(text: &'t str, scope: &Scope<'_>) -> Result<(Option<IpField>, &'t str), String> {
        let (header, rest) = parse_header(text, scope).ok_or_else(syntax)?;
        let (named, rest) = match parse_name(rest, header) {
            Some((field, rest)) => (Some(field), rest),
            None => (None, rest),
        };
        let mut numbers = (-1, -1);
        let limited = parse_limits(rest, &mut numbers);
        if limited.is_none() && named.is_none() {
            if failure::is_told_as_click() && !rest.is_empty() {
                output::tell(rest);
            }
            return Err(syntax());
        }
        let rest = limited.unwrap_or(rest);
        let field = limit(header, named, numbers)?;
        let (field, rest) = parse_prefix(field, rest)?;
        parse_mask(field, rest)
    }

    /// The field as it could have been written.
    pub fn unparse(&self, scope: &Scope<'_>) -> String {
        let mut text = match (self.protocol, scope.name_of(NameKind::Protocol, self.protocol)) {
            (0, _) => "ip".to_string(),
            (_, Some(name)) => name,
            (number, None) => format!("ip proto {number}"),
        };
        let name_of = |offset: u32, length: u32| {
            let is_wanted = |named: &&Named| named.1 == offset && named.2 == length;
            names(self.protocol).iter().find(is_wanted).map(|named| named.0)
        };
        let (mut offset, length) = (self.bit_offset, self.bit_length);
        if let Some(name) = name_of(offset, length) {
            return text + " " + name;
        }
        for container in [8, 16, 32] {
            if offset / container != (offset + length - 1) / container {
                continue;
            }
            if let Some(name) = name_of(offset & !(container - 1), container) {
                text = text + " " + name;
                offset &= container - 1;
                if offset == 0 {
                    return format!("{text}/{length}");
                }
                break;
            }
        }
        text + &match (offset % 8, length % 8) {
            (0, 0) if length == 8 => format!("[{}]", offset / 8),
            (0, 0) => format!("[{}:{}]", offset / 8, length / 8),
            _ if length == 1 => format!("{{{offset}}}"),
            _ => format!("{{{offset}:{length}}}"),
        }
    }
}

/// Applies `[..]` or `{..}` to a named field, or to the header where none is named.
fn limit(
    header: i32,
    named: Option<IpField>,
    (offset, length): (i32, i32),
) -> Result<Option<IpField>, String> {
    if offset >= 0 && length <= 0 {
        return Err(bad_range());
    }
    match named {
        Some(named) => {
            let n_bits = named.bit_length as i32;
            if offset >= n_bits || offset.wrapping_add(length) > n_bits {
                return Err(bad_range());
            }
            if offset < 0 {
                return Ok(Some(named));
            }
            Ok(IpField::new(named.protocol as i32, named.bit_offset as i32 + offset, length))
        }
        None if offset >= 0 => Ok(IpField::new(header, offset, length)),
        None => Err(bad_range()),
    }
}

fn parse_header<'t>(text: &'t str, scope: &Scope<'_>) -> Option<(i32, &'t str)> {
    if let Some(after) = text.strip_prefix("ip").filter(|after| after.starts_with(is_space)) {
        let number = after.trim_start_matches(is_space).strip_prefix("proto").and_then(number);
        if number.is_some() {
            return number;
        }
    }
    let is_word_byte = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if let Some(after) = text.strip_prefix("ip").filter(|after| !after.starts_with(is_word_byte)) {
        return Some((0, after));
    }
    let (word, rest) = text.split_at(text.find(is_space).unwrap_or(text.len()));
    let protocol = scope.integer(NameKind::Protocol, word).filter(|_| !word.is_empty())?;
    Some((protocol as i32, rest))
}

fn parse_name(text: &str, header: i32) -> Option<(IpField, &str)> {
    let text = text.trim_start_matches(is_space);
    let end = text.find(|c| is_space(c) || matches!(c, '/' | '[' | '{' | '&')).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let header = u32::try_from(header).ok()?;
    // Under `ip` these two are fields of either protocol.
    let ports = ["sport", "dport"].contains(&word) && header == 0;
    let protocol = if ports { TCP_OR_UDP } else { header };
    let named = names(protocol).iter().find(|named| named.0 == word)?;
    Some((IpField { protocol, bit_offset: named.1, bit_length: named.2 }, rest))
}

/// Parses `[..]` or `{..}` into bits; `numbers` keeps what was read before a text turned out to be wrong.
fn parse_limits<'t>(text: &'t str, numbers: &mut (i32, i32)) -> Option<&'t str> {
    for (open, close, unit) in [('[', ']', 8), ('{', '}', 1)] {
        let Some((first, rest)) = symbol(text, open).and_then(number) else { continue };
        numbers.0 = first;
        if let Some(rest) = symbol(rest, close) {
            *numbers = (first.wrapping_mul(unit), unit);
            return Some(rest);
        }
        for separator in [':', '-'] {
            let Some((second, rest)) = symbol(rest, separator).and_then(number) else { continue };
            numbers.1 = second;
            let Some(rest) = symbol(rest, close) else { continue };
            let offset = first.wrapping_mul(unit);
            // Click's own arithmetic: the end is in bytes while the start is in bits already.
            let length = if separator == ':' { second } else { second.wrapping_sub(offset).wrapping_add(1) };
            *numbers = (offset, length.wrapping_mul(unit));
            return Some(rest);
        }
    }
    None
}

fn parse_prefix(field: Option<IpField>, text: &str) -> Result<(Option<IpField>, &str), String> {
    let Some((length, rest)) = symbol(text, '/').and_then(number) else { return Ok((field, text)) };
    let Some(field) = field else { return Ok((None, rest)) };
    if i64::from(length) > i64::from(field.bit_length) {
        return Err(bad_mask());
    }
    Ok((IpField::new(field.protocol as i32, field.bit_offset as i32, length), rest))
}

fn parse_mask(field: Option<IpField>, text: &str) -> Result<(Option<IpField>, &str), String> {
    let Some((mask, rest)) = symbol(text, '&').and_then(number) else { return Ok((field, text)) };
    let Some(field) = field else { return Ok((None, rest)) };
    let mask = mask as u32;
    if mask == 0 {
        return Err(bad_mask());
    }
    let low = mask.trailing_zeros() as i32;
    let above = mask.wrapping_add(1 << low);
    // A mask that reaches the word's top bit leaves nothing above it; Click then has no field.
    let high = if above == 0 { -1 } else { above.trailing_zeros() as i32 };
    let n_bits = field.bit_length as i32;
    if above & above.wrapping_sub(1) != 0 || high > n_bits {
        return Err(bad_mask());
    }
    let offset = field.bit_offset as i32 + n_bits - high;
    Ok((IpField::new(field.protocol as i32, offset, high - low), rest))
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

/// What follows a symbol with space around it.
fn symbol(text: &str, symbol: char) -> Option<&str> {
    text.trim_start_matches(is_space).strip_prefix(symbol)
}

/// An unsigned number after optional space, in 32 bits, and what follows it.
fn number(text: &str) -> Option<(i32, &str)> {
    let (value, rest) = args::integer_prefix(text.trim_start_matches(is_space))?;
    Some((u32::try_from(value).unwrap_or(u32::MAX) as i32, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn check(texts: &[&str], expect: Expect) {
        let scope = Scope::builtin();
        let show = |text: &&str| match IpField::parse(text, &scope) {
            Ok((Some(field), rest)) => {
                let (offset, length) = (field.bit_offset, field.bit_length);
                format!(
                    "{text}: {} {}+{length} {:?} {rest:?}\n",
                    field.protocol,
                    offset,
                    field.unparse(&scope)
                )
            }
            Ok((None, rest)) => format!("{text}: none {rest:?}\n"),
            Err(error) => format!("{text}: {error}\n"),
        };
        expect.assert_eq(&texts.iter().map(show).collect::<String>());
    }

    #[test]
    fn fields() {
        check(
            &[
                "ip dst/24",
                "ip src",
                "ip[8:2] & 0x3F0",
                "tcp flags",
                "ip proto 17 [2:2]",
                "ip{96-103}",
                "transp [0]",
            ],
            expect![[r#"
                ip dst/24: 0 128+24 "ip dst/24" ""
                ip src: 0 96+32 "ip src" ""
                ip[8:2] & 0x3F0: 0 70+6 "ip{70:6}" ""
                tcp flags: 6 104+8 "tcp flags" ""
                ip proto 17 [2:2]: 17 16+16 "udp dport" ""
                ip{96-103}: 0 96+8 "ip src/8" ""
                transp [0]: 258 0+8 "transp[0]" ""
            "#]],
        );
    }

    #[test]
    fn wrong_fields() {
        check(
            &["", "ip", "ip foo", "ip[3", "ip dst/33", "ip tos & 5", "ip tos & 0", "ip[0:0]"],
            expect![[r#"
                : expected 'HEADER [NAME] [{OFFSET:LENGTH}] [/PREFIX] [& MASK]'
                ip: expected 'HEADER [NAME] [{OFFSET:LENGTH}] [/PREFIX] [& MASK]'
                ip foo: expected 'HEADER [NAME] [{OFFSET:LENGTH}] [/PREFIX] [& MASK]'
                ip[3: expected 'HEADER [NAME] [{OFFSET:LENGTH}] [/PREFIX] [& MASK]'
                ip dst/33: bad prefix or mask in TCP/IP field
                ip tos & 5: bad prefix or mask in TCP/IP field
                ip tos & 0: bad prefix or mask in TCP/IP field
                ip[0:0]: bad offset or length in TCP/IP field
            "#]],
        );
    }

    proptest! {
        #[test]
        fn any_text(text in "(ip|tcp|ip proto 6)? ?(dst|sport)?[\\[{]?[0-9:x -]{0,12}[\\]}]?[/&]?[0-9]{0,11}") {
            let scope = Scope::builtin();
            if let Ok((Some(field), _)) = IpField::parse(&text, &scope) {
                prop_assert!(field.bit_length > 0 && !field.unparse(&scope).is_empty());
            }
        }
    }
}
