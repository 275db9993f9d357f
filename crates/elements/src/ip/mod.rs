//! IPv4 headers: checking, changing, making.

pub mod code_point;
mod compressed_header;
pub mod describe;
pub mod failures;
pub(crate) mod forced;
pub mod fragments;
pub mod gateway_options;
pub mod header_check;
pub mod own_networks;
pub mod payload_check;
pub mod pieces;
pub mod rate_tree;
pub mod type_of_service;
pub mod unfinished;

element::elements![
    check_ip_header,
    check_ip_header2,
    dec_ip_ttl,
    drop_broadcasts,
    erase_ip_payload,
    fix_ip_src,
    force_ip,
    get_ip_address,
    ip_encap,
    ip_field_info,
    ip_fragmenter,
    ip_gw_options,
    ip_input_combo,
    ip_mirror,
    ip_name_info,
    ip_output_combo,
    ip_print,
    ip_rate_monitor,
    ip_reassembler,
    mark_ip_ce,
    mark_ip_header,
    rfc2507_comp,
    rfc2507_decomp,
    rip_send,
    set_ip_address,
    set_ip_checksum,
    set_ip_dscp,
    set_ip_ecn,
    store_ip_address,
    strip_ip_header,
    strip_to_network_header,
    truncate_ip_payload,
    unstrip_ip_header,
];

#[cfg(test)]
pub mod tests {
    use expect_test::Expect;
    use proptest::prelude::*;

    /// Compares what is told of an element that cannot be configured, without the place.
    pub fn check_mistake(element: &str, expect: Expect) {
        let printed = crate::testing::run(&format!("Idle -> {element} -> Discard"), &[]);
        let lines = printed.lines().filter(|line| !line.contains("While ") && !line.contains("could not be"));
        let mistakes: Vec<&str> = lines.map(|line| line.trim_start_matches("config:1:").trim()).collect();
        expect.assert_eq(&mistakes.join("; "));
    }

    /// Elements that any packet may meet, with what marks it in front.
    const CHAINS: &[&str] = &[
        "CheckIPHeader(INTERFACES 1.0.0.1/8)",
        "CheckIPHeader2(3)",
        "MarkIPHeader(-4) -> DecIPTTL",
        "DecIPTTL",
        "IPMirror",
        "SetIPChecksum",
        "SetIPDSCP(1)",
        "SetIPECN(ce) -> MarkIPCE(true)",
        "ForceIP -> ForceICMP(echo, 0) -> ForceTCP(RANDOM_DPORT true) -> ForceUDP",
        "ForceUDP -> ForceTCP(80, FLAGS 2)",
        "EraseIPPayload",
        "TCPReflector",
        "DynamicUDPIPEncap(1.0.0.1, 2, 3.0.0.4, 5)",
        "TruncateIPPayload(3)",
        "ICMPPingEncap(1.0.0.1, 2.0.0.2) -> ICMPIPEncap(1.0.0.1, 2.0.0.2, timestamp)",
        "GetIPAddress(IP dst) -> IPEncap(4, 1.0.0.1, DST_ANNO)",
        "UDPIPEncap(1.0.0.1, 2, 3.0.0.4, 5)",
        "FixIPSrc(1.0.0.1)",
        "StoreIPAddress(1.0.0.1, src)",
        "StoreIPAddress(1.0.0.1, 4)",
        "StripIPHeader -> StripToNetworkHeader",
        "StripIPHeader -> IPPrint -> DecIPTTL",
        "IPPrint(PAYLOAD HEX)",
        "IPFragmenter(40, HONOR_DF false) -> IPReassembler",
        "IPReassembler(HIMEM 0)",
        "IPGWOptions(1.0.0.1)",
        "IPInputCombo(1)",
        "CheckTCPHeader",
        "CheckUDPHeader",
        "SetTCPChecksum(true)",
        "SetUDPChecksum",
        "DropBroadcasts",
        "RFC2507Comp -> RFC2507Decomp",
        "RFC2507Decomp",
    ];

    fn header() -> impl Strategy<Value = Vec<u8>> {
        let options =
            prop::collection::vec(prop_oneof![Just(7u8), Just(68), Just(4), Just(1), any::<u8>()], 0..80);
        let protocol = prop_oneof![Just(1u8), Just(6), Just(17), any::<u8>()];
        (any::<[u8; 20]>(), options, protocol, any::<bool>(), 5u8..16).prop_map(
            |(mut bytes, rest, protocol, is_ip, words)| {
                if is_ip {
                    bytes[0] = 0x40 | words;
                    bytes[2..4].copy_from_slice(&(20 + rest.len() as u16).to_be_bytes());
                    bytes[9] = protocol;
                }
                [&bytes[..], &rest].concat()
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_packet_stops_an_element(packet in prop_oneof![header(), prop::collection::vec(any::<u8>(), 0..30)]) {
            let hex: String = packet.iter().map(|byte| format!("{byte:02x}")).collect();
            for chain in CHAINS {
                for mark in ["Null", "MarkIPHeader", "CheckIPHeader2"] {
                    let graph = format!("src :: InfiniteSource(DATA \\<{hex}>, LIMIT 2, STOP true) -> {mark} -> {chain} -> Discard");
                    let printed = crate::testing::run(&graph, &["src.count"]);
                    prop_assert!(printed.ends_with("src.count: 2\n"), "{chain}: {printed}");
                }
            }
        }
    }
}
