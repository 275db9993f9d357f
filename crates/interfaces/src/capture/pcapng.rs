//! The pcapng format: blocks in sections, each with its own byte order and interfaces.

use super::pcapng_interface::Interface;
use super::{pcap, ByteOrder, CaptureError, Found, Rule, Step, Timestamp};

/// Block type of a section header; it reads the same in both byte orders.
pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
/// Block type of an interface description.
pub(super) const INTERFACE: u32 = 1;
/// Block type of a packet in the form that old writers use.
const OLD_PACKET: u32 = 2;
/// Block type of a packet without timestamp.
const SIMPLE_PACKET: u32 = 3;
/// Block type of a packet.
pub(super) const ENHANCED_PACKET: u32 = 6;

/// The number in a section header that tells its byte order.
pub(super) const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Type and length before a block's body.
const BLOCK_HEAD: usize = 8;
/// The length once more, behind it.
const BLOCK_TAIL: usize = 4;
/// Blocks that must be held whole: libpcap's limit for packets and their options.
const MAX_BLOCK_LEN: u32 = 1024 * 1024;
/// Interfaces that a section may have.
const MAX_INTERFACES: usize = 65_536;

/// Where in a pcapng stream its reader stands.
#[derive(Debug)]
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// The length that must stand next, behind a block that was skipped.
    tail: Option<u32>,
}

/// A block at the start of the window.
struct Block<'a> {
    kind: u32,
    len: u32,
    window: &'a [u8],
    offset: u64,
}

/// The fields of a packet block.
struct Packet {
    interface: u32,
    units: u64,
    captured: u32,
    wire_len: u32,
    data_at: usize,
}

impl Pcapng {
    pub(super) fn new() -> Self {
        Pcapng { order: ByteOrder::Little, interfaces: Vec::new(), tail: None }
    }

    /// Whether `window` starts with a section header.
    pub(super) fn starts(window: &[u8]) -> bool {
        ByteOrder::Little.u32(window, 0) == SECTION_HEADER
    }

    /// Whether a block was begun whose end was not read yet.
    pub(super) fn is_within_block(&self) -> bool {
        self.tail.is_some()
    }

    /// The first interface of the section, once its description was read.
    pub(super) fn first_interface(&self) -> Option<&Interface> {
        self.interfaces.first()
    }

    /// Reads the block at the start of `window`.
    pub(super) fn step(&mut self, window: &[u8], offset: u64, max_len: u32) -> Result<Step, CaptureError> {
        if let Some(len) = self.tail {
            if window.len() < BLOCK_TAIL {
                return Ok(Step::Need(BLOCK_TAIL));
            }
            require(self.order.u32(window, 0), "trailing block length", Rule::Equal(len.into()), offset)?;
            self.tail = None;
            return Ok(Step::Skip(BLOCK_TAIL as u64));
        }
        if window.len() < BLOCK_HEAD + 4 {
            return Ok(Step::Need(BLOCK_HEAD + 4));
        }
        if Pcapng::starts(window) {
            return self.section(window, offset);
        }
        let block = Block { kind: self.order.u32(window, 0), len: self.order.u32(window, 4), window, offset };
        match block.kind {
            INTERFACE => self.interface(&block),
            OLD_PACKET | SIMPLE_PACKET | ENHANCED_PACKET => self.packet(&block, max_len),
            // A capture in the other format follows.
            kind if pcap::is_magic(kind) => Ok(Step::Restart),
            _ => {
                block.check_len(BLOCK_HEAD + BLOCK_TAIL)?;
                self.tail = Some(block.len);
                Ok(Step::Skip(u64::from(block.len) - BLOCK_TAIL as u64))
            }
        }
    }

    /// Begins a section: a new byte order, and no interfaces yet.
    fn section(&mut self, window: &[u8], offset: u64) -> Result<Step, CaptureError> {
        let order = match (ByteOrder::Little.u32(window, 8), ByteOrder::Big.u32(window, 8)) {
            (BYTE_ORDER_MAGIC, _) => ByteOrder::Little,
            (_, BYTE_ORDER_MAGIC) => ByteOrder::Big,
            (value, _) => {
                let rule = Rule::Equal(BYTE_ORDER_MAGIC.into());
                return Err(CaptureError::Corrupt {
                    offset,
                    what: "byte-order magic",
                    value: value.into(),
                    rule,
                });
            }
        };
        let block = Block { kind: SECTION_HEADER, len: order.u32(window, 4), window, offset };
        block.check_len(BLOCK_HEAD + 16 + BLOCK_TAIL)?;
        if window.len() < BLOCK_HEAD + 8 {
            return Ok(Step::Need(BLOCK_HEAD + 8));
        }
        let (major, minor) = (order.u16(window, 12), order.u16(window, 14));
        // Minor version 2 was written by mistake and means 0.
        if major != 1 || !matches!(minor, 0 | 2) {
            return Err(CaptureError::Version { offset: offset.saturating_add(12), major, minor });
        }
        self.order = order;
        self.interfaces.clear();
        self.tail = Some(block.len);
        Ok(Step::Skip(u64::from(block.len) - BLOCK_TAIL as u64))
    }

