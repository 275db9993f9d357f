//! Further ways in which elements may stand in random graphs, for those of the wide seeds (see `graphs.rs`).
//!
//! Where a class wants company, or shows a foreign memory's bytes or the nanoseconds of a clock if it stands alone, it is in a compound
//! class of the prelude.
//!
//! What occurs in no graph: classes whose output cannot be foretold, because it has real time, processor cycles, places in memory or
//! the machine's state in it (`CycleCountAccum`, `SetCycleCount`, `SetPerfCount`, `RoundTripCycleCount`, `LookupIPRouteMP`, `ProgressBar`,
//! `RandomSource` and the like); devices, sockets and threads; readers and writers of traces other than pcap files, and scripts, which have
//! tests of their own.

use crate::forms::Form;
use crate::forms::Kind::{Frame, Ip, Ip6, Raw};
use crate::forms::Out::{Same, To};
use crate::forms::Way::{Either, Pull, PullToPush, Push, PushToPull};
use crate::forms::{ANY, FRAMES, HEADED, IP, IP6, ONE, RAW, TWO};

/// What every wide graph begins with.
pub const PRELUDE: &str = "\
elementclass AnnotationsRead { $n | input -> c :: CheckLength(90) [1] -> Strip($n) -> ReadAnno -> output; c[0] -> output }
elementclass Shown { $n | input -> PushAnno -> Print(anno, 48) -> Strip($n) -> output }
elementclass Clipped { $n, $r, $s | c :: Clipboard($r, $s); input -> Pad(90) -> [0] c [0] -> Strip($n) -> [1] c [1] -> Unstrip($n) -> output }
elementclass Adapted { $t, $p, $s, $c | input -> r :: AdaptiveRED($t, $p, STABILITY $s) -> q :: Queue($c) -> output }
elementclass Controlled { $t, $i, $c | input -> SetTimestamp(FIRST true) -> q :: Queue($c) -> c :: CoDel($t, $i) -> SetTimestamp(2, FIRST true) -> output }
elementclass Kept { $n | input -> StripIPHeader -> Strip($n) -> UnstripIPHeader -> output }
elementclass Reflected { input -> CheckTCPHeader -> TCPReflector -> output }
elementclass Acknowledged { $d | a :: TCPAck(DELAY $d); input -> CheckTCPHeader -> [1] a [1] -> [0] output;
    Idle -> [0] a [0] -> TCPBuffer -> Unqueue -> Discard; a[2] -> [1] output }
elementclass Hashed { $n, $s, $a, $b, $c | m :: SourceIPHashMapper($n $s, $a - - - 0 1 1, - - $b - 0 1 2, - 1024-1030 $c - 0 1 7);
    input -> r :: IPRewriter(m) [0] -> [0] output; r[1] -> [1] output }
elementclass Stamped { $d, $p | input -> CheckLength(1400) -> Pad(30) -> UDPIPEncap(1.0.0.1, 5, 2.0.0.2, $p, CHECKSUM true)
    -> s :: StoreUDPTimeSeqRecord(OFFSET 0, DELTA $d) -> StoreData(36, \\<00000000>) -> StoreData(40, \\<0000000000000000>)
    -> SetUDPChecksum -> output }
elementclass Six { input -> c :: Classifier(12/86dd, -) -> Strip(14) -> h :: CheckIP6Header -> [0] output; c[1] -> [1] output }
elementclass Six4 { input -> t :: ProtocolTranslator64 -> h :: CheckIPHeader -> output }
elementclass Four6 { input -> CheckLength(200) -> IPClassifier(tcp or udp or icmp) -> t :: ProtocolTranslator46 -> h :: CheckIP6Header -> output }
elementclass Neighbours { $ip, $eth, $net | s :: IP6NDSolicitor($ip, $eth); input -> GetIP6Address(24) -> [0] s [0] -> output;
    s[1] -> Tee -> IP6NDAdvertiser($net) -> [1] s }
elementclass Asked { $ip, $eth | s :: IP6NDSolicitor($ip, $eth); input -> GetIP6Address(24) -> [0] s [0] -> [0] output;
    input[1] -> Classifier(12/86dd 20/3aff 54/88) -> [1] s; s[1] -> [1] output }
elementclass Dumped { $p, $x | input -> f :: AggregateIPFlows -> d :: ToIPFlowDumps($p, NOTIFIER f, $x) -> output }
elementclass LastOf { input -> f :: AggregateIPFlows -> l :: AggregateLast(NOTIFIER f) [0] -> [0] output; l[1] -> [1] output }
elementclass Rated { $w, $v, $t | input -> IPRateMonitor(PACKETS, 0, 256) -> c :: CompareBlock($w, $v, $t) [0] -> [0] output; c[1] -> [1] output }
";

