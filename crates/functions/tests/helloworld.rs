//! The function `helloworld`.

mod harness;

use expect_test::{expect, Expect};
use harness::{run, UDP};
use serde_json::json;

fn check(mode: &str, expect: Expect) {
    let instance = json!({ "name": "h1", "mode": mode });
    let back = "from=02:00:00:00:00:02 to=02:00:00:00:00:01 UDP(10.0.0.2, 53, 10.0.0.1, 1000)";
    let reads = ["from_left.count", "from_right.count"];
    expect.assert_eq(&run("helloworld", instance, &[("left", &[UDP, UDP]), ("right", &[back])], &reads));
}

#[test]
fn the_mode_says_what_becomes_of_packets() {
    check(
        "forward",
        expect![[r#"
        from_left.count: 2
        from_right.count: 1
        to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to left at 0.5 ms: 2:0:0:0:0:2 > 2:0:0:0:0:1 UDP 10.0.0.2:53 > 10.0.0.1:1000 ttl 64 len 32
        to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
    "#]],
    );
    check(
        "reflect",
        expect![[r#"
        from_left.count: 2
        from_right.count: 1
        to left at 0.0 ms: 2:0:0:0:0:2 > 2:0:0:0:0:1 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to right at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.2:53 > 10.0.0.1:1000 ttl 64 len 32
        to left at 1.0 ms: 2:0:0:0:0:2 > 2:0:0:0:0:1 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
    "#]],
    );
    check(
        "drop",
        expect![[r#"
            from_left.count: 2
            from_right.count: 1
        "#]],
    );
}

#[test]
fn another_mode_is_refused() {
    check(
        "bounce",
        expect![[r#"/helloworld:helloworld[name='h1']/mode: Invalid enumeration value "bounce"."#]],
    );
}

/// The blocks of a language in the tutorial.
fn blocks(language: &str) -> Vec<String> {
    let text = include_str!("../../../docs/write-a-function.md");
    let begin = format!("```{language}\n");
    text.split(&begin).skip(1).map(|rest| rest.split("```\n").next().unwrap().to_string()).collect()
}

#[test]
fn the_tutorial_is_about_this_function() {
    let (schemas, templates) = (blocks("yang"), blocks("click"));
    assert_eq!((schemas.len(), templates.len()), (4, 2));
    // What it begins with is a function.
    let first = functions::Package::of_texts("helloworld", &schemas[0], &templates[0]);
    let functions = functions::Functions::new(vec![first.into()]).unwrap();
    let function = functions.get("helloworld").unwrap();
    let ports = function.ports(&json!({ "name": "h1" }), &[]).unwrap();
    let text = function.render(&json!({ "name": "h1" }), &ports, functions::Interfaces).unwrap();
    let told = harness::run_graph(harness::TIME, &text, &ports, &[("left", &[UDP])], &[]);
    assert_eq!(told.matches("to right").count(), 1, "{told}");
    // What follows are parts of the one that comes with weir.
    let whole = functions::Package::shipped_one("helloworld").unwrap();
    for schema in &schemas[1..] {
        assert!(whole.schema.contains(schema), "{schema}");
    }
    assert_eq!(whole.template, templates[1]);
}
