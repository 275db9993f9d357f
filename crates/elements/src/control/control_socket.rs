//! Lets other programs read and write handlers over a TCP or Unix socket.
//!
//! TYPE is `TCP`, which listens on PORT (`PORT+` is that port or one of the next), `UNIX`, which listens on the file FILENAME, or
//! `SOCKET`, which serves one client on the open descriptor FD.
//!
//! A client is greeted by `Click::ControlSocket/1.3`. It sends commands, a line each, and gets lines with a number, `200` being
//! good and `5xx` bad; all but the last line of a reply have a hyphen behind the number.
//!
//! | command | what it does |
//! |---|---|
//! | `READ HANDLER [PARAMETER]` | reads a handler; the reply ends with `DATA N` and N bytes |
//! | `READDATA HANDLER N`, `READUNTIL HANDLER [END]` | the same with a parameter of N bytes, or of lines up to the line END |
//! | `WRITE HANDLER [VALUE]`, `WRITEDATA HANDLER N`, `WRITEUNTIL HANDLER [END]` | writes a handler |
//! | `CHECKREAD HANDLER`, `CHECKWRITE HANDLER` | asks whether a handler is there |
//! | `LLRPC ELEMENT#NUMBER [N]` | answers that no element has such a call |
//! | `HELP`, `QUIT` | lists the commands; ends the connection |
//!
//! A line has at most 64 KiB and data at most 16 MiB: more is answered by `500` or `521`, and ends the connection. More than 1024
//! connections at a time are closed at once.
//!
//! HANDLER is `element.handler`, `number.handler` with the element's number counted from 1, or a global handler.
//!
//! ```click
//! ControlSocket(UNIX, /tmp/click.sock);
//! InfiniteSource -> c :: Counter -> Discard;
//! ```

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use element::output::reason;
use element::{
    same, same_ref, Arg, Class, Configure, Ctx, Element, ElementIdx, Failed, Handler, Ready, Recess, Role,
    TimerId,
};

use super::socket::{adopt, Attempts, Connection, Listener, Place, PATH_MAX};

