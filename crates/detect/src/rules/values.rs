//! Reads the values of options: tests of header fields and of numbers in the payload, thresholds.

use super::header::{Flags, HeaderTest, Range};
use super::payload::{Compare, Field, Format, Jump, NumberTest, Part, PayloadKind, PayloadTest};
use super::text::Mistake;
use super::{Threshold, ThresholdKind, Track};

/// A number.
pub fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, Mistake> {
    value.trim().parse().map_err(|_| {
        let digits = value.trim().trim_start_matches(['-', '+']);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let n_bits = 8 * std::mem::size_of::<T>();
            let help = if value.trim().starts_with('-') {
                "write a larger number"
            } else {
                "write a smaller number"
            };
            return Mistake::new(format!("`{value}` does not fit into the {n_bits} bits of `{name}`"), help);
        }
        Mistake::new(format!("`{name}` needs a number, not `{value}`"), format!("write `{name}:1;`"))
    })
}

/// A number of which 0 would make no sense.
fn positive(name: &str, value: &str) -> Result<u32, Mistake> {
    match number(name, value)? {
        0 => Err(Mistake::new(format!("`{name}` cannot be 0"), format!("write `{name} 1` or more"))),
        number => Ok(number),
    }
}

/// A test of a header field, if the option is one.
pub fn header_test(name: &str, value: &str) -> Result<Option<HeaderTest>, Mistake> {
    const TCP: &[(char, u8)] = &[
        ('F', 0x01),
        ('S', 0x02),
        ('R', 0x04),
        ('P', 0x08),
        ('A', 0x10),
        ('U', 0x20),
        ('E', 0x40),
        ('C', 0x80),
        ('2', 0x40),
        ('1', 0x80),
        ('0', 0),
    ];
    const FRAGMENT: &[(char, u8)] = &[('M', 0x20), ('D', 0x40), ('R', 0x80)];
    Ok(Some(match name {
        "dsize" => HeaderTest::PayloadLen(Range::parse(value)?),
        "ttl" => HeaderTest::Ttl(Range::parse(value)?),
        "tos" => HeaderTest::Tos(Range::parse(value)?),
        "id" => HeaderTest::Id(Range::parse(value)?),
        "itype" => HeaderTest::IcmpType(Range::parse(value)?),
        "icode" => HeaderTest::IcmpCode(Range::parse(value)?),
        "icmp_id" => HeaderTest::IcmpId(Range::parse(value)?),
        "icmp_seq" => HeaderTest::IcmpSequence(Range::parse(value)?),
        "seq" => HeaderTest::Sequence(Range::parse(value)?),
        "ack" => HeaderTest::Acknowledgment(Range::parse(value)?),
        "window" => HeaderTest::Window(Range::parse(value)?),
        "ip_proto" => HeaderTest::Protocol(protocol(value)?),
        "flags" | "tcp.flags" => HeaderTest::Flags(Flags::parse(value, TCP)?),
        "fragbits" => HeaderTest::FragmentBits(Flags::parse(value, FRAGMENT)?),
        "sameip" => HeaderTest::SameAddress,
        _ => return Ok(None),
    }))
}

fn protocol(value: &str) -> Result<Range, Mistake> {
    match value.trim_start_matches('!').to_ascii_lowercase().as_str() {
        "icmp" => Range::parse(&value.to_ascii_lowercase().replace("icmp", "1")),
        "tcp" => Range::parse(&value.to_ascii_lowercase().replace("tcp", "6")),
        "udp" => Range::parse(&value.to_ascii_lowercase().replace("udp", "17")),
        _ => Range::parse(value),
    }
}

/// `threshold` and `detection_filter`.
pub fn threshold(name: &str, value: &str) -> Result<Threshold, Mistake> {
    let after = ThresholdKind::After;
    let mut threshold = Threshold { kind: after, track: Track::Source, count: 0, seconds: 0 };
    for word in value.split(',').map(str::trim) {
        let (key, value) = word.split_once(char::is_whitespace).unwrap_or((word, ""));
        match (key, value.trim()) {
            ("type", "limit") => threshold.kind = ThresholdKind::Limit,
            ("type", "threshold") => threshold.kind = ThresholdKind::Threshold,
            ("type", "both") => threshold.kind = ThresholdKind::Both,
            ("track", "by_src") => threshold.track = Track::Source,
            ("track", "by_dst") => threshold.track = Track::Destination,
            ("track", "by_rule") => threshold.track = Track::Rule,
            ("count", value) => threshold.count = positive("count", value)?,
            ("seconds", value) => threshold.seconds = positive("seconds", value)?,
            _ => {
                let message = format!("`{word}` is nothing that {name} knows");
                let help = "write `type limit, track by_src, count 1, seconds 60`";
                return Err(Mistake::new(message, help));
            }
        }
    }
    let is_filter = name == "detection_filter";
    if threshold.count == 0 || threshold.seconds == 0 || is_filter != (threshold.kind == after) {
        let kind = if is_filter { "" } else { "type limit, " };
        let help = format!("write `{name}:{kind}track by_src, count 5, seconds 60;`");
        return Err(Mistake::new(format!("{name} is not complete"), help));
    }
    Ok(threshold)
}

