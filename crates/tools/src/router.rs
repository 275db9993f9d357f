//! A configuration that can be changed.

use std::collections::{HashMap, HashSet};

use graph::Place;
use lang::{Kind, Member};

/// A configuration: elements, connections, and what stands around them.
///
/// Elements that die keep their place until [`Router::compact`]; places of freed elements are given to new ones, the last
/// freed first.
#[derive(Clone, Debug, Default)]
pub struct Router {
    /// The elements, dead ones among them.
    pub elements: Vec<Element>,
    names: HashMap<String, usize>,
    free: Vec<usize>,
    n_counted: usize,
    pub(crate) connections: Vec<Connection>,
    /// Connections that leave and enter each element; the newest last.
    pub(crate) leaving: Vec<Vec<usize>>,
    pub(crate) entering: Vec<Vec<usize>>,
    /// Whether two connections may be alike.
    pub(crate) may_repeat: bool,
    /// Where new elements are noted down, if at all.
    pub(crate) added: Option<Vec<usize>>,
    /// Variables, with their values.
    pub definitions: Vec<(String, String)>,
    /// `require(KIND VALUE)` statements.
    pub requirements: Vec<(String, String)>,
    /// Files beside the configuration in its archive.
    pub archive: Vec<Member>,
}

/// An element.
#[derive(Clone, Debug)]
pub struct Element {
    /// Its name.
    pub name: String,
    /// Its class.
    pub kind: Kind,
    /// Its configuration string.
    pub config: String,
    /// Where it was written.
    pub place: Place,
    /// Whether it was taken out.
    pub is_dead: bool,
    /// How many inputs and outputs are connected.
    pub n_inputs: usize,
    pub n_outputs: usize,
    /// The tunnel that this one leads into or comes from.
    pub(crate) leads_to: Option<usize>,
    pub(crate) comes_from: Option<usize>,
    /// The pattern that it comes from.
    pub(crate) mark: usize,
}

/// A port of an element: the number of the element, and that of the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Port {
    /// Number of the element.
    pub element: usize,
    /// Number of its port.
    pub port: usize,
}

/// A connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub from: Port,
    pub to: Port,
    pub place: Place,
    pub is_dead: bool,
}

/// Which end of connections is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Input,
    Output,
}

impl Element {
    /// An element without connections.
    pub fn new(name: String, kind: Kind, config: String, place: Place) -> Element {
        Element {
            name,
            kind,
            config,
            place,
            is_dead: false,
            n_inputs: 0,
            n_outputs: 0,
            leads_to: None,
            comes_from: None,
            mark: 0,
        }
    }

    /// The name of its class; empty for a tunnel.
    pub fn class(&self) -> &str {
        match &self.kind {
            Kind::Class(name) => name,
            _ => "",
        }
    }

    /// `name :: Class`, as messages tell it.
    pub fn declaration(&self) -> String {
        format!("{} :: {}", self.name, self.class())
    }

    pub(crate) fn is_tunnel(&self) -> bool {
        self.kind == Kind::Tunnel
    }

    pub(crate) fn is(&self, class: &str) -> bool {
        !self.is_dead && self.class() == class
    }
}

/// A port.
pub(crate) fn port(element: usize, port: usize) -> Port {
    Port { element, port }
}