/// The class.
pub const CLASS: Class = Class::new::<ControlSocket>("ControlSocket", "0/0", "a/a", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .role(Role::Single);

const TYPE: Arg = Arg::required("TYPE", "TCP, UNIX or SOCKET", "What to listen on.");
const PORT: Arg = Arg::required("PORT", "TCP port, or PORT+", "The port of TYPE TCP.");
const FILENAME: Arg = Arg::required("FILENAME", "file name", "The file of TYPE UNIX.");
const FD: Arg = Arg::required("FD", "int", "The open descriptor of TYPE SOCKET.");
const READONLY: Arg = Arg::keyword("READONLY", "bool", "Whether nothing can be written. Default false.");
const PROXY: Arg =
    Arg::keyword("PROXY", "element", "The element whose handlers, named `element.handler`, are meant.");
const VERBOSE: Arg =
    Arg::keyword("VERBOSE", "bool", "Whether to tell of new and ended connections. Default false.");
const RETRIES: Arg =
    Arg::keyword("RETRIES", "int", "How often to try again, once a second, if it cannot listen. Default 0.");
const RETRY_WARNINGS: Arg =
    Arg::keyword("RETRY_WARNINGS", "bool", "Whether to tell of every vain try. Default true.");
const LOCALHOST: Arg =
    Arg::keyword("LOCALHOST", "bool", "Whether TCP clients must be on this host. Default false.");
const PLACE: Arg = Arg::rest("PLACE", "port, file or descriptor", "PORT, FILENAME or FD, as TYPE says.");

const ARGS: &[Arg] = &[
    TYPE,
    Arg::optional("PORT", PORT.ty, PORT.doc),
    Arg::keyword("FILENAME", FILENAME.ty, FILENAME.doc),
    Arg::keyword("FD", FD.ty, FD.doc),
    READONLY,
    PROXY,
    VERBOSE,
    RETRIES,
    RETRY_WARNINGS,
    LOCALHOST,
];
/// The arguments before the type is known; what they leave over is that type's.
const KEYWORDS: &[Arg] = &[TYPE, READONLY, PROXY, VERBOSE, RETRIES, RETRY_WARNINGS, LOCALHOST, PLACE];

const HANDLERS: &[Handler] = &[
    Handler::read("port", "The TCP port.").flags("alike"),
    Handler::read("filename", "The name of the Unix socket.").flags("alike"),
];

/// The IP protocol number of TCP.
const TCP_PROTOCOL: u8 = 6;
/// Most connections at a time.
const CONNECTIONS_MAX: usize = 1024;

/// See the page above.
pub struct ControlSocket {
    place: Place,
    /// The port or file; shared with the second hand.
    address: Arc<Mutex<String>>,
    pub(super) is_read_only: bool,
    pub(super) proxy: Option<ElementIdx>,
    is_verbose: bool,
    attempts: Attempts,
    listener: Option<Listener>,
    recess: Recess,
    /// Whether another element's listener and connections will be its own.
    goes_on: bool,
    connections: BTreeMap<i32, Connection>,
}

impl Element for ControlSocket {
    fn configure(conf: &mut Configure<'_>) -> Result<ControlSocket, Failed> {
        // Keywords are judged before it is known what else there has to be.
        conf.go_on_with(args::split_args(conf.config), KEYWORDS)?;
        let ty: String = conf.args.need("TYPE");
        conf.proceed()?;
        let is_read_only = conf.args.get_or("READONLY", false);
        let proxy = conf.element("PROXY", &[]);
        let is_verbose = conf.args.get_or("VERBOSE", false);
        let n_retries = conf.args.get_or("RETRIES", 0);
        let warns = conf.args.get_or("RETRY_WARNINGS", true);
        let is_local = conf.args.get_or("LOCALHOST", false);
        let place = place(conf, &ty, is_local)?;
        let address = Arc::new(Mutex::new(place.address()));
        Ok(ControlSocket {
            place,
            address,
            is_read_only,
            proxy,
            is_verbose,
            attempts: Attempts::new(n_retries, warns),
            listener: None,
            recess: Recess::default(),
            goes_on: false,
            connections: BTreeMap::new(),
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if self.goes_on {
            return Ok(());
        }
        if let Place::Socket { fd } = self.place {
            let fd = adopt(fd).map_err(|error| format!("socket: {}", reason(&error)))?;
            self.welcome(ctx, fd);
            return Ok(());
        }
        match self.listen(ctx) {
            Err(message) => self.attempts.begin(ctx, message),
            Ok(()) => Ok(()),
        }
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        let listener = self.listener.as_ref().map(Listener::as_fd);
        if !self.recess.end(ctx, timer, listener) && self.listener.is_none() {
            if let Err(message) = self.listen(ctx) {
                self.attempts.go_on(ctx, timer, &message);
            }
        }
    }

    fn selected(&mut self, ctx: &mut Ctx<'_>, fd: i32, _ready: Ready) {
        let is_listener = self.listener.as_ref().is_some_and(|l| l.as_fd().as_raw_fd() == fd);
        let fd = if is_listener { self.accept(ctx) } else { Some(fd) };
        if let Some(fd) = fd {
            self.serve(ctx, fd);
        }
    }

    fn second_hand(&self) -> Option<Box<dyn Element>> {
        Some(Box::new(ControlSocket {
            place: self.place.clone(),
            address: self.address.clone(),
            listener: None,
            connections: BTreeMap::new(),
            ..*self
        }))
    }

    fn has_handler(&self, name: &str) -> bool {
        match name {
            "port" => matches!(self.place, Place::Tcp { .. }),
            "filename" => matches!(self.place, Place::Unix { .. }),
            _ => true,
        }
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match (name, &self.place) {
            ("port", Place::Tcp { .. }) | ("filename", Place::Unix { .. }) => {
                Ok(self.address.lock().unwrap_or_else(PoisonError::into_inner).clone())
            }
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn cleanup(&mut self, _ctx: &mut Ctx<'_>) {
        if let (Some(_), Place::Unix { path }) = (self.listener.take(), &self.place) {
            // Somebody else may have removed it.
            let _ = std::fs::remove_file(path);
        }
        for connection in self.connections.values_mut() {
            connection.close();
        }
        self.connections.clear();
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<ControlSocket>(ctx, old) else { return };
        if self.can_go_on(&old) {
            self.go_on_from(ctx, &mut old);
        }
        old.cleanup(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on = same_ref::<ControlSocket>(old).is_some_and(|old| {
            self.can_go_on(old) && (old.listener.is_some() || !old.connections.is_empty())
        });
    }
}

/// Reads where to listen.
fn place(conf: &mut Configure<'_>, ty: &str, is_local: bool) -> Result<Place, Failed> {
    let rest = conf.args.rest();
    match ty.to_ascii_uppercase().as_str() {
        "TCP" => {
            conf.go_on_with(rest, &[PORT])?;
            let text: args::Word = conf.args.need("PORT");
            conf.finish()?;
            if let Ok(port) = args::port(&text.0, conf.scope, TCP_PROTOCOL) {
                return Ok(Place::Tcp { port, or_next: false, is_local });
            }
            let port = text.0.strip_suffix('+').and_then(|number| args::integer::<u16>(number).ok());
            let port = port.filter(|port| *port > 0).ok_or("PORT requires TCP port")?;
            Ok(Place::Tcp { port, or_next: true, is_local })
        }
        "UNIX" => {
            conf.go_on_with(rest, &[FILENAME])?;
            let path: args::Filename = conf.args.need("FILENAME");
            conf.finish()?;
            if path.0.len() >= PATH_MAX {
                return Err("filename too long".into());
            }
            Ok(Place::Unix { path: path.0 })
        }
        "SOCKET" => {
            conf.go_on_with(rest, &[FD])?;
            let fd = conf.args.need("FD");
            conf.finish()?;
            Ok(Place::Socket { fd })
        }
        other => {
            conf.proceed()?;
            Err(format!("unknown socket type '{other}'").into())
        }
    }
}

impl ControlSocket {
    fn can_go_on(&self, old: &ControlSocket) -> bool {
        let or_next = matches!(self.place, Place::Tcp { or_next: true, .. });
        let is_same_type = std::mem::discriminant(&self.place) == std::mem::discriminant(&old.place);
        is_same_type && (self.place == old.place || or_next)
    }

    /// Goes on with another one's listener and connections.
    fn go_on_from(&mut self, ctx: &mut Ctx<'_>, old: &mut ControlSocket) {
        if self.listener.is_some() {
            return ctx.chatter("already initialized, can't take state");
        }
        let address = old.address.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.set_address(address);
        self.connections = std::mem::take(&mut old.connections);
        if let Some(listener) = old.listener.take() {
            self.watch(ctx, listener);
        }
        for connection in self.connections.values() {
            // What cannot be watched is served when the client sends something again.
            let _ = ctx.add_select(connection.as_fd(), Ready { read: connection.wants_read(), write: true });
        }
    }

    fn set_address(&self, address: String) {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    /// Begins to listen. The error is what to tell the user.
    fn listen(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let (listener, address) = self.attempts.listen(&self.place)?;
        self.set_address(address);
        self.watch(ctx, listener);
        Ok(())
    }

    fn watch(&mut self, ctx: &mut Ctx<'_>, listener: Listener) {
        if let Err(message) = ctx.add_select(listener.as_fd(), Ready::READ) {
            ctx.chatter(&message);
        }
        self.listener = Some(listener);
    }

    /// Accepts a client.
    fn accept(&mut self, ctx: &mut Ctx<'_>) -> Option<i32> {
        let listener = self.listener.as_ref()?;
        let accepted = listener.accept();
        if accepted.is_ok() {
            self.recess.accepted();
        }
        match accepted {
            Ok((fd, _)) if self.connections.len() >= CONNECTIONS_MAX => {
                if self.is_verbose {
                    self.tell(ctx, &format!("closed connection {}: there are too many", fd.as_raw_fd()));
                }
                None
            }
            Ok((fd, peer)) => {
                if self.is_verbose {
                    let from = peer.map(|peer| format!(" from {peer}")).unwrap_or_default();
                    self.tell(ctx, &format!("opened connection {}{from}", fd.as_raw_fd()));
                }
                self.welcome(ctx, fd)
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
            Err(error) => {
                if self.recess.begin(ctx, listener.as_fd()) {
                    self.tell(ctx, &format!("accept: {}", reason(&error)));
                }
                None
            }
        }
    }

    fn tell(&self, ctx: &mut Ctx<'_>, message: &str) {
        ctx.chatter(&format!("{}: {message}", ctx.own_declaration()));
    }

    fn welcome(&mut self, ctx: &mut Ctx<'_>, fd: OwnedFd) -> Option<i32> {
        let connection = Connection::open(fd).ok()?;
        ctx.add_select(connection.as_fd(), Ready { read: true, write: true }).ok()?;
        let fd = connection.as_fd().as_raw_fd();
        self.connections.insert(fd, connection);
        Some(fd)
    }

    /// Receives, answers one command and sends, so that one client does not keep all others waiting.
    fn serve(&mut self, ctx: &mut Ctx<'_>, fd: i32) {
        let Some(mut connection) = self.connections.remove(&fd) else { return };
        connection.receive();
        connection.end_wait();
        if let Some(command) = connection.next_command() {
            self.answer(ctx, &mut connection, command);
        }
        connection.flush();
        if connection.is_over() {
            ctx.remove_select(fd, Ready { read: true, write: true });
            drop(connection);
            if self.is_verbose {
                self.tell(ctx, &format!("closed connection {fd}"));
            }
            return;
        }
        let (wants_read, wants_write) = (connection.wants_read(), connection.wants_write());
        ctx.remove_select(fd, Ready { read: !wants_read, write: !wants_write });
        if wants_read || wants_write {
            let _ = ctx.add_select(connection.as_fd(), Ready { read: wants_read, write: wants_write });
        }
        self.connections.insert(fd, connection);
    }
}

#[cfg(test)]
mod tests {
    use super::CONNECTIONS_MAX;
    use crate::testing::{check, run_until};
    use expect_test::expect;
    use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
    use std::io::{ErrorKind, Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn connections_beyond_the_limit_are_closed_at_once() {
        // Both ends of all are in this process.
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
        let path = std::env::temp_dir().join(format!("weir-control-{}", std::process::id()));
        let mut clients: Vec<(UnixStream, Option<usize>)> = Vec::new();
        let mut is_gone = false;
        let printed = run_until(&format!("ControlSocket(UNIX, {})", path.display()), &[], || {
            if let Some((client, n_heard @ None)) = clients.last_mut() {
                match client.read(&mut [0; 100]) {
                    Ok(n) => *n_heard = Some(n),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                }
                return false;
            }
            if clients.len() == CONNECTIONS_MAX + 2 {
                return true;
            }
            if clients.len() == CONNECTIONS_MAX + 1 && !is_gone {
                // Where one has gone there is room for another.
                clients[0].0.shutdown(std::net::Shutdown::Write).unwrap();
                is_gone = clients[0].0.read(&mut [0]).is_ok_and(|n| n == 0);
                return false;
            }
            let client = UnixStream::connect(&path).unwrap();
            client.set_nonblocking(true).unwrap();
            clients.push((client, None));
            false
        });
        assert_eq!(printed, "");
        let heard: Vec<Option<usize>> = clients.iter().map(|client| client.1).collect();
        let banner = Some("Click::ControlSocket/1.3\r\n".len());
        assert!(heard[..CONNECTIONS_MAX].iter().all(|n_heard| *n_heard == banner));
        assert_eq!(heard[CONNECTIONS_MAX..], [Some(0), banner]);
    }

    /// What a client hears that sends these commands, without the greeting.
    fn answers(name: &str, config: &str, commands: &str) -> String {
        let path = std::env::temp_dir().join(format!("weir-control-{name}-{}", std::process::id()));
        let mut client: Option<UnixStream> = None;
        let mut heard = Vec::new();
        let socket = format!("ControlSocket(TYPE UNIX, {}); {config}", path.display());
        run_until(&socket, &[], || {
            let client = client.get_or_insert_with(|| {
                let mut client = UnixStream::connect(&path).unwrap();
                client.write_all(format!("{commands}quit\n").as_bytes()).unwrap();
                client.set_nonblocking(true).unwrap();
                client
            });
            !matches!(client.read_to_end(&mut heard), Err(error) if error.kind() == ErrorKind::WouldBlock)
        });
        let heard = String::from_utf8(heard).unwrap().replace('\r', "");
        heard.lines().skip(1).map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn a_write_that_only_warns_is_none_that_fails() {
        let heard = answers(
            "warns",
            "Idle -> p :: Print(a) -> Discard; Idle -> s :: Shaper(5) -> Idle",
            "write p.config a, LENGTH 5\nwrite p.config a, LENGTH x\nwrite s.rate 4294967295\nread s.rate\n",
        );
        expect![[r#"
            220-Write handler 'p.config' OK with warnings:
            220 LENGTH: warning: argument deprecated
            520-Write handler 'p.config' error:
            520-LENGTH: warning: argument deprecated
            520 LENGTH: invalid number
            520-Write handler 's.rate' error:
            520 rate too large; lowered to 4096000000
            200 Read handler 's.rate' OK
            DATA 10
            4096000000200 Goodbye!
        "#]]
        .assert_eq(&heard);
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "ControlSocket(); ControlSocket(FOO); ControlSocket(TCP); ControlSocket(tcp, foo);
            ControlSocket(TCP, 1, RETRIES x, FOO); ControlSocket(UNIX, f, PROXY nobody); ControlSocket(TCP, 1, 2);
            ControlSocket(TYPE TCP, foo); ControlSocket(TYPE TCP, 1, VERBOSE true, 2)",
            expect![[r#"
                config:1: While configuring 'ControlSocket@1 :: ControlSocket':
                  TYPE: required argument missing
                config:1: While configuring 'ControlSocket@2 :: ControlSocket':
                  unknown socket type 'FOO'
                config:1: While configuring 'ControlSocket@3 :: ControlSocket':
                  PORT: required argument missing
                config:1: While configuring 'ControlSocket@4 :: ControlSocket':
                  PORT requires TCP port
                config:2: While configuring 'ControlSocket@5 :: ControlSocket':
                  RETRIES: invalid number
                config:2: While configuring 'ControlSocket@6 :: ControlSocket':
                  PROXY: does not name an element
                config:2: While configuring 'ControlSocket@7 :: ControlSocket':
                  too many arguments
                config:3: While configuring 'ControlSocket@8 :: ControlSocket':
                  PORT requires TCP port
                config:3: While configuring 'ControlSocket@9 :: ControlSocket':
                  too many arguments
                Router could not be initialized!
            "#]],
        );
        check(
            "ControlSocket(UNIX, /nonexistent/socket)",
            expect![[r#"
            config:1: While initializing 'ControlSocket@1 :: ControlSocket':
              bind: No such file or directory
            Router could not be initialized!
        "#]],
        );
        check(
            "ControlSocket(UNIX, /nonexistent/socket, RETRIES 1)",
            expect![[r#"
            config:1: While initializing 'ControlSocket@1 :: ControlSocket':
              warning: bind: No such file or directory (1 try left)
            bind: No such file or directory
        "#]],
        );
    }
}
