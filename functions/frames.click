// IPv4 packets in frames, for functions that look at packets and leave frames as they are.

// IPv4 in frames: output 0 is IPv4, also behind one VLAN tag, with its header checked and marked; output 1 is everything else,
// which is dropped if OTHER is 1.
elementclass PacketsOfFrames { $other |
    input -> MarkMACHeader -> kind :: Classifier(12/0800, 12/8100 16/0800, 12/88a8 16/0800, -);
    kind[0] -> CheckIPHeader(14) -> [0] output;
    kind[1] -> tagged :: CheckIPHeader(18) -> [0] output;
    kind[2] -> tagged;
    kind[3] -> other :: Switch($other);
    other[0] -> [1] output;
    other[1] -> other_denied :: Counter -> Discard;
}

// Puts fragments together. What was put together is painted 77.
elementclass WholePackets {
    input -> fragments :: IPClassifier(ip unfrag, -);
    fragments[0] -> Paint(0) -> output;
    fragments[1] -> reassembler :: IPReassembler(HIMEM 4194304) -> Paint(77) -> output;
}

// Cuts what WholePackets has put together into fragments again, link-layer headers included.
elementclass PacketsAsTheyCame { $mtu |
    input -> whole :: CheckPaint(77);
    whole[0] -> IPFragmenter($mtu, HONOR_DF false, LINK true) -> output;
    whole[1] -> output;
}
