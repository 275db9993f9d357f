//! The store: transactions that are made whole or not at all, and what is left of them on disk.

use std::sync::{Arc, Mutex};

use daemon::edit::{Edit, Op};
use daemon::tree::Position;
use daemon::{path, Fault, Journal, Plane, Store};
use expect_test::expect;
use functions::{Functions, Package};
use serde_json::{json, Value};

const SCHEMA: &str =
    "module wire { yang-version 1.1; namespace 'urn:wire'; prefix wire; import weir { prefix weir; }
  list wire { key name; weir:port left; weir:port right; uses weir:instance;
    leaf color { type uint8; default 1; }
    leaf address { type weir:ipv4-address; }
    leaf fails { type boolean; default false; }
    leaf-list tag { type string; ordered-by user; }
    list rule { key id; ordered-by user; leaf id { type uint32; } leaf match { type weir:pattern; } }
    container limits { leaf low { type uint8; } leaf high { type uint8; }
      must 'not(low > high)' { error-message 'low is above high'; error-app-tag bounds; } }
  } }";
const TEMPLATE: &str = "{% if fails %}{{ raise('it fails on purpose') }}{% endif %}
paint :: Paint({{ color }});
{{ from('left') }} -> paint -> {{ to('right') }};
{{ from('right') }} -> {{ to('left') }};
{% for one in rule %}
// {{ one.id }} {{ one.match }}
{% endfor %}";

/// Keeps the texts that it was given; refuses those with a word in them.
#[derive(Default)]
struct Kept(Mutex<Vec<String>>);

impl Plane for Kept {
    fn change(&self, text: &str, _title: &str) -> Result<(), String> {
        if text.contains("Paint(13)") {
            return Err("13 is refused".to_string());
        }
        self.0.lock().unwrap().push(text.to_string());
        Ok(())
    }

    fn read(&self, handler: &str) -> Result<String, String> {
        Ok(handler.to_string())
    }

    fn read_all(&self, handlers: &[String]) -> Vec<Result<String, String>> {
        handlers.iter().map(|handler| self.read(handler)).collect()
    }

    fn write(&self, _handler: &str, _value: &str) -> Result<(), String> {
        Ok(())
    }
}

fn functions() -> Functions {
    Functions::new(vec![Arc::new(Package::of_texts("wire", SCHEMA, TEMPLATE))]).unwrap()
}

fn store() -> (Store, Arc<Kept>) {
    let plane = Arc::new(Kept::default());
    (Store::new(functions(), plane.clone()), plane)
}

fn edit(op: Op, path: &str, value: Value) -> Edit {
    Edit { op, path: path::parse(path).unwrap(), value: Some(value), at: None }
}

fn told(result: Result<Vec<Edit>, (usize, Fault)>) -> String {
    match result {
        Ok(_) => "done".to_string(),
        Err((i, fault)) => format!(
            "edit {i}: {} {} {}: {} {:?}",
            fault.status,
            fault.tag,
            fault.path.unwrap_or_default(),
            fault.message,
            fault.app_tag
        ),
    }
}

fn shown(store: &Store) -> String {
    store.tree().0.to_string()
}

