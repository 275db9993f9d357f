//! Random numbers in a range.

use element::Ctx;

/// A random number up to and including `top`.
pub fn up_to(ctx: &mut Ctx<'_>, top: u32) -> u32 {
    let random = u64::from(ctx.random() & 0x7fff_ffff);
    let n = u64::from(top) + 1;
    if n > 1 << 31 {
        return ((random << 1 | u64::from(ctx.random() & 1)) % n) as u32;
    }
    // As Click: the range of random numbers is cut in equal parts.
    let part = (1 << 31) / n;
    let mut random = random;
    while random >= part * n {
        random = u64::from(ctx.random() & 0x7fff_ffff);
    }
    (random / part) as u32
}
