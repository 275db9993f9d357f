// (m) IntrusionDetector: 1,000 patterns in 1500-byte packets of text as in HTTP, none of them there
//
// The packets are UDP, which is searched packet by packet: sent around again, TCP would be taken for retransmissions.
// crates/detect/examples/detect_speed.rs measures TCP streams, and traffic that matches.
define($TRACE http1500.pcap, $FLOWS flows10k.pcap, $RULES m_ids.rules, $WARM 1s, $DUR 3s)
// ring source: the trace is loaded into a queue once; packets then circulate (exclusive buffers, as after NIC RX)
ring :: Queue(16384);
FromDump($TRACE, STOP false, ACTIVE true) -> ring;
ring -> u :: Unqueue(BURST 32)
  -> MarkIPHeader(14) -> IntrusionDetector(RULES $RULES) -> ring;

// ---- measurement (same in every file): warm up, then print count+time twice; harness samples CPU time on each line
DriverManager(wait $WARM, print "B $(u.count) $(now)", wait $DUR, print "E $(u.count) $(now) $(ring.length)", stop)
