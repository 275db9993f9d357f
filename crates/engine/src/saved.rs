//! State that outlives the process: mappings and what was learned, saved bit by bit while packets flow.

use element::ElementIdx;

use crate::world::World;

/// A line of an element's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The element's name.
    pub element: String,
    /// Its class.
    pub class: String,
    /// The line, which only the class understands.
    pub line: String,
}

/// How far saving has got. The graph may change meanwhile: what has come since the beginning is left out.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Elements whose turn will come, the next one last; none before the beginning.
    names: Option<Vec<String>>,
    from: usize,
}

impl World {
    /// Saves some state, so little that packets do not wait long; `None` when all of it has been saved.
    pub fn save_some(&mut self, progress: &mut Progress) -> Option<Vec<Record>> {
        let all = || self.graph().elements.iter().rev().map(|element| element.name.to_string()).collect();
        let names = progress.names.get_or_insert_with(all);
        while let Some(name) = names.last() {
            let from = std::mem::take(&mut progress.from);
            let saved = self.graph().find(name).and_then(|idx| Some((idx, self.save(idx, from)?)));
            let Some((idx, saved)) = saved else {
                names.pop();
                continue;
            };
            let (element, class) = (name.clone(), self.class_of(idx).facts.name);
            match saved.next {
                Some(next) => progress.from = next,
                None => drop(names.pop()),
            }
            let record = |line| Record { element: element.clone(), class: class.to_string(), line };
            return Some(saved.lines.into_iter().map(record).collect());
        }
        None
    }

    fn save(&mut self, idx: ElementIdx, from: usize) -> Option<element::Saved> {
        self.forget_times();
        self.call(idx, |element, ctx| element.save_state(ctx, from)).flatten()
    }

    /// Gives elements what was saved `passed_ms` milliseconds ago. The first error of each element that cannot take all of it.
    pub fn restore(&mut self, records: &[Record], passed_ms: i64) -> Vec<String> {
        let mut refused = Vec::new();
        for of_one in records.chunk_by(|a, b| (&a.element, &a.class) == (&b.element, &b.class)) {
            let Some(Record { element: name, class, .. }) = of_one.first() else { continue };
            let idx = self.graph().find(name).filter(|idx| self.class_of(*idx).facts.name == class);
            let Some(idx) = idx else {
                refused.push(format!("{name}: there is no such {class} any more"));
                continue;
            };
            self.forget_times();
            let restored = self.call(idx, |element, ctx| {
                let mut errors = of_one
                    .iter()
                    .filter_map(|record| element.restore_state(ctx, &record.line, passed_ms).err());
                let first = errors.next();
                first.map(|first| (first, 1 + errors.count()))
            });
            if let Some((first, n)) = restored.unwrap_or_else(|| Some(("it is busy".into(), of_one.len()))) {
                refused.push(format!("{name}: {n} of {}: {first}", of_one.len()));
            }
        }
        refused
    }
}
