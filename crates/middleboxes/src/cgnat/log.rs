//! The log of blocks and mappings (RFC 6888, section 4): who had which external address and ports, and when.

use std::io::Write;
use std::net::Ipv4Addr;

use args::Timestamp;
use element::output::{create_text_file, reason};

use super::entries::Inside;
use super::Endpoint;

/// A block: external address, first and last port.
type Block = (u32, u16, u16);

/// Something that is logged.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A subscriber got a block.
    Assigned(u32, Block),
    /// A subscriber's block is free again.
    Released(u32, Block),
    /// An inside endpoint got an external one.
    Mapped(Inside, Endpoint),
    /// An external endpoint is free again.
    Unmapped(Inside, Endpoint),
}

/// What happened while packets were processed, to be written afterwards.
#[derive(Debug, Default)]
pub struct Journal {
    tells_blocks: bool,
    tells_mappings: bool,
    events: Vec<Event>,
}

impl Journal {
    /// An empty journal.
    pub fn new(tells_blocks: bool, tells_mappings: bool) -> Journal {
        Journal { tells_blocks, tells_mappings, events: Vec::new() }
    }

    /// Notes an event of a block.
    pub fn block(&mut self, event: impl FnOnce() -> Event) {
        if self.tells_blocks {
            self.events.push(event());
        }
    }

    /// Notes an event of a mapping.
    pub fn mapping(&mut self, event: impl FnOnce() -> Event) {
        if self.tells_mappings {
            self.events.push(event());
        }
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// What happened, a record each, which is forgotten then.
    pub fn records(&mut self, now_ns: i64) -> impl Iterator<Item = String> + '_ {
        let time = Timestamp::from_nanos(now_ns);
        self.events.drain(..).map(move |event| format!("{time} {}\n", describe(&event)))
    }

    /// Forgets what happened.
    pub fn clear(&mut self) {
        self.events.clear();
    }

    /// Takes in what another journal tells, before what this one does.
    pub fn put_before(&mut self, other: &mut Journal) {
        other.events.append(&mut self.events);
        std::mem::swap(&mut self.events, &mut other.events);
    }
}

/// The file of the log.
pub struct Log {
    name: String,
    file: Box<dyn Write + Send>,
    n_lost: u64,
    /// Whether it could not be written when that was last tried.
    is_failing: bool,
}

impl Log {
    /// Makes or empties the file.
    pub fn create(name: &str) -> Result<Log, String> {
        Ok(Log { name: name.to_string(), file: create_text_file(name)?, n_lost: 0, is_failing: false })
    }

    /// Name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Records that could not be written.
    pub fn n_lost(&self) -> u64 {
        self.n_lost
    }

    /// Writes what happened. A full disk must not stop the packets, but somebody must be told: yields what to say.
    pub fn write(&mut self, journal: &mut Journal, now_ns: i64) -> Option<String> {
        let mut failure = None;
        for record in journal.records(now_ns) {
            if let Err(error) = self.file.write_all(record.as_bytes()) {
                self.n_lost += 1;
                failure = Some(error);
            }
        }
        self.fails(&failure?)
    }

    /// Writes what is kept until there is more; yields what to say.
    pub fn flush(&mut self) -> Option<String> {
        match self.file.flush() {
            Err(error) => self.fails(&error),
            Ok(()) if std::mem::take(&mut self.is_failing) => {
                Some(format!("{}: can be written again; records lost so far: {}", self.name, self.n_lost))
            }
            Ok(()) => None,
        }
    }

    fn fails(&mut self, error: &std::io::Error) -> Option<String> {
        let was_failing = std::mem::replace(&mut self.is_failing, true);
        (!was_failing).then(|| format!("{}: {}; records get lost", self.name, reason(error)))
    }
}

fn describe(event: &Event) -> String {
    let block = |word: &str, subscriber: u32, (address, first, last): Block| {
        format!("{word} {} {} {first}-{last}", Ipv4Addr::from(subscriber), Ipv4Addr::from(address))
    };
    let mapping = |word: &str, inside: &Inside, external: &Endpoint| {
        format!("{word} {} {} {external}", inside.protocol.name(), inside.endpoint())
    };
    match event {
        Event::Assigned(subscriber, range) => block("assigned", *subscriber, *range),
        Event::Released(subscriber, range) => block("released", *subscriber, *range),
        Event::Mapped(inside, external) => mapping("mapped", inside, external),
        Event::Unmapped(inside, external) => mapping("unmapped", inside, external),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufWriter, Error, ErrorKind};
    use std::sync::{Arc, Mutex};

    /// A disk with room for so many bytes.
    struct Disk(Arc<Mutex<(usize, Vec<u8>)>>);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let (room, written) = &mut *self.0.lock().unwrap();
            if *room < bytes.len() {
                return Err(Error::from(ErrorKind::StorageFull));
            }
            *room -= bytes.len();
            written.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn records_that_are_lost_are_counted_and_told_of_once() {
        let disk = Arc::new(Mutex::new((100, Vec::new())));
        let file = Box::new(BufWriter::with_capacity(60, Disk(disk.clone())));
        let mut log = Log { name: "log".into(), file, n_lost: 0, is_failing: false };
        let mut journal = Journal::new(true, false);
        let mut write = |log: &mut Log| {
            journal.block(|| Event::Assigned(1, (2, 3, 4)));
            log.write(&mut journal, 1_000_000_000)
        };
        // One record goes to the disk, one is kept in memory.
        assert_eq!([write(&mut log), write(&mut log), log.flush()], [None, None, None]);
        assert_eq!(write(&mut log), None);
        assert_eq!(write(&mut log).as_deref(), Some("log: no storage space; records get lost"));
        assert_eq!([write(&mut log), log.flush()], [None, None]);
        assert_eq!(log.n_lost(), 2);
        disk.lock().unwrap().0 = 1000;
        let told = log.flush();
        assert_eq!(told.as_deref(), Some("log: can be written again; records lost so far: 2"));
        assert_eq!(log.flush(), None);
        let written = String::from_utf8(disk.lock().unwrap().1.clone()).unwrap();
        assert_eq!(written, "1.000000 assigned 0.0.0.1 0.0.0.2 3-4\n".repeat(3));
    }
}