/// `isdataat`, `byte_test` and `byte_jump`.
pub fn field_test(name: &str, value: &str) -> Result<PayloadTest, Mistake> {
    let words: Vec<&str> = value.split(',').map(str::trim).collect();
    let has = |word: &str| words.contains(&word);
    let word = |i: usize| words.get(i).copied().unwrap_or("");
    let (mut is_negated, is_relative) = (false, has("relative"));
    let (n_bytes, kind) = match name {
        "isdataat" => {
            is_negated = word(0).starts_with('!');
            let kind = PayloadKind::HasMore(number(name, word(0).trim_start_matches('!'))?);
            (1, kind)
        }
        "byte_test" => {
            let (negated, compare) = comparison(word(1))?;
            is_negated = negated;
            let field = Field {
                n_bytes: number(name, word(0))?,
                offset: number(name, word(3))?,
                format: format(&words),
            };
            (
                field.n_bytes,
                PayloadKind::Number(NumberTest { field, compare, value: any_base(name, word(2))? }),
            )
        }
        _ => {
            let field = Field {
                n_bytes: number(name, word(0))?,
                offset: number(name, word(1))?,
                format: format(&words),
            };
            let after = |key: &str| words.iter().find_map(|word| word.strip_prefix(key)).map(str::trim);
            let jump = Jump {
                field,
                multiplier: after("multiplier ").map_or(Ok(1), |value| number("multiplier", value))?,
                is_aligned: has("align"),
                from_beginning: has("from_beginning"),
                post_offset: after("post_offset ").map_or(Ok(0), |value| number("post_offset", value))?,
            };
            (field.n_bytes, PayloadKind::Jump(jump))
        }
    };
    let n_own = match name {
        "isdataat" => 1,
        "byte_test" => 4,
        _ => 2,
    };
    let is_jump = matches!(&kind, PayloadKind::Jump(_));
    let is_known = |word: &&&str| match **word {
        "relative" | "string" | "hex" | "dec" | "oct" | "little" | "big" | "rawbytes" => true,
        "align" | "from_beginning" => is_jump,
        word => is_jump && (word.starts_with("multiplier ") || word.starts_with("post_offset ")),
    };
    if let Some(word) = words.iter().skip(n_own).find(|word| !is_known(word)) {
        return Err(Mistake::new(
            format!("`{word}` is nothing that {name} knows"),
            "write `relative`, `string`, `hex`, `dec`, `oct`, `little` or `big`, and for byte_jump `align`, \
             `from_beginning`, `multiplier N` or `post_offset N`",
        ));
    }
    let is_text = matches!(&kind, PayloadKind::Number(NumberTest { field, .. }) | PayloadKind::Jump(Jump { field, .. })
        if matches!(field.format, Format::Digits(_)));
    if !(1..=if is_text { 20 } else { 8 }).contains(&n_bytes) {
        return Err(Mistake::new(format!("{name} reads 1 to 8 bytes, or up to 20 digits"), "read fewer"));
    }
    Ok(PayloadTest { kind, part: Part::All, is_negated, is_relative, wants_all: false })
}

fn comparison(text: &str) -> Result<(bool, Compare), Mistake> {
    let (is_negated, text) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest.trim()));
    let compare = match text {
        "=" => Compare::Equal,
        // `!` alone means not equal.
        "" if is_negated => Compare::Equal,
        "<" => Compare::Less,
        ">" => Compare::Greater,
        "<=" => Compare::LessOrEqual,
        ">=" => Compare::GreaterOrEqual,
        "&" => Compare::And,
        "^" => Compare::Xor,
        _ => {
            return Err(Mistake::new(
                format!("`{text}` compares nothing"),
                "write `<`, `>`, `=`, `<=`, `>=`, `&` or `^`",
            ))
        }
    };
    Ok((is_negated, compare))
}

fn any_base(name: &str, text: &str) -> Result<u64, Mistake> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).or_else(|_| number(name, text)),
        None => number(name, text),
    }
}

fn format(words: &[&str]) -> Format {
    let has = |word: &str| words.contains(&word);
    match () {
        () if has("string") && has("hex") => Format::Digits(16),
        () if has("string") && has("dec") => Format::Digits(10),
        () if has("string") && has("oct") => Format::Digits(8),
        () if has("string") => Format::Digits(0),
        () if has("little") => Format::LittleEndian,
        () => Format::BigEndian,
    }
}
