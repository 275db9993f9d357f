//! Verdicts: what becomes of a packet that an element has looked at.

/// What becomes of a packet: it leaves by an output, or it is dropped with a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict(pub(crate) u32);

const DROP: u32 = 0x8000_0000;
const PORT: u32 = 0xFFFF;

impl Verdict {
    /// Leaves by output 0.
    pub const PASS: Verdict = Verdict(0);

    /// Leaves by output `port`; if the element has no such output, the packet is dropped for the class's first reason.
    #[inline]
    pub const fn port(port: usize) -> Verdict {
        Verdict(if port < PORT as usize { port as u32 } else { PORT })
    }

    /// Dropped for the reason with this index in the class facts.
    #[inline]
    pub const fn drop(reason: usize) -> Verdict {
        Verdict(DROP | (reason as u32 & 0x7FFF) << 16)
    }

    /// Leaves by output `port` if the element has it, else is dropped for this reason. `port` is not 0.
    #[inline]
    pub const fn port_or_drop(port: usize, reason: usize) -> Verdict {
        Verdict((reason as u32 & 0x7FFF) << 16 | Verdict::port(port).0)
    }

    /// The same for an element with this many outputs, without the alternative that does not apply.
    #[inline]
    pub(crate) fn resolve(self, n_outputs: usize) -> Verdict {
        match self.output() {
            Some(port) if port < n_outputs => Verdict::port(port),
            _ => Verdict::drop(self.reason()),
        }
    }

    /// The output, unless the packet is to be dropped.
    #[inline]
    pub(crate) fn output(self) -> Option<usize> {
        (self.0 & DROP == 0).then_some((self.0 & PORT) as usize)
    }

    /// The reason for the drop.
    #[inline]
    pub(crate) fn reason(self) -> usize {
        (self.0 >> 16 & 0x7FFF) as usize
    }
}
