//! Sends what the graph prints to other programs over a TCP or Unix socket.
//!
//! TYPE is `TCP`, which listens on PORT, or `UNIX`, which listens on the file FILENAME. A client is greeted by
//! `Click::ChatterSocket/1.0` and then gets a copy of every line that the graph prints on standard error. Nothing is read from
//! clients. One that is more than 500000 bytes behind is sent away.
//!
//! With CHANNEL, clients get what elements such as IPPrint print on that channel, which is not printed on standard error unless
//! QUIET_CHANNEL is false.
//!
//! ```click
//! ChatterSocket(UNIX, /tmp/chatter.sock);
//! RatedSource(RATE 1) -> Print -> Discard;
//! ```

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use args::{Filename, Port, Word};
use element::output::reason;
use element::{
    same, same_ref, Arg, Class, Configure, Ctx, Element, Failed, Phase, Ready, Recess, Role, TimerId,
};

use super::socket::{Attempts, Audience, Listener, Place, State, PATH_MAX};

/// The class. Channels exist before others use them.
pub const CLASS: Class = Class::new::<ChatterSocket>("ChatterSocket", "0/0", "a/a", "x/x")
    .args(ARGS)
    .phase(Phase::INFO)
    .role(Role::Single);

const TYPE: Arg = Arg::required("TYPE", "TCP or UNIX", "What to listen on.");
const PORT: Arg = Arg::required("PORT", "TCP port", "The port of TYPE TCP.");
const FILENAME: Arg = Arg::required("FILENAME", "filename", "The file of TYPE UNIX.");
const CHANNEL: Arg = Arg::keyword("CHANNEL", "word", "The channel to listen to. Default: what is printed.");
const QUIET_CHANNEL: Arg = Arg::keyword(
    "QUIET_CHANNEL",
    "bool",
    "Whether what is printed on the channel does not go to standard error. Default true.",
);
const GREETING: Arg = Arg::keyword("GREETING", "bool", "Whether clients are greeted. Default true.");
const RETRIES: Arg =
    Arg::keyword("RETRIES", "int", "How often to try again, once a second, if it cannot listen. Default 0.");
const RETRY_WARNINGS: Arg =
    Arg::keyword("RETRY_WARNINGS", "bool", "Whether to tell of every vain try. Default true.");
const PLACE: Arg = Arg::rest("PLACE", "port or file", "PORT or FILENAME, as TYPE says.");

const ARGS: &[Arg] = &[
    TYPE,
    Arg::optional("PORT", PORT.ty, PORT.doc),
    Arg::keyword("FILENAME", FILENAME.ty, FILENAME.doc),
    CHANNEL,
    QUIET_CHANNEL,
    GREETING,
    RETRIES,
    RETRY_WARNINGS,
];
/// The arguments before the type is known; what they leave over is that type's.
const KEYWORDS: &[Arg] = &[TYPE, CHANNEL, QUIET_CHANNEL, GREETING, RETRIES, RETRY_WARNINGS, PLACE];

/// The IP protocol number of TCP.
const TCP_PROTOCOL: u8 = 6;
const GREETING_TEXT: &[u8] = b"Click::ChatterSocket/1.0\r\n";

/// See the page above.
pub struct ChatterSocket {
    place: Place,
    channel: String,
    is_quiet: bool,
    greets: bool,
    attempts: Attempts,
    listener: Option<Listener>,
    recess: Recess,
    /// Whether another element's listener will be its own.
    goes_on: bool,
    /// Shared with the ear, which hears what is said on any thread.
    audience: Option<Arc<Mutex<Audience>>>,
}

