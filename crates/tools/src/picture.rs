//! A router drawn as SVG: elements in layers from top to bottom, push in black, pull in blue.

use std::collections::HashMap;
use std::fmt::Write;

use graph::Processing;

use crate::markup::class_name;
use crate::pretty::Page;
use crate::router::{Router, Side};
use crate::templates::quote;
use crate::wiring::Wiring;

const BOX_HEIGHT: usize = 40;
const LAYER_HEIGHT: usize = 90;
const GAP: usize = 24;
const LETTER_WIDTH: usize = 8;

/// An element's box.
struct Place {
    x: usize,
    y: usize,
    width: usize,
}

/// A picture in the making.
struct Picture<'a> {
    page: &'a Page<'a>,
    places: HashMap<usize, Place>,
    text: String,
}

/// The picture.
pub(crate) fn svg(page: &Page, wiring: &Wiring) -> String {
    let layers = layers(page.router);
    let mut picture = Picture { page, places: HashMap::new(), text: String::new() };
    let width = picture.arrange(&layers);
    let height = 2 * GAP + layers.len() * LAYER_HEIGHT;
    picture.text = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' \
         font-family='monospace' font-size='13'>\n\
         <defs><marker id='arrow' viewBox='0 0 8 8' refX='8' refY='4' markerWidth='7' markerHeight='7' orient='auto'>\
         <path d='M0,0 L8,4 L0,8 z'/></marker></defs>\n"
    );
    picture.draw_wires(wiring);
    layers.iter().flatten().for_each(|idx| picture.draw_box(*idx));
    picture.text + "</svg>\n"
}

impl Picture<'_> {
    /// An element's name, and that of its class.
    fn label(&self, idx: usize) -> (String, String) {
        let element = &self.page.router.elements[idx];
        (element.name.clone(), class_name(&element.kind, self.page.outline))
    }

    /// Gives each element its place; how wide the picture becomes.
    fn arrange(&mut self, layers: &[Vec<usize>]) -> usize {
        let mut width = 0;
        for (number, layer) in layers.iter().enumerate() {
            let mut x = GAP;
            for idx in layer {
                let (name, class) = self.label(*idx);
                let n_letters = name.chars().count().max(class.chars().count());
                let element = &self.page.router.elements[*idx];
                let n_ports = element.n_inputs.max(element.n_outputs);
                let box_width = (n_letters * LETTER_WIDTH + 16).max(n_ports * 12);
                self.places.insert(*idx, Place { x, y: GAP + number * LAYER_HEIGHT, width: box_width });
                x += box_width + GAP;
            }
            width = width.max(x);
        }
        width
    }

    fn draw_wires(&mut self, wiring: &Wiring) {
        let Picture { page, places, text } = self;
        let elements = &page.router.elements;
        for wire in page.router.wires() {
            let (Some(from), Some(to)) = (places.get(&wire.from.element), places.get(&wire.to.element))
            else {
                continue;
            };
            let x1 = port_x(from, wire.from.port, elements[wire.from.element].n_outputs);
            let x2 = port_x(to, wire.to.port, elements[wire.to.element].n_inputs);
            let (y1, y2) = (from.y + BOX_HEIGHT, to.y);
            let is_pull = wiring.output(wire.from).processing == Processing::Pull;
            let colour = if is_pull { "blue" } else { "black" };
            let (c1, c2) = (y1 + LAYER_HEIGHT / 2, y2.saturating_sub(LAYER_HEIGHT / 2));
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "<path d='M{x1},{y1} C{x1},{c1} {x2},{c2} {x2},{y2}' fill='none' stroke='{colour}' \
                 marker-end='url(#arrow)'/>"
            );
        }
    }

    fn draw_box(&mut self, idx: usize) {
        let (name, class) = self.label(idx);
        let (name, class) = (quote(&name), quote(&class));
        let Some(Place { x, y, width }) = self.places.get(&idx) else { return };
        let middle = x + width / 2;
        // As above.
        let _ = writeln!(
            self.text,
            "<a href='#et-{name}'><rect x='{x}' y='{y}' width='{width}' height='{BOX_HEIGHT}' rx='4' fill='#fff' \
             stroke='#333'/><text x='{middle}' y='{}' text-anchor='middle' font-weight='bold'>{name}</text>\
             <text x='{middle}' y='{}' text-anchor='middle'>{class}</text></a>",
            y + 16,
            y + 33
        );
    }
}

fn port_x(place: &Place, port: usize, n_ports: usize) -> usize {
    place.x + place.width * (2 * port + 1) / (2 * n_ports.max(1))
}

/// The elements in layers: each below those that lead to it, but for connections that close a cycle.
fn layers(router: &Router) -> Vec<Vec<usize>> {
    let order = downward(router);
    let rank: HashMap<usize, usize> = order.iter().enumerate().map(|(rank, idx)| (*idx, rank)).collect();
    let mut layer: HashMap<usize, usize> = HashMap::new();
    let mut layers: Vec<Vec<usize>> = Vec::new();
    for idx in &order {
        let before =
            neighbours(router, *idx, Side::Input).into_iter().filter(|other| rank[other] < rank[idx]);
        let number = before.filter_map(|other| layer.get(&other)).max().map_or(0, |above| above + 1);
        layer.insert(*idx, number);
        if number == layers.len() {
            layers.push(Vec::new());
        }
        layers[number].push(*idx);
    }
    // Each element goes below the middle of what leads to it.
    let mut position: HashMap<usize, usize> = HashMap::new();
    for list in &mut layers {
        list.sort_by_key(|idx| {
            let above: Vec<usize> = neighbours(router, *idx, Side::Input)
                .iter()
                .filter_map(|other| position.get(other).copied())
                .collect();
            (above.iter().sum::<usize>() * 1000).checked_div(above.len()).unwrap_or(usize::MAX)
        });
        position.extend(list.iter().enumerate().map(|(at, idx)| (*idx, at)));
    }
    layers
}

fn neighbours(router: &Router, idx: usize, side: Side) -> Vec<usize> {
    let connections = router.touching(idx, side).into_iter();
    connections.map(|connection| router.end(connection, side.other()).element).collect()
}

/// The elements in an order in which most connections lead onwards.
fn downward(router: &Router) -> Vec<usize> {
    let mut is_seen = vec![false; router.elements.len()];
    let mut order = Vec::new();
    let sources = router.live().filter(|idx| router.elements[*idx].n_inputs == 0);
    for start in sources.chain(router.live()).collect::<Vec<_>>() {
        if std::mem::replace(&mut is_seen[start], true) {
            continue;
        }
        let mut stack = vec![(start, neighbours(router, start, Side::Output))];
        while let Some((idx, left)) = stack.last_mut() {
            match left.pop() {
                Some(next) if !std::mem::replace(&mut is_seen[next], true) => {
                    stack.push((next, neighbours(router, next, Side::Output)));
                }
                Some(_) => {}
                None => {
                    order.push(*idx);
                    stack.pop();
                }
            }
        }
    }
    order.reverse();
    order
}
