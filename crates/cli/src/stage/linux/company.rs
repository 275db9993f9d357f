//! Who is at the other ends of a stack's pipes, as far as that is known before its program starts.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use interfaces::stage::{meeting, neighbour, table};
use sys::pipe::{Kind, PipeId};

use crate::stage::{others, process};

/// Who has the other end of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OtherEnd {
    /// Nobody that can be seen, or only programs that know nothing of joints.
    Foreign,
    /// A shell or the like, which may be about to become something else.
    Unsettled,
    /// One that does something just now, such as to become something else.
    Starting,
    /// This program.
    Weir,
}

/// Programs that start others in their own place or beside them.
const STARTERS: [&str; 14] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "env", "timeout", "nice", "sudo", "setpriv",
    "setsid", "strace",
];

/// How long to wait for a shell to become another program.
const SETTLED: Duration = Duration::from_millis(10);
/// How long to wait for a neighbour that is this program, or a shell that may take long to become it on a busy machine.
const MOST: Duration = Duration::from_secs(1);
/// How long to wait for one that speaks with this process already, and may have to wait for the kernel.
const MEETING: Duration = Duration::from_secs(10);
/// When to look again who is at the other end; then after twice as long, and so on.
const SECOND_LOOK: Duration = Duration::from_micros(300);
/// The longest time between two looks.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// How far the numbers of processes may be apart that one shell started together.
const NEAR: u32 = 16;

/// Waits until every interface's neighbour is known, so that a program does not set devices up while they are
/// exchanged. It waits long for a neighbour that is weir too, a little for one that may become weir, and not at all for
/// others.
///
/// `first` ran beside all else. Stages that it passed over may have been there when this process looked for its
/// neighbours, or may have called since: what they said is heard first.
pub fn await_neighbours(names: &[String], first: Option<FirstLook>) {
    if table::stays_with_pipes() {
        return;
    }
    let begin = Instant::now();
    let (first, mut search) = first.map_or((None, Search::default()), FirstLook::result);
    let unmet_at_first = unmet(names);
    if first == Some(OtherEnd::Foreign)
        && !search.has_passed_stages
        && search.covers(&ends_of(&unmet_at_first))
        && !is_meeting(&unmet_at_first)
    {
        return;
    }
    let mut pause = SECOND_LOOK;
    loop {
        let n_met = meeting::count();
        let unmet = unmet(names);
        if unmet.is_empty() {
            return;
        }
        let patience = match other_end(&unmet, &mut search) {
            OtherEnd::Weir if is_meeting(&unmet) => MEETING,
            OtherEnd::Weir | OtherEnd::Starting => MOST,
            OtherEnd::Unsettled => SETTLED,
            OtherEnd::Foreign => return,
        };
        let elapsed = begin.elapsed();
        if elapsed >= patience {
            return;
        }
        meeting::wait(n_met, pause.min(patience - elapsed));
        pause = LONGEST_PAUSE.min(2 * pause);
    }
}

/// A look at who is at the other ends of this process's standard input and output, beside what else it does.
pub struct FirstLook(Option<JoinHandle<(OtherEnd, Search)>>);

impl FirstLook {
    /// Begins to look. Not before this process may have threads.
    pub fn begin() -> FirstLook {
        let ends = standard_pipes();
        let look = move || {
            let mut search = Search::default();
            (search.look(&ends), search)
        };
        FirstLook(sys::thread::start("neighbours", sys::thread::SMALL_STACK, look).ok())
    }

    /// Who was seen, and what is known for further looks.
    fn result(self) -> (Option<OtherEnd>, Search) {
        match self.0.and_then(|thread| thread.join().ok()) {
            Some((found, search)) => (Some(found), search),
            None => (None, Search::default()),
        }
    }
}

/// The pipes at standard input and output. Others that a process was given may be anybody's.
fn standard_pipes() -> Vec<End> {
    let end = |fd: BorrowedFd<'_>, is_read| match sys::pipe::kind(fd) {
        Ok(Kind::Pipe(id)) if sys::pipe::is_anonymous(fd) => Some(End { id, is_read }),
        _ => None,
    };
    let (input, output) = (std::io::stdin(), std::io::stdout());
    [end(input.as_fd(), true), end(output.as_fd(), false)].into_iter().flatten().collect()
}

/// The interfaces with pipes of which it is not known yet who has their other ends. Who is gone is not waited for, though it may have
/// been spoken with.
fn unmet(names: &[String]) -> Vec<table::Shared> {
    let is_unmet = |shared: &table::Shared| {
        let mut interface = table::lock(shared);
        !interface.has_met() && interface.has_company()
    };
    names.iter().filter_map(|name| table::find(name)).filter(is_unmet).collect()
}

/// Whether the neighbour of one of these speaks with this process.
fn is_meeting(unmet: &[table::Shared]) -> bool {
    unmet.iter().any(|shared| table::lock(shared).is_meeting())
}

