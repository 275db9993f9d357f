// (p) two sources, each with a queue, in turn; no burst is given
define($WARM 1s, $DUR 3s)
InfiniteSource -> Queue(100) -> [0] s :: RoundRobinSched -> u :: Unqueue -> Counter -> Discard;
InfiniteSource -> Queue(100) -> [1] s;

// ---- measurement (same in every file): warm up, then print count+time twice; harness samples CPU time on each line
DriverManager(wait $WARM, print "B $(u.count) $(now)", wait $DUR, print "E $(u.count) $(now)", stop)
