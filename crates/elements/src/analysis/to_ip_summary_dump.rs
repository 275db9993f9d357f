//! Writes an IP summary dump: a line for each packet.
//!
//! FIELDS names what is told of every packet; a field that does not apply to a packet is `-`. The dump goes to a file, or to
//! standard output if FILENAME is `-`. Packets are pushed in, or pulled, and leave by the output if there is one. Extra length
//! and extra packets annotations count.
//!
//! Fields: `timestamp ntimestamp ts_sec ts_usec ts_usec1 first_timestamp first_ntimestamp count link paint direction aggregate
//! wire_len`; `eth_src eth_dst eth_type`; `ip_src ip_dst ip_tos ip_dscp ip_ecn ip_ttl ip_frag ip_fragoff ip_id ip_sum ip_proto
//! ip_hl ip_len ip_capture_len ip_opt`; `sport dport`; `tcp_seq tcp_ack tcp_off tcp_flags tcp_window tcp_urp tcp_opt tcp_ntopt
//! tcp_sack`; `udp_len`; `icmp_type icmp_code icmp_type_name icmp_code_name icmp_flowid icmp_seq icmp_nextmtu`; `payload_len
//! payload payload_md5 payload_md5_hex`. The start `ip_` may be left out.
//!
//! ```click
//! FromIPSummaryDump(in.dump, STOP true) -> ToIPSummaryDump(-, FIELDS timestamp ip_src ip_dst ip_len);
//! ```

use args::{Filename, Raw, Timestamp};
use element::{
    annotation, handlers, same, same_ref, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element,
    Failed, Handler, Packet, Puller, RecordFile, Role, TaskId, BATCH_MAX,
};

use super::summary::describe::{prepare, Described, Wishes};
use super::summary::{find, multipacket, Binary, Field, VERSION};

/// The class.
pub const CLASS: Class = Class::new::<ToIpSummaryDump>("ToIPSummaryDump", "1/0-1", "a/h", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .shows_order()
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Output);

const ARGS: &[Arg] = &[
    Arg::required("FILENAME", "file name", "The file to write; `-` is standard output."),
    Arg::keyword("FIELDS", "words", "The fields of every line. Default `timestamp ip_src`."),
    Arg::keyword("CONTENTS", "words", "An old name of FIELDS."),
    Arg::keyword("DATA", "words", "An old name of FIELDS."),
    Arg::keyword("VERBOSE", "bool", "Whether the header tells host and time. Default false."),
    Arg::keyword("HEADER", "bool", "Whether to begin with lines that describe the dump. Default true."),
    Arg::keyword("BANNER", "string", "Who made the dump, for the header. Default nobody."),
    Arg::keyword(
        "MULTIPACKET",
        "bool",
        "Whether a packet that stands for several makes as many lines. Default false.",
    ),
    Arg::keyword(
        "BAD_PACKETS",
        "bool",
        "Whether a line `!bad` says what is wrong with a packet. Default false.",
    ),
    Arg::keyword(
        "CAREFUL_TRUNC",
        "bool",
        "Whether packets shorter than their IP length are wrong. Default true.",
    ),
    Arg::keyword("EXTRA_LENGTH", "bool", "Whether lengths count extra length annotations. Default true."),
    Arg::keyword("BINARY", "bool", "Whether to write binary records instead of lines. Default false."),
];

const HANDLERS: &[Handler] = &[
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
    Handler::write("flush", "Writes what is still in memory to the file."),
];

const DROPS: &[DropReason] = &[DropReason::new("dumped", "The packet was written, and there is no output.")];
const DUMPED: usize = 0;

/// See the page above.
pub struct ToIpSummaryDump {
    filename: String,
    banner: String,
    fields: Vec<&'static Field>,
    is_verbose: bool,
    has_header: bool,
    splits: bool,
    complains: bool,
    is_careful: bool,
    counts_extra_length: bool,
    is_binary: bool,
    file: Option<RecordFile>,
    /// Whether the file is one that another element has begun.
    goes_on: bool,
    buf: Vec<u8>,
    puller: Option<Puller>,
}

