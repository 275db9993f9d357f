//! The exporting process: ended flows become messages, with templates and statistics now and then.

use std::io::Write;

use super::cache::Ended;
use super::ipfix::{Field, Head, Message};
use super::record::{kind, Template};

/// Numbers of the options templates.
const STATISTICS: u16 = 300;
const SAMPLING: u16 = 301;

/// RFC 7011, section 4.1, and what sections 4.2 and 4.3 tell of losses; the first field is what they are about.
const STATISTICS_FIELDS: [(&str, Field); 6] = [
    ("observationDomainId", Field::new(149, 4)),
    ("exportedMessageTotalCount", Field::new(41, 8)),
    ("exportedFlowRecordTotalCount", Field::new(42, 8)),
    ("exportedOctetTotalCount", Field::new(40, 8)),
    ("ignoredPacketTotalCount", Field::new(164, 8)),
    ("notSentFlowTotalCount", Field::new(166, 8)),
];
/// RFC 5476, section 6.5.2.1: systematic count-based sampling.
const SAMPLING_FIELDS: [(&str, Field); 4] = [
    ("selectorId", Field::new(302, 8)),
    ("selectorAlgorithm", Field::new(304, 2)),
    ("samplingPacketInterval", Field::new(305, 4)),
    ("samplingPacketSpace", Field::new(306, 4)),
];

/// How messages are made.
#[derive(Clone, Debug)]
pub struct Settings {
    pub templates: Vec<Template>,
    pub domain: u32,
    /// Most bytes of a message.
    pub message_len: usize,
    /// One packet in so many is looked at.
    pub sampling: u32,
    /// Templates are sent again after so much time, and after so many messages; 0 is never.
    pub templates_after_ns: i64,
    pub templates_after: u64,
}

/// What was exported.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub n_messages: u64,
    pub n_flows: u64,
    pub n_octets: u64,
    /// Packets that are not IP.
    pub n_ignored: u64,
    /// Flows whose message could not be written.
    pub n_lost: u64,
}

/// Where messages go.
pub trait Collector {
    /// Takes a message with so many flow records; `false` if it is lost.
    fn take(&mut self, message: &[u8]) -> bool;
}

/// The exporting process.
pub struct Exporter {
    settings: Settings,
    message: Message,
    /// When the message got its first record.
    begun_ns: i64,
    /// Flow records in the message.
    n_flows: u64,
    /// Data records of all messages before (RFC 7011, section 3.1).
    sequence: u32,
    /// The latest time that was told.
    now_ns: i64,
    templates_at_ns: Option<i64>,
    n_since_templates: u64,
    pub totals: Totals,
}

impl Exporter {
    /// Nothing exported yet.
    pub fn new(settings: Settings) -> Exporter {
        let message = Message::new(settings.message_len);
        Exporter {
            settings,
            message,
            begun_ns: 0,
            n_flows: 0,
            sequence: 0,
            now_ns: 0,
            templates_at_ns: None,
            n_since_templates: 0,
            totals: Totals::default(),
        }
    }

    /// Goes on where another exporter stopped; templates come first, for they may have changed.
    pub fn continue_from(&mut self, old: &Exporter) {
        (self.sequence, self.now_ns) = (old.sequence, old.now_ns);
        self.totals = old.totals;
    }

    /// Adds a flow record.
    pub fn add(&mut self, ended: &Ended, now_ns: i64, collector: &mut dyn Collector) {
        let now_ns = self.now_ns.max(now_ns);
        self.now_ns = now_ns;
        let place = kind(ended);
        let Some((id, len)) = self.settings.templates.get(place).map(|kind| (kind.id, kind.record_len))
        else {
            return;
        };
        if !self.message.is_empty() && !self.message.has_room(id, len) {
            self.send(now_ns, collector);
        }
        if self.message.is_empty() {
            self.begun_ns = now_ns;
            self.add_templates_if_due(now_ns, collector);
            if !self.message.has_room(id, len) {
                self.send(now_ns, collector);
            }
        }
        self.message.record(id);
        if let Some(template) = self.settings.templates.get(place) {
            template.write(ended, &mut self.message);
        }
        self.n_flows += 1;
    }

    /// Sends the message that is being made, if there is anything in it.
    pub fn send(&mut self, now_ns: i64, collector: &mut dyn Collector) {
        if self.message.is_empty() {
            return;
        }
        self.now_ns = self.now_ns.max(now_ns);
        let export_s = (self.now_ns / 1_000_000_000).max(0) as u32;
        let head = Head { export_s, sequence: self.sequence, domain: self.settings.domain };
        self.sequence = self.sequence.wrapping_add(self.message.n_records());
        let bytes = self.message.finish(head);
        if collector.take(bytes) {
            self.totals.n_messages += 1;
            self.totals.n_octets += bytes.len() as u64;
            self.totals.n_flows += self.n_flows;
        } else {
            self.totals.n_lost += self.n_flows;
        }
        self.n_since_templates += 1;
        self.n_flows = 0;
        self.message.clear();
    }

    /// Sends the message if its first record has waited for so long.
    #[inline(always)]
    pub fn send_if_old(&mut self, now_ns: i64, age_ns: i64, collector: &mut dyn Collector) {
        if self.is_pending() && now_ns.saturating_sub(self.begun_ns) >= age_ns {
            self.send(now_ns, collector);
        }
    }

