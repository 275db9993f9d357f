//! The journal's lines: a transaction each.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::edit::{Edit, Op};
use crate::fault::Fault;
use crate::path::Step;
use crate::tree::Position;

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

/// What a journal held.
pub(super) struct Lines {
    /// The changes of the transactions that the configuration does not have yet.
    pub edits: Vec<Edit>,
    /// The number of the last transaction.
    pub sequence: u64,
    /// Bytes up to the end of the last transaction.
    pub len: u64,
    /// Bytes behind it: of a transaction that was cut off, and never acknowledged.
    pub n_cut: u64,
}

/// The line of a transaction.
pub(super) fn line(number: u64, edits: &[Edit]) -> Result<String, Fault> {
    let lines: Vec<Line> = edits.iter().map(line_of).collect();
    let body = serde_json::to_string(&(number, lines)).map_err(|error| Fault::broken(error.to_string()))?;
    Ok(format!("{:08x} {body}\n", crc32fast::hash(body.as_bytes())))
}

/// Reads all transactions behind `sequence`. Only the last line may have been cut off; whatever else is not as it was written
/// is a fault, as transactions would be missing without a word.
pub(super) fn read(file: &File, path: &Path, sequence: u64) -> Result<Lines, Fault> {
    let failed =
        |error: std::io::Error| Fault::broken(format!("{}: {}", path.display(), sys::reason(&error)));
    let mut reader = BufReader::new(file);
    reader.rewind().map_err(failed)?;
    let mut found = Lines { edits: Vec::new(), sequence, len: 0, n_cut: 0 };
    let (mut line, mut previous) = (Vec::new(), None);
    loop {
        line.clear();
        let n_bytes = reader.read_until(b'\n', &mut line).map_err(failed)? as u64;
        if n_bytes == 0 {
            return Ok(found);
        }
        let damaged = |what: String| damaged(path, found.len, &what);
        let Some(body) = body(&line) else {
            if !reader.fill_buf().map_err(failed)?.is_empty() {
                return Err(damaged("its checksum is wrong: it was changed or damaged".to_string()));
            }
            found.n_cut = n_bytes;
            return Ok(found);
        };
        let (number, lines): (u64, Vec<Line>) = serde_json::from_str(body)
            .map_err(|error| damaged(format!("this weir cannot read it ({error})")))?;
        let expected = previous.map_or(number.min(found.sequence + 1), |previous: u64| previous + 1);
        if number != expected {
            return Err(damaged(format!("it is number {number}, but number {expected} is to come")));
        }
        previous = Some(number);
        if number > found.sequence {
            let edits: Result<Vec<Edit>, String> = lines.into_iter().map(edit_of).collect();
            found.edits.extend(edits.map_err(damaged)?);
            found.sequence = number;
        }
        found.len += n_bytes;
    }
}

/// The fault of a journal with a transaction that cannot be used.
fn damaged(path: &Path, offset: u64, what: &str) -> Fault {
    let path = path.display();
    Fault::broken(format!(
        "{path}: the transaction at byte {offset}: {what}; restore `running.json` and `journal` from a copy, or go on without it \
         and all that follow it: `truncate -s {offset} {path}`"
    ))
}

/// What a line says; none if it is not as it was written.
fn body(line: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (sum, body) = text.split_once(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    (crc32fast::hash(body.as_bytes()) == sum).then_some(body)
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

/// The change that a line has; an error tells what is not known of it.
fn edit_of(line: Line) -> Result<Edit, String> {
    let unknown = |word: &str| format!("this weir does not know its change `{word}`: a newer one wrote it");
    let (op, _) = OPS.iter().find(|(_, name)| *name == line.op).ok_or_else(|| unknown(&line.op))?;
    let at = match line.at {
        None => None,
        Some((word, keys)) => Some(match word.as_str() {
            "first" => Position::First,
            "last" => Position::Last,
            "before" => Position::Before(keys),
            "after" => Position::After(keys),
            _ => return Err(unknown(&word)),
        }),
    };
    let step = |(module, name, keys)| Step { module, name, keys };
    Ok(Edit { op: *op, path: line.path.into_iter().map(step).collect(), value: line.value, at })
}
