//! A router as a graph for other programs.

use std::fmt::Write;

use graph::Processing;

use crate::elements::{Elements, Subject};
use crate::pretty::{Page, TagsLeft};
use crate::router::{port, Router};
use crate::templates::Tag;
use crate::wiring::{Mode, Wiring};
use crate::Facts;

/// A way to write a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    /// For Graphviz.
    Dot,
    /// GML.
    Gml,
    /// GraphML.
    GraphMl,
}

/// The graph in one of several formats; `template` makes the labels.
pub fn write_drawing(page: &Page, drawing: Drawing, template: &str, facts: Facts<'static>) -> String {
    let wiring = page.wiring(facts);
    let tag = Tag::default();
    let label = |idx: usize| {
        let tags = TagsLeft::default();
        let mut writer = Elements::new(page, &wiring, &tag, &tags);
        writer.run(template, &Subject::element(idx), 0);
        writer.into_text()
    };
    match drawing {
        Drawing::Dot => dot(page.router, &label),
        Drawing::Gml => gml(page.router, &label),
        Drawing::GraphMl => graphml(page.router, &wiring, &label),
    }
}

fn dot(router: &Router, label: &dyn Fn(usize) -> String) -> String {
    let mut text = "digraph clickrouter {\n  node [shape=record,height=.1]\n  \
        edge [arrowhead=normal,arrowtail=none,tailclip=false]\n"
        .to_string();
    let ports = |side: char, n_ports: usize| {
        let list: Vec<String> = (0..n_ports).map(|port| format!("<{side}{port}>")).collect();
        format!("{{{}}}", list.join("|"))
    };
    for idx in router.live() {
        let element = &router.elements[idx];
        let mut parts = Vec::new();
        parts.extend((element.n_inputs > 0).then(|| ports('i', element.n_inputs)));
        parts.push(label(idx));
        parts.extend((element.n_outputs > 0).then(|| ports('o', element.n_outputs)));
        let record = if parts.len() > 1 { format!("{{{}}}", parts.join("|")) } else { parts.join("|") };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  \"{}\" [label=\"{record}\"];", element.name);
    }
    for wire in router.wires() {
        let [from, to] = [wire.from, wire.to].map(|end| &router.elements[end.element].name);
        let _ = writeln!(text, "  \"{from}\":o{} -> \"{to}\":i{};", wire.from.port, wire.to.port);
    }
    text + "}\n"
}

fn gml(router: &Router, label: &dyn Fn(usize) -> String) -> String {
    let mut text = "Creator \"click-pretty\"\ngraph\n[ hierarchic 1\n  directed 1\n".to_string();
    for idx in router.live() {
        let _ = writeln!(text, "  node\n  [ id {idx}\n    label \"{}\"\n  ]", label(idx));
    }
    let anchor = |number: usize, n_ports: usize| {
        let share = 1.0 / n_ports as f64;
        -(n_ports as f64 - 1.0) * share + number as f64 * share
    };
    for wire in router.wires() {
        let (from, to) = (&router.elements[wire.from.element], &router.elements[wire.to.element]);
        let (x1, x2) = (anchor(wire.from.port, from.n_outputs), anchor(wire.to.port, to.n_inputs));
        let _ = writeln!(
            text,
            "  edge\n  [ source {}\n    target {}\n    edgeAnchor\n    [ xSource {x1:.6}\n      xTarget {x2:.6}\n      \
             ySource 1\n      yTarget -1\n    ]\n  ]",
            wire.from.element, wire.to.element
        );
    }
    text + "]\n"
}

/// A port's letter in GraphML.
fn letter(mode: Mode) -> char {
    match (mode.processing, mode.is_agnostic) {
        (Processing::Push, false) => 'h',
        (Processing::Push, true) => 'H',
        (Processing::Pull, false) => 'l',
        (Processing::Pull, true) => 'L',
        (Processing::Agnostic, _) => 'a',
    }
}

fn graphml(router: &Router, wiring: &Wiring, label: &dyn Fn(usize) -> String) -> String {
    let mut text = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
<key id="kn" for="node" attr.name="name" attr.type="string" />
<key id="kc" for="node" attr.name="class" attr.type="string" />
<key id="kp" for="port" attr.name="processing" attr.type="string">
  <default>a</default>
</key>
<graph id="G" edgedefault="directed">
"#
    .to_string();
    for idx in router.live() {
        let element = &router.elements[idx];
        let (n_inputs, n_outputs) = (element.n_inputs, element.n_outputs);
        let _ = writeln!(
            text,
            "  <node id=\"n{idx}\" parse.indegree=\"{n_inputs}\" parse.outdegree=\"{n_outputs}\">\n    \
             <data key=\"kn\">{}</data> <data key=\"kc\">{}</data>",
            element.name,
            label(idx)
        );
        let inputs = (0..n_inputs).map(|number| ('i', number, wiring.input(port(idx, number))));
        let outputs = (0..n_outputs).map(|number| ('o', number, wiring.output(port(idx, number))));
        for (side, number, mode) in inputs.chain(outputs) {
            let letter = letter(mode);
            let _ =
                writeln!(text, "    <port name=\"{side}{number}\"> <data key=\"kp\">{letter}</data> </port>");
        }
        text.push_str("  </node>\n");
    }
    for (number, wire) in router.wires().enumerate() {
        let (from, to) = (wire.from, wire.to);
        let _ = writeln!(
            text,
            "  <edge id=\"e{number}\" source=\"n{}\" target=\"n{}\" sourceport=\"o{}\" targetport=\"i{}\" />",
            from.element, to.element, from.port, to.port
        );
    }
    text + "</graph>\n</graphml>\n"
}
