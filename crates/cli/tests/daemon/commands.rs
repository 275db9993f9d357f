//! Commands: create, show, set, delete, connect, attach, function.

use std::cell::RefCell;

use super::process::as_each_user;
use super::{same, start, told};

#[test]
fn instances_are_created_shown_changed_and_deleted() {
    as_each_user(|place| {
        let mut daemon = start(place);
        let text = told(
            place,
            "weir create firewall fw --stateful 'allow tcp' 'deny udp && dst port 53'
             weir create bridge br
             weir connect fw:left br:a
             weir connect br:b fw:right
             weir attach firewall guard fw:left
             weir show
             weir show fw --config
             weir set fw rule/2/action=allow default=allow rule/9/action=deny
             weir show fw rule
             weir show fw rule/2/match
             weir delete fw rule/2 rule/9
             weir show fw rule
             weir set fw 'rule=deny icmp, allow all'
             weir show fw rule/2; weir show fw rule/3/action
             weir delete fw rule/2 rule/3
             weir topology
             weir detach guard
             weir disconnect br:b
             weir topology
             weir delete fw
             weir show",
        );
        let expected = "INSTANCE  FUNCTION  PORTS
br        bridge    a > guard:right, b > fw:right
fw        firewall  left > guard:left, right > br:b
guard     firewall  left > fw:left, right > br:a
name: fw
rule:
- id: 1
  action: allow
  match: tcp
- id: 2
  action: deny
  match: udp && dst port 53
stateful: true
- id: 1
  action: allow
  match: tcp
- id: 2
  action: allow
  match: udp && dst port 53
- id: 9
  action: deny
udp && dst port 53
- id: 1
  action: allow
  match: tcp
id: 2
action: deny
match: icmp
allow
br:a - guard:right
br:b - fw:right
fw:left - guard:left
br:a - fw:left
INSTANCE  FUNCTION  PORTS
br        bridge
guard     firewall  left, right
";
        assert_eq!(text, expected);
        assert!(daemon.runs(), "{}", daemon.stderr());
    });
}

#[test]
fn entries_are_numbered_on_within_a_command_and_among_many() {
    as_each_user(|place| {
        let _daemon = start(place);
        let text = told(
            place,
            "weir create firewall fw
             weir set fw rule='allow tcp' rule='deny udp, allow icmp' reverse='allow tcp' reverse='deny udp'
             weir show fw rule; weir show fw reverse/2/match
             for i in 1 2 3 4 5 6; do weir set fw rule=\"deny udp && dst port $i\" & done; wait
             weir show fw rule | grep -c action
             weir set --replace fw rule='allow tcp' rule='allow icmp'; weir show fw rule
             weir set --candidate fw rule='deny udp' rule='deny all'; weir show --candidate fw rule/4/match
             weir candidate discard
             weir set fw rule/4294967295/action=deny; weir set fw rule='allow tcp' || :",
        );
        let expected = "- id: 1
  action: allow
  match: tcp
- id: 2
  action: deny
  match: udp
- id: 3
  action: allow
  match: icmp
udp
9
- id: 1
  action: allow
  match: tcp
- id: 2
  action: allow
  match: icmp
all
weir: `rule` `allow tcp`: `allow tcp`: no number is left behind 4294967295: say which `id` it has
";
        assert_eq!(text, expected);
    });
}

#[test]
fn a_value_is_given_once_and_the_command_line_has_the_last_word() {
    as_each_user(|place| {
        let _daemon = start(place);
        let text = told(
            place,
            r#"weir create firewall fw
               weir set fw mtu=1400 mtu=1300 || echo $?
               echo '{"mtu": 1400}' > mtu.json; weir set fw -f mtu.json mtu=1200; weir show fw mtu
               no() { echo "$1" > no; weir set fw -f no || weir apply no; }
               no '{"mtu": 1400, "mtu": 1300}' || :
               printf 'mtu: 1400\nmtu: 1300\n' > no.yaml; weir set fw -f no.yaml || :
               for mtu in '[1, 2]' '{"a": 1}' null; do echo '{"mtu": '"$mtu"'}' | weir set fw -f - || :; done
               echo '{"firewall:firewall": [{"name": "x"}, {"name": "x"}]}' | weir apply - || :
               weir set fw rule/x/action=deny || echo $?
               weir set fw rule/88/match=tcp || :
               weir set fw rule/5='allow tcp' || echo $?
               weir set fw rule/5='{"action": "allow"}'; weir show fw rule/5/action; weir delete fw rule/5
               weir set fw rule/1/action=deny rule/1/source-set=no || :
               weir show fw mtu
               weir show --socket api.socket2 --wait=0.1 || :"#,
        );
        let expected = r#"weir: `mtu` is given twice, as `1400` and as `1300`
2
1200
weir: no: `mtu` is given twice at line 1 column 19
weir: no: `mtu` is given twice at line 1 column 19
weir: no.yaml: `mtu` is given twice
weir: `fw` mtu: `mtu` `[1,2]`: expected one value, not an array
weir: `fw` mtu: `mtu` `{"a":1}`: expected one value, not an object
weir: `fw` mtu: `mtu` `null`: expected a value; to have none, delete it
weir: /firewall:firewall: `firewall` x is given twice
weir: `rule/x`: `id`: expected a number from 0 to 4294967295
2
weir: `fw` rule/88: `action` is missing, which has no default; give it, too, as rule/88/action=VALUE
weir: `rule/5` `allow tcp`: an entry has action, match, source-set, destination-set; give each, as in rule/5/action=VALUE, or an object of JSON, or let rule='allow tcp' add an entry
2
allow
weir: `fw` rule/1/source-set: there is no set `no`; make it first, or in the same command
1200
weir: api.socket2: No such file or directory; no daemon answers there: start one with `weir serve`, or name its --socket
"#;
        assert_eq!(text, expected);
    });
}