/// Who is at the other ends of these interfaces' pipes.
fn other_end(unmet: &[table::Shared], search: &mut Search) -> OtherEnd {
    if is_meeting(unmet) {
        return OtherEnd::Weir;
    }
    let found = search.look(&ends_of(unmet));
    if found == OtherEnd::Foreign && search.has_passed_stages {
        neighbour::hear_out(MOST);
        if is_meeting(unmet) || unmet.iter().any(|shared| table::lock(shared).has_met()) {
            return OtherEnd::Weir;
        }
    }
    found
}

/// The pipes of these interfaces.
fn ends_of(interfaces: &[table::Shared]) -> Vec<End> {
    let ends = |shared: &table::Shared| {
        let (inputs, outputs) = table::lock(shared).pipes();
        let read = inputs.into_iter().map(|id| End { id, is_read: true });
        read.chain(outputs.into_iter().map(|id| End { id, is_read: false }))
    };
    interfaces.iter().flat_map(ends).collect()
}

/// An end of a pipe that this process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End {
    id: PipeId,
    /// Whether it is read here, and written at the other end.
    is_read: bool,
}

impl End {
    /// What `/proc` calls a pipe without a name.
    fn link(self) -> String {
        format!("pipe:[{}]", self.id.inode)
    }
}

/// A search for who has the other ends of some pipes, as far as `/proc` tells. Others' processes cannot be looked into.
#[derive(Default)]
struct Search {
    ends: Vec<End>,
    /// Those of which no program that knows nothing of joints is known to have the other one.
    unsettled: Vec<End>,
    /// Processes that are not asked again: none of them has, or will have, what the links lead to.
    dismissed: HashSet<u32>,
    /// Whether stages were passed over that can be asked. Those have begun to look for their neighbours: if one is at the other end,
    /// it has called, or was called.
    has_passed_stages: bool,
}

impl Search {
    /// Whether what is known is known of all these pipes.
    fn covers(&self, ends: &[End]) -> bool {
        ends.iter().all(|end| self.ends.contains(end))
    }

    /// Looks who has the other ends now.
    fn look(&mut self, ends: &[End]) -> OtherEnd {
        if !self.covers(ends) {
            *self = Search { ends: ends.to_vec(), unsettled: ends.to_vec(), ..Search::default() };
        }
        // A shell may have passed its end of a pipe on to a process that began after the list of processes was read.
        // When the list is read again, that process is in it.
        match self.look_once() {
            OtherEnd::Foreign if !self.unsettled.is_empty() => self.look_once(),
            found => found,
        }
    }

    /// A program that knows nothing of joints may have some of the other ends. A pipe with a name stays unsettled: anybody may
    /// open it.
    fn settle(&mut self, pid: u32, process: &Path) {
        self.unsettled
            .retain(|end| !(sys::pipe::has_open(pid, end.id, end.is_read) && has_link(process, &[*end])));
    }

    /// Looks at each process, at those first that are likely to have to do with this one, and no further when all is known.
    fn look_once(&mut self) -> OtherEnd {
        let own = Path::new("/proc/self");
        let (program, network) = (std::fs::read_link(own.join("exe")).ok(), network_of(own));
        let can_be_asked = others::can_be_asked().ok();
        let is_stage = |pid: u32| can_be_asked.as_ref().is_some_and(|can_be_asked| can_be_asked(pid));
        let mut found = OtherEnd::Foreign;
        for (pid, is_near) in processes() {
            if found == OtherEnd::Weir || self.unsettled.is_empty() {
                break;
            }
            if self.dismissed.contains(&pid) {
                continue;
            }
            let path = PathBuf::from(format!("/proc/{pid}"));
            // A stage that was killed left its number to others, who do not run a thread for their neighbours yet.
            if is_stage(pid) && has_threads(&path) {
                self.has_passed_stages = true;
                self.dismissed.insert(pid);
                continue;
            }
            let kind = kind_of(&path, program.as_deref());
            if kind == OtherEnd::Foreign && is_near {
                self.settle(pid, &path);
            }
            // In another network it cannot be met, like all that runs in stacks.
            if kind == OtherEnd::Foreign || network_of(&path) != network || !has_link(&path, &self.ends) {
                self.dismissed.insert(pid);
                continue;
            }
            let is_starting = kind == OtherEnd::Unsettled && process::is_busy(pid);
            found = found.max(if is_starting { OtherEnd::Starting } else { kind });
        }
        found
    }
}

/// All processes but this one and those of sessions that are foreign, and of each whether it is near: a shell starts the stages of a
/// pipeline one after the other, and their numbers follow each other. The near ones come first, and then who started this one.
fn processes() -> impl Iterator<Item = (u32, bool)> {
    let (own, parent) = (std::process::id(), parent_id());
    // To whom all sessions are foreign, those of others tell nothing.
    let can_tell = sys::process::session(own) != Some(0);
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let distance = move |pid: u32| if pid == parent { NEAR } else { pid.abs_diff(own) };
    let mut pids: Vec<u32> = pids.filter(|pid| *pid != own).collect();
    pids.sort_unstable_by_key(|pid| distance(*pid));
    let is_own_session = move |pid: &u32| !(can_tell && sys::process::session(*pid) == Some(0));
    pids.into_iter().filter(is_own_session).map(move |pid| (pid, distance(pid) <= NEAR))
}

