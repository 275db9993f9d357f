//! Taking out what does nothing: elements that no packet passes, switches that never switch, empty ports.

use graph::Diagnostics;

use crate::liveness::live;
use crate::router::{port, Port, Router, Side};
use crate::Facts;

/// Where elements stand that are added.
const PLACE: &str = "<click-undead>";

/// Takes dead code out of a flat router. False if nothing would be left.
pub fn undead(router: &mut Router, facts: Facts, verbose: bool, diagnostics: &mut Diagnostics) -> bool {
    let mut undead = Undead { router, diagnostics, verbose, n_ports: Vec::new() };
    undead.n_ports =
        undead.router.elements.iter().map(|e| (e.name.clone(), e.n_inputs, e.n_outputs)).collect();
    undead.static_switches("StaticSwitch", Side::Output);
    undead.static_switches("StaticPullSwitch", Side::Input);
    undead.nulls();
    undead.router.compact();
    let is_live = live(undead.router, facts, verbose, undead.diagnostics);
    if !is_live.is_empty() && !is_live.contains(&true) {
        undead.diagnostics.warning(&graph::Place::default(), "no live elements in configuration");
        return false;
    }
    undead.bury(&is_live);
    while undead.simplify() {}
    undead.fill_ports();
    undead.router.compact();
    true
}

struct Undead<'a> {
    router: &'a mut Router,
    diagnostics: &'a mut Diagnostics,
    verbose: bool,
    /// Name, inputs and outputs of each element: what its ports should be.
    n_ports: Vec<(String, usize, usize)>,
}

