//! How packets become bytes between stages, and bytes packets: pcap, pcapng or lines of text.

use std::io;

use args::Timestamp as Time;
use element::{annotation, Batch, Packet};

use super::ascii;
use super::lines::{self, Lines};
use super::records::Records;
use crate::capture::{self, link, Decoder, Encoder, Precision, Timestamp};
use crate::segment::segment;

/// What a stream between stages looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// pcap with nanoseconds.
    #[default]
    Pcap,
    /// pcapng with nanoseconds.
    Pcapng,
    /// A packet a line.
    Ascii,
}

impl Format {
    /// The formats' names.
    pub const NAMES: [&'static str; 3] = ["pcap", "pcapng", "ascii"];

    /// The format of this name.
    pub fn named(name: &str) -> Option<Format> {
        let formats = [Format::Pcap, Format::Pcapng, Format::Ascii];
        Format::NAMES.iter().position(|known| *known == name).and_then(|idx| formats.get(idx).copied())
    }
}

/// Turns packets into a stream's bytes.
#[derive(Debug)]
pub struct Framer {
    encoder: Option<Encoder>,
    /// Packets that the format cannot express.
    pub n_bad: u64,
}

impl Framer {
    /// A stream of Ethernet frames.
    pub fn new(format: Format) -> Framer {
        let capture =
            |format| Encoder::new(format, Precision::Nano, link::ETHERNET, capture::MAX_CAPTURED_LEN);
        let encoder = match format {
            Format::Pcap => Some(capture(capture::Format::Pcap)),
            Format::Pcapng => Some(capture(capture::Format::Pcapng)),
            Format::Ascii => None,
        };
        Framer { encoder, n_bad: 0 }
    }

    /// The framer of another stream of the same format; what was counted goes on.
    pub fn again(&self) -> Framer {
        Framer { encoder: self.encoder, n_bad: self.n_bad }
    }

    /// Why the format cannot express them: a line has at least the addresses and the type.
    pub fn why_bad(&self) -> Option<String> {
        (self.n_bad > 0).then(|| "a line takes packets of 14 bytes or more".to_string())
    }

    /// Appends what a stream starts with.
    pub fn begin(&self, out: &mut Vec<u8>) {
        if let Some(encoder) = &self.encoder {
            encoder.header(out);
        }
    }

    /// Appends a packet. What its sender left to be done (segments, checksums) is done first: any program may read this.
    #[inline(always)]
    pub fn packet(&mut self, out: &mut Vec<u8>, packet: &Packet) {
        if packet.has_offload() {
            self.segments(out, packet);
        } else {
            self.plain(out, packet);
        }
    }

    #[inline(never)]
    fn segments(&mut self, out: &mut Vec<u8>, packet: &Packet) {
        segment(packet, |part| self.plain(out, &part));
    }

    #[inline(always)]
    fn plain(&mut self, out: &mut Vec<u8>, packet: &Packet) {
        let Some(encoder) = &self.encoder else {
            self.n_bad += u64::from(!ascii::write_line(out, packet.data()));
            return;
        };
        let time = Time::from_nanos(packet.timestamp_ns());
        let time = Timestamp { seconds: time.sec(), nanoseconds: time.nsec() };
        encoder.record(out, time, wire_len(packet), packet.data());
    }
}

/// How long a packet was, as its annotation says. That may be less than there is of it now, but no format can express so.
pub fn wire_len(packet: &Packet) -> u32 {
    let len = packet.len() as u32;
    len.wrapping_add(packet.anno_u32(annotation::EXTRA_LENGTH)).max(len)
}

/// Why a [`Deframer`] finds no more packets.
#[derive(Debug, PartialEq, Eq)]
pub enum Pause {
    /// As many were found as were wanted.
    Enough,
    /// It needs more bytes.
    NeedInput,
    /// The stream has come to its end.
    End,
    /// The stream cannot be read further; this is told once.
    Fault(String),
}

/// Turns a stream's bytes into packets; tells the formats apart by the first bytes.
pub struct Deframer {
    state: State,
    records: Records,
    /// What is told of lines that cannot be read.
    notes: Vec<String>,
    /// Lines that could not be read.
    n_bad: u64,
    /// Those of them that were told of.
    n_told: u64,
    /// Packets that were taken since the last read.
    n_taken: usize,
}

enum State {
    /// Too few bytes to tell the format.
    Unknown(Vec<u8>),
    Capture(Box<Decoder>),
    Lines(Lines),
}

/// Bytes to read at once before the format is known, of lines, and of small packets: so few that they are in the nearest cache when
/// they are copied into packets.
pub(super) const READ_LEN: usize = 16 * 1024;
/// Packets of one read that make them small ones. A read is to bring several of others.
const MANY: usize = 64;

impl Default for Deframer {
    fn default() -> Deframer {
        let state = State::Unknown(Vec::new());
        Deframer { state, records: Records::default(), notes: Vec::new(), n_bad: 0, n_told: 0, n_taken: 0 }
    }
}

impl Deframer {
    /// The deframer of another stream; what was counted goes on.
    pub fn again(&self) -> Deframer {
        let records = self.records.clone();
        Deframer { records, n_bad: self.n_bad, n_told: self.n_told, ..Deframer::default() }
    }

