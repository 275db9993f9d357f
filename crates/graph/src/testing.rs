//! Short notation for graphs in this crate's tests.

use crate::{Connection, Element, Endpoint, Graph, Place};

/// Makes a graph of `name:Class` words and `0.1-2.0` (element.port to element.port) words.
pub fn graph(elements: &str, connections: &str) -> Graph {
    let end = |text: &str| {
        let (element, port) = text.split_once('.').unwrap();
        Endpoint { element: element.parse().unwrap(), port: port.parse().unwrap() }
    };
    Graph {
        elements: elements
            .split_whitespace()
            .enumerate()
            .map(|(idx, word)| {
                let (name, class) = word.split_once(':').unwrap();
                let place = Place { file: Some("f".into()), line: idx as u32 + 1, column: 1 };
                Element { name: name.into(), class: class.into(), config: String::new(), place }
            })
            .collect(),
        connections: connections
            .split_whitespace()
            .enumerate()
            .map(|(idx, word)| {
                let (from, to) = word.split_once('-').unwrap();
                let place = Place { file: Some("f".into()), line: idx as u32 + 100, column: 1 };
                Connection { from: end(from), to: end(to), place }
            })
            .collect(),
        requirements: Vec::new(),
    }
}
