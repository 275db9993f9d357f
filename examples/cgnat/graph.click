// Carrier-grade NAT over a recorded capture: two subscribers share four external addresses and talk with a server, and with
// each other by their external addresses.
//
//   weir run --simtime examples/cgnat/graph.click IN=examples/cgnat/in.pcap
//
// The capture, which record.sh made, holds what came to the two interfaces of such a NAT: those with Ethernet address
// 02:00:00:00:00:01 is inside, that with 02:00:00:00:00:02 outside. The log of blocks and mappings and, at the end, who has
// what are printed.

define($IN in.pcap, $TO_OUTSIDE to-outside.pcap, $TO_INSIDE to-inside.pcap);

nat :: CarrierNAT(203.0.113.0/30, INSIDE 100.64.0.0/10, BLOCK_SIZE 64, RANDOM false, LOG -, LOG_SESSIONS true);

FromDump($IN, STOP true, TIMING true) -> side :: Classifier(0/020000000001 12/0800, 0/020000000002 12/0800, -);
side [0] -> Strip(14) -> CheckIPHeader -> [0] nat;
side [1] -> Strip(14) -> CheckIPHeader -> [1] nat;
side [2] -> Discard;

nat [0] -> CheckIPHeader -> ToDump($TO_OUTSIDE, ENCAP IP);
nat [1] -> CheckIPHeader -> ToDump($TO_INSIDE, ENCAP IP);

DriverManager(pause, print nat.subscribers, print nat.blocks, print nat.utilisation, print nat.failures, stop);
