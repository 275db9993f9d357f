//! The option negotiation automaton of PPP (RFC 1661, section 4), of one protocol.

use super::frame::Sender;

/// Codes of control packets (RFC 1661, section 5).
pub mod code {
    /// Configure-Request.
    pub const REQUEST: u8 = 1;
    /// Configure-Ack.
    pub const ACK: u8 = 2;
    /// Configure-Nak.
    pub const NAK: u8 = 3;
    /// Configure-Reject.
    pub const REJECT: u8 = 4;
    /// Terminate-Request.
    pub const TERMINATE: u8 = 5;
    /// Terminate-Ack.
    pub const TERMINATE_ACK: u8 = 6;
    /// Code-Reject.
    pub const CODE_REJECT: u8 = 7;
    /// Protocol-Reject.
    pub const PROTOCOL_REJECT: u8 = 8;
    /// Echo-Request.
    pub const ECHO: u8 = 9;
    /// Echo-Reply.
    pub const ECHO_REPLY: u8 = 10;
    /// Discard-Request.
    pub const DISCARD: u8 = 11;
}

/// The restart timer, and how often it may expire: defaults of RFC 1661, section 4.6.
pub const RESTART_NS: i64 = 3_000_000_000;
/// Requests that are sent without an answer.
pub const MAX_CONFIGURE: u8 = 10;
const MAX_TERMINATE: u8 = 2;
const MAX_FAILURE: u8 = 5;

/// What is thought of an option of the peer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// So be it.
    Agree,
    /// Rather this value.
    Suggest(Vec<u8>),
    /// There is no such option here.
    Reject,
}

/// The options of a protocol: what is asked of the peer, and what it may ask.
pub trait Options {
    /// The protocol's number.
    const PROTOCOL: u16;
    /// The options that are asked for.
    fn request(&self) -> Vec<u8>;
    /// What is thought of an option of the peer's.
    fn judge(&self, kind: u8, value: &[u8]) -> Judgement;
    /// Options that the peer must ask for and did not.
    fn lacking(&self, kinds: &[u8]) -> Vec<u8>;
    /// Takes over an option of the peer's that was agreed to.
    fn settle(&mut self, kind: u8, value: &[u8]);
    /// The peer would rather have this value; false: then there can be no agreement.
    fn suggested(&mut self, kind: u8, value: &[u8]) -> bool;
    /// The peer does not know the option; false: then there can be no agreement.
    fn rejected(&mut self, kind: u8) -> bool;
}

/// The automaton's states, those before it begins and after it ended being one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is to be said.
    Closed,
    /// Asked.
    RequestSent,
    /// Asked, and the peer agreed.
    AckReceived,
    /// Asked, and agreed to what the peer asks.
    AckSent,
    /// Both agreed.
    Opened,
    /// Asked to end.
    Closing,
}

/// What came of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing to be told.
    Nothing,
    /// The protocol is open now.
    Up,
    /// The protocol is no longer open.
    Down,
    /// It is over: the peer ended it, does not answer, or there can be no agreement.
    Over,
}

/// A protocol's negotiation with one peer.
pub struct Negotiation<O> {
    /// The options.
    pub options: O,
    /// Where it is.
    pub state: State,
    /// When the restart timer expires.
    pub retry_at: Option<i64>,
    id: u8,
    n_left: u8,
    n_naks: u8,
}

/// An answer to a request.
struct Answer {
    code: u8,
    options: Vec<u8>,
}

impl<O: Options> Negotiation<O> {
    /// One that has not begun.
    pub fn new(options: O) -> Negotiation<O> {
        Negotiation { options, state: State::Closed, retry_at: None, id: 0, n_left: 0, n_naks: 0 }
    }

    /// Whether both sides agreed.
    pub fn is_open(&self) -> bool {
        self.state == State::Opened
    }

    /// Begins.
    pub fn open(&mut self, now: i64, tx: &mut Sender<'_>) {
        (self.state, self.n_naks) = (State::RequestSent, 0);
        self.ask_anew(now, tx);
    }

    /// Forgets all that was said.
    pub fn close(&mut self) {
        (self.state, self.retry_at) = (State::Closed, None);
    }

    /// Asks the peer to end.
    pub fn terminate(&mut self, now: i64, tx: &mut Sender<'_>) {
        (self.state, self.n_left) = (State::Closing, MAX_TERMINATE);
        self.id = self.id.wrapping_add(1);
        self.send_again(now, tx);
    }

    /// The restart timer may have expired.
    pub fn expire(&mut self, now: i64, tx: &mut Sender<'_>) -> Change {
        if self.retry_at.is_none_or(|at| at > now) {
            return Change::Nothing;
        }
        if self.n_left == 0 {
            self.close();
            return Change::Over;
        }
        if self.state == State::AckReceived {
            self.state = State::RequestSent;
        }
        self.send_again(now, tx);
        Change::Nothing
    }

    /// A packet with one of the first six codes has arrived.
    pub fn receive(&mut self, code: u8, id: u8, data: &[u8], now: i64, tx: &mut Sender<'_>) -> Change {
        match (code, self.state) {
            (code::REQUEST | code::TERMINATE, State::Closed) => {
                tx.control(O::PROTOCOL, code::TERMINATE_ACK, id, &[]);
                Change::Nothing
            }
            (code::TERMINATE, _) => {
                tx.control(O::PROTOCOL, code::TERMINATE_ACK, id, &[]);
                self.close();
                Change::Over
            }
            (code::TERMINATE_ACK, State::Closing) => {
                self.close();
                Change::Over
            }
            (_, State::Closed | State::Closing) => Change::Nothing,
            (code::REQUEST, _) => self.asked(id, data, now, tx),
            (code::ACK, _) if id == self.id && data == self.options.request() => self.agreed(now, tx),
            (code::NAK | code::REJECT, _) if id == self.id => self.refused(code, data, now, tx),
            (code::TERMINATE_ACK, State::Opened) => {
                self.state = State::RequestSent;
                self.ask_anew(now, tx);
                Change::Down
            }
            _ => Change::Nothing,
        }
    }

