// Routes IPv4 packets between its interfaces.
//
//     left <--> RouterPort <--> +--------+ <--> RouterPort <--> right
//                               | routes |
//     --if NAME=... <--> RouterPort <--> +--------+ <--> RouterItself (pings, unreachable ports)
//
// Every interface has an address by `--address NAME=ADDRESS/LENGTH`; its network is routed to it, and `--route` names the routers
// behind which other networks are. Does ARP, takes 1 from the time to live, cuts what is too long into fragments, acts on IP
// options, and sends the ICMP errors that a router owes: time exceeded, destination unreachable (network, port, fragmentation
// needed), parameter problem and redirect, at most 1000 a second on each interface. Answers pings to its addresses. Broadcasts
// to a network, groups, 0/8, 127/8 and 240/4 are not routed.
//
// An interface's Ethernet address is 02:00 and its IPv4 address in hexadecimal digits, unless `--ethernet` gives another.
//
// IPv6 is not routed: such packets are counted (`port0/other.count`) and dropped.
//
// Handlers: `routes.table`, `routes.add`, `routes.remove`, `routes.lookup`; `port0` is left, `port1` right, and so on:
// `port0/arp.table`, `port0/check.drops`, `port0/ttl.drops`.
