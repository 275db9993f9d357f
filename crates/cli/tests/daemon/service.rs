//! The daemon as a service: sockets and words of a service manager, and members of its group.

use std::os::unix::fs::PermissionsExt;

use super::process::{as_each_user, two_users, users, Place};

/// Plays systemd: gives a socket (`unix`, `datagram` or `tcp`) to a daemon and prints what the daemon tells.
const MANAGER: &str = r#"
import os, select, signal, socket, subprocess, sys
kind, command = sys.argv[1], sys.argv[2:]
family = socket.AF_INET if kind == "tcp" else socket.AF_UNIX
given = socket.socket(family, socket.SOCK_DGRAM if kind == "datagram" else socket.SOCK_STREAM)
given.bind(("127.0.0.1", 0) if kind == "tcp" else os.path.abspath("given.socket"))
if kind != "datagram":
    given.listen()
# Nothing else of this process is number 3 yet.
os.dup2(given.fileno(), 3)
notes = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notes.bind("notes")
env = dict(os.environ, LISTEN_FDS="1", NOTIFY_SOCKET=os.path.abspath("notes"), WATCHDOG_USEC="100000")
script = 'LISTEN_PID=$$ exec "$@"'
daemon = subprocess.Popen(["sh", "-c", script, "sh"] + command, env=env, pass_fds=[3])
heard = []
def hear(wanted):
    while wanted not in heard:
        if select.select([notes], [], [], 0.05)[0]:
            heard.append(notes.recv(4096).decode().strip())
        elif daemon.poll() is not None:
            return
    print(wanted, flush=True)
hear("READY=1")
hear("WATCHDOG=1")
if daemon.poll() is None:
    subprocess.run(["weir", "create", "bridge", "b"], env=dict(os.environ, WEIR_SOCKET="given.socket"), check=True)
    while not os.path.exists("hooked"):
        select.select([], [], [], 0.01)
    daemon.send_signal(signal.SIGTERM)
hear("STOPPING=1")
print("ended with", daemon.wait())
"#;

fn managed(place: &Place, kind: &str, options: &str) -> String {
    std::fs::write(place.path("manager.py"), MANAGER).unwrap();
    std::fs::create_dir(place.path("hooks")).unwrap();
    let hook = place.path("hooks/netconf-config-change");
    std::fs::write(&hook, "#!/bin/sh\necho $WEIR_SOCKET > hooked.new; mv hooked.new hooked\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    place.output(&format!(
        "exec 2>&1; python3 manager.py {kind} weir serve --volatile --hooks hooks --log warn {options} 2>&1 | \
         sed 's/^[0-9T:.-]*Z *//'; cat hooked 2>/dev/null || :"
    ))
}

#[test]
fn a_service_manager_is_told_how_the_daemon_fares_and_hooks_where_it_answers() {
    as_each_user(|place| {
        let path = place.path("given.socket");
        let expected = format!("READY=1\nWATCHDOG=1\nSTOPPING=1\nended with 0\n{path}\n");
        assert_eq!(managed(place, "unix", ""), expected);
    });
}

#[test]
fn another_socket_than_the_service_managers_is_told_of() {
    let place = Place::new(users()[0]);
    let text = managed(&place, "unix", "--socket other.socket");
    let (given, other) = (place.path("given.socket"), place.path("other.socket"));
    let warning = format!("WARN weir: --socket {other} is not made: the service manager gives {given}\n");
    assert!(text.starts_with(&warning) && text.ends_with(&format!("{given}\n")), "{text}");
}

#[test]
fn a_socket_through_which_nobody_could_ask_is_refused() {
    for kind in ["datagram", "tcp"] {
        let text = managed(&Place::new(users()[0]), kind, "");
        assert_eq!(
            text,
            "weir: the service manager's socket is no Unix stream socket that listens: use ListenStream=/run/weir.socket and \
             Accept=no\nended with 1\n",
            "{kind}"
        );
    }
}

#[test]
fn members_of_the_group_operate_whichever_of_their_groups_it_is() {
    let Some([root, nobody]) = two_users() else { return };
    let place = Place::new(root);
    let mut daemon = place.start("exec weir serve --volatile --socket api.socket --group 4242");
    super::await_answer(&place, &mut daemon);
    let create = |name: &str, groups: &str| {
        place.output(&format!(
            "exec setpriv --reuid {nobody} {groups} curl -s -o /dev/null -w '%{{http_code}}' --unix-socket api.socket -X PUT \
             -H 'content-type: application/yang-data+json' -d '{{\"bridge:bridge\": [{{\"name\": \"{name}\"}}]}}' \
             http://weir/restconf/data/bridge:bridge={name}"
        ))
    };
    assert_eq!(create("a", "--regid 4242 --clear-groups"), "201");
    assert_eq!(create("b", &format!("--regid {nobody} --groups 4243,4242")), "201");
}

#[test]
fn connections_without_a_request_give_way_to_others() {
    let place = Place::new(users()[0]);
    let _daemon = super::start(&place);
    let text = super::told(
        &place,
        r#"weir events --json > events & events=$!
           until grep -q . events 2>/dev/null; do weir create bridge a; weir delete a; done
           python3 -c '
import socket, time
idle = [socket.socket(socket.AF_UNIX) for _ in range(700)]
for one in idle: one.connect("api.socket")
print(flush=True)
time.sleep(100)' > open & idle=$!
           until grep -q '' open 2>/dev/null; do sleep 0.01; done
           timeout 10 weir create bridge left && echo made
           until grep -q 'bridge=left' events; do sleep 0.01; done
           kill $idle $events"#,
    );
    assert_eq!(text, "made\n");
}
