// Loses packets by chance.
//
//     left --> RandomSample --> right
//     left <-- RandomSample <-- right
//
// Each packet is lost with the same probability, whatever became of those before it. A packet that is still to be cut into
// segments is lost or passes as a whole.
//
// Handlers: `to_right/sample.drops`, and `to_right/sample.drop_prob`, which can be written; likewise `to_left`.

elementclass LossFunction { $probability |
    input -> sample :: RandomSample(DROP $probability) -> output;
}
