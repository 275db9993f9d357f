//! Packets on their way out through a socket.

use std::collections::VecDeque;
use std::io::{self, Error, ErrorKind, IoSlice};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd};

use element::{Batch, Ctx, Packet, Puller, Ready, BATCH_MAX};
use socket2::{SockAddr, Socket};
use sys::datagrams::{self, BATCH};

use crate::idle_task::IdleTask;
use crate::segment::segment;

const ENOBUFS: i32 = 105;
const MSG_NOSIGNAL: i32 = 0x4000;
/// Bytes of an IPv4 header without options.
pub const IP_HEADER: usize = 20;

/// Packets that were taken and are not yet sent.
#[derive(Default)]
pub struct SendQueue {
    waiting: VecDeque<Packet>,
    /// Where the next datagrams go, if each goes elsewhere.
    addresses: Vec<SockAddr>,
    /// Whether packets without a byte are not left out.
    takes_empty: bool,
    puller: Option<Puller>,
    /// Whether the socket is watched for room.
    is_blocked: bool,
    /// What the task tells where nothing is pulled.
    pub idle: IdleTask,
}

/// Where and how packets are sent.
pub enum Way<'a> {
    /// As bytes, one packet after the other.
    Stream(&'a Socket),
    /// Each as a datagram to an address.
    To(&'a Socket, &'a SockAddr),
    /// Each as a datagram to a port of its destination annotation.
    ToAnnotation(&'a Socket, u16),
    /// Each as it is, an IPv4 packet, to the destination in its header. One that is shorter than a header is refused.
    ToDestination(&'a Socket),
}

/// How far sending came.
pub enum Progress {
    /// Nothing waits.
    AllSent,
    /// The socket takes no more now.
    Blocked,
    /// The first packet was refused; it is taken out.
    Failed(Error, Packet),
}

impl SendQueue {
    /// A queue that sends packets even if they have no byte.
    pub fn with_empty_packets() -> SendQueue {
        SendQueue { takes_empty: true, ..SendQueue::default() }
    }

    /// Adds packets; what is still to be cut or summed for a wire is, for who reads the socket gets bytes only.
    pub fn add(&mut self, batch: &mut Batch) {
        for packet in batch.drain() {
            if packet.has_offload() {
                segment(&packet, |part| self.waiting.push_back(part));
            } else if self.takes_empty || !packet.is_empty() {
                self.waiting.push_back(packet);
            }
        }
    }

    /// Makes the task that pulls, if input 0 is to be pulled from.
    pub fn look_upstream(&mut self, ctx: &mut Ctx<'_>) {
        if ctx.n_inputs() > 0 && !ctx.input_is_push(0) {
            self.puller = Some(ctx.new_puller(0));
        } else {
            self.idle.settle();
        }
    }

    /// Pulls and sends as many packets as the socket takes, within reason; whether there were any. An error comes with the
    /// packet that was refused.
    pub fn pull(&mut self, ctx: &mut Ctx<'_>, way: &Way<'_>) -> Result<bool, (Error, Packet)> {
        if self.puller.is_none() {
            return Ok(false);
        }
        let mut has_worked = false;
        let mut n_left = BATCH_MAX;
        while n_left > 0 {
            let n_pulled = self.fill(ctx);
            if self.waiting.is_empty() {
                break;
            }
            has_worked = true;
            n_left = n_left.saturating_sub(n_pulled.max(1));
            match self.flush(way) {
                Progress::AllSent => {}
                Progress::Blocked => {
                    self.await_room(ctx, way);
                    return Ok(true);
                }
                Progress::Failed(error, packet) => return Err((error, packet)),
            }
        }
        if self.is_blocked {
            self.is_blocked = false;
            ctx.remove_select(way.socket().as_raw_fd(), Ready::WRITE);
        }
        if let Some(puller) = self.puller.as_ref().filter(|puller| ctx.is_active(&puller.signal)) {
            ctx.schedule(puller.task);
        }
        Ok(has_worked)
    }

    /// Lets the task that pulls run again.
    pub fn go_on(&self, ctx: &mut Ctx<'_>) {
        if let Some(puller) = &self.puller {
            ctx.schedule(puller.task);
        }
    }

    /// Whether it is waited until the socket has room.
    pub fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// The socket is closed, or watched no longer.
    pub fn forget_socket(&mut self) {
        self.is_blocked = false;
    }

    /// Pulls until as many packets wait as one call sends; how many were pulled.
    fn fill(&mut self, ctx: &mut Ctx<'_>) -> usize {
        let burst = ctx.default_burst().clamp(1, BATCH_MAX);
        let mut n_pulled = 0;
        while self.waiting.len() < BATCH {
            let mut batch = ctx.pull(0, burst);
            if batch.is_empty() {
                break;
            }
            n_pulled += batch.len();
            self.add(&mut batch);
        }
        n_pulled
    }

    fn await_room(&mut self, ctx: &mut Ctx<'_>, way: &Way<'_>) {
        if !self.is_blocked {
            self.is_blocked = true;
            if let Err(message) = ctx.add_select(way.socket().as_fd(), Ready::WRITE) {
                ctx.chatter(&message);
            }
        }
    }

    /// Sends until nothing waits, or it goes no further.
    pub fn flush(&mut self, way: &Way<'_>) -> Progress {
        while !self.waiting.is_empty() {
            let sent = match way {
                Way::Stream(socket) => self.send_bytes(socket),
                Way::To(socket, address) => self.send_to(socket, address),
                Way::ToAnnotation(socket, port) => {
                    self.send_each(socket, |packet| Some((packet.dst_ip(), *port)))
                }
                Way::ToDestination(socket) => {
                    self.send_each(socket, |packet| Some((destination(packet)?, 0)))
                }
            };
            match sent {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_full(&error) => return Progress::Blocked,
                Err(error) => {
                    if let Some(packet) = self.waiting.pop_front() {
                        return Progress::Failed(error, packet);
                    }
                }
            }
        }
        Progress::AllSent
    }

    /// As [`SendQueue::flush`], but waits where the socket takes no more.
    pub fn flush_waiting(&mut self, way: &Way<'_>) -> Progress {
        loop {
            match self.flush(way) {
                Progress::Blocked => {
                    if let Err(error) = datagrams::wait_writable(way.socket().as_fd()) {
                        let first = self.waiting.pop_front();
                        return first.map_or(Progress::AllSent, |packet| Progress::Failed(error, packet));
                    }
                    // A device whose queue is full does not tell when it has room.
                    std::thread::yield_now();
                }
                other => return other,
            }
        }
    }

    /// Takes everything out.
    pub fn clear(&mut self) -> impl Iterator<Item = Packet> + '_ {
        self.waiting.drain(..)
    }

    fn send_to(&mut self, socket: &Socket, address: &SockAddr) -> io::Result<()> {
        let n = datagrams::send(socket, self.waiting.iter().map(|packet| (packet.data(), address)))?;
        self.waiting.drain(..n.min(self.waiting.len()));
        Ok(())
    }

    fn send_each(
        &mut self,
        socket: &Socket,
        address: impl Fn(&Packet) -> Option<(Ipv4Addr, u16)>,
    ) -> io::Result<()> {
        let next = self.waiting.iter().take(BATCH).map_while(address);
        self.addresses.clear();
        self.addresses.extend(next.map(|(ip, port)| SockAddr::from(SocketAddrV4::new(ip, port))));
        if self.addresses.is_empty() {
            return Err(ErrorKind::InvalidData.into());
        }
        let next = self.waiting.iter().zip(&self.addresses);
        let n = datagrams::send(socket, next.map(|(packet, address)| (packet.data(), address)))?;
        self.waiting.drain(..n.min(self.waiting.len()));
        Ok(())
    }

    fn send_bytes(&mut self, socket: &Socket) -> io::Result<()> {
        let mut parts = [IoSlice::new(&[]); BATCH];
        let mut n_parts = 0;
        for (part, packet) in parts.iter_mut().zip(&self.waiting) {
            *part = IoSlice::new(packet.data());
            n_parts += 1;
        }
        let parts = parts.get(..n_parts).unwrap_or(&[]);
        let mut n_sent = socket.send_vectored_with_flags(parts, MSG_NOSIGNAL)?;
        while let Some(first) = self.waiting.front_mut() {
            if n_sent < first.len() {
                first.strip(n_sent);
                break;
            }
            n_sent -= first.len();
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Takes the packets that wait in another queue; the task that pulls sends them.
    pub fn take_over(&mut self, old: &mut SendQueue) {
        self.waiting.append(&mut old.waiting);
    }
}

impl Way<'_> {
    fn socket(&self) -> &Socket {
        match self {
            Way::Stream(socket)
            | Way::To(socket, _)
            | Way::ToAnnotation(socket, _)
            | Way::ToDestination(socket) => socket,
        }
    }
}

/// The destination of an IPv4 packet, if it has a whole header.
fn destination(packet: &Packet) -> Option<Ipv4Addr> {
    packet.data().get(..IP_HEADER)?.last_chunk::<4>().map(|bytes| Ipv4Addr::from(*bytes))
}

/// Whether there is no room for more now.
fn is_full(error: &Error) -> bool {
    error.kind() == ErrorKind::WouldBlock || error.raw_os_error() == Some(ENOBUFS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::{Gso, Offload};

    #[test]
    fn a_socket_gets_what_would_be_on_a_wire() {
        let mut bytes = vec![0; 20 + 8 + 250];
        [bytes[0], bytes[9], bytes[24], bytes[25]] = [0x45, 17, 1, 2];
        let mut packet = Packet::from_bytes(&bytes);
        packet.set_offload(Offload {
            needs_checksum: true,
            gso: Gso::UdpSegment,
            gso_size: 100,
            checksum_start: 20,
            checksum_offset: 6,
            ..Offload::default()
        });
        let mut queue = SendQueue::default();
        queue.add(&mut Batch::of(packet));
        let lens: Vec<usize> = queue.waiting.iter().map(|packet| packet.len()).collect();
        assert_eq!(lens, [128, 128, 78]);
        assert!(queue.waiting.iter().all(|packet| !packet.has_offload() && packet.data()[26..28] != [0, 0]));
    }
}
