//! The dump of a flow: what its packets say, and the file that holds it.
//!
//! Lines and records wait in memory until there are many. The file is open only while they are written, so that the number of
//! flows is not bounded by that of open files.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;

use args::Timestamp;
use element::output::{reason, StandardOutput};
use element::{annotation, Packet};
use wire::protocol;

use super::flow_options::{self, Options};
use super::summary::describe::{u16_at, u8_at};
use super::summary::{append, FLAGS};

/// How many packets, and notes between them, wait in memory.
const MAX_PACKETS: usize = 128;
const MAX_NOTES: usize = 32;

/// Flags of a TCP header.
const ACK: u8 = 0x10;
/// Of its flags, a line tells seven.
const N_FLAGS: usize = 7;

/// What a dump tells.
#[derive(Clone, Copy)]
pub struct Form {
    /// Times are those of the packets rather than counted from the first.
    pub is_time_absolute: bool,
    /// Sequence numbers are those of the packets rather than counted from the first.
    pub is_sequence_absolute: bool,
    /// Records instead of lines.
    pub is_binary: bool,
    /// IP identifications.
    pub has_id: bool,
    /// TCP windows.
    pub has_window: bool,
    /// TCP options.
    pub options: Options,
}

/// The dump of one flow.
pub struct FlowDump {
    ends: [(Ipv4Addr, u16); 2],
    protocol: u8,
    aggregate: u32,
    form: Form,
    /// Its file; `-` is standard output.
    pub name: String,
    /// Packets that the dump tells of.
    pub n_packets: u32,
    /// When it was last used, counted in uses of any flow.
    pub last_use: u64,
    first_time: Timestamp,
    /// The first sequence number in each direction, as far as it is known.
    first_sequence: [Option<u32>; 2],
    has_begun: bool,
    waiting: Vec<u8>,
    n_waiting: usize,
    n_notes: usize,
    options: Vec<u8>,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) << 16 | u32::from(u16_at(bytes, at + 2))
}

/// Protocol and ends of a flow, as an IP header and what follows it tell.
fn flow(header: &[u8], ports: &[u8]) -> (u8, [(Ipv4Addr, u16); 2]) {
    let end = |at: usize, port: usize| (u32_at(header, at).into(), u16_at(ports, port));
    (u8_at(header, 9), [end(12, 0), end(16, 2)])
}

impl FlowDump {
    /// A dump that begins with a packet; `None` if that is neither TCP nor UDP, nor an ICMP error about it.
    pub fn new(packet: &Packet, form: Form) -> Option<FlowDump> {
        let (network, transport) = (packet.network(), packet.transport());
        let (mut protocol, mut ends) = flow(network, transport);
        if protocol == protocol::ICMP {
            let inner = transport.get(8..)?;
            let header_len = usize::from(u8_at(inner, 0) & 15) * 4;
            (protocol, ends) = flow(inner, inner.get(header_len..)?);
        }
        if network.len() < 20 || !matches!(protocol, protocol::TCP | protocol::UDP) {
            return None;
        }
        if packet.paint() & 1 == 1 {
            ends.reverse();
        }
        let before = Timestamp::from_nanos(packet.timestamp_ns()) - Timestamp::from_nanos(1);
        Some(FlowDump {
            ends,
            protocol,
            aggregate: packet.anno_u32(annotation::AGGREGATE),
            form,
            name: String::new(),
            n_packets: 0,
            last_use: 0,
            first_time: if form.is_time_absolute { Timestamp::default() } else { before },
            first_sequence: [form.is_sequence_absolute.then_some(0); 2],
            has_begun: false,
            waiting: Vec::new(),
            n_waiting: 0,
            n_notes: 0,
            options: Vec::new(),
        })
    }

    /// Tells of a packet; an ICMP error becomes a note. Packets of another protocol are passed over.
    pub fn add(&mut self, packet: &Packet) -> Result<(), String> {
        let protocol = u8_at(packet.network(), 9);
        if packet.paint() >= 2 && protocol == protocol::ICMP {
            self.n_packets = self.n_packets.saturating_add(1);
            return self.add_error(packet);
        }
        if protocol != self.protocol {
            return Ok(());
        }
        let written = if self.n_waiting < MAX_PACKETS { Ok(()) } else { self.write() };
        if self.n_waiting >= MAX_PACKETS {
            return written;
        }
        match (self.form.is_binary, self.protocol) {
            (false, protocol::TCP) => self.add_tcp_line(packet),
            (true, protocol::TCP) => self.add_tcp_record(packet),
            (false, _) => self.add_udp_line(packet),
            (true, _) => self.add_udp_record(packet),
        }
        self.n_waiting += 1;
        self.n_packets = self.n_packets.saturating_add(1);
        written
    }

