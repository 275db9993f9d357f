// A load balancer between clients and three servers: web by Maglev hashing, names in the same way, replies by NAT.
//
//   weir run examples/loadbalancer/graph.click CLIENTS=eth0.pcap SERVERS=eth1.pcap OUT0=out0.pcap OUT1=out1.pcap
//
// CLIENTS and SERVERS are what the interfaces receive, OUT0 and OUT1 what they send. The service is 203.0.113.10; the clients
// are in 192.0.2.0/24, the servers in 10.1.0.0/24.

define($CLIENTS eth0.pcap, $SERVERS eth1.pcap, $OUT0 out0.pcap, $OUT1 out1.pcap);

AddressInfo(eth0 192.0.2.1 192.0.2.0/24 02:00:00:00:03:01, eth1 10.1.0.254 10.1.0.0/24 02:00:00:00:04:01);

// Capture files as interfaces, in the order of the packets' times.
order :: TimeSortedSched(STOP true);
FromDump($CLIENTS) -> Paint(1) -> [0] order;
FromDump($SERVERS) -> Paint(2) -> [1] order;
order -> Unqueue(BURST 1) -> from :: CheckPaint(1) -> in0 :: Null;
from [1] -> in1 :: Null;
out0 :: ToDump($OUT0);
out1 :: ToDump($OUT1);
// End of the interfaces.

lb :: LoadBalancer(
    203.0.113.10:80/tcp 10.1.0.1:8080 10.1.0.2:8080 10.1.0.3:8080*2,
    203.0.113.10:53/udp 10.1.0.1 10.1.0.2,
    203.0.113.10:9/udp 10.1.0.3);

c0, c1 :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
in0 -> HostEtherFilter(eth0) -> c0;
in1 -> HostEtherFilter(eth1) -> c1;
c0 [0] -> ARPResponder(eth0, 203.0.113.10 eth0) -> out0;
c1 [0] -> ARPResponder(eth1) -> out1;
arpq0 :: ARPQuerier(eth0) -> out0;
arpq1 :: ARPQuerier(eth1) -> out1;
c0 [1] -> [1] arpq0;
c1 [1] -> [1] arpq1;
c0 [3] -> Discard;
c1 [3] -> Discard;

c0 [2] -> Strip(14) -> CheckIPHeader -> [0] lb;
c1 [2] -> Strip(14) -> CheckIPHeader -> [1] lb;
lb [0] -> DecIPTTL -> arpq1;
lb [1] -> DecIPTTL -> arpq0;

// What is no service's: pings of the service's address are answered, the rest is left alone.
lb [2] -> pings :: IPClassifier(dst host 203.0.113.10 and icmp type echo, -);
pings [0] -> ICMPPingResponder -> arpq0;
pings [1] -> others :: Counter -> Discard;

DriverManager(pause, print "$(lb.services)", print "$(lb.backends)", print "$(lb.connections)");