    /// The peer asks for options.
    fn asked(&mut self, id: u8, data: &[u8], now: i64, tx: &mut Sender<'_>) -> Change {
        let Some(answer) = self.answer(data) else { return Change::Nothing };
        let Ok(answer) = answer else {
            self.terminate(now, tx);
            return Change::Over;
        };
        let was_open = self.is_open();
        if was_open {
            self.state = State::RequestSent;
            self.ask_anew(now, tx);
        }
        tx.control(O::PROTOCOL, answer.code, id, &answer.options);
        self.state = match (self.state, answer.code == code::ACK) {
            (State::RequestSent, true) => State::AckSent,
            (State::AckSent, false) => State::RequestSent,
            (State::AckReceived, true) => State::Opened,
            (state, _) => state,
        };
        if was_open {
            return Change::Down;
        }
        self.check_open()
    }

    /// The answer to a request: `None` if the request is malformed, an error if there can be no agreement.
    fn answer(&mut self, data: &[u8]) -> Option<Result<Answer, ()>> {
        let (mut kinds, mut naks, mut rejects) = (Vec::new(), Vec::new(), Vec::new());
        let may_nak = self.n_naks < MAX_FAILURE;
        for option in OptionList(data) {
            let (kind, value, whole) = option?;
            kinds.push(kind);
            match self.options.judge(kind, value) {
                Judgement::Agree => {}
                Judgement::Suggest(value) if may_nak => put(&mut naks, kind, &value),
                Judgement::Suggest(_) | Judgement::Reject => rejects.extend(whole),
            }
        }
        if !rejects.is_empty() {
            return Some(Ok(Answer { code: code::REJECT, options: rejects }));
        }
        let lacking = self.options.lacking(&kinds);
        if !lacking.is_empty() && !may_nak {
            return Some(Err(()));
        }
        naks.extend(lacking);
        if !naks.is_empty() {
            self.n_naks += 1;
            return Some(Ok(Answer { code: code::NAK, options: naks }));
        }
        self.n_naks = 0;
        for (kind, value, _) in OptionList(data).flatten() {
            self.options.settle(kind, value);
        }
        Some(Ok(Answer { code: code::ACK, options: data.to_vec() }))
    }

    /// The peer agrees.
    fn agreed(&mut self, now: i64, tx: &mut Sender<'_>) -> Change {
        let was_open = self.is_open();
        match self.state {
            State::RequestSent => self.state = State::AckReceived,
            State::AckSent => self.state = State::Opened,
            // Two answers to one request: something went wrong.
            _ => {
                self.state = State::RequestSent;
                self.ask_anew(now, tx);
            }
        }
        if was_open {
            return Change::Down;
        }
        self.n_left = MAX_CONFIGURE;
        self.check_open()
    }

    /// The peer does not agree.
    fn refused(&mut self, code: u8, data: &[u8], now: i64, tx: &mut Sender<'_>) -> Change {
        for (kind, value, _) in OptionList(data).flatten() {
            let goes_on = match code {
                code::NAK => self.options.suggested(kind, value),
                _ => self.options.rejected(kind),
            };
            if !goes_on {
                self.terminate(now, tx);
                return Change::Over;
            }
        }
        let was_open = self.is_open();
        if matches!(self.state, State::AckReceived | State::Opened) {
            self.state = State::RequestSent;
        }
        self.ask_anew(now, tx);
        if was_open {
            Change::Down
        } else {
            Change::Nothing
        }
    }

    fn check_open(&mut self) -> Change {
        if self.is_open() {
            self.retry_at = None;
            return Change::Up;
        }
        Change::Nothing
    }

    /// Sends a request with a new number.
    fn ask_anew(&mut self, now: i64, tx: &mut Sender<'_>) {
        (self.id, self.n_left) = (self.id.wrapping_add(1), MAX_CONFIGURE);
        self.send_again(now, tx);
    }

    /// Sends what is to be answered, once more or for the first time.
    fn send_again(&mut self, now: i64, tx: &mut Sender<'_>) {
        self.n_left = self.n_left.saturating_sub(1);
        self.retry_at = Some(now + RESTART_NS);
        match self.state {
            State::Closing => tx.control(O::PROTOCOL, code::TERMINATE, self.id, &[]),
            _ => tx.control(O::PROTOCOL, code::REQUEST, self.id, &self.options.request()),
        }
    }
}

/// Adds an option.
pub fn put(list: &mut Vec<u8>, kind: u8, value: &[u8]) {
    // Values are of a few bytes.
    list.extend([kind, value.len() as u8 + 2]);
    list.extend(value);
}

/// The options of a packet: kind, value and all of it; `None` in place of one that is malformed, which is the last.
struct OptionList<'a>(&'a [u8]);

impl<'a> Iterator for OptionList<'a> {
    type Item = Option<(u8, &'a [u8], &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let list = std::mem::take(&mut self.0);
        let [kind, len, ..] = list else { return Some(None) };
        let Some((whole, rest)) = list.split_at_checked(usize::from(*len)) else { return Some(None) };
        let Some(value) = whole.get(2..) else { return Some(None) };
        self.0 = rest;
        Some(Some((*kind, value, whole)))
    }
}
