// Prints a line for each packet on standard error.
//
//     left --> a line "right: ..." --> right
//     left <-- a line "left: ..." <-- right
//
// IPv4, IPv6 and ARP are told in words, as tcpdump does; IPv4 behind a VLAN tag, too. Of other frames the first bytes are
// printed. The label says where the packet goes. Packets pass unchanged, one by one, so that the lines are in their order.
//
// Handlers: `to_right/ip.active` and so on for `arp`, `ip6`, `vlan` and `other` can be written `false` to print no more.

elementclass PrintFunction { $label, $timestamp, $contents, $contents6, $payload, $ttl, $length, $most |
    input -> MarkMACHeader -> Unbatch
        -> kind :: Classifier(12/0800, 12/0806, 12/86dd, 12/8100 16/0800, -);
    kind[0] -> MarkIPHeader(14)
        -> ip :: IPPrint($label, CONTENTS $contents, PAYLOAD $payload, MAXLENGTH $most, TIMESTAMP $timestamp, TTL $ttl,
            LENGTH $length)
        -> output;
    kind[1] -> MarkIPHeader(14) -> arp :: ARPPrint($label, TIMESTAMP $timestamp) -> output;
    kind[2] -> MarkIP6Header(14) -> ip6 :: IP6Print($label, CONTENTS $contents6, NBYTES $most) -> output;
    kind[3] -> MarkIPHeader(18)
        -> vlan :: IPPrint("$label vlan", CONTENTS $contents, PAYLOAD $payload, MAXLENGTH $most, TIMESTAMP $timestamp,
            TTL $ttl, LENGTH $length)
        -> output;
    kind[4] -> other :: Print($label, TIMESTAMP $timestamp) -> output;
}
