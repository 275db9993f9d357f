// A mirror: every frame goes back to who sent it, its Ethernet addresses swapped.
//
//   weir run examples/mirror/graph.click IN=in.pcap OUT=out.pcap
//
// What was sent to all stations, such as ARP requests, stays out of it: the answer would come from an address that nobody has.

define($IN ../../captures/site0.pcap, $OUT out.pcap);

FromDump($IN, STOP true)
    -> to :: Classifier(0/ffffffffffff, -)
    -> broadcasts :: Counter
    -> Discard;
to [1] -> EtherMirror -> mirrored :: Counter -> ToDump($OUT);

DriverManager(pause, print "$(mirrored.count) frames mirrored, $(broadcasts.count) broadcasts left alone");
