//! The discovery stage (RFC 2516, section 5): requests are answered from what they hold alone, so that no flood of them
//! takes memory.

use md5::{Digest, Md5};
use wire::MacAddress;

/// Kinds of tags (RFC 2516, appendix A).
pub mod tag {
    /// Nothing follows.
    pub const END_OF_LIST: u16 = 0x0000;
    /// A service, by name.
    pub const SERVICE_NAME: u16 = 0x0101;
    /// The concentrator's name.
    pub const AC_NAME: u16 = 0x0102;
    /// What tells a host's requests apart; it comes back as it is.
    pub const HOST_UNIQ: u16 = 0x0103;
    /// What shows that a request comes from where an offer was sent.
    pub const AC_COOKIE: u16 = 0x0104;
    /// What relays put in; it comes back as it is.
    pub const RELAY_SESSION_ID: u16 = 0x0110;
    /// There is no such service.
    pub const SERVICE_NAME_ERROR: u16 = 0x0201;
    /// There is no room for a session.
    pub const AC_SYSTEM_ERROR: u16 = 0x0202;
}

/// Bytes of tags that fit into an Ethernet frame; what is longer is nobody's request.
const MAX_TAGS: usize = 1494;

/// Bytes of a cookie.
pub const COOKIE_LEN: usize = 16;

/// What a PADI or a PADR asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The service's name; empty for any.
    pub service: &'a [u8],
    /// The host's own mark.
    pub host_uniq: Option<&'a [u8]>,
    relay: Option<&'a [u8]>,
    cookie: Option<&'a [u8]>,
}

impl<'a> Request<'a> {
    /// Reads the tags; `None` if they are malformed, or name no service or several.
    pub fn parse(mut tags: &'a [u8]) -> Option<Request<'a>> {
        let (mut service, mut host_uniq, mut relay, mut cookie) = (None, None, None, None);
        if tags.len() > MAX_TAGS {
            return None;
        }
        while !tags.is_empty() {
            let ([k0, k1, l0, l1], rest) = tags.split_first_chunk::<4>()?;
            let kind = u16::from_be_bytes([*k0, *k1]);
            let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([*l0, *l1])))?;
            tags = rest;
            match kind {
                tag::END_OF_LIST => break,
                tag::SERVICE_NAME if service.is_some() => return None,
                tag::SERVICE_NAME => service = Some(value),
                tag::HOST_UNIQ => host_uniq = Some(value),
                tag::RELAY_SESSION_ID => relay = Some(value),
                tag::AC_COOKIE => cookie = Some(value),
                _ => {}
            }
        }
        Some(Request { service: service?, host_uniq, relay, cookie })
    }

    /// The tags that come back with every answer.
    fn echoed(&self) -> Vec<u8> {
        let mut tags = Vec::new();
        for (kind, value) in [(tag::HOST_UNIQ, self.host_uniq), (tag::RELAY_SESSION_ID, self.relay)] {
            if let Some(value) = value {
                put(&mut tags, kind, value);
            }
        }
        tags
    }
}

/// Adds a tag.
pub fn put(tags: &mut Vec<u8>, kind: u16, value: &[u8]) {
    // Values are names from the configuration or come from tags, whose length has as many bits.
    let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
    tags.extend(kind.to_be_bytes());
    tags.extend(len.to_be_bytes());
    tags.extend(value.iter().take(usize::from(len)));
}

/// What the concentrator says of itself.
pub struct Concentrator {
    /// Its name.
    pub name: String,
    /// The services that it has; with none, any name will do.
    pub services: Vec<String>,
    /// The key of its cookies and of all that nobody shall foretell.
    pub secret: Vec<u8>,
}

impl Concentrator {
    /// Whether there is a service of this name.
    pub fn serves(&self, service: &[u8]) -> bool {
        service.is_empty()
            || self.services.is_empty()
            || self.services.iter().any(|name| name.as_bytes() == service)
    }

    /// The tags of an offer.
    pub fn offer(&self, station: MacAddress, request: &Request<'_>) -> Vec<u8> {
        let mut tags = Vec::new();
        put(&mut tags, tag::SERVICE_NAME, request.service);
        for service in self.services.iter().filter(|name| name.as_bytes() != request.service) {
            put(&mut tags, tag::SERVICE_NAME, service.as_bytes());
        }
        put(&mut tags, tag::AC_NAME, self.name.as_bytes());
        put(&mut tags, tag::AC_COOKIE, &self.cookie(station));
        tags.extend(request.echoed());
        tags
    }