    /// What is to be told of lines and records that cannot be read.
    pub fn notes(&mut self) -> impl Iterator<Item = String> + '_ {
        self.notes.drain(..).chain(self.records.notes.drain(..))
    }

    /// Lines and records that could not be read.
    pub fn n_bad(&self) -> u64 {
        self.n_bad + self.records.n_bad
    }

    /// Takes in what one call of `read` yields; how many bytes. None need not be the end, which is said by [`Deframer::end`].
    pub fn read(&mut self, mut read: impl FnMut(&mut [u8]) -> io::Result<usize>) -> io::Result<usize> {
        if let State::Capture(decoder) = &mut self.state {
            let mut room = decoder.room();
            if std::mem::take(&mut self.n_taken) >= MANY {
                let len = room.len().min(READ_LEN);
                room = room.get_mut(..len).unwrap_or_default();
            }
            let n = read(room)?;
            if n > 0 {
                decoder.fill(n);
            }
            return Ok(n);
        }
        let mut bytes = [0; READ_LEN];
        let n = read(&mut bytes)?;
        if n > 0 {
            self.feed(bytes.get(..n).unwrap_or_default());
        }
        Ok(n)
    }

    /// Nothing follows.
    pub fn end(&mut self) {
        self.feed(&[]);
    }

    /// Takes in bytes; none are the end of the stream.
    fn feed(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Unknown(head) => {
                head.extend_from_slice(bytes);
                if head.len() >= 4 || bytes.is_empty() {
                    let head = std::mem::take(head);
                    self.begin(&head);
                    if bytes.is_empty() && !head.is_empty() {
                        self.feed(&[]);
                    }
                }
            }
            State::Capture(decoder) => feed(decoder, bytes),
            State::Lines(lines) => lines.feed(bytes),
        }
    }

    /// Looks at the first bytes.
    fn begin(&mut self, head: &[u8]) {
        if is_text(head) {
            let mut lines = Lines::default();
            lines.feed(head);
            self.state = State::Lines(lines);
        } else {
            let mut decoder = Box::new(Decoder::new());
            decoder.keep_unmeasured();
            feed(&mut decoder, head);
            self.state = State::Capture(decoder);
        }
    }

    /// Adds the next packets to a batch until it has `max`.
    pub fn take(&mut self, batch: &mut Batch, max: usize) -> Pause {
        let before = batch.len();
        let pause = match &mut self.state {
            State::Unknown(_) => Pause::NeedInput,
            State::Capture(decoder) => self.records.take(decoder, batch, max),
            State::Lines(lines) => lines.take(batch, max, &mut self.notes, &mut self.n_bad),
        };
        self.n_taken += batch.len() - before;
        if pause == Pause::End {
            self.tell_rest();
        }
        pause
    }

    /// Tells how many bad lines were not told of one by one.
    fn tell_rest(&mut self) {
        let n_told = self.n_told.max(self.n_bad.min(lines::MAX_NOTES));
        self.notes.extend(further(self.n_bad - n_told, "line"));
        self.n_told = self.n_bad;
        let State::Lines(lines) = &mut self.state else { return };
        if lines.are_useless() {
            // It is some other text.
            element::failure::note();
            let form = "001122334455 66778899aabb 0800 45 00";
            self.notes.push(format!("no line is a packet, as `{form}` is: addresses, type and bytes"));
        }
    }
}

/// What to tell of so many things that were skipped, and not told of one by one.
pub(super) fn further(n: u64, thing: &str) -> Option<String> {
    match n {
        0 => None,
        1 => Some(format!("1 further {thing} was skipped")),
        n => Some(format!("{n} further {thing}s were skipped")),
    }
}

