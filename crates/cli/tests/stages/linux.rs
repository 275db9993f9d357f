//! Whole Linux stacks as stages, with the programs that people run in them.

use nix::sys::signal::Signal;
use serde_json::Value;

use super::process::{as_each_user, until, Place, Running};

/// A web server without anything that needs privileges, and an iperf3 server that ends after one test.
const SERVER: &str = "nginx -e stderr -p . -c nginx.conf & exec iperf3 -s -1 > iperf.server";
/// What a client does; it ends with 0 if all of it works.
const CLIENT: &str = "
    exec > client.out 2>&1
    until curl -sf -o got http://$1/page; do sleep 0.05; done
    cmp page got && ping -c 2 -i 0.2 -W 5 $1 || exit 1
    until iperf3 -c $1 -n 8M; do sleep 0.05; done
    touch has-worked
    read -r word < wait
";

/// Puts the page, the scripts and nginx's configuration into the folder.
fn furnish(place: &Place) {
    place.write("page", (0..300_000u32).map(|n| (n % 251) as u8).collect::<Vec<u8>>());
    place.write("server.sh", SERVER);
    place.write("client.sh", CLIENT);
    let user = "user root;";
    let temporary =
        ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|kind| format!("{kind}_temp_path temp;"));
    place.write(
        "nginx.conf",
        format!(
            "{user} daemon off; master_process off; error_log stderr crit; pid nginx.pid; events {{}}
             http {{ access_log access.log; {} server {{ listen 80; root .; }} }}",
            temporary.concat()
        ),
    );
    place.output("mkfifo -m 666 wait");
}

/// What went wrong, as far as it is known.
fn account(place: &Place, chain: &Running) -> String {
    let read =
        |name| String::from_utf8_lossy(&std::fs::read(place.path(name)).unwrap_or_default()).into_owned();
    format!("{}{}", chain.stderr(), read("client.out"))
}

/// Joins a client and a server in one way, and expects `joint` in the status.
fn works_through(place: &Place, flag: &str, joint: &str) {
    furnish(place);
    let mut chain = place.start_with_taps(&format!(
        "weir linux --joint {flag} --right 10.0.0.1/24 -- sh server.sh \
         | weir linux --joint {flag} --left 10.0.0.2/24 --while-running -- sh client.sh 10.0.0.1"
    ));
    let has_worked = place.path("has-worked");
    until(&format!("ping, curl and iperf3 through {joint}"), || {
        assert!(chain.runs(), "{}", account(place, &chain));
        std::path::Path::new(&has_worked).exists()
    });
    let mut joints = place.joints("linux", 2);
    joints.sort();
    assert_eq!(joints, [format!("left {joint}"), format!("right {joint}")]);
    place.output("echo > wait");
    let finished = chain.finish();
    assert_eq!(finished.code, 0, "{finished:?}");
    assert!(!finished.stderr.contains("weir: "), "{finished:?}");
}

#[test]
fn ping_curl_and_iperf_work_through_a_ring() {
    as_each_user(|place| works_through(place, "ring", "ring"));
}

#[test]
fn ping_curl_and_iperf_work_through_a_pump() {
    as_each_user(|place| works_through(place, "pump", "pump"));
}

#[test]
fn ping_curl_and_iperf_work_through_a_cable() {
    as_each_user(|place| works_through(place, "veth", "cable"));
}

