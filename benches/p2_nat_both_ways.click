// (p) one flow and its answers from two sources -> IPRewriter -> a queue for each side; no burst is given
define($WARM 1s, $DUR 3s)
rw :: IPRewriter(pattern 9.9.9.9 1024-65535# - - 0 1, pass 1);
InfiniteSource -> UDPIPEncap(1.0.0.1, 1234, 2.0.0.2, 80) -> [0] rw [0] -> Queue -> u :: Unqueue -> Discard;
InfiniteSource -> UDPIPEncap(2.0.0.2, 80, 9.9.9.9, 1024) -> [1] rw [1] -> Queue -> Unqueue -> Discard;

// ---- measurement (same in every file): warm up, then print count+time twice; harness samples CPU time on each line
DriverManager(wait $WARM, print "B $(u.count) $(now)", wait $DUR, print "E $(u.count) $(now)", stop)
