// Copies the packets that pass to a capture file or a named pipe.
//
//     left --> Tee --> right
//               |
//               v
//             FILE       (pcap with nanoseconds)
//               ^
//               |
//     left <-- Tee <-- right
//
// The copy is in pcap format, written at once, so that `tcpdump -r FIFO` shows packets as they pass. A name that ends with
// `.gz` or `.bz2` compresses. A named pipe is opened when somebody reads it, and the function starts then; a reader that is slow
// makes the packets wait, one that goes away ends the copy, not the packets. Packets whose segmentation or checksum is still to
// be done are copied as the segments that a wire would carry.
//
// Handlers: `copy.count`, `copy.filename`.

elementclass TeeFunction { $file, $snaplen |
    input -> ToDump($file, SNAPLEN $snaplen, UNBUFFERED true);
}
