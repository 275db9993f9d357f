//! The OpenAPI document: what it says of the schemas, and that answers are as it says.

use std::collections::BTreeSet;
use std::sync::Arc;

use daemon::restconf::{Reply, Request};
use daemon::roles::{Role, Who};
use daemon::{Plane, Service, Store};
use expect_test::expect;
use functions::{Functions, Package};
use serde_json::{json, Value};

const SCHEMA: &str =
    "module wire { yang-version 1.1; namespace 'urn:wire'; prefix wire; import weir { prefix weir; }
  list wire { key name; weir:port left; weir:port right; uses weir:instance; description 'A wire. It has two ends.';
    leaf color { type uint8; default 1; description 'Its color.'; }
    leaf speed { type uint64; units 'bits per second'; }
    leaf mode { type enumeration { enum slow; enum fast; } }
    leaf mark { type empty; }
    leaf label { type string { length '1..4|8'; pattern '[a-z-[aeiou]]+'; pattern 'x.*' { modifier invert-match; } } }
    leaf either { type union { type boolean; type int8; } }
    leaf-list tag { type string; ordered-by user; }
    list rule { key id; ordered-by user; leaf id { type uint32; } leaf match { type weir:pattern; mandatory true; }
      leaf packets { config false; type weir:counter; weir:read 'rule{id}.count'; } }
    list pair { key 'name b'; leaf name { type string; } leaf b { type int16 { range '-5..5'; } } }
    container limits { leaf low { type uint8; } }
    container state { config false; leaf n { type uint32; weir:read 'paint.n'; } }
    action paint { input { leaf color { type uint8; mandatory true; } } weir:write 'paint.color {color}'; }
    action clear { weir:write 'paint.clear'; }
  } }";

struct Calm;

impl Plane for Calm {
    fn change(&self, _text: &str, _title: &str) -> Result<(), String> {
        Ok(())
    }

    fn read(&self, _handler: &str) -> Result<String, String> {
        Ok("7\n".to_string())
    }

    fn read_all(&self, handlers: &[String]) -> Vec<Result<String, String>> {
        handlers.iter().map(|handler| self.read(handler)).collect()
    }

    fn write(&self, _handler: &str, _value: &str) -> Result<(), String> {
        Ok(())
    }
}

fn service() -> Arc<Service> {
    let template = "{{ from('left') }} -> {{ to('right') }}; {{ from('right') }} -> {{ to('left') }};";
    let package = Package::of_texts("wire", SCHEMA, template);
    let functions = Functions::new(vec![Arc::new(package)]).unwrap();
    Service::new(Store::new(functions, Arc::new(Calm)), None)
}

fn ask(service: &Service, method: &str, path: &str, body: Value) -> Reply {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    service.answer(&Request {
        method: method.into(),
        path: path.into(),
        query: query.into(),
        headers: vec![("content-type".into(), "application/yang-data+json".into())],
        body: if body.is_null() { Vec::new() } else { body.to_string().into_bytes() },
        who: Who { name: "test".into(), role: Role::Administer },
        ..Request::default()
    })
}

fn document(service: &Service) -> Value {
    let reply = ask(service, "GET", "/openapi.json", Value::Null);
    assert_eq!(reply.status, 200);
    serde_json::from_slice(&reply.body).unwrap()
}

#[test]
fn what_an_action_is_given_is_checked() {
    let service = service();
    assert_eq!(
        ask(&service, "PUT", "/restconf/data/wire:wire=w", json!({ "wire:wire": [{ "name": "w" }] })).status,
        201
    );
    let paint = |color: Value| {
        let body = json!({ "wire:input": { "color": color } });
        ask(&service, "POST", "/restconf/data/wire:wire=w/paint", body).status
    };
    assert_eq!(paint(json!(255)), 204);
    for wrong in [json!(256), json!(-1), json!("70000"), json!([1]), json!({ "a": 1 }), Value::Null] {
        assert_eq!(paint(wrong.clone()), 400, "{wrong}");
    }
}

