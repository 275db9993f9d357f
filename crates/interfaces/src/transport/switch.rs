//! How `uml_switch` is joined: by a request with one's own address, to which it answers with the one that it wants frames at.

use std::ffi::OsStr;
use std::io::{Error, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use element::output::reason;
use element::Ctx;
use socket2::{Domain, SockAddr, Socket, Type};

use super::opening::during;
use super::place::PATH_MAX;

/// Bytes of an address: family and name.
const ADDRESS: usize = 2 + PATH_MAX;
const FAMILY: u16 = 1;
/// Bytes of a request: magic, version and type, four each, then an address, and padding.
const REQUEST: usize = 124;
const MAGIC: u32 = 0xfeed_face;
const VERSION: u32 = 3;
/// How long the switch may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Names that are tried before it is given up.
const MAX_TRIES: u32 = 1000;

type Name = [u8; PATH_MAX];

/// The sockets that lead to a switch.
pub struct Joined {
    pub control: Socket,
    pub data: Socket,
    /// Where frames are sent to.
    pub remote: SockAddr,
}

/// Joins the switch with this control socket. Errors are in Click's words.
pub fn join(ctx: &mut Ctx<'_>, path: &str) -> Result<Joined, String> {
    if path.len() >= PATH_MAX {
        return Err("path to uml_switch control socket too long".to_string());
    }
    let connected = Socket::new(Domain::UNIX, Type::STREAM, None)
        .map_err(|_| "could not create control socket".to_string())?;
    let mut control = SockAddr::unix(path)
        .and_then(|address| connected.connect(&address))
        .map(|()| connected)
        .map_err(|error| format!("could not connect to control socket {path}: {}", reason(&error)))?;
    let (data, name) = bind(ctx).map_err(during("bind"))?;
    let written = control.set_read_timeout(Some(PATIENCE)).and_then(|()| control.write_all(&request(&name)));
    written.map_err(|error| format!("control setup request failed: {}", reason(&error)))?;
    let mut answer = [0; ADDRESS];
    let remote = control.read_exact(&mut answer).and_then(|()| address_in(&answer));
    let remote = remote.map_err(|error| format!("read of data socket failed: {}", reason(&error)))?;
    Ok(Joined { control, data, remote })
}

/// A socket of datagrams under a name that nobody else has: a zero byte, the process's number and a time.
fn bind(ctx: &mut Ctx<'_>) -> std::io::Result<(Socket, Name)> {
    let socket = Socket::new(Domain::UNIX, Type::DGRAM, None)?;
    let microseconds = (ctx.now_ns() / 1000).rem_euclid(1_000_000) as u32;
    let mut result = Err(Error::from(ErrorKind::AddrInUse));
    for number in (microseconds..).take(MAX_TRIES as usize) {
        let mut name = [0; PATH_MAX];
        name[4..8].copy_from_slice(&std::process::id().to_ne_bytes());
        name[8..12].copy_from_slice(&number.to_ne_bytes());
        result =
            SockAddr::unix(OsStr::from_bytes(&name)).and_then(|address| socket.bind(&address)).map(|()| name);
        match &result {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            _ => break,
        }
    }
    result.map(|name| (socket, name))
}

fn request(name: &Name) -> [u8; REQUEST] {
    let mut request = [0; REQUEST];
    request[..4].copy_from_slice(&MAGIC.to_ne_bytes());
    request[4..8].copy_from_slice(&VERSION.to_ne_bytes());
    request[12..14].copy_from_slice(&FAMILY.to_ne_bytes());
    request[14..14 + PATH_MAX].copy_from_slice(name);
    request
}

/// The address that a switch has answered with: a file's path, or a name of its own that begins with a zero byte.
fn address_in(answer: &[u8; ADDRESS]) -> std::io::Result<SockAddr> {
    let name = answer.get(2..).unwrap_or_default();
    let end = match name.first() {
        Some(0) => name.len(),
        _ => name.iter().position(|byte| *byte == 0).unwrap_or(name.len()),
    };
    SockAddr::unix(OsStr::from_bytes(name.get(..end).unwrap_or_default()))
}
