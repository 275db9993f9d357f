//! How elements may stand in random graphs.

/// What is known of the packets of a stream.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// Ethernet frames.
    Frame,
    /// Ethernet frames whose IPv4 header is sound and marked.
    Marked,
    /// IPv4 packets from their header on, which is sound and marked.
    Ip,
    /// IPv6 packets from their header on, which is sound and marked.
    Ip6,
    /// Anything.
    Raw,
}
use Kind::{Frame, Ip, Ip6, Marked, Raw};

/// How packets pass through an element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Way {
    Either,
    Push,
    Pull,
    PushToPull,
    PullToPush,
}
use Way::{Either, Pull, PullToPush, Push, PushToPull};

/// What leaves by an output.
#[derive(Clone, Copy)]
pub enum Out {
    /// What came in.
    Same,
    To(Kind),
}
use Out::{Same, To};

/// A way to use a class: class, kinds it takes, way, number of inputs, outputs, pattern of arguments, read handlers, and
/// patterns of handler writes.
pub struct Form(
    pub &'static str,
    pub &'static [Kind],
    pub Way,
    pub usize,
    pub &'static [Out],
    pub &'static str,
    pub &'static str,
    pub &'static str,
);

pub const ANY: &[Kind] = &[Frame, Marked, Ip, Ip6, Raw];
pub const FRAMES: &[Kind] = &[Frame, Marked];
pub const HEADED: &[Kind] = &[Marked, Ip];
pub const IP: &[Kind] = &[Ip];
pub const IP6: &[Kind] = &[Ip6];
pub const RAW: &[Out] = &[To(Raw)];
pub const ONE: &[Out] = &[Same];
pub const TWO: &[Out] = &[Same, Same];
const THREE: &[Out] = &[Same, Same, Same];

/// `pattern` of a rewriter with two outputs.
const NAT: &str = "pattern {ip|-} {-|1024-1030|2000-65535#} {-|-|{ip}} {-|-|80} {0 1|0 0|1 0}";

