//! Tap and tun devices: network devices whose packets this process reads and writes.

use std::fs::OpenOptions;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::error::{check, check_io, Result, SysError};
use crate::link;
use crate::span::{Sink, Source};
use crate::vnet::{VnetHeader, BASIC_LEN, MERGEABLE_LEN};

/// What a device carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Ethernet frames.
    Tap,
    /// IP packets.
    Tun,
}

/// The virtio-net header in front of each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VnetMode {
    Off,
    /// 10 bytes.
    Basic,
    /// 12 bytes, with the number of buffers.
    Mergeable,
}

/// Work that the kernel may leave to this process; needs a virtio-net header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// Packets come with checksums to complete. The others need this one.
    pub csum: bool,
    /// TCP over IPv4 comes in segments of up to 64 KiB.
    pub tso4: bool,
    /// TCP over IPv6 comes in segments of up to 64 KiB.
    pub tso6: bool,
    /// UDP comes in segments of up to 64 KiB (Linux 6.2).
    pub uso: bool,
}

impl Offload {
    pub const ALL: Self = Self { csum: true, tso4: true, tso6: true, uso: true };

    fn bits(self) -> libc::c_uint {
        let bit = |on, bits| if on { bits } else { 0 };
        bit(self.csum, libc::TUN_F_CSUM)
            | bit(self.tso4, libc::TUN_F_TSO4)
            | bit(self.tso6, libc::TUN_F_TSO6)
            | bit(self.tso4 || self.tso6, libc::TUN_F_TSO_ECN)
            | bit(self.uso, libc::TUN_F_USO4 | libc::TUN_F_USO6)
    }
}

/// How to open a device.
#[derive(Clone, Debug)]
pub struct Options {
    pub kind: Kind,
    /// A name, or a pattern such as `weir%d` for the first number that is free.
    pub name: String,
    pub vnet: VnetMode,
}

impl Options {
    pub fn tap(name: impl Into<String>) -> Self {
        Self { kind: Kind::Tap, name: name.into(), vnet: VnetMode::Off }
    }

    pub fn tun(name: impl Into<String>) -> Self {
        Self { kind: Kind::Tun, ..Self::tap(name) }
    }
}

/// One queue of a device. The device goes away with its last queue, unless it was made persistent elsewhere.
#[derive(Debug)]
pub struct Tap {
    fd: OwnedFd,
    options: Options,
}

/// A packet that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The virtio-net header; zeros without one.
    pub vnet: VnetHeader,
    /// Bytes of the packet now in the buffer.
    pub len: usize,
    /// Whether the packet was longer than the buffer: the rest is lost.
    pub truncated: bool,
}

impl Tap {
    /// Opens the device, making it if it does not exist. It never blocks; it is down until [`link::set_up`].
    pub fn open(options: &Options) -> Result<Self> {
        Self::open_as(options, None)
    }

    /// As [`Self::open`]; a device that does not exist gets the number `index`.
    pub fn open_with_index(options: &Options, index: u32) -> Result<Self> {
        Self::open_as(options, Some(index))
    }

