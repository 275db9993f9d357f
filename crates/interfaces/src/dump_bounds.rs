//! The arguments of sources of captures that tell which packets are emitted.

use args::Timestamp;
use element::Configure;

use crate::dump_source::ALWAYS;
use crate::dump_window::Bound;

/// First and last time that the arguments give, and how often each is given.
pub fn bounds(conf: &mut Configure<'_>) -> [((Bound, Timestamp), usize); 2] {
    let mut read = |list: &[(&str, Bound)]| {
        let mut bound = ((Bound::None, Timestamp::default()), 0);
        for (name, kind) in list {
            let time = conf.args.get_or(name, Timestamp::default());
            if !time.is_zero() {
                bound = ((*kind, time), bound.1 + 1);
            }
        }
        bound
    };
    [
        read(&[("START", Bound::Absolute), ("START_AFTER", Bound::Relative)]),
        read(&[("END", Bound::Absolute), ("END_AFTER", Bound::Relative), ("INTERVAL", Bound::Interval)]),
    ]
}

/// Tells of bounds that exclude each other.
pub fn check_bounds(conf: &mut Configure<'_>, bounds: &[((Bound, Timestamp), usize); 2]) {
    if bounds[0].1 > 1 {
        conf.args.fail("START and START_AFTER are mutually exclusive");
    } else if bounds[1].1 > 1 {
        conf.args.fail("END, END_AFTER, and INTERVAL are mutually exclusive");
    }
}

/// Warns of a probability that is none, or makes the source of no use.
pub fn warn_of_sample(conf: &mut Configure<'_>, sample: u32) {
    if sample > ALWAYS {
        conf.warning("SAMPLE probability reduced to 1");
    } else if sample == 0 {
        conf.warning("SAMPLE probability is 0; emitting no packets");
    }
}