#[test]
fn instances_of_one_name_in_a_request_are_refused() {
    let service = service();
    let list = json!([{ "name": "w", "color": 1 }, { "name": "w", "color": 2 }]);
    let reply =
        ask(&service, "PATCH", "/restconf/data", json!({ "ietf-restconf:data": { "wire:wire": list } }));
    assert_eq!(reply.status, 400);
    assert!(String::from_utf8_lossy(&reply.body).contains("`wire` w is given twice"));
}

#[test]
fn each_node_has_a_path_with_the_methods_that_it_answers() {
    let document = document(&service());
    let mut told = String::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        if path.contains("wire") {
            let methods: Vec<&str> = item.as_object().unwrap().keys().map(String::as_str).collect();
            told += &format!("{} {}\n", path.trim_start_matches("/restconf/data/wire:"), methods.join(" "));
        }
    }
    expect![[r#"
        wire get put patch delete
        wire={name} parameters get post put patch delete
        wire={name}/name parameters get
        wire={name}/color parameters get put patch delete
        wire={name}/speed parameters get put patch delete
        wire={name}/mode parameters get put patch delete
        wire={name}/mark parameters get put patch delete
        wire={name}/label parameters get put patch delete
        wire={name}/either parameters get put patch delete
        wire={name}/tag parameters get put patch delete
        wire={name}/tag={value} parameters get put patch delete
        wire={name}/rule parameters get put patch delete
        wire={name}/rule={id} parameters get post put patch delete
        wire={name}/rule={id}/id parameters get
        wire={name}/rule={id}/match parameters get put patch delete
        wire={name}/rule={id}/packets parameters get
        wire={name}/pair parameters get put patch delete
        wire={name}/pair={pair-name},{b} parameters get put patch delete
        wire={name}/pair={pair-name},{b}/name parameters get
        wire={name}/pair={pair-name},{b}/b parameters get
        wire={name}/limits parameters get post put patch delete
        wire={name}/limits/low parameters get put patch delete
        wire={name}/state parameters get
        wire={name}/state/n parameters get
        wire={name}/paint parameters post
        wire={name}/clear parameters post
    "#]]
    .assert_eq(&told);
}

#[test]
fn types_become_schemas() {
    let document = document(&service());
    let schemas = &document["components"]["schemas"];
    let mut told = String::new();
    for (name, schema) in schemas["wire"]["properties"].as_object().unwrap() {
        told += &format!("{name} {schema}\n");
    }
    for name in [
        "wire..create",
        "wire.rule",
        "wire.rule..create",
        "wire.rule..add",
        "wire.rule..merge",
        "wire.paint.input..create",
    ] {
        told += &format!("{name} {} {}\n", schemas[name]["required"], schemas[name]["properties"]);
    }
    expect![[r##"
        name {"type":"string","examples":["edge"],"minLength":1,"maxLength":32,"pattern":"^(?:[A-Za-z][A-Za-z0-9_]*)$","description":"The instance's name, which is unique among all functions."}
        color {"type":"integer","minimum":0,"maximum":255,"default":1,"description":"Its color."}
        speed {"type":"string","pattern":"^[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)$","description":"(bits per second)"}
        mode {"type":"string","enum":["slow","fast"]}
        mark {"type":"array","items":{"type":"null"},"minItems":1,"maxItems":1}
        label {"type":"string","anyOf":[{"minLength":1,"maxLength":4},{"minLength":8,"maxLength":8}],"allOf":[{"pattern":"^(?:(?![aeiou])[a-z]+)$"},{"not":{"pattern":"^(?:x[^\\n\\r]*)$"}}]}
        either {"anyOf":[{"type":"boolean"},{"type":"integer","minimum":-128,"maximum":127}]}
        tag {"type":"array","items":{"type":"string"},"uniqueItems":true}
        rule {"type":"array","items":{"$ref":"#/components/schemas/wire.rule"}}
        pair {"type":"array","items":{"$ref":"#/components/schemas/wire.pair"}}
        limits {"$ref":"#/components/schemas/wire.limits"}
        state {"$ref":"#/components/schemas/wire.state"}
        wire..create ["name"] {"name":{"type":"string","examples":["edge"],"minLength":1,"maxLength":32,"pattern":"^(?:[A-Za-z][A-Za-z0-9_]*)$","description":"The instance's name, which is unique among all functions."},"color":{"type":"integer","minimum":0,"maximum":255,"default":1,"description":"Its color."},"speed":{"type":"string","pattern":"^[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)$","description":"(bits per second)"},"mode":{"type":"string","enum":["slow","fast"]},"mark":{"type":"array","items":{"type":"null"},"minItems":1,"maxItems":1},"label":{"type":"string","anyOf":[{"minLength":1,"maxLength":4},{"minLength":8,"maxLength":8}],"allOf":[{"pattern":"^(?:(?![aeiou])[a-z]+)$"},{"not":{"pattern":"^(?:x[^\\n\\r]*)$"}}]},"either":{"anyOf":[{"type":"boolean"},{"type":"integer","minimum":-128,"maximum":127}]},"tag":{"type":"array","items":{"type":"string"},"uniqueItems":true},"rule":{"type":"array","items":{"$ref":"#/components/schemas/wire.rule..create"}},"pair":{"type":"array","items":{"$ref":"#/components/schemas/wire.pair..create"}},"limits":{"$ref":"#/components/schemas/wire.limits..create"}}
        wire.rule null {"id":{"type":"integer","minimum":0,"maximum":4294967295},"match":{"type":"string","examples":["tcp && dst port 80"],"minLength":1,"maxLength":4096},"packets":{"type":"string","pattern":"^[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)$","readOnly":true}}
        wire.rule..create ["id","match"] {"id":{"type":"integer","minimum":0,"maximum":4294967295},"match":{"type":"string","examples":["tcp && dst port 80"],"minLength":1,"maxLength":4096}}
        wire.rule..add ["id"] {"id":{"type":"integer","minimum":0,"maximum":4294967295},"match":{"type":"string","examples":["tcp && dst port 80"],"minLength":1,"maxLength":4096}}
        wire.rule..merge null {"id":{"type":"integer","minimum":0,"maximum":4294967295},"match":{"type":"string","examples":["tcp && dst port 80"],"minLength":1,"maxLength":4096}}
        wire.paint.input..create ["color"] {"color":{"type":"integer","minimum":0,"maximum":255,"readOnly":true}}
    "##]].assert_eq(&told);
}

#[test]
fn names_in_the_document_lead_somewhere_and_are_unique() {
    fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let with_all = Service::new(Store::new(Functions::shipped(), Arc::new(Calm)), None);
    for document in [document(&service()), document(&with_all)] {
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 100);
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some_and(|value| !value.is_null()), "{reference}");
        }
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            assert!(
                name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)),
                "{name}"
            );
        }
        let mut ids = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            let declared = |owner: &Value| {
                let list = owner["parameters"].as_array().cloned().unwrap_or_default();
                list.iter()
                    .filter(|one| one["in"] == "path")
                    .map(|one| one["name"].as_str().unwrap().to_string())
                    .collect::<BTreeSet<_>>()
            };
            let used: BTreeSet<String> =
                path.split('{').skip(1).map(|part| part.split_once('}').unwrap().0.to_string()).collect();
            assert_eq!(declared(item), used, "{path}");
            for operation in item.as_object().unwrap().values().filter(|value| value.is_object()) {
                let id = operation["operationId"].as_str().unwrap();
                assert!(ids.insert(id.to_string()), "{id}");
            }
        }
    }
}

