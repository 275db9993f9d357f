//! `weir hex`: a hex dump for text2pcap.

use super::leaf::{Leaf, Type};
use super::side::{self, DIRECTION};
use super::values::{wrong, Values};
use super::{Example, Function};

/// The function.
pub const FUNCTION: Function = Function {
    name: "hex",
    source: include_str!("../../../../functions/hex/hex.click"),
    parts: &[],
    leaves: &[
        Leaf::new("out", Type::File, "The file to write; without it, standard error is written to.")
            .short('o'),
        Leaf::new(
            "max-length",
            Type::Unsigned { min: 0, max: 262_144 },
            "Most bytes to write of a packet; 0: all.",
        )
        .default("0"),
        DIRECTION,
    ],
    examples: &[
        Example {
            line: "weir read lan.pcap | weir hex --out packets.txt | weir write out.pcap",
            purpose: "Write all packets as text",
        },
        Example {
            line: "weir read lan.pcap | weir hex --max-length 64 2> packets.txt | weir write out.pcap",
            purpose: "The same on standard error, 64 bytes of each",
        },
    ],
    holds: None,
    graph,
};

fn graph(values: &Values) -> Result<String, String> {
    let file = match values.get("out") {
        Some("-") => {
            let message = "standard output is where packets go; name a file, or leave --out away";
            return Err(wrong("--out", "-", message));
        }
        Some(file) => format!(", FILENAME {}", args::quote(file)),
        None => String::new(),
    };
    let most = values.need("max-length")?;
    let mut text = format!("dump :: HexFunction({most}{file});\n");
    for (i, direction) in side::directions(values)?.iter().enumerate() {
        let between = if direction.is_chosen { format!("[{i}] dump [{i}] -> ") } else { String::new() };
        text += &format!("FromInterface({}) -> {between}ToInterface({});\n", direction.from, direction.to);
        if !direction.is_chosen {
            text += &format!("Idle -> [{i}] dump [{i}] -> Discard;\n");
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, fails, Scratch, UDP};
    use expect_test::expect;

    #[test]
    fn both_directions_are_written() {
        let scratch = Scratch::new();
        let path = scratch.path("out.txt");
        check(
            &["hex", "--out", &path],
            &[UDP],
            &["RAW(88cc 0102)"],
            &["dump/file.count"],
            expect![[r#"
            dump/file.count: 2
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 type 88cc, 2 bytes
        "#]],
        );
        expect![[r#"
            O 2001-09-09T01:46:40.000000000 len=46
            000000 02 00 00 00 00 02 02 00 00 00 00 01 08 00 45 00
            000010 00 20 00 07 00 00 40 11 66 c4 0a 00 00 01 0a 00
            000020 00 02 03 e8 00 35 00 0c 3d 0c 55 55 55 55

            I 2001-09-09T01:46:40.000500000 len=16
            000000 02 00 00 00 00 02 02 00 00 00 00 01 88 cc 01 02

        "#]]
        .assert_eq(&std::fs::read_to_string(&path).unwrap());
        check(
            &["hex", "-o", &path, "--left"],
            &[UDP],
            &["RAW(88cc 0102)"],
            &["dump/file.count"],
            expect![[r#"
            dump/file.count: 1
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 type 88cc, 2 bytes
        "#]],
        );
    }

    #[test]
    fn standard_output_is_no_place_for_a_dump() {
        fails(
            &["hex", "--out", "-"],
            expect!["hex: --out `-`: standard output is where packets go; name a file, or leave --out away"],
        );
    }
}
