// Translates IPv4 addresses and ports: inside is on the left, outside on the right.
//
//     left <--> RouterPort <--> NATMappings <--> RouterPort <--> right
//                    \             |               /
//                     +---------- routes ---------+ <--> RouterItself (pings, unreachable ports)
//
// A router with an address on each side (`--left-address`, `--right-address`, `--gateway`). What goes to the right gets the
// outside address (`--address`, else that of `--right-address`) and its own port if that is free, else another; answers get
// back. `--forward tcp:8080=10.0.0.5:80` opens a port to the outside, `--static OUT=IN` gives a host an outside address of its
// own; both can be reached by the outside address from inside, too. TCP, UDP, pings and the ICMP errors about them are
// translated by ports and identifiers; other protocols by addresses: one inside host at a time can speak such a protocol with
// one outside host. Fragments are put together first.
//
// It does ARP on both sides, takes 1 from the time to live, answers pings to its addresses, and sends the ICMP errors that a
// router owes. Nothing else comes in: what is for the outside address and has no mapping is refused (port unreachable), what is
// for other addresses is counted and dropped, and so are packets from hosts that are not `--inside`.
//
// With `--transparent` it is no router but a bump in the wire: Ethernet addresses, ARP, time to live and everything that is not
// IPv4 stay as they are, and only addresses and ports of IPv4 (behind one VLAN tag, too) are rewritten. `--address` is then
// needed, and whoever is on the right must send packets for it this way. Packets from hosts that are not `--inside`, and packets
// for other addresses than the NAT's, pass untranslated.
//
// Payloads are left alone: FTP's active mode, SIP and the like need helpers of their own. `CarrierNAT` is for many subscribers.
//
// Handlers: `nat/flows.tcp_table`, `nat/flows.udp_table`, `nat/flows.table_size`, `nat/flows.mapping_failures`, `nat/flows.clear`,
// likewise `nat/pings` and `nat/others`; `unsolicited.count`, `not_inside.count`; `port0/arp.table` is left, `port1` right.
