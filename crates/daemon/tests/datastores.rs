//! The candidate, and commits that wait for confirmation.

use std::sync::Arc;

use daemon::restconf::{Reply, Request};
use daemon::roles::{Role, Who};
use daemon::{Edit, Journal, Op, Plane, Service, Store};
use functions::{Functions, Package};
use serde_json::{json, Value};

const SCHEMA: &str =
    "module wire { yang-version 1.1; namespace 'urn:wire'; prefix wire; import weir { prefix weir; }
  list wire { key name; weir:port left; weir:port right; uses weir:instance; leaf color { type uint8; }
    leaf shade { when '../color < 5'; type uint8; } } }";
const TEMPLATE: &str =
    "{{ from('left') }} -> Paint({{ color }}) -> {{ to('right') }}; {{ from('right') }} -> {{ to('left') }};";

/// Runs all but colour 13; a graph with colour 14 cannot be made, nor one with an element of class `Nosuch` or `Nowhere`.
struct Picky;

impl Plane for Picky {
    fn change(&self, text: &str, _title: &str) -> Result<(), String> {
        if text.contains("Paint(13)") {
            return Err("13 is refused".to_string());
        }
        Ok(())
    }

    fn check(&self, text: &str) -> Result<(), String> {
        let wrong = [
            ("Paint(14)", "14 is no colour"),
            ("Nosuch", "graph:2:8: undeclared element 'Nosuch'"),
            ("Nowhere", "graph:2:8: unknown element class 'Nowhere'"),
        ];
        let found = wrong.iter().find(|(words, _)| text.contains(words));
        found.map_or(Ok(()), |(_, message)| Err(message.to_string()))
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

/// A daemon whose configuration is kept in a folder of its own, which goes with it.
struct Daemon {
    service: Arc<Service>,
    folder: std::path::PathBuf,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Daemon {
    fn start(name: &str) -> Daemon {
        let folder = std::env::temp_dir().join(format!("weir-datastores-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let package = Package::of_texts("wire", SCHEMA, TEMPLATE);
        let mut store = Store::new(Functions::new(vec![Arc::new(package)]).unwrap(), Arc::new(Picky));
        let (journal, found) = Journal::open(&folder).unwrap();
        store.recover(journal, found).unwrap();
        let service = Service::new(store, Some(folder.join("functions")));
        Daemon { service, folder }
    }

    fn request(&self, method: &str, path: &str) -> Request {
        Request {
            method: method.to_string(),
            path: path.to_string(),
            query: String::new(),
            headers: vec![("content-type".to_string(), "application/yang-data+json".to_string())],
            body: Vec::new(),
            who: Who { name: "someone".to_string(), role: Role::Administer },
            datastore: Default::default(),
        }
    }

    fn ask(&self, method: &str, path: &str, body: Value) -> Reply {
        self.ask_as("someone", Role::Administer, method, path, body)
    }

    fn ask_as(&self, name: &str, role: Role, method: &str, path: &str, body: Value) -> Reply {
        let patch = body.get("ietf-yang-patch:yang-patch").is_some();
        let form = if patch { "application/yang-patch+json" } else { "application/yang-data+json" };
        let headers = vec![("content-type".to_string(), form.to_string())];
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let who = Who { name: name.to_string(), role };
        self.service.answer(&Request { body, who, headers, ..self.request(method, path) })
    }

    /// One that runs what was prepared with color 1.
    fn committed(name: &str) -> Daemon {
        let daemon = Daemon::start(name);
        daemon.prepare(1);
        assert_eq!(daemon.operation("commit", Value::Null), 204);
        daemon
    }

    fn prepare(&self, color: u8) {
        let path = "/restconf/ds/ietf-datastores:candidate/wire:wire=a";
        let entry = json!({ "wire:wire": [{ "name": "a", "color": color }] });
        assert!(self.ask("PUT", path, entry).status < 300);
    }

    fn operation(&self, name: &str, input: Value) -> u16 {
        let body = if input.is_null() { input } else { json!({ "weir:input": input }) };
        self.ask("POST", &format!("/restconf/operations/weir:{name}"), body).status
    }

    fn color(&self) -> Value {
        let reply = self.ask("GET", "/restconf/data/wire:wire=a/color", Value::Null);
        serde_json::from_slice::<Value>(&reply.body).unwrap()["wire:color"].clone()
    }

    fn waits(&self) -> bool {
        self.folder.join("unconfirmed.json").exists()
    }
}

fn confirmed() -> Value {
    json!({ "confirmed": [null], "confirm-timeout": 600 })
}

#[test]
fn a_change_that_is_refused_begins_no_candidate() {
    let daemon = Daemon::start("refused");
    let path = "/restconf/ds/ietf-datastores:candidate/wire:wire=a";
    for color in [json!(14), json!(300), json!("blue")] {
        let entry = json!({ "wire:wire": [{ "name": "a", "color": color }] });
        assert!(daemon.ask("PUT", path, entry).status >= 400);
        assert_eq!(daemon.operation("commit", Value::Null), 409);
    }
    daemon.prepare(1);
    let missing = "/restconf/ds/ietf-datastores:candidate/wire:wire=b";
    assert!(daemon.ask("DELETE", missing, Value::Null).status >= 400);
    assert_eq!((daemon.operation("commit", Value::Null), daemon.color()), (204, json!(1)));
}

#[test]
fn a_commit_confirms_the_one_before() {
    let daemon = Daemon::start("confirms");
    for (color, answer_of_an_empty_commit) in [(1, 204), (2, 409)] {
        daemon.prepare(color);
        assert_eq!(daemon.operation("commit", confirmed()), 204);
        assert!(daemon.waits());
        if color == 2 {
            // With further changes as well as without.
            daemon.prepare(3);
            assert_eq!(daemon.operation("commit", Value::Null), 204);
        }
        assert_eq!(daemon.operation("commit", Value::Null), answer_of_an_empty_commit);
        assert!(!daemon.waits());
        assert_eq!(daemon.operation("cancel-commit", Value::Null), 409);
    }
    assert_eq!(daemon.color(), 3);
}

#[test]
fn a_commit_that_fails_leaves_the_one_before_waiting() {
    let daemon = Daemon::committed("fails");
    daemon.prepare(2);
    assert_eq!(daemon.operation("commit", confirmed()), 204);
    for input in [confirmed(), Value::Null] {
        daemon.prepare(13);
        assert_eq!(daemon.operation("commit", input), 409);
        assert_eq!(daemon.color(), 2);
        assert!(daemon.waits());
        assert_eq!(daemon.operation("discard-changes", Value::Null), 204);
    }
    daemon.prepare(4);
    assert_eq!(daemon.operation("commit", confirmed()), 204);
    assert_eq!(daemon.color(), 4);
    // What comes back is what ran before the first of them.
    assert_eq!(daemon.operation("cancel-commit", Value::Null), 204);
    assert_eq!(daemon.color(), 1);
    assert!(!daemon.waits());
}

#[test]
fn a_commit_that_cannot_be_confirmed_waits_on() {
    let daemon = Daemon::committed("waits");
    daemon.prepare(2);
    assert_eq!(daemon.operation("commit", confirmed()), 204);
    // Nobody can remove a folder as if it were a file.
    let (file, aside) = (daemon.folder.join("unconfirmed.json"), daemon.folder.join("aside"));
    std::fs::rename(&file, &aside).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert_eq!(daemon.operation("confirm-commit", Value::Null), 500);
    assert_eq!(daemon.operation("commit", Value::Null), 500);
    daemon.prepare(3);
    assert_eq!(daemon.operation("commit", Value::Null), 500);
    std::fs::remove_dir(&file).unwrap();
    std::fs::rename(&aside, &file).unwrap();
    assert_eq!(daemon.color(), 3);
    assert_eq!(daemon.operation("cancel-commit", Value::Null), 204);
    assert_eq!(daemon.color(), 1);
    assert!(!daemon.waits());
    assert_eq!(daemon.operation("cancel-commit", Value::Null), 409);
}

/// The last commit cannot run any more: its device has gone, say.
#[test]
fn what_a_daemon_does_not_begin_with_need_not_run() {
    let daemon = Daemon::committed("beginning");
    assert_eq!(daemon.operation("save-startup", Value::Null), 204);
    daemon.prepare(2);
    assert_eq!(daemon.operation("commit", Value::Null), 204);
    daemon.prepare(3);
    assert_eq!(daemon.operation("commit", confirmed()), 204);
    let aside = daemon.folder.join("aside");
    let begin = |from_startup: bool| {
        let mut store = Store::new(daemon.service.store().functions().clone(), Arc::new(Picky));
        store.begin(&aside, from_startup).map(|()| store)
    };
    let break_last = || {
        let (mut journal, _) = Journal::open(&aside).unwrap();
        let path = daemon::path::parse("/wire:wire=a/color").unwrap();
        let edit = Edit { op: Op::Replace, path, value: Some(json!(13)), at: None };
        journal.write(&[edit], &daemon.service.store().tree().clone()).unwrap();
        journal.sequence()
    };
    for (from_startup, color) in [(false, 2), (true, 1)] {
        std::fs::create_dir_all(&aside).unwrap();
        for name in ["journal", "startup.json", "unconfirmed.json"] {
            std::fs::copy(daemon.folder.join(name), aside.join(name)).unwrap();
        }
        let last = break_last();
        let expected = json!([{ "name": "a", "color": color }]);
        let store = begin(from_startup).unwrap();
        assert_eq!((&store.tree().0["wire:wire"], store.revision()), (&expected, last + 1));
        drop(store);
        // Once is enough.
        let store = begin(false).unwrap();
        assert_eq!((&store.tree().0["wire:wire"], store.revision()), (&expected, last + 1));
        drop(store);
        break_last();
        assert_eq!(begin(false).map(drop).unwrap_err().message, "13 is refused");
        // Where nothing was put by, what ran last is not lost.
        std::fs::remove_file(aside.join("startup.json")).unwrap();
        let refused = begin(true).map(drop).unwrap_err().message;
        assert!(refused.contains("startup.json is not there: nothing was saved"), "{refused}");
        assert_eq!(begin(false).map(drop).unwrap_err().message, "13 is refused");
        std::fs::remove_dir_all(&aside).unwrap();
    }
}

#[test]
fn who_looks_at_a_candidate_begins_none() {
    let daemon = Daemon::committed("looks");
    let candidate = "/restconf/ds/ietf-datastores:candidate/wire:wire=a/color";
    for color in [1, 2] {
        let there = "/restconf/data/wire:wire=a/color";
        assert_eq!(daemon.ask("PUT", there, json!({ "wire:color": color })).status, 204);
        // What one would begin as.
        let reply = daemon.ask("GET", candidate, Value::Null);
        assert_eq!(
            serde_json::from_slice::<Value>(&reply.body).unwrap(),
            json!({ "wire:color": color }),
            "there was a candidate"
        );
    }
    assert_eq!(daemon.ask("OPTIONS", candidate, Value::Null).status, 200);
    assert_eq!(daemon.operation("commit", Value::Null), 409);
}

#[test]
fn what_has_no_place_beside_a_candidates_values_goes() {
    let daemon = Daemon::start("places");
    let there = "/restconf/data/wire:wire=a";
    let entry = json!({ "wire:wire": [{ "name": "a", "color": 1, "shade": 2 }] });
    assert_eq!(daemon.ask("PUT", there, entry).status, 201);
    let candidate = "/restconf/ds/ietf-datastores:candidate/wire:wire=a";
    let reply = daemon.ask("PATCH", candidate, json!({ "wire:wire": [{ "name": "a", "color": 6 }] }));
    assert_eq!(reply.status, 204, "{}", String::from_utf8_lossy(&reply.body));
    assert_eq!(daemon.ask("GET", &format!("{candidate}/shade"), Value::Null).status, 404);
    assert_eq!(daemon.operation("commit", Value::Null), 204);
    assert_eq!(daemon.ask("GET", &format!("{there}/shade"), Value::Null).status, 404);
    assert_eq!(daemon.color(), 6);
}

#[test]
fn a_graph_that_cannot_be_made_is_refused_by_the_candidate() {
    let daemon = Daemon::start("checks");
    daemon.prepare(1);
    let path = "/restconf/ds/ietf-datastores:candidate/wire:wire=a/color";
    let reply = daemon.ask("PUT", path, json!({ "wire:color": 14 }));
    let told = String::from_utf8_lossy(&reply.body).into_owned();
    assert!(reply.status == 409 && told.contains("14 is no colour"), "{} {told}", reply.status);
    assert_eq!(daemon.operation("commit", Value::Null), 204);
    assert_eq!(daemon.color(), 1);
}

#[test]
fn a_function_is_tried_out_when_it_is_added() {
    let daemon = Daemon::start("tries");
    let add = |name: &str, leaf: &str, template: &str| {
        let schema = format!(
            "module {name} {{ yang-version 1.1; namespace 'urn:{name}'; prefix {name}; import weir {{ prefix weir; }}
               list {name} {{ key name; weir:port left; uses weir:instance; {leaf} }} }}"
        );
        let body = Package::of_texts(name, &schema, template).to_tar();
        let reply =
            daemon.service.answer(&Request { body, ..daemon.request("PUT", &format!("/functions/{name}")) });
        format!("{} {}", reply.status, String::from_utf8_lossy(&reply.body))
    };
    let color = |default: &str| format!("leaf color {{ type uint8; {default} }}");
    for (name, leaf, template, due) in [
        (
            "a",
            color("default 14;"),
            "Paint({{ color }})",
            "`a` with its defaults cannot be made: 14 is no colour",
        ),
        ("b", color(""), "{{ colour }}", "`b` with its defaults cannot be made: b.click:1: undefined value"),
        ("c", color("default 1;"), "Paint({{ color }})", "201 "),
        // Nobody knows what it is to be.
        ("d", color("mandatory true;"), "{{ colour }}", "201 "),
        ("e", color(""), "{{ raise('give a colour') }}", "201 "),
        (
            "f",
            "leaf fast { type boolean; default true; }".into(),
            "{{ 'Null' if fast else 'Nosuch' }}",
            "`f` with fast=false cannot be made: undeclared element 'Nosuch'",
        ),
        (
            "g",
            "container way { leaf kind { type enumeration { enum a; enum b; } default a; } }".into(),
            "{{ 'Nowhere' if way.kind == 'b' else 'Null' }}",
            "`g` with way/kind=b cannot be made: unknown element class 'Nowhere'",
        ),
        // It may take another value as well.
        ("h", "leaf fast { type boolean; default false; }".into(), "Paint({{ 14 if fast else 1 }})", "201 "),
    ] {
        let told = add(name, &leaf, template);
        assert!(told.contains(due), "{told}");
        let is_there = daemon.ask("GET", &format!("/functions/{name}"), Value::Null).status == 200;
        assert_eq!(is_there, due == "201 ");
    }
}

#[test]
fn fields_and_roles_that_do_not_exist_are_refused_with_those_that_do() {
    let daemon = Daemon::committed("names");
    let fields = |path: &str, fields: &str| {
        let query = format!("fields={fields}");
        let reply = daemon.service.answer(&Request { query, ..daemon.request("GET", path) });
        (reply.status, String::from_utf8_lossy(&reply.body).into_owned())
    };
    let (wire, all) = ("/restconf/data/wire:wire=a", "/restconf/data");
    assert_eq!(fields(wire, "color"), (200, "{\"wire:wire\":[{\"color\":1}]}\n".to_string()));
    assert_eq!(fields(all, "wire:wire(name)").0, 200);
    for (path, text, due) in [
        (wire, "name;colour", "`wire` has no `colour`; it has name, color"),
        (wire, "color/x", "`color` has no `x`; it has nothing"),
        (all, "wire:wire(x)", "`wire` has no `x`; it has name, color"),
        (all, "wires", "`the configuration` has no `wires`; it has "),
    ] {
        let (status, told) = fields(path, text);
        assert!(status == 400 && told.contains(due), "{status} {told}");
    }
    let rule = |who: &str| {
        let rule = json!({ "weir:rule": [{ "name": "r", "who": [who], "action": "deny" }] });
        let reply = daemon.ask("PUT", "/restconf/data/weir:access/rule=r", rule);
        (reply.status, String::from_utf8_lossy(&reply.body).into_owned())
    };
    for who in ["ann", "role:read", "role:operate", "role:administer", "a-role:foo"] {
        assert!(rule(who).0 < 300, "{who}");
    }
    let (status, told) = rule("role:foo");
    assert!(
        status == 400 && told.contains("expected role:read, role:operate or role:administer"),
        "{status} {told}"
    );
}

#[test]
fn what_is_created_is_told_where_it_is() {
    let daemon = Daemon::start("location");
    for root in ["/restconf/data", "/restconf/ds/ietf-datastores:candidate"] {
        let reply = daemon.ask("POST", root, json!({ "wire:wire": [{ "name": "b" }] }));
        assert_eq!(reply.status, 201, "{}", String::from_utf8_lossy(&reply.body));
        let location = reply.headers.iter().find(|(name, _)| *name == "location").unwrap();
        assert_eq!(location.1, format!("{root}/wire:wire=b"));
        assert_eq!(daemon.ask("GET", &location.1, Value::Null).status, 200);
        assert_eq!(daemon.ask("DELETE", &location.1, Value::Null).status, 204);
    }
}

#[test]
fn what_is_not_there_is_told_whatever_the_request_says_besides() {
    let daemon = Daemon::committed("missing");
    let with = |method: &str, path: &str, condition: &str| {
        let request = Request {
            headers: vec![("if-none-match".into(), condition.into())],
            ..daemon.request(method, path)
        };
        daemon.service.answer(&request).status
    };
    let (there, missing) = ("/restconf/data/wire:wire=a", "/restconf/data/wire:wire=b");
    assert_eq!([there, missing].map(|path| with("GET", path, "*")), [304, 404]);
    let tag =
        daemon.ask("GET", there, Value::Null).headers.iter().find(|one| one.0 == "etag").unwrap().1.clone();
    assert_eq!([there, missing].map(|path| with("GET", path, &tag)), [304, 404]);
    // Neither is it a mistake of the path if the method is for nothing.
    assert_eq!(daemon.ask("TRACE", "/restconf/data/wire:wire=a/nothing", Value::Null).status, 405);
    let patch = |patch: Value| {
        let headers = vec![("content-type".to_string(), "application/yang-patch+json".to_string())];
        let body = json!({ "ietf-yang-patch:yang-patch": patch }).to_string().into_bytes();
        daemon.service.answer(&Request { headers, body, ..daemon.request("PATCH", "/restconf/data") }).status
    };
    assert_eq!(patch(json!({ "patch-id": "p", "comment": "c", "edit": [] })), 200);
    assert_eq!(patch(json!({ "patch-id": "p", "comment": [] })), 400);
    assert_eq!(patch(json!({ "patch-id": "p", "commnet": "c" })), 400);
}

impl Daemon {
    /// The answer to a request with a condition; some have a body.
    fn ask_if(&self, method: &str, path: &str, condition: (&str, &str), body: Value) -> u16 {
        let mut request = self.request(method, path);
        request.headers.push((condition.0.to_string(), condition.1.to_string()));
        request.body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.service.answer(&request).status
    }

    /// The tag of what is at a path.
    fn tag(&self, path: &str) -> Option<String> {
        let reply = self.ask("GET", path, Value::Null);
        assert_eq!(reply.status, 200, "{path}");
        reply.headers.into_iter().find(|(name, _)| *name == "etag").map(|(_, tag)| tag)
    }
}

#[test]
fn any_tag_means_that_the_target_is_there() {
    let daemon = Daemon::start("any-tag");
    let (path, entry) = ("/restconf/data/wire:wire=a", json!({ "wire:wire": [{ "name": "a" }] }));
    let put = |condition: &str| daemon.ask_if("PUT", path, (condition, "*"), entry.clone());
    assert_eq!(put("if-match"), 412);
    assert_eq!([put("if-none-match"), put("if-none-match")], [201, 412]);
    assert_eq!(put("if-match"), 204);
    // What a child is created in is there.
    let root = "/restconf/data";
    let child = json!({ "wire:wire": [{ "name": "b" }] });
    assert_eq!(daemon.ask_if("POST", root, ("if-none-match", "*"), child.clone()), 412);
    assert_eq!(daemon.ask_if("POST", root, ("if-match", "*"), child), 201);
    assert_eq!(daemon.ask_if("DELETE", path, ("if-none-match", "*"), Value::Null), 412);
    assert_eq!(daemon.ask_if("DELETE", path, ("if-match", "*"), Value::Null), 204);
}

#[test]
fn a_weak_tag_is_none_to_change_by_but_one_to_read_by() {
    let daemon = Daemon::committed("weak-tag");
    let color = "/restconf/data/wire:wire=a/color";
    let (tag, body) = (daemon.tag(color).unwrap(), json!({ "wire:color": 2 }));
    let weak = format!("W/{tag}");
    assert_eq!(daemon.ask_if("GET", color, ("if-none-match", &weak), Value::Null), 304);
    assert_eq!(daemon.ask_if("PUT", color, ("if-match", &weak), body.clone()), 412);
    assert_eq!(daemon.ask_if("PUT", color, ("if-match", &format!("{weak}, {tag}")), body), 204);
}

#[test]
fn what_would_be_answered_in_a_form_that_is_not_accepted_is_not_done() {
    let daemon = Daemon::start("accept");
    let (path, entry) = ("/restconf/data/wire:wire=a", json!({ "wire:wire": [{ "name": "a" }] }));
    let put = |accept: &str| daemon.ask_if("PUT", path, ("accept", accept), entry.clone());
    assert_eq!(put("application/yang-data+xml"), 406);
    assert_eq!(daemon.ask("GET", path, Value::Null).status, 404);
    assert_eq!(put("application/yang-data+xml, */*;q=0.1"), 201);
    assert_eq!(daemon.ask_if("GET", "/metrics", ("accept", "text/plain"), Value::Null), 200);
}

#[test]
fn state_is_always_told_anew() {
    let daemon = Daemon::committed("state");
    let port = "/restconf/data/weir:topology/port";
    assert_eq!(daemon.tag(port), None);
    let tag = daemon.tag("/restconf/data").unwrap();
    let read = |path: &str, query: &str| {
        let headers = vec![("if-none-match".to_string(), tag.clone())];
        let request = Request { headers, query: query.to_string(), ..daemon.request("GET", path) };
        daemon.service.answer(&request).status
    };
    for path in [port, "/restconf/data/weir:topology", "/restconf/data"] {
        assert_eq!(read(path, ""), 200, "{path}");
    }
    assert_eq!(read("/restconf/data", "content=config"), 304);
    assert_eq!(read("/restconf/data/wire:wire=a/color", ""), 304);
}

#[test]
fn no_two_configurations_have_the_same_tag() {
    let daemon = Daemon::start("tags");
    let candidate = "/restconf/ds/ietf-datastores:candidate";
    let color = format!("{candidate}/wire:wire=a/color");
    daemon.prepare(1);
    assert_eq!(daemon.operation("commit", Value::Null), 204);
    let begun = daemon.tag(candidate).unwrap();
    assert_eq!(daemon.tag("/restconf/data").as_ref(), Some(&begun));
    daemon.prepare(2);
    let tag = daemon.tag(candidate).unwrap();
    assert_eq!(daemon.operation("discard-changes", Value::Null), 204);
    assert_eq!(daemon.tag(candidate).as_ref(), Some(&begun));
    daemon.prepare(3);
    let body = json!({ "wire:color": 4 });
    assert_eq!(daemon.ask_if("PUT", &color, ("if-match", &tag), body.clone()), 412);
    assert_eq!(daemon.ask_if("PUT", &color, ("if-match", &daemon.tag(candidate).unwrap()), body), 204);
    // What is put by has the tag of its own.
    let startup = "/restconf/ds/ietf-datastores:startup";
    let mut tags = std::collections::BTreeSet::from([daemon.tag(startup)]);
    for _ in 0..2 {
        assert_eq!(daemon.operation("save-startup", Value::Null), 204);
        tags.insert(daemon.tag(startup));
        assert_eq!(daemon.operation("commit", Value::Null), 204);
        daemon.prepare(5);
    }
    assert_eq!(tags.len(), 3);
}

#[test]
fn nothing_is_made_by_what_is_written_beneath_it() {
    let daemon = Daemon::start("beneath");
    let color = json!({ "wire:color": 1 });
    let patch = |path: &str, edits: Value| {
        let headers = vec![("content-type".to_string(), "application/yang-patch+json".to_string())];
        let body = json!({ "ietf-yang-patch:yang-patch": { "patch-id": "p", "edit": edits } });
        let body = body.to_string().into_bytes();
        daemon.service.answer(&Request { headers, body, ..daemon.request("PATCH", path) }).status
    };
    for root in ["/restconf/data", "/restconf/ds/ietf-datastores:candidate"] {
        let ghost = format!("{root}/wire:wire=ghost");
        assert_eq!(daemon.ask("PUT", &format!("{ghost}/color"), color.clone()).status, 404);
        let edit = |operation: &str, target: &str, value: &Value| json!({ "edit-id": target, "operation": operation, "target": target, "value": value });
        let entry = json!({ "wire:wire": [{ "name": "ghost" }] });
        for operation in ["create", "merge", "replace"] {
            assert_eq!(patch(&ghost, json!([edit(operation, "/color", &color)])), 404);
            assert_eq!(patch(root, json!([edit(operation, "/wire:wire=ghost/color", &color)])), 404);
        }
        assert_eq!(daemon.ask("GET", &ghost, Value::Null).status, 404);
        // One that the same patch makes is there.
        let both = json!([
            edit("create", "/wire:wire=ghost", &entry),
            edit("merge", "/wire:wire=ghost/color", &color)
        ]);
        assert_eq!(patch(root, both), 200);
        assert_eq!(patch(&ghost, json!([edit("replace", "/color", &color)])), 200);
        assert_eq!(daemon.ask("PUT", &format!("{ghost}/color"), color.clone()).status, 204);
        assert_eq!(daemon.ask("DELETE", &ghost, Value::Null).status, 204);
    }
}

/// Status, and what is told.
fn told(reply: &Reply) -> (u16, String) {
    (reply.status, String::from_utf8_lossy(&reply.body).into_owned())
}

#[test]
fn what_somebody_may_not_write_stays_whatever_above_it_is_written() {
    let daemon = Daemon::start("above");
    let rule = |path: &str, who: &str| json!({ "name": "r", "who": [who], "path": path, "action": "deny" });
    let rules = |path: &str| json!({ "weir:access": { "rule": [rule(path, "ann")] } });
    let entry = |name: &str, color: u8| json!({ "name": name, "color": color });
    let list = |entries: Vec<Value>| json!({ "wire:wire": entries });
    let all = |entries: Vec<Value>| json!({ "ietf-restconf:data": list(entries) });
    let (top, wires) = ("", "/wire:wire");
    let patch = |value: Value| {
        let edit = json!({ "edit-id": "e", "operation": "replace", "target": "/wire:wire", "value": value });
        json!({ "ietf-yang-patch:yang-patch": { "patch-id": "p", "edit": [edit] } })
    };
    for path in ["/wire:wire=a", "/wire:wire=a/color"] {
        for root in ["/restconf/data", "/restconf/ds/ietf-datastores:candidate"] {
            daemon.ask("PUT", "/restconf/data/wire:wire", list(vec![entry("a", 1), entry("b", 1)]));
            assert!(daemon.ask("PUT", "/restconf/data/weir:access", rules(path)).status < 300);
            let ann = |method: &str, at: &str, body: Value| {
                told(&daemon.ask_as("ann", Role::Operate, method, &format!("{root}{at}"), body))
            };
            let denied = |text: &str| {
                text.contains("ann may not write /wire:wire=a") && text.contains("rule `r` denies it")
            };
            for (method, at, body) in [
                ("PATCH", wires, list(vec![entry("a", 2)])),
                ("PATCH", top, all(vec![entry("b", 2), entry("a", 2)])),
                ("PUT", wires, list(vec![entry("a", 2), entry("b", 1)])),
                ("DELETE", wires, Value::Null),
                ("DELETE", "/wire:wire=a", Value::Null),
                ("PATCH", top, patch(list(vec![entry("b", 1)]))),
            ] {
                let (status, text) = ann(method, at, body);
                assert!(status == 403 && denied(&text), "{root} {path} {method} {at}: {status} {text}");
            }
            // What stays as it is needs no right (RFC 8341, section 3.4.5).
            let (status, text) = ann("PATCH", top, all(vec![entry("a", 1), entry("b", 3)]));
            assert_eq!(status, 204, "{text}");
            assert_eq!(daemon.color(), 1);
        }
        assert_eq!(daemon.operation("discard-changes", Value::Null), 204);
    }
}

#[test]
fn who_commits_needs_the_right_to_all_that_differs() {
    let daemon = Daemon::committed("differs");
    let rules = json!({ "weir:access": { "rule": [{ "name": "r", "who": ["ann"], "path": "/wire:wire=a", "action": "deny" }] } });
    assert!(daemon.ask("PUT", "/restconf/data/weir:access", rules).status < 300);
    let commit = || {
        told(&daemon.ask_as("ann", Role::Operate, "POST", "/restconf/operations/weir:commit", Value::Null))
    };
    daemon.prepare(2);
    let (status, text) = commit();
    assert!(status == 403 && text.contains("ann may not write /wire:wire=a"), "{status} {text}");
    assert_eq!((daemon.operation("discard-changes", Value::Null), daemon.color()), (204, json!(1)));
    let candidate = "/restconf/ds/ietf-datastores:candidate";
    daemon.ask("DELETE", &format!("{candidate}/weir:access"), Value::Null);
    let (status, text) = commit();
    assert!(status == 403 && text.contains("ann may not write /weir:access"), "{status} {text}");
    assert_eq!(daemon.operation("commit", Value::Null), 204);
}

#[test]
fn a_rule_about_nothing_is_refused_when_it_is_set() {
    let daemon = Daemon::start("nothing");
    let put = |path: &str| {
        let rule = json!({ "weir:rule": [{ "name": "r", "path": path, "action": "deny" }] });
        told(&daemon.ask("PUT", "/restconf/data/weir:access/rule=r", rule))
    };
    let (status, text) = put("/wire:wire=a/colour");
    let due = "rule `r` is about nothing: `wire` has no `colour`; it has name, color";
    assert!(status == 400 && text.contains(due), "{status} {text}");
    for path in ["/wire:wire=a/wire:color", "/weir:topology/connection=a:left"] {
        assert!(put(path).0 < 300);
    }
    let read = "/restconf/data/weir:topology/connection=a:left";
    assert_eq!(daemon.ask_as("ann", Role::Operate, "GET", read, Value::Null).status, 403);
}

#[test]
fn nothing_but_a_commit_changes_what_an_unconfirmed_one_would_take_back() {
    let daemon = Daemon::committed("meanwhile");
    let ann = |method: &str, path: &str, body: Value| {
        told(&daemon.ask_as("ann", Role::Operate, method, &format!("/restconf/{path}"), body))
    };
    let bob = |name: &str| {
        let path = format!("/restconf/operations/weir:{name}");
        told(&daemon.ask_as("bob", Role::Operate, "POST", &path, Value::Null))
    };
    daemon.prepare(2);
    assert_eq!(ann("POST", "operations/weir:commit", json!({ "weir:input": confirmed() })).0, 204);
    let rules = json!({ "weir:access": { "rule": [{ "name": "r", "who": ["ann"], "action": "deny" }] } });
    let refused = told(&daemon.ask("PUT", "/restconf/data/weir:access", rules.clone()));
    assert!(refused.0 == 409 && refused.1.contains("a commit of ann waits for confirmation"), "{refused:?}");
    assert!(refused.1.contains("in-use") && refused.1.contains("weir candidate cancel"), "{refused:?}");
    assert_eq!(ann("DELETE", "data/wire:wire=a", Value::Null).0, 409);
    let archive = Package::of_texts("other", &SCHEMA.replace("wire", "other"), "").to_tar();
    let add = Request { body: archive, ..daemon.request("PUT", "/functions/other") };
    assert_eq!(daemon.service.answer(&add).status, 409);
    // What is only prepared is changed as ever.
    daemon.prepare(3);
    for name in ["commit", "confirm-commit", "cancel-commit"] {
        let (status, text) = bob(name);
        assert!(status == 409 && text.contains("ann or an administrator"), "{name}: {status} {text}");
    }
    assert_eq!(daemon.operation("cancel-commit", Value::Null), 204);
    assert_eq!(daemon.color(), 1);
    assert!(daemon.ask("PUT", "/restconf/data/weir:access", rules).status < 300);
    assert_eq!(daemon.service.answer(&add).status, 201);
    assert_eq!(bob("confirm-commit").0, 409);
}

#[test]
fn a_candidate_goes_over_to_a_function_that_is_upgraded() {
    let daemon = Daemon::start("upgraded");
    daemon.prepare(1);
    let upgrade = |color: &str| {
        let schema = SCHEMA.replace("leaf color", &format!("leaf size {{ type uint8; }} {color}"));
        let body = Package::of_texts("wire", &schema, TEMPLATE).to_tar();
        daemon.service.answer(&Request { body, ..daemon.request("PUT", "/functions/wire") }).status
    };
    assert_eq!(upgrade("leaf color"), 204);
    let candidate = "/restconf/ds/ietf-datastores:candidate/wire:wire=a";
    let put =
        |leaf: &str| daemon.ask("PUT", &format!("{candidate}/{leaf}"), json!({ format!("wire:{leaf}"): 7 }));
    assert_eq!(put("size").status, 201);
    // What the next one refuses in it can be taken out.
    assert_eq!(upgrade("must 'not(size > 6)'; leaf color"), 204);
    let (status, text) = told(&daemon.ask("POST", "/restconf/operations/weir:commit", Value::Null));
    assert!(status == 400 && text.contains("size"), "{status} {text}");
    assert_eq!(daemon.ask("DELETE", &format!("{candidate}/size"), Value::Null).status, 204);
    assert_eq!((daemon.operation("commit", Value::Null), daemon.color()), (204, json!(1)));
}

#[test]
fn a_commit_leaves_no_instances_of_a_removed_function_out() {
    let daemon = Daemon::start("removed");
    let other = Package::of_texts("other", &SCHEMA.replace("wire", "other"), "Idle -> Discard;");
    let add = Request { body: other.to_tar(), ..daemon.request("PUT", "/functions/other") };
    assert_eq!(daemon.service.answer(&add).status, 201);
    daemon.prepare(1);
    let path = "/restconf/ds/ietf-datastores:candidate/other:other=z";
    assert_eq!(daemon.ask("PUT", path, json!({ "other:other": [{ "name": "z" }] })).status, 201);
    assert_eq!(daemon.ask("DELETE", "/functions/other", Value::Null).status, 204);
    let commit = || told(&daemon.ask("POST", "/restconf/operations/weir:commit", Value::Null));
    let (status, text) = commit();
    assert!(status >= 400 && text.contains("instances of `other`"), "{status} {text}");
    assert_eq!(daemon.ask("GET", "/restconf/data/wire:wire=a", Value::Null).status, 404);
    // With the function again, or without its instances, the rest runs.
    assert_eq!(daemon.service.answer(&add).status, 201);
    assert_eq!(commit().0, 204);
    assert_eq!(daemon.ask("GET", "/restconf/data/other:other=z", Value::Null).status, 200);
    daemon.prepare(2);
    assert_eq!(daemon.ask("DELETE", "/restconf/data/other:other=z", Value::Null).status, 204);
    assert_eq!(daemon.operation("discard-changes", Value::Null), 204);
    daemon.prepare(2);
    assert_eq!(daemon.ask("PUT", path, json!({ "other:other": [{ "name": "z" }] })).status, 201);
    assert_eq!(daemon.ask("DELETE", "/functions/other", Value::Null).status, 204);
    assert_eq!(daemon.ask("DELETE", path, Value::Null).status, 204);
    assert_eq!((commit().0, daemon.color()), (204, json!(2)));
}
