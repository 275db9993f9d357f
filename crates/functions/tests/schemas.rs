//! The schemas are right for other programs, too.

use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../functions")
}

/// The files of all schemas, shipped or not.
fn schemas() -> Vec<PathBuf> {
    let of_folder = |path: &Path| {
        let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        entries.collect::<Vec<PathBuf>>()
    };
    let top = of_folder(&folder());
    let below = top.iter().filter(|path| path.is_dir()).flat_map(|path| of_folder(path));
    let mut all: Vec<PathBuf> = below.chain(top.iter().cloned()).collect();
    all.retain(|path| path.extension().is_some_and(|ending| ending == "yang"));
    all
}

/// `scripts/setup` installs yanglint.
#[test]
fn yanglint_finds_nothing_wrong() {
    let all = schemas();
    assert!(all.len() > functions::Package::shipped_names().count(), "only {all:?} were found");
    for path in all {
        let output = Command::new("yanglint").arg("-p").arg(folder()).arg(&path).output();
        let output = output.expect("yanglint is installed: scripts/setup does that");
        let told = [output.stdout, output.stderr].concat();
        assert!(
            output.status.success() && told.is_empty(),
            "{}: {}",
            path.display(),
            String::from_utf8_lossy(&told)
        );
    }
}

#[test]
fn every_node_has_a_sentence() {
    fn check(node: &yang::Node, path: &str) {
        let path = format!("{path}/{}", node.name);
        let is_part = matches!(node.kind, yang::Kind::Input | yang::Kind::Output);
        assert!(is_part || node.description.ends_with('.'), "{path}: `{}`", node.description);
        for child in &node.children {
            check(child, &path);
        }
    }
    for function in functions::Functions::shipped().iter() {
        check(function.node, "");
    }
}

/// Commands are found without compiling schemas.
#[test]
fn the_text_of_a_schema_names_its_command_as_the_schema_does() {
    let functions = functions::Functions::shipped();
    for (command, name) in functions::Package::shipped_commands() {
        assert_eq!(
            functions.get(name).and_then(|function| function.node.extension("command")),
            Some(command)
        );
    }
    let with_command = functions.iter().filter(|function| function.node.has("command")).count();
    assert_eq!(with_command, functions::Package::shipped_commands().count());
}
