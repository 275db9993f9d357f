//! Samples of every class that takes packets, each in a graph around it.

use catalog::stock;
use element::{Batch, Packet, Runtime};
use engine::{BuildOptions, Engine, Time};
use graph::Diagnostics;

/// Whether packets leave an element as they came, one for one.
#[derive(Clone, Copy, PartialEq)]
pub enum Flow {
    /// Each packet leaves once, or is a counted drop.
    Conserved,
    /// The element copies, splits, joins, keeps or ends packets.
    Free,
}
pub use Flow::{Conserved, Free};

/// A sample configuration: class, inputs, outputs, arguments and flow.
pub type Sample = (&'static str, usize, usize, &'static str, Flow);

#[rustfmt::skip]
pub const SAMPLES: &[Sample] = &[
    ("Align", 1, 1, "4, 2", Conserved),
    ("ARPPrint", 1, 1, "x, ETHER true", Conserved),
    ("ARPQuerier", 2, 1, "1.0.0.1/8, 1:1:1:1:1:1, CAPACITY 5, ENTRY_CAPACITY 2", Free),
    ("ARPQuerier", 2, 2, "1.0.0.1/8, 1:1:1:1:1:1, TIMEOUT 1", Free),
    ("ARPQuerier", 2, 2, "1.0.0.1/8, 1:1:1:1:1:1", Free),
    ("ARPResponder", 1, 2, "0/0 1:1:1:1:1:1, 1.0.0.0/8 2:2:2:2:2:2", Conserved),
    ("AggregateCounter", 1, 1, "", Conserved),
    ("AggregateCounter", 2, 2, "BYTES true", Conserved),
    ("AggregateFilter", 1, 2, "0 0-5 17, drop 6, 1 all", Conserved),
    ("AggregateFirst", 1, 2, "", Conserved),
    ("AggregateIPAddrPair", 1, 2, "TIMEOUT 1, REAP 1", Conserved),
    ("AggregateIPAddrPair", 1, 1, "", Conserved),
    ("AggregateLast", 1, 2, "", Free),
    ("AggregateLength", 1, 1, "IP true", Conserved),
    ("AggregatePacketCounter", 2, 2, "", Conserved),
    ("AggregatePaint", 1, 1, "3, INCREMENTAL true", Conserved),
    ("AnonymizeIPAddr", 1, 2, "CLASS 4, PRESERVE_8 10", Conserved),
    ("AggregateIP", 1, 2, "ip src/8", Conserved),
    ("AggregateIP", 1, 1, "ip proto", Conserved),
    ("AggregateIPFlows", 1, 2, "ICMP true", Free),
    ("AggregateIPFlows", 1, 2, "FRAGMENTS false", Conserved),
    ("AverageCounter", 1, 1, "", Conserved),
    ("BandwidthMeter", 1, 2, "100", Conserved),
    ("BandwidthRatedSplitter", 1, 2, "100", Conserved),
    ("BandwidthRatedUnqueue", 1, 1, "100", Conserved),
    ("AdjustTimestamp", 1, 1, "2", Conserved),
    ("Hub", 2, 2, "", Free),
    ("ICMPPingSource", 1, 1, "1.0.0.1, 2.0.0.2", Free),
    ("IPRateMonitor", 1, 1, "PACKETS, 0.5, 256, 65536", Conserved),
    ("MarkIPCE", 1, 1, "", Conserved),
    ("MarkMACHeader", 1, 1, "2", Conserved),
    ("Reframe", 1, 1, "", Free),
    ("Reframe", 1, 1, "FOFF 1, FLEN 1, MUL 2, ALIGN 3, ADD 2", Free),
    ("Reframe", 1, 1, "FLEN 4, NTOH false, MUL -1", Free),
    ("RFC2507Comp", 1, 1, "", Conserved),
    ("RFC2507Decomp", 1, 1, "", Conserved),
    ("WebGen", 1, 1, "1.0.0.0/8, 2.0.0.2, 100", Free),
    ("Resize", 1, 1, "HEAD 8, TAIL 3", Conserved),
    ("SimplePullSwitch", 2, 1, "1", Conserved),
    ("UnstripIPHeader", 1, 1, "", Conserved),
    ("BandwidthShaper", 1, 1, "100", Conserved),
    ("CheckARPHeader", 1, 2, "1, DETAILS true", Conserved),
    ("CarrierNAT", 2, 3, "203.0.113.1 1.0.0.1, RANDOM false", Conserved),
    ("CarrierNAT", 2, 2, "2.0.0.2, FILTERING address, BLOCK_SIZE 2, BLOCKS 1, SESSIONS 2, CAPACITY 3", Conserved),
    ("CheckICMPHeader", 1, 2, "DETAILS true, VERBOSE true", Conserved),
    ("CheckIPHeader", 1, 1, "VERBOSE true", Conserved),
    ("CheckIPHeader", 1, 2, "14, INTERFACES 1.0.0.1/8", Conserved),
    ("CheckIPHeader2", 1, 2, "3", Conserved),
    ("CheckLength", 1, 2, "60", Conserved),
    ("CheckPacket", 1, 1, "DATA abc, DATA_OFFSET 4, LENGTH_GE 3, ALIGNMENT 8 3", Conserved),
    ("CheckPaint", 1, 2, "3", Conserved),
    ("ComparePackets", 2, 2, "TIMESTAMP false", Free),
    ("CheckTCPHeader", 1, 2, "DETAILS true", Conserved),
    ("CheckUDPHeader", 1, 1, "", Conserved),
    ("Classifier", 1, 3, "12/0800 23/06, 6/01??03%0f10ff, -", Conserved),
    ("Counter", 1, 1, "", Conserved),
    ("DecIPTTL", 1, 2, "", Conserved),
    ("DecIPTTL", 1, 1, "MULTICAST false", Conserved),
    ("DelayShaper", 1, 1, "0.001", Free),
    ("DelayUnqueue", 1, 1, "0.001", Free),
    ("DirectIPLookup", 1, 2, "0/0 0, 1.0.0.0/8 2.0.0.2 1", Conserved),
    ("Discard", 1, 0, "", Free),
    ("DropBroadcasts", 1, 2, "", Conserved),
    ("DupPath", 1, 2, "", Free),
    ("DynamicUDPIPEncap", 1, 1, "1.0.0.1, 2, 3.0.0.4, 5, true, 2", Conserved),
    ("EraseIPPayload", 1, 1, "", Conserved),
    ("ForceICMP", 1, 1, "echo, 0", Conserved),
    ("FlowExporter", 1, 1, "CAPACITY 3, TCP_END 0", Conserved),
    ("FlowExporter", 1, 2, "ETHER true, BIFLOW true, CAPACITY 2, EGRESS_ANNO 40, MTU 576", Free),
    ("ForceIP", 1, 1, "", Conserved),
    ("ForceTCP", 1, 1, "0, true, 2", Conserved),
    ("ForceUDP", 1, 1, "", Conserved),
    ("ICMPIPEncap", 1, 1, "1.0.0.1, 2.0.0.2, timestamp", Conserved),
    ("ICMPPingEncap", 1, 1, "1.0.0.1, 2.0.0.2", Conserved),
    ("ICMPSendPings", 1, 1, "1.0.0.1, 2.0.0.2", Free),
    ("SetIPECN", 1, 1, "ce", Conserved),
    ("SortedIPLookup", 1, 2, "0/0 0, 1.0.0.0/8 2.0.0.2 1", Conserved),
    ("TCPAck", 2, 3, "", Free),
    ("TCPBuffer", 1, 1, "", Free),
    ("TCPFragmenter", 1, 1, "MTU 50, MTU_ANNO VLAN", Free),
    ("TCPReflector", 1, 1, "", Conserved),
    ("TruncateIPPayload", 1, 1, "3", Conserved),
    ("EnsureEther", 1, 1, "", Conserved),
    ("EtherVLANEncap", 1, 1, "0x800, 1:1:1:1:1:1, 2:2:2:2:2:2, ANNO, NATIVE_VLAN 5", Conserved),
    ("EtherVlanEncap", 1, 1, "0x800, 1:1:1:1:1:1, 2:2:2:2:2:2, ANNO, NATIVE_VLAN 5", Conserved),
    ("GetEtherAddress", 1, 2, "42, src", Conserved),
    ("ListenEtherSwitch", 2, 3, "TIMEOUT 1", Free),
    ("SetEtherAddress", 1, 1, "1:1:1:1:1:1, 42", Conserved),
    ("StoreEtherAddress", 1, 2, "OFFSET 40, ANNO 0", Conserved),
    ("StripEtherVLANHeader", 1, 2, "-1", Conserved),
    ("StripEtherVlanHeader", 1, 2, "-1", Conserved),
    ("StripEtherVLANHeader", 1, 1, "5", Conserved),
    ("StoreUDPTimeSeqRecord", 1, 1, "1", Conserved),
    ("StoreUDPTimeSeqRecord", 1, 1, "0, DELTA true", Conserved),
    ("EtherEncap", 1, 1, "0x800, 1:1:1:1:1:1, 2:2:2:2:2:2", Conserved),
    ("EtherMirror", 1, 1, "", Conserved),
    ("EtherRewrite", 1, 1, "1:1:1:1:1:1, 2:2:2:2:2:2", Conserved),
    ("EtherSwitch", 2, 2, "TIMEOUT 1", Conserved),
    ("EtherSwitch", 3, 3, "", Free),
    ("VLANSwitch", 3, 3, "access 1, trunk 2 ALLOWED 1 3, trunk, TIMEOUT 1", Free),
    ("NextHopSwitch", 1, 2, "1.0.0.1, 1.0.0.2 3", Conserved),
    ("FixIPSrc", 1, 1, "1.0.0.1", Conserved),
    ("FrontDropQueue", 1, 2, "3", Conserved),
    ("FullNoteQueue", 1, 2, "3", Conserved),
    ("GetIPAddress", 1, 1, "16", Conserved),
    ("GetIPAddress", 1, 1, "ANNO 20, IP src", Conserved),
    ("HashSwitch", 1, 3, "10, 4", Conserved),
    ("HostEtherFilter", 1, 2, "1:1:1:1:1:1, true, OFFSET 1", Conserved),
    ("ICMPError", 1, 1, "1.0.0.1, unreachable, needfrag, PMTU 576", Conserved),
    ("ICMPError", 1, 1, "1.0.0.1, parameterproblem, MTU 0", Conserved),
    ("ICMPPingResponder", 1, 2, "", Conserved),
    ("ICMPPingRewriter", 1, 2, "pattern 1.0.0.1 - - - 0 1", Conserved),
    ("ICMPPingRewriter", 2, 2, "pattern 1.0.0.1 - - - 0 1, drop", Conserved),
    ("IPAddrPairRewriter", 1, 2, "pattern 1.0.0.1 - 0 1", Conserved),
    ("IPAddrRewriter", 1, 2, "pattern 1.0.0.1-1.0.0.250 - 0 1", Conserved),
    ("IPClassifier", 1, 3, "tcp syn or udp port 53, icmp type echo, -", Conserved),
    ("IPEncap", 1, 1, "udp, 1.0.0.1, DST_ANNO", Conserved),
    ("IPFilter", 1, 2, "allow ip proto 6 and src net 1.0.0.0/8, 1 ip ttl < 9, deny all", Conserved),
    ("IPFragmenter", 1, 2, "68", Free),
    ("IPFragmenter", 1, 1, "28, HONOR_DF false, HEADROOM 1000", Free),
    ("IPGWOptions", 1, 2, "1.0.0.1, 2.0.0.2", Conserved),
    ("IPInputCombo", 1, 1, "1, INTERFACES 1.0.0.1/8", Conserved),
    ("IPMirror", 1, 1, "true", Conserved),
    ("IPOutputCombo", 1, 5, "1, 1.0.0.1, 60", Free),
    ("IPPrint", 1, 1, "x, CONTENTS ascii, ID true, TOS true, TTL true, LENGTH true, AGGREGATE true, PAINT true", Conserved),
    ("IPPrint", 1, 1, "PAYLOAD hex, MAXLENGTH 9, SWAP true", Conserved),
    ("IPReassembler", 1, 2, "HIMEM 100", Free),
    ("IPReassembler", 1, 1, "MAX_MTU_ANNO 46", Free),
    ("IPRewriter", 1, 2, "pattern 1.0.0.1 1024-65535 - - 0 1, UDP_TIMEOUT 1", Conserved),
    ("IPRewriter", 2, 2, "pattern 1.0.0.1 - 2.0.0.2 80 0 1, keep 1 0, MAPPING_CAPACITY 3", Conserved),
    ("Idle", 1, 0, "", Free),
    ("LoadBalancer", 2, 3, "1.0.0.1:80/tcp 2.0.0.2 2.0.0.3*2, 1.0.0.1:53/udp 2.0.0.2, CAPACITY 3, AFFINITY 1", Conserved),
    ("LoadBalancer", 1, 1, "1.0.0.1:80/tcp 2.0.0.2 2.0.0.3, MODE dsr, SCHEDULER lc", Conserved),
    ("LoadBalancer", 1, 2, "0.0.0.0:0/udp 2.0.0.2 2.0.0.3, MODE ipip, LOCAL 3.0.0.1, SCHEDULER rr, FRAGMENTS 2", Conserved),
    ("IntrusionDetector", 1, 2, "RULE 'alert ip any any -> any any (content:\"a\"; sid:1;)'", Conserved),
    ("IntrusionDetector", 1, 1, "RULE 'drop tcp any any <> any any (pcre:\"/[0-9]/\"; sid:1;)', INLINE true, FLOWS 2, STREAM_MEMORY 9000", Conserved),
    ("LinearIPLookup", 1, 2, "0/0 0, 1.0.0.0/8 2.0.0.2 1", Conserved),
    ("MarkIPHeader", 1, 1, "9", Conserved),
    ("Meter", 1, 2, "2", Conserved),
    ("MixedQueue", 2, 2, "3", Conserved),
    ("NotifierQueue", 1, 2, "3", Conserved),
    ("Null", 1, 1, "", Conserved),
    ("Null1", 1, 1, "", Conserved),
    ("Null2", 1, 1, "", Conserved),
    ("Null3", 1, 1, "", Conserved),
    ("Null4", 1, 1, "", Conserved),
    ("Null5", 1, 1, "", Conserved),
    ("Null6", 1, 1, "", Conserved),
    ("Null7", 1, 1, "", Conserved),
    ("Null8", 1, 1, "", Conserved),
    ("BufferConverter", 2, 1, "100", Conserved),
    ("CopyFlowID", 2, 2, "", Conserved),
    ("CopyTCPSeq", 2, 2, "", Conserved),
    ("DebugBridge", 1, 1, "x", Conserved),
    ("LinuxIPLookup", 1, 2, "lo", Conserved),
    ("LinuxIPLookup", 1, 1, "lo", Conserved),
    ("LookupIPRouteMP", 1, 2, "0/0 0, 1.0.0.0/8 2.0.0.2 1", Conserved),
    ("TCPDemux", 1, 1, "", Conserved),
    ("ToyTCP", 1, 1, "80", Free),
    ("Unqueue2", 1, 1, "3, QUIET true", Conserved),
    ("Pad", 1, 1, "100", Conserved),
    ("Paint", 1, 1, "3", Conserved),
    ("PaintSwitch", 1, 3, "", Free),
    ("PaintTee", 1, 2, "3", Free),
    ("Print", 1, 1, "x, PRINTANNO true, MAXLENGTH -1, HEADROOM true, CONTENTS ascii", Conserved),
    ("PrioSched", 2, 1, "", Conserved),
    ("PullNull", 1, 1, "", Conserved),
    ("PullSwitch", 2, 1, "1", Conserved),
    ("PullTee", 1, 2, "", Free),
    ("PushNull", 1, 1, "", Conserved),
    ("Queue", 1, 2, "3", Conserved),
    ("QuickNoteQueue", 1, 2, "3", Conserved),
    ("AdaptiveRED", 1, 1, "10, 0.5, QUEUES in0", Conserved),
    ("CPUQueue", 1, 1, "3", Conserved),
    ("CPUSwitch", 1, 2, "", Conserved),
    ("CoDel", 1, 1, "0, 0, QUEUES in0", Conserved),
    ("MSQueue", 1, 2, "3", Conserved),
    ("RED", 1, 1, "1, 2, 0.5, QUEUES in0", Conserved),
    ("RandomBitErrors", 1, 1, "0.3", Conserved),
    ("RoundRobinUnqueue", 2, 2, "3", Conserved),
    ("SetPacketType", 1, 1, "BROADCAST", Conserved),
    ("SetRandIPAddress", 1, 1, "1.0.0.0/8, 5", Conserved),
    ("SetTimestampDelta", 1, 1, "TYPE NOW", Conserved),
    ("SimpleIdle", 1, 0, "", Free),
    ("SimplePrioSched", 2, 1, "", Conserved),
    ("SimpleRoundRobinSched", 2, 1, "", Conserved),
    ("StoreTimestamp", 1, 1, "60", Conserved),
    ("StoreTimestamp", 1, 1, "TAIL true", Conserved),
    ("Suppressor", 2, 2, "", Conserved),
    ("UpstreamNotifier", 1, 1, "false", Conserved),
    ("RadixIPLookup", 1, 2, "0/0 0, 1.0.0.0/8 2.0.0.2 1", Conserved),
    ("RandomSample", 1, 2, "0.5", Conserved),
    ("RandomSwitch", 1, 2, "", Conserved),
    ("RangeIPLookup", 1, 2, "0/0 0, 1.0.0.0/8 2.0.0.2 1", Conserved),
    ("RatedSplitter", 1, 2, "2", Conserved),
    ("RatedUnqueue", 1, 1, "2", Conserved),
    ("RoundRobinSched", 2, 1, "", Conserved),
    ("RoundRobinSwitch", 1, 2, "", Conserved),
    ("Script", 1, 1, "TYPE PACKET, return 0", Conserved),
    ("SetIPAddress", 1, 1, "1.0.0.1, ANNO 44", Conserved),
    ("SetIPChecksum", 1, 1, "", Conserved),
    ("SetIPDSCP", 1, 1, "9", Conserved),
    ("SetTCPChecksum", 1, 1, "true", Conserved),
    ("SetTimestamp", 1, 1, "", Conserved),
    ("SetUDPChecksum", 1, 2, "", Conserved),
    ("SetVLANAnno", 1, 1, "5, 3", Conserved),
    ("SetVlanAnno", 1, 1, "5, 3", Conserved),
    ("Shaper", 1, 2, "2", Conserved),
    ("SimpleQueue", 1, 2, "3", Conserved),
    ("StaticIPLookup", 1, 2, "0/0 0, 1.0.0.0/8 2.0.0.2 1", Conserved),
    ("StaticPullSwitch", 2, 1, "0", Conserved),
    ("StaticSwitch", 1, 2, "1", Conserved),
    ("StoreData", 1, 1, "9, 12345", Conserved),
    ("StoreIPAddress", 1, 2, "1.0.0.1, src", Conserved),
    ("StoreIPAddress", 1, 2, "30", Conserved),
    ("StoreIPAddress", 1, 1, "1.0.0.1, 65530", Conserved),
    ("StrideSched", 2, 1, "1, 2", Conserved),
    ("StrideSwitch", 1, 2, "1, 2", Conserved),
    ("Strip", 1, 1, "14", Conserved),
    ("StripIPHeader", 1, 1, "", Conserved),
    ("StripToNetworkHeader", 1, 1, "", Conserved),
    ("Switch", 1, 2, "1", Conserved),
    ("TCPRewriter", 1, 2, "pattern 1.0.0.1 1024-65535 - - 0 1", Conserved),
    ("Tee", 1, 2, "", Free),
    ("ThreadSafeQueue", 1, 2, "3", Conserved),
    ("TimeSortedSched", 2, 1, "", Free),
    ("TimedSink", 1, 0, "0.001", Free),
    ("ToDump", 1, 1, "/dev/null, SNAPLEN 60, EXTRA_LENGTH true", Conserved),
    ("ToDump", 1, 0, "/dev/null, ENCAP IP, NANO true", Free),
    ("ToIPSummaryDump", 1, 1, "/dev/null, CONTENTS timestamp ip_src ip_dst ip_opt sport dport tcp_opt tcp_sack icmp_type icmp_flowid payload_md5 payload first_timestamp aggregate", Free),
    ("ToIPSummaryDump", 1, 0, "/dev/null, CONTENTS ip_src tcp_opt eth_src payload_len, BINARY true", Free),
    ("Truncate", 1, 1, "60", Conserved),
    ("Unbatch", 1, 1, "", Conserved),
    ("JitterTimestamp", 1, 1, "5ms", Conserved),
    ("PcapFilter", 1, 2, "\"udp port 53 or (ip6 and tcp) or less 30\"", Conserved),
    ("PcapFilter", 1, 2, "\"ip[6:2] & 0x1fff != 0\", LINK IP", Conserved),
    ("ToHexDump", 1, 0, "/dev/null", Free),
    ("ToHexDump", 2, 2, "/dev/null, DIRECTIONS \"I O\", MAXLENGTH 30", Conserved),
    ("TrafficReport", 2, 2, "INTERVAL 0, JSON true", Conserved),
    ("Block", 1, 2, "500", Conserved),
    ("Burster", 1, 1, "0.001, 3", Conserved),
    ("Bypass", 2, 2, "true", Conserved),
    ("CheckCRC32", 1, 1, "", Conserved),
    ("Clipboard", 2, 2, "0/6, 12/2, 5/9", Conserved),
    ("CompareBlock", 1, 2, "5, 2, 100", Conserved),
    ("DRRSched", 2, 1, "100", Free),
    ("DiscardNoFree", 1, 0, "", Free),
    ("InputSwitch", 2, 1, "1", Conserved),
    ("LinkUnqueue", 1, 1, "0.001, 10Mbps", Free),
    ("NotifierDebug", 1, 1, "", Conserved),
    ("PushAnno", 1, 1, "", Conserved),
    ("ReadAnno", 1, 1, "", Conserved),
    ("SetAnnoByte", 1, 1, "47, 255", Conserved),
    ("SetCRC32", 1, 1, "", Conserved),
    ("TimeFilter", 1, 2, "START_AFTER 1s, INTERVAL 100s", Conserved),
    ("TimeFilter", 1, 1, "START 5, END_CALL e.extend_interval 1000000000, END 7", Conserved),
    ("TimeRange", 1, 1, "", Conserved),
    ("TimedUnqueue", 1, 1, "0.001", Conserved),
    ("TimestampAccum", 1, 1, "", Conserved),
    ("UDPIPEncap", 1, 1, "1.0.0.1, 2, DST_ANNO, 5, true", Conserved),
    ("UDPRewriter", 1, 2, "pattern 1.0.0.1 1024-65535 - - 0 1", Conserved),
    ("Unqueue", 1, 1, "", Conserved),
    ("Unstrip", 1, 1, "200", Conserved),
    ("VLANDecap", 1, 1, "", Conserved),
    ("VLANEncap", 1, 1, "ANNO, NATIVE_VLAN 5", Conserved),
    ("VLANEncap", 1, 1, "5, 3", Conserved),
    ("AddressTranslator", 2, 2, "0, true, true, false, 2001:db8::1 1 9", Conserved),
    ("AddressTranslator", 2, 2, "1, true, ::1 1 ::2 2, true, false, true, 1::, 2::", Conserved),
    ("CheckIP6Header", 1, 2, "\":: ::1\", 14", Conserved),
    ("CheckIP6Header", 1, 1, "OFFSET -3", Conserved),
    ("DecIP6HLIM", 1, 2, "", Conserved),
    ("GetIP6Address", 1, 1, "24", Conserved),
    ("GetIP6Address", 1, 1, "-9", Conserved),
    ("ICMP6Error", 1, 1, "1::, 4, 0", Conserved),
    ("ICMP6Error", 1, 1, "1::, 137, 0", Conserved),
    ("IP6Encap", 1, 1, "udp, 1::, DST_ANNO", Conserved),
    ("IP6Fragmenter", 1, 2, "60", Conserved),
    ("IP6Mirror", 1, 1, "", Conserved),
    ("ICMP6Errors", 3, 1, "unreachable 0, packettoobig 0, parameterproblem 1, INTERFACES 0 1::1/64 fe80::1/64", Conserved),
    ("ICMP6PingResponder", 1, 1, "0 1::1/64 fe80::1/64", Conserved),
    ("ICMP6PingResponder", 1, 2, "0 ::1/0", Conserved),
    ("IP6Neighbors", 2, 1, "1:1:1:1:1:1, fe80::1/64, CAPACITY 5, ENTRY_PACKET_CAPACITY 2, ENTRY_CAPACITY 3, UNANSWERED_CAPACITY 2", Free),
    ("IP6Neighbors", 2, 2, "1:1:1:1:1:1, fe80::1/64 ::1/0, REACHABLE_TIME 0.1, RETRANS_TIMER 0.01", Free),
    ("IP6Neighbors", 2, 1, "1:1:1:1:1:1, fe80::1/64 1::1/64", Free),
    ("IP6RouterAdvertiser", 1, 1, "1:1:1:1:1:1, fe80::1, PREFIX 1::/64 2 1 onlink, DNS 1::53", Free),
    ("IP6ScopeClassifier", 1, 3, "fe80::1/64 1::1/64", Conserved),
    ("NextHopSwitch6", 1, 2, "fe80::1%a, fe80::1%b 3", Conserved),
    ("IP6NDAdvertiser", 1, 1, "::/0 1:1:1:1:1:1", Conserved),
    ("IP6NDSolicitor", 2, 1, "1::, 1:1:1:1:1:1", Free),
    ("IP6NDSolicitor", 2, 2, "1::, 1:1:1:1:1:1", Free),
    ("IP6Print", 1, 1, "x, CONTENTS true, NBYTES 4000000000", Conserved),
    ("LookupIP6Route", 1, 2, "::/1 0, 1::/16 2::2 1", Conserved),
    ("MarkIP6Header", 1, 1, "9", Conserved),
    ("ProtocolTranslator46", 1, 1, "", Conserved),
    ("ProtocolTranslator64", 1, 1, "", Conserved),
    ("SetIP6Address", 1, 1, "1::", Conserved),
    ("SetIP6DSCP", 1, 1, "9", Conserved),
    ("UDPIP6Encap", 1, 1, "1::, 2, DST_ANNO, 5", Conserved),
    ("GREDecap", 1, 2, "SEQUENCE true", Conserved),
    ("GREDecap", 1, 1, "KEY 1, CHECKSUM true", Conserved),
    ("GREEncap", 1, 1, "1.0.0.1, 2.0.0.2", Conserved),
    ("GREEncap", 1, 1, "1.0.0.1, 2.0.0.2, KEY 1", Conserved),
    ("GREEncap", 1, 1, "1.0.0.1, 2.0.0.2, SEQUENCE true", Conserved),
    ("IPEncap", 1, 1, "4, 1.0.0.1, 2.0.0.2", Conserved),
    ("IP6Encap", 1, 1, "4, 1::, 2::", Conserved),
    ("IP6Encap", 1, 1, "41, 1::, 2::", Conserved),
    ("GREEncap", 1, 1, "1.0.0.1, 2.0.0.2, KEY 1, SEQUENCE true, CHECKSUM true", Conserved),
    ("GRETunnels", 2, 4, "1.0.0.1, TUNNEL a 2.0.0.2 - 0.0.0.0/0", Conserved),
    ("GRETunnels", 2, 2, "1.0.0.1, TUNNEL a 2.0.0.2 1 1.0.0.0/8, RATE 1kBps, SEQUENCE true", Conserved),
    ("Policer", 1, 2, "8kbps, BURST 100", Conserved),
    ("Policer", 1, 2, "1pps, PER source, CAPACITY 2, PREFIX 8", Conserved),
    ("Policer", 1, 1, "1pps, PER destination, PREFIX6 0", Conserved),
    ("PPPoEServer", 2, 4, "2:2:2:2:2:3, 1.0.0.1, STATIC 2:2:2:2:2:2 1 2.0.0.2", Free),
    ("PPPoEServer", 2, 2, "2:2:2:2:2:2, 1.0.0.1, POOL 2.0.0.0/24, USER a b", Free),
];

