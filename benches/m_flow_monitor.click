// (m) FlowExporter, 10k flows
define($TRACE trace_udp64.pcap, $FLOWS flows10k.pcap, $WARM 1s, $DUR 3s)
// ring source: the trace is loaded into a queue once; packets then circulate (exclusive buffers, as after NIC RX)
ring :: Queue(16384);
FromDump($FLOWS, STOP false, ACTIVE true) -> ring;
ring -> u :: Unqueue(BURST 32)
  -> MarkIPHeader(14) -> fx :: FlowExporter -> ring;
fx [1] -> Discard;

// ---- measurement (same in every file): warm up, then print count+time twice; harness samples CPU time on each line
DriverManager(wait $WARM, print "B $(u.count) $(now)", wait $DUR, print "E $(u.count) $(now) $(ring.length)", stop)
