// What the functions that route have in common: an IPv4 router's end of a network.

// Input 0: frames from the network. Output 0: frames to it.
// Output 1: IPv4 packets from the network, headers checked and marked, without Ethernet headers.
// Input 1: IPv4 packets to the network, the next hop in the destination annotation.
// Output 2: ICMP errors about packets that cannot leave.
// ANSWERS are the addresses for which ARP requests are answered, INTERFACES all the router's addresses with their networks.
elementclass RouterPort { $address, $answers, $network, $ethernet, $mtu, $color, $interfaces |
    arp :: ARPQuerier($network, $ethernet) -> [0] output;
    input[0] -> HostEtherFilter($ethernet)
        -> kind :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
    kind[0] -> ARPResponder($answers $ethernet) -> [0] output;
    kind[1] -> [1] arp;
    kind[2] -> Paint($color) -> Strip(14) -> check :: CheckIPHeader(INTERFACES $interfaces) -> [1] output;
    kind[3] -> other :: Counter -> Discard;

    input[1]
        -> DropBroadcasts
        -> redirect :: PaintTee($color)
        -> options :: IPGWOptions($address)
        -> FixIPSrc($address)
        -> ttl :: DecIPTTL
        -> fragments :: IPFragmenter($mtu)
        -> [0] arp;
    redirect[1] -> ICMPError($address, redirect, host) -> errors :: RatedSplitter(1000);
    options[1] -> ICMPError($address, parameterproblem) -> errors;
    ttl[1] -> ICMPError($address, timeexceeded) -> errors;
    fragments[1] -> ICMPError($address, unreachable, needfrag, PMTU $mtu) -> errors;
    errors[0] -> [2] output;
    errors[1] -> too_many_errors :: Counter -> Discard;
}

// What is for the router itself: it answers pings, and nobody listens on its ports.
elementclass RouterItself { $address |
    input -> kind :: IPClassifier(icmp type echo, tcp or udp, -);
    kind[0] -> ICMPPingResponder -> output;
    kind[1] -> ICMPError($address, unreachable, port) -> errors :: RatedSplitter(1000);
    kind[2] -> Discard;
    errors[0] -> output;
    errors[1] -> Discard;
}