/// Sources. The fast ones never tell that they have nothing: only an element that waits may pull from them. Click does
/// not write what they send behind their headers: `ZEROS` is put over it and over its checksum.
pub const SOURCES: &str = "\
{EtherPauseSource({eth}, {0..65535}{|, DST {eth}}, LIMIT {1..9}, INTERVAL {0.1|0.35}) -> StoreData(60, ZEROS)\
|ARPFaker({ip}, {eth}, {ip}, {eth})\
|FastUDPSource({20|1000|100000}, {1..30}, {60|61|74|86}, {eth}, {ip}, {1..9000}, {eth}, {ip}, {1..9000}{|, {0|1}, {0..3}}) -> TimedUnqueue({20|90}ms, {1|1|3}) -> StoreData(40, ZEROS)\
|FastUDPFlows({20|1000|100000}, {1..30}, {60|61|74|86}, {eth}, {ip}, {eth}, {ip}, {1..5}, {1..5}{|, {true|false}}) -> TimedUnqueue({20|90}ms) -> StoreData(40, ZEROS)\
|FastTCPFlows({20|1000|100000}, {1..30}, {60|61|74|86}, {eth}, {ip}, {eth}, {ip}, {1..5}, {3..6}) -> TimedUnqueue({20|90}ms) -> StoreData(46, \\<50>) -> StoreData(50, ZEROS)}";

/// Sources that draw lots.
pub const DRAWING_SOURCES: &[&str] = &["FastUDPFlows", "FastTCPFlows"];

