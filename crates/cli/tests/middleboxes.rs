//! The middleboxes under `examples/` do what they did when their results were checked by hand.
//!
//! Each folder `examples/NAME/` with a folder `expected/` is copied to a temporary place, where `weir run --simtime
//! graph.click` runs with the copy as its working directory. What it prints and every file it writes must be, byte for byte,
//! what `expected/` holds: `stdout`, `stderr` unless it is empty, and the files. `UPDATE_EXPECT=1 cargo test -p cli --test
//! middleboxes` writes `expected/` anew; an empty folder `expected/` makes a new example. `WEIR_EXAMPLE=NAME` picks one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const WEIR: &str = env!("CARGO_BIN_EXE_weir");
/// Where the results to be are.
const EXPECTED: &str = "expected";

/// Contents by name; names have `/` between their parts.
type Files = BTreeMap<String, Vec<u8>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project has a root")
}

/// The examples that say what they should give.
fn examples() -> Vec<PathBuf> {
    let picked = std::env::var("WEIR_EXAMPLE").ok();
    let folders = fs::read_dir(root().join("examples")).expect("there are examples");
    let folders = folders.map(|entry| entry.expect("the folder can be read").path());
    let is_picked =
        |path: &PathBuf| picked.as_ref().is_none_or(|name| path.file_name() == Some(name.as_ref()));
    let mut examples: Vec<PathBuf> =
        folders.filter(|path| path.join(EXPECTED).is_dir()).filter(is_picked).collect();
    examples.sort();
    examples
}

/// All files in a folder and the folders in it, but those in a folder called `except`.
fn files_in(folder: &Path, except: &str) -> Files {
    let mut files = Files::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap_or_else(|error| panic!("{}: {error}", next.display())) {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                if path.file_name() != Some(except.as_ref()) {
                    open.push(path);
                }
            } else {
                let name =
                    path.strip_prefix(folder).expect("it is in the folder").to_string_lossy().into_owned();
                files.insert(
                    name,
                    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
                );
            }
        }
    }
    files
}

fn write(folder: &Path, files: &Files) {
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders can be made");
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// A copy of an example in a temporary folder, from which `../../captures` and `../../benches` lead where they should.
struct Copy {
    place: PathBuf,
    folder: PathBuf,
    given: Files,
}

impl Copy {
    fn of(example: &Path) -> Copy {
        let name = example.file_name().expect("an example has a name");
        let place = std::env::temp_dir().join(format!(
            "weir-middlebox-{}-{}",
            std::process::id(),
            name.to_string_lossy()
        ));
        let folder = place.join("examples").join(name);
        let mut given = files_in(example, EXPECTED);
        // Whoever ran the example in its folder left them.
        given.retain(|name, _| !example.join(EXPECTED).join(name).exists());
        write(&folder, &given);
        for beside in ["captures", "benches"] {
            let link = std::os::unix::fs::symlink(root().join(beside), place.join(beside));
            link.expect("a link can be made");
        }
        Copy { place, folder, given }
    }

    /// What the run prints and writes.
    fn run(&self) -> Result<Files, String> {
        let output = weir(&self.folder, &["run", "-q", "--simtime", "graph.click"]);
        if !output.status.success() {
            return Err(format!("`weir run` failed:\n{}", String::from_utf8_lossy(&output.stderr)));
        }
        let mut results = files_in(&self.folder, EXPECTED);
        results.retain(|name, bytes| self.given.get(name) != Some(bytes));
        results.insert("stdout".to_string(), output.stdout);
        if !output.stderr.is_empty() {
            results.insert("stderr".to_string(), output.stderr);
        }
        Ok(results)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What is left behind in a temporary folder does no harm.
        let _ = fs::remove_dir_all(&self.place);
    }
}

fn weir(folder: &Path, args: &[&str]) -> Output {
    Command::new(WEIR).args(args).current_dir(folder).output().expect("the command runs")
}

/// Where two files differ first: the line if both are text, else the byte.
fn first_difference(expected: &[u8], found: &[u8]) -> String {
    if let (Ok(expected), Ok(found)) = (std::str::from_utf8(expected), std::str::from_utf8(found)) {
        let (mut old, mut new) = (expected.split('\n'), found.split('\n'));
        for number in 1.. {
            match (old.next(), new.next()) {
                (Some(old), Some(new)) if old == new => {}
                (None, None) => break,
                (old, new) => {
                    let shown =
                        |line: Option<&str>| line.map_or("nothing".to_string(), |line| format!("{line:?}"));
                    return format!("line {number} should be {} and is {}", shown(old), shown(new));
                }
            }
        }
    }
    let n_same = expected.iter().zip(found).take_while(|(old, new)| old == new).count();
    let shown = |bytes: &[u8]| bytes.get(n_same).map_or("nothing".to_string(), |byte| format!("{byte:#04x}"));
    let sizes = format!("{} bytes should be there, {} are", expected.len(), found.len());
    format!("byte {n_same} should be {} and is {} ({sizes})", shown(expected), shown(found))
}

/// What differs between the results to be and those that are, a line for each file.
fn differences(expected: &Files, found: &Files) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, bytes) in expected {
        match found.get(name) {
            None => lines.push(format!("{name}: was not written")),
            Some(new) if new == bytes => {}
            Some(new) => lines.push(format!("{name}: {}", first_difference(bytes, new))),
        }
    }
    for name in found.keys().filter(|name| !expected.contains_key(*name)) {
        lines.push(format!("{name}: was written, but is not in {EXPECTED}/"));
    }
    lines
}

