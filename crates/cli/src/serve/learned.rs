//! `--keep-state`: mappings and what was learned outlive the daemon.
//!
//! The file `learned` has a line that tells the format and when it was written, a line for each record (element, class, and what only
//! the class understands, with tabs between), and a last line that tells their number and checksum. It is written beside and renamed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use daemon::beside::Beside;
use engine::saved::{Progress, Record};
use engine::world::World;

use crate::control::server::Reach;

/// The format's name and version.
const FORMAT: &str = "weir-learned-1";
/// Records that the graph takes at a time, so that packets do not wait long.
const AT_A_TIME: usize = 1024;

/// Keeps what was learned.
pub struct Keeper {
    folder: PathBuf,
    /// How often it is written; 0 for the end alone.
    every: Duration,
    /// What there was has been restored: from now on the file may be replaced.
    is_restored: AtomicBool,
    /// The daemon writes it for the last time; locked while the file is put into its place.
    ends: Mutex<bool>,
}

impl Keeper {
    /// Keeps it in a folder.
    pub fn new(folder: &Path, every: Duration) -> Keeper {
        let folder = folder.to_path_buf();
        Keeper { folder, every, is_restored: AtomicBool::new(false), ends: Mutex::new(false) }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("learned")
    }

    /// Restores what is there, and goes on to keep it while the daemon runs.
    pub fn start(self: Arc<Keeper>, reach: Reach) -> Result<(), String> {
        match read(&self.file()) {
            Ok((records, written_ms)) => restore(&reach, records, now_ms().saturating_sub(written_ms).max(0)),
            // What was learned can be learned again; the configuration is what must run.
            Err(message) => tracing::warn!(target: "weir", "nothing is restored: {message}"),
        }
        self.is_restored.store(true, Ordering::Release);
        if self.every.is_zero() {
            return Ok(());
        }
        let work = move || loop {
            std::thread::sleep(self.every);
            let ask =
                |mut progress: Progress| reach.ask(move |world| (world.save_some(&mut progress), progress));
            if !self.write(false, ask) {
                return;
            }
        };
        let begun = sys::thread::start("keep", sys::thread::STACK, work);
        begun.map(drop).map_err(|error| sys::no_thread(&error))
    }

    /// Writes it for the last time.
    pub fn end(&self, world: &mut World) {
        if self.is_restored.load(Ordering::Acquire) {
            *self.ends.lock().unwrap_or_else(PoisonError::into_inner) = true;
            self.write(true, |mut progress| Some((world.save_some(&mut progress), progress)));
        }
    }

    /// Writes all that `save` gives, piece by piece; false if the graph has ended meanwhile, which leaves the file as it was.
    fn write(
        &self,
        is_last: bool,
        save: impl FnMut(Progress) -> Option<(Option<Vec<Record>>, Progress)>,
    ) -> bool {
        let place = self.file();
        let written = Beside::create(&place, if is_last { "last" } else { "new" }).and_then(|mut file| {
            let Some(n_records) = write(&mut file, save)? else { return Ok(None) };
            let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
            match is_last || !*ends {
                true => file.put().map(|()| Some(n_records)),
                false => Ok(None),
            }
        });
        match written {
            Ok(Some(n_records)) => {
                tracing::debug!(target: "weir", n_records, "what was learned is on disk");
                true
            }
            Ok(None) => false,
            Err(error) => {
                tracing::warn!(target: "weir", "{}: {}", place.display(), sys::reason(&error));
                true
            }
        }
    }
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// Writes what is in a file and returns how many records that are; none if there is nobody left to ask.
fn write(
    file: &mut impl Write,
    mut save: impl FnMut(Progress) -> Option<(Option<Vec<Record>>, Progress)>,
) -> std::io::Result<Option<usize>> {
    writeln!(file, "{FORMAT} {}", now_ms())?;
    let (mut sum, mut n_records, mut progress) = (crc32fast::Hasher::new(), 0, Progress::default());
    loop {
        let Some((records, further)) = save(progress) else { return Ok(None) };
        let Some(records) = records else { break };
        progress = further;
        n_records += records.len();
        for Record { element, class, line } in records {
            let line = format!("{element}\t{class}\t{line}\n");
            sum.update(line.as_bytes());
            file.write_all(line.as_bytes())?;
        }
    }
    writeln!(file, "end {n_records} {:08x}", sum.finalize())?;
    Ok(Some(n_records))
}

/// The records of a file, and when it was written, in milliseconds since 1970; none if there is no file.
fn read(path: &Path) -> Result<(Vec<Record>, i64), String> {
    let failed = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((Vec::new(), now_ms())),
        other => other.map_err(|error| failed(&error))?,
    };
    let (head, rest) = text.split_once('\n').ok_or_else(|| failed(&"it has no lines"))?;
    let written_ms = head.strip_prefix(FORMAT).and_then(|time| time.trim().parse().ok());
    let written_ms = written_ms.ok_or_else(|| failed(&"this weir does not know its format"))?;
    let (body, end) = rest.rsplit_once("end ").ok_or_else(|| failed(&"its end is missing"))?;
    let n_records = body.lines().count();
    if end.trim_end() != format!("{n_records} {:08x}", crc32fast::hash(body.as_bytes())) {
        return Err(failed(&"its checksum is wrong: it was changed or damaged"));
    }
    let record = |line: &str| {
        let mut parts = line.splitn(3, '\t').map(str::to_string);
        Some(Record { element: parts.next()?, class: parts.next()?, line: parts.next()? })
    };
    Ok((body.lines().filter_map(record).collect(), written_ms))
}

fn restore(reach: &Reach, mut records: Vec<Record>, passed_ms: i64) {
    let n_records = records.len();
    records.reverse();
    while !records.is_empty() {
        let mut some = records.split_off(records.len().saturating_sub(AT_A_TIME));
        some.reverse();
        let Some(refused) = reach.ask(move |world| world.restore(&some, passed_ms)) else { return };
        for refusal in refused {
            tracing::warn!(target: "weir", "not restored: {refusal}");
        }
    }
    tracing::info!(target: "weir", n_records, passed_ms, "what was learned is restored");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_what_was_written_or_is_refused() {
        let folder = std::env::temp_dir().join(format!("weir-learned-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("learned");
        assert_eq!(read(&path).unwrap().0, []);
        let record =
            |n: usize| Record { element: format!("a/b{n}"), class: "Class".into(), line: "end 1 2".into() };
        let mut pieces = vec![vec![record(3)], vec![], vec![record(1), record(2)]];
        let mut file = Beside::create(&path, "new").unwrap();
        let n = write(&mut file, |progress| Some((pieces.pop(), progress))).unwrap();
        file.put().unwrap();
        assert_eq!(n, Some(3));
        assert_eq!(read(&path).unwrap().0, [record(1), record(2), record(3)]);
        let whole = std::fs::read_to_string(&path).unwrap();
        for damaged in
            ["", "weir-learned-2 0\nend 0 00000000\n", &whole.replace("b2", "b4"), &whole[..whole.len() / 2]]
        {
            std::fs::write(&path, damaged).unwrap();
            read(&path).unwrap_err();
        }
        assert_eq!(write(&mut Vec::new(), |_| None).unwrap(), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
