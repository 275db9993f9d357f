//! `weir tee`: a copy to the side.

use std::fmt::Write;

use super::leaf::{Leaf, Place, Type};
use super::side::{self, DIRECTION};
use super::values::{wrong, Values};
use super::{Example, Function};

/// The function.
pub const FUNCTION: Function = Function {
    name: "tee",
    source: include_str!("../../../../functions/tee/tee.click"),
    parts: &[],
    leaves: &[
        Leaf::new("file", Type::File, "Where to copy packets to: a file, or a named pipe.").place(Place::Word),
        Leaf::new("snaplen", Type::Unsigned { min: 0, max: 262_144 }, "Most bytes to copy of a packet; 0: all.")
            .default("0")
            .short('s'),
        DIRECTION,
    ],
    examples: &[
        Example {
            line: "weir read lan.pcap | weir tee copy.pcap | weir filter arp | weir write arp.pcap",
            purpose: "Keep what went into a filter",
        },
        Example {
            line: "mkfifo side; tcpdump -nr side > seen.txt & weir read lan.pcap | weir tee --right side | weir write out.pcap",
            purpose: "Watch with tcpdump what goes to the right",
        },
    ],
    holds: None,
    graph,
};

fn graph(values: &Values) -> Result<String, String> {
    let file = values.need("file")?;
    if file == "-" {
        let message = "standard output is where packets go; name a file or a pipe made by mkfifo";
        return Err(wrong("FILE", file, message));
    }
    let (file, snaplen) = (args::quote(file), values.need("snaplen")?);
    let mut text = format!("copy :: TeeFunction({file}, {snaplen});\n");
    text += &side::each_way(values, "Tee")?;
    for direction in side::directions(values)?.iter().filter(|direction| direction.is_chosen) {
        let _ = writeln!(text, "to_{}[1] -> copy;", direction.to);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{fails, run, Scratch, UDP};
    use expect_test::expect;

    fn n_records(path: &str) -> usize {
        let mut reader = interfaces::capture::Reader::open(path).unwrap();
        std::iter::from_fn(|| reader.next_record().unwrap().map(drop)).count()
    }

    #[test]
    fn both_directions_or_one_are_copied() {
        let scratch = Scratch::new();
        for (flags, n) in [(&[][..], 3), (&["--right"], 2), (&["--direction", "left"], 1)] {
            let path = scratch.path("a b$c.pcap");
            let words = [&["tee", path.as_str()], flags].concat();
            let told = run(&words, &[UDP, UDP], &[UDP], &[]);
            assert_eq!((n_records(&path), told.lines().count()), (n, 3), "{told}");
        }
    }

    #[test]
    fn standard_output_is_no_place_for_a_copy() {
        fails(
            &["tee", "-"],
            expect![
                "tee: FILE `-`: standard output is where packets go; name a file or a pipe made by mkfifo"
            ],
        );
        fails(
            &["tee"],
            expect![[r#"
            error: the following required arguments were not provided:
              <FILE>

            Usage: weir tee <FILE>

            For more information, try '--help'.
        "#]],
        );
    }
}
