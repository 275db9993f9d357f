//! Tests of capture streams: what is read from every format, and that nothing makes reading panic, hang or swell.

use super::*;
use expect_test::{expect, Expect};
use proptest::prelude::*;
use std::fmt::Write as _;
use std::io::{self, Read};

/// Reads everything, one line a record and one for what ended the stream.
fn read(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut reader = match Reader::new(io::Cursor::new(bytes.to_vec())) {
        Ok(reader) => reader,
        Err(error) => return format!("{error}\n"),
    };
    writeln!(out, "{} snaplen {}", link::unparse(reader.link_type()), reader.snaplen()).unwrap();
    loop {
        match reader.next_record() {
            Ok(Some(r)) => {
                let Timestamp { seconds, nanoseconds } = r.timestamp;
                let link = link::unparse(r.link_type);
                let (offset, interface, wire_len, data) = (r.offset, r.interface, r.wire_len, r.data);
                writeln!(out, "@{offset} {seconds}.{nanoseconds:09} {interface}:{link} {wire_len} {data:?}")
                    .unwrap();
            }
            Ok(None) => return out + "end\n",
            Err(error) => {
                assert!(matches!(reader.next_record(), Ok(None)), "nothing is read after an error");
                return out + &error.to_string() + "\n";
            }
        }
    }
}

fn check(bytes: &[u8], expect: Expect) {
    expect.assert_eq(&read(bytes));
}

/// Numbers in a byte order, from `(width, value)` pairs.
fn numbers(order: ByteOrder, fields: &[(usize, u64)]) -> Vec<u8> {
    let bytes = |&(width, value): &(usize, u64)| match order {
        ByteOrder::Little => value.to_le_bytes()[..width].to_vec(),
        ByteOrder::Big => value.to_be_bytes()[8 - width..].to_vec(),
    };
    fields.iter().flat_map(bytes).collect()
}

fn pcap_header(order: ByteOrder, magic: u32, minor: u16) -> Vec<u8> {
    numbers(order, &[(4, magic.into()), (2, 2), (2, minor.into()), (4, 0), (4, 0), (4, 2000), (4, 1)])
}

fn pcap_record(order: ByteOrder, fraction: u32, lengths: [u32; 2], data: &[u8]) -> Vec<u8> {
    let header = [(4, 7), (4, fraction.into()), (4, lengths[0].into()), (4, lengths[1].into())];
    [&numbers(order, &header), data].concat()
}

/// A pcapng block; the body is padded.
fn block(order: ByteOrder, kind: u32, body: &[u8]) -> Vec<u8> {
    let len = 12 + body.len().next_multiple_of(4);
    let mut bytes = numbers(order, &[(4, kind.into()), (4, len as u64)]);
    bytes.extend(body);
    bytes.resize(len - 4, 0);
    bytes.extend(numbers(order, &[(4, len as u64)]));
    bytes
}

fn section(order: ByteOrder) -> Vec<u8> {
    let body = [(4, u64::from(pcapng::BYTE_ORDER_MAGIC)), (2, 1), (2, 0), (8, u64::MAX)];
    block(order, pcapng::SECTION_HEADER, &numbers(order, &body))
}

fn interface(order: ByteOrder, link_type: u16, options: &[u8]) -> Vec<u8> {
    let body = [&numbers(order, &[(2, link_type.into()), (2, 0), (4, 96)]), options].concat();
    block(order, pcapng::INTERFACE, &body)
}

fn enhanced(order: ByteOrder, interface: u32, units: u64, captured: u32, data: &[u8]) -> Vec<u8> {
    let fields =
        [(4, interface.into()), (4, units >> 32), (4, units & 0xffff_ffff), (4, captured.into()), (4, 1500)];
    block(order, pcapng::ENHANCED_PACKET, &[&numbers(order, &fields), data].concat())
}

use ByteOrder::{Big, Little};

