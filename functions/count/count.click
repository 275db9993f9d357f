// Counts packets and bytes in both directions and reports them on standard error.
//
//     left --> TrafficReport --> right
//     left <-- TrafficReport <-- right
//
// A line tells the packets and bytes since the start that went to the right and to the left, and the rates since the last line.
// A packet that is still to be cut into segments counts as the segments that a wire would carry.
//
// Handlers: `count/report.report`, `count/report.packets`, `count/report.bytes`, `count/report.reset`.

elementclass CountFunction { $interval, $json |
    report :: TrafficReport(INTERVAL $interval, NAMES "right left", JSON $json);
    input[0] -> [0] report [0] -> [1] output;
    input[1] -> [1] report [1] -> [0] output;
}