#[test]
fn a_stack_alone_runs_a_command_and_ends_with_its_status() {
    as_each_user(|place| {
        let seen = place.output("weir linux -- ip -o link");
        assert!(seen.contains("lo:") && !seen.contains("left"), "{seen}");
        place.output("weir linux -- ping -c 1 -W 5 127.0.0.1");
        for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)] {
            let finished = place.run(&format!("weir linux -- sh -c '{script}'"));
            assert_eq!((finished.code, &*finished.stderr), (code, ""), "{script}");
        }
        place.write("no-program", "");
        let finished = place.run("weir linux -- ./no-program");
        let due = "weir: linux: ./no-program: Permission denied\n  help: let it be run: `chmod +x FILE`, or give it to a \
                   shell: `sh FILE`\n";
        assert_eq!((finished.code, &*finished.stderr), (126, due), "{finished:?}");
        place.write("no-interpreter", "#!/no/such\n");
        place.write("no-first-line", "echo\n");
        let finished = place.run("chmod +x no-*; weir linux -- ./no-interpreter");
        let due = "the interpreter that its first line names (`#!...`) is not, or its loader\n";
        assert_eq!((finished.code, finished.stderr.contains(due)), (127, true), "{finished:?}");
        let finished = place.run("PATH=$PATH:. weir linux -- no-interpreter");
        assert_eq!((finished.code, finished.stderr.contains(due)), (127, true), "{finished:?}");
        let finished = place.run("weir linux -- ./no-first-line");
        let due = "weir: linux: ./no-first-line: Exec format error\n  help: a script begins with a line such as `#!/bin/sh`;";
        assert_eq!((finished.code, finished.stderr.contains(due)), (126, true), "{finished:?}");
        let finished = place.run("weir linux -- ''");
        let due = "weir: linux: the command is empty\n";
        assert_eq!((finished.code, &*finished.stderr), (127, due), "{finished:?}");
        let finished = place.run("weir linux -- missing-program");
        let due = "weir: linux: missing-program: No such file or directory\n  help: no folder of PATH has it; a program in this \
                   folder is `./NAME`\n";
        assert_eq!((finished.code, &*finished.stderr), (127, due), "{finished:?}");
        // Even if nothing more is to be done for it.
        for _ in 0..10 {
            let finished =
                place.run("weir read /dev/null | weir linux --left 10.0.0.1/24 -- missing-program");
            assert_eq!((finished.code, finished.stderr.contains(due)), (127, true), "{finished:?}");
        }
    });
}

#[test]
fn a_stack_forwards_from_the_start_or_when_its_command_says_so() {
    as_each_user(|place| {
        let settings = "cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv6/conf/all/forwarding";
        assert_eq!(place.output(&format!("weir linux -- {settings}")), "1\n1\n");
        assert_eq!(place.output(&format!("weir linux --no-forwarding -- {settings}")), "0\n0\n");
    });
}

/// A stack that forwards what the stations below send each other.
const FORWARD: &str = "sysctl -qw net.ipv4.ip_forward=1
    ip neigh replace 10.1.0.2 lladdr 02:00:00:00:00:09 dev right nud permanent
    ip link set left address 02:00:00:00:00:02
    echo > ready";
/// Packets for it to forward, as soon as it does.
const FORWARDED: &str = "until [ -e ready ]; do sleep 0.01; done; weir stage -e '
    InfiniteSource(LIMIT 300, STOP true) -> UDPIPEncap(10.0.0.2, 1, 10.1.0.2, 2)
    -> EtherEncap(0x0800, 02:00:00:00:00:01, 02:00:00:00:00:02) -> ToInterface(right)'";

#[test]
fn what_a_stack_was_given_comes_out_before_it_ends() {
    as_each_user(|place| {
        place.write("forward", FORWARD);
        for between in ["", "cat |"] {
            let count = "weir filter udp port 2 | weir count --json > /dev/null";
            let finished = place.run(&format!(
                "rm -f ready; ({FORWARDED}) | {between} \
                 weir linux --left 10.0.0.1/24 --right 10.1.0.1/24 -- sh forward | {count}"
            ));
            assert!(finished.stderr.contains("\"right\":{\"packets\":300,"), "{between} {finished:?}");
        }
    });
}

#[test]
fn a_burst_that_a_stack_forwards_stays_whole() {
    as_each_user(|place| {
        place.write("forward", FORWARD);
        let burst = FORWARDED.replace("LIMIT 300", "LIMIT 20000");
        let count = "weir filter udp port 2 | weir count --json > /dev/null";
        let stack = "weir linux --left 10.0.0.1/24 --right 10.1.0.1/24 -- sh forward";
        let finished = place.run(&format!("({burst}) | {stack} | {count}"));
        assert!(finished.stderr.contains("\"right\":{\"packets\":20000,"), "{finished:?}");
    });
}

