//! Routes as arguments and handlers write them: `ADDR/MASK [GATEWAY] OUTPUT`.

use std::fmt;
use std::net::Ipv4Addr;

use args::{Prefix, Scope};

/// Where packets to some addresses go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The addresses; no host bits are set.
    pub prefix: Prefix,
    /// The gateway, 0.0.0.0 for none.
    pub gateway: Ipv4Addr,
    /// The output; negative in a route to be removed if any output will do.
    pub output: i32,
}

impl Route {
    /// Reads a route; `None` if it is not well-formed.
    pub fn parse(text: &str, scope: &Scope<'_>) -> Option<Route> {
        let (route, output) = split(text, scope)?;
        Some(Route { output: args::integer(output).ok()?, ..route })
    }

    /// Reads a route to be removed: its output, or gateway and output, may be missing.
    pub fn parse_removal(text: &str, scope: &Scope<'_>) -> Option<Route> {
        let (route, output) = split(text, scope)?;
        match output {
            "" => Some(route),
            output => Some(Route { output: args::integer(output).ok()?, ..route }),
        }
    }

    /// Adds the route to a table for people, its columns set apart by tabs.
    pub fn write_row(&self, text: &mut String) {
        let prefix = self.prefix.to_string();
        let gateway = self.gateway_text();
        let tabs = |width: usize, tab_stop: usize| if width + 1 < tab_stop { "\t\t" } else { "\t" };
        *text += &prefix;
        *text += tabs(prefix.len(), 17);
        *text += &gateway;
        *text += tabs(gateway.len(), 9);
        *text += &self.output.to_string();
        text.push('\n');
    }

    fn gateway_text(&self) -> String {
        if self.gateway.is_unspecified() {
            "-".to_string()
        } else {
            self.gateway.to_string()
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.prefix, self.gateway_text(), self.output)
    }
}

/// The route without its output, and the output as written.
fn split<'t>(text: &'t str, scope: &Scope<'_>) -> Option<(Route, &'t str)> {
    let (prefix, rest) = args::next_word(text);
    let prefix = args::prefix_or_address(prefix, scope).ok()?;
    let prefix = Prefix { addr: prefix.network(), mask: prefix.mask };
    let (word, rest) = args::next_word(rest);
    let gateway = match word {
        "-" => Some(Ipv4Addr::UNSPECIFIED),
        word => args::ip(word, scope).ok(),
    };
    let (output, rest) = if gateway.is_some() { args::next_word(rest) } else { (word, rest) };
    let route = Route { prefix, gateway: gateway.unwrap_or(Ipv4Addr::UNSPECIFIED), output: -1 };
    args::next_word(rest).0.is_empty().then_some((route, output))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expect: Option<&str>) {
        let route = Route::parse(text, &Scope::builtin()).map(|route| route.to_string());
        assert_eq!(route.as_deref(), expect, "{text}");
    }

    #[test]
    fn routes_have_a_prefix_a_gateway_and_an_output() {
        check("10.1.2.3/8 192.168.0.1 3", Some("10.0.0.0/8 192.168.0.1 3"));
        check("10/8 - 0x10", Some("10.0.0.0/8 - 16"));
        check("1.2.3.4 7", Some("1.2.3.4/32 - 7"));
        check("0/0 1", Some("0.0.0.0/0 - 1"));
        check("10.1.2.3/255.0.0.255 1", Some("10.0.0.3/255.0.0.255 - 1"));
    }

    #[test]
    fn anything_else_is_no_route() {
        for text in ["", "1", "10/8", "10/8 x", "10/8 - 1 2", "10/8 1.2.3.4", "10/33 1", "10/8 1 1.2.3.4"] {
            check(text, None);
        }
    }

    #[test]
    fn removals_may_lack_an_output() {
        let removal = |text| Route::parse_removal(text, &Scope::builtin()).map(|route| route.to_string());
        assert_eq!(removal("10/8").as_deref(), Some("10.0.0.0/8 - -1"));
        assert_eq!(removal("10/8 1.1.1.1").as_deref(), Some("10.0.0.0/8 1.1.1.1 -1"));
        assert_eq!(removal("10/8 1.1.1.1 2").as_deref(), Some("10.0.0.0/8 1.1.1.1 2"));
        assert_eq!(removal("10/8 1.1.1.1 x"), None);
    }

    proptest! {
        #[test]
        fn no_text_is_harmful(text in "[0-9./ x-]{0,24}|.{0,24}") {
            let scope = Scope::builtin();
            let _ = Route::parse_removal(&text, &scope);
            if let Some(route) = Route::parse(&text, &scope) {
                prop_assert_eq!(Route::parse(&route.to_string(), &scope), Some(route));
            }
        }
    }
}
