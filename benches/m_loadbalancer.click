// (m) load balancer: LoadBalancer of 4 servers by Maglev, 10k flows to one service; two translations per lap, as in g1
define($TRACE trace_udp64.pcap, $FLOWS flows10k.pcap, $WARM 1s, $DUR 3s)
lb :: LoadBalancer(203.0.113.10:80/udp 192.168.1.1 192.168.1.2 192.168.1.3 192.168.1.4, CAPACITY 200000);
// ring source: the trace is loaded into a queue once; packets then circulate (exclusive buffers, as after NIC RX)
ring :: Queue(16384);
// the flows' destinations become the service
FromDump($FLOWS, STOP false, ACTIVE true)
  -> StoreData(30, \<cb00710a>) -> StoreData(36, \<0050>) -> MarkIPHeader(14) -> SetIPChecksum -> SetUDPChecksum -> ring;
ring -> u :: Unqueue(BURST 32)
  -> Strip(14) -> CheckIPHeader -> [0]lb;
lb[0] -> IPMirror -> [1]lb;              // to a server, which answers
lb[1] -> IPMirror -> Unstrip(14) -> ring; // from the service, then back to the original packet

// ---- measurement (same in every file): warm up, then print count+time twice; harness samples CPU time on each line
DriverManager(wait $WARM, print "B $(u.count) $(now)", wait $DUR, print "E $(u.count) $(now) $(ring.length)", stop)
