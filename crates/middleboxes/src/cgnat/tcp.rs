//! What a NAT sees of a TCP connection (RFC 6146, section 3.5.2, and RFC 7857, section 2).

use wire::tcp_flag::{ACK, FIN, RST, SYN};

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
    /// The subscriber has sent a SYN: its own (`Out`), or the answer to one from outside (`In`).
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
    /// The state that a subscriber's SYN begins.
    pub fn opened_by(flags: u8) -> State {
        State::Opening(if flags & ACK == 0 { Way::Out } else { Way::In })
    }

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
        match (self, way) {
            (State::Opening(Way::Out), Way::In) if is_syn => return (State::Established, Lease::Established),
            (State::Opening(Way::In), Way::In) if flags & ACK != 0 => {
                return State::Established.next(way, flags)
            }
            (State::Opening(_) | State::Closed | State::Reset, Way::Out) if is_syn => {
                return (State::opened_by(flags), Lease::Transitory)
            }
            _ => {}
        }
        match self {
            State::Opening(_) | State::Closed => (self, Lease::Keep),
            // Nobody outside opens a connection again: the subscriber may, by its answer.
            State::Reset if is_syn => (self, Lease::Keep),
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

/// Whether a segment may begin a connection.
#[inline]
pub fn begins(flags: u8) -> bool {
    flags & (SYN | RST | FIN) == SYN
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn a_connection_from_outside_opens_when_the_subscriber_has_answered() {
        let run = |segments: &[(Way, u8)]| {
            let mut state = State::opened_by(SYN | ACK);
            segments.iter().for_each(|&(way, flags)| state = state.next(way, flags).0);
            state
        };
        assert_eq!(run(&[]), State::Opening(In));
        assert_eq!(run(&[(In, SYN), (In, RST), (Out, SYN | ACK)]), State::Opening(In));
        assert_eq!(run(&[(In, ACK)]), State::Established);
        assert_eq!(run(&[(In, FIN | ACK)]), State::Closing(In));
        // Both sides begin at once: each answers the other's SYN.
        assert_eq!(run(&[(In, SYN | ACK)]), State::Established);
        let closed = [(In, ACK), (In, FIN | ACK), (Out, FIN | ACK)];
        assert_eq!(run(&[&closed[..], &[(In, SYN)]].concat()), State::Closed);
        assert_eq!(run(&[&closed[..], &[(In, SYN), (Out, SYN | ACK)]].concat()), State::Opening(In));
        assert_eq!(run(&[(In, ACK), (In, RST), (In, SYN)]), State::Reset);
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
