//! What is sent, and the figures of it.

/// Frames of one size in batches of one size.
#[derive(Clone, Copy)]
pub struct Contest {
    pub frame_len: usize,
    pub batch: usize,
    pub n_batches: usize,
}

pub const ALL: [Contest; 3] = [
    Contest { frame_len: 64, batch: 64, n_batches: 200_000 },
    Contest { frame_len: 1500, batch: 64, n_batches: 60_000 },
    Contest { frame_len: 64 << 10, batch: 1, n_batches: 60_000 },
];

impl Contest {
    /// Half a gigabyte of frames.
    pub fn of(frame_len: usize, batch: usize) -> Contest {
        Contest { frame_len, batch, n_batches: (1 << 29) / (frame_len * batch) }
    }
}

/// Million frames a second, one figure a round.
#[derive(Default)]
pub struct Figures {
    pub sleeping: Vec<f64>,
    pub polling: Vec<f64>,
    pub pipe: Vec<f64>,
}

impl Figures {
    /// A line of the table.
    pub fn row(mut self, contest: Contest) -> String {
        let Contest { frame_len, batch, .. } = contest;
        let [sleeping, polling, pipe] = [&mut self.sleeping, &mut self.polling, &mut self.pipe].map(sorted);
        let cell = |figures: &[f64]| {
            if figures.is_empty() {
                return "-".to_string();
            }
            let gbps = median(figures) * frame_len as f64 * 8.0 / 1000.0;
            let (min, max) = (figures[0], figures[figures.len() - 1]);
            format!("{:.3} Mpps, {gbps:.0} Gbps ({min:.3}-{max:.3})", median(figures))
        };
        let ratio = median(sleeping) / median(pipe);
        format!(
            "| {frame_len} | {batch} | {} | {} | {} | {ratio:.1}x |",
            cell(sleeping),
            cell(polling),
            cell(pipe)
        )
    }
}

fn sorted(figures: &mut Vec<f64>) -> &[f64] {
    figures.sort_by(f64::total_cmp);
    figures
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

/// Packets in buffers of their own, an odd number of cache lines apart.
pub struct Frames {
    bytes: Vec<u8>,
    stride: usize,
    len: usize,
}

impl Frames {
    pub fn new(contest: Contest) -> Frames {
        let stride = contest.frame_len.next_multiple_of(2048) + 64;
        Frames { bytes: vec![0x5a; stride * contest.batch], stride, len: contest.frame_len }
    }

    pub fn frame(&mut self, idx: usize) -> &mut [u8] {
        &mut self.bytes[idx * self.stride..][..self.len]
    }
}

/// What a sender does to a frame's header.
#[inline(always)]
pub fn stamp(frame: &mut [u8], number: u64) {
    frame[..8].copy_from_slice(&number.to_ne_bytes());
}

/// What a receiver does with a frame's header.
#[inline(always)]
pub fn check(frame: &[u8], number: u64) {
    let found = u64::from_ne_bytes(frame[..8].try_into().expect("frames are longer than 8 bytes"));
    assert_eq!(found, number, "frames come in order");
}