impl Undead<'_> {
    /// Replaces switches by connections; `side` is where the choice is.
    fn static_switches(&mut self, class: &str, side: Side) {
        for idx in self.router.of_class(class).collect::<Vec<_>>() {
            let chosen = self.choice(idx);
            let branches = self.router.newest(idx, side);
            if branches.iter().any(|branch| !self.is_only(*branch, side)) {
                let element = &self.router.elements[idx];
                let to = if side == Side::Output { "from" } else { "to" };
                let message = format!("odd connections {to} '{}'", element.declaration());
                self.diagnostics.error(&element.place, message);
            }
            let idle = self.router.add_anonymous("Idle", PLACE);
            let mut n_used = 0;
            let chosen = chosen.filter(|chosen| self.is_only(branches.get(*chosen).copied().flatten(), side));
            let target = match chosen.and_then(|chosen| branches[chosen]) {
                Some(branch) => self.router.end(branch, side.other()),
                None => port(idle, 0),
            };
            for connection in self.router.at(port(idx, 0), side.other()) {
                self.router.reconnect(connection, side.other(), target);
            }
            for (number, branch) in branches.into_iter().enumerate() {
                if let Some(branch) = branch.filter(|_| Some(number) != chosen) {
                    self.router.reconnect(branch, side, port(idle, n_used));
                    n_used += 1;
                }
            }
            self.router.kill(idx);
        }
    }

    /// The number in the configuration of a switch; none if it is negative or no number.
    fn choice(&mut self, idx: usize) -> Option<usize> {
        let element = &self.router.elements[idx];
        let config = args::uncomment(&element.config);
        match args::integer::<i32>(&config) {
            Ok(number) => usize::try_from(number).ok(),
            Err(_) => {
                let message = format!("{}: bad configuration 'StaticSwitch({config})'", element.name);
                self.diagnostics.error(&element.place, message);
                None
            }
        }
    }

    /// Whether `connection` is the only one at its port.
    fn is_only(&self, connection: Option<usize>, side: Side) -> bool {
        connection
            .is_some_and(|connection| self.router.at(self.router.end(connection, side), side).len() == 1)
    }

    fn odd(&mut self, idx: usize) {
        let element = &self.router.elements[idx];
        self.diagnostics.warning(&element.place, format!("odd connections to '{}'", element.declaration()));
    }

    fn nulls(&mut self) {
        for idx in self.router.of_class("Null").collect::<Vec<_>>() {
            let element = &self.router.elements[idx];
            if element.n_inputs != 1 || element.n_outputs != 1 {
                self.odd(idx);
                continue;
            }
            let before = self.router.at(port(idx, 0), Side::Input);
            let after = self.router.at(port(idx, 0), Side::Output);
            match (before.as_slice(), after.as_slice()) {
                ([only], _) => self.skip(port(idx, 0), Side::Output, self.router.end(*only, Side::Output)),
                (_, [only]) => self.skip(port(idx, 0), Side::Input, self.router.end(*only, Side::Input)),
                _ => self.odd(idx),
            }
            self.router.kill(idx);
        }
    }

    /// Leads the connections at one port to another.
    fn skip(&mut self, old: Port, side: Side, new: Port) {
        for connection in self.router.at(old, side) {
            self.router.reconnect(connection, side, new);
        }
    }

    fn bury(&mut self, is_live: &[bool]) {
        for (idx, _) in is_live.iter().enumerate().filter(|(_, is_live)| !**is_live) {
            let element = &self.router.elements[idx];
            if self.verbose {
                self.diagnostics.message(&element.place, format!("removing '{}'", element.declaration()));
            }
            self.router.kill(idx);
        }
        self.router.remove_bad_connections();
    }

    /// Takes out ports that nobody uses, and elements that have one port left; whether an element went.
    fn simplify(&mut self) -> bool {
        let mut changed = false;
        for (class, has_arguments) in
            [("RoundRobinSched", false), ("PrioSched", false), ("StrideSched", true)]
        {
            for idx in self.router.of_class(class).collect::<Vec<_>>() {
                changed |= self.scheduler(idx, has_arguments);
            }
        }
        for (class, first) in [("Tee", 0), ("PullTee", 1)] {
            for idx in self.router.of_class(class).collect::<Vec<_>>() {
                changed |= self.tee(idx, first);
            }
        }
        changed
    }

    fn scheduler(&mut self, idx: usize, has_arguments: bool) -> bool {
        if self.router.elements[idx].n_outputs != 1 {
            self.odd(idx);
            return false;
        }
        let mut inputs = self.router.newest(idx, Side::Input);
        let mut arguments = args::split_args(&self.router.elements[idx].config);
        if has_arguments && arguments.len() != inputs.len() {
            return false;
        }
        let mut number = 0;
        while number < inputs.len() {
            let is_idle = |connection: usize| {
                self.router.elements[self.router.end(connection, Side::Output).element].is("Idle")
            };
            if inputs[number].is_some_and(|connection| !is_idle(connection)) {
                number += 1;
                continue;
            }
            if has_arguments {
                arguments.remove(number);
                self.router.elements[idx].config = args::join_args(&arguments);
            }
            self.close_port(idx, &mut inputs, number, Side::Input);
        }
        let is_redundant = inputs.len() == 1;
        if let ([Some(only)], true) = (inputs.as_slice(), is_redundant) {
            self.tell_redundant(idx, "scheduler");
            self.skip(port(idx, 0), Side::Output, self.router.end(*only, Side::Output));
            self.router.kill(idx);
        }
        self.remember(idx, Side::Input, inputs.len());
        is_redundant
    }

    fn tee(&mut self, idx: usize, first: usize) -> bool {
        if self.router.elements[idx].n_inputs != 1 {
            self.odd(idx);
            return false;
        }
        let mut outputs = self.router.newest(idx, Side::Output);
        for number in (first..outputs.len()).rev() {
            // As Click's, this asks for the class of the tee itself, so that only unconnected ports go.
            if outputs[number].is_none() {
                self.close_port(idx, &mut outputs, number, Side::Output);
            }
        }
        let is_redundant = outputs.len() == 1;
        if let ([Some(only)], true) = (outputs.as_slice(), is_redundant) {
            self.tell_redundant(idx, "tee");
            let input = self.router.newest(idx, Side::Input).first().copied().flatten();
            match input.filter(|_| first == 1) {
                Some(input) => self.skip(port(idx, 0), Side::Output, self.router.end(input, Side::Output)),
                None => self.skip(port(idx, 0), Side::Input, self.router.end(*only, Side::Input)),
            }
            self.router.kill(idx);
        }
        self.remember(idx, Side::Output, outputs.len());
        self.router.elements[idx].config = outputs.len().to_string();
        is_redundant
    }

    /// Takes a port out, and moves those behind it forward.
    fn close_port(&mut self, idx: usize, connections: &mut Vec<Option<usize>>, number: usize, side: Side) {
        if let Some(connection) = connections.remove(number) {
            self.router.disconnect(connection);
        }
        for (at, connection) in connections.iter().enumerate().skip(number) {
            if let Some(connection) = connection {
                self.router.reconnect(*connection, side, port(idx, at));
            }
        }
    }

    fn tell_redundant(&mut self, idx: usize, what: &str) {
        if self.verbose {
            let element = &self.router.elements[idx];
            let message = format!("removing redundant {what} '{}'", element.declaration());
            self.diagnostics.error(&element.place, message);
        }
    }

    fn remember(&mut self, idx: usize, side: Side, n_ports: usize) {
        let name = &self.router.elements[idx].name;
        if let Some(known) = self.n_ports.iter_mut().find(|(known, ..)| known == name) {
            match side {
                Side::Input => known.1 = n_ports,
                Side::Output => known.2 = n_ports,
            }
        }
    }

    /// Connects ports that lost their neighbours to an Idle.
    fn fill_ports(&mut self) {
        let idle = self.router.add_anonymous("Idle", PLACE);
        let (mut n_inputs, mut n_outputs) = (0, 0);
        let wanted: std::collections::HashMap<String, (usize, usize)> =
            self.n_ports.drain(..).map(|(name, inputs, outputs)| (name, (inputs, outputs))).collect();
        for idx in self.router.live().collect::<Vec<_>>() {
            let element = &self.router.elements[idx];
            let place = element.place.clone();
            let (wanted_inputs, wanted_outputs) =
                wanted.get(&element.name).copied().unwrap_or((element.n_inputs, element.n_outputs));
            let mut inputs = self.router.newest(idx, Side::Input);
            inputs.resize(wanted_inputs, None);
            for (number, _) in inputs.iter().enumerate().filter(|(_, connection)| connection.is_none()) {
                self.router.connect(port(idle, n_outputs), port(idx, number), place.clone());
                n_outputs += 1;
            }
            let mut outputs = self.router.newest(idx, Side::Output);
            outputs.resize(wanted_outputs, None);
            for (number, _) in outputs.iter().enumerate().filter(|(_, connection)| connection.is_none()) {
                self.router.connect(port(idx, number), port(idle, n_inputs), place.clone());
                n_inputs += 1;
            }
        }
        if n_inputs == 0 && n_outputs == 0 {
            self.router.kill(idle);
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{expect, Expect};

    use super::*;
    use crate::testing::{facts, flat, unparse};

    fn check(text: &str, expected: Expect) {
        let (mut router, _) = flat(text);
        let mut diagnostics = Diagnostics::default();
        let is_live = undead(&mut router, &facts, false, &mut diagnostics);
        let told = lang::click_texts(&diagnostics.list);
        expected.assert_eq(&format!("{}{told}{}", unparse(&router), if is_live { "" } else { "nothing\n" }));
    }

    #[test]
    fn what_no_packet_passes_goes() {
        check("InfiniteSource -> c :: Counter -> Discard; Idle -> d :: Counter -> Discard; InfiniteSource -> Idle", expect![[r#"
            InfiniteSource@1 :: InfiniteSource;
            c :: Counter;
            Discard@3 :: Discard;
            InfiniteSource@1 -> c
                -> Discard@3;
        "#]]);
        check(
            "Idle -> Counter -> Discard",
            expect![[r#"
            Idle@1 :: Idle;
            Counter@2 :: Counter;
            Discard@3 :: Discard;
            Idle@1 -> Counter@2
                -> Discard@3;
            warning: no live elements in configuration
            nothing
        "#]],
        );
    }

    #[test]
    fn switches_that_never_switch_become_connections() {
        check("InfiniteSource -> s :: StaticSwitch(1) -> a :: Counter -> Discard; s [1] -> b :: Counter -> Discard", expect![[r#"
            InfiniteSource@1 :: InfiniteSource;
            b :: Counter;
            Discard@6 :: Discard;
            InfiniteSource@1 -> b
                -> Discard@6;
        "#]]);
    }

    #[test]
    fn schedulers_and_tees_lose_empty_ports() {
        check(
            "r :: RoundRobinSched -> Discard; Idle -> r; InfiniteSource -> q :: Queue -> [1] r;
             InfiniteSource -> t :: Tee -> Idle; t [1] -> Null -> d :: Discard",
            expect![[r#"
                Discard@2 :: Discard;
                InfiniteSource@4 :: InfiniteSource;
                q :: Queue;
                InfiniteSource@6 :: InfiniteSource;
                d :: Discard;
                InfiniteSource@4 -> q
                    -> Discard@2;
                InfiniteSource@6 -> d;
            "#]],
        );
    }
}
