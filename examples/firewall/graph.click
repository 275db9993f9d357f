// A stateful firewall: hosts inside may begin what the rules allow, and only what answers them comes in. Denied packets are
// logged on the standard error.
//
//   weir run examples/firewall/graph.click IN=capture.pcap OUT=out.pcap
//
// IN is what passes on a link, in both directions; OUT what the firewall lets through, the first bytes of each packet. The
// capture is that of a router's outside: 203.0.113.2 is inside. The same file runs in Click.

define($IN ../../captures/wan.pcap, $OUT out.pcap, $INSIDE 203.0.113.2);

passed :: Counter -> IPFragmenter(1500) -> ToDump($OUT, SNAPLEN 60, ENCAP IP);
denied :: Counter -> Discard;
unsolicited :: IPPrint(unsolicited, TIMESTAMP false) -> denied;

FromDump($IN, STOP true)
    -> kind :: Classifier(12/0800, -)
    -> Strip(14)
    -> CheckIPHeader
    -> IPReassembler
    -> side :: IPClassifier(src host $INSIDE, dst host $INSIDE, -);
kind [1] -> Discard;
side [2] -> IPPrint(astray, TIMESTAMP false) -> denied;

// What may begin inside.
rules :: IPFilter(
    allow udp && dst port 53,
    allow tcp && dst port 53 or 80 or 22 or 5201,
    allow udp && dst port 5201,
    allow icmp type echo,
    1 all);
side [0] -> rules;
rules [1] -> IPPrint(denied, TIMESTAMP false) -> denied;

// Connections: what answers them may come in, and errors about them.
flows :: IPRewriter(keep 0 0, pass 1, TCP_TIMEOUT 3600, TCP_DONE_TIMEOUT 60);
pings :: ICMPPingRewriter(keep 0 0, pass 1);
begun :: IPClassifier(icmp, -);
rules [0] -> begun;
begun [0] -> pings;
begun [1] -> flows;
answer :: IPClassifier(icmp type echo-reply, tcp or udp, icmp type 3 or 11 or 12, -);
side [1] -> answer;
answer [0] -> [1] pings;
answer [1] -> [1] flows;
answer [2] -> ICMPRewriter(flows pings) -> passed;
answer [3] -> unsolicited;

flows [0] -> passed;
pings [0] -> passed;
flows [1] -> unsolicited;
pings [1] -> unsolicited;

DriverManager(pause, print "$(passed.count) packets passed, $(denied.count) denied, $(flows.table_size) connections");
