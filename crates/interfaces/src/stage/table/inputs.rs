//! The files that a stage reads, none of which may be written: it would be emptied before it is read. Nor may what is standard output,
//! where its packets go.

use std::fs::{File, Metadata};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{table, usage, Declared, Endpoint, Source};

/// Which file it is: its device and its inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(u64, u64);

/// The files that interfaces and other elements read; found out when the first of them is opened.
static READ: OnceLock<Vec<FileId>> = OnceLock::new();
/// Files that elements read, besides interfaces.
static OTHERS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Says, before anything is opened, that an element reads this file.
pub fn mark_file_read(path: &str) {
    let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
    if !others.iter().any(|known| known == path) {
        others.push(path.to_string());
    }
}

/// Whether the files that elements read are guarded though this process is no stage.
static GUARDS: AtomicBool = AtomicBool::new(false);

/// Refuses, while `begin` runs, to write files that elements read; a stage always does.
pub fn guarding_inputs<T>(begin: impl FnOnce() -> T) -> T {
    GUARDS.store(true, Ordering::Relaxed);
    let begun = begin();
    GUARDS.store(false, Ordering::Relaxed);
    begun
}

/// What standard output is called.
const STANDARD_OUTPUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Refuses to write a file that this process, as a stage or while its graph begins, reads, and standard output if packets go there.
pub fn refuse_input(path: &str) -> Result<(), String> {
    let table = table();
    if table.is_empty() && !GUARDS.load(Ordering::Relaxed) {
        return Ok(());
    }
    if STANDARD_OUTPUT.contains(&path) && table.iter().any(is_standard_output) {
        return Err(format!("{path}: standard output is where packets go; write to another file"));
    }
    note(&table);
    refuse(of_path(path), path)
}

/// Finds out which files are read.
pub(super) fn note(table: &[Declared]) {
    READ.get_or_init(|| {
        let others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
        let interfaces =
            table.iter().filter(|declared| usage::is_read(&declared.name)).filter_map(of_interface);
        interfaces.chain(others.iter().filter_map(|path| of_path(path))).collect()
    });
}

/// Refuses to write a file that is read.
pub(super) fn refuse(id: Option<FileId>, label: &str) -> Result<(), String> {
    let read = READ.get().map(Vec::as_slice).unwrap_or_default();
    match id.is_some_and(|id| read.contains(&id)) {
        true => Err(format!("{label}: input file is output file; write to another one")),
        false => Ok(()),
    }
}

/// Whether packets go to standard output by this interface.
fn is_standard_output(declared: &Declared) -> bool {
    let Source::Spec(spec, _) = &declared.source else { return false };
    spec.uses(&Endpoint::Stdout) && usage::is_written(&declared.name)
}

fn of_interface(declared: &Declared) -> Option<FileId> {
    let Source::Spec(spec, _) = &declared.source else { return None };
    match usage::directed(&declared.name, spec).ok()?.input? {
        Endpoint::Stdin => of(std::io::stdin()),
        Endpoint::File(path) => of_path(&path),
        _ => None,
    }
}

/// Which file it is that is open, if it is one.
pub(super) fn of(fd: impl AsFd) -> Option<FileId> {
    let file = File::from(fd.as_fd().try_clone_to_owned().ok()?);
    id(&file.metadata().ok()?)
}

pub(super) fn of_path(path: &str) -> Option<FileId> {
    id(&std::fs::metadata(path).ok()?)
}

fn id(facts: &Metadata) -> Option<FileId> {
    facts.is_file().then(|| FileId(facts.dev(), facts.ino()))
}
