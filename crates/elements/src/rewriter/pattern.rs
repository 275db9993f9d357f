//! Patterns: how the addresses and ports of a new flow are chosen.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};

use args::{NameKind, Scope};
use element::Ctx;

use super::flow_id::FlowId;

/// A pattern. Fields that are 0 leave the packet's own.
#[derive(Debug)]
pub struct Pattern {
    src: u32,
    sport: u16,
    dst: u32,
    dport: u16,
    /// How far the source port, or the source address, may go beyond what the pattern gives.
    variation: u32,
    /// How far the last choice went, plus one. A named pattern is shared by all who use it.
    next: AtomicU32,
    has_ports: bool,
    is_sequential: bool,
    prefers_own_port: bool,
}

/// What is being parsed of a pattern.
#[derive(Default)]
struct Variation {
    top: u32,
    is_sequential: bool,
    is_random: bool,
}

impl Pattern {
    /// Parses two to four words: `SADDR DADDR`, `SADDR DADDR SPORT` or `SADDR SPORT DADDR DPORT`.
    pub fn parse(words: &[String], scope: &Scope<'_>) -> Result<Pattern, String> {
        let (saddr, sport, daddr, dport) = match words {
            [saddr, daddr] => (saddr, None, daddr, None),
            [saddr, daddr, sport] => (saddr, Some(sport), daddr, None),
            [saddr, sport, daddr, dport] => (saddr, Some(sport), daddr, Some(dport)),
            _ => return Err("syntax error".to_string()),
        };
        let mut variation = Variation::default();
        let src = if saddr == "-" {
            0
        } else if let Ok(address) = args::ip(saddr, scope) {
            address.to_bits()
        } else {
            variation.address(saddr, scope).ok_or("bad source address")?
        };
        let sport = match sport.map(String::as_str) {
            None | Some("-") => 0,
            Some(text) => single_port(text).or_else(|| variation.port(text)).ok_or("bad source port")?,
        };
        let dst = match daddr.as_str() {
            "-" => 0,
            text => args::ip(text, scope).map_err(|_| "bad destination address")?.to_bits(),
        };
        let dport = match dport.map(String::as_str) {
            None | Some("-") => 0,
            Some(text) => single_port(text).ok_or("bad destination port")?,
        };
        Ok(Pattern {
            src,
            sport,
            dst,
            dport,
            variation: variation.top,
            next: AtomicU32::new(0),
            has_ports: words.len() >= 3,
            is_sequential: variation.is_sequential,
            prefers_own_port: !variation.is_sequential && !variation.is_random,
        })
    }