/// Whether what begins so is lines of text, and no capture.
pub(super) fn is_text(head: &[u8]) -> bool {
    !capture::begins(head) && head.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

/// Gives a decoder bytes as it has room for them.
fn feed(decoder: &mut Decoder, mut bytes: &[u8]) {
    if bytes.is_empty() {
        return decoder.fill(0);
    }
    while !bytes.is_empty() {
        let room = decoder.room();
        let n = room.len().min(bytes.len());
        let (now, later) = bytes.split_at(n);
        room.iter_mut().zip(now).for_each(|(place, byte)| *place = *byte);
        decoder.fill(n);
        bytes = later;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packets(deframer: &mut Deframer) -> Vec<String> {
        let mut list = Vec::new();
        loop {
            let mut batch = Batch::new();
            let pause = deframer.take(&mut batch, 3);
            list.extend(batch.iter().map(|packet| {
                format!(
                    "{} at {} of {}",
                    packet.data().iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
                    packet.timestamp_ns(),
                    packet.len() + packet.anno_u32(annotation::EXTRA_LENGTH) as usize
                )
            }));
            match pause {
                Pause::Enough => continue,
                Pause::NeedInput => {}
                Pause::End => list.push("end".into()),
                Pause::Fault(message) => list.push(message),
            }
            return list;
        }
    }

    #[test]
    fn a_packet_that_became_longer_than_it_was_is_as_long_as_it_is() {
        for (len, extra, due) in [(60, 0u32, 60), (60, 1440, 1500), (72, 0u32.wrapping_sub(12), 72)] {
            let mut packet = Packet::zeroed(len);
            packet.set_anno_u32(annotation::EXTRA_LENGTH, extra);
            assert_eq!(wire_len(&packet), due);
        }
    }

    proptest! {
        #[test]
        fn a_stream_cut_anywhere_gives_back_its_packets(
            format in 0usize..3,
            lens in proptest::collection::vec(prop_oneof![14usize..200, 1900usize..2000], 0..20),
            cut in 1usize..300,
        ) {
            let format = Format::named(Format::NAMES[format]).unwrap();
            let mut framer = Framer::new(format);
            let (mut bytes, mut sent) = (Vec::new(), Vec::new());
            framer.begin(&mut bytes);
            for (i, len) in lens.iter().enumerate() {
                let mut packet = Packet::zeroed(*len);
                packet.data_mut().iter_mut().zip(i..).for_each(|(byte, value)| *byte = value as u8);
                let (mut ns, mut extra) = (0, 0);
                if format != Format::Ascii {
                    (ns, extra) = (1_700_000_000_123_456_789 + i as i64, i % 3 / 2 * 5);
                    packet.set_timestamp_ns(ns);
                    packet.set_anno_u32(annotation::EXTRA_LENGTH, extra as u32);
                }
                let text = packet.data().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                sent.push(format!("{text} at {ns} of {}", len + extra));
                framer.packet(&mut bytes, &packet);
            }
            sent.push("end".into());
            let mut deframer = Deframer::default();
            let mut got = Vec::new();
            for part in bytes.chunks(cut) {
                deframer.feed(part);
                got.extend(packets(&mut deframer));
            }
            deframer.end();
            got.extend(packets(&mut deframer));
            if bytes.is_empty() {
                got.retain(|text| text != "end");
                sent.clear();
            }
            prop_assert_eq!(got, sent);
        }

        #[test]
        fn any_bytes_end_in_packets_or_a_fault(bytes in proptest::collection::vec(any::<u8>(), 0..300), cut in 1usize..300) {
            let mut deframer = Deframer::default();
            for part in bytes.chunks(cut) {
                deframer.feed(part);
                packets(&mut deframer);
            }
            deframer.end();
            packets(&mut deframer);
        }
    }

    #[test]
    fn a_bad_line_is_told_with_its_number_and_skipped() {
        let mut deframer = Deframer::default();
        deframer.feed(b"001122334455 66778899aabb 0800 45\nhello\n\n001122334455 66778899aabb 0800 46");
        deframer.end();
        assert_eq!(packets(&mut deframer).len(), 3);
        assert_eq!(
            deframer.notes,
            ["line 2: `hello` is no destination address of 12 hexadecimal digits; it is skipped"]
        );
        assert_eq!(deframer.n_bad(), 1);
    }

    #[test]
    fn of_many_bad_lines_the_first_are_told_and_the_number_of_the_others() {
        let mut deframer = Deframer::default();
        deframer.feed("nonsense\n".repeat(25).as_bytes());
        packets(&mut deframer);
        assert_eq!(deframer.notes.len(), 10);
        deframer.end();
        packets(&mut deframer);
        packets(&mut deframer);
        let form =
            "no line is a packet, as `001122334455 66778899aabb 0800 45 00` is: addresses, type and bytes";
        assert_eq!(deframer.notes[10..], ["15 further lines were skipped", form]);
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_the_memory() {
        let mut deframer = Deframer::default();
        for _ in 0..100 {
            deframer.feed(&[b'0'; 10_000]);
            packets(&mut deframer);
            let State::Lines(lines) = &deframer.state else { panic!() };
            assert!(lines.bytes.len() <= ascii::MAX_LINE + 20_000);
        }
        deframer.feed(b"\n001122334455 66778899aabb 0800 45\n");
        assert_eq!(packets(&mut deframer), ["00112233445566778899aabb080045 at 0 of 15"]);
        assert_eq!(deframer.n_bad(), 1);
    }

    #[test]
    fn how_long_a_line_may_be_does_not_depend_on_how_it_comes() {
        for (len, is_taken) in [(ascii::MAX_LINE / 3 - 100, true), (ascii::MAX_LINE / 3 + 100, false)] {
            let mut line = Vec::new();
            assert!(ascii::write_line(&mut line, &vec![1; len]));
            for n in [READ_LEN, line.len()] {
                let mut deframer = Deframer::default();
                let mut got = Vec::new();
                for part in line.chunks(n) {
                    deframer.feed(part);
                    got.extend(packets(&mut deframer));
                }
                assert_eq!(
                    (got.len(), deframer.n_bad()),
                    if is_taken { (1, 0) } else { (0, 1) },
                    "{len} {n}"
                );
            }
        }
    }

    #[test]
    fn a_last_line_that_is_too_long_is_told_as_others_are() {
        for len in [ascii::MAX_LINE + 1, 3 * ascii::MAX_LINE] {
            let mut deframer = Deframer::default();
            for part in vec![b'0'; len].chunks(READ_LEN) {
                deframer.feed(part);
                packets(&mut deframer);
            }
            deframer.end();
            assert_eq!(packets(&mut deframer), ["end"]);
            let due = format!("line 1: it is longer than {} characters; it is skipped", ascii::MAX_LINE);
            assert_eq!(deframer.notes().next(), Some(due));
        }
    }

    /// A capture of a link type, with records of these packets and of these lengths on the wire.
    fn capture(link_type: u8, records: &[(&[u8], u8)]) -> Vec<u8> {
        let mut bytes =
            [[0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0].as_slice(), &[0; 9], &[4, 0, 0, link_type, 0, 0, 0]]
                .concat();
        for (packet, len) in records {
            bytes.extend([1, 0, 0, 0, 0, 0, 0, 0, packet.len() as u8, 0, 0, 0, *len, 0, 0, 0]);
            bytes.extend_from_slice(packet);
        }
        bytes
    }

    #[test]
    fn what_cannot_be_made_an_ethernet_frame_is_told_once_and_counted() {
        let mut deframer = Deframer::default();
        deframer.feed(&capture(105, &[(&[0x80; 30], 30), (&[0x80; 30], 30), (&[0x80; 30], 30)]));
        deframer.end();
        assert_eq!(packets(&mut deframer), ["end"]);
        assert_eq!(deframer.n_bad(), 3);
        assert_eq!(
            deframer.notes().collect::<Vec<_>>(),
            [
                "a packet of link type 802_11 carries nothing that can be made an Ethernet frame; such packets are skipped",
                "2 further packets were skipped"
            ]
        );
    }

    #[test]
    fn a_packet_without_a_length_is_what_was_captured_of_it() {
        let mut deframer = Deframer::default();
        deframer.feed(&capture(1, &[(b"abc", 0), (b"", 0), (b"abc", 2)]));
        let due = ["616263 at 1000000000 of 3", " at 1000000000 of 0", "6162 at 1000000000 of 2"];
        assert_eq!(packets(&mut deframer), due);
    }

    #[test]
    fn compressed_streams_are_told_with_what_decompresses_them() {
        let mut deframer = Deframer::default();
        deframer.feed(&[&[0x1f, 0x8b, 8, 0][..], &[1; 30]].concat());
        let due = "compressed with gzip, which is read from a file only: `weir read FILE`, or `zcat FILE | weir ...`";
        assert_eq!(packets(&mut deframer), [due]);
    }
}