#[test]
fn a_stack_ends_with_its_command_though_nothing_comes_from_anywhere() {
    as_each_user(|place| {
        let finished = place.run("weir linux --while-running --right 10.0.0.1/24 -- sleep 1 | cat > out");
        assert_eq!(finished.code, 0, "{finished:?}");
    });
}

#[test]
fn a_stack_is_taken_out_of_a_chain_though_its_devices_never_end() {
    as_each_user(|place| {
        let mut chain = place.start(
            "weir stage -e 'RatedSource(RATE 100) -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> ToInterface(right)' \
             | weir linux -- true | weir count > /dev/null",
        );
        place.await_rings(3);
        let id_of = |function: &str| {
            let stages = place.status();
            let stage = stages.iter().find(|stage| stage["function"].as_str().unwrap().starts_with(function));
            stage.expect("it runs")["id"].to_string()
        };
        // Neighbours that say nothing are waited for longer.
        place.output(&format!("timeout 20 weir remove {}", id_of("linux")));
        assert!(chain.runs());
        place.output(&format!("kill {}", id_of("stage")));
        chain.finish();
    });
}

#[test]
fn how_the_command_of_a_stage_failed_is_told() {
    as_each_user(|place| {
        for (script, code, due) in [
            ("exit 7", 7, "weir: linux: sh ended with status 7, and the stage with it\n"),
            ("kill -9 $$", 137, "weir: linux: sh was ended by signal 9, and the stage with it\n"),
        ] {
            let finished = place.run(&format!("sleep 5 | weir linux --left 10.0.0.1/24 -- sh -c '{script}'"));
            assert_eq!((finished.code, finished.stderr.contains(due)), (code, true), "{finished:?}");
        }
    });
}

#[test]
fn a_stack_may_have_a_default_route_of_each_kind() {
    as_each_user(|place| {
        let stack = "weir linux --if right=fifo:out --right 10.0.0.1/24 --right fd00::1/64 --while-running";
        let both = "--gateway 10.0.0.2 --gateway fd00::2 -- sh -c 'ip route; ip -6 route' >&2";
        let told = place.run(&format!("mkfifo out; cat out > all & {stack} {both}"));
        let has = |route: &str| told.stderr.contains(&format!("default via {route} dev right"));
        assert!(has("10.0.0.2") && has("fd00::2"), "{told:?}");
        let twice = place.run(&format!("{stack} --gateway 10.0.0.2 --gateway 10.0.0.3 -- true"));
        assert_eq!(twice.code, 2, "{twice:?}");
        let due = "weir: linux: --gateway 10.0.0.3: the stack has a default route already; one is enough";
        assert!(twice.stderr.contains(due), "{twice:?}");
    });
}

#[test]
fn an_address_that_the_kernel_refuses_is_told() {
    as_each_user(|place| {
        let finished =
            place.run("weir read /dev/null | weir linux --left 10.0.0.1/24 --left ::1/128 -- true");
        let due = "weir: linux: left: ::1/128: RTM_NEWADDR: Cannot assign requested address\n  help: choose an address";
        assert_eq!((finished.code, finished.stderr.contains(due)), (1, true), "{finished:?}");
    });
}

#[test]
fn a_stack_without_a_command_opens_a_shell() {
    as_each_user(|place| {
        let finished =
            place.run("(echo 'echo $((6 * 7)) && ip -o link && exit 3') | SHELL=/bin/sh script -qec 'weir linux' /dev/null");
        assert_eq!(finished.code, 3, "{finished:?}");
        assert!(finished.stdout.contains("42") && finished.stdout.contains("lo:"), "{finished:?}");
    });
}

