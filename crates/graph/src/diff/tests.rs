//! Differences carried out step by step give the new graph.

use super::*;
use crate::testing::graph;
use crate::{Connection, Place};
use expect_test::{expect, Expect};
use proptest::prelude::*;

/// Carries `actions` out on `graph`; `Err` is an action that is not possible.
///
/// Elements added stand after the old ones, so numbers may differ from those of the graph that was aimed at.
fn apply(graph: &Graph, actions: &[Action]) -> Result<Graph, Action> {
    let mut graph = graph.clone();
    for action in actions {
        step(&mut graph, action).ok_or_else(|| action.clone())?;
    }
    Ok(graph)
}

fn step(graph: &mut Graph, action: &Action) -> Option<()> {
    match action {
        Action::Disconnect { from, to } => {
            let (from, to) = (end(graph, from)?, end(graph, to)?);
            let idx = graph.connections.iter().position(|c| c.from == from && c.to == to)?;
            graph.connections.remove(idx);
        }
        Action::Remove { name } => {
            let removed = graph.find(name)?;
            if graph.connections.iter().any(|c| c.from.element == removed || c.to.element == removed) {
                return None;
            }
            graph.remove(removed);
        }
        Action::Add { element } => {
            if graph.find(&element.name).is_some() {
                return None;
            }
            graph.elements.push(element.clone());
        }
        Action::Replace { old, new } => {
            let idx = graph.find(&old.name)?;
            if graph.find(&new.name).is_some_and(|other| other != idx) {
                return None;
            }
            *graph.elements.get_mut(idx)? = (**new).clone();
        }
        Action::Reconfigure { name, config } => {
            let idx = graph.find(name)?;
            graph.elements.get_mut(idx)?.config.clone_from(config);
        }
        Action::Connect { from, to } => {
            let (from, to) = (end(graph, from)?, end(graph, to)?);
            let place = graph.elements.get(from.element)?.place.clone();
            let connection = Connection { from, to, place };
            let at = graph.connections.partition_point(|c| c.by_input(&connection).is_lt());
            graph.connections.insert(at, connection);
        }
    }
    Some(())
}

fn end(graph: &Graph, end: &NamedEnd) -> Option<Endpoint> {
    Some(Endpoint { element: graph.find(&end.element)?, port: end.port })
}

