//! Gives names to TCP and UDP ports.
//!
//! Each argument is a name, a port number and perhaps further names, as in `/etc/services`: `/tcp`, `/udp` or another protocol
//! behind the number says whose port it is, else it is that of both TCP and UDP. What follows a `#` is ignored.
//!
//! Names are seen in the compound element they are defined in and inside of it.
//!
//! ```click
//! PortInfo(game 9999/udp, web 80 www);
//! Idle -> UDPIPEncap(1.0.0.1, game, 2.0.0.2, game) -> Discard;
//! ```

use args::{NameKind, Scope};
use element::{Arg, Class, Configure, Element, Failed, Phase};
use wire::protocol;

/// The class.
pub const CLASS: Class = Class::new::<PortInfo>("PortInfo", "0/0", "a/a", "x/x").args(ARGS).phase(Phase(0));

const ARGS: &[Arg] =
    &[Arg::rest("NAME PORT[/PROTO] [NAME...]", "names and port", "A name and what it stands for.")];

/// See the page above.
pub struct PortInfo;

impl Element for PortInfo {
    fn configure(conf: &mut Configure<'_>) -> Result<PortInfo, Failed> {
        for argument in conf.args.rest() {
            if define(conf.scope, &argument).is_none() {
                conf.error("expected 'NAME PORT/PROTO'");
            }
        }
        conf.finish()?;
        Ok(PortInfo)
    }
}

/// Defines the names of an argument; `None` if it has no port.
fn define(scope: &Scope<'_>, argument: &str) -> Option<()> {
    let words = args::split_words(argument);
    let words: Vec<&str> =
        words.iter().map(String::as_str).take_while(|word| !word.starts_with('#')).collect();
    let Some((first, rest)) = words.split_first() else { return Some(()) };
    let (port, names) = rest.split_first()?;
    let (port, protocol) = match port.split_once('/') {
        Some((port, protocol)) => (port, Some(protocol)),
        None => (*port, None),
    };
    // As in Click, a number is cut off where it is too large, and may be missing in front of a protocol.
    let port: u32 = match (port, protocol) {
        ("", Some(_)) => 0,
        _ => args::saturating_integer(port).ok()?,
    };
    let protocols = match protocol {
        None => vec![protocol::TCP, protocol::UDP],
        Some("tcp") => vec![protocol::TCP],
        Some("udp") => vec![protocol::UDP],
        // As in Click, what is of an unknown protocol is passed over.
        Some(name) => {
            let number = scope.integer_or_number(NameKind::Protocol, name);
            number.and_then(|number| u8::try_from(number).ok()).into_iter().collect()
        }
    };
    for name in std::iter::once(first).chain(names) {
        for protocol in &protocols {
            scope.define(NameKind::Port(*protocol), name, port);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn ports_have_names() {
        check_reading(
            "PortInfo(game 9999/udp # a game, , # nothing, web 88 www, odd 7/nosuch, none /, much 4294967296);
             Idle -> u :: UDPIPEncap(1.0.0.1, game, 2.0.0.2, www) -> Discard;
             Script(write u.sport web, write u.dport odd, return)",
            &["u.sport", "u.dport"],
            expect![[r#"
                While executing 'Script@5 :: Script':
                  While calling 'u.dport odd':
                    DPORT: parse error
                u.sport: 88
                u.dport: 88
            "#]],
        );
    }

    #[test]
    fn what_is_no_port_is_told() {
        check(
            "PortInfo(a, b c, d 5x, e 5)",
            expect![[r#"
            config:1: While configuring 'PortInfo@1 :: PortInfo':
              expected 'NAME PORT/PROTO'
              expected 'NAME PORT/PROTO'
              expected 'NAME PORT/PROTO'
            Router could not be initialized!
        "#]],
        );
    }
}
