//! Waiting: file descriptors that elements watch, and sleep until a timer.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use element::{ElementIdx, Ready};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use smallvec::SmallVec;

/// A descriptor of an element that is ready, and what for.
pub type Event = (ElementIdx, i32, Ready);

/// So many descriptors, with the one that wakes the driver, are waited for without an allocation.
const FEW: usize = 16;

/// The file descriptors that elements watch.
#[derive(Debug, Default)]
pub struct Selects {
    list: Vec<Watch>,
}

#[derive(Debug)]
struct Watch {
    /// The descriptor as the element knows it.
    fd: i32,
    /// A duplicate of our own, so that it stays valid while it is watched.
    owned: OwnedFd,
    element: ElementIdx,
    interest: Ready,
}

impl Selects {
    /// Watches `fd` for `interest` besides what it is watched for already.
    pub fn add(&mut self, element: ElementIdx, fd: BorrowedFd<'_>, interest: Ready) -> std::io::Result<()> {
        let number = fd.as_raw_fd();
        match self.list.iter_mut().find(|watch| watch.fd == number && watch.element == element) {
            Some(watch) => {
                watch.interest.read |= interest.read;
                watch.interest.write |= interest.write;
            }
            None => {
                let owned = fd.try_clone_to_owned()?;
                self.list.push(Watch { fd: number, owned, element, interest });
            }
        }
        Ok(())
    }

    /// Stops watching `fd` for `interest`.
    pub fn remove(&mut self, element: ElementIdx, fd: i32, interest: Ready) {
        for watch in &mut self.list {
            if watch.fd == fd && watch.element == element {
                watch.interest.read &= !interest.read;
                watch.interest.write &= !interest.write;
            }
        }
        self.list.retain(|watch| watch.interest.read || watch.interest.write);
    }

    /// Takes out what some elements watch.
    pub fn take_elements(&mut self, is_own: impl Fn(ElementIdx) -> bool) -> Selects {
        let (own, others) = self.list.drain(..).partition(|watch| is_own(watch.element));
        self.list = others;
        Selects { list: own }
    }

    /// Puts back what was taken out.
    pub fn append(&mut self, mut taken: Selects) {
        self.list.append(&mut taken.list);
    }

    /// Whether nothing is watched.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Waits until a descriptor is ready, `wake` is readable, or the time is over (`None`: no limit), and appends what is
    /// ready.
    pub fn wait(&self, wake: BorrowedFd<'_>, timeout_ns: Option<i64>, ready: &mut Vec<Event>) {
        let watched = self.list.iter().map(|watch| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, watch.interest.read);
            flags.set(PollFlags::OUT, watch.interest.write);
            PollFd::from_borrowed_fd(watch.owned.as_fd(), flags)
        });
        // A driver that has little to do is here for every packet.
        let mut fds: SmallVec<[PollFd<'_>; FEW]> = SmallVec::new();
        fds.push(PollFd::from_borrowed_fd(wake, PollFlags::IN));
        fds.extend(watched);
        let timeout =
            timeout_ns.map(|ns| Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 });
        if poll(&mut fds, timeout.as_ref()).is_err() {
            return;
        }
        let results = fds.iter().skip(1).zip(&self.list);
        ready.extend(results.filter_map(|(fd, watch)| {
            let events = fd.revents();
            let ended = events.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
            let ready = Ready {
                read: watch.interest.read && (ended || events.contains(PollFlags::IN)),
                write: watch.interest.write && (ended || events.contains(PollFlags::OUT)),
            };
            (ready.read || ready.write).then_some((watch.element, watch.fd, ready))
        }));
    }
}
