//! What a NAT sees of a TCP connection (RFC 6146, section 3.5.2, and RFC 7857, section 2).

use wire::tcp_flag::{FIN, RST, SYN};

/// Which way a segment goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the subscriber.
    Out,
    /// To the subscriber.
    In,
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A SYN was seen one way.
    Opening(Way),
    /// SYN was seen both ways.
    Established,
    /// A FIN was seen one way.
    Closing(Way),
    /// FIN was seen both ways.
    Closed,
    /// A RST was seen.
    Reset,
}

/// What a segment means for the time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// It stays what it is.
    Keep,
    /// It begins anew, of transitory length.
    Transitory,
    /// It begins anew, of established length.
    Established,
}

impl State {
    /// The state after a segment, and what becomes of the time-out.
    #[inline]
    pub fn next(self, way: Way, flags: u8) -> (State, Lease) {
        if flags & RST != 0 {
            return match self {
                // The connection lives on for a while, in case the RST was forged (RFC 7857, section 2.2).
                State::Established | State::Closing(_) => (State::Reset, Lease::Transitory),
                _ => (self, Lease::Keep),
            };
        }
        let is_syn = flags & SYN != 0;
        match self {
            State::Opening(first) if is_syn && first != way => (State::Established, Lease::Established),
            State::Opening(_) if is_syn => (self, Lease::Transitory),
            State::Opening(_) => (self, Lease::Keep),
            State::Closed | State::Reset if is_syn => (State::Opening(way), Lease::Transitory),
            State::Closed => (State::Closed, Lease::Keep),
            State::Reset => (State::Established, Lease::Established),
            State::Closing(first) if flags & FIN != 0 && first != way => (State::Closed, Lease::Transitory),
            State::Established if flags & FIN != 0 => (State::Closing(way), Lease::Established),
            State::Established | State::Closing(_) => (self, Lease::Established),
        }
    }

    /// Its name in lists.
    pub fn name(self) -> &'static str {
        match self {
            State::Opening(Way::Out) => "opening-out",
            State::Opening(Way::In) => "opening-in",
            State::Established => "established",
            State::Closing(_) => "closing",
            State::Closed => "closed",
            State::Reset => "reset",
        }
    }
}

/// Whether a segment may begin a session.
#[inline]
pub fn begins(flags: u8) -> bool {
    flags & (SYN | RST | FIN) == SYN
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::tcp_flag::ACK;
    use Way::{In, Out};

    fn run(segments: &[(Way, u8)]) -> Vec<(State, Lease)> {
        let mut state = State::Opening(Out);
        let step = |&(way, flags): &(Way, u8)| {
            let (next, lease) = state.next(way, flags);
            state = next;
            (next, lease)
        };
        segments.iter().map(step).collect()
    }

    #[test]
    fn a_connection_opens_and_closes() {
        assert_eq!(
            run(&[
                (In, SYN | ACK),
                (Out, ACK),
                (Out, FIN | ACK),
                (In, ACK),
                (In, FIN | ACK),
                (Out, ACK),
                (Out, SYN)
            ]),
            [
                (State::Established, Lease::Established),
                (State::Established, Lease::Established),
                (State::Closing(Out), Lease::Established),
                (State::Closing(Out), Lease::Established),
                (State::Closed, Lease::Transitory),
                (State::Closed, Lease::Keep),
                (State::Opening(Out), Lease::Transitory),
            ]
        );
    }

    #[test]
    fn a_connection_survives_a_forged_reset() {
        assert_eq!(
            run(&[(In, RST), (In, SYN), (In, RST), (In, RST), (Out, ACK), (Out, RST)]),
            [
                (State::Opening(Out), Lease::Keep),
                (State::Established, Lease::Established),
                (State::Reset, Lease::Transitory),
                (State::Reset, Lease::Keep),
                (State::Established, Lease::Established),
                (State::Reset, Lease::Transitory),
            ]
        );
    }
}
