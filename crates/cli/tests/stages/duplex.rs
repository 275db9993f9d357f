//! Packets both ways through a chain whose middle is replaced.

use crate::process::as_each_user;

/// Numbers of packets that come to each end, while the stage in the middle is replaced five times.
const SCRIPT: &str = r#"
WIRE='FromInterface(left) -> ToInterface(right); FromInterface(right) -> ToInterface(left);'
SOURCE='RatedSource(RATE 20000, LIMIT 30000'
# The first one ends when it has sent everything and heard everything.
weir stage -e "$SOURCE, STOP true) -> ToInterface(right);
    FromInterface(right) -> c :: Counter(COUNT_CALL 30000 stop) -> Discard;
    DriverManager(pause, pause, print >back \$(c.count))" |
  weir stage -e "$WIRE" |
  weir stage -e "FromInterface(left) -> c :: Counter -> Discard; $SOURCE) -> ToInterface(left);
    DriverManager(pause, print >forth \$(c.count))" &
middle() { weir status --json | grep '"left".*"right"' | sed 's/.*"id":\([0-9]*\).*/\1/'; }
until [ -n "$(middle)" ]; do :; done
for i in 1 2 3 4 5; do weir replace "$(middle | head -n 1)" stage -e "$WIRE" >/dev/null 2>replace.log || exit 1; done
wait
cat back forth
"#;

#[test]
fn nothing_is_lost_either_way_while_the_middle_is_replaced() {
    as_each_user(|place| {
        let counts = place.output(SCRIPT);
        let counts: Vec<&str> = counts.split_whitespace().collect();
        assert_eq!(counts, ["30000", "30000"], "{:?}", place.read("replace.log"));
    });
}
