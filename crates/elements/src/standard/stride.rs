//! Stride scheduling of ports: each gets a share in proportion to its tickets.
//!
//! Every port has a pass, which grows by its stride, inversely proportional to its tickets, whenever it had its turn. The port
//! with the smallest pass is next.

use std::collections::VecDeque;

use element::{Arg, Configure, Ctx, Handler};

const STRIDE_1: u32 = 1 << 16;
/// Most tickets of a port.
const MAX_TICKETS: u32 = 1 << 15;

/// The argument: one value a port.
pub const TICKETS_ARG: Arg =
    Arg::rest("TICKETS", "unsigned", "A port's tickets, one argument for each port in order; 0 to 32768.");

/// The handlers of ports that are scheduled.
pub const HANDLERS: &[Handler] = &[
    Handler::read_write("tickets#", "The tickets of a port."),
    Handler::read("config", "The tickets of all ports.").flags("alike"),
];

#[derive(Clone, Debug, Default)]
struct Client {
    tickets: u32,
    pass: u32,
}

impl Client {
    fn stride(&self) -> u32 {
        STRIDE_1.checked_div(self.tickets).unwrap_or(0)
    }

    fn advance(&mut self) {
        self.pass = self.pass.wrapping_add(self.stride());
    }
}

/// The ports of an element and whose turn it is.
pub struct Stride {
    clients: Vec<Client>,
    /// The ports that have tickets, sorted by pass.
    order: VecDeque<usize>,
    /// The ports that have had their turn in the present round; empty between rounds.
    visited: Vec<usize>,
}

impl Stride {
    /// Reads the tickets of `n_ports` ports, which messages call `side`.
    pub fn configure(conf: &mut Configure<'_>, n_ports: usize, side: &str) -> Stride {
        let texts = conf.args.rest();
        if texts.len() != n_ports {
            conf.error(format!("need {n_ports} arguments, one per {side} port"));
            return Stride::new(Vec::new());
        }
        let mut tickets = Vec::new();
        for (i, text) in texts.iter().enumerate() {
            match args::integer::<i32>(text).map(u32::try_from) {
                Err(_) => conf.error(format!("argument {i} should be number of tickets (integer)")),
                Ok(Err(_)) => conf.error(format!("argument {i} (number of tickets) must be >= 0")),
                Ok(Ok(n)) => {
                    if n > MAX_TICKETS {
                        conf.warning(format!("input {i}'s tickets reduced to {MAX_TICKETS}"));
                    }
                    tickets.push(n.min(MAX_TICKETS));
                }
            }
        }
        Stride::new(tickets)
    }

    /// Ports with these tickets, none of which has had a turn.
    fn new(tickets: Vec<u32>) -> Stride {
        let mut clients: Vec<_> = tickets.into_iter().map(|tickets| Client { tickets, pass: 0 }).collect();
        clients.iter_mut().for_each(Client::advance);
        let mut stride = Stride { clients, order: VecDeque::new(), visited: Vec::new() };
        stride.sort();
        stride
    }

    /// Takes over the passes of the ports from before a change of configuration.
    pub fn take_over(&mut self, old: &Stride) {
        for (client, old) in self.clients.iter_mut().zip(&old.clients) {
            client.pass = old.pass;
        }
        self.sort();
    }

    /// Of ports with equal passes, the first is the first in order.
    fn sort(&mut self) {
        self.order.clear();
        for port in (0..self.clients.len()).rev() {
            if self.clients.get(port).is_some_and(|client| client.tickets > 0) {
                self.insert(port);
            }
        }
    }

    /// Inserts a port before those with an equal or later pass. Passes wrap around.
    fn insert(&mut self, port: usize) {
        let pass_of = |port: usize| self.clients.get(port).map_or(0, |client| client.pass);
        let pass = pass_of(port);
        let at = self.order.iter().position(|other| pass.wrapping_sub(pass_of(*other)) as i32 <= 0);
        self.order.insert(at.unwrap_or(self.order.len()), port);
    }

