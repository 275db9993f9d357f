//! What rules leave behind in a stream: what they wait for, and where they matched.

/// Most rules that a stream remembers.
const MAX_MARKS: usize = 16;
/// Attempts at a rule before the next one waits for an eighth of the buffer.
const QUICK_ATTEMPTS: u8 = 8;

/// What a rule left behind in a stream.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// The rule.
    pub rule: u32,
    /// It matched, and now looks only at what comes from this position on.
    pub begin: u64,
    /// Its pattern was found, ending by this position, while other tests of it may pass with what is still to come.
    pub waits_since: Option<u64>,
    n_attempts: u8,
    /// Position at which it is tried next.
    try_at: u64,
}

/// What rules left behind in a stream, during a search in its buffer.
#[derive(Debug, Default)]
pub struct Marks {
    /// The marks.
    pub marks: Vec<Mark>,
    /// Position of the first byte in the buffer.
    pub begin: u64,
    /// Position behind the last.
    pub end: u64,
}

impl Marks {
    /// The rules that wait for more.
    pub fn waiting(&self) -> impl Iterator<Item = u32> + '_ {
        self.marks.iter().filter(|mark| mark.waits_since.is_some()).map(|mark| mark.rule)
    }

    /// Whether nothing is marked.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Where in the buffer a rule may begin to look; `None` if it was tried often, and is to wait.
    pub fn origin(&self, rule: u32) -> Option<usize> {
        let Some(mark) = self.marks.iter().find(|mark| mark.rule == rule) else { return Some(0) };
        let is_due = mark.n_attempts < QUICK_ATTEMPTS || mark.try_at <= self.end;
        is_due.then(|| usize::try_from(mark.begin.saturating_sub(self.begin)).unwrap_or(usize::MAX))
    }

    /// Makes all rules that wait due, as this is their last chance.
    pub fn hurry(&mut self) {
        self.marks.iter_mut().for_each(|mark| mark.try_at = 0);
    }

    /// A rule matched.
    pub fn matched(&mut self, rule: u32) {
        let end = self.end;
        let mark = self.mark(rule);
        (mark.begin, mark.waits_since, mark.n_attempts) = (end, None, 0);
    }

    /// A rule's pattern is there, but not all it asks for.
    pub fn missed(&mut self, rule: u32, is_new: bool) {
        let (end, n_bytes) = (self.end, self.end - self.begin);
        let mark = self.mark(rule);
        if is_new || mark.waits_since.is_none() {
            mark.waits_since = Some(end);
        }
        mark.n_attempts = mark.n_attempts.saturating_add(1);
        mark.try_at = end + n_bytes / 8;
    }

    /// Forgets what is no longer in the buffer.
    pub fn expire(&mut self) {
        let begin = self.begin;
        self.marks.retain(|mark| mark.begin > begin || mark.waits_since.is_some_and(|since| since > begin));
    }

    fn mark(&mut self, rule: u32) -> &mut Mark {
        let idx = self.marks.iter().position(|mark| mark.rule == rule).unwrap_or_else(|| {
            if self.marks.len() >= MAX_MARKS {
                self.marks.remove(0);
            }
            self.marks.push(Mark { rule, begin: 0, waits_since: None, n_attempts: 0, try_at: 0 });
            self.marks.len() - 1
        });
        self.marks.get_mut(idx).expect("it was found, or added last")
    }
}
