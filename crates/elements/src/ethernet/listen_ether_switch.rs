//! A learning Ethernet switch with an output that gets every frame.
//!
//! It has one output more than it has inputs; it gets a copy of each frame, and otherwise belongs to no network. All else is as
//! in `EtherSwitch`.
//!
//! ```click
//! switch :: ListenEtherSwitch;
//! FromDump(a.pcap) -> [0]switch[0] -> Discard;
//! FromDump(b.pcap) -> [1]switch[1] -> Discard;
//! switch[2] -> ToDump(all.pcap);
//! ```

use element::Class;

use super::ether_switch::{Switch, ARGS, HANDLERS};

/// The class.
pub const CLASS: Class =
    Class::new::<Switch<true>>("ListenEtherSwitch", "-/=+", "h/h", "#/[^#]").args(ARGS).handlers(HANDLERS);

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::{expect, Expect};

    /// Sends frames, given as port, destination and source, through a switch of two networks.
    fn through(timeout: u32, frames: &[(usize, &str, &str)], expect: Expect) {
        let mut config =
            format!("s :: ListenEtherSwitch(TIMEOUT {timeout}); s[2] -> Print(all, 14) -> Discard;\n");
        for port in 0..2 {
            config += &format!("i{port} :: Null -> [{port}]s; s[{port}] -> Print({port}, 14) -> Discard;\n");
        }
        for (i, (port, destination, source)) in frames.iter().enumerate() {
            config +=
                &format!("InfiniteSource(DATA \\<{destination}{source}{i:04x}>, LIMIT 1) -> i{port};\n");
        }
        check_reading(&config, &["s.table", "s.timeout"], expect);
    }

    const A: &str = "02000000000a";
    const B: &str = "02000000000b";

    #[test]
    fn the_last_output_gets_every_frame() {
        through(
            300,
            &[(0, B, A), (1, A, B), (0, A, A), (0, "ffffffffffff", A)],
            expect![[r#"
            all:   14 | 02000000 000b0200 0000000a 0000
            1:   14 | 02000000 000b0200 0000000a 0000
            all:   14 | 02000000 000a0200 0000000b 0001
            0:   14 | 02000000 000a0200 0000000b 0001
            all:   14 | 02000000 000a0200 0000000a 0002
            all:   14 | ffffffff ffff0200 0000000a 0003
            1:   14 | ffffffff ffff0200 0000000a 0003
            s.table: 02-00-00-00-00-0A 0
            02-00-00-00-00-0B 1

            s.timeout: 300
        "#]],
        );
    }

    #[test]
    fn without_a_timeout_nothing_is_learned() {
        through(
            0,
            &[(0, B, A), (1, A, B)],
            expect![[r#"
            all:   14 | 02000000 000b0200 0000000a 0000
            1:   14 | 02000000 000b0200 0000000a 0000
            all:   14 | 02000000 000a0200 0000000b 0001
            0:   14 | 02000000 000a0200 0000000b 0001
            s.table: 
            s.timeout: 0
        "#]],
        );
    }

    #[test]
    fn batches_are_sorted() {
        check(
            "s :: ListenEtherSwitch; Idle -> [1]s;
             FromIPSummaryDump(DATA \"!data eth_dst eth_src\n2-0-0-0-0-a 2-0-0-0-0-b\n2-0-0-0-0-c 2-0-0-0-0-a\n2-0-0-0-0-b 2-0-0-0-0-a\", STOP true)
             -> Queue -> Unqueue(BURST 8) -> [0]s; s[0] -> Print(0, 14) -> Discard; s[1] -> Print(1, 14) -> Discard; s[2] -> Print(all, 14) -> Discard;",
            expect![[r#"
                all:   14 | 02000000 000a0200 0000000b 0800
                1:   14 | 02000000 000a0200 0000000b 0800
                all:   14 | 02000000 000c0200 0000000a 0800
                1:   14 | 02000000 000c0200 0000000a 0800
                all:   14 | 02000000 000b0200 0000000a 0800
            "#]],
        );
    }
}
