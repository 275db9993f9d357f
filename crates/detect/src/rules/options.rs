//! Reads the options of a rule.

use super::classes::Classes;
use super::header::{Flags, HeaderTest, Range};
use super::patterns::{self, Draft};
use super::payload::{Compare, Field, Format, Jump, NumberTest, Part, PayloadKind, PayloadTest};
use super::text::{Mistake, Piece, Report};
use super::{BitAction, Rule, Scope, Threshold, ThresholdKind, Track};

/// Options that say nothing about packets.
const WITHOUT_EFFECT: &[&str] = &["reference", "metadata", "rawbytes", "target", "service", "soid", "rem"];
/// Most names of bits in all rules.
const MAX_BITS: usize = 65_536;

/// Reads the options of a rule into it.
pub fn read(
    rule: &mut Rule,
    body: Piece<'_>,
    classes: &Classes,
    bits: &mut Vec<String>,
    report: &mut Report<'_>,
) {
    let mut options = Options { rule, classes, bits, drafts: Vec::new(), part: Part::All, priority: None };
    for option in split(body) {
        let (name, value) = match option.text.split_once(':') {
            Some((name, _)) => (option.part(0, name.len()), option.part(name.len() + 1, option.text.len())),
            None => (option, option.part(option.text.len(), option.text.len())),
        };
        if let Err(mistake) = options.option(name.text, value.text) {
            report.error(name.offset, mistake);
        }
    }
    if let Err(mistake) = options.finish() {
        report.error(body.offset, mistake);
    }
}

/// The options between semicolons that are neither quoted nor escaped.
fn split(body: Piece<'_>) -> Vec<Piece<'_>> {
    let (mut is_quoted, mut is_escaped, mut from, mut options) = (false, false, 0, Vec::new());
    for (i, byte) in body.text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b';' if !is_quoted => {
                options.push(body.part(from, i));
                from = i + 1;
            }
            _ => {}
        }
    }
    options.push(body.part(from, body.text.len()));
    options.retain(|option| !option.text.is_empty());
    options
}

struct Options<'a> {
    rule: &'a mut Rule,
    classes: &'a Classes,
    bits: &'a mut Vec<String>,
    drafts: Vec<Draft>,
    /// The part that contents to come are searched in.
    part: Part,
    priority: Option<u8>,
}

