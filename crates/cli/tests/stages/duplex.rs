//! Packets both ways through a chain whose middle is replaced.

use crate::process::as_each_user;

/// Numbers of packets that come to each end, at a `PACE` while `CHANGES` are made.
const SCRIPT: &str = r#"
WIRE='FromInterface(left) -> ToInterface(right); FromInterface(right) -> ToInterface(left);'
SOURCE='RatedSource(RATE PACE, LIMIT 30000'
# The first one ends when it has sent everything and heard everything.
weir stage -e "$SOURCE, STOP true) -> ToInterface(right);
    FromInterface(right) -> c :: Counter(COUNT_CALL 30000 stop) -> Discard;
    DriverManager(pause, pause, print >back \$(c.count))" |
  weir stage -e "$WIRE" |
  weir stage -e "FromInterface(left) -> c :: Counter -> Discard; $SOURCE) -> ToInterface(left);
    DriverManager(pause, print >forth \$(c.count))" &
middle() { weir status --json | grep '"left".*"right"' | sed 's/.*"id":\([0-9]*\).*/\1/'; }
until [ -n "$(middle)" ]; do :; done
CHANGES
wait
cat back forth
"#;

/// Five times another stage in the middle.
const REPLACE: &str = r#"for i in 1 2 3 4 5; do
    weir replace "$(middle | head -n 1)" stage -e "$WIRE" >/dev/null 2>changes.log || exit 1
done"#;

/// Commands that are killed at about the moment when the new stage takes its place, which is found by trying.
const KILLED: &str = r#"d=25 n=1
for i in $(seq 50); do
    weir insert --after "$(middle | head -n 1)" stage -e "$WIRE" >/dev/null 2>>changes.log &
    sleep "$(printf 0.%03d $d)"
    kill -9 $! 2>/dev/null
    before=$n n=$(middle | wc -l)
    if [ "$n" -gt "$before" ]; then d=$((d - 1)); else d=$((d + 1)); fi
done"#;

fn check(changes: &str, pace: &str) {
    as_each_user(|place| {
        let counts = place.output(&SCRIPT.replace("CHANGES", changes).replace("PACE", pace));
        let counts: Vec<&str> = counts.split_whitespace().collect();
        assert_eq!(counts, ["30000", "30000"], "{:?}", place.read("changes.log"));
    });
}

#[test]
fn nothing_is_lost_either_way_while_the_middle_is_replaced() {
    check(REPLACE, "20000");
}

#[test]
fn a_command_that_is_killed_leaves_both_ways_as_they_were_or_as_it_wanted_them() {
    check(KILLED, "5000");
}
