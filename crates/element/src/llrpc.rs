//! LLRPCs: calls by number whose argument and answer are bytes as they lie in memory, little end first.

/// Asks for the rate number `u32`; the answer is a `u32`.
pub const GET_RATE: u32 = 0xC004_C001;
/// Asks for the count number `u32`; the answer is a `u32`.
pub const GET_COUNT: u32 = 0xC004_C003;
/// Asks which way a switch is set: an `i32`.
pub const GET_SWITCH: u32 = 0x4004_C005;
/// Sets a switch to an `i32`.
pub const SET_SWITCH: u32 = 0x8004_4006;
/// Asks what an IPv4 address, in network order, becomes.
pub const MAP_IP_ADDRESS: u32 = 0xC004_4007;
/// Asks what a rewriter makes of a TCP flow: addresses and ports in network order.
pub const MAP_TCP: u32 = 0xC00C_4008;
/// Asks what a rewriter makes of a UDP flow.
pub const MAP_UDP: u32 = 0xC00C_4009;

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LlrpcError {
    /// The element has no such call, or not with such an argument.
    Invalid,
    /// What was asked for is not there now.
    Again,
    /// The element is at work.
    Busy,
}

impl LlrpcError {
    /// The reason in the system's words.
    pub fn reason(self) -> &'static str {
        match self {
            LlrpcError::Invalid => "Invalid argument",
            LlrpcError::Again => "Resource temporarily unavailable",
            LlrpcError::Busy => "Device or resource busy",
        }
    }
}
