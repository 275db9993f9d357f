//! An event.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};

use crate::threshold::Crossing;

/// Most bytes of a fact in the environment of a hook; the whole is in what it reads.
const MAX_VARIABLE: usize = 4096;

/// Something that has happened. In JSON, its facts stand beside its name and its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// What has happened, such as `port-down`.
    pub event: String,
    /// When (RFC 3339).
    pub time: String,
    /// The facts, as the notification of that name in `weir.yang` describes them.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
}

/// An element that another one has taken the place of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Replaced {
    /// Its name.
    pub element: String,
    /// Its class.
    pub class: String,
    /// Its configuration.
    pub config: String,
    /// The other's name.
    pub new_element: String,
    /// The other's class.
    pub new_class: String,
    /// The other's configuration.
    pub new_config: String,
}

impl Event {
    /// Something that has happened now.
    pub fn new(name: &str, facts: Value) -> Event {
        let facts = match facts {
            Value::Object(facts) => facts,
            _ => Map::new(),
        };
        Event { event: name.to_string(), time: now(), facts }
    }

    /// The graph has become another one, by these steps, some of which put elements into the places of others.
    pub fn graph_changed(revision: u64, title: &str, plan: &[String], replaced: &[Replaced]) -> Event {
        let facts = json!({ "revision": revision, "title": title, "plan": plan });
        let mut event = Event::new("graph-changed", facts);
        if !replaced.is_empty() {
            event.facts.insert("replaced".into(), json!(replaced));
        }
        event
    }

    /// A value has crossed a threshold.
    pub fn threshold_crossed(name: &str, source: &str, crossing: Crossing, value: f64, bound: f64) -> Event {
        let mut event = Event::new(
            "threshold-crossed",
            json!({
                "name": name,
                "source": source,
                "crossing": crossing.name(),
                "value": value.to_string(),
                "bound": bound.to_string(),
            }),
        );
        // A handler belongs to an element; a path in data, which begins with a slash, does not.
        let element = source.rsplit_once('.').map(|(element, _)| element);
        if let Some(element) = element.filter(|_| !source.starts_with('/')) {
            event.facts.insert("element".into(), json!([element]));
        }
        event
    }

    /// A device can send and receive, or no longer, for which there is a reason.
    pub fn port(device: &str, down: Option<&str>, elements: &[String], port: Option<String>) -> Event {
        let name = if down.is_some() { "port-down" } else { "port-up" };
        let mut event = Event::new(name, json!({ "device": device }));
        event.facts.extend(down.map(|reason| ("reason".to_string(), reason.into())));
        event.facts.extend(port.map(|port| ("port".to_string(), port.into())));
        event.facts.insert("element".into(), elements.into());
        event
    }

    /// A fact that is a text.
    pub fn text(&self, name: &str) -> &str {
        self.facts.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A fact that is several texts.
    pub fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.facts.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// What is written to the handlers of elements that have subscribed. Of a change, they hear of each step when it is made.
    pub fn line(&self) -> Option<String> {
        match self.event.as_str() {
            "threshold-crossed" => Some(format!(
                "{} {} {} {}",
                self.text("crossing"),
                self.text("name"),
                self.text("source"),
                self.text("value")
            )),
            "port-up" => Some(format!("up {}", self.text("device"))),
            "port-down" => Some(format!("down {} {}", self.text("device"), self.text("reason"))),
            _ => None,
        }
    }

    /// The event for a person: its name, and a few words.
    pub fn sentence(&self) -> String {
        let words = match self.event.as_str() {
            "graph-changed" => {
                let revision = self.facts.get("revision").map(Value::to_string).unwrap_or_default();
                format!("revision {revision}: {}{}", self.text("title"), self.replaced())
            }
            "threshold-crossed" => {
                let (crossing, value, bound) =
                    (self.text("crossing"), self.text("value"), self.text("bound"));
                format!(
                    "{} {crossing}: {} is {value} (bound {bound})",
                    self.text("name"),
                    self.text("source")
                )
            }
            "port-up" | "port-down" => {
                let own = self.text("device").to_string();
                let words = [self.text("reason"), self.text("port")].map(str::to_string);
                let words = std::iter::once(own).chain(words).filter(|word| !word.is_empty());
                words.collect::<Vec<_>>().join(" ")
            }
            "function-changed" => format!("{} {}", self.text("function"), self.text("change")),
            "netconf-config-change" => self.edits(),
            _ => Value::Object(self.facts.clone()).to_string(),
        };
        format!("{}  {words}", self.event)
    }

    /// Which elements have taken the places of others.
    fn replaced(&self) -> String {
        let all = self.facts.get("replaced").and_then(Value::as_array).into_iter().flatten();
        let text = |one: &Value, name| one.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
        let one = |one: &Value| {
            let [old, class, new, new_class] =
                ["element", "class", "new-element", "new-class"].map(|name| text(one, name));
            format!("; {old} ({class}) is replaced by {new} ({new_class})")
        };
        all.map(one).collect()
    }

    /// What a transaction changed, and who made it.
    fn edits(&self) -> String {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_string();
        let edits = self.facts.get("edit").and_then(Value::as_array).into_iter().flatten();
        let edits = edits.map(|edit| format!("{} {}", text(edit.get("operation")), text(edit.get("target"))));
        let who = text(self.facts.get("changed-by").and_then(|who| who.get("username")));
        format!("{} by {who}", edits.collect::<Vec<_>>().join(", "))
    }

    /// The event as variables of a process: `WEIR_EVENT`, `WEIR_TIME`, and the facts that are single values or a few words.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let mut all = vec![
            ("WEIR_EVENT".to_string(), self.event.clone()),
            ("WEIR_TIME".to_string(), self.time.clone()),
        ];
        for (name, fact) in &self.facts {
            let text = match fact {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => fact.to_string(),
                Value::Array(_) if name == "element" => self.texts(name).collect::<Vec<_>>().join(" "),
                _ => continue,
            };
            all.push((format!("WEIR_{}", name.to_ascii_uppercase().replace(['-', ':'], "_")), plain(&text)));
        }
        all
    }
}

