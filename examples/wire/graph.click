// A wire: what comes in on one side goes out on the other, in both directions.
//
//   weir run examples/wire/graph.click LEFT=left.pcap RIGHT=right.pcap TO_LEFT=to_left.pcap TO_RIGHT=to_right.pcap
//
// Frames are neither looked at nor changed; the counters tell how many went each way.

define($LEFT ../../captures/site0.pcap, $RIGHT ../../captures/site1.pcap, $TO_LEFT to_left.pcap, $TO_RIGHT to_right.pcap);

FromDump($LEFT, STOP false) -> right :: Counter -> ToDump($TO_RIGHT);
FromDump($RIGHT, STOP false) -> left :: Counter -> ToDump($TO_LEFT);

DriverManager(wait 1s, print "to the right: $(right.count) frames, $(right.byte_count) bytes",
    print "to the left: $(left.count) frames, $(left.byte_count) bytes");
