//! Several routers made into one, linked where a device of one is a device of another.

use graph::{Diagnostics, Place};
use lang::{Kind, Member};

use crate::router::{port, Element, Port, Router, Side};

/// The class that stands for a link between routers.
pub(crate) const LINK: &str = "RouterLink";

/// A router that becomes a part of another.
pub struct Component {
    /// Its name.
    pub name: String,
    /// The router, flat.
    pub router: Router,
}

/// A place where routers are linked: number of the router, name of the element.
#[derive(Clone, Debug, PartialEq, Eq)]
struct End {
    component: usize,
    element: String,
}

/// Makes one router of several; `links` have the form `NAME1.PLACE1=NAME2.PLACE2`. None if a link cannot be made.
///
/// What is wrong with the links goes to `told`, the rest to `diagnostics`. With `stamp`, files that say which parts there are
/// go into the archive.
pub fn combine(
    components: &[Component],
    links: &[String],
    stamp: Option<&Member>,
    told: &mut Diagnostics,
    diagnostics: &mut Diagnostics,
) -> Option<Router> {
    let links: Vec<(End, End)> = links.iter().filter_map(|link| parse_link(link, components, told)).collect();
    if told.has_errors() {
        return None;
    }
    let mut combined = Router::default();
    for component in components {
        include(component, &mut combined, diagnostics);
    }
    if diagnostics.has_errors() {
        return None;
    }
    for idx in combined.of_class(LINK).collect::<Vec<_>>() {
        prefix_parts(&mut combined.elements[idx]);
    }
    if links.is_empty() {
        diagnostics.warning(&Place::default(), "no links between routers");
    }
    for (number, (from, to)) in grouped(&links, components, told)?.into_iter().enumerate() {
        make_link(&mut combined, components, number + 1, &from, &to);
    }
    if let Some(stamp) = stamp {
        add_maps(&mut combined, components, !links.is_empty(), stamp);
    }
    Some(combined)
}

fn parse_link(text: &str, components: &[Component], told: &mut Diagnostics) -> Option<(End, End)> {
    let spaced = text.replace('.', " . ").replace('=', " = ");
    let words = args::split_words(&spaced);
    let nowhere = Place::default();
    let [name1, dot1, place1, equals, name2, dot2, place2] = words.as_slice() else {
        told.error(&nowhere, format!("bad link definition '{text}'"));
        return None;
    };
    if dot1 != "." || equals != "=" || dot2 != "." {
        told.error(&nowhere, format!("bad link definition '{text}'"));
        return None;
    }
    let [first, second] = [name1, name2].map(|name| {
        let found = components.iter().rposition(|component| component.name == *name);
        if found.is_none() {
            told.error(&nowhere, format!("no router named '{name}'"));
        }
        found
    });
    let (first, second) = (first?, second?);
    let from = find_place(first, &components[first], place1, &["ToDevice"], told);
    let to = find_place(second, &components[second], place2, &["FromDevice", "PollDevice"], told);
    for (end, name, place) in [(&from, name1, place1), (&to, name2, place2)] {
        if end.is_none() {
            told.error(&nowhere, format!("router '{name}' has no element or device named '{place}'"));
        }
    }
    let (from, to) = (from?, to?);
    for (end, name, place, expected) in
        [(&from, name1, place1, &["ToDevice"][..]), (&to, name2, place2, &["FromDevice", "PollDevice"])]
    {
        let router = &components[end.component].router;
        let class = router.find(&end.element).map_or("", |idx| router.elements[idx].class());
        if !expected.contains(&class) {
            told.warning(&nowhere, format!("router '{name}' element '{place}' has unexpected class"));
            told.message(&nowhere, format!("  expected {}, got {class}", expected.join(" or ")));
        }
    }
    Some((from, to))
}

/// The element called `place`, or else the only one of `classes` for the device of that name.
fn find_place(
    component: usize,
    Component { name, router }: &Component,
    place: &str,
    classes: &[&str],
    told: &mut Diagnostics,
) -> Option<End> {
    let end = |element: &Element| End { component, element: element.name.clone() };
    if let Some(idx) = router.find(place) {
        return Some(end(&router.elements[idx]));
    }
    let device = args::split_args(place).into_iter().next().unwrap_or_default();
    let is_it = |element: &&Element| {
        classes.contains(&element.class()) && args::split_args(&element.config).first() == Some(&device)
    };
    let found: Vec<&Element> = router.live().map(|idx| &router.elements[idx]).filter(is_it).collect();
    if found.len() > 1 {
        let list: Vec<String> = classes.iter().map(|class| format!("'{class}({device})'")).collect();
        let message = format!("more than one {} element in router '{name}'", list.join(" or "));
        told.error(&Place::default(), message);
    }
    match found.as_slice() {
        [only] => Some(end(only)),
        _ => None,
    }
}

