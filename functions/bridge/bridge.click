// Switches frames between its interfaces, learning where stations are.
//
//     left <--> EtherSwitch <--> right
//                  ^
//                  |
//     --if NAME=... (as many as wanted)
//
// A frame goes to the interface where its destination was last heard, or to all but its own. With `--stp` the bridge takes part
// in the spanning tree protocol (IEEE 802.1D), so that loops of bridges do no harm: an interface forwards when it is known that
// it closes no loop, after about 30 seconds.
//
// Handlers: `bridge.table`, `bridge.timeout`; with `--stp` `tree.msgs`.

// Tells the messages of bridges from other frames.
elementclass BridgeInput {
    input -> kind :: Classifier(14/4242, -);
    kind[0] -> [0] output;
    kind[1] -> [1] output;
}
