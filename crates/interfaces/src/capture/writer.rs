//! The writer: packets to a file, standard output or any other stream.

use super::{Encoder, Format, Precision, Timestamp};
use std::io::{self, Write};

/// Bytes that are gathered before they are written.
const BUFFER_LEN: usize = 64 * 1024;

/// Writes a capture, buffered. Call [`Writer::finish`] to learn whether all of it was written.
pub struct Writer<W: Write> {
    encoder: Encoder,
    /// Encoded and not yet written.
    pending: Vec<u8>,
    /// `None` once the writer was finished.
    out: Option<W>,
}

impl<W: Write> Writer<W> {
    /// Writes what `encoder` makes of packets to `out`.
    pub fn new(out: W, encoder: Encoder) -> Self {
        let mut pending = Vec::with_capacity(2 * BUFFER_LEN);
        encoder.header(&mut pending);
        Writer { encoder, pending, out: Some(out) }
    }

    /// Writes a pcap stream; a `snaplen` of `u32::MAX` is no limit.
    pub fn pcap(out: W, link_type: u32, snaplen: u32, precision: Precision) -> Self {
        Writer::new(out, Encoder::new(Format::Pcap, precision, link_type, snaplen))
    }

    /// Writes a pcapng stream; a `snaplen` of `u32::MAX` is no limit.
    pub fn pcapng(out: W, link_type: u32, snaplen: u32, precision: Precision) -> Self {
        Writer::new(out, Encoder::new(Format::Pcapng, precision, link_type, snaplen))
    }

    /// Writes a packet, or none of it: after an error such as `WouldBlock` the same packet may be written again.
    #[inline]
    pub fn write(&mut self, timestamp: Timestamp, wire_len: u32, data: &[u8]) -> io::Result<()> {
        if self.pending.len() >= BUFFER_LEN {
            self.drain()?;
        }
        self.encoder.record(&mut self.pending, timestamp, wire_len, data);
        Ok(())
    }

    /// Cuts further packets at so many bytes; `u32::MAX` is no limit.
    pub fn set_snaplen(&mut self, snaplen: u32) {
        self.encoder.set_snaplen(snaplen);
    }

    /// Writes everything that is buffered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.drain()?;
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }

    /// Writes everything that is buffered and gives the stream back.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        self.out.take().ok_or_else(|| io::Error::other("the writer was finished before"))
    }

    /// How many bytes are buffered.
    pub fn n_pending(&self) -> usize {
        self.pending.len()
    }

    /// The stream; what is buffered was not written to it.
    pub fn get_ref(&self) -> Option<&W> {
        self.out.as_ref()
    }

    /// Hands the buffered bytes to the stream; keeps those that an error leaves over.
    fn drain(&mut self) -> io::Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        let mut n_written = 0;
        let result = loop {
            let rest = self.pending.get(n_written..).unwrap_or_default();
            if rest.is_empty() {
                break Ok(());
            }
            match out.write(rest) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => n_written += n.min(rest.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.pending.drain(..n_written);
        result
    }
}

impl<W: Write> Drop for Writer<W> {
    /// Writes what is buffered, as far as that goes.
    fn drop(&mut self) {
        let _ = self.flush();
    }
}
