// Lets packets pass at most at a rate.
//
//     left --> Queue --> token bucket --> right
//     left <-- token bucket <-- Queue <-- right
//
// RATE is in bits or bytes per second (`10Mbps`, `1GBps`, counted from the Ethernet header on, at most 34Gbps) or in packets per
// second (`10kpps`). What comes faster waits in the queue; packets that find it full are dropped. After a pause, a burst of as
// much as the token bucket holds may pass at once. A packet that is still to be cut into segments is one packet of all its bytes.
//
// Handlers: `to_right/queue.length`, `to_right/queue.drops`, `to_right/limit.rate`, which can be written; likewise `to_left`.

elementclass ShapeFunction { $rate, $burst, $queue |
    input -> queue :: Queue($queue) -> limit :: BandwidthRatedUnqueue($rate, $burst) -> output;
}

elementclass ShapePacketsFunction { $rate, $burst, $queue |
    input -> queue :: Queue($queue) -> limit :: RatedUnqueue($rate, $burst) -> output;
}
