// IP headers in frames, marked for elements that look at them; the frames stay as they are.

// Output 0 is IPv4, output 1 IPv6, each also behind one VLAN tag, and output 2 everything else. Headers are not checked.
elementclass MarkedHeaders {
    input -> MarkMACHeader
        -> kind :: Classifier(12/0800, 12/8100 16/0800, 12/88a8 16/0800, 12/86dd, 12/8100 16/86dd, 12/88a8 16/86dd, -);
    kind[0] -> MarkIPHeader(14) -> [0] output;
    kind[1] -> tagged :: MarkIPHeader(18) -> [0] output;
    kind[2] -> tagged;
    kind[3] -> MarkIP6Header(14) -> [1] output;
    kind[4] -> tagged6 :: MarkIP6Header(18) -> [1] output;
    kind[5] -> tagged6;
    kind[6] -> [2] output;
}
