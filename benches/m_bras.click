// (m) PPPoE server, 1000 sessions with accounts and rates: out of the frame and, mirrored, back into one
define($TRACE trace_udp64.pcap, $FLOWS flows10k.pcap, $WARM 1s, $DUR 3s);
// ring source: packets get one of the sessions' addresses; then they circulate (exclusive buffers, as after NIC RX)
ring :: Queue(16384);
bras :: PPPoEServer(2:0:0:0:0:1, 10.64.3.255, RATE 1Gbps, ACCOUNTING /dev/null);
in :: FromDump($FLOWS, STOP false, ACTIVE false)
    -> Strip(14) -> MarkIPHeader -> SetRandIPAddress(10.64.0.0/22) -> StoreIPAddress(16) -> [1] bras;
ring -> u :: Unqueue(BURST 32)
    -> [0] bras;
bras [1] -> IPMirror -> [1] bras;
bras [0] -> Strip(22) -> IPMirror -> Unstrip(22) -> EtherMirror -> ring;

// ---- measurement: add the sessions and fill the ring, then warm up, then print count+time twice; harness samples CPU time on each line
DriverManager(set i 1, label more,
  write bras.add_session 2:0:0:1:$(idiv $i 64):$(mod $i 64) $i 10.64.$(idiv $i 256).$(mod $i 256),
  set i $(add $i 1), goto more $(le $i 1000), write in.active true,
  wait $WARM, print "B $(u.count) $(now)", wait $DUR, print "E $(u.count) $(now) $(ring.length)", stop);
