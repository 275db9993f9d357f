//! Shifts of TCP sequence numbers, for flows whose payload an element makes longer or shorter.

/// Shifts that are in force from a sequence number on; the newest comes first.
///
/// There are at most 64 steps. Before the oldest of them its own shift is in force: so far behind nothing is sent again.
///
/// Sequence numbers compare modulo 2^32 (RFC 9293, section 3.4).
#[derive(Clone, Debug, Default)]
pub struct Shifts {
    steps: Vec<Step>,
}

/// What is added to the sequence numbers of a direction, and from which one on, if that still matters.
pub type Shift = (i32, Option<u32>);

/// What holds from the triggers on: what is added to the sequence numbers of each direction.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    delta: [i32; 2],
    trigger: [u32; 2],
    has_trigger: [bool; 2],
}

/// Steps that are kept: what is looked at for a packet, and what a peer can make a flow remember, has a bound.
const MAX_STEPS: usize = 64;
/// Sequence numbers this far behind are never seen again.
const HORIZON: u32 = 1 << 30;

fn is_at_or_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) >= 0
}

impl Shifts {
    /// The steps, the newest first: for each direction what is added, and from where on, if that is still to be known.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = [Shift; 2]> + '_ {
        self.steps
            .iter()
            .map(|step| [0, 1].map(|d| (step.delta[d], step.has_trigger[d].then_some(step.trigger[d]))))
    }

    /// What has these steps.
    pub fn of_steps(steps: &[[Shift; 2]]) -> Shifts {
        let step = |[(there, from), (back, back_from)]: &[Shift; 2]| Step {
            delta: [*there, *back],
            trigger: [from.unwrap_or(0), back_from.unwrap_or(0)],
            has_trigger: [from.is_some(), back_from.is_some()],
        };
        let mut shifts = Shifts { steps: steps.iter().map(step).collect() };
        shifts.forget_oldest();
        shifts
    }

    /// Adds `delta` to the sequence numbers of a direction from `trigger` on. False if a later trigger is there already.
    pub fn add(&mut self, direction: usize, trigger: u32, delta: i32) -> bool {
        let (d, other) = (direction & 1, direction & 1 ^ 1);
        let newest = self.steps.first().copied();
        if newest.is_some_and(|step| step.has_trigger[d] && !is_at_or_after(trigger, step.trigger[d])) {
            return false;
        }
        let needs_step = newest.is_none_or(|step| {
            if step.has_trigger[d] {
                trigger != step.trigger[d]
            } else {
                step.delta[d] != 0
            }
        });
        if needs_step {
            self.steps.insert(0, Step::default());
            self.move_other(other);
        }
        let before = self.steps.get(1).map_or(0, |step| step.delta[d]);
        if let Some(step) = self.steps.first_mut() {
            step.trigger[d] = trigger;
            step.delta[d] = before.wrapping_add(delta);
            step.has_trigger[d] = true;
        }
        self.forget(d, trigger);
        self.forget_oldest();
        true
    }

    /// Forgets the oldest steps if there are too many.
    fn forget_oldest(&mut self) {
        if self.steps.len() > MAX_STEPS {
            self.steps.truncate(MAX_STEPS);
            if let Some(oldest) = self.steps.last_mut() {
                oldest.has_trigger = [false; 2];
            }
        }
    }

    /// Moves the other direction's steps up by one, so that its newest is in the first step as well.
    fn move_other(&mut self, other: usize) {
        for at in 0..self.steps.len().saturating_sub(1) {
            let below = self.steps[at + 1];
            let step = &mut self.steps[at];
            step.delta[other] = below.delta[other];
            step.trigger[other] = below.trigger[other];
            step.has_trigger[other] = below.has_trigger[other];
            if !below.has_trigger[other] {
                break;
            }
        }
    }

    /// Forgets a direction's triggers that lie behind the horizon, and the steps that nothing refers to.
    fn forget(&mut self, d: usize, trigger: u32) {
        let old = self.steps.iter().skip(1).position(|step| {
            !step.has_trigger[d] || is_at_or_after(trigger, step.trigger[d].wrapping_add(HORIZON))
        });
        let Some(at) = old.map(|at| at + 1).filter(|at| self.steps[*at].has_trigger[d]) else { return };
        self.drop_trigger(at, d);
    }

    fn drop_trigger(&mut self, at: usize, d: usize) {
        if let Some(step) = self.steps.get_mut(at) {
            step.has_trigger[d] = false;
            if step.has_trigger == [false; 2] {
                self.steps.truncate(at + 1);
            }
        }
    }

    /// Notes that a direction has come to `sequence`.
    pub fn advance(&mut self, direction: usize, sequence: u32) {
        let d = direction & 1;
        let is_past = self.steps.first().is_some_and(|step| {
            step.has_trigger[d] && is_at_or_after(sequence, step.trigger[d].wrapping_add(HORIZON))
        });
        if is_past {
            self.drop_trigger(0, d);
        }
    }

    /// Whether the sequence numbers of a direction may change.
    pub fn is_active(&self, direction: usize) -> bool {
        let d = direction & 1;
        self.steps.first().is_some_and(|step| step.delta[d] != 0 || step.has_trigger[d])
    }

    /// What is added to sequence numbers of a direction at present.
    pub fn current(&self, direction: usize) -> i32 {
        self.steps.first().map_or(0, |step| step.delta[direction & 1])
    }

    /// What a sequence number of a direction becomes.
    pub fn new_sequence(&self, direction: usize, sequence: u32) -> u32 {
        let d = direction & 1;
        let step =
            self.steps.iter().find(|step| !step.has_trigger[d] || is_at_or_after(sequence, step.trigger[d]));
        step.map_or(sequence, |step| sequence.wrapping_add_signed(step.delta[d]))
    }

    /// What an acknowledgement that a direction sends becomes; it speaks of the other direction's sequence numbers.
    pub fn new_acknowledgement(&self, direction: usize, number: u32) -> u32 {
        let d = direction & 1 ^ 1;
        let before = |step: &Step| number.wrapping_sub(step.delta[d] as u32);
        let step = self
            .steps
            .iter()
            .find(|step| !step.has_trigger[d] || is_at_or_after(before(step), step.trigger[d]));
        step.map_or(number, before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_shift_from_the_trigger_on() {
        let mut shifts = Shifts::default();
        assert!(!shifts.is_active(0));
        assert!(shifts.add(0, 100, 5));
        assert_eq!(shifts.new_sequence(0, 99), 99);
        assert_eq!(shifts.new_sequence(0, 100), 105);
        assert_eq!(shifts.new_acknowledgement(1, 105), 100);
        assert_eq!(shifts.new_acknowledgement(1, 99), 99);
        assert_eq!(shifts.new_sequence(1, 100), 100);
        assert!(shifts.add(0, 200, -7));
        assert_eq!([99, 150, 200].map(|n| shifts.new_sequence(0, n)), [99, 155, 198]);
        assert_eq!([99, 155, 198].map(|n| shifts.new_acknowledgement(1, n)), [99, 150, 200]);
        assert_eq!(shifts.current(0), -2);
        assert!(!shifts.add(0, 150, 1), "triggers must not go back");
    }

    #[test]
    fn the_directions_do_not_disturb_each_other() {
        let mut shifts = Shifts::default();
        assert!(
            shifts.add(0, 10, 1)
                && shifts.add(1, 1000, 100)
                && shifts.add(0, 20, 2)
                && shifts.add(1, 2000, 1)
        );
        assert_eq!([5, 15, 25].map(|n| shifts.new_sequence(0, n)), [5, 16, 28]);
        assert_eq!([500, 1500, 2500].map(|n| shifts.new_sequence(1, n)), [500, 1600, 2601]);
        assert_eq!([1600, 2601].map(|n| shifts.new_acknowledgement(0, n)), [1500, 2500]);
    }

    #[test]
    fn steps_are_all_that_there_is() {
        let mut shifts = Shifts::default();
        assert!(shifts.add(0, 10, 1) && shifts.add(1, 1000, 100) && shifts.add(0, 20, -5));
        shifts.advance(1, 1000 + HORIZON);
        let steps: Vec<_> = shifts.steps().collect();
        assert_eq!(steps[0], [(-4, Some(20)), (100, None)]);
        let again = Shifts::of_steps(&steps);
        for number in [5, 15, 25, 500, 1500] {
            for direction in 0..2 {
                assert_eq!(again.new_sequence(direction, number), shifts.new_sequence(direction, number));
                let told = [&again, &shifts].map(|one| one.new_acknowledgement(direction, number));
                assert_eq!(told[0], told[1]);
            }
        }
    }

    #[test]
    fn old_triggers_are_forgotten_and_the_shift_stays() {
        let mut shifts = Shifts::default();
        assert!(shifts.add(0, 0, 5));
        shifts.advance(0, HORIZON);
        assert_eq!(shifts.new_sequence(0, u32::MAX), 4);
        assert!(shifts.is_active(0));
        assert!(shifts.add(0, HORIZON, 5));
        assert_eq!(shifts.new_sequence(0, HORIZON), HORIZON + 10);
        assert_eq!(shifts.new_sequence(0, HORIZON - 1), HORIZON + 4);
    }

    #[test]
    fn however_many_steps_there_are_the_newest_are_kept() {
        // As a client does that sends one PORT command after the other, the server's answers shifted now and then.
        let mut shifts = Shifts::default();
        for n in 1..=10_000 {
            assert!(shifts.add(0, 100 * n, 1));
            if n % 100 == 0 {
                assert!(shifts.add(1, 7 * n, -1));
            }
        }
        assert_eq!(shifts.steps().len(), MAX_STEPS);
        for n in (10_000 - MAX_STEPS as u32 + 2)..=10_000 {
            assert_eq!(shifts.new_sequence(0, 100 * n), 101 * n);
            assert_eq!(shifts.new_sequence(0, 100 * n - 1), 101 * n - 2);
            assert_eq!(shifts.new_acknowledgement(1, 101 * n), 100 * n);
            assert_eq!(shifts.new_acknowledgement(1, 101 * n - 2), 100 * n - 1);
        }
        assert_eq!((shifts.current(0), shifts.current(1)), (10_000, -100));
        assert_eq!([shifts.new_sequence(1, 70_000), shifts.new_sequence(1, 69_999)], [69_900, 69_900]);
        let again = Shifts::of_steps(&shifts.steps().collect::<Vec<_>>());
        assert_eq!(again.new_sequence(0, 1_000_000), 1_010_000);
    }
}