#[rustfmt::skip]
pub const FORMS: &[Form] = &[
    // From frames to packets and back.
    Form("CheckIPHeader", FRAMES, Either, 1, &[To(Marked), To(Raw)], "14{|, DETAILS true}{|, VERBOSE true}{|, CHECKSUM false}", "drops", ""),
    Form("CheckIPHeader", FRAMES, Either, 1, &[To(Marked)], "14, INTERFACES {ip}/16", "drops", ""),
    Form("CheckIPHeader2", FRAMES, Either, 1, &[To(Marked)], "14", "drops", ""),
    Form("Strip", &[Marked], Either, 1, &[To(Ip)], "14", "", ""),
    Form("StripToNetworkHeader", HEADED, Either, 1, &[To(Ip)], "", "", ""),
    Form("EtherEncap", IP, Either, 1, &[To(Marked)], "0x0800, {eth}, {eth}", "src dst ethertype", "src {eth}"),
    Form("ARPQuerier", IP, Push, 2, &[To(Frame)], "{ip}, {eth}{|, CAPACITY 2}{|, TIMEOUT 1}{|, POLL_TIMEOUT 0}", "table stats queries drops length", "insert {ip} {eth}"),
    Form("ARPResponder", FRAMES, Either, 1, &[To(Frame), Same], "{net} {eth}, {ip} {eth}", "table", "add {net} {eth}"),
    Form("CheckIPHeader", IP, Either, 1, &[To(Ip), To(Raw)], "0{|, DETAILS true}", "drops drop_details", ""),
    // Frames.
    Form("Classifier", FRAMES, Push, 1, &[To(Frame), To(Frame), To(Frame)], "12/0806 {20/0001|20/0002}, 12/0800 {23/06|30/0a??%0f00|!14/45}, -", "", ""),
    Form("EtherMirror", FRAMES, Either, 1, ONE, "", "", ""),
    Form("EtherRewrite", FRAMES, Either, 1, ONE, "{eth}, {eth}", "src dst", "dst {eth}"),
    Form("HostEtherFilter", FRAMES, Either, 1, TWO, "{eth}{|, DROP_OWN true}{|, DROP_OTHER false}", "", ""),
    Form("EtherSwitch", FRAMES, Push, 2, &[To(Frame), To(Frame)], "{|TIMEOUT 1}", "table", ""),
    Form("EtherSwitch", FRAMES, Push, 3, &[To(Frame), To(Frame), To(Frame)], "", "table", ""),
    Form("VLANEncap", FRAMES, Either, 1, &[To(Frame)], "{1..4094}{|, VLAN_PCP 3}", "vlan_id vlan_pcp", "vlan_id {1..9}"),
    Form("VLANDecap", FRAMES, Either, 1, &[To(Frame)], "{|ANNO false}", "", ""),
    Form("DropBroadcasts", FRAMES, Either, 1, ONE, "", "drops", ""),
    // IPv4.
    Form("DecIPTTL", HEADED, Either, 1, TWO, "{|MULTICAST false}", "drops", ""),
    Form("FixIPSrc", HEADED, Either, 1, ONE, "{ip}", "", ""),
    Form("GetIPAddress", HEADED, Either, 1, ONE, "{16|IP src|IP dst}", "", ""),
    Form("IPClassifier", HEADED, Push, 1, THREE, "{tcp|udp|icmp|src net {net}|dst host {ip}|tcp opt syn|ip frag}, {src or dst port {80|53}|ip ttl < 3|ip dscp 46|icmp type echo|src port > 1000 and not tcp}, -", "", ""),
    Form("IPFilter", HEADED, Push, 1, TWO, "allow {tcp|udp|src net {net}|ip ce}, 1 {dst net {net} && ! tcp|port 53|ip len > 100}, {allow|deny} all", "", ""),
    Form("IPFilter", HEADED, Either, 1, ONE, "{allow|drop} {ip proto 6|src {ip} && dst {ip}|tcp syn && ! tcp ack}, {drop host {ip}|allow icmp}, allow all", "", ""),
    Form("IPFragmenter", IP, Push, 1, &[To(Ip), To(Ip)], "{68|100|576|1400}{|, HONOR_DF false}{|, VERBOSE true}", "drops fragments", ""),
    Form("IPGWOptions", IP, Either, 1, &[To(Ip), To(Raw)], "{ip}{|, {ip}}", "drops", ""),
    Form("IPMirror", IP, Either, 1, ONE, "", "", ""),
    Form("IPReassembler", IP, Push, 1, ONE, "{|HIMEM 300}", "", ""),
    Form("IPOutputCombo", IP, Push, 1, &[To(Ip), To(Raw), To(Raw), To(Raw), To(Raw)], "{0..3}, {ip}, {68|300|1500}", "", ""),
    Form("IPPrint", HEADED, Either, 1, ONE, "p{|, TTL true}{|, TOS true}{|, ID true}{|, LENGTH true}{|, PAYLOAD ascii, MAXLENGTH 20}{|, CONTENTS hex}{|, TIMESTAMP false}{|, PAINT true}", "active", "active {true|false}"),
    Form("MarkIPCE", HEADED, Either, 1, ONE, "{|true}", "drops", ""),
    Form("SetIPAddress", HEADED, Either, 1, ONE, "{ip}", "", ""),
    Form("SetIPChecksum", HEADED, Either, 1, ONE, "", "drops", ""),
    Form("SetIPDSCP", HEADED, Either, 1, ONE, "{0..63}", "dscp", "dscp {0..63}"),
    Form("StoreIPAddress", IP, Either, 1, &[To(Raw)], "{{ip}, 12|16|{ip}, {12..30}}", "", ""),
    Form("StripIPHeader", IP, Either, 1, RAW, "", "", ""),
    Form("IPEncap", ANY, Either, 1, &[To(Ip)], "{udp|ipip|4|gre}, {ip}, {ip}{|, TTL 3}{|, TOS 184}{|, DF true}", "src dst", "src {ip}"),
    Form("UDPIPEncap", ANY, Either, 1, &[To(Ip)], "{ip}, {1..9000}, {ip}, {1..9000}, CHECKSUM {true|false}", "src sport dst dport", "dport {1..80}"),
    Form("IPRateMonitor", IP, Either, 1, ONE, "PACKETS, 0.5, 256{|, 4096}", "thresh mem", ""),
    // ICMP, TCP and UDP.
    Form("CheckICMPHeader", IP, Either, 1, TWO, "{|DETAILS true}{|, VERBOSE true}", "drops", ""),
    Form("CheckTCPHeader", IP, Either, 1, TWO, "{|DETAILS true}", "drops", ""),
    Form("CheckUDPHeader", IP, Either, 1, TWO, "{|DETAILS true}", "drops", ""),
    Form("ICMPError", IP, Push, 1, ONE, "{ip}, {timeexceeded|unreachable, {host|port|needfrag}|redirect, host|parameterproblem}", "", ""),
    Form("ICMPPingResponder", IP, Either, 1, TWO, "", "", ""),
    Form("SetTCPChecksum", IP, Either, 1, ONE, "{|true}", "", ""),
    Form("SetUDPChecksum", IP, Either, 1, ONE, "", "", ""),
    // Routes.
    Form("LinearIPLookup", HEADED, Push, 1, THREE, "{net} 0, {net} {ip} 1, 0/0 2", "table", "add {net} {0..2}"),
    Form("RadixIPLookup", HEADED, Push, 1, THREE, "{net} 0, {net} {ip} 1, 0/0 2", "table", "set {net} {0..2}"),
    Form("DirectIPLookup", HEADED, Push, 1, THREE, "{net} 0, {net} {ip} 1, 0/0 2", "table", ""),
    Form("RangeIPLookup", HEADED, Push, 1, THREE, "{net} 0, {net} {ip} 1, 0/0 2", "table", ""),
    Form("StaticIPLookup", HEADED, Push, 1, THREE, "{net} 0, {net} {ip} 1, 0/0 2", "table", ""),
    // Rewriters.
    Form("IPRewriter", IP, Push, 1, TWO, NAT, "tcp_table udp_table table_size mapping_failures", ""),
    Form("IPRewriter", IP, Push, 2, TWO, "{keep 0 1|pass 0|pattern {ip} 1024-1030 - - 0 1}, {drop|pass 1|keep 1 0}{|, MAPPING_CAPACITY 2}{|, UDP_TIMEOUT 1}", "tcp_table udp_table table_size", ""),
    Form("UDPRewriter", IP, Push, 1, TWO, NAT, "table", ""),
    Form("TCPRewriter", IP, Push, 1, TWO, NAT, "table", ""),
    Form("IPAddrRewriter", IP, Push, 1, TWO, "pattern {ip} - {0 1|1 0}", "table", ""),
    Form("IPAddrPairRewriter", IP, Push, 1, TWO, "pattern {ip|-} {ip|-} {0 1|1 0}", "table", ""),
    Form("ICMPPingRewriter", IP, Push, 1, TWO, "pattern {ip} {-|1000-1009#} - - 0 1, DST_ANNO true", "table", ""),
    // Counters and meters.
    Form("Counter", ANY, Either, 1, ONE, "{|COUNT_CALL 5 e0.reset}", "count byte_count", ""),
    Form("AverageCounter", ANY, Either, 1, ONE, "", "count byte_count", "reset"),
    Form("AggregateIP", HEADED, Push, 1, ONE, "{ip src|ip dst/24|ip proto|ip tos|ip ttl}", "", ""),
    Form("AggregateIPFlows", IP, Either, 1, ONE, "{|FRAGMENTS false}{|, ICMP true}{|, UDP_TIMEOUT 1}", "", ""),
    Form("AggregateCounter", ANY, Either, 1, ONE, "{|BYTES true}{|, AGGREGATE_STOP 3}", "nagg count banner", ""),
    Form("AdjustTimestamp", ANY, Either, 1, ONE, "{1|-2|0.25}", "", ""),
    // Any packets.
    Form("Align", ANY, Either, 1, ONE, "{4|8}, {0..3}", "", ""),
    Form("CheckLength", ANY, Either, 1, TWO, "{40..200}{|, EXTRA_LENGTH false}", "", ""),
    Form("Paint", ANY, Either, 1, ONE, "{0..3}", "color", "color {0..3}"),
    Form("CheckPaint", ANY, Either, 1, TWO, "{0..2}", "color", "color {0..2}"),
    Form("PaintSwitch", ANY, Push, 1, THREE, "", "", ""),
    Form("PaintTee", ANY, Push, 1, TWO, "{0..2}", "color", ""),
    Form("HashSwitch", ANY, Push, 1, THREE, "{0..30}, {1..8}", "", ""),
    Form("RoundRobinSwitch", ANY, Push, 1, THREE, "", "", ""),
    Form("StrideSwitch", ANY, Push, 1, THREE, "{1..5}, {1..5}, {1..5}", "tickets0 tickets2", "tickets1 {1..9}"),
    Form("Switch", ANY, Push, 1, THREE, "{0..2}", "switch", "switch {-1..3}"),
    Form("StaticSwitch", ANY, Push, 1, TWO, "{0..1}", "", ""),
    Form("Tee", ANY, Push, 1, THREE, "", "", ""),
    Form("PullTee", ANY, Pull, 1, &[Same], "", "", ""),
    Form("Hub", ANY, Push, 2, &[To(Raw), To(Raw)], "", "", ""),
    Form("Pad", ANY, Either, 1, ONE, "{|{60..120}}", "", ""),
    Form("Print", ANY, Either, 1, ONE, "q{|, {0..80}}{|, CONTENTS ascii}{|, TIMESTAMP true}", "active", "active {true|false}"),
    Form("SetTimestamp", ANY, Either, 1, ONE, "{1.5|1000000001.000000001}", "", ""),
    Form("StoreData", ANY, Either, 1, RAW, "{0..40}, \\<00ff41>{|, MASK \\<0ff0ff>}", "", ""),
    Form("Strip", ANY, Either, 1, RAW, "{0..30}", "", ""),
    Form("Truncate", ANY, Either, 1, RAW, "{10..100}{|, EXTRA_LENGTH true}", "", ""),
    Form("Resize", ANY, Either, 1, RAW, "{-9..0}, {-9..0}", "head tail", ""),
    Form("MarkMACHeader", FRAMES, Either, 1, ONE, "", "", ""),
    Form("Null", ANY, Either, 1, ONE, "", "", ""),
    Form("RatedSplitter", ANY, Push, 1, TWO, "{1..50}", "rate", "rate {1..9}"),
    Form("BandwidthRatedSplitter", ANY, Push, 1, TWO, "{100..9000}", "rate", ""),
    Form("Meter", ANY, Push, 1, TWO, "{1..9}", "", ""),
    Form("BandwidthMeter", ANY, Push, 1, TWO, "{100..900}", "", ""),
    // Frames, further.
    Form("CheckARPHeader", FRAMES, Either, 1, TWO, "14{|, DETAILS true}", "drops", ""),
    Form("EnsureEther", IP, Either, 1, &[To(Frame)], "0x0800, {eth}, {eth}", "", ""),
    Form("StoreEtherAddress", FRAMES, Either, 1, TWO, "{eth}, {src|dst|4}", "addr", "addr {eth}"),
    Form("EtherVLANEncap", IP, Either, 1, &[To(Frame)], "0x0800, {eth}, {eth}, VLAN_ID {0..9}{|, VLAN_PCP 2}{|, NATIVE_VLAN 3}", "src vlan_tci vlan_id vlan_pcp", "vlan_id {1..9}"),
    Form("StripEtherVLANHeader", &[Frame], Either, 1, &[To(Raw), Same], "{|0|-1}", "", ""),
    Form("ListenEtherSwitch", FRAMES, Push, 2, &[To(Frame), To(Frame), To(Frame)], "", "table", ""),
    Form("Suppressor", FRAMES, Push, 1, ONE, "", "active0", "active0 {true|false}"),
    // IPv4, further.
    Form("EraseIPPayload", IP, Either, 1, ONE, "", "", ""),
    Form("TruncateIPPayload", IP, Either, 1, RAW, "{0..40}{|, false}", "", ""),
    Form("SetIPECN", HEADED, Either, 1, ONE, "{0..3}", "ecn", "ecn {ce|ect1}"),
    Form("ForceIP", IP, Either, 1, RAW, "", "", ""),
    Form("ICMPIPEncap", ANY, Either, 1, &[To(Ip)], "{ip}, {ip}, {echo|echo-reply|13}{|, IDENTIFIER 7}", "src dst", ""),
    Form("DynamicUDPIPEncap", ANY, Push, 1, &[To(Ip)], "{ip}, {1..90}, {ip}, {1..90}, {true|false}, {1..4}", "", ""),
    Form("TCPFragmenter", IP, Push, 1, ONE, "MTU {60|200|900}", "fragments fragmented_count count", ""),
    Form("SortedIPLookup", HEADED, Push, 1, THREE, "{net} 0, {net} {ip} 1, 0/0 2", "table", ""),
    // IPv6.
    Form("UDPIP6Encap", ANY, Either, 1, &[To(Ip6)], "1::{1..3}, {1..90}, 2::{1..3}, {1..90}", "src sport", "dport {1..90}"),
    Form("IP6Encap", ANY, Either, 1, &[To(Ip6)], "{udp|17|6|59}, 1::{1..3}, 2::{1..3}{|, HLIM {0..2}}{|, CLASS 9}", "src dst", ""),
    Form("CheckIP6Header", IP6, Either, 1, TWO, "", "drops", ""),
    Form("DecIP6HLIM", IP6, Either, 1, TWO, "", "drops", ""),
    Form("IP6Print", IP6, Either, 1, ONE, "v{|, CONTENTS true}{|, NBYTES 20}{|, PAYLOAD true}", "", ""),
    Form("IP6Mirror", IP6, Either, 1, ONE, "", "", ""),
    Form("LookupIP6Route", IP6, Push, 1, THREE, "2::{1..3}/128 0, 1::/{16|127} 3::1 1, ::/0 2", "table", ""),
    Form("SetIP6DSCP", IP6, Either, 1, ONE, "{0..63}", "dscp", ""),
    Form("MarkIP6Header", IP6, Either, 1, ONE, "0", "", ""),
    // Aggregates.
    Form("AggregateFilter", ANY, Push, 1, THREE, "{allow 0|1 0-3|deny 6}, 1 {0|17|2-9999}, {2|allow|deny} all", "", ""),
    Form("AggregateFirst", ANY, Either, 1, TWO, "", "", ""),
    Form("AggregateLength", HEADED, Either, 1, ONE, "{|IP true}", "", ""),
    Form("AggregatePaint", ANY, Either, 1, ONE, "{|1|2}{|, INCREMENTAL true}", "", ""),
    Form("AggregateIPAddrPair", IP, Either, 1, ONE, "", "", ""),
    // Any packets, further.
    Form("Block", ANY, Push, 1, TWO, "{0|1000}", "thresh", ""),
    Form("DRRSched", ANY, Pull, 3, RAW, "{|100|500}", "", ""),
    Form("SimplePrioSched", ANY, Pull, 2, RAW, "", "", ""),
    Form("SimpleRoundRobinSched", ANY, Pull, 3, RAW, "", "", ""),
    Form("RoundRobinUnqueue", ANY, PullToPush, 1, ONE, "", "", ""),
    Form("Burster", ANY, PullToPush, 1, ONE, "{10|200}ms{|, {1..3}}", "", ""),
    Form("TimedUnqueue", ANY, PullToPush, 1, ONE, "{10|200}ms{|, {1..3}}", "", ""),
    Form("SetAnnoByte", ANY, Either, 1, ONE, "PAINT, {0..3}", "anno value", "value {0..3}"),
    Form("SetTimestampDelta", ANY, Either, 1, ONE, "TYPE {RANGE|FIRST}", "first", ""),
    Form("StoreTimestamp", FRAMES, Either, 1, RAW, "{0..9}", "", ""),
    Form("TimeRange", ANY, Either, 1, ONE, "", "first last range interval", "reset"),
    Form("TimeFilter", ANY, Either, 1, TWO, "{|START_AFTER 0.2}{|, INTERVAL 0.5}", "", ""),
    Form("SetCRC32", ANY, Either, 1, RAW, "", "", ""),
    Form("CheckCRC32", ANY, Either, 1, &[To(Raw), Same], "", "", ""),
    // What is drawn by lot; a seed makes it the same.
    Form("RandomSwitch", ANY, Push, 1, THREE, "", "", ""),
    Form("RandomSample", ANY, Either, 1, TWO, "{0.2|0.5|DROP 0.3}", "sampling_prob drops", ""),
    Form("RandomBitErrors", ANY, Either, 1, RAW, "{0.001|0.05}{|, set}", "p_bit_error error_kind", ""),
    Form("SetRandIPAddress", HEADED, Either, 1, ONE, "{net}{|, 5}", "", ""),
    Form("ForceTCP", IP, Either, 1, ONE, "{|{1..90}}{|, true}", "", ""),
    Form("ForceUDP", IP, Either, 1, ONE, "{|{1..90}}", "", ""),
    Form("ForceICMP", IP, Either, 1, ONE, "{echo|3|11}, {0..2}", "", ""),
    // Storage.
    Form("Queue", ANY, PushToPull, 1, ONE, "{|{1..20}}", "length highwater_length capacity drops", "capacity {1..9}"),
    Form("ThreadSafeQueue", ANY, PushToPull, 2, ONE, "{2..20}", "length drops", ""),
    Form("FrontDropQueue", ANY, PushToPull, 1, ONE, "{2..8}", "length drops", ""),
    Form("MixedQueue", ANY, PushToPull, 2, ONE, "{2..8}", "length drops", ""),
    Form("NotifierQueue", ANY, PushToPull, 1, ONE, "{2..8}", "length drops", ""),
    Form("Unqueue", ANY, PullToPush, 1, ONE, "{|LIMIT 9}{|, ACTIVE false}", "count active", "active true"),
    Form("RatedUnqueue", ANY, PullToPush, 1, ONE, "{5..90}{|, BURST_SIZE 3}", "rate", ""),
    Form("BandwidthRatedUnqueue", ANY, PullToPush, 1, ONE, "{2000..90000}", "rate", ""),
    Form("DelayUnqueue", ANY, PullToPush, 1, ONE, "{0.01|0.3}", "delay", ""),
    Form("Shaper", ANY, Pull, 1, ONE, "{5..90}", "rate", ""),
    Form("BandwidthShaper", ANY, Pull, 1, ONE, "{2000..90000}", "rate", ""),
    Form("DelayShaper", ANY, Pull, 1, ONE, "{0.01|0.3}", "delay", ""),
    Form("PrioSched", ANY, Pull, 3, RAW, "", "", ""),
    Form("RoundRobinSched", ANY, Pull, 3, RAW, "", "", ""),
    Form("StrideSched", ANY, Pull, 2, RAW, "{1..9}, {1..9}", "tickets0 tickets1", "tickets0 {1..9}"),
    Form("TimeSortedSched", ANY, Pull, 2, RAW, "{|STOP false}", "", ""),
    Form("PullSwitch", ANY, Pull, 2, RAW, "{-1..1}", "switch", "switch {0..2}"),
];
