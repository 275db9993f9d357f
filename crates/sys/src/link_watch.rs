//! News of network devices: which come and go, and whether they can send and receive (rtnetlink(7), `RTMGRP_LINK`).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use crate::error::{Result, SysError};
use crate::link_request::LINK_LEN;
use crate::netlink::{attributes, messages, u32_at, Request, Socket, DUMP};

/// What there is to know of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The kernel's number of it.
    pub index: u32,
    /// Its name; an old kernel may not tell that of a device that is gone.
    pub name: String,
    /// How it fares.
    pub state: LinkState,
}

/// How a device fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It can send and receive.
    Up,
    /// Somebody took it down.
    Down,
    /// It is up, but nothing is at its other end.
    NoCarrier,
    /// It is not there any more, or not in this namespace.
    Gone,
}

/// Hears of the devices of one network namespace. Its descriptor is readable when there is news.
#[derive(Debug)]
pub struct LinkWatch {
    news: Socket,
    tables: Socket,
    buffer: Vec<u8>,
}

impl LinkWatch {
    /// Hears of what happens in the calling thread's namespace from now on.
    pub fn open() -> Result<LinkWatch> {
        let news = Socket::open()?;
        news.subscribe(libc::RTMGRP_LINK)?;
        Ok(LinkWatch { news, tables: Socket::open()?, buffer: vec![0; MESSAGE_LEN] })
    }

    /// All devices that there are.
    pub fn all(&mut self) -> Result<Vec<Link>> {
        let request = Request::new("RTM_GETLINK", libc::RTM_GETLINK, DUMP, &[0; LINK_LEN]);
        let answers = self.tables.ask(request, TARGET)?;
        Ok(answers.iter().filter_map(|answer| link(answer.kind, &answer.payload)).collect())
    }

    /// What has happened since the last call, in order; `None` if it was more than the kernel keeps: ask for [`Self::all`].
    pub fn take(&mut self) -> Result<Option<Vec<Link>>> {
        let (mut links, mut is_whole) = (Vec::new(), true);
        loop {
            let buffer = &mut self.buffer;
            let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
            // SAFETY: the kernel writes at most the length of `buffer`; MSG_TRUNC only makes it tell a message's own length.
            let n_bytes = unsafe {
                let start = buffer.as_mut_ptr().cast();
                libc::recv(self.news.as_fd().as_raw_fd(), start, buffer.len(), flags)
            };
            match usize::try_from(n_bytes) {
                Ok(n_bytes) if n_bytes > buffer.len() => is_whole = false,
                Ok(n_bytes) => is_whole &= collect(&buffer[..n_bytes], &mut links),
                Err(_) => match std::io::Error::last_os_error() {
                    error if error.raw_os_error() == Some(libc::ENOBUFS) => is_whole = false,
                    error if error.kind() == std::io::ErrorKind::Interrupted => {}
                    error if error.kind() == std::io::ErrorKind::WouldBlock => {
                        return Ok(is_whole.then_some(links))
                    }
                    error => return Err(SysError::call("recv(RTMGRP_LINK)", TARGET, error)),
                },
            }
        }
    }
}

impl AsFd for LinkWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.news.as_fd()
    }
}

const TARGET: &str = "rtnetlink";
/// News of a device with many virtual functions is longer than what a dump has of it.
const MESSAGE_LEN: usize = 64 << 10;

/// Adds what the messages in `bytes` tell; false if one is cut short.
fn collect(bytes: &[u8], links: &mut Vec<Link>) -> bool {
    messages(bytes).all(|raw| {
        links.extend(raw.and_then(|raw| link(raw.kind, raw.payload)));
        raw.is_some()
    })
}

/// What a message tells of a device. Those of another family are about its place in a bridge.
fn link(kind: u16, payload: &[u8]) -> Option<Link> {
    let is_of_device = payload.first() == Some(&(libc::AF_UNSPEC as u8));
    let (index, flags) = (u32_at(payload, 4)?, u32_at(payload, 8)?);
    let has = |flag: libc::c_int| flags & flag as u32 != 0;
    let state = match kind {
        libc::RTM_DELLINK => LinkState::Gone,
        libc::RTM_NEWLINK if !has(libc::IFF_UP) => LinkState::Down,
        // A device that has just been taken up counts as running until the kernel has looked at it.
        libc::RTM_NEWLINK if !has(libc::IFF_RUNNING) || !has(libc::IFF_LOWER_UP) => LinkState::NoCarrier,
        libc::RTM_NEWLINK => LinkState::Up,
        _ => return None,
    };
    let mut parts = attributes(payload.get(LINK_LEN..)?);
    let name = parts.find(|(kind, _)| *kind == libc::IFLA_IFNAME).map_or(&[][..], |(_, value)| value);
    let name = String::from_utf8_lossy(name.strip_suffix(b"\0").unwrap_or(name)).into_owned();
    is_of_device.then_some(Link { index, name, state })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{create_veth, delete, set_up};
    use crate::testing::in_namespace;
    use proptest::prelude::*;

    /// The states of a device that were told, without repetitions, until one is `last`.
    fn until(watch: &mut LinkWatch, name: &str, last: LinkState) -> Vec<LinkState> {
        let mut states = Vec::new();
        let mut poller = crate::poll::Poller::new().unwrap();
        poller.add(watch.as_fd(), 0, crate::poll::Interest::READ).unwrap();
        while states.last() != Some(&last) {
            poller.wait(Some(std::time::Duration::from_secs(10))).unwrap();
            let news = watch.take().unwrap().expect("the kernel keeps a few messages");
            assert!(!news.is_empty(), "nothing is told of {name} behind {states:?}");
            states.extend(news.into_iter().filter(|link| link.name == name).map(|link| link.state));
            states.dedup();
        }
        states
    }

    #[test]
    fn devices_that_come_go_up_and_down_are_told_of() {
        in_namespace(|| {
            let mut watch = LinkWatch::open().unwrap();
            assert_eq!(watch.take().unwrap(), Some(Vec::new()));
            create_veth("left", "right").unwrap();
            set_up("left", true).unwrap();
            assert_eq!(
                until(&mut watch, "left", LinkState::NoCarrier),
                [LinkState::Down, LinkState::NoCarrier]
            );
            set_up("right", true).unwrap();
            until(&mut watch, "left", LinkState::Up);
            let all = watch.all().unwrap();
            assert!(all.iter().any(|link| link.name == "left" && link.state == LinkState::Up), "{all:?}");
            set_up("right", false).unwrap();
            until(&mut watch, "left", LinkState::NoCarrier);
            set_up("left", false).unwrap();
            until(&mut watch, "left", LinkState::Down);
            delete("right").unwrap();
            until(&mut watch, "left", LinkState::Gone);
            assert!(watch.all().unwrap().iter().all(|link| link.name != "left"));
        });
    }

    #[test]
    fn news_that_the_kernel_could_not_keep_is_told_to_be_missing() {
        in_namespace(|| {
            let mut watch = LinkWatch::open().unwrap();
            create_veth("left", "right").unwrap();
            // Each message takes some hundreds of bytes of a buffer of some hundreds of kilobytes.
            for round in 0..2000 {
                set_up("left", round % 2 == 0).unwrap();
            }
            assert_eq!(watch.take().unwrap(), None);
            assert_eq!(watch.take().unwrap(), Some(Vec::new()));
        });
    }

    proptest! {
        #[test]
        fn no_message_panics(bytes in proptest::collection::vec(any::<u8>(), 0..96)) {
            collect(&bytes, &mut Vec::new());
        }
    }
}