/// Copies a router into `combined`, its elements below its name.
fn include(component: &Component, combined: &mut Router, diagnostics: &mut Diagnostics) {
    let router = &component.router;
    let mut numbers = vec![None; router.elements.len()];
    for idx in router.live() {
        let element = &router.elements[idx];
        let name = format!("{}/{}", component.name, element.name);
        if let Some(old) = combined.find(&name) {
            let old = combined.elements[old].place.clone();
            crate::tunnels::redeclared("element", &name, &element.place, &old, diagnostics);
        }
        let new = Element::new(name, element.kind.clone(), element.config.clone(), element.place.clone());
        numbers[idx] = Some(combined.get_or_add(new));
    }
    for wire in router.wires() {
        if let (Some(from), Some(to)) = (numbers[wire.from.element], numbers[wire.to.element]) {
            combined.connect(port(from, wire.from.port), port(to, wire.to.port), wire.place.clone());
        }
    }
    combined.requirements.extend(router.requirements.iter().cloned());
    for member in router.archive.iter().filter(|member| member.name != b"config") {
        if combined.archive.iter().any(|other| other.name == member.name) {
            let name = String::from_utf8_lossy(&member.name);
            let message = format!("expansion confict: two archive elements named '{name}'");
            diagnostics.error(&Place::default(), message);
        } else {
            combined.archive.push(member.clone());
        }
    }
}

/// Puts the name of the router that holds it before the names of the routers that a link names.
fn prefix_parts(link: &mut Element) {
    let prefix = link.name.split_inclusive('/').next().unwrap_or("").to_string();
    let mut words = args::split_args(&link.config);
    for word in words.iter_mut().step_by(2) {
        word.insert_str(0, &prefix);
    }
    link.config = args::join_args(&words);
}

type Ends = Vec<End>;

/// Links that share an end made into one: its sources and its destinations.
fn grouped(
    links: &[(End, End)],
    components: &[Component],
    told: &mut Diagnostics,
) -> Option<Vec<(Ends, Ends)>> {
    if !go_one_way(links, components, told) {
        return None;
    }
    let (mut numbers, mut groups) = (Vec::new(), Vec::<(Ends, Ends)>::new());
    for ((from, to), number) in links.iter().zip(group_numbers(links)) {
        let idx = numbers.iter().position(|known| *known == number).unwrap_or(numbers.len());
        if idx == numbers.len() {
            numbers.push(number);
            groups.push((Vec::new(), Vec::new()));
        }
        let (sources, destinations) = &mut groups[idx];
        for (list, end) in [(sources, from), (destinations, to)] {
            if !list.contains(end) {
                list.push(end.clone());
            }
        }
    }
    Some(groups)
}

/// Refuses ends that links begin at and others end at.
fn go_one_way(links: &[(End, End)], components: &[Component], told: &mut Diagnostics) -> bool {
    let mut ok = true;
    for (i, (from, to)) in links.iter().enumerate() {
        for (other_from, other_to) in &links[..i] {
            if from == other_to || other_from == to {
                let name = &components[from.component].name;
                let message =
                    format!("router '{name}' element '{}' used as both source and destination", from.element);
                told.error(&Place::default(), message);
                ok = false;
            }
        }
    }
    ok
}

/// A number for each link, which those have in common that share an end, or are joined by such links.
fn group_numbers(links: &[(End, End)]) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..links.len()).collect();
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for i in 1..links.len() {
            for j in 0..i {
                let share = links[i].0 == links[j].0 || links[i].1 == links[j].1;
                if share && numbers[i] != numbers[j] {
                    numbers[i] = numbers[j];
                    changed = true;
                }
            }
        }
    }
    numbers
}

fn make_link(combined: &mut Router, components: &[Component], number: usize, from: &[End], to: &[End]) {
    let mut words = Vec::new();
    let mut devices = Vec::new();
    for end in from.iter().chain(to) {
        let name = &components[end.component].name;
        let Some(idx) = combined.find(&format!("{name}/{}", end.element)) else { return };
        let device = &combined.elements[idx];
        words.push(format!("{name} {} {}", end.element, device.class()));
        words.push(device.config.clone());
        devices.push(idx);
    }
    let place = Place { file: Some("<click-combine>".into()), line: 0, column: 0 };
    let config = args::join_args(&words);
    let link = Element::new(format!("link{number}"), Kind::Class(LINK.to_string()), config, place);
    let link = combined.get_or_add(link);
    for (number, device) in devices.into_iter().enumerate() {
        match number.checked_sub(from.len()) {
            None => combined.insert(port(link, number), port(device, 0), Side::Input),
            Some(number) => combined.insert(port(link, number), port(device, 0), Side::Output),
        }
        combined.remove(device);
    }
}

impl Router {
    /// Connects `new` with `old`, and leads to `new` what was connected with `old`.
    pub(crate) fn insert(&mut self, new: Port, old: Port, side: Side) {
        match side {
            Side::Input => self.connect(new, old, Place::default()),
            Side::Output => self.connect(old, new, Place::default()),
        }
        for connection in self.at(old, side) {
            if self.end(connection, side.other()) != new {
                self.reconnect(connection, side, new);
            }
        }
    }

    /// The file of this name in the archive.
    pub(crate) fn member(&self, name: &str) -> Option<&Member> {
        self.archive.iter().find(|member| member.name == name.as_bytes())
    }

