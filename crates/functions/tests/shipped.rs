//! The functions that come with weir.

use functions::{Functions, Package, Placement};
use serde_json::json;

struct Numbered;

impl Placement for Numbered {
    fn from(&self, idx: usize, _name: &str) -> String {
        format!("input[{idx}]")
    }

    fn to(&self, idx: usize, _name: &str) -> String {
        format!("[{idx}] output")
    }
}

#[test]
fn all_schemas_compile_together_and_each_alone() {
    let all = Functions::shipped();
    assert_eq!(all.iter().count(), Package::shipped_names().count());
    for name in Package::shipped_names() {
        assert!(Functions::shipped_one(name).is_some_and(|one| one.get(name).is_some()), "{name}");
    }
}

#[test]
fn a_firewall_with_sets_is_a_graph() {
    let functions = Functions::shipped_one("firewall").unwrap();
    let function = functions.get("firewall").unwrap();
    let data = json!({
        "name": "fw",
        "set": [{ "name": "lan", "network": ["10.0.0.0/8", "192.168.0.0/16"] }],
        "rule": [
            { "id": 1, "action": "deny", "match": "tcp && dst port 23 or 25", "source-set": "lan" },
            { "id": 5, "action": "allow" },
        ],
    });
    functions.validate(&json!({ "firewall:firewall": [data] })).unwrap();
    let ports = function.ports(&data, &[]).unwrap();
    let text = function.render(&data, &ports, Numbered).unwrap();
    assert!(
        text.contains("1 (src net 10.0.0.0/8 or src net 192.168.0.0/16) and (tcp && dst port 23 or 25),"),
        "{text}"
    );
    assert!(text.contains("input[0] -> from_left ::"), "{text}");
}