#[test]
fn pcap_is_read_in_both_byte_orders_and_units() {
    for order in [Little, Big] {
        let micro =
            [pcap_header(order, pcap::MAGIC_MICRO, 4), pcap_record(order, 5, [2, 60], &[8, 9])].concat();
        check(
            &micro,
            expect![[r#"
            ETHER snaplen 2000
            @24 7.000005000 0:ETHER 60 [8, 9]
            end
        "#]],
        );
        let nano =
            [pcap_header(order, pcap::MAGIC_NANO, 4), pcap_record(order, 5, [2, 60], &[8, 9])].concat();
        check(
            &nano,
            expect![[r#"
            ETHER snaplen 2000
            @24 7.000000005 0:ETHER 60 [8, 9]
            end
        "#]],
        );
    }
}

#[test]
fn another_capture_behind_the_first_may_be_a_record() {
    let order = ByteOrder::Little;
    let one = [pcap_header(order, pcap::MAGIC_MICRO, 4), pcap_record(order, 5, [1, 1], b"a")].concat();
    let two = [&one[..], &one].concat();
    let lens = |is_single: bool| {
        let mut reader = Reader::new(io::Cursor::new(two.clone())).unwrap();
        if is_single {
            reader.decoder().expect_single();
        }
        let mut lens = Vec::new();
        while let Ok(Some(record)) = reader.next_record() {
            lens.push(record.wire_len);
        }
        lens
    };
    assert_eq!((lens(false), lens(true)), (vec![1, 1], vec![1, 0, 5]));
}

#[test]
fn captures_of_all_kinds_follow_each_other() {
    let kinds = [Little, Big].map(|order| {
        let pcap = |magic| [pcap_header(order, magic, 4), pcap_record(order, 5, [2, 60], &[8, 9])].concat();
        let blocks = [interface(order, 1, &[]), enhanced(order, 0, 7_000_005, 2, &[8, 9])].concat();
        [pcap(pcap::MAGIC_MICRO), pcap(pcap::MAGIC_NANO), [section(order), blocks].concat()]
    });
    for first in kinds.as_flattened() {
        for second in kinds.as_flattened() {
            let told = read(&[&first[..], second, first].concat());
            assert_eq!(told.matches(":ETHER ").count(), 3, "{told}");
            assert!(told.ends_with("[8, 9]\nend\n"), "{told}");
        }
    }
}

#[test]
fn modified_pcap_has_longer_record_headers() {
    let header = pcap_header(Little, 0xa1b2_cd34, 4);
    let record = pcap_record(Little, 5, [2, 60], &[1, 1, 1, 1, 2, 2, 3, 3, 8, 9]);
    check(
        &[header, record].concat(),
        expect![[r#"
        ETHER snaplen 2000
        @24 7.000005000 0:ETHER 60 [8, 9]
        end
    "#]],
    );
}

#[test]
fn old_minor_versions_have_the_lengths_the_other_way_round() {
    for (minor, lengths) in [(2, [60, 2]), (3, [60, 2]), (3, [2, 60])] {
        let header = pcap_header(Little, pcap::MAGIC_MICRO, minor);
        check(
            &[header, pcap_record(Little, 0, lengths, &[8, 9])].concat(),
            expect![[r#"
            ETHER snaplen 2000
            @24 7.000000000 0:ETHER 60 [8, 9]
            end
        "#]],
        );
    }
}

#[test]
fn bytes_beyond_the_wire_length_and_fractions_beyond_a_second_are_put_right() {
    let header = pcap_header(Little, pcap::MAGIC_MICRO, 4);
    let records = [pcap_record(Little, 2_000_001, [3, 2], &[8, 9, 0]), pcap_record(Little, 0, [1, 1], &[7])];
    check(
        &[header, records.concat()].concat(),
        expect![[r#"
        ETHER snaplen 2000
        @24 9.000001000 0:ETHER 2 [8, 9]
        @43 7.000000000 0:ETHER 1 [7]
        end
    "#]],
    );
}

#[test]
fn a_surplus_beyond_the_wire_length_need_not_be_there() {
    let header = pcap_header(Little, pcap::MAGIC_MICRO, 4);
    check(
        &[header.clone(), pcap_record(Little, 0, [9, 2], &[8, 9])].concat(),
        expect![[r#"
        ETHER snaplen 2000
        @24 7.000000000 0:ETHER 2 [8, 9]
        byte 42: truncated record, 0 of at least 7 bytes
    "#]],
    );
    // Click's limit, where the packet was not that long either.
    check(
        &[header, pcap_record(Little, 0, [70_000, 2], &[8, 9])].concat(),
        expect![[r#"
        ETHER snaplen 2000
        byte 24: captured length is 70000, must be at most 65535
    "#]],
    );
}

#[test]
fn a_fraction_too_large_for_a_word_wraps() {
    let header = pcap_header(Little, pcap::MAGIC_MICRO, 4);
    check(
        &[header, pcap_record(Little, 17_078_767, [1, 1], &[7])].concat(),
        expect![[r#"
        ETHER snaplen 2000
        @24 11.193865112 0:ETHER 1 [7]
        end
    "#]],
    );
}

#[test]
fn lengths_in_headers_take_no_memory() {
    let most = |bytes: &[u8]| {
        let mut decoder = Decoder::new();
        let mut most = 0;
        for piece in bytes.chunks(7) {
            let room = decoder.room();
            most = most.max(room.len());
            room[..piece.len()].copy_from_slice(piece);
            decoder.fill(piece.len());
            while let Ok(Progress::Record(_)) = decoder.next_record() {}
        }
        most.max(decoder.room().len())
    };
    let mut pcap = pcap_header(Little, pcap::MAGIC_MICRO, 4);
    pcap[16..20].fill(0xff);
    let ng = |kind: u32, len: u32| {
        [section(Little), [kind, len].map(u32::to_le_bytes).concat(), vec![1; 64]].concat()
    };
    let captures = [
        [pcap.clone(), pcap_record(Little, 0, [60, 60], &[0; 60])].concat(),
        [pcap, pcap_record(Little, 0, [u32::MAX, u32::MAX], &[0; 60])].concat(),
        [section(Little), interface(Little, 1, &[]), enhanced(Little, 0, 0, u32::MAX, &[0; 60])].concat(),
        ng(1, u32::MAX - 3),
        ng(6, u32::MAX - 3),
        ng(0x0a0d_0d0a, u32::MAX - 3),
        ng(99, u32::MAX - 3),
    ];
    for capture in captures {
        assert!(most(&capture) <= 2 << 20, "{} bytes of room", most(&capture));
    }
}

#[test]
fn a_huge_record_is_refused_and_what_came_before_is_delivered() {
    let header = pcap_header(Little, pcap::MAGIC_MICRO, 4);
    let records =
        [pcap_record(Little, 0, [1, 1], &[7]), pcap_record(Little, 0, [0x8000_0000, 0x8000_0000], &[1; 40])];
    check(
        &[header, records.concat()].concat(),
        expect![[r#"
        ETHER snaplen 2000
        @24 7.000000000 0:ETHER 1 [7]
        byte 41: captured length is 2147483648, must be at most 262144
    "#]],
    );
}

#[test]
fn a_truncated_last_record_is_told() {
    let header = pcap_header(Little, pcap::MAGIC_MICRO, 4);
    check(
        &[header.clone(), pcap_record(Little, 0, [9, 9], &[7])].concat(),
        expect![[r#"
        ETHER snaplen 2000
        byte 24: truncated record, 17 of at least 25 bytes
    "#]],
    );
    check(
        &[header, vec![0; 3]].concat(),
        expect![[r#"
        ETHER snaplen 2000
        byte 24: truncated record, 3 of at least 16 bytes
    "#]],
    );
}

#[test]
fn what_is_no_capture_is_said_to_be_none() {
    check(&[], expect!["empty file\n"]);
    check(b"hello", expect!["not a capture: only 5 bytes\n"]);
    check(&[b'x'; 30], expect!["not a capture: it starts with 0x78787878\n"]);
    let mut newer = pcap_header(Big, pcap::MAGIC_MICRO, 4);
    newer[5] = 3;
    check(&newer, expect!["byte 4: unknown version 3.4\n"]);
}

#[test]
fn pcapng_sections_have_their_own_byte_order_and_interfaces() {
    let mut bytes = Vec::new();
    for order in [Little, Big] {
        bytes.extend(section(order));
        bytes.extend(block(order, 0x0bad, &[0; 100]));
        bytes.extend(interface(order, 1, &[]));
        // if_name "lo", if_tsresol nanoseconds, if_tsoffset 100 seconds, end of options.
        let options = [
            numbers(order, &[(2, 2), (2, 2)]),
            b"lo\0\0".to_vec(),
            numbers(order, &[(2, 9), (2, 1)]),
            vec![9, 0, 0, 0],
            numbers(order, &[(2, 14), (2, 8), (8, 100), (4, 0)]),
        ];
        bytes.extend(interface(order, 101, &options.concat()));
        bytes.extend(enhanced(order, 1, 5_000_000_007, 3, &[1, 2, 3]));
        bytes.extend(enhanced(order, 0, 5_000_007, 1, &[4]));
        // A simple packet of 2 bytes; an old packet on interface 1 with 3 drops before it.
        bytes.extend(block(order, 3, &[numbers(order, &[(4, 2)]), vec![5, 6]].concat()));
        let old = [(2, 1), (2, 3), (4, 0), (4, 9), (4, 2), (4, 60)];
        bytes.extend(block(order, 2, &[numbers(order, &old), vec![7, 8]].concat()));
    }
    check(
        &bytes,
        expect![[r#"
            ETHER snaplen 96
            @212 105.000000007 1:IP 1500 [1, 2, 3]
            @248 5.000007000 0:ETHER 1500 [4]
            @284 0.000000000 0:ETHER 2 [5, 6]
            @304 100.000000009 1:IP 60 [7, 8]
            @552 105.000000007 1:IP 1500 [1, 2, 3]
            @588 5.000007000 0:ETHER 1500 [4]
            @624 0.000000000 0:ETHER 2 [5, 6]
            @644 100.000000009 1:IP 60 [7, 8]
            end
        "#]],
    );
}

#[test]
fn pcapng_clocks_of_every_unit_are_understood() {
    let mut out = String::new();
    for unit in [0u8, 3, 6, 9, 12, 19, 20, 127, 0x80, 0x80 | 10, 0x80 | 63, 0x80 | 64] {
        let option = [numbers(Little, &[(2, 9), (2, 1)]), vec![unit, 0, 0, 0]].concat();
        let packet = enhanced(Little, 0, (1 << 63) + 1_000_000_000, 0, &[]);
        let bytes = [section(Little), interface(Little, 1, &option), packet].concat();
        let text = read(&bytes);
        writeln!(out, "{unit:#04x} {}", text.lines().nth(1).unwrap().split(' ').nth(1).unwrap()).unwrap();
    }
    expect![[r#"
        0x00 9223372036854775807.000000000
        0x03 9223372037854775.808000000
        0x06 9223372037854.775808000
        0x09 9223372037.854775808
        0x0c 9223372.037854775
        0x13 0.922337203
        0x14 0.000000000
        0x7f 0.000000000
        0x80 9223372036854775807.000000000
        0x8a 9007199255717554.500000000
        0xbf 1.000000000
        0xc0 0.000000000
    "#]]
    .assert_eq(&out);
}

#[test]
fn faults_of_pcapng_blocks_are_named() {
    let start = [section(Little), interface(Little, 1, &[])].concat();
    let with = |rest: Vec<u8>| read(&[start.clone(), rest].concat()).lines().last().unwrap().to_owned();
    let altered = |mut bytes: Vec<u8>, at: usize, byte: u8| {
        bytes[at] = byte;
        bytes
    };
    let packet = enhanced(Little, 0, 0, 3, &[1, 2, 3]);
    let faults = [
        with(enhanced(Little, 4, 0, 3, &[1, 2, 3])),
        with(enhanced(Little, 0, 0, 5, &[1, 2, 3])),
        with(altered(packet.clone(), 4, 37)),
        with(altered(packet.clone(), 4, 40)),
        with(altered(packet.clone(), 4, 8)),
        with(altered(packet.clone(), 7, 0x7f)),
        with(altered(block(Little, 77, &[0; 8]), 16, 9)),
        with(altered(section(Little), 8, 9)),
        with(altered(section(Little), 12, 9)),
        with(interface(Little, 1, &[2, 0, 99, 0])),
        with(block(Little, 77, &[0; 80])[..50].to_vec()),
        with(block(Little, 77, &[0; 8])[..16].to_vec()),
        read(&[section(Little), packet].concat()).lines().last().unwrap().to_owned(),
        read(&section(Little)).replace('\n', " "),
    ];
    expect![[r#"
        byte 48: interface is 4, must be below 1
        byte 48: captured length is 5, must be at most 4
        byte 48: block length is 37, must be a multiple of 4
        byte 48: truncated record, 36 of at least 40 bytes
        byte 48: block length is 8, must be at least 32
        byte 48: block length is 2130706468, must be at most 1048576
        byte 64: trailing block length is 9, must be 20
        byte 48: byte-order magic is 439041033, must be 439041101
        byte 60: unknown version 9.0
        byte 48: option length is 99, must be at most 0
        byte 98: truncated record, 0 of at least 38 bytes
        byte 64: truncated record, 0 of at least 4 bytes
        byte 28: interface is 0, must be one that was described before
        <none> snaplen 0 end "#]]
    .assert_eq(&faults.join("\n"));
}

#[test]
fn a_written_capture_has_these_bytes() {
    let timestamp = Timestamp { seconds: 1, nanoseconds: 2_003 };
    let mut writer = Writer::pcap(Vec::new(), link::ETHERNET, 3, Precision::Micro);
    writer.write(timestamp, 60, &[1, 2, 3, 4]).unwrap();
    let expected = "d4c3b2a1 02000400 00000000 00000000 03000000 01000000 \
        01000000 02000000 03000000 3c000000 010203";
    assert_eq!(hex(&writer.finish().unwrap()), expected.replace(' ', ""));

    let mut writer = Writer::pcapng(Vec::new(), link::RAW, u32::MAX, Precision::Nano);
    writer.write(timestamp, 0, &[1, 2, 3]).unwrap();
    let expected = "0a0d0d0a 1c000000 4d3c2b1a 01000000 ffffffff ffffffff 1c000000 \
        01000000 20000000 65000000 00000000 09000100 09000000 00000000 20000000 \
        06000000 24000000 00000000 00000000 d3d19a3b 03000000 03000000 01020300 24000000";
    assert_eq!(hex(&writer.finish().unwrap()), expected.replace(' ', ""));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_compressed_capture_is_read_and_a_cut_one_up_to_the_cut() {
    let folder = std::env::temp_dir().join(format!("capture-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["a.pcap", "a.pcap.gz", "a.pcap.bz2"] {
        let path = folder.join(name).to_str().unwrap().to_owned();
        let encoder = Encoder::new(Format::Pcap, Precision::Nano, link::ETHERNET, 2000);
        let mut writer = Writer::new(Output::create(&path).unwrap(), encoder);
        for nanoseconds in 0..10_000 {
            writer.write(Timestamp { seconds: 3, nanoseconds }, 60, &nanoseconds.to_le_bytes()).unwrap();
        }
        writer.finish().unwrap().finish().unwrap();

        let mut reader = Reader::open(&path).unwrap();
        let is_plain = name == "a.pcap";
        assert_eq!(reader.file_len(), is_plain.then_some(24 + 20 * 10_000));
        let mut n_read = 0u32;
        while let Some(record) = reader.next_record().unwrap() {
            assert_eq!((record.timestamp.nanoseconds, record.data), (n_read, &n_read.to_le_bytes()[..]));
            n_read += 1;
        }
        assert_eq!((n_read, reader.position()), (10_000, 24 + 20 * 10_000));

        let bytes = std::fs::read(&path).unwrap();
        let cut = read(&bytes[..bytes.len() - 20]);
        assert!(is_plain || cut.lines().last().unwrap().starts_with("byte "), "{:?}", cut.lines().last());
        let mut reader = Reader::open(&path).unwrap();
        reader.seek(24 + 20 * 7).unwrap();
        assert_eq!(reader.next_record().unwrap().unwrap().timestamp.nanoseconds, 7);
        assert_eq!(reader.seek(24).is_ok(), is_plain);
        assert_eq!(reader.seek(9_999_999).is_ok(), !is_plain);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_missing_file_is_named() {
    let error = Reader::open("/nonexistent/x.pcap").err().unwrap().to_string();
    assert_eq!(error, "/nonexistent/x.pcap: No such file or directory");
}

/// Gives a few bytes at a time and says in between that there are none yet.
struct Halting {
    bytes: io::Cursor<Vec<u8>>,
    step: usize,
    is_ready: bool,
}

impl Read for Halting {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.is_ready = !self.is_ready;
        if !self.is_ready && self.bytes.position() > 24 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let len = self.step.min(room.len());
        self.bytes.read(&mut room[..len])
    }
}

/// Takes a few bytes at a time and says in between that it cannot take any.
struct Reluctant(Vec<u8>, bool);

impl io::Write for Reluctant {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let len = bytes.len().min(1000);
        self.0.extend(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stream_that_would_block_goes_on_later() {
    let mut writer = Writer::pcap(Reluctant(Vec::new(), false), 1, u32::MAX, Precision::Nano);
    for n in 0..300u32 {
        while let Err(error) = writer.write(Timestamp::default(), 0, &[n as u8; 1000]) {
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        }
    }
    while writer.flush().is_err() {}
    let bytes = writer.finish().unwrap().0;
    assert_eq!(bytes.len(), 24 + 300 * 1016);

    let halting = Halting { bytes: io::Cursor::new(bytes), step: 333, is_ready: false };
    let mut reader = Reader::new(halting).unwrap();
    let mut n_read = 0;
    loop {
        match reader.next_record() {
            Ok(Some(record)) => assert!(record.data.iter().all(|byte| *byte == n_read as u8)),
            Ok(None) => break,
            Err(CaptureError::Read { source, .. }) if source.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => panic!("{error}"),
        }
        n_read += 1;
    }
    assert_eq!(n_read, 300);
}

/// A capture in one of the formats with records of all sizes.
fn sample(format: Format) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Encoder::new(format, Precision::Nano, link::ETHERNET, 2000));
    for n in 0..40u32 {
        writer.write(Timestamp { seconds: 1, nanoseconds: n }, n, &vec![n as u8; n as usize]).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn a_capture_cut_anywhere_gives_its_whole_records_and_one_complaint() {
    for format in [Format::Pcap, Format::Pcapng] {
        let bytes = sample(format);
        let whole = read(&bytes);
        for cut in 0..bytes.len() {
            let text = read(&bytes[..cut]);
            let lines: Vec<&str> = text.lines().collect();
            let (last, records) = lines.split_last().unwrap();
            // A pcapng section may end before it describes an interface.
            let is_bare_section = format == Format::Pcapng && cut == 28 && text == "<none> snaplen 0\nend\n";
            let are_same = records.iter().zip(whole.lines()).all(|(got, expected)| *got == expected);
            assert!(are_same || is_bare_section, "{cut}: {text}");
            let is_told =
                ["end", "empty file"].contains(last) || last.starts_with("byte") || last.starts_with("not");
            assert!(is_told, "{cut}: {last}");
        }
    }
}

/// Feeds a decoder in pieces; returns how many records came and the room that it had at most.
fn decode_in_pieces(bytes: &[u8], piece: usize) -> (usize, usize) {
    let (mut decoder, mut rest, mut n_records, mut most) = (Decoder::new(), bytes, 0, 0);
    loop {
        match decoder.next_record() {
            Ok(Progress::Record(record)) => {
                assert!(record.data.len() <= MAX_CAPTURED_LEN as usize);
                n_records += 1;
            }
            Ok(Progress::NeedInput) => {
                let room = decoder.room();
                most = most.max(room.len());
                let len = piece.min(rest.len()).min(room.len());
                room[..len].copy_from_slice(&rest[..len]);
                rest = &rest[len..];
                decoder.fill(len);
            }
            Ok(Progress::End) | Err(_) => return (n_records, most),
        }
    }
}

/// Whether every checksum of an IPv4 packet is right, as far as the packet holds what they cover.
fn are_checksums_right(ip: &wire::Ipv4<&[u8]>) -> bool {
    let segment = ip.payload();
    let is_transport_right = match ip.protocol() {
        _ if ip.is_fragment() => true,
        wire::protocol::ICMP | wire::protocol::IGMP => wire::checksum::is_valid(segment),
        wire::protocol::UDP if wire::Udp::new(segment).is_some_and(|udp| udp.checksum() == 0) => true,
        wire::protocol::TCP | wire::protocol::UDP => {
            wire::checksum::is_transport_valid(ip.pseudo_header_sum(segment.len() as u16), segment)
        }
        _ => false,
    };
    ip.is_checksum_valid() && is_transport_right
}

#[test]
fn the_bundled_captures_are_intact_and_hold_what_they_promise() {
    for (name, router) in [("lan", [10, 0, 0, 1]), ("wan", [203, 0, 113, 2])] {
        let path = format!("{}/../../captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"));
        let mut reader = Reader::open(&path).unwrap();
        assert_eq!((reader.link_type(), reader.snaplen()), (link::ETHERNET, MAX_CAPTURED_LEN));
        let (mut n_ip, mut n_arp, mut n_of_router, mut last) = (0, 0, 0, Timestamp::default());
        while let Some(record) = reader.next_record().unwrap() {
            assert_eq!(record.wire_len as usize, record.data.len(), "nothing was cut off");
            assert!(record.timestamp >= last && record.wire_len <= 1514);
            last = record.timestamp;
            let ethernet = wire::Ethernet::new(record.data).unwrap();
            if ethernet.ethertype() == wire::ethertype::ARP {
                assert!(wire::Arp::new(ethernet.payload()).is_some());
                n_arp += 1;
                continue;
            }
            let ip = wire::Ipv4::new(ethernet.payload()).unwrap();
            assert!(are_checksums_right(&ip), "{name} byte {}", record.offset);
            assert!(link::find_ip(link::ETHERNET, record.data).is_some());
            n_ip += 1;
            n_of_router += usize::from([ip.source(), ip.destination()].contains(&router.into()));
        }
        assert_eq!(Some(reader.position()), reader.file_len());
        assert!(n_ip > 400 && n_arp > 0 && n_of_router > 0, "{name} {n_ip} {n_arp} {n_of_router}");
    }
}

proptest! {
    #[test]
    fn random_bytes_do_no_harm(
        bytes: Vec<u8>, head in prop::sample::select(vec![0usize, 8, 24, 48]), is_pcapng: bool, piece in 1usize..50,
    ) {
        let format = if is_pcapng { Format::Pcapng } else { Format::Pcap };
        let start = sample(format);
        let input = [&start[..head], &bytes[..]].concat();
        read(&input);
        let (_, most) = decode_in_pieces(&input, piece);
        prop_assert!(most <= 2 * 1024 * 1024);
    }

    #[test]
    fn mutated_captures_do_no_harm(
        is_pcapng: bool, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), piece in 1usize..500,
    ) {
        let mut bytes = sample(if is_pcapng { Format::Pcapng } else { Format::Pcap });
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let text = read(&bytes);
        let (n_records, most) = decode_in_pieces(&bytes, piece);
        prop_assert!(most <= 2 * 1024 * 1024);
        prop_assert_eq!(n_records, text.lines().filter(|line| line.starts_with('@')).count());
    }

    #[test]
    fn what_was_written_is_read(
        packets in prop::collection::vec((0i64..1 << 32, 0u32..1_000_000_000, any::<Vec<u8>>(), any::<u32>()), 0..20),
        is_pcapng: bool, is_nano: bool, snaplen in 1u32..200,
    ) {
        let precision = if is_nano { Precision::Nano } else { Precision::Micro };
        let format = if is_pcapng { Format::Pcapng } else { Format::Pcap };
        let mut writer = Writer::new(Vec::new(), Encoder::new(format, precision, link::RAW, snaplen));
        for (seconds, nanoseconds, data, wire_len) in &packets {
            writer.write(Timestamp { seconds: *seconds, nanoseconds: *nanoseconds }, *wire_len, data).unwrap();
        }
        let mut reader = Reader::new(io::Cursor::new(writer.finish().unwrap())).unwrap();
        prop_assert_eq!((reader.link_type(), reader.snaplen()), (link::RAW, snaplen));
        for (seconds, nanoseconds, data, wire_len) in &packets {
            let record = reader.next_record().unwrap().unwrap();
            let captured = &data[..data.len().min(snaplen as usize)];
            let unit = if is_nano { 1 } else { 1000 };
            prop_assert_eq!(record.data, captured);
            prop_assert_eq!(record.wire_len, (*wire_len).max(captured.len() as u32));
            prop_assert_eq!(record.timestamp.seconds, *seconds);
            prop_assert_eq!(record.timestamp.nanoseconds, nanoseconds / unit * unit);
        }
        prop_assert!(reader.next_record().unwrap().is_none());
    }
}

#[test]
fn files_that_do_not_block_are_waited_for() {
    use std::io::Write;
    for ending in ["", ".gz", ".bz2"] {
        let path = std::env::temp_dir().join(format!("weir-waits-{}{ending}", std::process::id()));
        let path = path.to_str().unwrap();
        let mut output = Output::create(path).unwrap();
        output.write_all(crate::testing::lan()).and_then(|()| output.finish()).unwrap();
        let bytes = std::fs::read(path).unwrap();
        std::fs::remove_file(path).unwrap();
        let (pipe, writer) = io::pipe().unwrap();
        let mut output = Kept::from(sys::pipe::reopen_to_write(writer).unwrap());
        let thread = std::thread::spawn(move || {
            // First pieces so small that the reader has read one before the next one comes, then more than the pipe holds.
            let (begin, rest) = bytes.split_at(bytes.len() / 2);
            begin.chunks(1000).try_for_each(|piece| output.write_all(piece))?;
            output.write_all(rest)
        });
        let mut reader = Reader::of_file(sys::pipe::reopen_to_read(pipe).unwrap()).unwrap();
        let mut n_read = 0;
        while reader.next_record().unwrap().is_some() {
            n_read += 1;
        }
        assert_eq!(n_read, 799, "{ending}");
        thread.join().unwrap().unwrap();
    }
}
