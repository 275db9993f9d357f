//! The configuration on disk: a whole one, and the changes since.
//!
//! `running.json` is a line that tells format, number and checksum, then the configuration. It is written beside and renamed.
//! `journal` has a line for each transaction: checksum, number, changes. It is on disk before the transaction is acknowledged. What a
//! kill leaves of a line does not match its checksum and was never acknowledged.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::beside::put_file;
use crate::edit::{Edit, Op};
use crate::fault::Fault;
use crate::path::Step;
use crate::tree::{Position, Tree};

/// The format's version.
const FORMAT: u32 = 1;
/// The journal is made short when it is longer than this, in bytes, and than the configuration itself.
const MAX_JOURNAL: u64 = 1 << 20;

/// A folder that holds a configuration.
pub struct Journal {
    folder: PathBuf,
    file: File,
    len: u64,
    whole_len: u64,
    sequence: u64,
}

/// What a folder held: a configuration, and the changes since.
pub struct Found {
    /// The configuration.
    pub tree: Value,
    /// The changes.
    pub edits: Vec<Edit>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    format: u32,
    sequence: u64,
    crc32: u32,
}

/// A change as it is written.
#[derive(Serialize, Deserialize)]
struct Line {
    op: String,
    path: Vec<(Option<String>, String, Option<Vec<String>>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<(String, Vec<String>)>,
}

impl Journal {
    /// Opens a folder, which is made if it is not there, for this process alone.
    pub fn open(folder: &Path) -> Result<(Journal, Found), Fault> {
        let failed =
            |path: &Path, error: std::io::Error| Fault::broken(format!("{}: {error}", path.display()));
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let path = folder.join("journal");
        let mut options = OpenOptions::new();
        let file =
            options.read(true).append(true).create(true).open(&path).map_err(|error| failed(&path, error))?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Fault::in_use(format!("{}: another daemon uses this folder", folder.display())));
            }
            Err(error) => return Err(failed(&path, error.into())),
        }
        let (tree, mut sequence, whole_len) = read_whole(&folder.join("running.json"))?;
        let (edits, len) = read_lines(&file, &mut sequence).map_err(|error| failed(&path, error))?;
        // What was left of a line that was never acknowledged goes.
        file.set_len(len).map_err(|error| failed(&path, error))?;
        let journal = Journal { folder: folder.to_path_buf(), file, len, whole_len, sequence };
        Ok((journal, Found { tree, edits }))
    }

    /// The number of the last transaction.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Writes a transaction, after which the configuration is `tree`.
    pub fn write(&mut self, edits: &[Edit], tree: &Tree) -> Result<(), Fault> {
        let lines: Vec<Line> = edits.iter().map(line_of).collect();
        let body = serde_json::to_string(&(self.sequence + 1, lines))
            .map_err(|error| Fault::broken(error.to_string()))?;
        let text = format!("{:08x} {body}\n", crc32fast::hash(body.as_bytes()));
        let failed = |error: std::io::Error| {
            Fault::broken(format!("{}: {error}", self.folder.join("journal").display()))
        };
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Whatever part of it was written must not be taken for the change later.
            self.file.set_len(self.len).map_err(failed)?;
            return Err(failed(error));
        }
        self.len += text.len() as u64;
        self.sequence += 1;
        if self.len > MAX_JOURNAL.max(self.whole_len) {
            // The change is on disk: a journal that stays long harms nobody.
            if let Err(fault) = self.shorten(&tree.0) {
                tracing::warn!(target: "weir", "the journal cannot be made short: {}", fault.message);
            }
        }
        Ok(())
    }

    /// Writes the whole configuration, so that the journal can begin anew.
    pub fn shorten(&mut self, tree: &Value) -> Result<(), Fault> {
        let failed = |error: std::io::Error| Fault::broken(format!("{}: {error}", self.folder.display()));
        self.whole_len =
            write_whole(&self.folder.join("running.json"), tree, self.sequence).map_err(failed)?;
        self.file.set_len(0).and_then(|()| self.file.sync_data()).map_err(failed)?;
        self.len = 0;
        Ok(())
    }
}

