//! Tunnels: what enters a compound element or group leaves at its pseudo-element `input`, and the other way round.

use std::collections::HashMap;

use crate::compound::End;

/// One end of a tunnel: an output (`true`) or input port of a tunnel element.
pub(crate) type Key = (usize, bool, usize);

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Running,
    Done,
}

struct TunnelEnd {
    key: Key,
    other: Option<usize>,
    /// The ports to which connections lead on from this end.
    leads_to: Vec<End>,
    state: State,
}

/// A tunnel end that is being followed.
struct Frame {
    idx: usize,
    todo: std::vec::IntoIter<End>,
    reached: Vec<End>,
    waits_for: Option<usize>,
}

/// All tunnel ends of a graph.
#[derive(Default)]
pub(crate) struct Tunnels {
    ends: Vec<TunnelEnd>,
    by_key: HashMap<Key, usize>,
}

/// What is wrong with a tunnel, in the order in which it is found.
pub(crate) enum Wrong {
    /// A tunnel end to which nothing leads on.
    Loose(Loose),
    /// An end that was never joined in this direction.
    Misused(Key),
}

/// A tunnel end to which nothing leads on: its key and that of the other end.
pub(crate) struct Loose {
    pub key: Key,
    pub other: Key,
}

impl Tunnels {
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn is_paired(&self, key: Key) -> bool {
        self.by_key.get(&key).is_some_and(|idx| self.ends[*idx].other.is_some())
    }

    /// Makes a tunnel between an output and an input.
    pub fn pair(&mut self, a: Key, b: Key) {
        let (a, b) = (self.insert(a), self.insert(b));
        self.ends[a].other = Some(b);
        self.ends[b].other = Some(a);
    }

    /// Notes that a connection joins the tunnel end `key` to `far`.
    pub fn join(&mut self, key: Key, far: End) {
        if let Some(other) = self.find(key).and_then(|idx| self.ends[idx].other) {
            self.ends[other].leads_to.push(far);
        }
    }

    /// All ports that a connection from or to `end` reaches through tunnels. What is wrong on the way goes to `wrong`.
    pub fn reach(
        &mut self,
        end: End,
        is_output: bool,
        is_tunnel: &dyn Fn(usize) -> bool,
        wrong: &mut Vec<Wrong>,
    ) -> Vec<End> {
        if !is_tunnel(end.0) {
            return vec![end];
        }
        let Some(start) = self.lookup((end.0, is_output, end.1), wrong) else { return Vec::new() };
        self.expand(start, is_tunnel, wrong);
        match self.ends[start].state {
            State::Done => self.ends[start].leads_to.clone(),
            _ => Vec::new(),
        }
    }

    /// Follows connections from tunnel end to tunnel end, with a stack of its own: chains may be long.
    fn expand(&mut self, start: usize, is_tunnel: &dyn Fn(usize) -> bool, wrong: &mut Vec<Wrong>) {
        let mut stack = Vec::new();
        let mut next = Some(start);
        loop {
            if let Some(idx) = next.take().filter(|idx| self.ends[*idx].state == State::New) {
                let todo = self.begin(idx, wrong);
                stack.push(Frame { idx, todo: todo.into_iter(), reached: Vec::new(), waits_for: None });
            }
            let Some(frame) = stack.last_mut() else { return };
            if let Some(done) = frame.waits_for.take().filter(|idx| self.ends[*idx].state == State::Done) {
                frame.reached.extend_from_slice(&self.ends[done].leads_to);
            }
            match frame.todo.next() {
                Some(end) if !is_tunnel(end.0) => frame.reached.push(end),
                Some(end) => {
                    let is_output = self.ends[frame.idx].key.1;
                    frame.waits_for = self.lookup((end.0, is_output, end.1), wrong);
                    next = frame.waits_for;
                }
                None => {
                    // Connections that are written twice count once; left in, they would double at every tunnel.
                    let mut seen = std::collections::HashSet::new();
                    frame.reached.retain(|end| seen.insert(*end));
                    let (idx, reached) = (frame.idx, std::mem::take(&mut frame.reached));
                    self.ends[idx].leads_to = reached;
                    self.ends[idx].state = State::Done;
                    stack.pop();
                }
            }
        }
    }

    fn begin(&mut self, idx: usize, wrong: &mut Vec<Wrong>) -> Vec<End> {
        let end = &mut self.ends[idx];
        end.state = State::Running;
        let todo = std::mem::take(&mut end.leads_to);
        let (key, other) = (end.key, end.other);
        if let Some(other) = other.filter(|_| todo.is_empty()) {
            wrong.push(Wrong::Loose(Loose { key, other: self.ends[other].key }));
        }
        todo
    }

    fn lookup(&mut self, key: Key, wrong: &mut Vec<Wrong>) -> Option<usize> {
        let found = self.find(key);
        if found.is_none() && self.find((key.0, !key.1, key.2)).is_some() {
            wrong.push(Wrong::Misused(key));
        }
        found
    }

    fn insert(&mut self, key: Key) -> usize {
        if let Some(idx) = self.by_key.get(&key) {
            return *idx;
        }
        let idx = self.ends.len();
        self.ends.push(TunnelEnd { key, other: None, leads_to: Vec::new(), state: State::New });
        self.by_key.insert(key, idx);
        idx
    }

    /// The end `key`; where only port 0 was made so far, the tunnel of that port is made too.
    fn find(&mut self, key: Key) -> Option<usize> {
        if let Some(idx) = self.by_key.get(&key) {
            return Some(*idx);
        }
        let first = self.by_key.get(&(key.0, key.1, 0))?;
        let (element, is_output, _) = self.ends[self.ends[*first].other?].key;
        self.pair(key, (element, is_output, key.2));
        self.by_key.get(&key).copied()
    }
}

/// What a tunnel that leads nowhere is told as: place-giving element, message, remedy.
pub(crate) fn loose_message(end: &Loose, name: &dyn Fn(usize) -> String) -> (usize, String, &'static str) {
    let (element, is_output, _) = end.key;
    let (input, output) = if is_output { (end.other, end.key) } else { (end.key, end.other) };
    let (in_name, out_name) = (name(input.0), name(output.0));
    if format!("{in_name}/input") == out_name {
        let (message, help) = match is_output {
            true => (format!("'{in_name}' input {} unused", input.2), "the class inside does not connect it"),
            false => (
                format!("'{in_name}' has no input {}", input.2),
                "connect `input` inside the compound element",
            ),
        };
        (input.0, message, help)
    } else if in_name == format!("{out_name}/output") {
        let (message, help) = match is_output {
            true => (
                format!("'{out_name}' has no output {}", output.2),
                "connect `output` inside the compound element",
            ),
            false => {
                (format!("'{out_name}' output {} unused", output.2), "connect it, or end it in a Discard")
            }
        };
        (output.0, message, help)
    } else {
        let side = if is_output { "output" } else { "input" };
        // Click prints the number of the element here, not that of the port.
        (
            end.other.0,
            format!("tunnel '{in_name} -> {out_name}' {side} {element} unused"),
            "connect both its ends",
        )
    }
}
