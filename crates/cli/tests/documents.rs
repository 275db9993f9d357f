//! The documents tell the truth: what they name exists, and the generated one is up to date.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All source texts of all crates.
fn sources() -> String {
    let mut text = String::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder exists") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                text += &std::fs::read_to_string(path).expect("a source is text");
            }
        }
    }
    text
}

#[test]
fn every_path_and_symbol_in_architecture_exists() {
    let text = read("ARCHITECTURE.md");
    let sources = sources();
    let mut n = 0;
    for code in text.split('`').skip(1).step_by(2) {
        n += 1;
        if code.contains('/') {
            assert!(root().join(code).exists(), "ARCHITECTURE.md names `{code}`, which does not exist");
        } else if code.chars().all(|c| c.is_ascii_alphanumeric() || "_:".contains(c)) {
            let symbol = code.rsplit("::").next().expect("there is a last part");
            let folder = root().join("crates").join(symbol).exists();
            assert!(
                folder || sources.contains(symbol),
                "ARCHITECTURE.md names `{code}`, which no source does"
            );
        }
    }
    assert!(n > 40, "only {n} names were found");
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut n = 0;
    for folder in ["", "docs", "docs/middleboxes", "captures"] {
        for entry in std::fs::read_dir(root().join(folder)).expect("the folder exists") {
            let path = entry.expect("the folder can be read").path();
            if path.extension().is_some_and(|ending| ending == "md") && !path.ends_with("elements.md") {
                let text = std::fs::read_to_string(&path).expect("a document is text");
                for link in
                    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
                {
                    let file = link.split('#').next().unwrap_or("");
                    let there = file.is_empty() || root().join(folder).join(file).exists();
                    assert!(link.contains("://") || there, "{} links to {link}", path.display());
                    n += 1;
                }
            }
        }
    }
    assert!(n > 10, "only {n} links were found");
}

/// Lines of shell in a document that work on the bundled captures and write a file in /tmp.
fn pipelines(document: &str) -> Vec<String> {
    let text = read(document);
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split_once("\n```"));
    let lines = blocks.flat_map(|(block, _)| block.lines());
    let is_run = |line: &&str| !line.contains(" --explain ") && !line.contains(" --dot ");
    let is_whole = |line: &&str| line.contains("captures/") && line.contains(" /tmp/");
    lines.filter(is_whole).filter(is_run).map(str::to_string).collect()
}

#[test]
fn pipelines_in_documents_write_packets() {
    const EMPTY: u64 = 24;
    let folder = std::env::temp_dir().join(format!("weir-documents-{}", std::process::id()));
    let weir = Path::new(env!("CARGO_BIN_EXE_weir")).parent().expect("it is in a folder");
    let path = format!("{}:{}", weir.display(), std::env::var("PATH").unwrap_or_default());
    let mut n = 0;
    for document in ["README.md", "docs/stages.md", "docs/chain.md"] {
        for line in pipelines(document) {
            std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
            let line = line.replace(" /tmp/", &format!(" {}/", folder.display()));
            let mut shell = std::process::Command::new("bash");
            shell.args(["-o", "pipefail", "-c", &line]).current_dir(root()).env("PATH", &path);
            let output = shell.output().expect("the shell runs");
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{document}: {line}\n{told}");
            for file in std::fs::read_dir(&folder).expect("the folder is there") {
                let file = file.expect("it can be read");
                let len = file.metadata().expect("it is a file").len();
                assert!(len > EMPTY, "{document}: {line}\nwrote no packet to {:?}\n{told}", file.file_name());
                n += 1;
            }
            std::fs::remove_dir_all(&folder).expect("it is ours");
        }
    }
    assert!(n >= 6, "only {n} files were written");
}

#[test]
fn the_element_reference_is_up_to_date() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_weir")).arg("reference").output();
    let output = output.expect("the command runs");
    let generated = String::from_utf8(output.stdout).expect("the reference is text");
    let same = generated == read("docs/elements.md");
    assert!(same, "docs/elements.md is stale: run `cargo run --release -- reference > docs/elements.md`");
}

/// The examples of a class's page.
fn examples(page: &str) -> impl Iterator<Item = &str> {
    page.split("```click\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0))
}

#[test]
fn examples_of_classes_are_right() {
    let mut n = 0;
    for (_, classes) in catalog::stock().folders() {
        for class in classes.iter() {
            for example in examples(class.facts.page) {
                let weir = std::process::Command::new(env!("CARGO_BIN_EXE_weir"))
                    .args(["check", "-e", example])
                    .output()
                    .expect("the command runs");
                let told = String::from_utf8_lossy(&weir.stderr);
                // Files that an example names are the reader's.
                let is_right = weir.status.success() || told.ends_with("No such file or directory\n");
                assert!(is_right, "{}:\n{example}\n{told}", class.facts.name);
                n += 1;
            }
        }
    }
    assert!(n > 300, "only {n} examples were found");
}

#[test]
fn every_class_is_documented() {
    for (folder, classes) in catalog::stock().folders() {
        for class in classes.iter() {
            let name = class.facts.name;
            let first = class.facts.page.lines().next().unwrap_or("");
            assert!(first.ends_with('.') && first.len() > 10, "{folder}/{name}: `{first}` is no sentence");
            for arg in class.facts.args {
                assert!(arg.doc.ends_with('.') && !arg.ty.is_empty(), "{name}: {} is undocumented", arg.name);
            }
            for handler in class.facts.handlers {
                assert!(handler.doc.ends_with('.'), "{name}: handler {} is undocumented", handler.name);
            }
            for (refusing, _) in class.refusals {
                let is_own = |own: &graph::Handler| own.name == *refusing && own.kind.is_writable();
                let is_there = class.live && *refusing == "config" || class.facts.handlers.iter().any(is_own);
                assert!(
                    is_there,
                    "{name}: {refusing}, whose writes fail so, is no handler that can be written"
                );
            }
            for drop in class.facts.drops {
                assert!(drop.doc.ends_with('.'), "{name}: drop {} is undocumented", drop.name);
                let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
                assert!(drop.name.bytes().all(is_plain), "{name}: drop `{}`: use small-letters", drop.name);
            }
        }
    }
}

#[test]
fn class_names_are_unique() {
    let folders = catalog::stock().folders().iter();
    let mut names: Vec<&str> =
        folders.flat_map(|(_, classes)| classes.iter()).map(|class| class.facts.name).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(twice, None);
}