fn update(example: &Path, found: &Files) {
    let folder = example.join(EXPECTED);
    fs::remove_dir_all(&folder).expect("the folder can be removed");
    write(&folder, found);
}

/// What is wrong with an example.
fn mistakes(example: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for args in [&["check", "graph.click"][..], &["fmt", "--check", "graph.click"]] {
        let output = weir(example, args);
        if !output.status.success() {
            let text = [output.stdout, output.stderr].concat();
            lines.push(format!("`weir {}` says: {}", args.join(" "), String::from_utf8_lossy(&text)));
        }
    }
    match Copy::of(example).run() {
        Err(message) => lines.push(message),
        Ok(found) if std::env::var_os("UPDATE_EXPECT").is_some() => update(example, &found),
        Ok(found) => lines.extend(differences(&files_in(&example.join(EXPECTED), ""), &found)),
    }
    lines
}

#[test]
fn every_middlebox_gives_the_results_that_were_checked() {
    let examples = examples();
    assert!(!examples.is_empty(), "no folder under examples/ has a folder {EXPECTED}/");
    let mut text = String::new();
    for example in &examples {
        let name = example.file_name().unwrap_or_default().to_string_lossy().into_owned();
        text.extend(mistakes(example).iter().map(|line| format!("examples/{name}: {line}\n")));
    }
    assert!(text.is_empty(), "\n{text}If that is meant to be so, UPDATE_EXPECT=1 writes {EXPECTED}/ anew.");
}

#[test]
fn the_first_difference_is_named() {
    let check = |old: &[u8], new: &[u8], message: &str| assert_eq!(first_difference(old, new), message);
    check(b"a\nb\n", b"a\nc\n", r#"line 2 should be "b" and is "c""#);
    check(b"a\n", b"a\nc\n", r#"line 2 should be "" and is "c""#);
    check(b"a", b"a\n", r#"line 2 should be nothing and is """#);
    check(b"\xff\x01", b"\xff\x02", "byte 1 should be 0x01 and is 0x02 (2 bytes should be there, 2 are)");
    check(b"\xff", b"\xff\x02", "byte 1 should be nothing and is 0x02 (1 bytes should be there, 2 are)");
}

#[test]
fn files_that_are_missing_or_too_many_are_named() {
    let files = |names: &[&str]| names.iter().map(|name| (name.to_string(), Vec::new())).collect::<Files>();
    let lines = differences(&files(&["a", "b"]), &files(&["b", "c"]));
    assert_eq!(lines, ["a: was not written", "c: was written, but is not in expected/"]);
}