    fn set_member(&mut self, member: Member) {
        match self.archive.iter_mut().find(|other| other.name == member.name) {
            Some(old) => *old = member,
            None => self.archive.push(member),
        }
    }
}

/// Adds `elementmap.xml`, which tells of the link class, and `componentmap`, which lists the parts.
fn add_maps(combined: &mut Router, components: &[Component], has_links: bool, stamp: &Member) {
    let member = |name: &str, text: String| Member {
        name: name.as_bytes().to_vec(),
        data: text.into_bytes(),
        mode: 0o600,
        ..stamp.clone()
    };
    let own = r#"  <entry name="RouterLink" processing="l/h" flowcode="x/x" flags="S3" />"#;
    let mut entries: Vec<String> = has_links.then(|| own.to_string()).into_iter().collect();
    for map in components.iter().filter_map(|component| component.router.member("elementmap.xml")) {
        let text = String::from_utf8_lossy(&map.data);
        for entry in text.lines().filter(|line| line.trim_start().starts_with("<entry")) {
            let entry = format!("  {}", entry.trim());
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
    }
    if !entries.is_empty() {
        let head = "<?xml version=\"1.0\" standalone=\"yes\"?>\n\
            <elementmap xmlns=\"http://www.lcdf.org/click/xml/\">\n";
        let text = format!("{head}{}\n</elementmap>\n", entries.join("\n"));
        combined.set_member(member("elementmap.xml", text));
    }
    let mut map = String::new();
    for Component { name, router } in components {
        map += &format!("{name}\n");
        if let Some(nested) = router.member("componentmap") {
            for part in args::split_words(&String::from_utf8_lossy(&nested.data)) {
                map += &format!("{name}/{part}\n");
            }
        }
    }
    combined.set_member(member("componentmap", map));
}

#[cfg(test)]
mod tests {
    use expect_test::{expect, Expect};

    use super::*;
    use crate::testing::{flat, unparse};

    fn check(links: &[&str], expected: Expect) {
        let part = |name: &str, text: &str| Component { name: name.to_string(), router: flat(text).0 };
        let a = part("a", "s :: FromDevice(eth0) -> Queue -> t :: ToDevice(eth1)");
        let b = part("b", "x :: FromDevice(eth0) -> Discard; y :: FromDevice(eth2) -> Discard");
        let links: Vec<String> = links.iter().map(|link| link.to_string()).collect();
        let (mut told, mut diagnostics) = (Diagnostics::default(), Diagnostics::default());
        let stamp = Member { name: Vec::new(), data: Vec::new(), date_s: 0, owner: (0, 0), mode: 0o644 };
        let combined = combine(&[a, b], &links, Some(&stamp), &mut told, &mut diagnostics);
        let mut text = combined.as_ref().map_or("none\n".to_string(), unparse);
        for list in [&told, &diagnostics] {
            text += &lang::click_texts(&list.list);
        }
        if let Some(mut combined) = combined {
            crate::uncombine(&mut combined, "b", "f", &mut diagnostics);
            text += &format!("== b\n{}", unparse(&combined));
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn devices_become_links_and_devices_again() {
        check(
            &["a.eth1=b.eth0", "a.t = b.y"],
            expect![[r#"
            a/s :: FromDevice(eth0);
            a/Queue@2 :: Queue;
            b/Discard@2 :: Discard;
            b/Discard@4 :: Discard;
            link1 :: RouterLink(a t ToDevice, eth1, b x FromDevice, eth0, b y FromDevice, eth2);
            a/s -> a/Queue@2
                -> link1
                -> b/Discard@2;
            link1 [1] -> b/Discard@4;
            == b
            y :: FromDevice(eth2);
            Discard@2 :: Discard;
            x :: FromDevice(eth0);
            Discard@4 :: Discard;
            x -> Discard@2;
            y -> Discard@4;
        "#]],
        );
    }

    #[test]
    fn bad_links_are_told() {
        check(
            &["a.eth1", "a.eth1=c.eth0", "a.eth9=b.eth0", "a.s=b.x"],
            expect![[r#"
            none
            bad link definition 'a.eth1'
            no router named 'c'
            router 'a' has no element or device named 'eth9'
            warning: router 'a' element 's' has unexpected class
              expected ToDevice, got FromDevice
        "#]],
        );
        check(
            &[],
            expect![[r#"
            a/s :: FromDevice(eth0);
            a/Queue@2 :: Queue;
            a/t :: ToDevice(eth1);
            b/x :: FromDevice(eth0);
            b/Discard@2 :: Discard;
            b/y :: FromDevice(eth2);
            b/Discard@4 :: Discard;
            a/s -> a/Queue@2
                -> a/t;
            b/x -> b/Discard@2;
            b/y -> b/Discard@4;
            warning: no links between routers
            == b
            x :: FromDevice(eth0);
            Discard@2 :: Discard;
            y :: FromDevice(eth2);
            Discard@4 :: Discard;
            x -> Discard@2;
            y -> Discard@4;
        "#]],
        );
    }
}
