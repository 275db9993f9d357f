// What tells IPv4 packets apart that are followed in different ways.

// Output 0: TCP and UDP; 1: pings and their answers; 2, 3 and 4: ICMP errors about TCP and UDP, about ICMP, and about other
// protocols; 5: everything else.
elementclass ByProtocol {
    input -> kind :: IPClassifier(tcp or udp, icmp type echo or echo-reply,
        icmp type unreachable or timeexceeded or parameterproblem or sourcequench or redirect, -);
    // The protocol of the packet that the error quotes behind 8 bytes of its own.
    kind[2] -> about :: IPClassifier(transp[17:1] 6 or transp[17:1] 17, transp[17:1] 1, -);
    kind[0] -> [0] output; kind[1] -> [1] output;
    about[0] -> [2] output; about[1] -> [3] output; about[2] -> [4] output;
    kind[3] -> [5] output;
}
