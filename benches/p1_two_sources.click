// (p) two sources into one queue that they overfill -> router path -> a queue for each port; no burst is given
define($WARM 1s, $DUR 3s)
InfiniteSource -> UDPIPEncap(1.0.0.1, 1234, 2.0.0.2, 80) -> q :: Queue(1000);
InfiniteSource -> UDPIPEncap(1.0.0.3, 1234, 3.0.0.2, 80) -> q;
q -> u :: Unqueue -> CheckIPHeader -> rt :: StaticIPLookup(2.0.0.0/8 0, 3.0.0.0/8 1)
  -> DecIPTTL -> Queue -> Discard;
rt [1] -> DecIPTTL -> Queue -> Discard;

// ---- measurement (same in every file): warm up, then print count+time twice; harness samples CPU time on each line
DriverManager(wait $WARM, print "B $(u.count) $(now)", wait $DUR, print "E $(u.count) $(now)", stop)