    /// Takes over a queue that another process opened with `options` and sent.
    pub fn from_received(fd: OwnedFd, options: Options) -> Result<Self> {
        let tap = Self { fd, options };
        let mut request = link::ifreq(&tap.options.name)?;
        tap.ioctl(libc::TUNGETIFF, &mut request, "ioctl(TUNGETIFF)")?;
        // SAFETY: the call filled this field of the union.
        let found = libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags });
        if found & KIND_FLAGS != flags(&tap.options) & KIND_FLAGS {
            let reason = format!("its flags are {found:#x}, expected were {:#x}", flags(&tap.options));
            return Err(SysError::Untrusted { target: tap.options.name, reason, remedy: None });
        }
        Ok(Self { options: Options { name: name_of(&request), ..tap.options }, fd: tap.fd })
    }

    fn open_as(options: &Options, index: Option<u32>) -> Result<Self> {
        let mut request = link::ifreq(&options.name)?;
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(CONTROL);
        let file = file.map_err(|e| SysError::call("open", CONTROL, e).with_remedy(control_remedy))?;
        let mut tap = Self { fd: file.into(), options: options.clone() };
        if let Some(mut index) = index {
            tap.ioctl(libc::TUNSETIFINDEX, &mut index, "ioctl(TUNSETIFINDEX)")?;
        }
        request.ifr_ifru.ifru_flags = flags(options) as libc::c_short;
        tap.ioctl(libc::TUNSETIFF, &mut request, "ioctl(TUNSETIFF)")
            .map_err(|e| e.with_remedy(attach_remedy))?;
        tap.options.name = name_of(&request);
        if options.vnet != VnetMode::Off {
            let mut len = tap.header_len() as libc::c_int;
            tap.ioctl(libc::TUNSETVNETHDRSZ, &mut len, "ioctl(TUNSETVNETHDRSZ)")?;
        }
        Ok(tap)
    }

    /// The name that the device got.
    pub fn name(&self) -> &str {
        &self.options.name
    }

    pub fn kind(&self) -> Kind {
        self.options.kind
    }

    /// Asks for `wanted`; what the kernel can do of it, as older ones do not know UDP segmentation.
    pub fn set_offload(&self, wanted: Offload) -> Result<Offload> {
        if wanted != Offload::default() && (!wanted.csum || self.options.vnet == VnetMode::Off) {
            let reason = "needs `csum` and a virtio-net header";
            return Err(SysError::invalid("offload", format!("{wanted:?}"), reason));
        }
        match self.set_offload_bits(wanted) {
            Err(error) if wanted.uso && error.errno() == Some(libc::EINVAL) => {
                let less = Offload { uso: false, ..wanted };
                self.set_offload_bits(less).map(|()| less)
            }
            other => other.map(|()| wanted),
        }
    }

    /// Reads one packet into `buf`; `None` if there is none now.
    pub fn recv<'b>(&self, buf: impl Into<Sink<'b>>) -> Result<Option<Received>> {
        let mut buf = buf.into();
        let mut header = [0u8; MERGEABLE_LEN];
        // The kernel does not say when it cut a packet: a byte behind the buffer tells.
        let mut beyond = [0u8; 1];
        let header_len = self.header_len();
        let parts = [
            libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: header_len },
            buf.iovec(),
            libc::iovec { iov_base: beyond.as_mut_ptr().cast(), iov_len: beyond.len() },
        ];
        // SAFETY: the three parts are writable, distinct and of the lengths given.
        let n_read = unsafe { libc::readv(self.fd.as_raw_fd(), parts.as_ptr(), parts.len() as libc::c_int) };
        let Some(n_read) = check_io(n_read, "readv", self.name()).map_err(|e| e.with_remedy(io_remedy))?
        else {
            return Ok(None);
        };
        let len = n_read.saturating_sub(header_len);
        let vnet = VnetHeader::from_bytes(&header);
        Ok(Some(Received { vnet, len: len.min(buf.len()), truncated: len > buf.len() }))
    }

    /// Writes one packet, with `vnet` in front if the device has such a header; `false` if it must wait.
    pub fn send<'b>(&self, vnet: VnetHeader, packet: impl Into<Source<'b>>) -> Result<bool> {
        let header = vnet.to_bytes();
        let parts = [
            libc::iovec { iov_base: header.as_ptr().cast_mut().cast(), iov_len: self.header_len() },
            packet.into().iovec(),
        ];
        // SAFETY: both parts are readable and of the lengths given; writev does not write to them.
        let n_sent = unsafe { libc::writev(self.fd.as_raw_fd(), parts.as_ptr(), parts.len() as libc::c_int) };
        let sent = check_io(n_sent, "writev", self.name()).map_err(|e| e.with_remedy(io_remedy))?;
        Ok(sent.is_some())
    }

    fn header_len(&self) -> usize {
        match self.options.vnet {
            VnetMode::Off => 0,
            VnetMode::Basic => BASIC_LEN,
            VnetMode::Mergeable => MERGEABLE_LEN,
        }
    }

    fn set_offload_bits(&self, offload: Offload) -> Result<()> {
        // SAFETY: TUNSETOFFLOAD takes the number itself, not an address.
        let returned = unsafe {
            libc::ioctl(self.fd.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(offload.bits()))
        };
        check(returned, "ioctl(TUNSETOFFLOAD)", self.name()).map(drop)
    }

    fn ioctl<T>(&self, request: libc::Ioctl, argument: &mut T, call: &'static str) -> Result<()> {
        // SAFETY: the callers pass the type that their request reads and writes.
        let returned = unsafe { libc::ioctl(self.fd.as_raw_fd(), request, std::ptr::from_mut(argument)) };
        check(returned, call, self.name()).map(drop)
    }
}