    fn add_error(&mut self, packet: &Packet) -> Result<(), String> {
        let written = if self.n_notes < MAX_NOTES { Ok(()) } else { self.write() };
        if self.n_notes >= MAX_NOTES {
            return written;
        }
        let start = self.waiting.len();
        if self.form.is_binary {
            self.waiting.extend_from_slice(&[0; 4]);
        }
        let time = Timestamp::from_nanos(packet.timestamp_ns());
        // Click has the directions the other way round here.
        let direction = if packet.paint() & 1 == 1 { '>' } else { '<' };
        append(&mut self.waiting, format_args!("#{time} {direction} ICMP_error\n"));
        if self.form.is_binary {
            self.set_len(start, 0x8000_0000);
        }
        self.n_notes += 1;
        written
    }

    /// Writes how long the record is that begins at `start`.
    fn set_len(&mut self, start: usize, flag: u32) {
        let len = (self.waiting.len() - start) as u32 | flag;
        if let Some(place) = self.waiting.get_mut(start..start + 4) {
            place.copy_from_slice(&len.to_be_bytes());
        }
    }

    fn time(&self, packet: &Packet) -> Timestamp {
        Timestamp::from_nanos(packet.timestamp_ns()) - self.first_time
    }

    /// Sequence number, number of bytes and acknowledgement, counted from the first numbers; options come to `options`.
    fn tcp(&mut self, packet: &Packet) -> [u32; 3] {
        let (network, transport) = (packet.network(), packet.transport());
        let way = usize::from(packet.paint() & 1);
        let [first, other] = match (way, &mut self.first_sequence) {
            (0, [forth, back]) => [forth, back],
            (_, [forth, back]) => [back, forth],
        };
        let sequence = u32_at(transport, 4);
        let first = *first.get_or_insert(sequence);
        let acknowledged = if u8_at(transport, 13) & ACK == 0 {
            0
        } else {
            let acknowledged = u32_at(transport, 8);
            acknowledged.wrapping_sub(*other.get_or_insert(acknowledged))
        };
        let header_len = usize::from(u8_at(transport, 12) >> 4) * 4;
        let headers = usize::from(u8_at(network, 0) & 15) * 4 + header_len;
        self.options.clear();
        let options = transport.get(20..header_len.min(transport.len())).unwrap_or_default();
        flow_options::choose(options, self.form.options, other, &mut self.options);
        let len = u16_at(network, 2).wrapping_sub(headers as u16);
        [sequence.wrapping_sub(first), len.into(), acknowledged]
    }

    /// The start of a line: time, direction and, if it is wanted, identification.
    fn begin_line(&mut self, packet: &Packet) {
        let (time, direction) = (self.time(packet), if packet.paint() & 1 == 0 { '>' } else { '<' });
        append(&mut self.waiting, format_args!("{time} {direction} "));
        if self.form.has_id {
            // As in Click, whose lines have the two bytes as they lie in memory.
            let id = u16_at(packet.network(), 4).swap_bytes();
            append(&mut self.waiting, format_args!("{id} "));
        }
    }

    fn add_tcp_line(&mut self, packet: &Packet) {
        let [sequence, len, acknowledged] = self.tcp(packet);
        self.begin_line(packet);
        let transport = packet.transport();
        match u8_at(transport, 13) {
            0 => self.waiting.push(b'.'),
            flags => {
                let letters = FLAGS.iter().take(N_FLAGS).enumerate();
                self.waiting
                    .extend(letters.filter(|(bit, _)| flags >> bit & 1 == 1).map(|(_, letter)| *letter));
            }
        }
        append(&mut self.waiting, format_args!(" {sequence} {len} {acknowledged}"));
        if self.form.has_window {
            append(&mut self.waiting, format_args!(" {}", u16_at(transport, 14)));
        }
        if !self.options.is_empty() {
            self.waiting.push(b' ');
            flow_options::print(&self.options, &mut self.waiting);
        }
        self.waiting.push(b'\n');
    }

    /// Bytes behind the IP header's length; as in Click, those of the IP header are among them.
    fn udp_len(packet: &Packet) -> u16 {
        u16_at(packet.network(), 2).wrapping_sub(8)
    }

    fn add_udp_line(&mut self, packet: &Packet) {
        self.begin_line(packet);
        let len = FlowDump::udp_len(packet);
        append(&mut self.waiting, format_args!("{len}\n"));
    }

