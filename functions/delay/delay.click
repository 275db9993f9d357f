// Holds every packet for a time.
//
//     left --> Queue --> DelayUnqueue --> right
//     left <-- DelayUnqueue <-- Queue <-- right
//
// With `--jitter`, the time of each packet is drawn by lot between TIME less JITTER and TIME plus JITTER; packets keep their
// order, so one that is held for long holds those behind it. Packets that find the queue full are dropped: it must hold what
// arrives in TIME.
//
// Handlers: `to_right/queue.length`, `to_right/queue.drops`, `to_right/line.delay`, which can be written; likewise `to_left`.

elementclass DelayFunction { $delay, $jitter, $queue |
    input -> SetTimestamp -> JitterTimestamp($jitter) -> queue :: Queue($queue) -> line :: DelayUnqueue($delay) -> output;
}