    fn interface(&mut self, block: &Block) -> Result<Step, CaptureError> {
        let Some(body) = block.body(BLOCK_HEAD + 8 + BLOCK_TAIL, self.order)? else {
            return Ok(Step::Need(block.len as usize));
        };
        let n_interfaces = self.interfaces.len() as u32;
        require(n_interfaces, "number of interfaces", Rule::Below(MAX_INTERFACES as u64), block.offset)?;
        self.interfaces.push(Interface::from_body(self.order, body, block.offset)?);
        Ok(Step::Skip(block.len.into()))
    }

    #[inline]
    fn packet(&self, block: &Block, max_len: u32) -> Result<Step, CaptureError> {
        let data_at = if block.kind == SIMPLE_PACKET { BLOCK_HEAD + 4 } else { BLOCK_HEAD + 20 };
        if block.body(data_at + BLOCK_TAIL, self.order)?.is_none() {
            return Ok(Step::Need(block.len as usize));
        }
        let room = block.len - (data_at + BLOCK_TAIL) as u32;
        let packet = self.packet_fields(block, data_at, room);
        let Some(interface) = self.interfaces.get(packet.interface as usize) else {
            let rule = Rule::Below(self.interfaces.len() as u64);
            let value = packet.interface.into();
            return Err(CaptureError::Corrupt { offset: block.offset, what: "interface", value, rule });
        };
        let limit = Rule::AtMost(room.min(max_len).into());
        require(packet.captured, "captured length", limit, block.offset)?;
        let timestamp = if block.kind == SIMPLE_PACKET {
            Timestamp::default()
        } else {
            interface.timestamp(packet.units)
        };
        Ok(Step::Record(Found {
            timestamp,
            wire_len: packet.wire_len.max(packet.captured),
            interface: packet.interface,
            link_type: interface.link_type,
            data_at: packet.data_at,
            data_len: packet.captured as usize,
            len: block.len as usize,
        }))
    }

    #[inline]
    fn packet_fields(&self, block: &Block, data_at: usize, room: u32) -> Packet {
        let number = |at| self.order.u32(block.window, at);
        if block.kind == SIMPLE_PACKET {
            let wire_len = number(8);
            let snaplen =
                self.interfaces.first().map(|i| i.snaplen).filter(|len| *len != 0).unwrap_or(u32::MAX);
            let captured = wire_len.min(snaplen).min(room);
            return Packet { interface: 0, units: 0, captured, wire_len, data_at };
        }
        let interface =
            if block.kind == OLD_PACKET { self.order.u16(block.window, 8).into() } else { number(8) };
        let units = u64::from(number(12)) << 32 | u64::from(number(16));
        Packet { interface, units, captured: number(20), wire_len: number(24), data_at }
    }
}

impl<'a> Block<'a> {
    fn check_len(&self, min: usize) -> Result<(), CaptureError> {
        require(self.len, "block length", Rule::AtLeast(min as u64), self.offset)?;
        require(self.len, "block length", Rule::MultipleOf(4), self.offset)
    }

    /// The bytes between the block's two lengths, or `None` if they are not all there yet.
    fn body(&self, min: usize, order: ByteOrder) -> Result<Option<&'a [u8]>, CaptureError> {
        self.check_len(min)?;
        require(self.len, "block length", Rule::AtMost(MAX_BLOCK_LEN.into()), self.offset)?;
        let tail_at = self.len as usize - BLOCK_TAIL;
        if self.window.len() < self.len as usize {
            return Ok(None);
        }
        let tail = order.u32(self.window, tail_at);
        require(tail, "trailing block length", Rule::Equal(self.len.into()), self.offset)?;
        Ok(self.window.get(BLOCK_HEAD..tail_at))
    }
}

#[inline]
fn require(value: u32, what: &'static str, rule: Rule, offset: u64) -> Result<(), CaptureError> {
    let value = u64::from(value);
    let holds = match rule {
        Rule::AtMost(limit) => value <= limit,
        Rule::AtLeast(limit) => value >= limit,
        Rule::Below(limit) => value < limit,
        Rule::Equal(expected) => value == expected,
        Rule::MultipleOf(unit) => value % unit == 0,
    };
    if holds {
        Ok(())
    } else {
        Err(CaptureError::Corrupt { offset, what, value, rule })
    }
}