#[test]
fn a_shell_in_the_background_waits_for_the_terminal() {
    as_each_user(|place| {
        let waits = "while ! jobs | grep Stopped; do sleep .05; done; kill -KILL %1";
        let finished =
            place.run(&format!("script -qec \"bash -mc 'weir linux & {waits}'\" /dev/null < /dev/null"));
        assert_eq!(finished.code, 0, "{finished:?}");
        assert!(finished.stdout.contains("weir linux"), "{finished:?}");
    });
}

#[test]
fn while_running_ends_the_chain_with_the_command() {
    as_each_user(|place| {
        let codes = place.output(
            "weir linux --right 10.0.0.1/24 --while-running -- sh -c 'exit 5' \
             | weir linux --left 10.0.0.2/24 -- sleep 1000 > /dev/null; echo ${PIPESTATUS[@]}",
        );
        assert_eq!(codes, "5 0\n");
        let codes = place.output(
            "weir linux --right 10.0.0.1/24 -- sleep 1000 \
             | weir linux --left 10.0.0.2/24 --while-running -- true; echo ${PIPESTATUS[@]}",
        );
        assert_eq!(codes, "141 0\n");
    });
}

#[test]
fn a_command_may_finish_what_it_does_when_the_pipe_ends() {
    as_each_user(|place| {
        let script = "trap 'echo told; exit' TERM; : > ready; while :; do sleep 0.01; done";
        place.write("collect.sh", script);
        let finished = place.run(
            "{ until [ -e ready ]; do sleep 0.01; done; } | weir linux --left 10.0.0.2/24 -- sh collect.sh > seen; cat seen; rm ready",
        );
        assert_eq!((finished.stdout.as_str(), finished.code), ("told\n", 0), "{finished:?}");
    });
}

#[test]
fn a_neighbour_that_dies_before_it_answers_is_not_waited_for() {
    as_each_user(|place| {
        // It is stopped when the stack knocks, and never hears of that.
        let writer = "weir stage -e 'Script(wait 100); Idle -> ToInterface(right)' & p=$!; \
             until weir status $p; do sleep 0.01; done > /dev/null 2>&1; \
             kill -STOP $p; : > stopped; sleep 0.5; kill -KILL $p";
        let stack = "until [ -e stopped ]; do sleep 0.01; done; rm stopped; exec timeout 8 weir linux --left 10.0.0.2/24 -- true";
        let finished = place.run(&format!("{{ {writer}; }} | {{ {stack}; }}"));
        assert_eq!(finished.code, 0, "{finished:?}");
    });
}

/// Starts stacks with `n` interfaces, of which one waits for the file `joined` until all are.
fn start_to_be_joined(place: &Place, n: usize, script: &str) -> Running {
    place.write("await.sh", "until test -e $1; do sleep 0.02; done");
    for file in ["joined", "gone", "rejoined", "reached", "rest"] {
        // It may not be there.
        let _ = std::fs::remove_file(place.path(file));
    }
    let running = place.start_with_taps(script);
    await_joints(place, n);
    place.write("joined", "");
    running
}

/// Waits until the stacks that run have `n` interfaces, all joined to one another.
fn await_joints(place: &Place, n: usize) {
    until("all stacks are joined", || {
        let status = place.status();
        let runs = |id: &Value| status.iter().any(|stack| stack["id"] == *id);
        let mut interfaces =
            status.iter().flat_map(|stack| stack["interfaces"].as_array().expect("it has some"));
        interfaces.clone().count() == n
            && interfaces.all(|interface| interface["joint"] != "pipe" && runs(&interface["neighbour"]))
    });
}