impl From<Tap> for OwnedFd {
    fn from(tap: Tap) -> Self {
        tap.fd
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

const CONTROL: &str = "/dev/net/tun";
/// What of the flags decides how packets are read.
const KIND_FLAGS: libc::c_int = libc::IFF_TAP | libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;

fn flags(options: &Options) -> libc::c_int {
    let kind = match options.kind {
        Kind::Tap => libc::IFF_TAP,
        Kind::Tun => libc::IFF_TUN,
    };
    let vnet = if options.vnet == VnetMode::Off { 0 } else { libc::IFF_VNET_HDR };
    kind | libc::IFF_NO_PI | vnet
}

fn name_of(request: &libc::ifreq) -> String {
    let bytes = request.ifr_name.iter().map(|&c| c as u8).take_while(|&b| b != 0);
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

fn control_remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::ENOENT => {
            Some("make it: `mkdir -p /dev/net && mknod /dev/net/tun c 10 200`; a container needs the device")
        }
        libc::ENODEV | libc::ENXIO => Some("load the module: `modprobe tun`"),
        libc::EACCES | libc::EPERM => Some(
            "run as root, or let the user in: `chmod 0666 /dev/net/tun`; a container must allow the device",
        ),
        _ => None,
    }
}

fn attach_remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::EBUSY => {
            Some("another process has this device: choose another name, or open it multi-queue in both")
        }
        libc::EINVAL => Some("a device of that name exists and is of another kind: `ip -d link show DEVICE`"),
        libc::EPERM => {
            Some("run as root, or make the device for the user: `ip tuntap add DEVICE mode tap user USER`")
        }
        libc::E2BIG => Some("close queues of this device that are not needed"),
        _ => None,
    }
}

