// A flow monitor: counts the flows of a capture and exports them as IPFIX, to a file and as UDP packets to a collector.
//
//     weir run examples/flow-monitor/graph.click IN=in.pcap FILE=flows.ipfix OUT=export.pcap
//
// It prints the flows that have not ended when the capture is at its end, and what was exported in all. Any collector
// reads the result; `tshark -r export.pcap -d udp.port==4739,cflow -V` shows it field by field. For a live collector, let
// FromDevice stand for FromDump, and Socket(UDP, 192.0.2.1, 4739) for what follows fx [1].

define($IN ../../captures/lan.pcap, $FILE flows.ipfix, $OUT export.pcap);

FromDump($IN, STOP true)
    -> fx :: FlowExporter(ETHER true, TCP_END 1, FILE $FILE)
    -> Discard;

fx [1] -> UDPIPEncap(10.0.0.1, 4739, 192.0.2.1, 4739)
    -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:2:1)
    -> ToDump($OUT, SNAPLEN 0);

DriverManager(wait, print fx.table, write fx.flush,
	print "packets $(fx.count), not IP $(fx.ignored), flow records $(fx.exported), messages $(fx.messages)", stop);