fn check(old: &Graph, new: &Graph, expected: Expect) {
    let show = |end: &NamedEnd| format!("{}.{}", end.element, end.port);
    let lines = diff(old, new, &[]).into_iter().map(|action| match action {
        Action::Disconnect { from, to } => format!("disconnect {} {}", show(&from), show(&to)),
        Action::Remove { name } => format!("remove {name}"),
        Action::Add { element } => format!("add {}", element.declaration()),
        Action::Reconfigure { name, config } => format!("reconfigure {name} {config}"),
        Action::Replace { .. } => action.to_string(),
        Action::Connect { from, to } => format!("connect {} {}", show(&from), show(&to)),
    });
    expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn equal_graphs_need_no_action() {
    let old = graph("a:A b:B", "0.0-1.0");
    let mut new = graph("b:B a:A", "1.0-0.0 1.0-0.0");
    new.elements[0].place = Place::default();
    check(&old, &new, expect![[""]]);
}

#[test]
fn an_element_of_another_class_takes_the_place_with_its_connections() {
    let old = graph("a:A b:B c:C", "0.0-1.0 1.0-2.0 0.1-2.1");
    let mut new = graph("a:A b:X c:C", "0.0-1.0 1.0-2.0 1.1-2.1");
    new.elements[1].config = "5".into();
    check(
        &old,
        &new,
        expect![[r#"
            disconnect a.1 c.1
            replace b :: B by b :: X(5)
            connect b.1 c.1"#]],
    );
}

#[test]
fn what_is_told_to_take_a_place_replaces_under_any_name() {
    let old = graph("a:A b:B c:C", "0.0-1.0 1.0-2.0");
    let mut new = graph("a:A d:B c:C", "0.0-1.0 1.0-2.0");
    let told = |new: &Graph, pairs: &[(&str, &str)]| {
        let pairs: Vec<_> = pairs.iter().map(|(old, new)| (old.to_string(), new.to_string())).collect();
        let actions = diff(&old, new, &pairs);
        assert_eq!(normal(&apply(&old, &actions).unwrap()), normal(new));
        actions.iter().map(Action::to_string).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(told(&new, &[("b", "d")]), "replace b :: B by d :: B");
    // Nobody takes a place twice, nor that of one that stays.
    assert_eq!(
        told(&new, &[("b", "c"), ("a", "d"), ("nothing", "d"), ("b", "d"), ("b", "d")]),
        "replace b :: B by d :: B"
    );
    new.elements[1].name = "b".into();
    assert_eq!(told(&new, &[("b", "b")]), "");
    new.elements[1].config = "7".into();
    assert_eq!(told(&new, &[("b", "b")]), "replace b :: B by b :: B(7)");
    assert_eq!(told(&new, &[]), "set b (7)");
}

#[test]
fn an_element_is_put_between_and_another_reconfigured() {
    let old = graph("a:A b:B", "0.0-1.0");
    let mut new = graph("a:A q:Q b:B", "0.0-1.0 1.0-2.0");
    new.elements[0].config = "10".into();
    check(
        &old,
        &new,
        expect![[r#"
            disconnect a.0 b.0
            reconfigure a 10
            add q :: Q
            connect a.0 q.0
            connect q.0 b.0"#]],
    );
}

/// Places and numbers do not count: by name, sorted.
fn normal(graph: &Graph) -> (Vec<[String; 3]>, Vec<(NamedEnd, NamedEnd)>) {
    let elements = graph.elements.iter().map(|e| [e.name.clone(), e.class.clone(), e.config.clone()]);
    let mut elements: Vec<_> = elements.collect();
    elements.sort();
    let mut edges = edges(graph);
    edges.sort();
    (elements, edges)
}

prop_compose! {
    fn any_graph()(
        names in proptest::collection::btree_map(0..12u8, (0..3u8, 0..3u8), 1..10),
        edges in proptest::collection::vec((any::<prop::sample::Index>(), 0..3usize,
            any::<prop::sample::Index>(), 0..3usize), 0..20),
        order in any::<u64>(),
    ) -> Graph {
        let mut elements: Vec<Element> = names.iter().map(|(name, (class, config))| Element {
            name: format!("e{name}"),
            class: format!("C{class}"),
            config: format!("{config}"),
            place: Place::default(),
        }).collect();
        let n_elements = elements.len();
        elements.rotate_left(order as usize % n_elements);
        let connections = edges.iter().map(|(from, out_port, to, in_port)| Connection {
            from: Endpoint { element: from.index(n_elements), port: *out_port },
            to: Endpoint { element: to.index(n_elements), port: *in_port },
            place: Place::default(),
        });
        let mut graph = Graph { connections: connections.collect(), elements, requirements: Vec::new() };
        graph.connections = graph.sorted_connections().into_iter().cloned().collect();
        graph
    }
}

proptest! {
    #[test]
    fn applying_the_difference_gives_the_new_graph(
        old in any_graph(),
        new in any_graph(),
        replaced in proptest::collection::vec((0..12u8, 0..12u8), 0..6),
    ) {
        let replaced: Vec<_> =
            replaced.into_iter().map(|(old, new)| (format!("e{old}"), format!("e{new}"))).collect();
        let actions = diff(&old, &new, &replaced);
        let applied = apply(&old, &actions).expect("every action is possible");
        prop_assert_eq!(normal(&applied), normal(&new));
        prop_assert!(diff(&applied, &new, &[]).is_empty());
        prop_assert!(diff(&old, &old, &[]).is_empty());
    }
}
