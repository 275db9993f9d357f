//! The daemon's sockets.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use daemon::http::{self, tls::Tls};
use daemon::metrics::push::{self, Collector};
use daemon::roles::{Role, Who};
use daemon::Service;
use rustix::process::geteuid;

use super::activation::{self, State};
use super::ServeOptions;

/// The sockets, listening.
pub struct Listeners {
    unix: std::os::unix::net::UnixListener,
    /// The file to remove at the end; none if somebody else made the socket.
    path: Option<PathBuf>,
    /// Members of this group may operate.
    group: Option<u32>,
    tcp: Option<std::net::TcpListener>,
}

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

/// Begins to listen.
pub fn open(options: &ServeOptions) -> Result<Listeners, String> {
    let group = options.group.as_deref().map(group_number).transpose()?;
    let tcp = options.listen.map(|address| {
        std::net::TcpListener::bind(address)
            .map_err(|error| format!("--listen {address}: {}", element::output::reason(&error)))
    });
    let tcp = tcp.transpose()?;
    if let Some(unix) = activation::socket()? {
        return Ok(Listeners { unix, path: None, group, tcp });
    }
    let path = options.socket.clone().map_or_else(socket, Ok)?;
    let failed = |error: std::io::Error| format!("{}: {}", path.display(), element::output::reason(&error));
    if std::os::unix::net::UnixStream::connect(&path).is_ok() {
        return Err(format!(
            "{}: a daemon answers there already; stop it, or give another --socket and --state",
            path.display()
        ));
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    // Nobody answers: what is there was left by a daemon that was killed.
    remove_socket(&path);
    let unix = std::os::unix::net::UnixListener::bind(&path).map_err(failed)?;
    let mode = if group.is_some() { 0o660 } else { 0o600 };
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).map_err(failed)?;
    if group.is_some() {
        std::os::unix::fs::chown(&path, None, group).map_err(failed)?;
    }
    Ok(Listeners { unix, path: Some(path), group, tcp })
}

fn remove_socket(path: &Path) {
    let is_socket = |data: &std::fs::Metadata| std::os::unix::fs::FileTypeExt::is_socket(&data.file_type());
    if std::fs::symlink_metadata(path).is_ok_and(|data| is_socket(&data)) {
        let _ = std::fs::remove_file(path);
    }
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

/// Serves until the process ends.
pub fn serve(
    service: Arc<Service>,
    listeners: Listeners,
    tls: Option<Arc<Tls>>,
    collector: Option<(Collector, Duration)>,
) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(8).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let Listeners { unix, path, group, tcp } = listeners;
    let _removed = Removed(path);
    runtime.block_on(async move {
        let failed = |error: std::io::Error| error.to_string();
        unix.set_nonblocking(true).map_err(failed)?;
        let unix = tokio::net::UnixListener::from_std(unix).map_err(failed)?;
        let mut tasks = Vec::new();
        if let (Some(tcp), Some(tls)) = (tcp, tls) {
            tcp.set_nonblocking(true).map_err(failed)?;
            let tcp = tokio::net::TcpListener::from_std(tcp).map_err(failed)?;
            tasks.push(tokio::spawn(http::serve_tls(service.clone(), tcp, tls)));
        }
        if let Some((collector, interval)) = collector {
            tasks.push(tokio::spawn(push::push(service.clone(), collector, interval)));
        }
        activation::tell(State::Ready);
        let own = geteuid().as_raw();
        let peers = Arc::new(move |user, of_group| Who {
            name: format!("uid:{user}"),
            role: role_of(user, of_group, own, group),
        });
        http::serve_unix(service, unix, peers).await;
        Ok(())
    })
}

/// Root and the daemon's own user administer, members of the group operate, others read.
fn role_of(user: u32, of_group: u32, own: u32, group: Option<u32>) -> Role {
    match user == 0 || user == own {
        true => Role::Administer,
        false if group == Some(of_group) => Role::Operate,
        false => Role::Read,
    }
}

/// A file that is removed at the end.
struct Removed(Option<PathBuf>);

impl Drop for Removed {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            remove_socket(path);
        }
    }
}
