//! What follows the question mark (RFC 8040, section 4.8).

use percent_encoding::percent_decode_str;

use super::fields::Fields;
use crate::fault::Fault;

/// Which data is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Configuration and state.
    #[default]
    All,
    /// Configuration.
    Config,
    /// State.
    Nonconfig,
}

/// What becomes of values that are there by default (RFC 6243).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defaults {
    /// Only what was set is told.
    #[default]
    Explicit,
    /// All are told.
    ReportAll,
    /// What has its default value is not told.
    Trim,
}

/// The parameters of a request.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Which data is wanted.
    pub content: Content,
    /// How many levels are wanted.
    pub depth: Option<usize>,
    /// Which nodes are wanted.
    pub fields: Option<Fields>,
    /// What becomes of defaults.
    pub defaults: Defaults,
    /// Where an entry is put.
    pub insert: Option<String>,
    /// Beside which entry.
    pub point: Option<String>,
}

impl Query {
    /// Reads the parameters; `allowed` are those that the method has.
    pub fn parse(text: &str, allowed: &[&str]) -> Result<Query, Fault> {
        let mut query = Query::default();
        let mut known = Vec::new();
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let value = percent_decode_str(value).decode_utf8().map(|value| value.into_owned());
            let value = value.map_err(|_| Fault::malformed("the query is not in UTF-8"))?;
            if !allowed.contains(&name) {
                let allowed = if allowed.is_empty() { "none".to_string() } else { allowed.join(", ") };
                return Err(Fault::invalid(format!(
                    "no parameter `{name}` for this method; there are: {allowed}"
                )));
            }
            if known.contains(&name) {
                return Err(Fault::invalid(format!("parameter `{name}` is given twice")));
            }
            known.push(name);
            query.set(name, value)?;
        }
        Ok(query)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), Fault> {
        let expected = |words: &str| Fault::invalid(format!("`{name}={value}`: expected {words}"));
        match name {
            "content" => {
                self.content = match value.as_str() {
                    "all" => Content::All,
                    "config" => Content::Config,
                    "nonconfig" => Content::Nonconfig,
                    _ => return Err(expected("all, config or nonconfig")),
                }
            }
            "with-defaults" => {
                self.defaults = match value.as_str() {
                    "explicit" => Defaults::Explicit,
                    "report-all" => Defaults::ReportAll,
                    "trim" => Defaults::Trim,
                    _ => return Err(expected("explicit, report-all or trim")),
                }
            }
            "depth" if value == "unbounded" => self.depth = None,
            "depth" => {
                let depth = value.parse().ok().filter(|depth| (1..=65535).contains(depth));
                self.depth = Some(depth.ok_or_else(|| expected("a number from 1 to 65535, or unbounded"))?);
            }
            "fields" => self.fields = Some(Fields::parse(&value)?),
            "insert" if !["first", "last", "before", "after"].contains(&value.as_str()) => {
                return Err(expected("first, last, before or after"));
            }
            "insert" => self.insert = Some(value),
            _ => self.point = Some(value),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plus_is_a_plus() {
        let query = Query::parse("insert=after&point=%2Fnat%3Aports%2Fport%3Da+b%20c", &["insert", "point"]);
        assert_eq!(query.unwrap_or_default().point.as_deref(), Some("/nat:ports/port=a+b c"));
    }
}
