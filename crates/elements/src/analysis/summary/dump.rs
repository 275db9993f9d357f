//! Reading dumps: what lines say of packets, and of the lines that follow.

use args::{NameKind, Scope};
use element::output::reason;
use element::Packet;
use wire::protocol;

use super::compose::{Composer, Defaults};
use super::input::Input;
use super::{find, Field, VERSION};

/// A dump that is being read.
pub struct Dump {
    /// Where it is read from.
    pub input: Input,
    /// What is known of packets besides their fields.
    pub defaults: Defaults,
    /// Whether packets' checksums are set.
    pub sets_checksums: bool,
    /// The fields in a line; one that is not known stands for nothing.
    fields: Vec<Option<&'static Field>>,
    /// The fields' indices in the order in which they are put into a packet.
    order: Vec<usize>,
    is_binary: bool,
    has_complained: bool,
    line: Vec<u8>,
}

/// What came next in a dump.
pub enum Next {
    /// A packet.
    Packet(Packet),
    /// A line that makes no packet.
    Nothing,
    /// The end.
    End,
}

/// What there is to tell of a dump.
pub enum Remark {
    /// Something is doubtful.
    Warning(String),
    /// Something is wrong.
    Error(String),
}

impl Dump {
    /// A dump that is read from `input`.
    pub fn new(input: Input, defaults: Defaults, sets_checksums: bool) -> Dump {
        Dump {
            input,
            defaults,
            sets_checksums,
            fields: Vec::new(),
            order: Vec::new(),
            is_binary: false,
            has_complained: false,
            line: Vec::new(),
        }
    }

    /// Looks at the first line, which should say what version the dump is.
    pub fn begin(&mut self) -> Result<Option<Remark>, String> {
        self.defaults.minor_version = VERSION.1;
        let line = self.input.look_at_first_line().map_err(|error| self.input.at(&reason(&error)))?;
        let Some(version) = line.strip_prefix(b"!IPSummaryDump") else {
            let starts: [&[u8]; 5] = [b"!creator", b"!data", b"!contents", b"!proto", b"!flowid"];
            let is_dump = starts.iter().any(|start| line.starts_with(start)) || !self.fields.is_empty();
            let message = "missing banner line; is this an IP summary dump?";
            return Ok((!is_dump).then(|| Remark::Warning(message.to_string())));
        };
        let mut remark = None;
        if let Some((major, minor)) = parse_version(version) {
            self.defaults.minor_version = minor;
            if major != VERSION.0 || minor > VERSION.1 {
                let message = format!("unexpected IPSummaryDump version {major}.{minor}");
                remark = Some(Remark::Warning(message));
                self.defaults.minor_version = VERSION.1;
            }
        }
        let mut line = Vec::new();
        // It has been read already.
        let _ = self.input.read_line(&mut line);
        Ok(remark)
    }

    /// Takes a list of fields, as `!data` gives it.
    pub fn set_fields(&mut self, text: &str, remarks: &mut Vec<Remark>) {
        self.fields.clear();
        for (idx, word) in args::split_words(text).iter().enumerate() {
            let name = args::unquote_text(word);
            if idx == 0 && (name == "!data" || name == "!contents") {
                continue;
            }
            let field = find(&name).filter(|field| field.inject.is_some());
            if field.is_none() {
                remarks.push(Remark::Warning(format!("unknown content type '{name}'")));
            }
            self.fields.push(field);
        }
        if self.fields.is_empty() {
            remarks.push(Remark::Error("no contents specified".to_string()));
        }
        self.order = (0..self.fields.len()).collect();
        let fields = &self.fields;
        let rank = |idx: &usize| fields.get(*idx).copied().flatten().map_or(100, |field| field.order);
        self.order.sort_by_key(rank);
    }

    /// Takes a flow identifier, as `!flowid` gives it. As in Click, its addresses and ports are not used: packets get IP
    /// headers and ports, of zeros.
    pub fn set_flow(&mut self, text: &str, remarks: &mut Vec<Remark>) {
        let words = args::split_words(text);
        let is_address = |word: &String| word == "-" || args::ip(word, &Scope::builtin()).is_ok();
        let is_port = |word: &String| word == "-" || args::integer::<u16>(word).is_ok();
        self.defaults.has_flow = matches!(words.as_slice(), [_, source, sport, destination, dport, ..]
            if is_address(source) && is_port(sport) && is_address(destination) && is_port(dport));
        if !self.defaults.has_flow {
            remarks.push(Remark::Error("bad !flowid specification".to_string()));
        } else if let Some(protocol) = words.get(5) {
            self.set_protocol(&format!("! {protocol}"), "!flowid", remarks);
        }
    }

