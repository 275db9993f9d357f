// An intrusion detector, over a recorded capture of a client and a server.
//
//   cd examples/ids; weir run graph.click
//   weir run graph.click IN=other.pcap RULES=community.rules EVE=-
//
// The capture holds pages and names that anybody asks for, and among them: a directory traversal over IPv4 and IPv6, an SQL
// injection whose words no packet holds as a whole, an upload of a program across a segment that got lost and came again,
// guessed passwords, knocks at closed ports. `rules` describes them; alerts are written as Suricata writes them, a line of
// JSON each. record.sh recorded the capture.
//
// One VLAN tag is taken off by VLANDecap (another one in front of it takes off the outer of two, with ETHERTYPE 0x88a8). Where
// packets go on to a wire, VLANEncap(ANNO) behind the detector puts it back.
//
// For a detector in the path of packets replace FromDump and Discard by FromDevice and ToDevice, and give INLINE true: then
// `drop` rules drop.

define($IN in.pcap, $RULES rules, $EVE eve.json);

// Put CheckIPHeader and IPReassembler in front where damaged packets and fragments are to be expected: a receiver puts
// fragments together and throws damaged packets away, and so should the detector.
FromDump($IN, STOP true)
    -> VLANDecap
    -> MarkIPHeader(14)
    -> ids :: IntrusionDetector(RULES $RULES, EVE $EVE);

ids [0] -> quiet :: Counter -> Discard;
ids [1] -> noisy :: Counter -> Discard;

DriverManager(wait,
    print "$(ids.packets) packets, $(ids.flows) flows, $(ids.rules) rules, $(ids.alerts) alerts in $(noisy.count) packets",
    print "rule matches",
    print "$(ids.alerts_by_sid)");
