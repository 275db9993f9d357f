//! `weir delay`: latency and jitter.

use super::leaf::{time, Leaf, Place, Type};
use super::side::{self, DIRECTION};
use super::values::{wrong, Values};
use super::{Example, Function};

/// Beyond this a packet's delay would be of no use, and jitter is drawn from 32 bits.
const MAX_S: i64 = 1000;

/// The function.
pub const FUNCTION: Function = Function {
    name: "delay",
    source: include_str!("../../../../functions/delay/delay.click"),
    parts: &[],
    leaves: &[
        Leaf::new("time", Type::Own("TIME", check), "How long to hold a packet.").place(Place::Word),
        Leaf::new("jitter", Type::Time, "How much longer or shorter than TIME, at most.")
            .default("0")
            .short('j'),
        Leaf::new(
            "queue",
            Type::Unsigned { min: 1, max: 10_000_000 },
            "Most packets that are held in a direction.",
        )
        .default("10000"),
        DIRECTION,
    ],
    examples: &[
        Example {
            line: "weir read lan.pcap | weir delay 20ms --jitter 5ms | weir write out.pcap",
            purpose: "A path of 20 ms each way, give or take 5",
        },
        Example {
            line: "weir read lan.pcap | weir delay 300ms --right | weir write out.pcap",
            purpose: "A slow way to the right only",
        },
    ],
    holds: Some(holds),
    graph,
};

fn check(text: &str) -> Result<(), String> {
    match time(text)?.sec() < MAX_S {
        true => Ok(()),
        false => Err(format!("expected a time below {MAX_S} s")),
    }
}

/// The longest that a packet is held.
fn holds(values: &Values) -> f64 {
    let seconds = |name| values.parse(name, time).map_or(0.0, |time| time.as_secs_f64());
    seconds("time") + seconds("jitter")
}

fn graph(values: &Values) -> Result<String, String> {
    let (delay, jitter) = (values.parse("time", time)?, values.parse("jitter", time)?);
    if jitter > delay {
        let message =
            format!("a packet cannot leave before it came; the delay is {}", delay.unparse_interval());
        return Err(wrong("--jitter", values.need("jitter")?, &message));
    }
    let (least, spread) = (delay.as_nanos() - jitter.as_nanos(), jitter.as_nanos() * 2);
    let queue = values.need("queue")?;
    side::each_way(values, &format!("DelayFunction({least}ns, {spread}ns, {queue})"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, fails, UDP};
    use expect_test::expect;

    #[test]
    fn packets_are_held_for_the_time() {
        check(
            &["delay", "20ms"],
            &[UDP, UDP],
            &[UDP],
            &["to_right/line.delay"],
            expect![[r#"
            to_right/line.delay: 20ms
            to right at 20.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 20.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 21.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
        );
    }

    #[test]
    fn jitter_varies_the_time() {
        check(
            &["delay", "20ms", "--jitter", "10ms", "--right"],
            &[UDP, UDP, UDP, UDP],
            &[UDP],
            &[],
            expect![[r#"
                to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
                to right at 26.8 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
                to right at 26.8 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
                to right at 27.7 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
                to right at 29.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            "#]],
        );
    }

    #[test]
    fn times_that_cannot_be_are_refused() {
        fails(
            &["delay", "soon"],
            expect![[r#"
            error: invalid value 'soon' for '<TIME>': expected a time such as 20ms, 1.5s or 2min

            For more information, try '--help'.
        "#]],
        );
        fails(
            &["delay", "1000"],
            expect![[r#"
            error: invalid value '1000' for '<TIME>': expected a time below 1000 s

            For more information, try '--help'.
        "#]],
        );
        fails(
            &["delay", "1ms", "--jitter", "2ms"],
            expect!["delay: --jitter `2ms`: a packet cannot leave before it came; the delay is 1ms"],
        );
    }
}
