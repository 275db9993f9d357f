// (p) ARPQuerier whose queries and packets go through one queue to the responder that answers; no burst is given
define($WARM 1s, $DUR 3s)
arp :: ARPQuerier(1.0.0.9, 0:0:0:0:0:1);
InfiniteSource -> UDPIPEncap(1.0.0.1, 1234, 2.0.0.2, 80) -> GetIPAddress(16) -> arp -> Queue -> u :: Unqueue
  -> to :: Classifier(12/0806, -) -> ARPResponder(2.0.0.2 0:0:0:0:0:2) -> [1] arp;
to [1] -> Discard;

// ---- measurement (same in every file): warm up, then print count+time twice; harness samples CPU time on each line
DriverManager(wait $WARM, print "B $(u.count) $(now)", wait $DUR, print "E $(u.count) $(now)", stop)