impl Element for ChatterSocket {
    fn configure(conf: &mut Configure<'_>) -> Result<ChatterSocket, Failed> {
        // Keywords are judged before it is known what else there has to be.
        conf.go_on_with(args::split_args(conf.config), KEYWORDS)?;
        let ty: String = conf.args.need("TYPE");
        conf.proceed()?;
        let Word(channel) = conf.args.get_or("CHANNEL", Word("default".to_string()));
        let is_quiet = conf.args.get_or("QUIET_CHANNEL", true);
        let greets = conf.args.get_or("GREETING", true);
        let n_retries = conf.args.get_or("RETRIES", 0);
        let warns = conf.args.get_or("RETRY_WARNINGS", true);
        let place = place(conf, &ty.to_ascii_uppercase())?;
        let attempts = Attempts::new(n_retries, warns);
        Ok(ChatterSocket {
            place,
            channel,
            is_quiet,
            greets,
            attempts,
            listener: None,
            recess: Recess::default(),
            goes_on: false,
            audience: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let audience = Audience::new().map_err(|error| format!("eventfd: {}", reason(&error)))?;
        ctx.add_select(audience.bell(), Ready::READ)?;
        let audience = Arc::new(Mutex::new(audience));
        let hearer = audience.clone();
        let ear = Box::new(move |text: &str| lock(&hearer).say(text));
        ctx.runtime().listen(&self.channel, self.is_quiet, ear);
        self.audience = Some(audience);
        if self.goes_on {
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
        if self.listener.as_ref().is_some_and(|listener| listener.as_fd().as_raw_fd() == fd) {
            self.accept(ctx);
        } else if let Some(audience) = &self.audience {
            serve(ctx, &mut lock(audience));
        }
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(listener) = self.listener.take() {
            ctx.remove_select(listener.as_fd().as_raw_fd(), Ready::READ);
            if let Place::Unix { path } = &self.place {
                // Somebody else may have removed it.
                let _ = std::fs::remove_file(path);
            }
        }
        if let Some(audience) = self.audience.take() {
            let mut audience = lock(&audience);
            ctx.remove_select(audience.bell().as_raw_fd(), Ready::READ);
            for client in audience.clients() {
                ctx.remove_select(client.number(), Ready::WRITE);
            }
            audience.end();
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<ChatterSocket>(ctx, old) else { return };
        if !self.can_go_on(&old) {
            ctx.chatter("incompatible ChatterSockets");
        } else if self.listener.is_some() {
            ctx.chatter("already initialized, can't take state");
        } else {
            if let Some(listener) = old.listener.take() {
                self.watch(ctx, listener);
            }
            if let (Some(audience), Some(other)) = (&self.audience, &old.audience) {
                let mut audience = lock(audience);
                audience.take_over(&mut lock(other));
                serve(ctx, &mut audience);
            }
        }
        old.cleanup(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on =
            same_ref::<ChatterSocket>(old).is_some_and(|old| old.listener.is_some() && self.can_go_on(old));
    }
}

/// Reads where to listen.
fn place(conf: &mut Configure<'_>, ty: &str) -> Result<Place, Failed> {
    let rest = conf.args.rest();
    match ty {
        "TCP" => {
            conf.go_on_with(rest, &[PORT])?;
            let Port::<TCP_PROTOCOL>(port) = conf.args.need("PORT");
            conf.finish()?;
            Ok(Place::Tcp { port, or_next: false, is_local: false })
        }
        "UNIX" => {
            conf.go_on_with(rest, &[FILENAME])?;
            let Filename(path) = conf.args.need("FILENAME");
            conf.finish()?;
            if path.len() >= PATH_MAX {
                return Err("filename too long".into());
            }
            Ok(Place::Unix { path })
        }
        other => {
            conf.proceed()?;
            Err(format!("unknown socket type `{other}'").into())
        }
    }
}

fn lock(audience: &Mutex<Audience>) -> MutexGuard<'_, Audience> {
    audience.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends to clients what they take, waits for those that are behind, and sends away those that are gone.
fn serve(ctx: &mut Ctx<'_>, audience: &mut Audience) {
    audience.hush();
    audience.send();
    for client in audience.clients() {
        match client.state() {
            // One that cannot be watched gets the rest with the next line.
            State::Behind => drop(ctx.add_select(client.as_fd(), Ready::WRITE)),
            State::Current | State::Gone => ctx.remove_select(client.number(), Ready::WRITE),
        }
    }
    audience.dismiss();
}

impl ChatterSocket {
    fn can_go_on(&self, old: &ChatterSocket) -> bool {
        (&self.place, &self.channel) == (&old.place, &old.channel)
    }

    fn listen(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let (listener, _) = self.attempts.listen(&self.place)?;
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
    fn accept(&mut self, ctx: &mut Ctx<'_>) {
        let (Some(listener), Some(audience)) = (&self.listener, &self.audience) else { return };
        let declaration = ctx.own_declaration();
        let fd: OwnedFd = match listener.accept() {
            Ok((fd, _)) => fd,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
            Err(error) => {
                if self.recess.begin(ctx, listener.as_fd()) {
                    ctx.chatter(&format!("{declaration}: accept: {}", reason(&error)));
                }
                return;
            }
        };
        self.recess.accepted();
        let number = fd.as_raw_fd();
        let is_greeted = rustix::io::ioctl_fionbio(&fd, true).is_ok()
            && (!self.greets || rustix::io::write(&fd, GREETING_TEXT) == Ok(GREETING_TEXT.len()));
        lock(audience).add(fd);
        if !is_greeted {
            ctx.chatter(&format!("{declaration} fd {number}: unable to write greeting!"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, run_until};
    use expect_test::expect;
    use std::io::{ErrorKind, Read};
    use std::os::unix::net::UnixStream;
    use std::path::PathBuf;

    /// A file that is removed on drop.
    struct File(PathBuf);

    impl File {
        fn new(name: &str) -> File {
            File(std::env::temp_dir().join(format!("weir-chatter-{}-{name}", std::process::id())))
        }

        fn name(&self) -> &str {
            self.0.to_str().unwrap()
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    /// Runs a graph until a client that comes first thing has heard `end`; what it heard, and what was printed.
    fn hear(config: &str, file: &File, end: &str) -> (String, String) {
        let mut client: Option<UnixStream> = None;
        let mut heard = String::new();
        let printed = run_until(config, &[], || {
            let client = client.get_or_insert_with(|| {
                let client = UnixStream::connect(file.name()).unwrap();
                client.set_nonblocking(true).unwrap();
                client
            });
            let mut bytes = [0; 1000];
            match client.read(&mut bytes) {
                Ok(n) => heard += std::str::from_utf8(&bytes[..n]).unwrap(),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            heard.ends_with(end)
        });
        (heard, printed)
    }

    #[test]
    fn a_client_is_greeted_and_hears_what_is_printed() {
        let file = File::new("all");
        let config = format!(
            "ChatterSocket(UNIX, {}); TimedSource(0.01, abc, LIMIT 2) -> Print(a) -> IPPrint(b, CHANNEL other) -> Discard;",
            file.name()
        );
        let (heard, printed) = hear(&config, &file, "a:    3 | 616263\na:    3 | 616263\n");
        assert_eq!(heard, format!("Click::ChatterSocket/1.0\r\n{printed}"));
        assert!(!file.0.exists(), "the file is removed in the end");
    }

    #[test]
    fn channels_are_heard_and_printed_if_they_are_not_quiet() {
        for (is_quiet, expected) in [("true", ""), ("false", "b: (not an IP packet)\n")] {
            let file = File::new(&format!("channel-{is_quiet}"));
            let config = format!(
                "TimedSource(0.01, abc, LIMIT 1) -> MarkIPHeader -> IPPrint(b, CHANNEL other, TIMESTAMP false) -> Discard;
                 ChatterSocket(UNIX, {}, CHANNEL other, QUIET_CHANNEL {is_quiet}, GREETING false);",
                file.name()
            );
            let (heard, printed) = hear(&config, &file, "\n");
            assert_eq!(printed, if expected.is_empty() { "" } else { &heard });
        }
    }

    #[test]
    fn a_place_that_is_taken_is_tried_again() {
        let file = File::new("taken");
        let name = file.name().to_string();
        let taken = std::os::unix::net::UnixListener::bind(&name).unwrap();
        let mut rounds = 0;
        let mut taken = Some(taken);
        let told = run_until(&format!("ChatterSocket(UNIX, {name}, RETRIES 3)"), &[], || {
            rounds += 1;
            if rounds == 3 {
                taken = None;
                std::fs::remove_file(&name).unwrap();
            }
            taken.is_none() && UnixStream::connect(&name).is_ok()
        });
        expect![[r#"
            config:1: While initializing 'ChatterSocket@1 :: ChatterSocket':
              warning: bind: Address already in use (3 tries left)
        "#]]
        .assert_eq(&told.replace(&name, "FILE"));
        check(
            "ChatterSocket(UNIX, /nonexistent/socket, RETRIES 1, RETRY_WARNINGS false)",
            expect![[r#"
            bind: No such file or directory
        "#]],
        );
        check(
            "ChatterSocket(UNIX, /nonexistent/socket)",
            expect![[r#"
            config:1: While initializing 'ChatterSocket@1 :: ChatterSocket':
              bind: No such file or directory
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn the_type_may_be_given_by_keyword() {
        let file = File::new("keyword");
        let told = run_until(
            &format!("ChatterSocket(TYPE UNIX, {}); ChatterSocket(TYPE TCP, x)", file.name()),
            &[],
            || true,
        );
        expect![[r#"
            config:1: While configuring 'ChatterSocket@2 :: ChatterSocket':
              PORT: parse error
            Router could not be initialized!
        "#]]
        .assert_eq(&told);
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "ChatterSocket(); ChatterSocket(FOO); ChatterSocket(TCP); ChatterSocket(tcp, foo);
            ChatterSocket(TCP, 1, RETRIES x, FOO); ChatterSocket(TCP, 1, 2); ChatterSocket(UNIX, f, CHANNEL a b)",
            expect![[r#"
                config:1: While configuring 'ChatterSocket@4 :: ChatterSocket':
                  PORT: parse error
                config:1: While configuring 'ChatterSocket@2 :: ChatterSocket':
                  unknown socket type `FOO'
                config:1: While configuring 'ChatterSocket@3 :: ChatterSocket':
                  PORT: required argument missing
                config:1: While configuring 'ChatterSocket@1 :: ChatterSocket':
                  TYPE: required argument missing
                config:2: While configuring 'ChatterSocket@5 :: ChatterSocket':
                  RETRIES: invalid number
                config:2: While configuring 'ChatterSocket@6 :: ChatterSocket':
                  too many arguments
                config:2: While configuring 'ChatterSocket@7 :: ChatterSocket':
                  CHANNEL: parse error
                Router could not be initialized!
            "#]],
        );
    }
}