/// The paths of the document, with keys of what is there.
fn filled(path: &str) -> String {
    [("{name}", "a"), ("{id}", "1"), ("{value}", "x"), ("{pair-name}", "p"), ("{b}", "2")]
        .iter()
        .fold(path.to_string(), |path, (name, key)| path.replace(name, key))
}

#[test]
fn what_the_document_does_not_have_is_refused_and_the_rest_is_answered_as_it_says() {
    let service = service();
    let entry = json!({ "wire:wire": [{ "name": "a", "color": 2, "rule": [{ "id": 1, "match": "all" }], "tag": ["x"],
        "pair": [{ "name": "p", "b": 2 }], "limits": { "low": 1 }, "speed": "1", "mode": "fast", "mark": [null], "either": true }] });
    let put = ask(&service, "PUT", "/restconf/data/wire:wire=a", entry.clone());
    assert_eq!(put.status, 201, "{}", String::from_utf8_lossy(&put.body));
    let document = document(&service);
    for (path, item) in document["paths"].as_object().unwrap() {
        if path.contains("{name}") && !path.contains("wire:wire")
            || path.contains("weir:")
            || path.contains("streams")
        {
            continue;
        }
        let mut allowed = None;
        for method in ["GET", "PUT", "PATCH", "POST", "DELETE", "TRACE"] {
            let operation = &item[method.to_ascii_lowercase()];
            // What would remove what others need comes with a body, or a tag, that is wrong.
            let reply = match method {
                "DELETE" if operation.is_object() => continue,
                _ => ask(&service, method, &filled(path), Value::Null),
            };
            let context =
                format!("{method} {path}: {} {}", reply.status, String::from_utf8_lossy(&reply.body));
            if operation.is_null() {
                assert_eq!(reply.status, 405, "{context}");
                let names =
                    reply.headers.iter().find(|(name, _)| *name == "allow").expect(&context).1.clone();
                assert!(!names.contains(method), "{context}");
                allowed = Some(names);
            } else {
                assert!(!operation["responses"][reply.status.to_string()].is_null(), "{context}");
                assert!(method != "GET" || reply.status == 200 || path.ends_with("label"), "{context}");
            }
        }
        for method in allowed.unwrap_or_default().split(", ").filter(|name| !name.is_empty()) {
            assert!(item[method.to_ascii_lowercase()].is_object(), "{path} {method}");
        }
    }
}

