elementclass CountFunction { $interval, $json |
    report :: TrafficReport(INTERVAL $interval, NAMES "right left", JSON $json);
    input[0] -> [0] report [0] -> [1] output;
    input[1] -> [1] report [1] -> [0] output;
}
count :: CountFunction({{ interval }}, {{ json | string | lower }});
{{ from("left") }} -> [0] count [0] -> {{ to("left") }};
{{ from("right") }} -> [1] count [1] -> {{ to("right") }};
