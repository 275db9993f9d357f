//! Completions in a real shell, of a real daemon and a real graph.

use super::process::{as_each_user, until};
use super::{start, told};

/// Lets bash complete lines, as it calls the function of the script that weir writes. It takes words apart at `=` and `:`.
const TRY: &str = r#"
source <(weir completions bash)
try() {
  COMP_LINE=$1 COMP_POINT=${#1}
  local word=${1##* }
  COMPREPLY=()
  _weir weir "${word##*[=:]}" x
  local IFS=' '
  echo "$1> ${COMPREPLY[*]}"
}
"#;

#[test]
fn bash_completes_what_the_daemon_has() {
    as_each_user(|place| {
        let daemon = start(place);
        let text = told(
            place,
            &format!(
                "{TRY}
                 weir create firewall fw --default allow 'allow tcp' 'deny udp'; weir create bridge br0
                 weir create router r; weir set r interface/a/address=10.0.0.2/24; weir set r 'route=10.9.0.0/16 via 10.0.0.1'
                 weir connect fw:left br0:a
                 weir watch full /weir:topology/port=fw,left/rx-packets --rising 100
                 try 'weir show '; try 'weir show f'; try 'weir show fw rule/'; try 'weir show fw rule/1/m'; try 'weir show fw st'
                 try 'weir set fw rule/'; try 'weir set fw mtu=1400 rule/2/action='; try 'weir set fw stateful='; try 'weir set fw packets'
                 try 'weir connect fw:'; try 'weir connect fw:right r'; try 'weir disconnect '
                 weir attach firewall guard fw:left; try 'weir disconnect '; try 'weir detach '; weir delete guard
                 try 'weir attach fire'; try 'weir attach firewall guard fw:r'; try 'weir create fire'
                 try 'weir create firewall f2 --def'; try 'weir create firewall f2 --default d'
                 try 'weir delete r route/'; try 'weir delete r route/\\\"10.9.0.0/16\\\"/'
                 try 'weir unwatch '; try 'weir watch w fw rule/1/'; try 'weir topology; sudo weir show b'
                 try 'weir connect fw:right t'"
            ),
        );
        let expected = r#"weir show > br0 fw r
weir show f> fw
weir show fw rule/> rule/1 rule/2
weir show fw rule/1/m> rule/1/match
weir show fw st> stateful statistics/
weir set fw rule/> rule/1/ rule/2/
weir set fw mtu=1400 rule/2/action=> allow deny drop
weir set fw stateful=> true false
weir set fw packets> 
weir connect fw:> right
weir connect fw:right r> r:a
weir disconnect > br0:a fw:left
weir disconnect > br0:a fw:left
weir detach > guard
weir attach fire> firewall
weir attach firewall guard fw:r> right
weir create fire> firewall
weir create firewall f2 --def> --default
weir create firewall f2 --default d> deny
weir delete r route/> route/\"10.9.0.0/16\"/
weir delete r route/\"10.9.0.0/16\"/> route/\"10.9.0.0/16\"/10.0.0.1
weir unwatch > full
weir watch w fw rule/1/> rule/1/packets
weir topology; sudo weir show b> br0
weir connect fw:right t> tap:
"#;
        assert_eq!(text, expected);
        drop(daemon);
    });
}

/// A function with a word of its own: the port that stands in front of it is none.
const PICK: &str = "mkdir pick
cat > pick/pick.yang <<'END'
module pick { yang-version 1.1; namespace 'urn:pick'; prefix pick; import weir { prefix weir; }
  list pick { key name; weir:port left; weir:port right; uses weir:instance;
    leaf way { type enumeration { enum there; enum back; } weir:word; } } }
END
echo '{{ from(\"left\") }} -> {{ to(\"right\") }}; {{ from(\"right\") }} -> {{ to(\"left\") }};' > pick/pick.click
weir function add pick
weir create firewall fw
";

#[test]
fn words_of_functions_are_completed_behind_the_port_that_something_is_attached_to() {
    as_each_user(|place| {
        let daemon = start(place);
        let text = told(
            place,
            &format!("{TRY}{PICK}\ntry 'weir create pick p '; try 'weir attach pick p fw:left '"),
        );
        assert_eq!(text, "weir create pick p > there back\nweir attach pick p fw:left > there back\n");
        drop(daemon);
    });
}

/// Fish asks with the words before the one that is to be completed, and this one.
#[test]
fn fish_is_told_words_and_what_they_are() {
    as_each_user(|place| {
        let daemon = start(place);
        let text = told(
            place,
            "weir completions fish | grep -c __fish_complete_path
             weir create firewall fw
             try() { WEIR_COMPLETE=fish weir -- weir \"$@\"; }
             try show ''; try set fw default=; try create policer p --action ''; try help IPRewriterP; try help bri; try check /no
             try show --yam",
        );
        let expected = "1\nfw\ndefault=allow\ndefault=deny\ndrop\nmark\npass\nIPRewriterPatterns\nbridge\n\
                        --yaml\tPrint YAML (the default where there is no table)\n";
        assert_eq!(text, expected);
        drop(daemon);
    });
}

#[test]
fn bash_completes_names_of_running_graphs_their_elements_and_handlers() {
    as_each_user(|place| {
        let graph = "s :: RatedSource(RATE 10) -> q :: Queue(500) -> u :: RatedUnqueue(9) -> d :: Discard";
        let _graph = place.start(&format!("exec weir run --quiet --name g -e '{graph}'"));
        until("the graph runs", || place.run("weir live g show").code == 0);
        let text = told(
            place,
            &format!(
                "{TRY}
                 weir live g watch full q.length --rising 100
                 try 'weir live '; try 'weir live g un'; try 'weir live g rm '; try 'weir live nobody rm d'; try 'weir live g unwatch '
                 try 'weir live g watch w q.len'; try 'weir handler --graph g read q.'; try 'weir handler -g g write q.'
                 try 'weir handler read u.ra'; try 'weir tap -g '; try 'weir tap -g g '; try 'weir live g subscribe q.res'"
            ),
        );
        let line = |start: &str| {
            text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{text}"))
        };
        assert_eq!(line("weir live > "), "weir live > g");
        assert_eq!(line("weir live g un>"), "weir live g un> unbind unsubscribe unwatch");
        assert_eq!(line("weir live g rm >"), "weir live g rm > s q u d");
        assert_eq!(line("weir live nobody"), "weir live nobody rm d> ");
        assert_eq!(line("weir live g unwatch"), "weir live g unwatch > full");
        assert_eq!(line("weir live g watch w"), "weir live g watch w q.len> q.length");
        let read = line("weir handler --graph g read q.>");
        assert!(read.contains(" q.length") && !read.contains("q.reset"), "{read}");
        let write = line("weir handler -g g write q.>");
        assert!(write.contains(" q.reset") && !write.contains("q.length "), "{write}");
        assert_eq!(line("weir handler read"), "weir handler read u.ra> u.rate");
        assert_eq!(
            (line("weir tap -g >"), line("weir tap -g g >")),
            ("weir tap -g > g", "weir tap -g g > s q u d")
        );
        assert_eq!(line("weir live g subscribe"), "weir live g subscribe q.res> q.reset q.reset_counts");
    });
}

/// A daemon that is not there, one that takes connections and says nothing, and a file that is no socket.
#[test]
fn without_an_answer_there_are_only_commands_and_flags() {
    as_each_user(|place| {
        let path = place.path("silent.socket");
        let _silent = std::os::unix::net::UnixListener::bind(&path).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let text = told(
            place,
            &format!(
                "{TRY}
                 touch file
                 for socket in none silent.socket file; do
                   export WEIR_SOCKET=$socket
                   try 'weir show f'; try 'weir set fw mt'; try 'weir create fire'; try 'weir show --st'; try 'weir sho'
                 done"
            ),
        );
        let one = "weir show f> \nweir set fw mt> \nweir create fire> firewall\nweir show --st> --state\nweir sho> show\n";
        assert_eq!(text, one.repeat(3));
    });
}