    /// Goes on choosing where an equal pattern has come to.
    pub fn go_on_from(&self, old: &Pattern) {
        let choices = |of: &Pattern| (of.src, of.sport, of.dst, of.dport, of.variation);
        let ways = |of: &Pattern| (of.has_ports, of.is_sequential, of.prefers_own_port);
        if choices(self) == choices(old) && ways(self) == ways(old) {
            self.next.store(old.next.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// What a flow becomes; `None` if all choices are taken. `is_taken` tells whether packets with an identifier are
    /// rewritten already.
    pub fn rewrite(
        &self,
        id: &FlowId,
        ctx: &mut Ctx<'_>,
        is_taken: &dyn Fn(&FlowId) -> bool,
    ) -> Option<FlowId> {
        let mut new = *id;
        let or = |given: u32, own: u32| if given == 0 { own } else { given };
        new.src = or(self.src, id.src);
        new.dst = or(self.dst, id.dst);
        new.sport = or(self.sport.into(), id.sport.into()) as u16;
        new.dport = or(self.dport.into(), id.dport.into()) as u16;
        if self.variation == 0 {
            return Some(new);
        }
        let (reply, value) = self.vary(id, new.reverse(), ctx, is_taken)?;
        if self.has_ports {
            new.sport = reply.dport;
        } else {
            new.src = reply.dst;
        }
        self.next.store(value.wrapping_add(1), Ordering::Relaxed);
        Some(new)
    }

    /// The identifier of replies that is free, and how far it goes beyond the base.
    fn vary(
        &self,
        id: &FlowId,
        mut reply: FlowId,
        ctx: &mut Ctx<'_>,
        is_taken: &dyn Fn(&FlowId) -> bool,
    ) -> Option<(FlowId, u32)> {
        let base = if self.has_ports { self.sport.into() } else { self.src };
        let own = u32::from(id.sport).wrapping_sub(base);
        if self.prefers_own_port && own <= self.variation {
            reply.dport = id.sport;
            if !is_taken(&reply) {
                return Some((reply, own));
            }
        }
        let next = self.next.load(Ordering::Relaxed);
        let mut value = match self.is_sequential {
            true if next > self.variation => 0,
            true => next,
            false => ctx.random_between(0, self.variation),
        };
        for _ in 0..=self.variation {
            if self.has_ports {
                reply.dport = base.wrapping_add(value) as u16;
            } else {
                reply.dst = base.wrapping_add(value);
            }
            if !is_taken(&reply) {
                return Some((reply, value));
            }
            value = if value >= self.variation { 0 } else { value + 1 };
        }
        None
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = |f: &mut fmt::Formatter<'_>, bits: u32| match bits {
            0 => write!(f, "-"),
            _ => write!(f, "{}", Ipv4Addr::from_bits(bits)),
        };
        if !self.has_ports && self.variation > 0 {
            let last = Ipv4Addr::from_bits(self.src.wrapping_add(self.variation));
            write!(f, "{}-{last}", Ipv4Addr::from_bits(self.src))?;
        } else {
            address(f, self.src)?;
        }
        match (self.has_ports, self.sport) {
            (false, _) => {}
            (true, 0) => write!(f, " -")?,
            (true, port) if self.variation > 0 => {
                write!(f, " {port}-{}", u32::from(port) + self.variation)?;
            }
            (true, port) => write!(f, " {port}")?,
        }
        write!(f, " ")?;
        address(f, self.dst)?;
        match (self.has_ports, self.dport) {
            (false, _) => Ok(()),
            (true, 0) => write!(f, " -"),
            (true, port) => write!(f, " {port}"),
        }
    }
}

impl Variation {
    /// Takes the mark off a range: `#` for sequential choice, `?` for a random one.
    fn take_mark<'t>(&mut self, text: &'t str) -> &'t str {
        if let Some(rest) = text.strip_suffix('#') {
            self.is_sequential = true;
            rest
        } else if let Some(rest) = text.strip_suffix('?') {
            self.is_random = true;
            rest
        } else {
            text
        }
    }

    /// A range of addresses, or a prefix, whose first and last addresses are left out.
    fn address(&mut self, text: &str, scope: &Scope<'_>) -> Option<u32> {
        let text = self.take_mark(text);
        if let Some((low, high)) = text.split_once('-') {
            let (low, high) = (args::ip(low, scope).ok()?.to_bits(), args::ip(high, scope).ok()?.to_bits());
            self.top = high.checked_sub(low)?;
            return Some(low);
        }
        let prefix = args::prefix_or_address(text, scope).ok()?;
        let (addr, mask) = (prefix.addr.to_bits(), prefix.mask.to_bits());
        if addr == 0 || mask == 0 || args::mask_len(prefix.mask).is_none() {
            return None;
        }
        let (first, top) = match !mask {
            0 => (addr, 0),
            1 => (addr & mask, 1),
            n_hosts => (addr & mask | 1, n_hosts - 2),
        };
        self.top = top;
        Some(first)
    }

    fn port(&mut self, text: &str) -> Option<u16> {
        let text = self.take_mark(text);
        let (low, high) = text.split_once('-')?;
        let (low, high) = (args::integer::<u16>(low).ok()?, args::integer::<u16>(high).ok()?);
        self.top = u32::from(high.checked_sub(low)?);
        Some(low)
    }
}

fn single_port(text: &str) -> Option<u16> {
    args::integer::<u16>(text).ok().filter(|port| *port > 0)
}

/// The name of a pattern: the value of a name is the element that defines it and the place among its arguments.
pub fn named(name: &str, scope: &Scope<'_>) -> Option<(usize, usize)> {
    let value = scope.integer(NameKind::RewriterPattern, name)? as usize;
    Some((value >> 12, value & 0xfff))
}

/// Gives a pattern of an element its name; false if there are too many elements or patterns.
pub fn define(name: &str, element: usize, argument: usize, scope: &Scope<'_>) -> bool {
    let fits = element < 1 << 20 && argument < 1 << 12;
    if fits {
        scope.define(NameKind::RewriterPattern, name, (element << 12 | argument) as u32);
    }
    fits
}
