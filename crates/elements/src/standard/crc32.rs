//! The checksum of `SetCRC32` and `CheckCRC32`.

use crc::{Crc, Table, CRC_32_MPEG_2};

/// As in Ethernet, but with the high bit of each byte first and the result not inverted.
static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_MPEG_2);

/// Bytes of a checksum.
pub const LEN: usize = 4;

/// The checksum, as it stands behind the bytes: low byte first.
pub fn of(bytes: &[u8]) -> [u8; LEN] {
    CRC32.checksum(bytes).to_le_bytes()
}