/// What comes before the element and makes it part of a larger graph.
pub const NEIGHBOURS: &[Sample] = &[
    ("FTPPortMapper", 1, 1, "nat, nat, 0", Conserved),
    ("ICMPRewriter", 1, 2, "nat", Conserved),
    ("ICMPRewriter", 1, 1, "nat, DST_ANNO false", Conserved),
];
const NAT: &str = "Idle -> nat :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 0) -> Discard;";

/// The graph around the element: sources and queues in front, counters and what `sink` names behind.
pub fn graph_of(sample: &Sample, sink: impl Fn(usize) -> String) -> String {
    let (name, n_inputs, n_outputs, args, _) = *sample;
    let (inputs, outputs) =
        stock().get(name).expect("the class exists").facts.processing.split_once('/').expect("both ways");
    let code = |codes: &str, port: usize| codes.chars().nth(port).or(codes.chars().last()).expect("a code");
    // RED looks for queues and TCPAck for a buffer; they get one behind them.
    let is_pulled = |port| code(inputs, port) == 'l';
    let mut text = format!(
        "{} e :: {name}({});\n",
        if NEIGHBOURS.iter().any(|neighbour| neighbour.0 == name) { NAT } else { "" },
        if name.ends_with("RED") { args.replace("QUEUES in0", "QUEUES q0") } else { args.to_string() }
    );
    for port in 0..n_inputs {
        let queue = if is_pulled(port) { format!("in{port} :: Queue(100000) -> ") } else { String::new() };
        text += &format!("s{port} :: Idle -> {queue}[{port}]e;\n");
    }
    let pulls = (0..n_inputs).any(is_pulled) && inputs.contains('l');
    for port in 0..n_outputs {
        let is_pull = code(outputs, port) == 'l' || code(outputs, port) == 'a' && pulls;
        let queue = if is_pull { "Unqueue -> " } else { "" };
        let behind = match (name, port) {
            ("RED" | "AdaptiveRED", _) => "q0 :: Queue(100000) -> Unqueue -> ",
            ("TCPAck", 0) => "TCPBuffer -> Unqueue -> ",
            _ => "",
        };
        text += &format!("e[{port}] -> {queue}{behind}c{port} :: Counter -> {};\n", sink(port));
    }
    text
}