#[rustfmt::skip]
pub const FURTHER: &[Form] = &[
    // Any packets.
    Form("StoreData", ANY, Either, 1, RAW, "{0..40}, \\<00ff41>", "", ""),
    Form("CheckCRC32", ANY, Either, 1, RAW, "", "", ""),
    Form("Bypass", ANY, Push, 1, TWO, "{|true|false}{|, INLINE true}", "active", "active {true|false}"),
    Form("Bypass", ANY, Pull, 2, RAW, "{|true|false}{|, INLINE true}", "active", "active {true|false}"),
    Form("InputSwitch", ANY, Push, 3, RAW, "{|{-1..2}}", "switch", "switch {-1..2}"),
    Form("SimplePullSwitch", ANY, Pull, 3, RAW, "{|{-1..2}}", "switch", "switch {0..2}"),
    Form("QuickNoteQueue", ANY, PushToPull, 1, ONE, "{|{1..20}}", "length highwater_length capacity drops", "capacity {1..9}"),
    Form("LinkUnqueue", ANY, PullToPush, 1, ONE, "{0|1ms|70ms|0.3s}, {50kbps|384kbps|10Mbps|9000}", "latency bandwidth size", "{reset|latency 5ms|bandwidth 1Mbps}"),
    Form("Adapted", ANY, PushToPull, 1, ONE, "{1..9}, {0.02|0.5|1}, {1..5}, {3..20}", "/r.drops /r.stats /q.length", ""),
    Form("Controlled", ANY, PushToPull, 1, ONE, "{5ms|0.05|0.4}, {20ms|0.1|0.5}, {3..30}", "/c.drops /q.length /q.drops", ""),
    Form("Clipped", ANY, Push, 1, RAW, "{0..20}, {0..40}/{1..9}, {0..60}/{0..9}", "", ""),
    Form("AnnotationsRead", ANY, Push, 1, RAW, "{0..20}", "", ""),
    Form("Shown", ANY, Either, 1, RAW, "{0..60}", "", ""),
    Form("SetPacketType", ANY, Either, 1, ONE, "{HOST|BROADCAST|MULTICAST|OTHERHOST|OUTGOING|LOOPBACK}", "", ""),
    Form("TimestampAccum", ANY, Either, 1, ONE, "", "count", "reset_counts"),
    Form("Stamped", ANY, Either, 1, &[To(Ip)], "{true|false}, {1..90}", "/s.count", "/s.reset"),
    // Frames.
    Form("SetEtherAddress", ANY, Either, 1, ONE, "{eth}, {0..42}", "addr", "addr {eth}"),
    Form("GetEtherAddress", FRAMES, Either, 1, TWO, "{0..42}, {src|dst|{0..60}}", "", ""),
    Form("Six", &[Frame], Push, 1, &[To(Ip6), Same], "", "/h.drops", ""),
    Form("IP6NDAdvertiser", &[Frame], Either, 1, &[To(Raw)], "{2::{1..3}|2::/{16|127}|::/0 3::1} {eth}{|, 1::/16 2::{1..3} {eth}}", "", ""),
    // IPv4.
    Form("Rated", IP, Push, 1, TWO, "{1..5}, {0..5}, {0..3}", "/c.fwd_weight /c.rev_weight /c.thresh", "/c.thresh {0..9}"),
    Form("CompareBlock", ANY, Push, 1, TWO, "{1..5}, {0..5}, {0..3}", "fwd_weight rev_weight thresh", "fwd_weight {1..9}"),
    Form("Kept", IP, Either, 1, ONE, "{0..8}", "", ""),
    Form("ICMPPingEncap", ANY, Either, 1, &[To(Ip)], "{ip}, {ip}{|, IDENTIFIER {0..9}}", "src dst", "{src|dst} {ip}"),
    Form("Reflected", IP, Either, 1, &[To(Raw)], "", "", ""),
    Form("Acknowledged", IP, Push, 1, &[To(Ip), To(Ip)], "{0.02|0.3}", "", ""),
    Form("Hashed", IP, Push, 1, TWO, "{1..9}, {1..99}, {ip}, {ip}, {ip}", "/r.tcp_table /r.udp_table", ""),
    Form("AnonymizeIPAddr", HEADED, Either, 1, ONE, "{|CLASS {0..4}}{|, PRESERVE_8 {10|18 192}}", "", ""),
    Form("Dumped", IP, Push, 1, ONE, "flow{0..99999}-%{n|05n|.5x|X|s-%S-%d-%D-%p-%n}, {BINARY true|ABSOLUTE_TIME true|ABSOLUTE_SEQ true|ALL_TCP_OPT true|TCP_OPT true|TCP_WINDOW true|IP_ID false|MINCOUNT 2}", "", "/d.clear"),
    Form("AggregateLast", ANY, Push, 1, TWO, "", "", "clear"),
    Form("LastOf", IP, Push, 1, TWO, "", "", "{/l.clear|/f.clear}"),
    Form("AggregatePacketCounter", ANY, Either, 1, ONE, "{|ANNO {NONE|SEQUENCE_NUMBER|PACKET_NUMBER}}", "count", "clear"),
    Form("AggregatePacketCounter", ANY, Push, 2, &[Same, Same], "{|ANNO {NONE|SEQUENCE_NUMBER}}", "count", ""),
    Form("Four6", IP, Push, 1, &[To(Ip6)], "", "/h.drops", ""),
    // IPv6.
    Form("Six4", IP6, Push, 1, &[To(Ip)], "", "/h.drops", ""),
    Form("UDPIP6Encap", ANY, Either, 1, &[To(Ip6)], "::ffff:{ip}, {1..90}, ::ffff:{ip}, {1..90}", "src sport", ""),
    Form("ICMP6Error", IP6, Either, 1, ONE, "1::{1..3}, {1..4}, {0..2}", "", ""),
    Form("IP6Fragmenter", IP6, Push, 1, TWO, "{20000|30000}", "drops fragments", ""),
    Form("GetIP6Address", IP6, Either, 1, ONE, "{8|24}", "", ""),
    Form("SetIP6Address", ANY, Either, 1, ONE, "{1|2}::{1..3}", "", ""),
    Form("Neighbours", IP6, Push, 1, &[To(Frame)], "3::1, {eth}, {::/0|2::2|1::/16} {eth}", "/s.table /s.stats", ""),
    Form("Asked", IP6, Push, 2, &[To(Frame), To(Frame)], "3::1, {eth}", "/s.table /s.stats", ""),
    Form("AddressTranslator", IP6, Push, 2, &[To(Raw), To(Raw)], "{1, false, 1::{1..3} 2::9, false|1, false, 1::1 2::8, true, false, false, 2::9, 2::10|1, true, 1::1 {53|80} 2::8 90, false|0, true, true, false, 2::9 {1024 1030|1 9}|0, true, false, false, 2::8, 2::9}", "", ""),
];

/// Classes of which `forms.rs` has forms that Click refuses: in wide graphs those here stand for them.
pub const REFUSED: &[&str] = &["StoreData", "CheckCRC32"];

/// Classes, and compound ones, that draw lots.
pub const DRAWING: &[&str] = &["Adapted", "Reflected", "AnonymizeIPAddr", "Rated"];
