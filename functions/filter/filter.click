// Lets packets pass that match one of tcpdump's filter expressions.
//
//     left --> PcapFilter --> right        what does not match is dropped and counted
//     left <-- PcapFilter <-- right
//
// libpcap compiles the expression (`man pcap-filter`). Mind that an expression such as `tcp` drops ARP in both directions: most
// networks need `arp or ...`. Packets whose segmentation is still to be done are looked at whole, as tcpdump sees them.
//
// Handlers: `to_right/match.matched`, `to_right/match.drops` and `to_right/match.filter`, which can be written; likewise
// `to_left`.

elementclass FilterFunction { $expression |
    input -> match :: PcapFilter($expression) -> output;
}
