// Passes IPv4 packets that rules allow.
//
//     left --> IPFilter(RULES) --> right
//     left <-- IPFilter(REVERSE RULES) <-- right
//
// A rule is `allow PATTERN`, `deny PATTERN` or `drop PATTERN`; the first that matches decides. `weir help IPClassifier` tells what
// patterns are: `tcp && dst port 80 or 443`, `src net 10.0.0.0/8`, `icmp type echo`, `all`. RULES are for packets that go to
// the right, with `--both` for both directions. A packet that no rule matches is dropped unless `--default allow` is given.
//
// Packets to the left pass freely if there are no rules for them. With `--stateful`, answers to what rules allow pass by
// themselves, ICMP errors about it too, and everything else needs a rule: to the left, a `--reverse` rule. Flows are told apart
// by addresses and ports (TCP, UDP), by addresses and identifier (pings), or by addresses (all other protocols).
//
// Rules look at IPv4 behind one VLAN tag, too. Everything that is not IPv4 (ARP, IPv6) passes in both directions unless
// `--drop-non-ip` is given. IPv4 packets with a wrong header are dropped. Ports are those of first fragments only: with
// `--stateful` fragments are put together before the rules and cut again behind them; without it, later fragments need rules
// without ports.
//
// A rules file holds a rule a line; `#` begins a comment. Thousands of rules take hardly longer than a few.
//
// Handlers: `to_right.allowed`, ... as elements: `to_right/allowed.count`, `to_right/denied.count`, with `--count-rules`
// `to_right/rule1.count` and so on; `from_left/other_denied.count`; likewise with left and right exchanged. With `--stateful`,
// `state/flows.table_size`, `state/flows.tcp_table`, `state/spoofed.count`.

// What passes because of what passed before. Inputs: to the right, allowed and denied by a rule; to the left, the same.
// Outputs: to the right, to the left.
elementclass FirewallState { $tcp, $udp, $icmp, $capacity |
    flows :: IPRewriter(keep 0 1, drop, keep 1 0, drop, TCP_TIMEOUT $tcp, TCP_NODATA_TIMEOUT $tcp, UDP_TIMEOUT $udp,
        MAPPING_CAPACITY $capacity, DST_ANNO false);
    pings :: ICMPPingRewriter(keep 0 1, drop, keep 1 0, drop, TIMEOUT $icmp, MAPPING_CAPACITY $capacity, DST_ANNO false);
    others :: IPAddrPairRewriter(keep 0 1, drop, keep 1 0, drop, TIMEOUT $udp, MAPPING_CAPACITY $capacity);
    flow_errors :: ICMPRewriter(flows:0, DST_ANNO false);
    ping_errors :: ICMPRewriter(pings:0, DST_ANNO false);
    other_errors :: ICMPRewriter(others:0, DST_ANNO false);
    c0, c1, c2, c3 :: ByProtocol;
    input[0] -> Paint(0, 20) -> c0; c0[0] -> [0] flows; c0[1] -> [0] pings; c0[5] -> [0] others;
    input[1] -> Paint(1, 20) -> c1; c1[0] -> [1] flows; c1[1] -> [1] pings; c1[5] -> [1] others;
    input[2] -> Paint(2, 20) -> c2; c2[0] -> [2] flows; c2[1] -> [2] pings; c2[5] -> [2] others;
    input[3] -> Paint(3, 20) -> c3; c3[0] -> [3] flows; c3[1] -> [3] pings; c3[5] -> [3] others;
    c0[2], c1[2], c2[2], c3[2] => flow_errors, flow_errors, flow_errors, flow_errors;
    c0[3], c1[3], c2[3], c3[3] => ping_errors, ping_errors, ping_errors, ping_errors;
    c0[4], c1[4], c2[4], c3[4] => other_errors, other_errors, other_errors, other_errors;
    // What was allowed goes on to where it was going, even if it answers what came the same way, as in a capture of both ways.
    // What was denied passes only if it goes where the flow's mapping sends it.
    to_right, to_left :: PaintSwitch(20);
    flows[0] -> to_right; flows[1] -> to_left;
    pings[0] -> to_right; pings[1] -> to_left;
    others[0] -> to_right; others[1] -> to_left;
    flow_errors[0] -> to_right; flow_errors[1] -> to_left;
    ping_errors[0] -> to_right; ping_errors[1] -> to_left;
    other_errors[0] -> to_right; other_errors[1] -> to_left;
    right :: Null -> [0] output; left :: Null -> [1] output; spoofed :: Counter -> Discard;
    to_right[0] -> right; to_right[1] -> right; to_right[2] -> left; to_right[3] -> spoofed;
    to_left[0] -> right; to_left[1] -> spoofed; to_left[2] -> left; to_left[3] -> left;
}