#[test]
fn a_transaction_is_made_whole_or_not_at_all() {
    let (mut store, plane) = store();
    let create = edit(Op::Create, "/wire:wire=a", json!({ "name": "a", "color": 2 }));
    store.transaction(std::slice::from_ref(&create), "").unwrap();
    let before = shown(&store);
    let n_texts = plane.0.lock().unwrap().len();
    let second =
        edit(Op::Merge, "/wire:wire=a", json!({ "color": 3, "rule": [{ "id": 1, "match": "all" }] }));
    let mut answers = Vec::new();
    for bad in [
        create,
        edit(Op::Delete, "/wire:wire=b", Value::Null),
        edit(Op::Merge, "/wire:wire=a/color", json!(300)),
        edit(Op::Merge, "/wire:wire=a/color", json!("3")),
        edit(Op::Merge, "/wire:wire=a/address", json!("10.0.0")),
        edit(Op::Merge, "/wire:wire=a/nothing", json!(1)),
        edit(Op::Merge, "/wire:wire=a", json!({ "nothing": 1 })),
        edit(Op::Merge, "/wire:wire=a", json!({ "name": "b" })),
        edit(Op::Merge, "/wire:wire=a", json!([1])),
        edit(Op::Merge, "/wire:wire=a/name", json!("b")),
        edit(Op::Merge, "/wire:wire=a/limits", json!({ "low": 5, "high": 4 })),
        edit(Op::Merge, "/wire:wire=a/rule=2", json!({ "id": 2, "match": "tcp prt 80" })),
        edit(Op::Merge, "/wire:wire=a/rule=x", json!({})),
        edit(Op::Merge, "/wire:wire=a/rule", json!({})),
        edit(Op::Merge, "/wire:wire=a/color", json!(13)),
        edit(Op::Merge, "/wire:wire=a/fails", json!(true)),
        edit(Op::Merge, "/wire:wire=dev", json!({})),
        edit(Op::Merge, "/wire:wire=3", json!({})),
        edit(Op::Merge, "/other:other=3", json!({})),
        edit(Op::Merge, "/weir:topology/connection=a:left", json!({ "to": "b:left" })),
        edit(Op::Merge, "/weir:topology/connection=a:up", json!({ "to": "dev:e0" })),
    ] {
        answers.push(told(store.transaction(&[second.clone(), bad], "")));
        assert_eq!(shown(&store), before, "{}", answers.last().unwrap());
    }
    assert_eq!(plane.0.lock().unwrap().len(), n_texts);
    expect![[r#"
        edit 1: 409 data-exists /wire:wire=a: /wire:wire=a exists already; change it with PUT or PATCH None
        edit 1: 409 data-missing /wire:wire=b: /wire:wire=b does not exist None
        edit 1: 400 invalid-value /wire:wire=a/color: `color` `300`: expected a number from 0 to 255 None
        edit 1: 400 invalid-value /wire:wire[name='a']/color: Invalid non-number-encoded uint8 value "3". None
        edit 1: 400 invalid-value /wire:wire=a/address: `address` `10.0.0`: expected an IPv4 address such as 10.0.0.1 None
        edit 1: 400 unknown-element : `wire` has no `nothing`; it has name, color, address, fails, tag, rule, limits None
        edit 1: 400 unknown-element /wire:wire=a: `wire` has no `nothing`; it has name, color, address, fails, tag, rule, limits None
        edit 1: 400 invalid-value /wire:wire=a: the entry's key is b in its value; it must be a None
        edit 1: 400 invalid-value /wire:wire=a: `wire` `[1]`: expected an object with some of name, color, address, fails, tag, rule, limits, as in {"color": VALUE} None
        edit 1: 405 operation-not-supported /wire:wire=a/name: `name` is the entry's key: make another entry None
        edit 1: 400 invalid-value /wire:wire[name='a']/limits: low is above high Some("bounds")
        edit 1: 400 invalid-value /wire:wire=a/rule=2/match: `match` `tcp prt 80`: empty term near 'prt' (`weir help IPClassifier` describes patterns) None
        edit 1: 400 invalid-value : `x`: expected a number from 0 to 4294967295 None
        edit 1: 400 invalid-value /wire:wire=a/rule: `rule` is a list: expected an array None
        edit 1: 409 operation-failed : 13 is refused None
        edit 1: 409 operation-failed /wire:wire=a: it fails on purpose None
        edit 1: 400 invalid-value /wire:wire=dev: `dev` means something else in connections and graphs; choose another name None
        edit 1: 400 invalid-value : `3`: expected a name of at most 32 letters, digits and `_`, a letter first, such as edge1 None
        edit 1: 400 unknown-element : no function `other`; there are wire None
        edit 1: 400 invalid-value /weir:topology/connection=a%3Aleft: there is no instance `b`; create it first None
        edit 1: 400 invalid-value /wire:wire=a: a wire has no port `up`; its ports: left, right None"#]].assert_eq(&answers.join("\n"));
    // What failed has left nothing that hinders what is right.
    store.transaction(&[second], "").unwrap();
    expect![[r#"{"wire:wire":[{"name":"a","color":3,"rule":[{"id":1,"match":"all"}]}]}"#]]
        .assert_eq(&shown(&store));
}

#[test]
fn what_changes_a_whole_list_reaches_the_graph() {
    let (mut store, plane) = store();
    let last = || plane.0.lock().unwrap().last().cloned().unwrap();
    store.transaction(&[edit(Op::Create, "/wire:wire=a", json!({ "color": 2 }))], "").unwrap();
    store.transaction(&[edit(Op::Merge, "/wire:wire", json!([{ "name": "a", "color": 3 }]))], "").unwrap();
    assert!(last().contains("Paint(3)"), "{}", last());
    store.transaction(&[edit(Op::Replace, "/wire:wire", json!([{ "name": "a", "color": 4 }]))], "").unwrap();
    assert!(last().contains("Paint(4)"), "{}", last());
    store.transaction(&[edit(Op::Remove, "/wire:wire", Value::Null)], "").unwrap();
    assert!(!last().contains("Paint("), "{}", last());
}

#[test]
fn entries_stand_where_they_are_put() {
    let (mut store, _) = store();
    store.transaction(&[edit(Op::Create, "/wire:wire=a", json!({}))], "").unwrap();
    let put = |id: u32, at: Option<Position>| Edit {
        at,
        ..edit(Op::Replace, &format!("/wire:wire=a/rule={id}"), json!({ "id": id, "match": "all" }))
    };
    let keys = |id: u32| vec![id.to_string()];
    let order = |store: &Store| {
        let (_, entry) = store.instance("a").unwrap();
        entry["rule"]
            .as_array()
            .unwrap()
            .iter()
            .map(|rule| rule["id"].to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (id, at, expected) in [
        (1, None, "1"),
        (2, None, "1 2"),
        (3, Some(Position::First), "3 1 2"),
        (4, Some(Position::Before(keys(1))), "3 4 1 2"),
        (5, Some(Position::After(keys(1))), "3 4 1 5 2"),
        (3, Some(Position::Last), "4 1 5 2 3"),
        (2, Some(Position::After(keys(4))), "4 2 1 5 3"),
        (5, None, "4 2 1 5 3"),
    ] {
        store.transaction(&[put(id, at)], "").unwrap();
        assert_eq!(order(&store), expected);
    }
    let moved =
        Edit { at: Some(Position::First), value: None, ..edit(Op::Move, "/wire:wire=a/rule=3", Value::Null) };
    let bad = edit(Op::Merge, "/wire:wire=a/color", json!(13));
    assert!(store.transaction(&[moved.clone(), put(9, Some(Position::First)), bad], "").is_err());
    assert_eq!(order(&store), "4 2 1 5 3");
    store.transaction(&[moved], "").unwrap();
    assert_eq!(order(&store), "3 4 2 1 5");
    let remove = |id: u32| edit(Op::Remove, &format!("/wire:wire=a/rule={id}"), Value::Null);
    store.transaction(&[remove(2), remove(7), remove(3)], "").unwrap();
    assert_eq!(order(&store), "4 1 5");
    let lost = put(6, Some(Position::Before(keys(99))));
    expect!["edit 0: 409 data-missing : `rule` has no entry 99 to stand beside None"]
        .assert_eq(&told(store.transaction(&[lost], "")));
}

#[test]
fn the_configuration_outlives_the_store() {
    let folder = std::env::temp_dir().join(format!("weir-store-test-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let open = || {
        let (mut store, plane) = store();
        let (journal, found) = Journal::open(&folder).unwrap();
        store.recover(journal, found).unwrap();
        (store, plane)
    };
    let (mut first, plane) = open();
    first.transaction(&[edit(Op::Create, "/wire:wire=a", json!({ "color": 4 }))], "").unwrap();
    first
        .transaction(
            &[edit(Op::Create, "/wire:wire=b", json!({ "rule": [{ "id": 1, "match": "tcp" }] }))],
            "",
        )
        .unwrap();
    first
        .transaction(&[edit(Op::Merge, "/weir:topology/connection=a:left", json!({ "to": "b:right" }))], "")
        .unwrap();
    assert!(Journal::open(&folder).is_err_and(|fault| fault.tag == "in-use"));
    let (config, text) = (shown(&first), plane.0.lock().unwrap().last().cloned().unwrap());
    drop(first);
    // A kill in the middle of a line leaves a part of it.
    let journal = folder.join("journal");
    let mut bytes = std::fs::read(&journal).unwrap();
    let whole = bytes.len();
    bytes.extend_from_slice(b"0000abcd [4,[{\"op\":\"merge\"");
    std::fs::write(&journal, &bytes).unwrap();
    let (mut second, plane) = open();
    assert_eq!(shown(&second), config);
    assert_eq!(plane.0.lock().unwrap().last(), Some(&text));
    assert_eq!(second.revision(), 3);
    assert_eq!(std::fs::metadata(&journal).unwrap().len(), whole as u64);
    second.transaction(&[edit(Op::Delete, "/weir:topology", Value::Null)], "").unwrap();
    drop(second);
    // A journal that is made short holds the same.
    let (mut third, _) = open();
    third.shorten_journal().unwrap();
    assert_eq!(std::fs::metadata(&journal).unwrap().len(), 0);
    drop(third);
    let (fourth, _) = open();
    expect![[r#"{"wire:wire":[{"name":"a","color":4},{"name":"b","rule":[{"id":1,"match":"tcp"}]}]}"#]]
        .assert_eq(&shown(&fourth));
    assert_eq!(fourth.revision(), 4);
    drop(fourth);
    // What was damaged is told and not taken for something else.
    let path = folder.join("running.json");
    let text = std::fs::read_to_string(&path).unwrap().replace("\"color\": 4", "\"color\": 5");
    std::fs::write(&path, text).unwrap();
    let error = Journal::open(&folder).map(drop).unwrap_err();
    assert!(error.message.contains("its checksum is wrong"), "{}", error.message);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn other_functions_find_a_configuration_of_their_own_schemas() {
    let folder = std::env::temp_dir().join(format!("weir-store-functions-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let (mut first, _) = store();
    let (journal, found) = Journal::open(&folder).unwrap();
    first.recover(journal, found).unwrap();
    first.transaction(&[edit(Op::Create, "/wire:wire=a", json!({ "tag": ["x"] }))], "").unwrap();
    first.transaction(&[edit(Op::Remove, "/wire:wire=a/tag", Value::Null)], "").unwrap();
    // The next one does not know what the journal's changes are about.
    let without = SCHEMA.replace("leaf-list tag { type string; ordered-by user; }", "");
    let package = || Package::of_texts("wire", &without, TEMPLATE);
    first.change_functions(Functions::new(vec![Arc::new(package())]).unwrap()).unwrap();
    drop(first);
    let mut second =
        Store::new(Functions::new(vec![Arc::new(package())]).unwrap(), Arc::new(Kept::default()));
    let (journal, found) = Journal::open(&folder).unwrap();
    second.recover(journal, found).unwrap();
    expect![[r#"{"wire:wire":[{"name":"a"}]}"#]].assert_eq(&shown(&second));
    assert_eq!(second.revision(), 2);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A schema with a condition and a choice.
const RANKED: &str =
    "module rank { yang-version 1.1; namespace 'urn:rank'; prefix rank; import weir { prefix weir; }
  list rank { key name; uses weir:instance;
    leaf action { type enumeration { enum mark; enum drop; } default mark; }
    leaf dscp { when '../action = \"mark\"'; type uint8; }
    choice way { leaf aa { type uint8; } leaf bb { type uint8; } } } }";

fn ranked(folder: &std::path::Path) -> Store {
    let package = Package::of_texts("rank", RANKED, "Idle -> Discard;");
    let functions = Functions::new(vec![Arc::new(package)]).unwrap();
    let mut store = Store::new(functions, Arc::new(Kept::default()));
    let (journal, found) = Journal::open(folder).unwrap();
    store.recover(journal, found).unwrap();
    store
}

#[test]
fn what_has_no_place_beside_new_values_goes() {
    let folder = std::env::temp_dir().join(format!("weir-store-when-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let mut store = ranked(&folder);
    let merge = |value: Value| edit(Op::Merge, "/rank:rank=a", value);
    let left = r#"{"rank:rank":[{"name":"a","action":"drop","bb":2}]}"#;
    store.transaction(&[merge(json!({ "dscp": 10, "aa": 1 }))], "").unwrap();
    let bad = edit(Op::Merge, "/rank:rank=a/dscp", json!(300));
    store.transaction(&[merge(json!({ "action": "drop" })), bad], "").unwrap_err();
    let whole = shown(&store);
    // Nobody is told that a value was taken which is not there.
    let given = merge(json!({ "action": "drop", "dscp": 11 }));
    expect!["edit 0: 400 invalid-value /rank:rank=a/dscp: this has no place beside the other values: its condition (`when`) is not satisfied, or there is another case of its choice None"]
        .assert_eq(&told(store.transaction(&[given], "")));
    assert_eq!(shown(&store), whole);
    let made = store.transaction(&[merge(json!({ "action": "drop", "bb": 2 }))], "").unwrap();
    let text = |edit: &Edit| format!("{:?} {}", edit.op, edit.path.last().unwrap().name);
    assert_eq!(made.iter().map(text).collect::<Vec<_>>(), ["Merge rank", "Remove dscp", "Remove aa"]);
    assert_eq!(shown(&store), left);
    // What fails hinders nothing that is right.
    let create = edit(Op::Create, "/rank:rank=b", json!({}));
    store.transaction(std::slice::from_ref(&create), "").unwrap();
    store.transaction(&[create], "").unwrap_err();
    store.transaction(&[edit(Op::Delete, "/rank:rank=b", Value::Null)], "").unwrap();
    drop(store);
    assert_eq!(shown(&ranked(&folder)), left);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_an_earlier_weir_kept_without_a_place_for_it_is_removed() {
    let folder = std::env::temp_dir().join(format!("weir-store-earlier-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let left = r#"{"rank:rank":[{"name":"a","action":"drop","bb":2}]}"#;
    // As changes, and as a whole configuration.
    let mut journal = Journal::open(&folder).unwrap().0;
    for value in [json!({ "dscp": 10, "aa": 1 }), json!({ "action": "drop", "bb": 2 })] {
        journal.write(&[edit(Op::Merge, "/rank:rank=a", value)], &daemon::tree::Tree::new()).unwrap();
    }
    drop(journal);
    assert_eq!(shown(&ranked(&folder)), left);
    let whole = json!({ "rank:rank": [{ "name": "a", "dscp": 10, "aa": 1, "action": "drop", "bb": 2 }] });
    daemon::journal::write_whole(&folder.join("running.json"), &whole, 7).unwrap();
    let mut store = ranked(&folder);
    assert_eq!(shown(&store), left);
    // Changes from then on are about what was left.
    store.transaction(&[edit(Op::Merge, "/rank:rank=a/action", json!("mark"))], "").unwrap();
    store.transaction(&[edit(Op::Create, "/rank:rank=a/dscp", json!(9))], "").unwrap();
    let end = shown(&store);
    drop(store);
    assert_eq!(shown(&ranked(&folder)), end);
    std::fs::remove_dir_all(&folder).unwrap();
}