/// What a process runs.
fn kind_of(process: &Path, own_program: Option<&Path>) -> OtherEnd {
    let Ok(program) = std::fs::read_link(process.join("exe")) else { return OtherEnd::Foreign };
    if Some(program.as_path()) == own_program {
        return OtherEnd::Weir;
    }
    let name = program.file_name().and_then(OsStr::to_str);
    match name.is_some_and(|name| STARTERS.contains(&name)) {
        true => OtherEnd::Unsettled,
        false => OtherEnd::Foreign,
    }
}

/// The inode of a process's network namespace.
fn network_of(process: &Path) -> Option<u64> {
    std::fs::metadata(process.join("ns/net")).ok().map(|network| network.ino())
}

/// Whether a process has more than one thread: the folder has two links of its own, and one for each.
fn has_threads(process: &Path) -> bool {
    std::fs::metadata(process.join("task")).is_ok_and(|threads| threads.nlink() > 3)
}

/// Whether a descriptor of a process leads to one of these.
fn has_link(process: &Path, ends: &[End]) -> bool {
    let links: Vec<String> = ends.iter().map(|end| end.link()).collect();
    // One that the process moves meanwhile (`dup2`, then `close`), as a shell does before it becomes another program, may be missed: where
    // it goes was read before, where it was is read after. It is moved once, so that it is there the second time.
    (0..2).any(|_| sys::pipe::has_link(process, &links))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    /// Runs a command with a pipe to it, and waits until it is seen there as what is expected.
    fn is_seen_as(expected: OtherEnd, command: &mut Command) {
        let (reader, writer) = std::io::pipe().unwrap();
        let Kind::Pipe(id) = sys::pipe::kind(&writer).unwrap() else { panic!("no pipe") };
        let ends = [End { id, is_read: false }];
        let mut child = command.stdin(reader).stdout(Stdio::null()).spawn().unwrap();
        // Another test's child is this program until it is its own.
        let begin = Instant::now();
        while Search::default().look(&ends) != expected {
            assert!(begin.elapsed() < Duration::from_secs(60), "{command:?} is not seen as {expected:?}");
        }
        drop(writer);
        child.wait().unwrap();
    }

    #[test]
    fn a_shell_at_the_other_end_may_become_a_neighbour_and_another_program_may_not() {
        is_seen_as(OtherEnd::Unsettled, Command::new("sh").args(["-c", "read -r line; exit 0"]));
        is_seen_as(OtherEnd::Foreign, &mut Command::new("cat"));
    }

    #[test]
    fn a_program_that_can_write_has_the_other_end_of_what_is_read_and_of_nothing_else() {
        let (reader, writer) = std::io::pipe().unwrap();
        let Kind::Pipe(id) = sys::pipe::kind(&reader).unwrap() else { panic!("no pipe") };
        let ends = [true, false].map(|is_read| End { id, is_read });
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(writer).spawn().unwrap();
        let mut search = Search { ends: ends.to_vec(), unsettled: ends.to_vec(), ..Search::default() };
        search.settle(child.id(), Path::new(&format!("/proc/{}", child.id())));
        assert_eq!(search.unsettled, ends[1..]);
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn nobody_is_looked_at_when_all_ends_are_known() {
        let ends = [End { id: PipeId { device: 0, inode: 1 }, is_read: true }];
        let mut search = Search { ends: ends.to_vec(), ..Search::default() };
        assert_eq!(search.look(&ends), OtherEnd::Foreign);
        assert!(search.dismissed.is_empty(), "{:?}", search.dismissed);
    }

    /// A shell gives its end to a child, and closes its own.
    #[test]
    fn a_pipe_that_is_passed_on_meanwhile_is_seen() {
        let script = "exec 3<&0; sh -c 'read -r line <&3; exit 0' & exec 3<&- < /dev/null; wait";
        for round in 0..100 {
            let (reader, writer) = std::io::pipe().unwrap();
            let Kind::Pipe(id) = sys::pipe::kind(&reader).unwrap() else { panic!("no pipe") };
            let ends = [End { id, is_read: false }];
            let mut child =
                Command::new("sh").args(["-c", script]).stdin(reader).stdout(Stdio::null()).spawn().unwrap();
            for look in 0..20 {
                assert_ne!(Search::default().look(&ends), OtherEnd::Foreign, "round {round}, look {look}");
            }
            drop(writer);
            child.wait().unwrap();
        }
    }

    #[test]
    fn this_program_at_the_other_end_is_a_neighbour() {
        // Lists its tests, which takes as long as nobody reads what is in the pipe.
        let (reader, mut writer) = std::io::pipe().unwrap();
        let Kind::Pipe(id) = sys::pipe::kind(&reader).unwrap() else { panic!("no pipe") };
        let ends = [End { id, is_read: true }];
        sys::pipe::ask_for_capacity(&writer, 4096);
        writer.write_all(&[0; 4096]).unwrap();
        let mut child = Command::new("/proc/self/exe").arg("--list").stdout(writer).spawn().unwrap();
        assert_eq!(Search::default().look(&ends), OtherEnd::Weir);
        drop(reader);
        child.wait().unwrap();
    }
}
