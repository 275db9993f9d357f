//! Reads the options of a rule.

use super::classes::Classes;
use super::header::Range;
use super::parts;
use super::patterns::{self, Draft};
use super::payload::{Part, PayloadKind, PayloadTest};
use super::pcre;
use super::text::{Mistake, Piece, Report};
use super::values::{field_test, header_test, number, threshold};
use super::{BitAction, Rule, Scope};

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
    let mut options = Options {
        rule,
        classes,
        bits,
        drafts: Vec::new(),
        part: Part::All,
        priority: None,
        has_wrong_number: false,
    };
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
    /// Whether there is a `sid` that is wrong, which is told.
    has_wrong_number: bool,
}

impl Options<'_> {
    fn option(&mut self, name: &str, value: &str) -> Result<(), Mistake> {
        match name {
            "msg" => self.rule.message = patterns::unescape(patterns::unquote(value)?),
            "sid" => {
                self.rule.sid = number(name, value).inspect_err(|_| self.has_wrong_number = true)?;
            }
            "gid" => self.rule.gid = number(name, value)?,
            "rev" => self.rule.rev = number(name, value)?,
            "priority" => self.priority = Some(number(name, value)?),
            "classtype" => self.class(value)?,
            "content" | "uricontent" => self.content(name, value)?,
            "pcre" => self.drafts.push(Draft::Test(pcre::pattern(value, self.part)?)),
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
            name if parts::part(name).is_some() => self.choose_part(name)?,
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
                name if parts::part(name).is_some() => self.choose_part(name)?,
                name if patterns::is_modifier(name) => self.modify(name, value.trim())?,
                name => return Err(unknown(name)),
            }
        }
        Ok(())
    }

    /// `http_uri` and the like behind a content, or `http.uri` and the like before contents.
    fn choose_part(&mut self, name: &str) -> Result<(), Mistake> {
        match (parts::part(name), self.drafts.last_mut()) {
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
                "stateless" | "no_frag" => {}
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
        if self.rule.sid == 0 && !self.has_wrong_number {
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
