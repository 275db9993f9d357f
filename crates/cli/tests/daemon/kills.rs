//! Daemons that are killed while their configuration changes.

use std::time::Duration;

use serde_json::Value;

use super::process::{until, Place};
use super::told;

/// How often the daemon is killed; `WEIR_KILLS` says otherwise.
const KILLS: usize = 12;

/// What is read back is what was acknowledged last, or what was about to be, and whole: each change replaces all three rules.
#[test]
fn what_is_read_back_was_acknowledged_or_in_flight() {
    let place = Place::new(super::process::users()[0]);
    let n_kills = std::env::var("WEIR_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let mut seed = 1_u64;
    let mut acknowledged = 0;
    for _ in 0..n_kills {
        let mut daemon = place.start("exec weir serve --state state --socket api.socket");
        super::await_answer(&place, &mut daemon);
        let found = number(&place);
        assert!(found == acknowledged || found == acknowledged + 1, "{found} after {acknowledged}");
        let mut writer = place.start(&format!("export WEIR_SOCKET=api.socket; n={found}; {WRITER}"));
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        until("the first change is acknowledged", || !writer.stdout().is_empty() || !writer.runs());
        std::thread::sleep(Duration::from_micros(seed >> 48));
        drop(daemon);
        until("the writer ends", || !writer.runs());
        acknowledged = writer.stdout().lines().last().and_then(|line| line.parse().ok()).unwrap_or(found);
    }
}

/// Four transactions, of which the second is damaged: all that could be done is to go on with the first alone.
#[test]
fn a_daemon_that_cannot_read_its_state_says_so_and_ends() {
    let place = Place::new(super::process::users()[0]);
    let daemon = super::start(&place);
    told(&place, "for name in a b c d; do weir create firewall $name --default allow; done");
    drop(daemon);
    let path = place.path("state/journal");
    let whole = std::fs::read_to_string(&path).unwrap();
    let offset = whole.find('\n').unwrap() + 1;
    std::fs::write(&path, whole.replacen("\"b\"", "\"x\"", 1)).unwrap();
    let ended = place.run("exec timeout 60 weir serve --state state --socket api.socket");
    assert_eq!(ended.code, 1, "{ended:?}");
    let told_of_it = format!("state/journal: the transaction at byte {offset}: its checksum is wrong");
    assert!(ended.stderr.contains(&told_of_it), "{}", ended.stderr);
    assert_ne!(std::fs::read_to_string(&path).unwrap(), whole);
    std::fs::write(&path, whole).unwrap();
    let daemon = super::start(&place);
    let all: Value = serde_json::from_str(&told(&place, "weir show --json --config")).unwrap();
    assert_eq!(all["firewall:firewall"].as_array().map(Vec::len), Some(4));
    drop(daemon);
}

/// Replaces all rules by three with the next number, tells the number once that is acknowledged, and ends when it is not.
const WRITER: &str = r#"
while :; do
  n=$((n + 1))
  body="{\"firewall:firewall\":[{\"name\":\"fw\",\"rule\":[{\"id\":1,\"action\":\"allow\",\"match\":\"dst port $n\"},{\"id\":2,\"action\":\"deny\",\"match\":\"dst port $n\"},{\"id\":3,\"action\":\"deny\",\"match\":\"dst port $n\"}]}]}"
  curl -sf --unix-socket api.socket -X PUT -H 'content-type: application/yang-data+json' -d "$body" http://weir/restconf/data/firewall:firewall=fw || exit 0
  echo $n
done"#;

/// The number that all three rules have; 0 if there is no firewall yet.
fn number(place: &Place) -> u64 {
    let text = told(place, "weir show --json --config");
    let all: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let Some(rules) = all["firewall:firewall"][0]["rule"].as_array() else { return 0 };
    let numbers: Vec<u64> = rules
        .iter()
        .map(|rule| rule["match"].as_str().unwrap()["dst port ".len()..].parse().unwrap())
        .collect();
    assert_eq!(numbers.len(), 3, "{text}");
    assert!(numbers.iter().all(|number| *number == numbers[0]), "{text}");
    numbers[0]
}
