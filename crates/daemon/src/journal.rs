//! The configuration on disk: a whole one, and the changes since.
//!
//! `running.json` is a line that tells format, number and checksum, then the configuration. It is written beside and renamed.
//! `journal` has a line for each transaction: checksum, number, changes. It is on disk before the transaction is acknowledged. What a
//! kill leaves of a line does not match its checksum and was never acknowledged.

mod lines;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::beside::put_file;
use crate::edit::Edit;
use crate::fault::Fault;
use crate::private;
use crate::tree::Tree;

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
    /// Something behind `len` could not be cut: the next transaction would have its number, or stand behind a part of it.
    is_torn: bool,
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

impl Journal {
    /// Opens a folder, which is made if it is not there, for this process alone.
    pub fn open(folder: &Path) -> Result<(Journal, Found), Fault> {
        let failed = |path: &Path, error: std::io::Error| {
            Fault::broken(format!("{}: {}", path.display(), sys::reason(&error)))
        };
        private::make_folder(folder).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                Fault::broken(format!("{}: it is no folder; give one with --state", folder.display()))
            }
            _ => failed(folder, error),
        })?;
        let path = folder.join("journal");
        let file = private::append(&path).map_err(|error| failed(&path, error))?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Fault::in_use(format!("{}: another daemon uses this folder", folder.display())));
            }
            Err(error) => return Err(failed(&path, error.into())),
        }
        private::tighten(folder);
        let (tree, sequence, whole_len) = read_whole(&folder.join("running.json"))?;
        let lines::Lines { edits, sequence, len, n_cut } = lines::read(&file, &path, sequence)?;
        if n_cut > 0 {
            let path = path.display();
            tracing::warn!(
                target: "weir",
                "{path}: the last line, at byte {len}, is not whole, as a write that was cut off leaves it; its {n_cut} bytes are removed"
            );
        }
        file.set_len(len).map_err(|error| failed(&path, error))?;
        let folder = folder.to_path_buf();
        let journal = Journal { folder, file, len, whole_len, sequence, is_torn: false };
        Ok((journal, Found { tree, edits }))
    }

    /// The number of the last transaction.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Writes a transaction, after which the configuration is `tree`.
    pub fn write(&mut self, edits: &[Edit], tree: &Tree) -> Result<(), Fault> {
        let path = self.folder.join("journal");
        let failed =
            |error: std::io::Error| Fault::broken(format!("{}: {}", path.display(), sys::reason(&error)));
        if self.is_torn {
            return Err(Fault::broken(format!(
                "{}: what is left of a transaction that failed could not be removed; restart the daemon when the file can be written",
                path.display()
            )));
        }
        let text = lines::line(self.sequence + 1, edits)?;
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Whatever part of it was written must not be taken for the change later.
            if let Err(error) = self.file.set_len(self.len) {
                self.is_torn = true;
                tracing::error!(target: "weir", "{}: {}: no more transactions are taken", path.display(), sys::reason(&error));
            }
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

    /// Another configuration takes the place of the one that is kept, in one transaction.
    pub fn replace(&mut self, tree: &Value) -> Result<(), Fault> {
        self.sequence += 1;
        self.shorten(tree)
    }

    /// Writes the whole configuration, so that the journal can begin anew.
    pub fn shorten(&mut self, tree: &Value) -> Result<(), Fault> {
        let failed = |error: std::io::Error| {
            Fault::broken(format!("{}: {}", self.folder.display(), sys::reason(&error)))
        };
        self.whole_len =
            write_whole(&self.folder.join("running.json"), tree, self.sequence).map_err(failed)?;
        self.file.set_len(0).map_err(failed)?;
        (self.len, self.is_torn) = (0, false);
        self.file.sync_data().map_err(failed)
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
        Err(error) => return Err(Fault::broken(format!("{}: {}", path.display(), sys::reason(&error)))),
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::edit::Op;
    use crate::store::path_of;

    /// A folder of its own, with a journal of some transactions; it goes at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, n_transactions: usize) -> Folder {
            let path = std::env::temp_dir().join(format!("weir-journal-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            let folder = Folder(path);
            let mut journal = folder.open().unwrap().0;
            (0..n_transactions).for_each(|n| journal.write(&[create(n)], &Tree::new()).unwrap());
            folder
        }

        fn open(&self) -> Result<(Journal, Found), Fault> {
            Journal::open(&self.0)
        }

        fn path(&self) -> PathBuf {
            self.0.join("journal")
        }

        fn lines(&self) -> Vec<String> {
            let text = std::fs::read_to_string(self.path()).unwrap();
            text.split_inclusive('\n').map(str::to_string).collect()
        }

        /// What opening a journal of other lines tells, after which they are as they were.
        fn refused(&self, lines: &[String]) -> String {
            std::fs::write(self.path(), lines.concat()).unwrap();
            let message = self.open().map(drop).unwrap_err().message;
            assert_eq!(self.lines(), lines);
            message.replace(&self.path().display().to_string(), "journal")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn create(n: usize) -> Edit {
        let value = Some(serde_json::json!({}));
        Edit { op: Op::Create, path: path_of("wire", &format!("w{n}")), value, at: None }
    }

    fn flipped(line: &str) -> String {
        line.replace("create", "creata")
    }

    #[test]
    fn a_transaction_that_cannot_be_read_is_never_left_out_silently() {
        let folder = Folder::new("damage", 4);
        let whole = folder.lines();
        let with = |idx: usize, line: String| {
            let mut lines = whole.clone();
            lines[idx] = line;
            lines
        };
        let offset = whole[0].len();
        let help = format!(
            "; restore `running.json` and `journal` from a copy, or go on without it and all that follow it: \
             `truncate -s {offset} journal`"
        );
        let at = format!("journal: the transaction at byte {offset}");
        assert_eq!(
            folder.refused(&with(1, flipped(&whole[1]))),
            format!("{at}: its checksum is wrong: it was changed or damaged{help}")
        );
        let summed = |body: &str| format!("{:08x} {body}\n", crc32fast::hash(body.as_bytes()));
        let newer = flipped(&whole[1][9..]);
        assert_eq!(
            folder.refused(&with(1, summed(newer.trim_end()))),
            format!("{at}: this weir does not know its change `creata`: a newer one wrote it{help}")
        );
        // Though it is the last.
        assert!(folder.refused(&[whole[0].clone(), summed(newer.trim_end())]).contains("`creata`"));
        assert!(folder
            .refused(&with(1, summed("{}")))
            .starts_with(&format!("{at}: this weir cannot read it")));
        assert_eq!(
            folder.refused(&[&whole[..1], &whole[2..]].concat()),
            format!("{at}: it is number 3, but number 2 is to come{help}")
        );
        assert_eq!(
            folder.refused(&with(1, whole[0].clone())),
            format!("{at}: it is number 1, but number 2 is to come{help}")
        );
        assert!(folder.refused(&whole[1..]).contains("it is number 2, but number 1 is to come"));
        std::fs::write(folder.path(), whole.concat()).unwrap();
        assert_eq!(folder.open().unwrap().1.edits.len(), 4);
    }

    #[derive(Clone, Default)]
    struct Heard(Arc<Mutex<Vec<u8>>>);

    impl Write for Heard {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_last_line_that_is_not_whole_is_cut_and_told() {
        let folder = Folder::new("cut", 2);
        let whole = folder.lines();
        let half = whole[1][..whole[1].len() / 2].to_string();
        for last in [half, whole[1].trim_end().to_string(), flipped(&whole[1]), "\0".repeat(70)] {
            std::fs::write(folder.path(), [whole[0].as_str(), &last].concat()).unwrap();
            let heard = Heard::default();
            let writer = heard.clone();
            let log = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
            let (mut journal, found) = tracing::subscriber::with_default(log, || folder.open()).unwrap();
            assert_eq!((found.edits.len(), journal.sequence()), (1, 1));
            let heard = String::from_utf8(heard.0.lock().unwrap().clone()).unwrap();
            let told = format!("the last line, at byte {}, is not whole", whole[0].len());
            assert!(heard.contains("WARN") && heard.contains(&told), "{heard}");
            assert!(heard.contains(&format!("its {} bytes are removed", last.len())), "{heard}");
            journal.write(&[create(1)], &Tree::new()).unwrap();
            assert_eq!(folder.lines(), whole);
        }
    }

    #[test]
    fn a_configuration_that_is_newer_than_the_journal_needs_nothing_of_it() {
        let folder = Folder::new("newer", 3);
        let lines = folder.lines();
        folder.open().unwrap().0.shorten(&crate::store::nothing()).unwrap();
        // The daemon was killed before it made the journal short.
        std::fs::write(folder.path(), lines[1..].concat()).unwrap();
        let (mut journal, found) = folder.open().unwrap();
        assert_eq!((found.edits.len(), journal.sequence()), (0, 3));
        journal.write(&[create(3)], &Tree::new()).unwrap();
        drop(journal);
        assert_eq!(folder.open().unwrap().1.edits.len(), 1);
    }

    #[test]
    fn no_transaction_follows_one_that_failed_and_is_still_there() {
        let folder = Folder::new("torn", 1);
        let mut journal = folder.open().unwrap().0;
        // Neither written nor cut.
        let writable = std::mem::replace(&mut journal.file, File::open(folder.path()).unwrap());
        journal.write(&[create(1)], &Tree::new()).unwrap_err();
        journal.file = writable;
        let fault = journal.write(&[create(1)], &Tree::new()).unwrap_err();
        assert!(fault.message.contains("restart the daemon"), "{}", fault.message);
        assert_eq!(folder.lines().len(), 1);
        // A journal that begins anew has nothing of it.
        journal.shorten(&crate::store::nothing()).unwrap();
        journal.write(&[create(1)], &Tree::new()).unwrap();
        assert_eq!(folder.lines().len(), 1);
    }
}
