//! Cables in the kernel between two stacks, in the place of their taps.

use std::os::fd::{AsFd, OwnedFd};

use sys::link;
use sys::link_request::{self, CableEnd};
use sys::netlink::Socket;

use crate::agent::Request;
use crate::device;
use crate::inside::Inside;
use crate::{Error, Port, Result, Saved};

/// The stack of another process of the same user.
#[derive(Debug)]
pub struct Peer {
    pub(crate) inside: Inside,
}

impl Peer {
    /// Reaches the stack whose [`crate::Stack::handle`] the other process sent.
    pub fn from_fd(handle: OwnedFd) -> Result<Self> {
        Inside::enter(handle).map(|inside| Self { inside })
    }

    /// As [`crate::Stack::take_left_out`].
    pub fn take_left_out(&mut self) -> Vec<String> {
        std::mem::take(&mut self.inside.left_out)
    }
}

/// Lays a cable between device `name` of `ours` and `peer_name` of `theirs`, which keep what is set for them.
pub(crate) fn join(ours: &mut Inside, name: &str, theirs: &mut Inside, peer_name: &str) -> Result<()> {
    let mut their_device = Saved::read(theirs, peer_name)?;
    probe(ours, theirs, name, &their_device)?;
    // A program may set something at any moment: each device is read right before it goes, and what is set until then is heard of.
    let news = (ours.listen()?, theirs.listen()?);
    let mut our_device = Saved::read(ours, name)?;
    let result = replace(ours, &mut our_device, theirs, &mut their_device, news);
    result.map_err(|error| lost(our_device, their_device, error))
}

/// Takes the cable away and puts ports in its place, on both sides.
pub(crate) fn unjoin(
    ours: &mut Inside,
    name: &str,
    theirs: &mut Inside,
    peer_name: &str,
) -> Result<(Port, Port)> {
    let (mut our_news, mut their_news) = (ours.listen()?, theirs.listen()?);
    let mut our_device = Saved::read(ours, name)?;
    let mut their_device = Saved::read(theirs, peer_name)?;
    // The other end goes with it.
    ours.netlink.apply(link_request::delete(our_device.index()), name)?;
    our_device.learn(&our_news.news());
    their_device.learn(&their_news.news());
    match restore(ours, &our_device).and_then(|port| Ok((port, restore(theirs, &their_device)?))) {
        Ok(ports) => Ok(ports),
        Err(error) => Err(lost(our_device, their_device, error)),
    }
}

/// As [`unjoin`], where the other stack is gone.
pub(crate) fn unjoin_alone(ours: &mut Inside, name: &str) -> Result<Port> {
    let mut news = ours.listen()?;
    let mut device = Saved::read(ours, name)?;
    ours.netlink.apply(link_request::delete(device.index()), name)?;
    device.learn(&news.news());
    restore(ours, &device)
}

/// Makes the device of `saved` again, with a port as its other end.
pub(crate) fn restore(inside: &mut Inside, saved: &Saved) -> Result<Port> {
    let opened = inside.ask(&Request::Open { index: saved.index(), name: saved.name().into() })?;
    let mut opened = device::plug(inside, opened, &saved.end())?;
    saved.put_link_back(inside)?;
    saved.put_tables_back(inside)?;
    opened.settle(saved.name())?;
    Ok(opened.port)
}

/// Finds out, before anything is changed, whether the cable will be allowed.
fn probe(ours: &mut Inside, theirs: &Inside, name: &str, their_device: &Saved) -> Result<()> {
    let near = CableEnd::new("weir-probe");
    // The far end's name is taken: the kernel refuses that after it has looked at what we may do.
    let far = CableEnd { namespace: Some(theirs.network.as_fd()), ..CableEnd::new(their_device.name()) };
    match ours.netlink.apply(link_request::create_veth(&near, &far)?, near.name) {
        Err(error) if error.errno() == Some(libc::EEXIST) => Ok(()),
        Err(source) => {
            Err(Error::NotAllowed { ours: name.into(), theirs: their_device.name().into(), source })
        }
        Ok(()) => Err(Error::no_interface(their_device.name())),
    }
}

fn replace(
    ours: &mut Inside,
    near: &mut Saved,
    theirs: &mut Inside,
    far: &mut Saved,
    (mut near_news, mut far_news): (Socket, Socket),
) -> Result<()> {
    ours.netlink.apply(link_request::delete(near.index()), near.name())?;
    near.learn(&near_news.news());
    // Else it is as it was.
    if let Ok(now) = Saved::read(theirs, far.name()) {
        *far = now;
    }
    theirs.netlink.apply(link_request::delete(far.index()), far.name())?;
    far.learn(&far_news.news());
    let far_end = CableEnd { namespace: Some(theirs.network.as_fd()), ..far.end() };
    ours.netlink.apply(link_request::create_veth(&near.end(), &far_end)?, near.name())?;
    near.put_link_back(ours)?;
    far.put_link_back(theirs)?;
    near.put_tables_back(ours)?;
    far.put_tables_back(theirs)?;
    link::wait_until_running(&mut ours.netlink, near.name())?;
    Ok(link::wait_until_running(&mut theirs.netlink, far.name())?)
}

fn lost(ours: Saved, theirs: Saved, error: Error) -> Error {
    Error::Lost { ours: Box::new(ours), theirs: Box::new(theirs), source: Box::new(error) }
}