#[test]
fn a_method_is_refused_whatever_the_keys_are_and_keys_only_with_a_method_that_is_right() {
    let service = service();
    let mut told = String::new();
    for (method, path) in [
        ("POST", "wire=a/rule=x/match"),
        ("POST", "wire=%ff/rule=%00/match"),
        ("POST", "wire=1b/color"),
        ("DELETE", "wire=a/rule=x/id"),
        ("HEAD", "wire=1b/clear"),
        ("PUT", "wire=a/rule=x/match"),
        ("GET", "wire=a/rule=%ff/match"),
        ("OPTIONS", "wire=a/rule=x/match"),
        ("OPTIONS", "wire=a/rule=%ff/match"),
        ("POST", "wire=a/rule=x/nothing"),
        ("POST", "wire=a/%ff=1"),
        ("POST", "wire=a/rule/match"),
        ("GET", "wire=a/rule/match"),
        ("GET", "wire=nobody/color?with-defaults=report-all"),
        ("GET", "wire=1b/color?with-defaults=report-all"),
    ] {
        let reply = ask(&service, method, &format!("/restconf/data/wire:{path}"), Value::Null);
        let body = serde_json::from_slice::<Value>(&reply.body).unwrap_or_default();
        let message = &body["ietf-restconf:errors"]["error"][0]["error-message"];
        told += &format!("{method} {path}: {} {message}\n", reply.status);
    }
    expect![[r#"
        POST wire=a/rule=x/match: 405 "POST is not for this resource; allowed: GET, PUT, PATCH, DELETE"
        POST wire=%ff/rule=%00/match: 405 "POST is not for this resource; allowed: GET, PUT, PATCH, DELETE"
        POST wire=1b/color: 405 "POST is not for this resource; allowed: GET, PUT, PATCH, DELETE"
        DELETE wire=a/rule=x/id: 405 "DELETE is not for this resource; allowed: GET"
        HEAD wire=1b/clear: 405 null
        PUT wire=a/rule=x/match: 400 "`x`: expected a number from 0 to 4294967295"
        GET wire=a/rule=%ff/match: 400 "the path is not in UTF-8"
        OPTIONS wire=a/rule=x/match: 400 "`x`: expected a number from 0 to 4294967295"
        OPTIONS wire=a/rule=%ff/match: 400 "the path is not in UTF-8"
        POST wire=a/rule=x/nothing: 400 "`rule` has no `nothing`; it has id, match, packets"
        POST wire=a/%ff=1: 400 "the path is not in UTF-8"
        POST wire=a/rule/match: 405 "POST is not for this resource; allowed: GET, PUT, PATCH, DELETE"
        GET wire=a/rule/match: 400 "`rule` is a list: name an entry, as in rule=KEY"
        GET wire=nobody/color?with-defaults=report-all: 404 "/wire:wire=nobody/color does not exist"
        GET wire=1b/color?with-defaults=report-all: 400 "`1b`: expected a name of at most 32 letters, digits and `_`, a letter first, such as edge1"
    "#]]
    .assert_eq(&told);
}

#[test]
fn bodies_that_cannot_be_told_from_a_path_are_refused() {
    let service = service();
    ask(
        &service,
        "PUT",
        "/restconf/data/wire:wire=a",
        json!({ "wire:wire": [{ "name": "a", "tag": ["x"] }] }),
    );
    let told: Vec<String> = [
        ("POST", "/restconf/data/wire:wire=a", json!({ "wire:limits/low": 1 })),
        ("POST", "/restconf/data/wire:wire=a", json!({ "wire:rule=1": { "match": "all" } })),
        ("POST", "/restconf/data/wire:wire=a", json!({ "wire:name": "b" })),
        ("PUT", "/restconf/data/wire:wire=a/tag=y", json!({ "wire:tag": ["z"] })),
        ("PUT", "/restconf/data/wire:wire=a/tag=y", json!({ "wire:tag": ["y"] })),
        ("GET", "/restconf/data/weir:function-changed", Value::Null),
    ]
    .into_iter()
    .map(|(method, path, body)| {
        let reply = ask(&service, method, path, body);
        let body = serde_json::from_slice::<Value>(&reply.body).unwrap_or_default();
        format!("{} {}\n", reply.status, body["ietf-restconf:errors"]["error"][0]["error-message"])
    })
    .collect();
    expect![[r#"
        400 "`wire:limits/low` is no name of a node"
        400 "`wire:rule=1` is no name of a node"
        400 "`name` is the entry's key: make another entry"
        400 "the value is \"z\"; the path says y"
        201 null
        400 "no function `function-changed`; there are wire"
    "#]]
    .assert_eq(&told.concat());
}

#[test]
fn the_stream_of_events_is_described_by_the_notifications() {
    let document = document(&service());
    let schemas = &document["components"]["schemas"];
    let stream = &document["paths"]["/restconf/streams/NETCONF"]["get"]["responses"]["200"]["content"];
    assert_eq!(stream["text/event-stream"]["schema"]["x-event"]["$ref"], "#/components/schemas/event");
    let event = &schemas["event"]["properties"]["ietf-restconf:notification"]["properties"];
    for name in ["graph-changed", "threshold-crossed", "port-up", "port-down", "function-changed"] {
        let name = format!("weir:{name}");
        let schema = name.replace(':', ".event.");
        assert_eq!(event[&name]["$ref"], format!("#/components/schemas/{schema}"));
        assert!(schemas[&schema]["description"].is_string(), "{name}");
    }
    let replaced = &schemas["weir.event.graph-changed"]["properties"]["replaced"];
    let replaced = match replaced["items"]["$ref"].as_str() {
        Some(name) => &schemas[name.rsplit('/').next().unwrap()],
        None => &replaced["items"],
    };
    for leaf in ["element", "class", "config", "new-element", "new-class", "new-config"] {
        assert_eq!(replaced["properties"][leaf]["type"], "string", "{leaf}: {replaced}");
    }
    let reasons = &schemas["weir.event.port-down"]["properties"]["reason"]["enum"];
    assert_eq!(*reasons, json!(["down", "no-carrier", "gone"]));
}
