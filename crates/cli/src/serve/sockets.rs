//! The daemon's sockets.

use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use daemon::http::{self, tls::Tls};
use daemon::metrics::push::{self, Collector};
use daemon::metrics::Teller;
use daemon::roles::{Role, Who};
use daemon::Service;
use rustix::process::geteuid;
use sys::unix::{listen_at, Listening, SocketFile, MAX_PATH};

use super::activation::{self, State};
use super::ServeOptions;

/// The sockets, listening.
pub struct Listeners {
    unix: UnixListener,
    /// Where it is.
    place: PathBuf,
    /// Its file, which goes when this is dropped; none if somebody else made the socket.
    pub file: Option<SocketFile>,
    /// Members of this group may operate.
    group: Option<u32>,
    tcp: Option<std::net::TcpListener>,
}

/// How long others that begin to listen at the same time are waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// The folder that keeps the configuration by default.
pub fn state_folder() -> Result<PathBuf, String> {
    if geteuid().is_root() {
        return Ok(PathBuf::from("/var/lib/weir"));
    }
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")));
    base.map(|base| base.join("weir"))
        .ok_or_else(|| "there is no home folder: give --state FOLDER or --volatile".to_string())
}

/// The socket of this user's daemon by default.
pub fn socket() -> Result<PathBuf, String> {
    if geteuid().is_root() {
        return Ok(PathBuf::from("/run/weir.socket"));
    }
    Ok(crate::control::protocol::folder()?.join("api.socket"))
}

/// Where the daemon answers: at the service manager's socket, if it gives one.
pub fn place(options: &ServeOptions, given: Option<&UnixListener>) -> Result<PathBuf, String> {
    let wanted = options.socket.clone().map(|path| std::path::absolute(&path).unwrap_or(path));
    let given = given.and_then(|socket| socket.local_addr().ok()?.as_pathname().map(Path::to_path_buf));
    match (wanted, given) {
        (Some(wanted), Some(given)) if wanted != given => {
            let (unused, used) = (wanted.display(), given.display());
            tracing::warn!(target: "weir", "--socket {unused} is not made: the service manager gives {used}");
            Ok(given)
        }
        (_, Some(given)) => Ok(given),
        (Some(wanted), None) => Ok(wanted),
        (None, None) => socket(),
    }
}

/// Begins to listen at a place, unless the service manager does.
pub fn open(
    options: &ServeOptions,
    given: Option<UnixListener>,
    place: PathBuf,
) -> Result<Listeners, String> {
    let group = options.group.as_deref().map(group_number).transpose()?;
    let tcp = options.listen.map(|address| {
        std::net::TcpListener::bind(address)
            .map_err(|error| format!("--listen {address}: {}", element::output::reason(&error)))
    });
    let tcp = tcp.transpose()?;
    if let Some(unix) = given {
        return Ok(Listeners { unix, place, file: None, group, tcp });
    }
    // It is told of as it was given.
    let path = options.socket.clone().unwrap_or_else(|| place.clone());
    let failed = |error: std::io::Error| format!("{}: {}", path.display(), element::output::reason(&error));
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        let (path, folder) = (path.display(), folder.display());
        return Err(format!(
            "--socket {path}: there is no folder {folder}; make it with `mkdir -p {folder}`"
        ));
    }
    refuse_impossible(&path)?;
    let Listening::Here(unix, file) = listen_at(&path, PATIENCE).map_err(failed)? else {
        return Err(format!(
            "{}: a daemon answers there already; stop it, or give another --socket and --state",
            path.display()
        ));
    };
    let mode = if group.is_some() { 0o660 } else { 0o600 };
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).map_err(failed)?;
    if group.is_some() {
        std::os::unix::fs::chown(&path, None, group).map_err(failed)?;
    }
    Ok(Listeners { unix, place, file: Some(file), group, tcp })
}

/// Refuses a path at which no socket can be.
fn refuse_impossible(path: &Path) -> Result<(), String> {
    let is_socket_or_nothing =
        std::fs::symlink_metadata(path).map_or(true, |facts| facts.file_type().is_socket());
    let why = match path.as_os_str().len() {
        len if len > MAX_PATH => format!("its path has {len} bytes; that of a socket may have {MAX_PATH}"),
        _ if path.is_dir() => {
            format!("it is a folder; name a socket in it, such as {}", path.join("weir.socket").display())
        }
        _ if !is_socket_or_nothing => "it is a file and no socket; give another path".to_string(),
        _ => return Ok(()),
    };
    Err(format!("--socket {}: {why}", path.display()))
}

/// The number of a group, given by name or number.
fn group_number(text: &str) -> Result<u32, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    let found = groups.lines().find_map(|line| {
        let mut words = line.split(':');
        (words.next() == Some(text)).then(|| words.nth(1)?.parse().ok()).flatten()
    });
    found.ok_or_else(|| format!("--group {text}: there is no such group"))
}

/// How long the end waits for requests that are being worked on.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// Serves until the end.
pub fn serve(
    service: Arc<Service>,
    listeners: Listeners,
    tls: Option<Arc<Tls>>,
    collector: Option<(Collector, Duration)>,
    ending: http::Ending,
) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(8).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let Listeners { unix, place, file: _, group, tcp } = listeners;
    let served = runtime.block_on(async move {
        let failed = |error: std::io::Error| error.to_string();
        unix.set_nonblocking(true).map_err(failed)?;
        let unix = tokio::net::UnixListener::from_std(unix).map_err(failed)?;
        let mut over_tls = None;
        if let (Some(tcp), Some(tls)) = (tcp, tls) {
            tcp.set_nonblocking(true).map_err(failed)?;
            let tcp = tokio::net::TcpListener::from_std(tcp).map_err(failed)?;
            over_tls = Some(tokio::spawn(http::serve_tls(service.clone(), tcp, tls, ending.clone())));
        }
        if let Some((collector, interval)) = collector {
            let teller = Teller::at(&place.display().to_string());
            tokio::spawn(push::push(service.clone(), collector, interval, teller));
        }
        activation::tell(State::Ready);
        let own = geteuid().as_raw();
        let peers = Arc::new(move |user, groups: &[u32]| Who {
            name: format!("uid:{user}"),
            role: role_of(user, groups, own, group),
        });
        http::serve_unix(service, unix, peers, ending).await;
        if let Some(over_tls) = over_tls {
            let _ = over_tls.await;
        }
        Ok(())
    });
    runtime.shutdown_timeout(END_TIMEOUT);
    served
}

/// Root and the daemon's own user administer, members of the group operate, others read.
fn role_of(user: u32, groups: &[u32], own: u32, group: Option<u32>) -> Role {
    match user == 0 || user == own {
        true => Role::Administer,
        false if group.is_some_and(|group| groups.contains(&group)) => Role::Operate,
        false => Role::Read,
    }
}
