// Writes packets as hexadecimal digits, in the form that text2pcap reads.
//
//     left --> ToHexDump --> right
//     left <-- ToHexDump <-- right
//
// A packet is a line with its direction (`O` to the right, `I` to the left), time (UTC) and length, then lines of an offset and
// 16 bytes, then an empty line:
//
//     O 2026-01-31T12:00:00.000000001 len=18
//     000000 02 00 00 00 00 02 02 00 00 00 00 01 08 06 00 01
//     000010 08 00
//
// `text2pcap -D -t "%Y-%m-%dT%H:%M:%S.%f" FILE out.pcap` reads it all; without -D and -t only the bytes. Packets whose
// segmentation or checksum is still to be done are written as the segments that a wire would carry.
//
// Handlers: `dump/file.count`, `dump/file.filename`.

// The first input's packets go to the right, the second's to the left.
elementclass HexFunction { $most, __REST__ $file |
    file :: ToHexDump(DIRECTIONS "O I", MAXLENGTH $most, $file);
    input[0] -> [0] file [0] -> [0] output;
    input[1] -> [1] file [1] -> [1] output;
}
