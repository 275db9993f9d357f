// A home router: firewall, then source NAT, over a recorded capture of a LAN.
//
//   weir run examples/nat-firewall.click OUT=/tmp/out.pcap
//
// Packets of the clients (10.0.0.0/24) that the firewall allows leave with the router's address 203.0.113.2; the servers'
// answers, which the capture holds as the clients saw them, are let through unchanged.

define($IN captures/lan.pcap, $OUT /tmp/weir-nat-firewall.pcap);

in :: FromDump($IN, STOP true);
out :: ToDump($OUT);

// Clients may use DNS, web, ssh, iperf3 and ping; everything else stops here.
firewall :: IPFilter(
    allow src net 10.0.0.0/24 && dst host 10.0.0.1,
    deny src net 10.0.0.0/24 && dst net 10.0.0.0/24,
    allow src net 10.0.0.0/24 && udp && dst port 53,
    allow src net 10.0.0.0/24 && tcp && dst port 53 or 80 or 22 or 5201,
    allow src net 10.0.0.0/24 && udp && dst port 5201,
    allow src net 10.0.0.0/24 && icmp,
    allow src net 10.0.0.0/24 && ip frag,
    deny all);

nat :: IPRewriter(pattern 203.0.113.2 1024-65535# - - 0 0);
pings :: ICMPPingRewriter(pattern 203.0.113.2 - 0-65535# 0 0);

in -> ethernet :: Classifier(12/0800, -)
    -> Strip(14)
    -> CheckIPHeader
    -> side :: IPClassifier(src net 10.0.0.0/24, -);

side [0] -> firewall -> kind :: IPClassifier(tcp or udp, icmp echo, -);
kind [0] -> nat;
kind [1] -> pings;
kind [2] -> Discard;

wan :: Null -> back :: EtherEncap(0x0800, 02:00:00:00:00:02, 02:00:00:00:02:01) -> out;
nat [0] -> wan;
pings [0] -> wan;

side [1] -> EtherEncap(0x0800, 02:00:00:00:00:01, 02:00:00:00:01:10) -> out;
ethernet [1] -> Discard;