    /// Offers the turn to the ports in order until one `takes` it; every port that was offered the turn has had it.
    #[inline]
    pub fn turn<T>(&mut self, mut takes: impl FnMut(usize) -> Option<T>) -> Option<T> {
        let mut taken = None;
        while let Some(port) = self.order.pop_front() {
            taken = takes(port);
            if let Some(client) = self.clients.get_mut(port) {
                client.advance();
            }
            self.visited.push(port);
            if taken.is_some() {
                break;
            }
        }
        for i in 0..self.visited.len() {
            if let Some(port) = self.visited.get(i).copied() {
                self.insert(port);
            }
        }
        self.visited.clear();
        taken
    }

    /// Reads one of [`HANDLERS`].
    pub fn read(&self, name: &str) -> Result<String, String> {
        if name == "config" {
            let tickets: Vec<_> = self.clients.iter().map(|client| client.tickets.to_string()).collect();
            return Ok(tickets.join(", "));
        }
        let client = port_of(name).and_then(|port| self.clients.get(port));
        client.map(|client| client.tickets.to_string()).ok_or_else(|| format!("no {name} read handler"))
    }

    /// Writes one of [`HANDLERS`].
    pub fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let port = port_of(name).filter(|port| *port < self.clients.len());
        let port = port.ok_or_else(|| format!("no {name} write handler"))?;
        let tickets: i32 = args::integer(value).map_err(|_| "tickets value must be integer")?;
        let tickets = u32::try_from(tickets).map_err(|_| "number of tickets must be >= 0")?;
        if tickets > MAX_TICKETS {
            ctx.warn(&format!("port {port}'s tickets reduced to {MAX_TICKETS}"));
        }
        self.set_tickets(port, tickets.min(MAX_TICKETS));
        Ok(())
    }

    fn set_tickets(&mut self, port: usize, tickets: u32) {
        let first_pass =
            self.order.front().and_then(|first| self.clients.get(*first)).map(|client| client.pass);
        let Some(client) = self.clients.get_mut(port) else { return };
        let old_tickets = std::mem::replace(&mut client.tickets, tickets);
        if tickets == 0 {
            self.order.retain(|other| *other != port);
        } else if old_tickets == 0 {
            client.pass = first_pass.map_or(0, |pass| pass.wrapping_add(client.stride()));
            self.insert(port);
        }
    }
}

fn port_of(name: &str) -> Option<usize> {
    name.strip_prefix("tickets")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    /// The ports that take turns, of which `is_ready` have something to do.
    fn turns(stride: &mut Stride, n: usize, is_ready: impl Fn(usize) -> bool) -> String {
        let mut text = String::new();
        for _ in 0..n {
            let port = stride.turn(|port| is_ready(port).then_some(port));
            text += &port.map_or("-".to_string(), |port| port.to_string());
        }
        text
    }

    fn check(tickets: &[u32], n: usize, expect: Expect) {
        expect.assert_eq(&turns(&mut Stride::new(tickets.to_vec()), n, |_| true));
    }

    #[test]
    fn turns_are_in_proportion_to_tickets() {
        check(&[4, 2, 1], 14, expect!["00100120010012"]);
        check(&[1, 1, 1], 6, expect!["012210"]);
        check(&[1, 0, 2], 6, expect!["220220"]);
        check(&[0], 3, expect!["---"]);
        check(&[], 3, expect!["---"]);
    }

    #[test]
    fn ports_that_have_nothing_are_passed_over() {
        let mut stride = Stride::new(vec![4, 2, 1]);
        assert_eq!(turns(&mut stride, 6, |port| port != 0), "112112");
        assert_eq!(turns(&mut stride, 2, |_| false), "--");
    }

    #[test]
    fn a_port_that_gets_tickets_joins_in() {
        let mut stride = Stride::new(vec![1, 0]);
        assert_eq!(turns(&mut stride, 3, |_| true), "000");
        stride.set_tickets(1, 1);
        assert_eq!(turns(&mut stride, 4, |_| true), "0011");
        stride.set_tickets(0, 0);
        assert_eq!(turns(&mut stride, 3, |_| true), "111");
    }

    #[test]
    fn shares_are_kept_when_passes_wrap_around() {
        let mut stride = Stride::new(vec![1, 3]);
        for client in &mut stride.clients {
            client.pass = client.pass.wrapping_sub(1 << 17);
        }
        let text = turns(&mut stride, 400, |_| true);
        assert_eq!(text.matches('0').count(), 100);
    }
}