#[test]
fn relative_names_of_files_are_those_of_the_users_folder() {
    as_each_user(|place| {
        let _daemon = start(place);
        let text = told(
            place,
            "here=$PWD; mkdir sub; cd sub; export WEIR_SOCKET=../api.socket
             weir create capture cap here.pcap; weir show cap file | sed \"s|$here||\"
             weir set cap file=./there.pcap; weir show cap file | sed \"s|$here||\"
             weir show cap --config | sed 's|: .*there|: again|' > cap.yaml
             weir set cap -f cap.yaml; weir show cap file | sed \"s|$here||\"
             ls",
        );
        assert_eq!(
            text,
            "/sub/here.pcap\n/sub/there.pcap\n/sub/again.pcap\nagain.pcap\ncap.yaml\nhere.pcap\nthere.pcap\n"
        );
    });
}

#[test]
fn words_that_the_schema_refuses_are_a_wrong_command_line() {
    as_each_user(|place| {
        let _daemon = start(place);
        let text = told(
            place,
            "weir create firewall fw
             status() { weir \"$@\" 2>/dev/null; echo $? $*; }
             status create firewall fx --mtu 3
             status set fw mtu=3
             status set fw nothing=3
             status delete fw nothing
             status call fw flush
             status show fw nothing
             status set nobody mtu=1400
             status delete fw rule/7",
        );
        let expected =
            "2 create firewall fx --mtu 3\n2 set fw mtu=3\n2 set fw nothing=3\n2 delete fw nothing\n\
            2 call fw flush\n2 show fw nothing\n1 set nobody mtu=1400\n1 delete fw rule/7\n";
        assert_eq!(text, expected);
    });
}

#[test]
fn what_cannot_be_is_told_and_changes_nothing() {
    let texts = RefCell::new(Vec::new());
    as_each_user(|place| {
        let mut daemon = start(place);
        let text = told(
            place,
            "weir create firewall fw 'allow tcp'
             no() { weir \"$@\" && echo 'this was taken'; true; }
             no create firewall fw
             no create firewall a-b
             no create firewal x
             no create route x
             no create delay d
             no set fw mtu=3
             no set fw nothing=3
             no set fw 'rule=permit all'
             no set nobody x=1
             no set fw mtu=1400 rule/x/action=deny
             no connect fw:up dev:e0
             no connect fw:left other:left
             no connect fw fw
             no connect dev:e0 tap:t0
             no connect fw:left dev:there_is_none
             no attach firewall fw fw:left
             no delete fw rule/7
             no detach fw
             no disconnect fw:left
             no unwatch w
             no watch w /weir:topology/port=gone,left/rx-packets --rising 1
             no apply - </dev/null
             no call fw flush
             no function rm firewall
             no create capture cap /nowhere/x
             no live weir rollback 0
             no live weir apply -e 'Idle -> Discard'
             weir live weir add extra Null | tail -n 1
             weir live weir rm extra 2>/dev/null | tail -n 1
             weir show fw --config",
        );
        texts.borrow_mut().push(text);
        assert!(daemon.runs(), "{}", daemon.stderr());
    });
    same(
        &texts,
        &expect_test::expect![[r#"
            weir: there is an instance `fw` already; change it with `weir set fw PATH=VALUE`, or delete it first with `weir delete fw`
            weir: `a-b`: expected a name of at most 32 letters, digits and `_`, a letter first, such as edge1
            weir: no function `firewal`; there are nat, firewall, router, bridge, filter, tee, count, print, hex, shape, delay, loss, policer, loadbalancer, ddos-mitigator, mirror, capture, flow-monitor, simple-forwarder, helloworld
            weir: no function `route`; that of `weir route` is called `router`
            weir: `d`: `time` is missing, which has no default; `weir create FUNCTION --help` tells how to give it
            weir: `mtu` `3`: expected a number from 68 to 65535
            weir: `firewall` has no `nothing`; it has name, rule, reverse, set, both, stateful, default, drop-non-ip, count-rules, tcp-timeout, udp-timeout, icmp-timeout, capacity, mtu, statistics
            weir: `rule` `permit all`: `permit all`: `permit` is none of allow, deny, drop
            weir: no instance `nobody`; there are fw
            weir: `rule/x`: `id`: expected a number from 0 to 4294967295
            weir: `fw`: a firewall has no port `up`; its ports: left, right
            weir: connection of fw:left: there is no instance `other`; create it first
            weir: `fw`: expected INSTANCE:PORT, dev:DEVICE, tap:DEVICE, unix:PATH, fifo:PATH or file:PATH, such as edge:left or dev:eth1
            weir: connection of dev:e0: dev:e0 and tap:t0: one of them must be a port of an instance
            weir: dev:there_is_none: No such device exists; `ip link` lists those that do
            weir: attachment of `fw`: `fw` cannot stand in front of itself
            weir: `fw` has no rule/7 now; `weir show fw` shows what it has
            weir: `fw` stands in front of no port; no instance does; `weir attach FUNCTION INSTANCE PORT` puts one there
            weir: nothing joins `fw:left`; there are no connections; `weir connect` makes one
            weir: no watch `w`; there is none; `weir watch` makes one
            weir: watch `w`: there is no instance `gone`; create it first, or delete the threshold with it
            weir: standard input: it is empty; expected a configuration as `weir show --yaml` prints it
            weir: `flush` is no action of a firewall; it has none
            weir: `firewall` comes with weir and stays
            weir: `cap`: /nowhere/x: No such file or directory
            weir: the daemon makes this graph of its configuration, which would no longer be what runs; change that with `weir set`, `weir delete`, `weir connect` or `weir apply`
            weir: the daemon makes this graph of its configuration, which would no longer be what runs; change that with `weir set`, `weir delete`, `weir connect` or `weir apply`
            extra:1:1: warning: 'extra :: Null' input 0 unused
            extra:1:1: warning: 'extra :: Null' output 0 unused
            weir: this lasts until the daemon's configuration changes: it makes the graph anew then
              add extra :: Null
              rm extra
            name: fw
            rule:
            - id: 1
              action: allow
              match: tcp
        "#]],
    );
}

/// A function that counts and whose counter's name does not change from version to version.
fn write_function(place: &super::Place, color: u32) {
    place.command("mkdir").arg("-p").arg("mine").status().unwrap();
    place.write(
        "mine/mine.yang",
        "module mine { yang-version 1.1; namespace 'urn:mine'; prefix mine; import weir { prefix weir; }
           list mine { key name; weir:port left; weir:port right; description 'Counts. And more.'; uses weir:instance;
             leaf limit { type uint8; default 3; }
             leaf seen { config false; type weir:counter; weir:read 'c.count'; }
             action reset { weir:write 'c.reset'; } } }",
    );
    place.write(
        "mine/mine.click",
        format!(
            "s :: InfiniteSource(LIMIT 5) -> c :: Counter -> p :: Paint({color}) -> {{{{ to('right') }}}};\n\
             {{{{ from('left') }}}} -> Discard; {{{{ from('right') }}}} -> Discard; Idle -> {{{{ to('left') }}}};"
        ),
    );
}

#[test]
fn functions_of_others_are_added_upgraded_with_state_and_removed() {
    as_each_user(|place| {
        let daemon = start(place);
        write_function(place, 1);
        let text = told(
            place,
            "weir function add mine
             weir function list | grep mine
             weir create mine m --limit 4
             while [ \"$(weir show m seen)\" != 5 ]; do sleep 0.05; done
             weir show m",
        );
        assert_eq!(
            text,
            "mine      Counts.\nname: m\nlimit: 4\nseen: '5'\n".replace("mine      ", &pad("mine", place))
        );
        write_function(place, 2);
        let text = told(
            place,
            "tar cf mine.tar mine && weir function add mine.tar
             weir show m seen
             weir handler --graph weir read m/p.config
             weir call m reset; weir show m seen
             weir function rm mine || :
             weir delete m; weir function rm mine; weir create mine m || :
             echo '{{ from(\"left\") }} -> {{ foo( }}' > mine/mine.click; weir function add mine || :
             sed -i 's/c.count/nosuch.count/' mine/mine.yang; tar xf mine.tar mine/mine.click; weir function add mine || :
             head -c 700 /dev/zero | tr '\\0' '\\377' > no.tar; weir function add no.tar || :",
        );
        assert!(
            text.starts_with("5\n2\n0\nweir: there are instances of `mine`; delete them first\n"),
            "{text}"
        );
        assert!(text.contains("weir: no function `mine`; there are "), "{text}");
        let refused = "weir: mine.click:1: unexpected `}`\n\
                       weir: mine.yang: `seen` has `weir:read \"nosuch.count\"`, but there is no such element\n\
                       weir: no.tar: no tar archive; give a function's folder, or a tar archive of it\n";
        assert!(text.ends_with(refused), "{text}");
        drop(daemon);
    });
}

/// A name as wide as the list has it.
fn pad(name: &str, place: &super::Place) -> String {
    let list = told(place, "weir function list | sed 's/  .*//' | wc -L");
    format!("{name:width$}  ", width = list.trim().parse::<usize>().unwrap())
}

#[test]
fn an_instance_that_is_attached_takes_the_flags_of_its_function() {
    as_each_user(|place| {
        let daemon = start(place);
        let text = told(
            place,
            "weir create firewall fw
             weir attach shape s fw:right 10Mbps --queue 7 --first
             weir attach --candidate delay d fw:left 3ms; weir show d || :; weir show --candidate d
             weir attach shape s fw:left --queue 9 || :
             weir attach shape t fw:left || :
             (weir attach shape t fw:left 1Mbps --quueue 9 2>&1 || echo $?) | grep -x 'Usage.*\\|2'
             weir show s --config; weir topology
             weir attach 2>&1 | grep Usage; weir create --help | grep Usage; weir events --help | grep -c candidate || :",
        );
        let expected = "weir: no instance `d`; there are fw, s
name: d
time: 3ms
weir: `--queue`: there is an instance `s` already; change it with `weir set s PATH=VALUE`
weir: `t`: `rate` is missing, which has no default; `weir create FUNCTION --help` tells how to give it
Usage: weir attach shape <INSTANCE> <PORT> [FLAGS]...
2
name: s
rate: 10Mbps
queue: 7
fw:right - s:left
Usage: weir attach [OPTIONS] <FUNCTION> <INSTANCE> <PORT> [FLAGS]...
Usage: weir create [OPTIONS] [FUNCTION] [NAME|FLAGS]...
0
";
        assert_eq!(text, expected);
        drop(daemon);
    });
}

#[test]
fn configuration_functions_and_order_outlive_the_daemon() {
    as_each_user(|place| {
        let daemon = start(place);
        write_function(place, 1);
        let script = "weir function add mine
             weir create mine m
             weir create firewall fw 'allow tcp' 'deny udp'
             weir connect m:right fw:left
             weir show --json --config";
        let before = told(place, script);
        drop(daemon);
        let daemon = start(place);
        assert_eq!(told(place, "weir show --json --config"), before);
        // The same again is no change, and from YAML as from JSON.
        let text = told(place, "weir show --yaml > all.yaml; weir show --json > all.json; weir apply all.yaml; weir apply -f all.json; weir show --json --config");
        let piped = "weir show --yaml | weir apply -f -; echo '{}' | weir apply -; weir show --json --config";
        let one =
            told(place, "weir show fw > fw.yaml; weir set fw -f fw.yaml 2>&1; weir apply fw.yaml 2>&1 || :");
        let due = "weir: fw.yaml: this is one instance, as `weir show fw` prints it; `weir set fw -f fw.yaml` takes it over\n";
        assert_eq!(one, due);
        assert_eq!(text, before);
        assert_eq!(told(place, piped), before, "what a file does not have stays");
        drop(daemon);
    });
}

#[test]
fn a_second_daemon_is_refused() {
    as_each_user(|place| {
        let daemon = start(place);
        let second = place.run("weir serve --volatile --socket api.socket");
        assert_ne!(second.code, 0);
        assert!(second.stderr.contains("runs already in process "), "{}", second.stderr);
        // Nothing stops that has not started.
        place.command("mkdir").arg("broken").status().unwrap();
        place.write("broken/running.json", "{");
        let third =
            place.run("XDG_RUNTIME_DIR=$PWD/broken weir serve --state broken --socket broken/api.socket");
        assert!(third.code == 1 && !third.stderr.contains("stops"), "{}", third.stderr);
        drop(daemon);
    });
}

#[test]
fn a_candidate_runs_when_it_is_committed_and_is_taken_back_if_not_confirmed() {
    as_each_user(|place| {
        let daemon = start(place);
        let text = told(
            place,
            "weir create firewall fw
             weir set --candidate fw mtu=1400
             weir create bridge br --candidate
             weir show fw mtu || :; weir show --candidate fw mtu; weir show | wc -l
             weir candidate commit
             weir show fw mtu; weir show | wc -l
             weir candidate commit || :
             weir set --candidate fw mtu=1300; weir candidate discard; weir show --candidate fw mtu
             weir set --candidate fw mtu=1200
             weir set fw default=allow
             weir candidate commit || :
             weir candidate discard
             weir set --candidate fw mtu=1100; weir candidate commit --confirm-within 1; weir show fw mtu
             while [ \"$(weir show fw mtu)\" != 1400 ]; do sleep 0.05; done
             weir candidate confirm || :
             weir set --candidate fw mtu=1000; weir candidate commit --confirm-within 60; weir candidate confirm
             weir candidate cancel || :
             weir show fw mtu
             weir candidate save
             weir set fw mtu=999
             weir set --candidate fw mtu=998; weir candidate commit --confirm-within 60; weir show fw mtu",
        );
        let expected = "weir: `fw` has no mtu now; `weir show fw` shows what it has
1400
2
1400
3
weir: there is no candidate: change something with --candidate first
1400
weir: the running configuration has changed since the candidate was begun; discard the candidate and begin anew
1100
weir: no commit waits for confirmation
weir: no commit waits for confirmation
1000
998
";
        assert_eq!(text, expected);
        // A daemon that ends before the confirmation comes back without what waited for it.
        drop(daemon);
        let daemon = start(place);
        assert_eq!(told(place, "weir show fw mtu"), "999\n");
        drop(daemon);
        let mut daemon = place.start("exec weir serve --state state --socket api.socket --startup");
        super::await_answer(place, &mut daemon);
        assert_eq!(told(place, "weir show fw mtu"), "1000\n");
        drop(daemon);
    });
}

#[test]
fn commands_wait_for_a_daemon_that_starts_and_name_it_behind_other_words() {
    as_each_user(|place| {
        let text = place.output(
            "exec 2>&1
             weir create bridge br --socket=api.socket || :
             weir show --server https://127.0.0.1:1 || :
             { sleep 0.3; exec weir serve --volatile --socket api.socket --log off; } & daemon=$!
             weir create bridge br --socket api.socket --wait=30 || :
             weir create --wait bridge --socket=api.socket br2 || :
             weir show --socket api.socket | cut -d' ' -f1
             weir create bridge br3 --socket || :
             kill $daemon; wait $daemon || :",
        );
        assert!(
            text.contains("\nINSTANCE\nbr\nbr2\nerror: a value is required for '--socket <PATH>'"),
            "{text}"
        );
        assert!(
            text.contains("no daemon answers there: start one with `weir serve`, name its --socket, or wait"),
            "{text}"
        );
        let told = "weir: https://127.0.0.1:1: Connection refused; no daemon answers there: start one with `weir serve --listen`, ";
        assert!(text.contains(told), "{text}");
    });
}

#[test]
fn a_socket_where_none_can_be_is_refused() {
    as_each_user(|place| {
        let told = place.run("weir serve --volatile --log off --socket nowhere/api.socket");
        let due = "weir: --socket nowhere/api.socket: there is no folder nowhere; make it with `mkdir -p nowhere`\n";
        assert_eq!((told.code, told.stderr.as_str()), (1, due));
        place.write("text", "");
        for (options, due) in [
            (
                "--volatile --socket .",
                "--socket .: it is a folder; name a socket in it, such as ./weir.socket",
            ),
            ("--volatile --socket text", "--socket text: it is a file and no socket; give another path"),
            ("--state text --socket api.socket", "text: it is no folder; give one with --state"),
        ] {
            let told = place.run(&format!("weir serve --log off {options}"));
            assert_eq!((told.code, told.stderr), (1, format!("weir: {due}\n")));
        }
        let told = place.run(&format!("weir serve --volatile --socket {}", "a".repeat(108)));
        assert!(
            told.stderr.ends_with("its path has 108 bytes; that of a socket may have 107\n"),
            "{}",
            told.stderr
        );
        let told = place.run("weir serve --volatile --cpu 99999");
        assert_eq!(told.code, 2);
        assert!(
            told.stderr.contains("'99999' for '--cpu <N>': this process may use the processors "),
            "{}",
            told.stderr
        );
    });
}
