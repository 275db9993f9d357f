//! A flow's sockets: one through which its packets are sent, and one through which its answers come.

use std::io::{Error, ErrorKind};
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use element::output::reason;
use element::Packet;
use socket2::{Domain, Protocol, SockAddr, SockFilter, Socket, Type};
use sys::{bpf, packet_socket, SysError};
use wire::{protocol, Ipv4};

/// `DLT_RAW`: packets begin with their IP header.
const RAW: i32 = 12;
/// `BPF_RET | BPF_K` of 0 bytes: no packet passes.
const NOTHING: SockFilter = SockFilter::new(0x06, 0, 0, 0);

/// What tells a flow, seen from the side that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// TCP or UDP.
    pub protocol: u8,
    /// The port that packets come from.
    pub source_port: u16,
    /// Where packets go.
    pub destination: SocketAddrV4,
}

/// The sockets of a flow.
pub struct Flow {
    ends: Ends,
    sender: Socket,
    /// What receives; `None` if the sender does.
    capture: Option<OwnedFd>,
}

impl Ends {
    /// Those of a packet's flow; an odd paint says that the packet goes the other way. `None` if it does not begin with the
    /// ports of TCP or UDP.
    pub fn of(packet: &Packet) -> Option<Ends> {
        let (protocol, ports) = ports(packet)?;
        let ip = Ipv4::new(packet.network())?;
        let source = SocketAddrV4::new(ip.source(), ports[0]);
        let destination = SocketAddrV4::new(ip.destination(), ports[1]);
        Some(match packet.paint() & 1 {
            0 => Ends { protocol, source_port: source.port(), destination },
            _ => Ends { protocol, source_port: destination.port(), destination: source },
        })
    }

    /// The answers of the flow, in the words of pcap-filter(7).
    fn answers(&self) -> String {
        let protocol = if self.protocol == protocol::TCP { "tcp" } else { "udp" };
        let (host, port) = (self.destination.ip(), self.destination.port());
        let own = self.source_port;
        format!("ip src host {host} and {protocol} src port {port} and {protocol} dst port {own}")
    }
}

/// Protocol, source port and destination port, if the packet begins with those of TCP or UDP.
fn ports(packet: &Packet) -> Option<(u8, [u16; 2])> {
    let ip = Ipv4::new(packet.network())?;
    let protocol = ip.protocol();
    if !matches!(protocol, protocol::TCP | protocol::UDP) || ip.fragment_offset() != 0 {
        return None;
    }
    let [a, b, c, d] = *ip.payload().first_chunk()?;
    Some((protocol, [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]))
}

impl Flow {
    /// Opens a socket that sends whole packets, and receives all of the protocol.
    pub fn open(ends: Ends) -> Result<Flow, String> {
        let during = |call: &'static str| move |error: Error| format!("{call}: {}", reason(&error));
        let protocol = Protocol::from(i32::from(ends.protocol));
        let sender = Socket::new(Domain::IPV4, Type::RAW, Some(protocol)).map_err(during("socket"))?;
        sender.set_nonblocking(true).map_err(during("fcntl"))?;
        sender.set_header_included_v4(true).map_err(during("setsockopt"))?;
        Ok(Flow { ends, sender, capture: None })
    }

    /// Receives the flow's answers, and nothing else, from now on.
    pub fn capture(&mut self) -> Result<(), SysError> {
        // Whoever reads says how much it takes of a packet: what the filter cuts off would not be counted.
        let filter = bpf::compile(&self.ends.answers(), RAW, 0)?;
        self.capture = Some(packet_socket::open_ip(&filter)?);
        // Should this fail, what nobody reads is lost when there is no more room for it.
        let _ = self.sender.attach_filter(&[NOTHING]);
        Ok(())
    }

    /// Sends a packet to the flow's destination, whatever its header says.
    pub fn send(&self, packet: &[u8]) -> Result<(), Error> {
        let destination = SockAddr::from(self.ends.destination);
        loop {
            match self.sender.send_to(packet, &destination) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => return other.map(drop),
            }
        }
    }

    /// Whether a packet that was received belongs to the flow; a packet without ports does not.
    pub fn has_answer(&self, packet: &Packet) -> bool {
        self.capture.is_some()
            || ports(packet).is_some_and(|(_, [_, destination])| destination == self.ends.source_port)
    }
}

/// The socket that receives.
impl AsFd for Flow {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.capture.as_ref().map_or(self.sender.as_fd(), AsFd::as_fd)
    }
}