/// Builds a sample's graph and runs packets through every input of its element, a few at a time.
pub fn run<T>(
    sample: &Sample,
    text: &str,
    packets: &[T],
    make: impl Fn(&T) -> Packet,
) -> Result<Engine, String> {
    let mut diagnostics = Diagnostics::default();
    let source = lang::Source { name: "sample", text };
    let graph = lang::parse(&source, &lang::Options::new(stock()), &mut diagnostics);
    let options = BuildOptions {
        time: Time::Simulated { begin_ns: 1_000_000_000_000_000_000 },
        chatter: Box::new(|_| ()),
        ..BuildOptions::default()
    };
    let engine = graph
        .and_then(|graph| Engine::build(graph, &|name: &str| stock().get(name), options, &mut diagnostics));
    let Some(mut engine) = engine else {
        return Err(format!("{text}{}", lang::click_texts(&diagnostics.list)));
    };
    for port in 0..sample.1 {
        let source = engine.world.find(&format!("s{port}"), usize::MAX).expect("the graph has it");
        for chunk in packets.chunks(7) {
            let mut batch = Batch::new();
            batch.extend(chunk.iter().map(&make));
            engine.world.push_now(source, 0, batch);
        }
    }
    let mut n_rounds = 0;
    engine.run_while(|world| {
        n_rounds += 1;
        n_rounds < 2000 && !world.is_idle()
    });
    Ok(engine)
}
