// A tunnel server: GRE tunnels of customers end here; each has its networks, an account and a rate.
// Run with the recorded capture:
//   weir run --simtime examples/gre/graph.click IN=... OUT=... WAN=... ACCOUNTING=...
// or put FromDevice and ToDevice in the place of FromDump and ToDump.
define($IN in.pcap, $OUT access.pcap, $WAN wan.pcap, $ACCOUNTING accounting.json);

// Paris and Oslo come from one address and differ in their keys; Rome has none.
tunnels :: GRETunnels(192.0.2.1, TUNNEL paris 192.0.2.11 7 10.1.0.0/16 RATE 256kbps 512kbps,
    TUNNEL oslo 192.0.2.11 8 10.3.0.0/16 RATE 2Mbps, TUNNEL rome 192.0.2.12 - 10.2.0.0/16 10.4.0.0/24, RATE 1Mbps,
    INTERIM 5, ACCOUNTING $ACCOUNTING);

FromDump($IN, TIMING true, END_CALL end.run)
    -> access :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800);
out :: ToDump($OUT, NANO true);
access [0]
    -> ARPResponder(192.0.2.1 2:0:0:0:0:1)
    -> out;
arp :: ARPQuerier(192.0.2.1, 2:0:0:0:0:1)
    -> out;
access [1]
    -> [1] arp;
access [2]
    -> Strip(14)
    -> CheckIPHeader
    -> [0] tunnels;
tunnels [0]
    -> GetIPAddress(16)
    -> [0] arp;

// From one tunnel into another.
tunnels [1]
    -> CheckIPHeader
    -> ttl :: DecIPTTL
    -> [1] tunnels;
ttl [1]
    -> ICMPError(192.0.2.1, timeexceeded, transit)
    -> [1] tunnels;

// What is no GRE is for the server itself.
tunnels [2]
    -> IPFilter(allow icmp type echo && dst 192.0.2.1)
    -> ICMPPingResponder
    -> GetIPAddress(16)
    -> [0] arp;

// All other addresses are in the Internet, whose part is played by an element that answers pings.
tunnels [3]
    -> wan :: Tee
    -> ping :: ICMPPingResponder
    -> [1] tunnels;
wan [1]
    -> ToDump($WAN, ENCAP IP);
ping [1]
    -> Discard;

// Number, name, address and key, then packets, bytes and drops up and down, spoofed and late packets.
end :: Script(TYPE PASSIVE, print $(tunnels.tunnels), print "Rome's other network:", print $(tunnels.lookup 10.4.0.1),
    print "drops:", print $(drops), stop);