impl Options<'_> {
    fn option(&mut self, name: &str, value: &str) -> Result<(), Mistake> {
        match name {
            "msg" => self.rule.message = patterns::unescape(patterns::unquote(value)?),
            "sid" => self.rule.sid = number(name, value)?,
            "gid" => self.rule.gid = number(name, value)?,
            "rev" => self.rule.rev = number(name, value)?,
            "priority" => self.priority = Some(number(name, value)?),
            "classtype" => self.class(value)?,
            "content" | "uricontent" => self.content(name, value)?,
            "pcre" => self.drafts.push(Draft::pattern(value, self.part)?),
            "isdataat" | "byte_test" | "byte_jump" => {
                let test = field_test(name, value)?;
                self.drafts.push(Draft::Test(PayloadTest { part: self.part, ..test }));
            }
            "urilen" | "bsize" => self.length(name, value)?,
            "flow" => self.flow(value)?,
            "flowbits" => self.flow_bits(value)?,
            "noalert" => self.rule.is_silent = true,
            "threshold" | "detection_filter" => self.rule.threshold = Some(threshold(name, value)?),
            name if WITHOUT_EFFECT.contains(&name) => {}
            name if patterns::is_modifier(name) => self.modify(name, value)?,
            name if patterns::part(name).is_some() => self.choose_part(name)?,
            name => match header_test(name, value)? {
                Some(test) => self.rule.header.push(test),
                None => return Err(unknown(name)),
            },
        }
        Ok(())
    }

    /// `content:"...",MODIFIER,...`, the modifiers being as in Snort 3.
    fn content(&mut self, name: &str, value: &str) -> Result<(), Mistake> {
        let part = if name == "uricontent" { Part::Uri } else { self.part };
        let end = patterns::end_of_quotes(value);
        let (quoted, modifiers) = value.split_at(end);
        self.drafts.push(Draft::content(quoted, part)?);
        for modifier in modifiers.split(',').map(str::trim).filter(|modifier| !modifier.is_empty()) {
            let (name, value) = modifier.split_once(char::is_whitespace).unwrap_or((modifier, ""));
            match name {
                name if patterns::part(name).is_some() => self.choose_part(name)?,
                name if patterns::is_modifier(name) => self.modify(name, value.trim())?,
                name => return Err(unknown(name)),
            }
        }
        Ok(())
    }

    /// `http_uri` and the like behind a content, or `http.uri` and the like before contents.
    fn choose_part(&mut self, name: &str) -> Result<(), Mistake> {
        match (patterns::part(name), self.drafts.last_mut()) {
            (Some((part, true)), Some(draft)) => draft.set_part(part),
            (Some((part, false)), _) => self.part = part,
            _ => {
                let message = format!("`{name}` has no content before it");
                return Err(Mistake::new(message, "put it behind the `content` that it is about"));
            }
        }
        Ok(())
    }

    /// `urilen` and `bsize`.
    fn length(&mut self, name: &str, value: &str) -> Result<(), Mistake> {
        let part = if name == "urilen" { Part::Uri } else { self.part };
        if part == Part::All {
            let message = "`bsize` has no part of HTTP before it";
            return Err(Mistake::new(message, "write `dsize` for the payload's length"));
        }
        let range = Range::parse(value.split(',').next().unwrap_or_default().trim())?;
        let kind = PayloadKind::Len(range);
        let test = PayloadTest { kind, part, is_negated: false, is_relative: false, wants_all: false };
        self.drafts.push(Draft::Test(test));
        Ok(())
    }

    fn modify(&mut self, name: &str, value: &str) -> Result<(), Mistake> {
        let mut drafts = self.drafts.iter_mut().rev();
        match drafts.find_map(|draft| if let Draft::Content(content) = draft { Some(content) } else { None })
        {
            Some(content) => content.modify(name, value),
            None => {
                let message = format!("`{name}` has no content before it");
                Err(Mistake::new(message, "put it behind the `content` that it is about"))
            }
        }
    }

    fn class(&mut self, name: &str) -> Result<(), Mistake> {
        let Some((category, priority)) = self.classes.get(name) else {
            let help = format!("define it before: `config classification: {name},DESCRIPTION,PRIORITY`");
            return Err(Mistake::new(format!("there is no class `{name}`"), help));
        };
        self.rule.category = category.to_string();
        self.rule.priority = priority;
        Ok(())
    }

    fn flow(&mut self, value: &str) -> Result<(), Mistake> {
        let flow = &mut self.rule.flow;
        for word in value.split(',').map(str::trim) {
            match word {
                "established" => flow.is_established = Some(true),
                "not_established" => flow.is_established = Some(false),
                "to_server" | "from_client" => flow.to_server = Some(true),
                "to_client" | "from_server" => flow.to_server = Some(false),
                "only_stream" => flow.scope = Scope::Stream,
                "no_stream" => flow.scope = Scope::Packet,
                "stateless" | "no_frag" | "only_frag" => {}
                _ => {
                    return Err(Mistake::new(
                        format!("`{word}` is nothing that flow knows"),
                        "write `established`, `not_established`, `stateless`, `to_server`, `to_client`, \
                         `only_stream` or `no_stream`",
                    ))
                }
            }
        }
        Ok(())
    }

    fn flow_bits(&mut self, value: &str) -> Result<(), Mistake> {
        let (action, names) = value.split_once(',').unwrap_or((value, ""));
        let action = match action.trim() {
            "noalert" => {
                self.rule.is_silent = true;
                return Ok(());
            }
            "set" => BitAction::Set,
            "unset" => BitAction::Unset,
            "toggle" => BitAction::Toggle,
            "isset" => BitAction::IsSet,
            "isnotset" => BitAction::IsNotSet,
            action => {
                let message = format!("`{action}` is nothing that flowbits knows");
                let help = "write `set`, `unset`, `toggle`, `isset`, `isnotset` or `noalert`";
                return Err(Mistake::new(message, help));
            }
        };
        // Names joined by `&` are several bits; `|` would need alternatives.
        for name in names.split('&').map(str::trim) {
            if name.is_empty() || name.contains(['|', ',']) {
                let message = format!("`{value}` names no bit, or alternatives");
                return Err(Mistake::new(
                    message,
                    "write `flowbits:isset,NAME`, and a rule for each alternative",
                ));
            }
            let bit = self.bit(name)?;
            self.rule.bits.push((action, bit));
        }
        Ok(())
    }

    fn bit(&mut self, name: &str) -> Result<u16, Mistake> {
        let known = self.bits.iter().position(|known| known == name);
        if known.is_none() && self.bits.len() >= MAX_BITS {
            let message = format!("there are more than {MAX_BITS} names of bits");
            return Err(Mistake::new(message, "use fewer names"));
        }
        let idx = known.unwrap_or_else(|| {
            self.bits.push(name.to_string());
            self.bits.len() - 1
        });
        Ok(u16::try_from(idx).unwrap_or(u16::MAX))
    }

    fn finish(self) -> Result<(), Mistake> {
        if let Some(priority) = self.priority {
            self.rule.priority = priority;
        }
        self.rule.payload = patterns::finish(self.drafts)?;
        if self.rule.sid == 0 {
            return Err(Mistake::new("the rule has no number", "add `sid:1000001;`"));
        }
        Ok(())
    }
}

fn unknown(name: &str) -> Mistake {
    let help = match name.contains('.') || name.contains("http_") || name.contains("app-layer") {
        true => "this part is not looked for: search the stream with `content` or `pcre`",
        false => "docs/intrusion-detection.md lists the options",
    };
    Mistake::new(format!("there is no option `{name}`"), help)
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, Mistake> {
    value.trim().parse().map_err(|_| {
        Mistake::new(format!("`{name}` needs a number, not `{value}`"), format!("write `{name}:1;`"))
    })
}

/// A test of a header field, if the option is one.
fn header_test(name: &str, value: &str) -> Result<Option<HeaderTest>, Mistake> {
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

fn threshold(name: &str, value: &str) -> Result<Threshold, Mistake> {
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
            ("count", value) => threshold.count = number("count", value)?,
            ("seconds", value) => threshold.seconds = number("seconds", value)?,
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
fn field_test(name: &str, value: &str) -> Result<PayloadTest, Mistake> {
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
