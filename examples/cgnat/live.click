// Carrier-grade NAT between two interfaces, ARP included: what record.sh runs in a network namespace.
//
//   weir run examples/cgnat/live.click INSIDE=eth1 OUTSIDE=eth0
//
// Subscribers have 100.64.0.254 as their gateway. The router outside, 192.0.2.2, has a route to 203.0.113.0/30 by 192.0.2.1.

define($INSIDE inside, $OUTSIDE outside);

AddressInfo(gateway 100.64.0.254 02:00:00:00:00:01, uplink 192.0.2.1 02:00:00:00:00:02);

nat :: CarrierNAT(203.0.113.0/30, INSIDE 100.64.0.0/10, BLOCK_SIZE 64, RANDOM false, LOG -, LOG_SESSIONS true);

inside :: FromDevice($INSIDE) -> from_inside :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
to_inside :: Queue -> ToDevice($INSIDE);
inside_arp :: ARPQuerier(gateway) -> to_inside;
from_inside [0] -> ARPResponder(gateway) -> to_inside;
from_inside [1] -> [1] inside_arp;
from_inside [2] -> Strip(14) -> CheckIPHeader -> [0] nat;
from_inside [3] -> Discard;
nat [1] -> inside_arp;

outside :: FromDevice($OUTSIDE) -> from_outside :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
to_outside :: Queue -> ToDevice($OUTSIDE);
outside_arp :: ARPQuerier(uplink) -> to_outside;
from_outside [0] -> ARPResponder(uplink) -> to_outside;
from_outside [1] -> [1] outside_arp;
from_outside [2] -> Strip(14) -> CheckIPHeader -> [1] nat;
from_outside [3] -> Discard;
nat [0] -> SetIPAddress(192.0.2.2) -> outside_arp;