    /// The start of a record: room for its length, the time, and numbers.
    fn begin_record(&mut self, packet: &Packet, numbers: &[u32]) -> usize {
        let (start, time) = (self.waiting.len(), self.time(packet));
        for number in [0, time.sec() as u32, time.nsec()].iter().chain(numbers) {
            self.waiting.extend_from_slice(&number.to_be_bytes());
        }
        if self.form.has_id {
            self.waiting.extend_from_slice(&u16_at(packet.network(), 4).to_be_bytes());
        }
        start
    }

    fn add_tcp_record(&mut self, packet: &Packet) {
        let numbers = self.tcp(packet);
        let start = self.begin_record(packet, &numbers);
        let transport = packet.transport();
        if self.form.has_window {
            self.waiting.extend_from_slice(&u16_at(transport, 14).to_be_bytes());
        }
        self.waiting.extend_from_slice(&[u8_at(transport, 13), packet.paint() & 1]);
        if !self.options.is_empty() {
            flow_options::write(&self.options, &mut self.waiting);
        }
        self.set_len(start, 0);
    }

    fn add_udp_record(&mut self, packet: &Packet) {
        let start = self.begin_record(packet, &[FlowDump::udp_len(packet).into()]);
        self.waiting.push(packet.paint() & 1);
        self.set_len(start, 0);
    }

    /// Writes what waits to the file, which is made if there is none yet.
    pub fn write(&mut self) -> Result<(), String> {
        let mut file = self.open()?;
        let header = if self.has_begun { String::new() } else { self.header() };
        (self.n_waiting, self.n_notes, self.has_begun) = (0, 0, true);
        let written = file
            .write_all(header.as_bytes())
            .and_then(|()| file.write_all(&self.waiting))
            .and_then(|()| file.flush());
        self.waiting.clear();
        written.map_err(|error| format!("{}: {}", self.name, reason(&error)))
    }

    fn open(&self) -> Result<Box<dyn Write>, String> {
        if self.name == "-" {
            return Ok(Box::new(StandardOutput));
        }
        let mut options = OpenOptions::new();
        if self.has_begun {
            options.append(true);
        } else {
            make_directories(&self.name)?;
            options.write(true).create(true).truncate(true);
        }
        let file = options.open(&self.name).map_err(|error| format!("{}: {}", self.name, reason(&error)))?;
        Ok(Box::new(file))
    }

    /// Removes what was written.
    pub fn discard(&self) -> Result<(), String> {
        if !self.has_begun || self.name == "-" {
            return Ok(());
        }
        fs::remove_file(&self.name).map_err(|error| format!("{}: {}", self.name, reason(&error)))
    }

    fn header(&self) -> String {
        let is_tcp = self.protocol == protocol::TCP;
        let [(source, sport), (destination, dport)] = self.ends;
        let letter = if is_tcp { 'T' } else { 'U' };
        let mut text = format!(
            "!IPSummaryDump 1.3\n!flowid {source} {sport} {destination} {dport} {letter}\n!aggregate {}\n",
            self.aggregate
        );
        text += &format!("!data ntimestamp{}\n", self.fields(is_tcp));
        for (sequence, direction) in self.first_sequence.iter().zip(['>', '<']) {
            match sequence {
                Some(sequence) if is_tcp && *sequence != 0 => {
                    text += &format!("!firstseq {direction} {sequence}\n")
                }
                _ => {}
            }
        }
        if !self.first_time.is_zero() {
            text += &format!("!firsttime {}\n", self.first_time);
        }
        if self.form.is_binary {
            text += "!binary\n";
        }
        text
    }

    /// The names of the fields behind the time. As in Click, lines do not name windows.
    fn fields(&self, is_tcp: bool) -> String {
        let Form { is_binary, has_id, has_window, options, .. } = self.form;
        let options = if options == Options::All { "tcp_opt" } else { "tcp_ntopt" };
        let fields = [
            ("direction", !is_binary),
            ("ip_id", has_id && !is_binary),
            ("tcp_flags", is_tcp && !is_binary),
            ("tcp_seq", is_tcp),
            ("payload_len", true),
            ("tcp_ack", is_tcp),
            ("ip_id", has_id && is_binary),
            ("tcp_window", has_window && is_tcp && is_binary),
            ("tcp_flags", is_tcp && is_binary),
            ("direction", is_binary),
            (options, is_tcp),
        ];
        fields.iter().filter(|(_, is_told)| *is_told).map(|(name, _)| format!(" {name}")).collect()
    }
}

/// Makes the directories that a file is in.
fn make_directories(name: &str) -> Result<(), String> {
    let ends = name.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    for directory in ends.filter_map(|at| name.get(..at)) {
        if !Path::new(directory).exists() {
            fs::create_dir(directory)
                .map_err(|error| format!("making directory {directory}: {}", reason(&error)))?;
        }
    }
    Ok(())
}
