//! Groups of rules: which rules a packet's protocol and ports leave.

use std::collections::HashMap;

use super::scanner::{Needle, Scanner};
use super::Compiled;
use crate::packet::View;
use crate::rules::payload::PayloadKind;
use crate::rules::{Protocol, Rule};

/// A rule for more ports than this is looked for at all ports.
const MAX_PORTS: usize = 64;
/// Most groups of one protocol, and most patterns in all of them.
const MAX_GROUPS: usize = 256;
const MAX_PATTERNS: usize = 4_000_000;

/// Rules that are searched together.
#[derive(Debug)]
pub struct Group {
    /// The search for their patterns.
    pub scanner: Scanner,
    /// Rules without a pattern to search.
    pub always: Vec<u32>,
}

/// The groups of all protocols.
#[derive(Debug)]
pub struct Groups {
    tcp: PortGroups,
    udp: PortGroups,
    icmp: PortGroups,
    other: PortGroups,
}

#[derive(Debug)]
struct PortGroups {
    /// The first is that of ports that no rule names.
    groups: Vec<Group>,
    by_source: Box<[u16]>,
    by_destination: Box<[u16]>,
}

impl Groups {
    /// Sorts rules into groups.
    pub fn new(rules: &[Compiled]) -> Groups {
        let of = |wanted: &[Protocol]| {
            PortGroups::new(rules, |rule| rule.protocol == Protocol::Ip || wanted.contains(&rule.protocol))
        };
        Groups {
            tcp: of(&[Protocol::Tcp, Protocol::TcpOrUdp]),
            udp: of(&[Protocol::Udp, Protocol::TcpOrUdp]),
            icmp: of(&[Protocol::Icmp]),
            other: of(&[]),
        }
    }

    /// The group or the two for a packet.
    #[inline]
    pub fn of(&self, view: &View<'_>) -> (&Group, Option<&Group>) {
        let groups = match view.transport {
            wire::protocol::TCP => &self.tcp,
            wire::protocol::UDP => &self.udp,
            wire::protocol::ICMP | wire::protocol::ICMPV6 => &self.icmp,
            _ => &self.other,
        };
        groups.of(view.source_port, view.destination_port)
    }
}

impl PortGroups {
    #[inline]
    fn of(&self, source: u16, destination: u16) -> (&Group, Option<&Group>) {
        let idx = |table: &[u16], port: u16| usize::from(table.get(usize::from(port)).copied().unwrap_or(0));
        let group = |idx: usize| self.groups.get(idx).or(self.groups.first()).expect("there is always one");
        match (idx(&self.by_source, source), idx(&self.by_destination, destination)) {
            (0, to) => (group(to), None),
            (from, 0) => (group(from), None),
            (from, to) if from == to => (group(to), None),
            (from, to) => (group(to), Some(group(from))),
        }
    }

    fn new(rules: &[Compiled], is_meant: impl Fn(&Rule) -> bool) -> PortGroups {
        let meant = || (0u32..).zip(rules).filter(|(_, compiled)| is_meant(&compiled.rule));
        let mut general = Vec::new();
        // For each side and port the rules that name it.
        let mut named: [HashMap<u16, Vec<u32>>; 2] = Default::default();
        for (idx, compiled) in meant() {
            let rule = &compiled.rule;
            let (side, ports) =
                match (rule.destination.ports.few(MAX_PORTS), rule.source.ports.few(MAX_PORTS)) {
                    (Some(ports), _) => (1, ports),
                    (None, Some(ports)) => (0, ports),
                    (None, None) => {
                        general.push(idx);
                        continue;
                    }
                };
            for port in ports {
                for (i, map) in named.iter_mut().enumerate() {
                    if i == side || rule.is_bidirectional {
                        map.entry(port).or_default().push(idx);
                    }
                }
            }
        }
        let mut kinds: HashMap<&Vec<u32>, u16> = HashMap::new();
        let mut lists: Vec<&Vec<u32>> = named.iter().flat_map(HashMap::values).collect();
        lists.sort_unstable();
        lists.dedup();
        let n_patterns = lists.len() * general.len() + lists.iter().map(|list| list.len()).sum::<usize>();
        if lists.len() >= MAX_GROUPS || n_patterns > MAX_PATTERNS {
            let all: Vec<u32> = meant().map(|(idx, _)| idx).collect();
            return PortGroups::with(vec![Group::new(rules, &all)]);
        }
        let mut groups = vec![Group::new(rules, &general)];
        for list in lists {
            let mut members = general.clone();
            members.extend(list);
            members.sort_unstable();
            kinds.insert(list, groups.len() as u16);
            groups.push(Group::new(rules, &members));
        }
        let mut all = PortGroups::with(groups);
        for (map, table) in named.iter().zip([&mut all.by_source, &mut all.by_destination]) {
            for (port, list) in map {
                if let (Some(entry), Some(kind)) = (table.get_mut(usize::from(*port)), kinds.get(list)) {
                    *entry = *kind;
                }
            }
        }
        all
    }

    fn with(groups: Vec<Group>) -> PortGroups {
        let table = || vec![0; 1 << 16].into_boxed_slice();
        PortGroups { groups, by_source: table(), by_destination: table() }
    }
}

impl Group {
    fn new(rules: &[Compiled], members: &[u32]) -> Group {
        let fast = |idx: &u32| {
            let compiled = rules.get(*idx as usize)?;
            match &compiled.rule.payload.get(compiled.fast?)?.kind {
                PayloadKind::Content(content) => {
                    Some(Needle { bytes: &content.bytes, ignores_case: content.ignores_case, id: *idx })
                }
                _ => None,
            }
        };
        let scanner = Scanner::new(members.iter().filter_map(fast));
        let always = members.iter().copied().filter(|idx| fast(idx).is_none()).collect();
        Group { scanner, always }
    }
}