#[test]
fn who_takes_the_place_of_a_dead_neighbour_is_joined() {
    as_each_user(|place| {
        let stack = |joint: &str, side: &str, command: &str| {
            let end = if side == "left" { 2 } else { 1 };
            format!("weir linux --joint {joint} --{side} 10.0.0.{end}/24 --while-running -- {command}")
        };
        let first = "sh await.sh joined; : > gone";
        let pings = "sh -c 'sh await.sh rejoined; ping -q -c 2 -i 0.2 -W 5 10.0.0.2; : > reached'";
        let is_reached = "sh await.sh reached";
        let works = |script: String| {
            let running = start_to_be_joined(place, 2, &script);
            until("the first is gone", || std::path::Path::new(&place.path("gone")).exists());
            await_joints(place, 2);
            place.write("rejoined", "");
            let finished = running.finish();
            assert_eq!(finished.code, 0, "{finished:?}: {}", String::from_utf8_lossy(&place.read("told")));
        };
        for joint in ["ring", "pump", "veth"] {
            works(format!(
                "{} 2> told | ({}; exec {}) > out; grep -q ' 0% packet loss' told",
                stack(joint, "right", pings),
                stack(joint, "left", first),
                stack(joint, "left", is_reached),
            ));
        }
        for joint in ["ring", "pump"] {
            works(format!(
                "({}; exec {}) 2> told | {} > out; grep -q ' 0% packet loss' told",
                stack(joint, "right", first),
                stack(joint, "right", pings),
                stack(joint, "left", is_reached),
            ));
        }
    });
}

#[test]
fn a_program_that_takes_the_place_of_a_dead_neighbour_reads_a_whole_capture() {
    as_each_user(|place| {
        for joint in ["ring", "pump", "veth"] {
            let script = format!(
                "weir linux --joint {joint} --right 10.0.0.1/24 --while-running -- \
                 sh -c 'sh await.sh gone; until test -s rest; do ping -q -c 1 -W 1 10.0.0.2 > /dev/null; done' 2> told | \
                 (weir linux --joint {joint} --left 10.0.0.2/24 --while-running -- sh await.sh joined; : > gone; \
                 cat > rest); weir read rest | weir count > /dev/null",
            );
            let finished = start_to_be_joined(place, 2, &script).finish();
            assert_eq!(
                finished.code,
                0,
                "{joint}: {finished:?}: {}",
                String::from_utf8_lossy(&place.read("told"))
            );
            let magic = [0x4d, 0x3c, 0xb2, 0xa1];
            assert_eq!(place.read("rest").get(..4), Some(&magic[..]), "{joint}");
        }
    });
}

#[test]
fn a_stack_that_is_joined_on_both_sides_at_once_keeps_its_routes() {
    as_each_user(|place| {
        let script = "weir linux --right 10.0.1.2/24 --gateway 10.0.1.1 --while-running -- \
              sh -c 'sh await.sh joined; ping -q -c 1 -W 5 10.0.2.2 > /dev/null || echo no answer >&2' 2>> told |
            weir linux --left 10.0.1.1/24 --right 10.0.2.1/24 --gateway 10.0.2.2 -- true 2>> told |
            weir linux --left 10.0.2.2/24 --gateway 10.0.2.1 -- true 2>> told";
        for _ in 0..8 {
            assert_eq!(start_to_be_joined(place, 4, script).finish().code, 0);
        }
        assert_eq!(String::from_utf8_lossy(&place.read("told")), "");
    });
}

#[test]
fn what_was_ignored_stays_ignored() {
    as_each_user(|place| {
        let script =
            "trap '' HUP USR1; weir linux --while-running -- grep SigIgn /proc/self/status 2> told | cat > out; cat told";
        let told = place.output(script);
        let mask = told.split_whitespace().last().and_then(|mask| u64::from_str_radix(mask, 16).ok());
        assert_eq!(mask.map(|mask| mask & 0x7fff), Some(1 << 0 | 1 << 9), "{told}");
    });
}

