//! `weir bench` as a user runs it; no test asserts a time.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const WEIR: &str = env!("CARGO_BIN_EXE_weir");
/// Most memory that a graph of ten elements has resident at its first packet. The aim for a release build is 6 MiB; a
/// debug build has larger code. A pool or a table that were touched as a whole would come to far more.
const MOST_RESIDENT_KIB: f64 = 16.0 * 1024.0;
/// Most of that which no file of the disk is behind.
const MOST_OWN_KIB: f64 = 2.0 * 1024.0;

fn benches() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches")
}

fn bench(args: &[&str]) -> Output {
    Command::new(WEIR).arg("bench").args(args).current_dir(benches()).output().expect("the command runs")
}

fn refused(code: i32, args: &[&str]) -> String {
    let output = bench(args);
    assert_eq!(output.status.code(), Some(code), "{args:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn graphs_are_measured_beside_other_commands() {
    let folder = std::env::temp_dir().join(format!("weir-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    let page = folder.join("page.md");
    let other = |name: &str| format!("{name}={WEIR} click");
    let args = ["a0_source_discard.click", "c0_mirror.click", "--rounds", "2", "--warm", "0.01"];
    let rivals = [other("one"), other("two")];
    let page_arg = page.to_string_lossy();
    let more =
        ["--duration", "0.02", "--json", "--vs", &rivals[0], "--vs", &rivals[1], "--markdown", &page_arg];
    let output = bench(&[&args[..], &more[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    for (row, graph) in
        report["rows"].as_array().expect("there are rows").iter().zip(["a0_source_discard", "c0_mirror"])
    {
        assert_eq!(row["graph"], graph);
        for (figure, name) in
            row["figures"].as_array().expect("there are figures").iter().zip(["weir", "one", "two"])
        {
            assert_eq!(
                (figure["command"].as_str(), figure["runs"].as_array().map(Vec::len)),
                (Some(name), Some(2))
            );
            assert!(figure["ns_per_packet"].as_f64().is_some_and(|ns| ns > 0.0), "{figure}");
        }
        let ratios = [1, 2].map(|i| row["figures"][i]["ratio"].as_f64().expect("rivals have a ratio"));
        assert_eq!(row["ratio_to_best"].as_f64(), Some(ratios[0].min(ratios[1])));
    }
    assert_eq!(report["conclusions"].as_array().map(Vec::len), Some(4));
    let text = std::fs::read_to_string(&page).expect("the page was written");
    for part in
        ["# Speed", "- commit: ", "- machine: ", "| graph | Mpps |", "| c0_mirror | ", "geometric mean"]
    {
        assert!(text.contains(part), "{text}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
}

#[test]
fn what_cannot_be_measured_is_named() {
    assert_eq!(refused(1, &["nope.click"]), "weir: nope.click: No such file or directory\n");
    let message =
        "weir: --vs: there is no command `no-such-command`; give its path, or add its folder to PATH\n";
    assert_eq!(refused(2, &["c0_mirror.click", "--vs", "no-such-command"]), message);
    assert!(refused(2, &["--vs", ""]).contains("the command is empty"));
    let many = refused(2, &["c0_mirror.click", "--cores", "1024"]);
    assert!(many.starts_with("weir: --cores 1024: this process may use "), "{many}");
    let twice = refused(2, &["c0_mirror.click", "--vs", WEIR]);
    assert!(twice.contains("two commands are called `weir`"), "{twice}");
    let silent = refused(
        1,
        &["c0_mirror.click", "--vs", "true", "--rounds", "1", "--warm", "0.01", "--duration", "0.01"],
    );
    assert!(silent.contains("true printed no `B count now`"), "{silent}");
    assert!(silent.ends_with("weir: --vs: true could run none of the graphs\n"), "{silent}");
}

#[test]
fn figures_that_measure_nothing_are_wrong_command_lines() {
    for (args, due) in [
        (["--rounds", "0"], "'0' for '--rounds <N>': expected a number, at least 1"),
        (["--changes", "0"], "'0' for '--changes <N>': expected a number, at least 1"),
        (["--duration", "0"], "'0' for '--duration <SECONDS>': expected seconds, more than 0"),
        (["--burst", "0"], "invalid value '0' for '--burst <N>': 0 is not in 1..=256"),
        (["--warm", "inf"], "'inf' for '--warm <SECONDS>': expected seconds, 0 or more"),
        (["--cpu", "100000"], "'100000' for '--cpu <N>': this process may use the processors "),
    ] {
        let output = bench(&args);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(due), "{told}");
    }
}

#[test]
fn graphs_are_measured_with_bursts_that_they_do_not_give() {
    let args =
        ["p1_two_sources.click", "--rounds", "1", "--warm", "0.01", "--duration", "0.02", "--burst", "32"];
    let output = bench(&args);
    let (table, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && table.contains("\np1_two_sources "), "{table}{told}");
}

#[test]
fn what_another_command_cannot_run_is_left_out() {
    let folder = std::env::temp_dir().join(format!("weir-bench-able-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    let rival = folder.join("rival");
    let script =
        format!("#!/bin/sh\ncase $1 in c0*) echo 'no such class' >&2;; *) exec {WEIR} click \"$@\";; esac\n");
    std::fs::write(&rival, script).expect("the file can be written");
    std::fs::set_permissions(&rival, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("it is ours");
    let rival = rival.to_string_lossy();
    let args =
        ["a0_source_discard.click", "c0_mirror.click", "--rounds", "2", "--warm", "0.01", "--duration"];
    let output = bench(&[&args[..], &["0.02", "--vs", &rival]].concat());
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    let (table, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}");
    let expected = "weir: c0_mirror.click: rival printed no `B count now` and `E count now`\nno such class\n";
    assert_eq!(told, expected);
    let row = table.lines().find(|line| line.starts_with("c0_mirror")).expect("the graph has a row");
    assert!(row.ends_with("  -           -           -"), "{table}");
    assert!(table.ends_with("as fast as rival in the geometric mean of 1 of 2 graphs\n"), "{table}");
}

#[test]
fn a_small_graph_starts_with_little_memory() {
    let output = bench(&["--startup", "--rounds", "1", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    let resident = report["rows"][0]["resident_kib"].as_f64().expect("memory is told");
    assert!((1.0..MOST_RESIDENT_KIB).contains(&resident), "{resident} KiB are resident");
    let own = report["rows"][0]["own_kib"].as_f64().expect("its own memory is told");
    assert!((1.0..MOST_OWN_KIB).contains(&own), "{own} KiB are its own");
    assert!(report["rows"][0]["first_packet_ms"].as_f64().is_some_and(|ms| ms > 0.0));
}
