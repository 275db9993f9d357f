//! Ports that are joined with sockets, named pipes and files, at whose other sides are stages and other programs.

use super::process::{as_each_user, until, Place};
use super::{start, told};

/// A capture of 50 frames, and commands: `send` gives it to a socket, `count` tells how many frames a capture has,
/// `renew` puts another element into the place of a socket's, and `port` tells what passed a port.
const COMMANDS: &str = r#"
[ -e in.pcap ] || weir run --quiet -e 'InfiniteSource(LIMIT 50, STOP true) -> UDPIPEncap(10.0.0.1, 1000, 10.0.0.2, 2000) -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2) -> ToDump(in.pcap)'
send() { weir stage --if left=file:in.pcap --if right=unix:$1 -e 'FromInterface(left) -> ToInterface(right)'; }
count() { weir run --quiet --read c.count -e "FromDump($1, STOP true) -> c :: Counter -> Discard" 2>/dev/null | sed -n 's/^c.count: *//p' || :; }
renew() { name=$(weir handler -g weir list | grep "^_unix.*$(echo $1 | sed 's/\./_2e_/')"); weir live weir replace $name "StreamInterface(ENDPOINT unix:$PWD/$1)" 2>/dev/null | grep -c replace >/dev/null; }
port() { weir topology --json | jq -r ".ports[] | select(.instance == \"$1\" and .name == \"$2\") | .\"$3\""; }
"#;

fn run(place: &Place, script: &str) -> String {
    told(place, &format!("{COMMANDS}\n{script}"))
}

#[test]
fn stages_come_and_go_at_sockets_and_what_passes_is_in_a_file() {
    as_each_user(|place| {
        let daemon = start(place);
        let text = run(
            place,
            "weir create firewall fw --default allow
             weir connect fw:left unix:$PWD/in.socket
             weir connect fw:right file:$PWD/out.pcap
             send in.socket; renew in.socket; send in.socket
             until [ \"$(port fw right tx-packets)\" = 100 ]; do sleep 0.05; done
             weir topology; count out.pcap",
        );
        let here = place.path("");
        let here = here.trim_end_matches('/');
        assert_eq!(text, format!("fw:left - unix:{here}/in.socket\nfw:right - file:{here}/out.pcap\n100\n"));
        // A socket that was left by a daemon that was killed is in nobody's way.
        place.command("kill").args(["-9", &daemon.id().to_string()]).status().unwrap();
        drop(daemon);
        let daemon = start(place);
        let text = run(
            place,
            "send in.socket
             until [ \"$(count out.pcap)\" = 50 ]; do sleep 0.05; done
             weir disconnect fw:left; [ -e in.socket ] || echo the socket is gone",
        );
        assert_eq!(text, "the socket is gone\n");
        drop(daemon);
    });
}

#[test]
fn packets_go_both_ways_and_whoever_reads_a_pipe_may_come_again() {
    as_each_user(|place| {
        let daemon = start(place);
        // The stage listens first: the daemon connects.
        let mut echo = place.start(
            "exec weir stage --if left=unix:echo.socket -e 'FromInterface(left) -> EtherMirror -> ToInterface(left)'",
        );
        until("the stage listens", || place.run("[ -e echo.socket ]").code == 0);
        let text = run(
            place,
            "weir create firewall fw --default allow
             weir connect fw:left unix:$PWD/in.socket
             weir connect fw:right unix:$PWD/echo.socket
             send in.socket
             until [ \"$(port fw right rx-packets)\" = 50 ]; do sleep 0.05; done
             renew echo.socket; send in.socket
             until [ \"$(port fw right rx-packets)\" = 100 ]; do sleep 0.05; done
             mkfifo packets
             weir create firewall tail --default allow
             weir connect tail:left unix:$PWD/tail.socket
             weir connect tail:right fifo:$PWD/packets
             pipe=$(weir handler -g weir list | grep ^_fifo)
             for turn in first second; do
                 cat packets > $turn & reader=$!
                 until [ \"$(count $turn)\" -ge 50 ] 2>/dev/null; do send tail.socket; sleep 0.2; done
                 kill $reader; wait $reader || :
                 # Who comes before that is noticed reads on where the other one was.
                 until [ \"$(weir handler -g weir read $pipe.state)\" = waiting ]; do sleep 0.05; done
             done
             port tail right tx-packets",
        );
        assert!(text.trim().parse::<u32>().is_ok_and(|n| n >= 100), "{text}");
        assert!(echo.runs(), "{}", echo.stderr());
        drop((echo, daemon));
    });
}

#[test]
fn what_cannot_be_a_stream_is_told_and_changes_nothing() {
    let texts = std::cell::RefCell::new(Vec::new());
    as_each_user(|place| {
        let daemon = start(place);
        let text = run(
            place,
            "weir create firewall fw
             for end in unix:relative 'fifo:/with blanks' unix:$PWD/in.pcap fifo:$PWD/in.pcap fifo:/nowhere/x file:/nowhere/x unix:/nowhere/x; do
                 weir connect fw:left \"$end\" || :
             done
             weir create firewall unix || :
             weir show",
        );
        texts.borrow_mut().push(text.replace(place.path("").trim_end_matches('/'), "HERE"));
        drop(daemon);
    });
    super::same(
        &texts,
        &expect_test::expect![[r#"
            weir: `unix:relative`: `relative` is no path for packets: it begins with `/` and has at most 107 letters, digits and `_.-/+@%=~`
            weir: `fifo:/with blanks`: `/with blanks` is no path for packets: it begins with `/` and has at most 107 letters, digits and `_.-/+@%=~`
            weir: unix:HERE/in.pcap: there is something else than a socket
            weir: fifo:HERE/in.pcap: this is no named pipe; `mkfifo` makes one
            weir: fifo:/nowhere/x: No such file or directory; `mkfifo` makes a named pipe
            weir: file:/nowhere/x: No such file or directory
            weir: unix:/nowhere/x: No such file or directory
            weir: `unix` means something else in connections and graphs; choose another name
            INSTANCE  FUNCTION  PORTS
            fw        firewall  left, right
        "#]],
    );
}
