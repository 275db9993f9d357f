//! Numbers in network byte order at offsets that may lie outside the bytes.

/// The number at an offset, if it lies within the bytes.
#[inline(always)]
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|word| u16::from_be_bytes(*word))
}

/// The number at an offset, if it lies within the bytes.
#[inline(always)]
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

/// Writes a number, if it lies within the bytes.
#[inline(always)]
pub fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(word) = bytes.get_mut(at..).and_then(|tail| tail.first_chunk_mut()) {
        *word = value.to_be_bytes();
    }
}

/// Writes a number, if it lies within the bytes.
#[inline(always)]
pub fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(word) = bytes.get_mut(at..).and_then(|tail| tail.first_chunk_mut()) {
        *word = value.to_be_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_do_not_lie_within_the_bytes_are_neither_read_nor_written() {
        let mut bytes = [1, 2, 3, 4, 5];
        assert_eq!(
            [0, 3, 4, 5, usize::MAX].map(|at| u16_at(&bytes, at)),
            [Some(0x0102), Some(0x0405), None, None, None]
        );
        assert_eq!(
            [0, 1, 2, usize::MAX].map(|at| u32_at(&bytes, at)),
            [Some(0x0102_0304), Some(0x0203_0405), None, None]
        );
        for at in [4, 5, usize::MAX] {
            put_u16(&mut bytes, at, 0xffff);
        }
        for at in [2, 5, usize::MAX] {
            put_u32(&mut bytes, at, 0xffff_ffff);
        }
        assert_eq!(bytes, [1, 2, 3, 4, 5]);
        put_u32(&mut bytes, 1, 0x0a0b_0c0d);
        put_u16(&mut bytes, 3, 0x0e0f);
        assert_eq!(bytes, [1, 10, 11, 14, 15]);
    }
}
