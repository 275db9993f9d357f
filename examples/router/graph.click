// An IPv4 router with two interfaces: ARP, a table of routes, TTL, options, fragments, and all ICMP errors that a router owes.
//
//   weir run examples/router/graph.click IN0=eth0.pcap IN1=eth1.pcap OUT0=out0.pcap OUT1=out1.pcap
//
// IN0 and IN1 are what the interfaces receive, OUT0 and OUT1 what they send. The same file runs in Click.

define($IN0 ../../captures/site0.pcap, $IN1 ../../captures/site1.pcap, $OUT0 out0.pcap, $OUT1 out1.pcap);

AddressInfo(eth0 10.0.1.1 10.0.1.0/24 02:00:00:00:01:01, eth1 10.0.2.1 10.0.2.0/24 02:00:00:00:02:01);

// Capture files as interfaces, in the order of the packets' times.
order :: TimeSortedSched(STOP true);
FromDump($IN0) -> Paint(1) -> [0] order;
FromDump($IN1) -> Paint(2) -> [1] order;
order -> Unqueue(BURST 1) -> from :: CheckPaint(1) -> in0 :: Null;
from [1] -> in1 :: Null;
out0 :: ToDump($OUT0);
out1 :: ToDump($OUT1);
// End of the interfaces.

strip :: Strip(14) -> check :: CheckIPHeader(INTERFACES 10.0.1.1/24 10.0.2.1/24);
c0, c1 :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
in0 -> HostEtherFilter(eth0) -> c0;
in1 -> HostEtherFilter(eth1) -> c1;

c0 [0] -> ARPResponder(eth0) -> out0;
c1 [0] -> ARPResponder(eth1) -> out1;
arpq0 :: ARPQuerier(eth0) -> out0;
arpq1 :: ARPQuerier(eth1) -> out1;
c0 [1] -> [1] arpq0;
c1 [1] -> [1] arpq1;
c0 [2] -> Paint(1) -> strip;
c1 [2] -> Paint(2) -> strip;
c0 [3] -> Discard;
c1 [3] -> Discard;

check
    -> routes :: RadixIPLookup(
        10.0.1.1/32 0, 10.0.1.255/32 0, 10.0.1.0/32 0,
        10.0.2.1/32 0, 10.0.2.255/32 0, 10.0.2.0/32 0,
        10.0.1.0/24 1,
        10.0.2.0/24 2,
        192.0.2.0/24 10.0.1.3 1,
        198.51.100.0/24 10.0.2.2 2,
        0.0.0.0/0 3);

// To the router itself: it answers pings; nobody listens on its ports.
routes [0] -> local :: IPClassifier(icmp type echo, tcp or udp, -);
local [0] -> ICMPPingResponder -> routes;
local [1] -> ICMPError(eth0, unreachable, port) -> routes;
local [2] -> Discard;

routes [1]
    -> DropBroadcasts
    -> same0 :: PaintTee(1)
    -> options0 :: IPGWOptions(eth0)
    -> FixIPSrc(eth0)
    -> ttl0 :: DecIPTTL
    -> fragments0 :: IPFragmenter(1500)
    -> [0] arpq0;
same0 [1] -> ICMPError(eth0, redirect, host) -> routes;
options0 [1] -> ICMPError(eth0, parameterproblem) -> routes;
ttl0 [1] -> ICMPError(eth0, timeexceeded) -> routes;
fragments0 [1] -> ICMPError(eth0, unreachable, needfrag, PMTU 1500) -> routes;

routes [2]
    -> DropBroadcasts
    -> same1 :: PaintTee(2)
    -> options1 :: IPGWOptions(eth1)
    -> FixIPSrc(eth1)
    -> ttl1 :: DecIPTTL
    -> fragments1 :: IPFragmenter(1000)
    -> [0] arpq1;
same1 [1] -> ICMPError(eth1, redirect, host) -> routes;
options1 [1] -> ICMPError(eth1, parameterproblem) -> routes;
ttl1 [1] -> ICMPError(eth1, timeexceeded) -> routes;
fragments1 [1] -> ICMPError(eth1, unreachable, needfrag, PMTU 1000) -> routes;

routes [3] -> ICMPError(eth0, unreachable, net) -> routes;
