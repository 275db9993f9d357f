//! Proofs of who a peer is: PAP (RFC 1334) and CHAP with MD5 (RFC 1994).

use md5::{Digest, Md5};

use super::discovery::is_equal;

/// Codes of PAP packets (RFC 1334, section 2.2).
pub mod pap {
    /// Authenticate-Request.
    pub const REQUEST: u8 = 1;
    /// Authenticate-Ack.
    pub const ACK: u8 = 2;
    /// Authenticate-Nak.
    pub const NAK: u8 = 3;
}

/// Codes of CHAP packets (RFC 1994, section 4).
pub mod chap {
    /// Challenge.
    pub const CHALLENGE: u8 = 1;
    /// Response.
    pub const RESPONSE: u8 = 2;
    /// Success.
    pub const SUCCESS: u8 = 3;
    /// Failure.
    pub const FAILURE: u8 = 4;
}

/// Bytes of a challenge.
pub const CHALLENGE_LEN: usize = 16;

/// What a peer says to prove who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It need not.
    None,
    /// A password.
    Password(Vec<u8>),
    /// The hash of a challenge.
    Response {
        /// The challenge's number.
        id: u8,
        /// The challenge.
        challenge: [u8; CHALLENGE_LEN],
        /// The hash.
        value: Vec<u8>,
    },
}

impl Proof {
    /// Whether it was made by somebody who knows the secret.
    pub fn is_of(&self, secret: &[u8]) -> bool {
        match self {
            Proof::None => true,
            Proof::Password(password) => is_equal(password, secret),
            Proof::Response { id, challenge, value } => is_equal(value, &response(*id, secret, challenge)),
        }
    }
}

/// The right response to a challenge (RFC 1994, section 4.1).
pub fn response(id: u8, secret: &[u8], challenge: &[u8]) -> [u8; 16] {
    Md5::new().chain_update([id]).chain_update(secret).chain_update(challenge).finalize().into()
}

/// Name and password of a PAP request.
pub fn parse_password(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = counted(data)?;
    Some((name, counted(rest)?.0))
}

/// Value and name of a CHAP packet.
pub fn parse_response(data: &[u8]) -> Option<(&[u8], &[u8])> {
    counted(data)
}

/// Bytes behind their number, in front of further ones.
pub fn put_counted(value: &[u8], rest: &[u8]) -> Vec<u8> {
    // Values are challenges and messages of this side.
    [&[value.len() as u8], value, rest].concat()
}

fn counted(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = data.split_first()?;
    rest.split_at_checked(usize::from(*len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_response_depends_on_secret_number_and_challenge() {
        let challenge = [7; CHALLENGE_LEN];
        let proof = |id, challenge| Proof::Response {
            id,
            challenge,
            value: response(1, b"secret", &[7; 16]).to_vec(),
        };
        assert!(proof(1, challenge).is_of(b"secret"));
        assert!(!proof(1, challenge).is_of(b"Secret"));
        assert!(!proof(2, challenge).is_of(b"secret"));
        assert!(!proof(1, [8; CHALLENGE_LEN]).is_of(b"secret"));
        assert!(Proof::Password(b"x".to_vec()).is_of(b"x") && !Proof::Password(b"x".to_vec()).is_of(b"xy"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_proof_or_not(data: Vec<u8>, name in prop::collection::vec(any::<u8>(), 0..255)) {
            let _ = (parse_password(&data), parse_response(&data));
            let packet = put_counted(&name, &put_counted(b"word", &data));
            prop_assert_eq!(parse_password(&packet), Some((&name[..], &b"word"[..])));
        }
    }
}