#[test]
fn signals_are_passed_on_to_the_command_and_its_status_counts() {
    as_each_user(|place| {
        let script = "trap 'echo bye > said; exit 5' INT TERM HUP; sleep 1000 & : > ready; wait";
        place.write("polite.sh", script);
        place.write("stubborn.sh", "trap '' TERM; : > ready; while :; do sleep 0.1; done");
        let await_it = || until("it runs", || std::path::Path::new(&place.path("ready")).exists());
        for signal in ["INT", "TERM", "HUP"] {
            let _ = (std::fs::remove_file(place.path("ready")), std::fs::remove_file(place.path("said")));
            let running = place.start(
                "exec weir linux --right 10.0.0.1/24 --while-running -- sh polite.sh > >(cat > /dev/null)",
            );
            await_it();
            place.output(&format!("kill -{signal} {}", running.id()));
            assert_eq!(running.finish().code, 5, "SIG{signal}");
            assert_eq!(place.read("said"), b"bye\n", "SIG{signal}");
        }
        std::fs::remove_file(place.path("ready")).expect("it is there");
        let running = place.start("exec weir linux --while-running -- sh stubborn.sh");
        await_it();
        place.output(&format!("kill -TERM {}", running.id()));
        let finished = running.finish();
        assert_eq!(finished.code, 143, "{finished:?}");
        assert!(finished.stderr.contains("sh did not end for signal 15 and is killed"), "{finished:?}");
    });
}

#[test]
fn ctrl_c_on_a_terminal_ends_with_the_status_of_the_command() {
    as_each_user(|place| {
        let script = "trap 'echo x >> said; exit 5' INT; sleep 1000 & : > ready; wait";
        place.write("polite.sh", script);
        let keys = "until [ -e ready ]; do sleep 0.02; done; printf '\\003'; until [ -e said ]; do sleep 0.02; done; sleep 0.2";
        let script = format!(
            "({keys}) | script -qec 'exec weir linux --while-running -- sh polite.sh' /dev/null > /dev/null"
        );
        let finished = place.run(&script);
        assert_eq!(finished.code, 5, "{finished:?}");
        assert_eq!(place.read("said"), b"x\n");
    });
}

#[test]
fn a_joint_that_was_wanted_and_did_not_come_about_is_told() {
    as_each_user(|place| {
        let finished = place.run(
            "weir linux --joint ring --right 10.0.0.1/24 -- sleep 1000 2> right \
             | weir linux --joint cable --left 10.0.0.2/24 --while-running -- sh -c 'until ping -c 1 -W 1 10.0.0.1; do :; done' 2>&1",
        );
        assert_eq!(finished.code, 0, "{finished:?}");
        let due = "weir: linux: left: joined by a ring, in spite of --joint veth: ";
        assert!(finished.stdout.contains(due), "{finished:?}");
        let right = String::from_utf8_lossy(&place.read("right")).into_owned();
        assert!(!right.contains("--joint"), "{right}");
    });
}

#[test]
fn a_killed_stack_leaves_nothing_behind() {
    as_each_user(|place| {
        let sleep = format!("sleep 98765.{}", std::process::id());
        let chain = place.start(&format!(
            "weir linux --right 10.0.0.1/24 -- {sleep} | weir linux --left 10.0.0.2/24 -- {sleep}"
        ));
        until("two programs sleep", || processes_of(&sleep) == 2);
        let status = place.status();
        assert_eq!(status.len(), 2);
        let victim = status[0]["id"].as_i64().expect("it is a number") as i32;
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(victim), Signal::SIGKILL).expect("it runs");
        chain.finish();
        until("all their processes are gone", || processes_of(&sleep) == 0);
        assert_eq!(place.status().len(), 0);
        let left: Vec<_> = std::fs::read_dir(place.path("run/weir")).expect("it was made").collect();
        assert!(left.is_empty(), "{left:?}");
    });
}

/// How many processes have this command line.
fn processes_of(command: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("there is /proc");
    let line = |path: std::path::PathBuf| std::fs::read(path.join("cmdline")).unwrap_or_default();
    let due: Vec<u8> = command.split(' ').flat_map(|word| [word.as_bytes(), &[0]].concat()).collect();
    processes.flatten().filter(|process| line(process.path()) == due).count()
}

