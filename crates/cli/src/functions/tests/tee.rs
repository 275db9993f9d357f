//! `weir tee`.

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
        expect!["tee: FILE `-`: standard output is where packets go; name a file or a pipe made by mkfifo"],
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