    /// The tags of the answer that gives a session.
    pub fn confirmation(&self, request: &Request<'_>) -> Vec<u8> {
        let mut tags = Vec::new();
        put(&mut tags, tag::SERVICE_NAME, request.service);
        put(&mut tags, tag::AC_NAME, self.name.as_bytes());
        tags.extend(request.echoed());
        tags
    }

    /// The tags of the answer that refuses a session.
    pub fn refusal(&self, request: &Request<'_>, error: u16, reason: &str) -> Vec<u8> {
        let mut tags = Vec::new();
        put(&mut tags, tag::SERVICE_NAME, request.service);
        put(&mut tags, error, reason.as_bytes());
        tags.extend(request.echoed());
        tags
    }

    /// Whether a request brings the cookie of its sender.
    pub fn knows(&self, station: MacAddress, request: &Request<'_>) -> bool {
        request.cookie.is_some_and(|cookie| is_equal(cookie, &self.cookie(station)))
    }

    /// A cookie that only this concentrator can make: nothing need be kept until it comes back.
    fn cookie(&self, station: MacAddress) -> [u8; COOKIE_LEN] {
        self.keyed(b"cookie", &station)
    }

    /// Bytes that nobody foretells who does not know the secret.
    pub fn keyed(&self, purpose: &[u8], what: &[u8]) -> [u8; COOKIE_LEN] {
        let inner = Md5::new().chain_update(&self.secret).chain_update(purpose).chain_update(what).finalize();
        Md5::new().chain_update(&self.secret).chain_update(inner).finalize().into()
    }
}

/// Compares in a time that does not depend on where the difference is.
pub fn is_equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn concentrator() -> Concentrator {
        Concentrator {
            name: "ac".into(),
            services: vec!["fast".into(), "slow".into()],
            secret: b"s".to_vec(),
        }
    }

    fn tags(list: &[(u16, &[u8])]) -> Vec<u8> {
        let mut tags = Vec::new();
        list.iter().for_each(|(kind, value)| put(&mut tags, *kind, value));
        tags
    }

    #[test]
    fn an_offer_names_all_services_and_brings_the_hosts_marks_back() {
        let asked =
            tags(&[(tag::SERVICE_NAME, b"slow"), (tag::HOST_UNIQ, b"u"), (tag::RELAY_SESSION_ID, b"r")]);
        let offer = concentrator().offer([2, 0, 0, 0, 0, 9], &Request::parse(&asked).unwrap());
        let cookie = concentrator().cookie([2, 0, 0, 0, 0, 9]);
        let expected = tags(&[
            (tag::SERVICE_NAME, b"slow"),
            (tag::SERVICE_NAME, b"fast"),
            (tag::AC_NAME, b"ac"),
            (tag::AC_COOKIE, &cookie),
            (tag::HOST_UNIQ, b"u"),
            (tag::RELAY_SESSION_ID, b"r"),
        ]);
        assert_eq!(offer, expected);
    }

    #[test]
    fn a_cookie_is_good_for_one_station_and_one_secret() {
        let [mine, other] = [[2, 0, 0, 0, 0, 9], [2, 0, 0, 0, 0, 8]];
        let cookie = concentrator().cookie(mine);
        let asked = tags(&[(tag::SERVICE_NAME, b""), (tag::AC_COOKIE, &cookie)]);
        let request = Request::parse(&asked).unwrap();
        assert!(concentrator().knows(mine, &request) && !concentrator().knows(other, &request));
        let stranger = Concentrator { secret: b"t".to_vec(), ..concentrator() };
        assert!(!stranger.knows(mine, &request));
        assert!(!concentrator().knows(mine, &Request { cookie: None, ..request }));
    }

    #[test]
    fn a_request_names_one_service() {
        assert_eq!(Request::parse(&[]), None);
        assert_eq!(Request::parse(&tags(&[(tag::SERVICE_NAME, b"a"), (tag::SERVICE_NAME, b"b")])), None);
        assert_eq!(Request::parse(&[1, 1, 0, 9, b'a']), None);
        let ended = [&tags(&[(tag::SERVICE_NAME, b"a"), (tag::END_OF_LIST, b"")])[..], b"rest"].concat();
        assert!(Request::parse(&ended).is_some_and(|request| request.service == b"a"));
        assert!(concentrator().serves(b"") && concentrator().serves(b"fast") && !concentrator().serves(b"x"));
    }

    proptest! {
        #[test]
        fn any_tags_are_a_request_or_not(bytes: Vec<u8>) {
            let _ = Request::parse(&bytes);
        }
    }
}
