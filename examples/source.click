// A traffic source that runs until it is stopped: something to look into with `weir trace`, `weir tap`, `weir handler`.
//
//   weir run --name edge examples/source.click

source :: RatedSource(RATE 1000, LENGTH 18)
    -> udp :: UDPIPEncap(10.0.0.1, 1234, 10.0.0.2, 5678)
    -> strip :: Null
    -> check :: CheckIPHeader
    -> ttl :: DecIPTTL
    -> count :: Counter
    -> Discard;
