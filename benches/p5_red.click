// (p) random early detection before a queue; no burst is given
define($WARM 1s, $DUR 3s)
InfiniteSource -> UDPIPEncap(1.0.0.1, 1234, 2.0.0.2, 80) -> RED(50, 200, 0.02) -> Queue(500) -> u :: Unqueue -> Discard;

// ---- measurement (same in every file): warm up, then print count+time twice; harness samples CPU time on each line
DriverManager(wait $WARM, print "B $(u.count) $(now)", wait $DUR, print "E $(u.count) $(now)", stop)
