//! A tunnel as it is written.

use std::net::Ipv4Addr;

use args::Scope;

use crate::accounting::Rate;

/// A tunnel as it is written.
pub struct Plan {
    /// Its name.
    pub name: String,
    /// The other side.
    pub remote: Ipv4Addr,
    /// What tells it from others to the same side.
    pub key: Option<u32>,
    /// What is behind it.
    pub prefixes: Vec<args::Prefix>,
    /// Its rates, up and down, if it has its own.
    pub rates: Option<(Rate, Rate)>,
}

impl Plan {
    /// Reads `NAME REMOTE KEY|- PREFIX... [RATE UP [DOWN]]`.
    pub fn parse(text: &str, scope: &Scope<'_>) -> Result<Plan, String> {
        let words = args::split_words(text);
        let [name, remote, key, rest @ ..] = &words[..] else {
            return Err("expected `NAME REMOTE KEY|- PREFIX... [RATE UP [DOWN]]`".to_string());
        };
        let remote = args::ip(remote, scope).map_err(|_| format!("bad address `{remote}`"))?;
        let key = match &key[..] {
            "-" => None,
            key => Some(args::integer(key).map_err(|_| format!("bad key `{key}`"))?),
        };
        let n_prefixes = rest.iter().position(|word| word == "RATE").unwrap_or(rest.len());
        let (prefixes, rates) = rest.split_at(n_prefixes);
        let prefix = |word: &String| {
            let prefix = args::prefix_or_address(word, scope).ok().filter(|prefix| prefix.len().is_some());
            prefix.ok_or_else(|| format!("bad prefix `{word}`"))
        };
        let prefixes = prefixes.iter().map(prefix).collect::<Result<Vec<_>, String>>()?;
        let rates = rates.get(1..).map(Rate::parse_both).transpose()?;
        Ok(Plan { name: args::unquote_text(name), remote, key, prefixes, rates })
    }
}