impl Element for ToIpSummaryDump {
    fn configure(conf: &mut Configure<'_>) -> Result<ToIpSummaryDump, Failed> {
        let Filename(filename) = conf.args.need("FILENAME");
        let (fields, contents) = (conf.args.get("FIELDS"), conf.args.get("CONTENTS"));
        if conf.args.is_given("DATA") {
            conf.args.warn("DATA", "argument deprecated");
        }
        let words = fields.or(contents).or(conf.args.get("DATA"));
        let words = words.unwrap_or(Raw("timestamp ip_src".to_string()));
        let is_verbose = conf.args.get_or("VERBOSE", false);
        let has_header = conf.args.get_or("HEADER", true);
        let banner = conf.args.get_or("BANNER", String::new());
        let splits = conf.args.get_or("MULTIPACKET", false);
        let complains = conf.args.get_or("BAD_PACKETS", false);
        let is_careful = conf.args.get_or("CAREFUL_TRUNC", true);
        let counts_extra_length = conf.args.get_or("EXTRA_LENGTH", true);
        let is_binary = conf.args.get_or("BINARY", false);
        conf.finish()?;
        let fields = find_fields(&words.0, is_binary)?;
        let (file, buf) = (None, Vec::new());
        Ok(ToIpSummaryDump {
            filename,
            banner,
            fields,
            is_verbose,
            has_header,
            splits,
            complains,
            is_careful,
            counts_extra_length,
            is_binary,
            file,
            goes_on: false,
            buf,
            puller: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if !self.goes_on {
            self.file = Some(RecordFile::create(&self.filename)?);
        }
        if !ctx.input_is_push(0) {
            self.puller = Some(ctx.new_puller(0));
        }
        if self.has_header && !self.goes_on {
            // Only who tells the time looks at the clock: simulated time shows it.
            let began = self.is_verbose.then(|| Timestamp::from_nanos(ctx.now_ns()));
            self.write_header(began);
            self.write_out(ctx);
        }
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        for packet in batch.iter_mut() {
            self.dump(packet);
        }
        self.write_out(ctx);
        ctx.emit_or_drop(0, DUMPED, batch);
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let burst = ctx.default_burst().clamp(1, BATCH_MAX);
        let batch = ctx.pull(0, burst);
        let (n, worked) = (batch.len(), !batch.is_empty());
        if worked {
            self.push(ctx, 0, batch);
        }
        if n == burst || self.puller.as_ref().is_some_and(|puller| ctx.is_active(&puller.signal)) {
            ctx.schedule(task);
        }
        worked
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        match name {
            "flush" => self.flush(ctx),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        self.flush(ctx);
        self.file = None;
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<ToIpSummaryDump>(ctx, old) else { return };
        if self.goes_on {
            old.write_out(ctx);
            self.file = old.file.take();
            if self.has_header && old.data_line() != self.data_line() {
                self.buf.extend_from_slice(self.data_line().as_bytes());
                self.write_out(ctx);
            }
        }
        old.cleanup(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on = same_ref::<ToIpSummaryDump>(old).is_some_and(|old| self.can_go_on(old));
    }
}

fn find_fields(words: &str, is_binary: bool) -> Result<Vec<&'static Field>, Failed> {
    let (mut fields, mut errors) = (Vec::new(), Vec::new());
    for word in args::split_words(words) {
        let name = args::unquote_text(&word);
        let Some(field) = find(&name) else {
            errors.push(format!("unknown content type '{name}'"));
            continue;
        };
        if is_binary && matches!(field.binary, Binary::Never) {
            errors.push(format!("cannot use field {name} with BINARY"));
        }
        fields.push(field);
    }
    if fields.is_empty() {
        errors.push("no contents specified".to_string());
    }
    if errors.is_empty() {
        Ok(fields)
    } else {
        Err(Failed { errors })
    }
}

impl ToIpSummaryDump {
    fn write_header(&mut self, began: Option<Timestamp>) {
        let mut text = format!("!IPSummaryDump {}.{}\n", VERSION.0, VERSION.1);
        if !self.banner.is_empty() {
            text += &format!("!creator {}\n", args::quote(&self.banner));
        }
        if let Some(began) = began {
            text += &verbose(began);
        }
        text += &self.data_line();
        if self.is_binary {
            text += "!binary\n";
        }
        self.buf.extend_from_slice(text.as_bytes());
    }

    /// The line that tells which fields follow.
    fn data_line(&self) -> String {
        let name = |field: &&'static Field| match field.name {
            "ntimestamp" if !self.is_binary => "timestamp",
            name => name,
        };
        let names: Vec<_> = self.fields.iter().map(name).collect();
        format!("!data {}\n", names.join(" "))
    }

    /// Whether it can go on with the file of another one: what is binary stays so to the end, with the same fields.
    fn can_go_on(&self, old: &ToIpSummaryDump) -> bool {
        let has_file = old.filename == self.filename && old.file.is_some();
        let has_form = !self.is_binary || old.data_line() == self.data_line();
        has_file && old.is_binary == self.is_binary && has_form
    }

    /// Describes a packet, or all the packets it stands for.
    fn dump(&mut self, packet: &mut Packet) {
        // A header that was stripped can still be seen in the buffer: put it back to look at it.
        let before = |offset: Option<isize>| offset.map_or(0, |offset| offset.min(0).unsigned_abs());
        let restored = before(packet.network_offset()).max(before(packet.transport_offset()));
        packet.unstrip(restored);
        let n_more = packet.anno_u32(annotation::EXTRA_PACKETS);
        if self.splits && n_more > 0 {
            self.dump_all(packet, n_more, restored);
        } else {
            self.dump_one(packet, restored);
        }
        packet.strip(restored);
    }

    fn dump_all(&mut self, packet: &mut Packet, n_more: u32, restored: usize) {
        // As in Click, nothing is written for a packet that stands for none.
        let count = n_more.wrapping_add(1);
        let len = packet.len().saturating_sub(restored) as u32;
        let extra = if self.counts_extra_length { packet.anno_u32(annotation::EXTRA_LENGTH) } else { 0 };
        let mut total = len.wrapping_add(extra).max(count.wrapping_mul(len));
        let end_ns = packet.timestamp_ns();
        let (step, _) = multipacket::steps(packet, n_more);
        packet.set_anno_u32(annotation::EXTRA_PACKETS, 0);
        for n_left in (1..=count).rev() {
            let own = total / n_left;
            packet.set_anno_u32(annotation::EXTRA_LENGTH, own.wrapping_sub(len));
            total -= own;
            self.dump_one(packet, restored);
            let next = Timestamp::from_nanos(packet.timestamp_ns()) + step;
            packet.set_timestamp_ns(if n_left == 1 { end_ns } else { next.as_nanos() });
        }
    }

    fn dump_one(&mut self, packet: &mut Packet, restored: usize) {
        let is_ip = self.fields.iter().any(|field| field.is_ip());
        let lengths = is_ip.then(|| prepare(packet, self.is_careful));
        let wishes = Wishes {
            complains: self.complains,
            is_careful: self.is_careful,
            counts_extra_length: self.counts_extra_length,
            restored,
        };
        let mut described = Described::new(packet, wishes, lengths);
        let start = self.buf.len();
        match self.is_binary {
            true => self.write_record(&mut described),
            false => self.write_words(&mut described),
        }
        if let Some(complaint) = described.complaint.filter(|complaint| !complaint.is_empty()) {
            let record = self.buf.split_off(start);
            if self.is_binary {
                let len = complaint.len() as u32 | 0x8000_0000;
                self.buf.extend_from_slice(&len.to_be_bytes());
            }
            self.buf.extend_from_slice(complaint.as_bytes());
            self.buf.extend_from_slice(&record);
        }
        if self.buf.len() >= 1 << 16 {
            self.put();
        }
    }

    fn write_words(&mut self, described: &mut Described<'_>) {
        for (idx, field) in self.fields.iter().enumerate() {
            if idx > 0 {
                self.buf.push(b' ');
            }
            match (field.extract)(described) {
                Some(value) => (field.print)(&value, described, &mut self.buf),
                None => self.buf.push(b'-'),
            }
        }
        self.buf.push(b'\n');
    }

    fn write_record(&mut self, described: &mut Described<'_>) {
        let start = self.buf.len();
        self.buf.extend_from_slice(&[0; 4]);
        for field in &self.fields {
            let value = (field.extract)(described);
            field.write_binary(value.as_ref(), &mut self.buf);
        }
        let len = (self.buf.len() - start) as u32;
        if let Some(word) = self.buf.get_mut(start..start + 4) {
            word.copy_from_slice(&len.to_be_bytes());
        }
    }

    /// Puts what was described into the file.
    fn put(&mut self) {
        if let Some(file) = &mut self.file {
            file.write(&self.buf);
        }
        self.buf.clear();
    }

    /// As [`ToIpSummaryDump::put`]; tells if that failed.
    fn write_out(&mut self, ctx: &mut Ctx<'_>) {
        self.put();
        if let Some(file) = &mut self.file {
            file.tell_fault(ctx);
        }
    }

    fn flush(&mut self, ctx: &mut Ctx<'_>) {
        self.write_out(ctx);
        if let Some(file) = &mut self.file {
            file.flush();
            file.tell_fault(ctx);
        }
    }
}

/// Lines that tell the host and the time.
fn verbose(now: Timestamp) -> String {
    let host = rustix::system::uname();
    let mut text = format!("!host {}\n", host.nodename().to_string_lossy());
    if !now.is_zero() {
        text += &format!("!runtime {now} ({})\n", sys::clock::local_text());
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn unknown_fields_are_errors() {
        check(
            "Idle -> ToIPSummaryDump(/dev/null, FIELDS ip_src length ip_p frob payload, BINARY true)",
            expect![[r#"
                config:1: While configuring 'ToIPSummaryDump@2 :: ToIPSummaryDump':
                  unknown content type 'frob'
                  cannot use field payload with BINARY
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn a_header_without_the_time_takes_none() {
        check(
            "InfiniteSource(LIMIT 1) -> SetTimestamp -> ToIPSummaryDump(/dev/null) -> Print(x, 1, TIMESTAMP true) -> Discard;
             Script(wait 1, stop)",
            expect![[r#"
                x: 1000000000.000000002:   69 | 52
            "#]],
        );
    }

    #[test]
    fn the_newest_name_of_the_fields_counts() {
        check_reading(
            "Idle -> t :: ToIPSummaryDump(/dev/null, CONTENTS bad, FIELDS ip_src);
             Idle -> ToIPSummaryDump(/dev/null, DATA bad, CONTENTS ip_src); Script(stop)",
            &["t.name"],
            expect![[r#"
                config:2: While configuring 'ToIPSummaryDump@4 :: ToIPSummaryDump':
                  DATA: warning: argument deprecated
                t.name: t
            "#]],
        );
    }

    #[test]
    fn handlers_are_listed_in_clicks_order() {
        check_reading(
            "Idle -> Queue -> t :: ToIPSummaryDump(/dev/null); Script(stop)",
            &["t.handlers"],
            expect![[r#"
                t.handlers: flush	w
                tickets	rw
                scheduled	r
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

            "#]],
        );
    }
}