/// A text that fits into an environment.
fn plain(text: &str) -> String {
    let mut plain = text.replace('\0', "");
    if plain.len() > MAX_VARIABLE {
        let end = (0..=MAX_VARIABLE).rev().find(|end| plain.is_char_boundary(*end)).unwrap_or(0);
        plain.truncate(end);
    }
    plain
}

/// The time now, as RFC 3339 writes it.
pub fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_the_same_for_elements_programs_and_people() {
        let mut event = Event::threshold_crossed("full", "q.length", Crossing::Rising, 901.0, 900.0);
        event.time = "T".into();
        let json = r#"{"event":"threshold-crossed","time":"T","name":"full","source":"q.length","crossing":"rising","value":"901","bound":"900","element":["q"]}"#;
        assert_eq!(serde_json::to_string(&event).unwrap(), json);
        assert_eq!(serde_json::from_str::<Event>(json).unwrap(), event);
        assert_eq!(event.line().unwrap(), "rising full q.length 901");
        let variables: Vec<String> =
            event.variables().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            variables.join(" "),
            "WEIR_EVENT=threshold-crossed WEIR_TIME=T WEIR_NAME=full WEIR_SOURCE=q.length WEIR_CROSSING=rising \
             WEIR_VALUE=901 WEIR_BOUND=900 WEIR_ELEMENT=q"
        );
        let down = Event::port("e0", Some("gone"), &["in".into(), "out".into()], Some("fw:left".into()));
        assert_eq!(down.line().unwrap(), "down e0 gone");
        assert_eq!(down.sentence(), "port-down  e0 gone fw:left");
        assert_eq!(down.texts("element").collect::<Vec<_>>(), ["in", "out"]);
        let edit = json!([{ "target": "/nat:nat=a", "operation": "create" }, { "target": "/nat:nat=b", "operation": "delete" }]);
        let change = json!({ "changed-by": { "username": "ann" }, "edit": edit });
        assert_eq!(
            Event::new("netconf-config-change", change).sentence(),
            "netconf-config-change  create /nat:nat=a, delete /nat:nat=b by ann"
        );
    }

    #[test]
    fn what_was_replaced_is_told_with_both_configurations() {
        let [element, class, config] = ["q", "Queue", "500"].map(str::to_string);
        let [new_element, new_class, new_config] = ["r", "RED", "5, 50, 0.02"].map(str::to_string);
        let replaced = Replaced { element, class, config, new_element, new_class, new_config };
        let mut event = Event::graph_changed(4, "replace q", &["replace q by r".to_string()], &[replaced]);
        event.time = "T".into();
        let json = r#"{"event":"graph-changed","time":"T","revision":4,"title":"replace q","plan":["replace q by r"],"replaced":[{"element":"q","class":"Queue","config":"500","new-element":"r","new-class":"RED","new-config":"5, 50, 0.02"}]}"#;
        assert_eq!(serde_json::to_string(&event).unwrap(), json);
        assert_eq!(
            event.sentence(),
            "graph-changed  revision 4: replace q; q (Queue) is replaced by r (RED)"
        );
        let plain = Event::graph_changed(5, "rm q", &["rm q".to_string()], &[]);
        assert!(!plain.facts.contains_key("replaced") && plain.sentence().ends_with(": rm q"));
    }

    #[test]
    fn what_an_environment_cannot_hold_is_cut_off() {
        let title = format!("a\0{}", "ä".repeat(5000));
        let event = Event::graph_changed(1, &title, &["rm a".to_string()], &[]);
        let title = event.variables().into_iter().find(|(name, _)| name == "WEIR_TITLE").unwrap().1;
        assert!(title.starts_with("aä") && (MAX_VARIABLE - 1..=MAX_VARIABLE).contains(&title.len()));
        assert!(event.variables().iter().all(|(name, _)| name != "WEIR_PLAN"));
    }
}
