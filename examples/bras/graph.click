// A broadband remote access server: PPPoE sessions of subscribers end here; each has an address, an account and a rate.
// Run with the recorded capture:
//   weir run --simtime examples/bras/graph.click IN=... OUT=... WAN=... ACCOUNTING=...
// or put FromDevice and ToDevice in the place of FromDump and ToDump.
define($IN in.pcap, $OUT access.pcap, $WAN wan.pcap, $ACCOUNTING accounting.json);

bras :: PPPoEServer(2:0:0:0:0:1, 10.67.0.1, POOL 10.67.0.0/24, AC_NAME weir-bras, SERVICE internet,
    USER ann s3cret * 256kbps 512kbps, USER bob "pass word" 10.67.9.9, AUTH chap pap, DNS 10.67.0.1 192.0.2.53,
    KEEPALIVE 5, INTERIM 10, SECRET example, ACCOUNTING $ACCOUNTING);

FromDump($IN, TIMING true, END_CALL end.run)
    -> [0] bras;
bras [0]
    -> ToDump($OUT, NANO true);

// What subscribers send goes to the Internet, whose part is played by an element that answers pings.
bras [1]
    -> CheckIPHeader
    -> wan :: Tee
    -> ping :: ICMPPingResponder
    -> [1] bras;
wan [1]
    -> ToDump($WAN, ENCAP IP);
ping [1]
    -> Discard;

// Who is gone without a word is missed after some time.
end :: Script(TYPE PASSIVE, print "sessions:", print $(bras.sessions), wait 30s, print "30 s later:",
    print $(bras.sessions), print $(bras.statistics), stop);
