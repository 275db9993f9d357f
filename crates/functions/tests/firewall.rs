//! The function `firewall`.

mod harness;

use expect_test::expect;
use harness::{run, UDP};
use serde_json::json;

#[test]
fn rules_name_sets_of_networks() {
    let instance = json!({
        "name": "fw",
        "set": [{ "name": "lan", "network": ["10.0.0.0/30", "192.168.0.0/16"] }],
        "rule": [
            { "id": 1, "action": "deny", "match": "tcp or udp && dst port 23", "source-set": "lan" },
            { "id": 5, "action": "allow" },
        ],
        "count-rules": true,
    });
    let telnet = "UDP(10.0.0.1, 1000, 10.0.0.2, 23)";
    let told = run(
        "firewall",
        instance,
        &[("left", &[UDP, telnet, "UDP(10.0.0.4, 1000, 10.0.0.2, 23)"]), ("right", &[telnet])],
        &["to_right/rule1.count", "to_right/rule5.count"],
    );
    expect![[r#"
        to_right/rule1.count: 1
        to_right/rule5.count: 2
        to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:23 ttl 64 len 32
        to right at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.4:1000 > 10.0.0.2:23 ttl 64 len 32
    "#]]
    .assert_eq(&told);
}
