// A wire: what comes in on one side goes out on the other, in both directions.
//
//   weir run examples/wire/graph.click LEFT=left.pcap RIGHT=right.pcap
//
// The frames are not looked at; the counters tell what went through.

define($LEFT ../../captures/lan.pcap, $RIGHT ../../captures/wan.pcap, $OUT_LEFT left.pcap, $OUT_RIGHT right.pcap);

FromDump($LEFT, STOP true) -> to_right :: Counter -> ToDump($OUT_RIGHT);
FromDump($RIGHT, STOP true) -> to_left :: Counter -> ToDump($OUT_LEFT);