    fn set_protocol(&mut self, text: &str, what: &str, remarks: &mut Vec<Remark>) {
        let words = args::split_words(text);
        let [_, name] = words.as_slice() else {
            return remarks.push(Remark::Error(format!("bad {what}")));
        };
        let number = Scope::builtin().integer_or_number(NameKind::Protocol, name);
        match (number.and_then(|number| u8::try_from(number).ok()), name.as_str()) {
            (Some(number), _) => self.defaults.protocol = number,
            (None, "T") => self.defaults.protocol = protocol::TCP,
            (None, "U") => self.defaults.protocol = protocol::UDP,
            (None, "I") => self.defaults.protocol = protocol::ICMP,
            _ => remarks.push(Remark::Error(format!("bad protocol in {what}"))),
        }
    }

    /// Reads up to the next line that should be a packet, and makes it.
    pub fn next(&mut self, report: &mut dyn FnMut(&str)) -> Next {
        let mut line = std::mem::take(&mut self.line);
        let mut remarks = Vec::new();
        let next = loop {
            match self.read(&mut line, &mut remarks) {
                None => {
                    self.report(&mut remarks, report);
                    self.input.close();
                    break Next::End;
                }
                Some(is_packet) => {
                    if is_packet {
                        let next = self.packet(&line, &mut remarks).map_or(Next::Nothing, Next::Packet);
                        self.report(&mut remarks, report);
                        break next;
                    }
                    let begins_records = self.bang(&line, &mut remarks);
                    self.report(&mut remarks, report);
                    if begins_records {
                        self.is_binary = true;
                        self.input.begin_records();
                    }
                }
            }
        };
        self.line = line;
        next
    }

    fn report(&self, remarks: &mut Vec<Remark>, report: &mut dyn FnMut(&str)) {
        for remark in remarks.drain(..) {
            match remark {
                Remark::Warning(message) => {
                    message.split('\n').for_each(|line| report(&self.input.at(&format!("warning: {line}"))));
                }
                Remark::Error(message) => report(&self.input.at(&message)),
            }
        }
    }

    /// Reads a line or a record; tells whether it is a packet, or `None` at the end.
    fn read(&mut self, line: &mut Vec<u8>, remarks: &mut Vec<Remark>) -> Option<bool> {
        let result = if self.is_binary { self.read_record(line, remarks) } else { self.read_text(line) };
        result.unwrap_or_else(|error| {
            remarks.push(Remark::Error(reason(&error)));
            None
        })
    }

    fn read_text(&mut self, line: &mut Vec<u8>) -> std::io::Result<Option<bool>> {
        let has_line = self.input.read_line(line)?;
        Ok(has_line.then(|| !matches!(line.first(), Some(b'!' | b'#'))))
    }

    fn read_record(
        &mut self,
        line: &mut Vec<u8>,
        remarks: &mut Vec<Remark>,
    ) -> std::io::Result<Option<bool>> {
        if !self.input.read_bytes(4, line)? {
            return Ok(None);
        }
        let word = super::number(line) as u32;
        let (is_text, len) = (word >> 31 != 0, word & 0x7FFF_FFFF);
        if len < 4 {
            remarks.push(Remark::Error("binary record too short".to_string()));
            return Ok(None);
        }
        if !self.input.read_bytes(len as usize - 4, line)? || line.is_empty() {
            return Ok(None);
        }
        self.input.count_record();
        if !is_text {
            return Ok(Some(true));
        }
        let len = line.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        line.truncate(len);
        Ok(Some(!matches!(line.first(), None | Some(b'!' | b'#'))))
    }

