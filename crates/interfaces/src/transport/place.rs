//! Which socket, where, and with what at its other end, as the arguments say.

use std::net::{Ipv4Addr, SocketAddrV4};

use args::{Filename, Port};
use element::{Arg, Configure, Failed};
use socket2::{Domain, Protocol, SockAddr, Type};

/// Bytes of the longest name of a Unix socket, and its end.
pub const PATH_MAX: usize = 108;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// What kind of socket.
pub const TYPE: Arg = Arg::required("TYPE", "TCP, UDP, UNIX or UNIX_DGRAM", "What kind of socket.");
const ADDR: Arg = Arg::required("ADDR", "IP address", "The server's address.");
const PORT: Arg = Arg::required("PORT", "port", "The server's port.");
const LOCAL_ADDR: Arg = Arg::optional("LOCAL_ADDR", "IP address", "A client's own address.");
const LOCAL_PORT: Arg = Arg::optional("LOCAL_PORT", "port", "A client's own port.");
const FILENAME: Arg = Arg::required("FILENAME", "filename", "The server's file.");
const LOCAL_FILENAME: Arg = Arg::optional("LOCAL_FILENAME", "filename", "A client's own file.");

const INTERNET: &[Arg] = &[ADDR, PORT, LOCAL_ADDR, LOCAL_PORT];
const UNIX: &[Arg] = &[FILENAME, LOCAL_FILENAME];

/// Which socket, where, and with what at its other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// TCP, or UDP if it has datagrams.
    Internet { has_datagrams: bool, remote: SocketAddrV4, local: SocketAddrV4 },
    /// Files; no local one if empty.
    Unix { has_datagrams: bool, remote: String, local: String },
    /// Where a switch says whose control socket this is.
    Switch { control: String },
}

impl Place {
    /// Reads the arguments that TYPE `ty` has, from what the others left over.
    pub fn read(conf: &mut Configure<'_>, ty: &str) -> Result<Place, Failed> {
        match ty {
            "TCP" => internet::<TCP>(conf),
            "UDP" => internet::<UDP>(conf),
            "UNIX" | "UNIX_DGRAM" => unix(conf, ty == "UNIX_DGRAM"),
            _ => Err(format!("unknown socket type `{ty}'").into()),
        }
    }

    /// Whether packets are datagrams, as opposed to a stream of bytes.
    pub fn has_datagrams(&self) -> bool {
        match self {
            Place::Internet { has_datagrams, .. } | Place::Unix { has_datagrams, .. } => *has_datagrams,
            Place::Switch { .. } => true,
        }
    }

    /// Whether it is a TCP socket.
    pub fn is_tcp(&self) -> bool {
        matches!(self, Place::Internet { has_datagrams: false, .. })
    }

    /// What the system is to be asked for.
    pub fn kind(&self) -> (Domain, Type, Option<Protocol>) {
        let ty = if self.has_datagrams() { Type::DGRAM } else { Type::STREAM };
        match self {
            Place::Internet { has_datagrams: true, .. } => (Domain::IPV4, ty, Some(Protocol::UDP)),
            Place::Internet { .. } => (Domain::IPV4, ty, Some(Protocol::TCP)),
            Place::Unix { .. } | Place::Switch { .. } => (Domain::UNIX, ty, None),
        }
    }

    /// The server's address, or that of a switch's control socket.
    pub fn remote(&self) -> std::io::Result<SockAddr> {
        match self {
            Place::Internet { remote, .. } => Ok(SockAddr::from(*remote)),
            Place::Unix { remote: name, .. } | Place::Switch { control: name } => SockAddr::unix(name),
        }
    }

    /// A client's own address, if it is to have a certain one.
    pub fn local(&self) -> std::io::Result<Option<SockAddr>> {
        match self {
            Place::Internet { local, .. } if local.port() != 0 => Ok(Some(SockAddr::from(*local))),
            Place::Unix { local, .. } if !local.is_empty() => SockAddr::unix(local).map(Some),
            _ => Ok(None),
        }
    }

    /// The port of datagrams that go to their own destinations, if that is where they go.
    pub fn annotated_port(&self) -> Option<u16> {
        match self {
            Place::Internet { has_datagrams: true, remote, .. } if remote.ip().is_unspecified() => {
                Some(remote.port())
            }
            _ => None,
        }
    }

    /// The file that comes into being with the socket.
    pub fn file(&self, is_client: bool) -> Option<&str> {
        let Place::Unix { remote, local, .. } = self else { return None };
        let file = if is_client { local } else { remote };
        (!file.is_empty() && !file.starts_with('\0')).then_some(file)
    }

    /// The server's address in a user's words.
    pub fn describe(&self) -> String {
        match self {
            Place::Internet { remote, .. } => remote.to_string(),
            Place::Unix { remote: name, .. } | Place::Switch { control: name } => name.clone(),
        }
    }
}

fn internet<const PROTOCOL: u8>(conf: &mut Configure<'_>) -> Result<Place, Failed> {
    let rest = conf.args.rest();
    conf.go_on_with(rest, INTERNET)?;
    let remote: Ipv4Addr = conf.args.need("ADDR");
    let Port::<PROTOCOL>(remote_port) = conf.args.need("PORT");
    let local = conf.args.get_or("LOCAL_ADDR", Ipv4Addr::UNSPECIFIED);
    let Port::<PROTOCOL>(local_port) = conf.args.get_or("LOCAL_PORT", Port(0));
    conf.finish()?;
    Ok(Place::Internet {
        has_datagrams: PROTOCOL == UDP,
        remote: SocketAddrV4::new(remote, remote_port),
        local: SocketAddrV4::new(local, local_port),
    })
}

fn unix(conf: &mut Configure<'_>, has_datagrams: bool) -> Result<Place, Failed> {
    let rest = conf.args.rest();
    conf.go_on_with(rest, UNIX)?;
    let Filename(remote) = conf.args.need("FILENAME");
    let Filename(local) = conf.args.get_or("LOCAL_FILENAME", Filename::default());
    conf.finish()?;
    for (name, whose) in [(&remote, "remote"), (&local, "local")] {
        // A name that begins with a zero byte belongs to no file and needs no byte to end it.
        let room = if name.starts_with('\0') { PATH_MAX } else { PATH_MAX - 1 };
        if name.len() > room {
            return Err(format!("{whose} filename '{name}' too long").into());
        }
    }
    Ok(Place::Unix { has_datagrams, remote, local })
}