    /// Whether a message is being made.
    pub fn is_pending(&self) -> bool {
        !self.message.is_empty()
    }

    /// The templates, a line each.
    pub fn describe_templates(&self) -> String {
        let mut text = String::new();
        let mut add = |id: u16, fields: &mut dyn Iterator<Item = (&str, Field)>| {
            let fields: Vec<String> =
                fields.map(|(name, field)| format!("{name}({})/{}", field.id, field.len)).collect();
            text += &format!("{id}: {}\n", fields.join(" "));
        };
        for template in &self.settings.templates {
            add(template.id, &mut template.names.iter().copied().zip(template.fields.iter().copied()));
        }
        add(STATISTICS, &mut STATISTICS_FIELDS.into_iter());
        if self.settings.sampling > 1 {
            add(SAMPLING, &mut SAMPLING_FIELDS.into_iter());
        }
        text
    }

    fn add_templates_if_due(&mut self, now_ns: i64, collector: &mut dyn Collector) {
        let Settings { templates_after_ns, templates_after, .. } = self.settings;
        let is_due = self.templates_at_ns.is_none_or(|at_ns| now_ns >= at_ns)
            || templates_after > 0 && self.n_since_templates >= templates_after;
        if !is_due {
            return;
        }
        self.templates_at_ns = Some(now_ns.saturating_add(templates_after_ns));
        self.n_since_templates = 0;
        self.add_templates(now_ns, collector);
        self.add_statistics(now_ns, collector);
        if self.settings.sampling > 1 {
            self.add_sampling(now_ns, collector);
        }
    }

    fn add_templates(&mut self, now_ns: i64, collector: &mut dyn Collector) {
        for place in 0..self.settings.templates.len() {
            let needed = self.settings.templates.get(place).map_or(0, |template| needed(&template.fields));
            self.make_room(needed, now_ns, collector);
            if let Some(template) = self.settings.templates.get(place) {
                self.message.template(template.id, &template.fields);
            }
        }
    }

    fn add_statistics(&mut self, now_ns: i64, collector: &mut dyn Collector) {
        let fields = STATISTICS_FIELDS.map(|(_, field)| field);
        self.make_room(needed(&fields), now_ns, collector);
        self.message.options_template(STATISTICS, &fields);
        let Totals { n_messages, n_flows, n_octets, n_ignored, n_lost } = self.totals;
        self.message.record(STATISTICS);
        self.message.write(&self.settings.domain.to_be_bytes());
        for total in [n_messages, n_flows, n_octets, n_ignored, n_lost] {
            self.message.write(&total.to_be_bytes());
        }
    }

    fn add_sampling(&mut self, now_ns: i64, collector: &mut dyn Collector) {
        const SELECTOR: u64 = 1;
        const SYSTEMATIC_COUNT: u16 = 1;
        let fields = SAMPLING_FIELDS.map(|(_, field)| field);
        self.make_room(needed(&fields), now_ns, collector);
        self.message.options_template(SAMPLING, &fields);
        self.message.record(SAMPLING);
        self.message.write(&SELECTOR.to_be_bytes());
        self.message.write(&SYSTEMATIC_COUNT.to_be_bytes());
        self.message.write(&1u32.to_be_bytes());
        self.message.write(&self.settings.sampling.saturating_sub(1).to_be_bytes());
    }

    /// Sends the message if so many bytes have no room.
    fn make_room(&mut self, len: usize, now_ns: i64, collector: &mut dyn Collector) {
        if !self.message.is_empty() && !self.message.has_room(0, len) {
            self.send(now_ns, collector);
        }
    }
}

/// Bytes that a template with these fields, and a record of it, take besides a set's header.
fn needed(fields: &[Field]) -> usize {
    const HEADERS: usize = 6 + 4;
    let template: usize = fields.iter().map(|field| if field.is_reverse { 8 } else { 4 }).sum();
    let record: usize = fields.iter().map(|field| usize::from(field.len)).sum();
    HEADERS + template + record
}

/// A file of messages (RFC 5655), emptied when the first message comes.
pub struct MessageFile {
    file: Box<dyn Write + Send>,
    fresh: Option<std::fs::File>,
}

impl MessageFile {
    /// Opens or makes the file called `name`; `-` is standard output.
    pub fn open(name: &str) -> Result<MessageFile, String> {
        if name == "-" {
            return Ok(MessageFile { file: Box::new(element::output::StandardOutput), fresh: None });
        }
        element::output::check_file(name)?;
        let told = |error: std::io::Error| format!("{name}: {}", element::output::reason(&error));
        let file = std::fs::OpenOptions::new().append(true).create(true).open(name).map_err(told)?;
        let is_regular = file.metadata().is_ok_and(|about| about.is_file());
        let fresh = if is_regular { Some(file.try_clone().map_err(told)?) } else { None };
        Ok(MessageFile { file: Box::new(std::io::BufWriter::new(file)), fresh })
    }

    /// Adds a message.
    pub fn write(&mut self, message: &[u8]) -> std::io::Result<()> {
        self.empty()?;
        self.file.write_all(message)
    }

    /// Writes what is left to write.
    pub fn flush(&mut self) -> std::io::Result<()> {
        self.empty()?;
        self.file.flush()
    }

    /// Until there is something to write the file may be a predecessor's, whose messages must stay.
    fn empty(&mut self) -> std::io::Result<()> {
        self.fresh.take().map_or(Ok(()), |file| file.set_len(0))
    }
}