/// Writes a configuration; its length in bytes.
pub fn write_whole(path: &Path, tree: &Value, sequence: u64) -> std::io::Result<u64> {
    let body = serde_json::to_string_pretty(tree)? + "\n";
    let head = Head { format: FORMAT, sequence, crc32: crc32fast::hash(body.as_bytes()) };
    let text = format!("{}\n{body}", serde_json::to_string(&head)?);
    put_file(path, text.as_bytes())?;
    Ok(text.len() as u64)
}

/// Reads a configuration: its value, its number, and its length in bytes.
pub fn read_whole(path: &Path) -> Result<(Value, u64, u64), Fault> {
    let broken = |what: &str| {
        let path = path.display();
        Fault::broken(format!(
            "{path}: {what}; restore the file from a copy, or remove it to begin without configuration"
        ))
    };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok((crate::store::nothing(), 0, 0))
        }
        Err(error) => return Err(Fault::broken(format!("{}: {error}", path.display()))),
    };
    let (head, body) = text.split_once('\n').ok_or_else(|| broken("its first line is missing"))?;
    let head: Head = serde_json::from_str(head).map_err(|_| broken("its first line cannot be read"))?;
    if head.format > FORMAT {
        return Err(broken(&format!("its format {} is newer than this weir", head.format)));
    }
    if crc32fast::hash(body.as_bytes()) != head.crc32 {
        return Err(broken("its checksum is wrong: it was changed or damaged"));
    }
    let tree = serde_json::from_str(body).map_err(|_| broken("it is no JSON"))?;
    Ok((tree, head.sequence, text.len() as u64))
}

/// The transactions behind `sequence` that are whole, and how many bytes of the file are.
fn read_lines(file: &File, sequence: &mut u64) -> std::io::Result<(Vec<Edit>, u64)> {
    let mut reader = BufReader::new(file);
    reader.rewind()?;
    let (mut edits, mut len, mut line) = (Vec::new(), 0, Vec::new());
    loop {
        line.clear();
        let n = reader.read_until(b'\n', &mut line)?;
        let Some((number, lines)) = parse_line(&line) else { break };
        if number > *sequence {
            let parsed: Option<Vec<Edit>> = lines.into_iter().map(edit_of).collect();
            let Some(parsed) = parsed else { break };
            edits.extend(parsed);
            *sequence = number;
        }
        len += n as u64;
    }
    Ok((edits, len))
}

fn parse_line(line: &[u8]) -> Option<(u64, Vec<Line>)> {
    let text = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (sum, body) = text.split_once(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    if crc32fast::hash(body.as_bytes()) != sum {
        return None;
    }
    serde_json::from_str(body).ok()
}

const OPS: [(Op, &str); 6] = [
    (Op::Create, "create"),
    (Op::Merge, "merge"),
    (Op::Replace, "replace"),
    (Op::Delete, "delete"),
    (Op::Remove, "remove"),
    (Op::Move, "move"),
];

fn line_of(edit: &Edit) -> Line {
    let op = OPS.iter().find(|(op, _)| *op == edit.op).map_or("merge", |(_, name)| name);
    let step = |step: &Step| (step.module.clone(), step.name.clone(), step.keys.clone());
    let at = edit.at.as_ref().map(|at| match at {
        Position::First => ("first".to_string(), Vec::new()),
        Position::Last => ("last".to_string(), Vec::new()),
        Position::Before(keys) => ("before".to_string(), keys.clone()),
        Position::After(keys) => ("after".to_string(), keys.clone()),
    });
    Line { op: op.to_string(), path: edit.path.iter().map(step).collect(), value: edit.value.clone(), at }
}

fn edit_of(line: Line) -> Option<Edit> {
    let (op, _) = OPS.iter().find(|(_, name)| *name == line.op)?;
    let at = match line.at {
        None => None,
        Some((word, keys)) => Some(match word.as_str() {
            "first" => Position::First,
            "last" => Position::Last,
            "before" => Position::Before(keys),
            "after" => Position::After(keys),
            _ => return None,
        }),
    };
    let step = |(module, name, keys)| Step { module, name, keys };
    Some(Edit { op: *op, path: line.path.into_iter().map(step).collect(), value: line.value, at })
}