impl Router {
    /// The element called `name`.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// Numbers of the elements that are alive.
    pub fn live(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.elements.len()).filter(|idx| !self.elements[*idx].is_dead)
    }

    /// Numbers of the elements of `class`.
    pub(crate) fn of_class<'a>(&'a self, class: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.live().filter(move |idx| self.elements[*idx].is(class))
    }

    /// Adds an element, whatever others are called.
    pub(crate) fn add(&mut self, element: Element) -> usize {
        self.n_counted += 1;
        let idx = match self.free.pop() {
            Some(idx) => {
                self.elements[idx] = element;
                self.leaving[idx].clear();
                self.entering[idx].clear();
                idx
            }
            None => {
                self.elements.push(element);
                self.leaving.push(Vec::new());
                self.entering.push(Vec::new());
                self.elements.len() - 1
            }
        };
        if let Some(added) = &mut self.added {
            added.push(idx);
        }
        idx
    }

    /// The element of this one's name; if there is none, this one is added.
    pub fn get_or_add(&mut self, element: Element) -> usize {
        if let Some(idx) = self.find(&element.name) {
            return idx;
        }
        let name = element.name.clone();
        let idx = self.add(element);
        self.names.insert(name, idx);
        idx
    }

    /// Adds an element with a name of its own.
    pub(crate) fn add_anonymous(&mut self, class: &str, place: &str) -> usize {
        let mut number = self.n_counted + 1;
        let mut name = format!("{class}@{number}");
        while self.find(&name).is_some() {
            number += 1;
            name = format!("{class}@{number}");
        }
        let place = Place { file: Some(place.into()), line: 0, column: 0 };
        self.get_or_add(Element::new(name, Kind::Class(class.to_string()), String::new(), place))
    }

    /// How many elements there are, counting those that are dead but not freed.
    pub(crate) fn n_counted(&self) -> usize {
        self.n_counted
    }

    pub(crate) fn rename(&mut self, idx: usize, name: String) {
        let old = &self.elements[idx].name;
        if self.names.get(old) == Some(&idx) {
            self.names.remove(old);
        }
        self.names.insert(name.clone(), idx);
        self.elements[idx].name = name;
    }

    /// Takes an element and its connections out; its place stays.
    pub(crate) fn kill(&mut self, idx: usize) {
        for connection in [self.leaving[idx].clone(), self.entering[idx].clone()].concat() {
            self.disconnect(connection);
        }
        self.elements[idx].is_dead = true;
    }

    /// Takes an element and its connections out, and frees its place.
    pub(crate) fn remove(&mut self, idx: usize) {
        self.kill(idx);
        self.forget(idx);
    }

    fn forget(&mut self, idx: usize) {
        let element = &mut self.elements[idx];
        element.is_dead = true;
        if self.names.get(&element.name) == Some(&idx) {
            self.names.remove(&element.name);
        }
        self.free.push(idx);
        self.n_counted -= 1;
    }

    /// Frees the places of dead elements.
    pub(crate) fn free_dead(&mut self) {
        self.remove_bad_connections();
        let freed: HashSet<usize> = self.free.iter().copied().collect();
        for idx in 0..self.elements.len() {
            if self.elements[idx].is_dead && !freed.contains(&idx) {
                self.forget(idx);
            }
        }
    }

    /// Closes the gaps that dead elements leave.
    pub(crate) fn compact(&mut self) {
        if self.elements.iter().all(|element| !element.is_dead) {
            return;
        }
        self.remove_bad_connections();
        let mut numbers = Vec::with_capacity(self.elements.len());
        let mut n_live = 0;
        for element in &self.elements {
            numbers.push(n_live);
            n_live += usize::from(!element.is_dead);
        }
        let dead: Vec<bool> = self.elements.iter().map(|element| element.is_dead).collect();
        for lists in [&mut self.leaving, &mut self.entering] {
            let mut idx = 0..;
            lists.retain(|_| !dead[idx.next().expect("the range is endless")]);
        }
        self.elements.retain(|element| !element.is_dead);
        for element in &mut self.elements {
            for other in [&mut element.leads_to, &mut element.comes_from] {
                *other = other.map(|idx| numbers[idx]);
            }
        }
        for connection in self.connections.iter_mut().filter(|connection| !connection.is_dead) {
            connection.from.element = numbers[connection.from.element];
            connection.to.element = numbers[connection.to.element];
        }
        self.names =
            self.elements.iter().enumerate().map(|(idx, element)| (element.name.clone(), idx)).collect();
        self.n_counted = n_live;
        self.free.clear();
        self.drop_dead_connections();
    }

    /// Forgets dead connections, which keeps a long series of changes from growing without end.
    pub(crate) fn drop_dead_connections(&mut self) {
        let mut numbers = Vec::with_capacity(self.connections.len());
        let mut n_live = 0;
        for connection in &self.connections {
            numbers.push(n_live);
            n_live += usize::from(!connection.is_dead);
        }
        self.connections.retain(|connection| !connection.is_dead);
        for idx in self.leaving.iter_mut().chain(&mut self.entering).flatten() {
            *idx = numbers[*idx];
        }
    }
}
