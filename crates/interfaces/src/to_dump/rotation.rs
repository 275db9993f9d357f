//! When a capture file is full, and what then becomes of it and of those before it.

use std::io;

use crate::capture::Format;

/// What a file may hold, and what it holds.
#[derive(Clone, Copy, Default, Debug)]
pub struct Rotation {
    most_packets: u64,
    most_bytes: u64,
    n_files: u32,
    is_pcapng: bool,
    packets: u64,
    bytes: u64,
    /// Names from which a file is still to be moved to the next one, the full file's being the first.
    n_to_move: u32,
    /// Files that became full.
    pub n_full: u64,
}

impl Rotation {
    /// With files of so many packets and bytes at most, 0 being any number, of which `n_files` are kept.
    pub fn new(most_packets: u64, most_bytes: u64, n_files: u32, format: Format) -> Rotation {
        let is_pcapng = format == Format::Pcapng;
        let empty = Rotation { most_packets, most_bytes, n_files, is_pcapng, ..Rotation::default() };
        Rotation { bytes: empty.header_len(), ..empty }
    }

    /// Bytes of a file in front of the packets.
    fn header_len(&self) -> u64 {
        if self.is_pcapng {
            60
        } else {
            24
        }
    }

    /// Bytes of a packet's record.
    #[inline]
    fn record_len(&self, len: usize) -> u64 {
        if self.is_pcapng {
            32 + len.next_multiple_of(4) as u64
        } else {
            16 + len as u64
        }
    }

    /// Whether files ever become full.
    pub fn is_asked(&self) -> bool {
        self.most_packets > 0 || self.most_bytes > 0
    }

    /// Goes on with the file of another one.
    pub fn take_over(&mut self, old: &Rotation) {
        (self.packets, self.bytes, self.n_full) = (old.packets, old.bytes, old.n_full);
    }

    /// Whether a packet of which `len` bytes are written still belongs into the file. One always does.
    #[inline]
    pub fn has_room(&self, len: usize) -> bool {
        let bytes = self.bytes + self.record_len(len);
        let fits = |value: u64, most: u64| most == 0 || value <= most;
        self.packets == 0 || fits(self.packets + 1, self.most_packets) && fits(bytes, self.most_bytes)
    }

    /// A packet of which `len` bytes are written goes into the file.
    #[inline]
    pub fn note(&mut self, len: usize) {
        self.packets += 1;
        self.bytes += self.record_len(len);
    }

    /// The file is full: another one begins after [`Rotation::make_room`].
    pub fn note_full(&mut self) {
        (self.packets, self.bytes) = (0, self.header_len());
        self.n_to_move = self.n_files - 1;
        self.n_full += 1;
    }

    /// Renames the full file and those before it, as far as that is not done; the oldest goes.
    pub fn make_room(&mut self, path: &str) -> io::Result<()> {
        let name = |number: u32| if number == 0 { path.to_string() } else { numbered(path, number) };
        while self.n_to_move > 0 {
            match std::fs::rename(name(self.n_to_move - 1), name(self.n_to_move)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => self.n_to_move -= 1,
            }
        }
        Ok(())
    }
}

/// `PATH.NUMBER`, or `PATH.NUMBER.gz` so that what is compressed is still seen to be.
fn numbered(path: &str, number: u32) -> String {
    for ending in [".gz", ".bz2"] {
        if let Some(stem) = path.strip_suffix(ending) {
            return format!("{stem}.{number}{ending}");
        }
    }
    format!("{path}.{number}")
}

#[cfg(test)]
mod tests {
    use crate::capture::Reader;
    use crate::testing::{self, Scratch, LAN};
    use expect_test::expect;

    /// Packets of each file in a folder, by name.
    fn files(scratch: &Scratch, names: &[&str]) -> String {
        let lines = names.iter().map(|name| {
            let Ok(mut reader) = Reader::open(&scratch.path(name)) else { return format!("{name}: none\n") };
            let mut n = 0;
            while reader.next_record().unwrap().is_some() {
                n += 1;
            }
            format!("{name}: {n}\n")
        });
        lines.collect()
    }