    /// Obeys a line that starts with `!`; tells whether binary records follow.
    fn bang(&mut self, line: &[u8], remarks: &mut Vec<Remark>) -> bool {
        let Some(end) = line.iter().position(|byte| is_space(*byte)) else { return false };
        let (word, text) = (line.get(..end).unwrap_or(&[]), String::from_utf8_lossy(line));
        match word {
            b"!data" | b"!contents" => self.set_fields(&text, remarks),
            b"!flowid" => self.set_flow(&text, remarks),
            b"!proto" => self.set_protocol(&text, "!proto", remarks),
            b"!aggregate" => {
                // As in Click, the number is checked, but not used.
                let words = args::split_words(&text);
                let is_right =
                    matches!(words.as_slice(), [_, number] if args::integer::<u32>(number).is_ok());
                if !is_right {
                    remarks.push(Remark::Error("bad !aggregate specification".to_string()));
                }
            }
            b"!binary" => {
                if args::split_words(&text).len() != 1 {
                    remarks.push(Remark::Error("bad !binary specification".to_string()));
                }
                return true;
            }
            _ => {}
        }
        false
    }

    fn packet(&mut self, line: &[u8], remarks: &mut Vec<Remark>) -> Option<Packet> {
        let mut composer = Composer::new(self.defaults);
        let has_fields = if self.is_binary {
            self.inject_record(&mut composer, line)
        } else {
            self.inject_words(&mut composer, line)
        };
        if has_fields {
            return Some(composer.finish(self.sets_checksums));
        }
        if !self.has_complained && (self.is_binary || !line.iter().all(|byte| is_space(*byte))) {
            self.has_complained = true;
            let message = if self.fields.is_empty() { "no '!data' provided" } else { "packet parse error" };
            remarks.push(Remark::Error(message.to_string()));
        }
        None
    }

    fn inject_record(&self, composer: &mut Composer, mut record: &[u8]) -> bool {
        let fields = self.fields.iter();
        let mut values: Vec<_> =
            fields.map(|field| field.and_then(|field| field.read_binary(&mut record))).collect();
        let mut has_fields = false;
        for idx in &self.order {
            let inject = self.fields.get(*idx).copied().flatten().and_then(|field| field.inject);
            if let (Some(inject), Some(value)) = (inject, values.get_mut(*idx).and_then(Option::take)) {
                inject(composer, value);
                has_fields = true;
            }
        }
        has_fields
    }

    fn inject_words(&self, composer: &mut Composer, line: &[u8]) -> bool {
        let words = split(line, self.fields.len());
        let mut has_fields = false;
        for idx in &self.order {
            let Some(field) = self.fields.get(*idx).copied().flatten() else { continue };
            let word = words.get(*idx).copied().unwrap_or(&[]);
            if word.is_empty() || word == b"-" {
                continue;
            }
            if let (Some(inject), Some(value)) = (field.inject, (field.parse)(word, composer)) {
                inject(composer, value);
                has_fields = true;
            }
        }
        has_fields
    }

    /// Goes on where another one of the same file stands: what its lines have said so far counts.
    pub fn go_on_from(&mut self, old: &mut Dump) {
        std::mem::swap(self, old);
        self.sets_checksums = old.sets_checksums;
        self.defaults.zeroes = old.defaults.zeroes;
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// The first `n` words of a line, which may have quoted parts; missing ones are empty.
fn split(mut line: &[u8], n: usize) -> Vec<&[u8]> {
    let mut words = Vec::with_capacity(n);
    while words.len() < n && !line.is_empty() {
        let mut end = 0;
        let mut is_quoted = false;
        while let Some(&byte) = line.get(end) {
            match byte {
                b'"' => is_quoted = !is_quoted,
                b'\\' if is_quoted => end += 1,
                _ if is_space(byte) && !is_quoted => break,
                _ => {}
            }
            end += 1;
        }
        let (word, rest) = line.split_at(end.min(line.len()));
        words.push(word);
        let next = rest.iter().position(|byte| !is_space(*byte)).unwrap_or(rest.len());
        line = rest.get(next..).unwrap_or(&[]);
    }
    words
}

/// `MAJOR.MINOR` after spaces, whatever follows.
fn parse_version(text: &[u8]) -> Option<(u32, u32)> {
    let text = String::from_utf8_lossy(text);
    let (major, rest) = text.trim_start().split_once('.')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, rest.get(..digits)?.parse().ok()?))
}
