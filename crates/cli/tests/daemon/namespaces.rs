//! Network namespaces with a daemon, in which tests run their scripts.

use super::process::Place;

/// What scripts begin with: they end at the first error, and complaints are part of what they print. `make_space` makes a namespace
/// and sets `space` to the process that keeps it, which is in it by then. `send DEVICE N LENGTH` sends frames with so many bytes behind
/// their headers.
const PRELUDE: &str = r#"
set -eu
exec 2>&1
make_space() {
  unshare -n sleep 1000 & space=$!
  until [ "$(readlink /proc/$space/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
}
send() { python3 -c '
import socket, sys
device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
device.bind((sys.argv[1], 0))
for _ in range(int(sys.argv[2])):
    device.send(b"\2\0\0\0\0\1\2\0\0\0\0\2\x88\xb5" + bytes(int(sys.argv[3])))
' "$@"; }
"#;

/// A daemon in one namespace, and another one for whom it joins: `in_other` runs commands there.
const DAEMON: &str = r#"
export WEIR_SOCKET=api.socket
ip link set lo up
weir serve --volatile --socket api.socket 2>serve.log &
daemon=$!
make_space; other=$space
trap 'kill $daemon $other 2>/dev/null || :' EXIT
in_other() { nsenter -t $other -n "$@"; }
while ! weir show >/dev/null 2>&1; do sleep 0.05; done
"#;

/// Runs a script in namespaces of its own, for devices and for mounts, which needs root, as whom CI runs; `None` for others.
pub fn run(script: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP needs root to make devices");
        return None;
    }
    let place = Place::new(0);
    Some(
        place.output(&format!(
            "exec unshare -nm bash -c \"$(cat <<'SCRIPT'\n{PRELUDE}\n{script}\nSCRIPT\n)\""
        )),
    )
}

/// The same beside a daemon.
pub fn run_with_daemon(script: &str) -> Option<String> {
    run(&format!("{DAEMON}\n{script}"))
}