    /// Writes the capture of 799 packets with these arguments.
    fn write(scratch: &Scratch, name: &str, arguments: &str) -> String {
        let path = scratch.path(name);
        testing::run(
            &format!("FromDump({LAN}, STOP true) -> t :: ToDump({path}, {arguments})"),
            &["t.count", "t.full_files"],
        )
        .replace(&path, name)
    }

    #[test]
    fn full_files_are_numbered_and_the_oldest_go() {
        let scratch = Scratch::new();
        let told = write(&scratch, "out.pcap", "MAX_PACKETS 100, FILES 3");
        expect![["t.count: 799\nt.full_files: 7\n"]].assert_eq(&told);
        expect![[r#"
            out.pcap: 99
            out.pcap.1: 100
            out.pcap.2: 100
            out.pcap.3: none
        "#]]
        .assert_eq(&files(&scratch, &["out.pcap", "out.pcap.1", "out.pcap.2", "out.pcap.3"]));
    }

    #[test]
    fn room_is_made_once_for_a_full_file() {
        let scratch = Scratch::new();
        ["o", "o.1", "o.2"].into_iter().for_each(|name| drop(scratch.file(name, name.as_bytes())));
        let mut rotation = super::Rotation::new(1, 0, 4, crate::capture::Format::Pcap);
        rotation.note_full();
        // As if the next file could not be begun the first time.
        (0..2).for_each(|_| rotation.make_room(&scratch.path("o")).unwrap());
        let content = |name| std::fs::read_to_string(scratch.path(name)).unwrap_or_default();
        assert_eq!(["o", "o.1", "o.2", "o.3"].map(content), ["", "o", "o.1", "o.2"]);
        assert_eq!(rotation.n_full, 1);
    }

    #[test]
    fn one_file_begins_anew() {
        let scratch = Scratch::new();
        write(&scratch, "out.pcap.gz", "MAX_PACKETS 200");
        assert_eq!(
            files(&scratch, &["out.pcap.gz", "out.pcap.1.gz"]),
            "out.pcap.gz: 199\nout.pcap.1.gz: none\n"
        );
    }

    #[test]
    fn no_file_is_longer_than_asked() {
        let scratch = Scratch::new();
        write(&scratch, "out.pcap", "SNAPLEN 100, MAX_BYTES 10000, FILES 1000, UNBUFFERED true");
        let mut n_packets = 0;
        for entry in std::fs::read_dir(scratch.path("")).unwrap() {
            let entry = entry.unwrap();
            let len = entry.metadata().unwrap().len();
            assert!((24..=10_000).contains(&len), "{len}");
            let told = files(&scratch, &[entry.file_name().to_str().unwrap()]);
            n_packets += told.trim_end().rsplit(' ').next().unwrap().parse::<u32>().unwrap();
        }
        assert_eq!(n_packets, 799);
    }

    #[test]
    fn a_packet_too_long_for_a_file_has_one_of_its_own() {
        let scratch = Scratch::new();
        let told = write(&scratch, "out.pcap", "MAX_BYTES 1, FILES 2");
        expect![["t.count: 799\nt.full_files: 798\n"]].assert_eq(&told);
        assert_eq!(files(&scratch, &["out.pcap", "out.pcap.1"]), "out.pcap: 1\nout.pcap.1: 1\n");
    }

    #[test]
    fn what_is_no_file_is_not_rotated() {
        testing::check(
            "Idle -> ToDump(/dev/null, MAX_BYTES 1000);",
            expect![[r#"
                config:1: While initializing 'ToDump@2 :: ToDump':
                  /dev/null: not a file, of which there could be several
                Router could not be initialized!
            "#]],
        );
    }
}
