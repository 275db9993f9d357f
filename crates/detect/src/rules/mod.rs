//! Rules: what they say, and their language.
//!
//! The language is that of Snort 2, with the additions of Suricata that need no parser of application protocols.

pub mod address;
pub mod classes;
pub mod header;
pub mod parse;
pub mod payload;
pub mod ports;
pub mod text;

mod options;
mod parts;
mod patterns;
mod pcre;
mod values;

use address::Addresses;
use header::HeaderTest;
use payload::PayloadTest;
use ports::Ports;

/// What becomes of a packet that a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// No other rule tells of it.
    Pass,
    /// It is dropped, where the detector stands in the way of packets, and told.
    Drop,
    /// It is told.
    Alert,
    /// It is told, as something less than an alert.
    Log,
}

/// The packets that a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// All.
    Ip,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP, for IPv4 and IPv6.
    Icmp,
    /// What DNS travels in.
    TcpOrUdp,
}

/// Addresses and ports on one side of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// Addresses.
    pub addresses: Addresses,
    /// Ports.
    pub ports: Ports,
}

/// What a rule asks of the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowTest {
    /// Whether both sides must have sent something, or must not.
    pub is_established: Option<bool>,
    /// Whether the packet must go to the server, or to the client.
    pub to_server: Option<bool>,
    /// What is searched of TCP.
    pub scope: Scope,
}

/// What a rule searches in TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The stream, and where the rule counts from a beginning, each packet as well.
    #[default]
    Both,
    /// Each packet by itself.
    Packet,
    /// The stream.
    Stream,
}

/// What a rule does with a named bit of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitAction {
    /// Must be set.
    IsSet,
    /// Must not be set.
    IsNotSet,
    /// Is set when the rule matches.
    Set,
    /// Is unset when the rule matches.
    Unset,
    /// Is changed when the rule matches.
    Toggle,
}

/// Whose packets are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// A source's.
    Source,
    /// A destination's.
    Destination,
    /// Those of the rule.
    Rule,
}

/// Which matches in an interval are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThresholdKind {
    /// The first COUNT.
    Limit,
    /// Each COUNTth.
    Threshold,
    /// The COUNTth.
    Both,
    /// Those after COUNT.
    After,
}

/// `threshold` and `detection_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// Which matches are told.
    pub kind: ThresholdKind,
    /// Whose matches are counted together.
    pub track: Track,
    /// The count.
    pub count: u32,
    /// The interval.
    pub seconds: u32,
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What becomes of the packet.
    pub action: Action,
    /// The packets that it is for.
    pub protocol: Protocol,
    /// Left of the arrow.
    pub source: Endpoint,
    /// Right of the arrow.
    pub destination: Endpoint,
    /// Whether the arrow is `<>`.
    pub is_bidirectional: bool,
    /// `msg`.
    pub message: String,
    /// `gid`.
    pub gid: u32,
    /// `sid`.
    pub sid: u32,
    /// `rev`.
    pub rev: u32,
    /// What the rule's class is called.
    pub category: String,
    /// `priority`, or that of the class.
    pub priority: u8,
    /// Tests of header fields.
    pub header: Vec<HeaderTest>,
    /// Tests of the payload, in order.
    pub payload: Vec<PayloadTest>,
    /// `flow`.
    pub flow: FlowTest,
    /// `flowbits`, the bits being numbered by [`RuleSet::bits`].
    pub bits: Vec<(BitAction, u16)>,
    /// Whether a match is not told.
    pub is_silent: bool,
    /// `threshold` or `detection_filter`.
    pub threshold: Option<Threshold>,
}

/// The rules of some texts, in their order.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    /// The rules.
    pub rules: Vec<Rule>,
    /// Names of the flows' bits.
    pub bits: Vec<String>,
}