#[test]
fn unmodified_iptables_scripts_translate_addresses_in_a_stage_between_others() {
    as_each_user(|place| {
        furnish(place);
        place.write(
            "nat.sh",
            "set -e; echo 1 > /proc/sys/net/ipv4/ip_forward
             iptables-legacy -t nat -A POSTROUTING -o right -j MASQUERADE",
        );
        let mut chain = place.start(
            "weir linux --right 10.0.1.2/24 --gateway 10.0.1.1 --while-running -- sh client.sh 10.0.2.2 \
             | weir linux --left 10.0.1.1/24 --right 10.0.2.1/24 -- sh nat.sh \
             | weir linux --left 10.0.2.2/24 -- sh server.sh",
        );
        let has_worked = place.path("has-worked");
        until("the client works", || {
            assert!(chain.runs(), "{}", account(place, &chain));
            std::path::Path::new(&has_worked).exists()
        });
        place.output("echo > wait");
        let finished = chain.finish();
        assert_eq!(finished.code, 0, "{finished:?}");
        let log = String::from_utf8_lossy(&place.read("access.log")).into_owned();
        assert!(!log.is_empty() && log.lines().all(|line| line.starts_with("10.0.2.1 ")), "{log}");
    });
}

#[test]
fn addresses_and_routes_that_a_script_sets_stay_when_stacks_are_joined() {
    as_each_user(|place| {
        place.output("mkfifo -m 666 answer");
        let chain = place.start(
            "weir linux -- sh -c 'ip address add 192.0.2.1/24 dev right; ip route add 198.51.100.0/24 via 192.0.2.2; \
               read -r word < answer; ip -o route > routes; exec sleep 1000' \
             | weir linux --while-running -- sh -c 'ip address add 192.0.2.2/24 dev left; \
               ip address add 198.51.100.7/32 dev lo; \
               until ping -c 1 -W 1 192.0.2.1 > /dev/null; do :; done; echo > answer; \
               until grep -q 198.51.100 routes; do sleep 0.01; done; exit 0'",
        );
        let finished = chain.finish();
        assert_eq!(finished.code, 0, "{finished:?}");
    });
}

/// Somebody on the interface `wire` who answers ARP requests and pings.
const HOST: &str = "
    FromInterface(wire) -> kinds :: Classifier(12/0806 20/0001, 12/0800);
    kinds [0] -> ARPResponder(10.0.0.2 02:00:00:00:00:02) -> wire :: ToInterface(wire);
    kinds [1] -> CheckIPHeader(OFFSET 14) -> ICMPPingResponder -> EtherMirror -> wire;";

#[test]
fn a_tap_that_is_made_and_a_device_that_is_there_are_interfaces() {
    as_each_user(|place| {
        place.write("host.click", HOST);
        let cable = "ip link add v0 type veth peer name v1; ip address add 10.0.0.1/24 dev v0; \
                     ip link set v0 up; ip link set v1 up";
        for (prepare, kind, device) in
            [("true", "tap:t0,address=10.0.0.1/24,mtu=1400", "t0"), (cable, "dev:v1", "v1")]
        {
            place.write(
                "script",
                format!(
                    "{prepare}; weir stage host.click --if wire={kind} &
                     until ping -q -c 1 -W 1 10.0.0.2 2> pings; do sleep 0.05; done
                     ip -o link show {device} | grep -o 'mtu [0-9]*'; kill $!; wait $!"
                ),
            );
            let finished = place.start_with_taps("weir linux -- sh script").finish();
            assert_eq!((finished.code, &*finished.stderr), (0, ""), "{finished:?}");
            let mtu = if device == "t0" { "mtu 1400" } else { "mtu 1500" };
            assert!(finished.stdout.contains("1 received") && finished.stdout.contains(mtu), "{finished:?}");
        }
    });
}

#[test]
fn a_device_that_is_not_there_is_told() {
    as_each_user(|place| {
        place.write("host.click", HOST);
        let finished = place.run("weir stage host.click --if wire=dev:v9");
        assert_eq!(finished.code, 1, "{finished:?}");
        assert!(finished.stderr.contains("v9"), "{finished:?}");
    });
}
