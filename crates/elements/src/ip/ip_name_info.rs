//! Stands for the names of protocols, ports and ICMP types that are known without being defined.
//!
//! The names are there whether a graph has this element or not: IP protocols such as `tcp`, TCP and UDP ports such as `domain`,
//! and types and codes of ICMP such as `echo`. `/etc/protocols` and `/etc/services` add theirs.
//!
//! ```click
//! IPNameInfo; Idle -> UDPIPEncap(1.0.0.1, domain, 2.0.0.2, ntp) -> Discard;
//! ```

use element::{Class, Configure, Element, Failed};

/// The class.
pub const CLASS: Class = Class::new::<IPNameInfo>("IPNameInfo", "0/0", "a/a", "x/x");

/// See the page above.
pub struct IPNameInfo;

impl Element for IPNameInfo {
    fn configure(conf: &mut Configure<'_>) -> Result<IPNameInfo, Failed> {
        conf.finish()?;
        Ok(IPNameInfo)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn arguments_are_superfluous() {
        check(
            "IPNameInfo; IPNameInfo(tcp 6)",
            expect![[r#"
            config:1: While configuring 'IPNameInfo@2 :: IPNameInfo':
              tcp: unknown argument
            Router could not be initialized!
        "#]],
        );
    }
}
