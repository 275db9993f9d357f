//! The schedule: tickets that elements get by their names.

use element::Runtime;

use crate::world::World;
use crate::{DEFAULT_TICKETS, MAX_TICKETS};

/// Tickets by name, as defined in compound elements.
#[derive(Debug, Default)]
pub struct Schedule {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    /// The compound it was defined in: a name that ends with a slash, or nothing.
    context: String,
    name: String,
    tickets: u32,
}

impl Schedule {
    /// Defines the tickets of what is called `name` in a compound; a later definition replaces an earlier one.
    pub fn define(&mut self, context: String, name: &str, tickets: u32) {
        self.entries.retain(|entry| entry.context != context || entry.name != name);
        self.entries.push(Entry { context, name: name.to_string(), tickets });
    }

    /// The tickets of an element, if anything was defined: its own, times those of each compound that it is in. Where
    /// several compounds give one of these a value, that of the outermost counts.
    pub fn tickets(&self, element: &str) -> Option<u32> {
        if self.entries.is_empty() {
            return None;
        }
        let mut prefixes = vec![""];
        prefixes.extend(element.match_indices('/').filter_map(|(at, _)| element.get(..=at)));
        let contexts = prefixes.clone();
        prefixes.push(element);
        let mut tickets = vec![DEFAULT_TICKETS; prefixes.len()];
        for context in contexts.iter().rev() {
            let mut is_found = false;
            for (prefix, tickets) in prefixes.iter().zip(&mut tickets).rev() {
                let Some(name) = prefix.strip_prefix(context) else { break };
                let entry = self.entries.iter().find(|entry| entry.context == *context && entry.name == name);
                match entry {
                    Some(entry) => {
                        *tickets = entry.tickets;
                        is_found = true;
                    }
                    None if is_found => *tickets = DEFAULT_TICKETS,
                    None => {}
                }
            }
        }
        let product = |all: u32, one: &u32| {
            let scaled = u64::from(all).saturating_mul(u64::from(*one)) / u64::from(DEFAULT_TICKETS);
            u32::try_from(scaled).unwrap_or(u32::MAX)
        };
        Some(tickets.iter().fold(DEFAULT_TICKETS, product))
    }
}

impl World {
    /// Warns of an element that was given more tickets than there can be, and gives it as many as there can be.
    pub(crate) fn warn_of_tickets(&mut self, element: usize) {
        let Some(Some(tickets)) = self.tickets.get_mut(element) else { return };
        if *tickets > MAX_TICKETS {
            *tickets = MAX_TICKETS;
            let most = f64::from(MAX_TICKETS) / f64::from(DEFAULT_TICKETS);
            self.tell(&format!("warning: ScheduleInfo too high; reduced to {most}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_multiply_along_the_name() {
        let mut schedule = Schedule::default();
        assert_eq!(schedule.tickets("a"), None);
        schedule.define(String::new(), "a", 2048);
        schedule.define("c/".to_string(), "a", 512);
        assert_eq!(schedule.tickets("a"), Some(2048));
        assert_eq!(schedule.tickets("b"), Some(1024));
        assert_eq!(schedule.tickets("c/a"), Some(512));
        schedule.define(String::new(), "c/", 3072);
        assert_eq!(schedule.tickets("c/b"), Some(3072));
        schedule.define(String::new(), "c/a", 4096);
        assert_eq!(schedule.tickets("c/a"), Some(12288));
    }
}
