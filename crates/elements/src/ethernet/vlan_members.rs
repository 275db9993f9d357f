//! Which VLANs a port of a switch is a member of.

use super::tag::ID_MASK;

/// The VLAN of ports of which nothing is said (IEEE 802.1Q, table 9-2).
const DEFAULT: u16 = 1;
/// The largest number of a VLAN; 4095 is reserved.
const LAST: u16 = ID_MASK - 1;
const WORDS: usize = 64;

const EXPECTED: &str =
    "expected `access VLAN` or `trunk [NATIVE] [ALLOWED VLANS]`, such as `trunk 1 ALLOWED 10 20..29`";

/// The VLANs of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The VLAN whose frames have no tag.
    native: Option<u16>,
    /// All, a bit each.
    members: [u64; WORDS],
}

impl Default for Membership {
    /// An access port of VLAN 1.
    fn default() -> Membership {
        Membership::access(DEFAULT)
    }
}

impl Membership {
    fn access(vlan: u16) -> Membership {
        let mut port = Membership { native: Some(vlan), members: [0; WORDS] };
        port.add(vlan, vlan);
        port
    }

    /// Reads `access VLAN` or `trunk [NATIVE] [ALLOWED VLANS]`.
    pub fn parse(text: &str) -> Result<Membership, String> {
        let mut words = text.split_whitespace().peekable();
        match words.next() {
            Some("access") => {
                let vlan = words.next().map_or(Ok(DEFAULT), number)?;
                words.next().map_or(Ok(Membership::access(vlan)), |_| Err(EXPECTED.to_string()))
            }
            Some("trunk") => {
                let native = words.next_if(|word| *word != "ALLOWED").map(number).transpose()?;
                let mut port = Membership { native, members: [0; WORDS] };
                match (words.next(), words.peek()) {
                    (None, _) => port.add(1, LAST),
                    (Some("ALLOWED"), Some(_)) => {
                        for (first, last) in words.map(range).collect::<Result<Vec<_>, String>>()? {
                            port.add(first, last);
                        }
                    }
                    _ => return Err(EXPECTED.to_string()),
                }
                native.into_iter().for_each(|vlan| port.add(vlan, vlan));
                Ok(port)
            }
            _ => Err(EXPECTED.to_string()),
        }
    }

    fn add(&mut self, first: u16, last: u16) {
        for vlan in first..=last {
            if let Some(word) = self.members.get_mut(usize::from(vlan / 64)) {
                *word |= 1 << (vlan % 64);
            }
        }
    }

    /// Whether the port is a member of a VLAN.
    #[inline(always)]
    pub fn has(&self, vlan: u16) -> bool {
        self.members.get(usize::from(vlan / 64)).is_some_and(|word| word >> (vlan % 64) & 1 == 1)
    }

    /// The VLAN of frames without a tag.
    #[inline(always)]
    pub fn native(&self) -> Option<u16> {
        self.native
    }
}

/// One VLAN, or those from one to another: `20..29`.
fn range(text: &str) -> Result<(u16, u16), String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    match (number(first)?, number(last)?) {
        (first, last) if first <= last => Ok((first, last)),
        (first, last) => Err(format!("`{text}`: the lower VLAN comes first; say {last}..{first}")),
    }
}

fn number(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|vlan| (1..=LAST).contains(vlan));
    number.ok_or_else(|| format!("`{text}`: expected a VLAN from 1 to {LAST}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> (Option<u16>, Vec<u16>) {
        let port = Membership::parse(text).unwrap();
        (port.native(), (0..=ID_MASK).filter(|vlan| port.has(*vlan)).collect())
    }

    #[test]
    fn members_are_those_that_are_named() {
        assert_eq!(Membership::parse("access"), Ok(Membership::default()));
        assert_eq!(members("access 4094"), (Some(4094), vec![4094]));
        assert_eq!(members("trunk 7 ALLOWED 63..65 9 9"), (Some(7), vec![7, 9, 63, 64, 65]));
        assert_eq!(members("trunk ALLOWED 10"), (None, vec![10]));
        assert_eq!(members("trunk"), (None, (1..=4094).collect()));
        assert_eq!(members("trunk 5").0, Some(5));
    }

    #[test]
    fn what_names_no_vlans_is_told() {
        for (text, told) in [
            ("", "expected `access VLAN`"),
            ("hybrid", "expected `access VLAN`"),
            ("access 1 2", "expected `access VLAN`"),
            ("trunk 1 2", "expected `access VLAN`"),
            ("trunk ALLOWED", "expected `access VLAN`"),
            ("access 0", "`0`: expected a VLAN from 1 to 4094"),
            ("trunk 4095", "`4095`: expected a VLAN"),
            ("trunk x", "`x`: expected a VLAN"),
            ("trunk ALLOWED 20..10", "say 10..20"),
            ("trunk ALLOWED 1..4095", "`4095`: expected a VLAN"),
            ("trunk ALLOWED 1..", "``: expected a VLAN"),
        ] {
            let error = Membership::parse(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
