// (m) CarrierNAT, 10k UDP flows of 10 subscribers; each counted packet is translated twice (out + reply)
define($TRACE trace_udp64.pcap, $FLOWS flows10k.pcap, $WARM 3s, $DUR 3s)
nat :: CarrierNAT(203.0.113.0/24);
FlowSource(10000, BURST 32) -> [0]nat;
nat[0] -> IPMirror -> [1]nat;            // outbound translation, then the "server" answers
nat[1] -> d :: Discard;                  // inbound translation

// ---- measurement (same in every file): warm up, then print count+time twice; harness samples CPU time on each line
DriverManager(wait $WARM, print "B $(d.count) $(now)", wait $DUR, print "E $(d.count) $(now) $(nat.nmappings)", stop)