fn io_remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::EIO => Some("bring the device up: `ip link set DEVICE up`"),
        libc::EBADFD => Some("the device was removed: open it again"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::{Interest, Poller};
    use crate::testing::in_namespace;
    use std::net::UdpSocket;

    /// A tap that is up with 10.9.0.1/24 and a neighbour 10.9.0.2, or `None` after saying why not.
    fn open(options: &Options) -> Option<Tap> {
        match Tap::open(options) {
            Ok(tap) => Some(tap),
            Err(error)
                if matches!(
                    error.errno(),
                    Some(libc::ENOENT | libc::EPERM | libc::EACCES | libc::ENODEV)
                ) =>
            {
                crate::testing::cannot_run(error);
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn bring_up(tap: &Tap) {
        // Without this, the kernel's own router solicitations mix with the packets of the test.
        let _ = std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        link::set_up(tap.name(), true).unwrap();
        link::add_address(tap.name(), "10.9.0.1".parse().unwrap(), 24).unwrap();
    }

    /// The first packet for which `wanted` holds.
    fn recv_until(tap: &Tap, buf: &mut [u8], wanted: impl Fn(&[u8]) -> bool) -> Received {
        let mut poller = Poller::new().unwrap();
        poller.add(tap.as_fd(), 0, Interest::READ).unwrap();
        loop {
            match tap.recv(&mut *buf).unwrap() {
                Some(received) if wanted(&buf[..received.len]) => return received,
                Some(_) => {}
                None => drop(poller.wait(None).unwrap()),
            }
        }
    }

    fn ipv4_udp(source: [u8; 4], destination: [u8; 4], port: u16, payload: &[u8]) -> Vec<u8> {
        let len = (28 + payload.len()) as u16;
        let mut packet = vec![0x45, 0, (len >> 8) as u8, len as u8, 0, 0, 0, 0, 64, 17, 0, 0];
        packet.extend(source);
        packet.extend(destination);
        let sum: u32 = packet.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
        let sum = !((sum >> 16) + (sum & 0xffff)) as u16;
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend(9u16.to_be_bytes());
        packet.extend(port.to_be_bytes());
        packet.extend((len - 20).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(payload);
        packet
    }

    #[test]
    fn a_tap_of_a_chosen_number_is_taken_over_by_who_knows_its_kind() {
        in_namespace(|| {
            let options = Options { vnet: VnetMode::Mergeable, ..Options::tap("handed") };
            let tap = match Tap::open_with_index(&options, 77) {
                Ok(tap) => tap,
                Err(error) => return crate::testing::cannot_run(error),
            };
            assert_eq!(link::index("handed").unwrap(), 77);
            let taken = Tap::from_received(tap.into(), options.clone()).unwrap();
            assert_eq!(taken.name(), "handed");
            taken.set_offload(Offload::ALL).unwrap();
            let error = Tap::from_received(taken.into(), Options::tap("handed")).unwrap_err();
            assert!(error.to_string().contains("its flags"), "{error}");
            let (_, writer) = std::io::pipe().unwrap();
            Tap::from_received(writer.into(), options).unwrap_err();
        });
    }

    #[test]
    fn a_pattern_gets_the_first_free_number() {
        in_namespace(|| {
            let Some(first) = open(&Options::tap("weir%d")) else { return };
            let second = Tap::open(&Options::tap("weir%d")).unwrap();
            assert_eq!((first.name(), second.name()), ("weir0", "weir1"));
        });
    }

    #[test]
    fn packets_pass_between_a_tun_and_a_socket() {
        for vnet in [VnetMode::Off, VnetMode::Basic, VnetMode::Mergeable] {
            in_namespace(move || {
                let Some(tun) = open(&Options { vnet, ..Options::tun("tun0") }) else { return };
                bring_up(&tun);
                let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
                socket.send_to(b"out", "10.9.0.2:7").unwrap();
                let mut buf = [0; 2048];
                let is_udp = |p: &[u8]| p.get(9) == Some(&17);
                let received = recv_until(&tun, &mut buf, is_udp);
                assert_eq!((received.len, received.truncated), (31, false));
                assert_eq!(&buf[28..31], b"out");

                let port = socket.local_addr().unwrap().port();
                let packet = ipv4_udp([10, 9, 0, 2], [10, 9, 0, 1], port, b"in");
                assert!(tun.send(VnetHeader::default(), &packet).unwrap());
                let n_bytes = socket.recv(&mut buf).unwrap();
                assert_eq!(&buf[..n_bytes], b"in");
            });
        }
    }

    #[test]
    fn a_packet_longer_than_the_buffer_says_so() {
        in_namespace(|| {
            let Some(tun) = open(&Options::tun("tun0")) else { return };
            bring_up(&tun);
            let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
            socket.send_to(&[7; 100], "10.9.0.2:7").unwrap();
            let mut buf = [0; 64];
            let received = recv_until(&tun, &mut buf, |p| p[9] == 17);
            assert_eq!((received.len, received.truncated), (64, true));
            assert!(tun.recv(&mut buf).unwrap().is_none());
        });
    }

    #[test]
    fn offloaded_packets_come_whole_with_their_metadata() {
        in_namespace(|| {
            let options = Options { vnet: VnetMode::Mergeable, ..Options::tun("tun0") };
            let Some(tun) = open(&options) else { return };
            bring_up(&tun);
            let got = tun.set_offload(Offload::ALL).unwrap();
            assert!(got.csum && got.tso4 && got.tso6);
            if !got.uso {
                println!("left out: this kernel segments no UDP");
                return;
            }
            let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
            let segment: libc::c_int = 1000;
            // SAFETY: UDP_SEGMENT takes an int.
            let returned = unsafe {
                let value = std::ptr::from_ref(&segment).cast();
                libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, value, 4)
            };
            assert_eq!(returned, 0);
            socket.send_to(&vec![1; 30_000], "10.9.0.2:7").unwrap();
            let mut buf = vec![0; 1 << 17];
            let received = recv_until(&tun, &mut buf, |p| p[9] == 17);
            assert_eq!((received.len, received.vnet.gso_type), (30_028, crate::vnet::GSO_UDP_L4));
            assert!(received.vnet.needs_csum() && received.vnet.is_gso());
            assert_eq!(
                (received.vnet.gso_size, received.vnet.csum_start, received.vnet.csum_offset),
                (1000, 20, 6)
            );
        });
    }

    #[test]
    fn offload_without_a_header_is_refused() {
        in_namespace(|| {
            let Some(tap) = open(&Options::tap("tap0")) else { return };
            assert!(tap.set_offload(Offload::ALL).unwrap_err().to_string().contains("virtio-net header"));
            tap.set_offload(Offload::default()).unwrap();
        });
    }

    #[test]
    fn errors_say_what_to_do() {
        in_namespace(|| {
            let Some(tap) = open(&Options::tap("tap0")) else { return };
            let busy = Tap::open(&Options::tap("tap0")).unwrap_err();
            assert_eq!(busy.errno(), Some(libc::EBUSY));
            assert!(busy.to_string().contains("another process has this device"), "{busy}");
            let kind = Tap::open(&Options::tap("lo")).unwrap_err();
            assert!(kind.remedy().unwrap().contains("another kind"), "{kind}");
            let down = tap.send(VnetHeader::default(), &[0; 64]).unwrap_err();
            assert!(down.remedy().unwrap().contains("bring the device up"), "{down}");
        });
        for errno in [libc::ENOENT, libc::EACCES, libc::EPERM] {
            assert!(control_remedy(errno).is_some());
        }
    }
}
