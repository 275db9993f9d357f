//! Changes of the graph from another thread: all is prepared beside it, and it is only asked to go on with what is there.

use engine::change::{Prepared, Refusal, Snapshot, Wish};
use graph::{Action, Diagnostics, Severity};

use super::server::Reach;

/// How often a change is prepared anew because the graph has changed meanwhile.
const MAX_TRIES: usize = 20;

/// What came of a change, or would come of it.
pub struct Made {
    /// The number of the graph in the history; none if it was only asked what would be done.
    pub revision: Option<u64>,
    /// The steps.
    pub actions: Vec<Action>,
    /// What was told meanwhile.
    pub warnings: Vec<String>,
}

/// Why the graph did not change.
pub enum Failure {
    /// It has ended.
    Ended,
    /// What is wrong, and warnings.
    Told(Vec<(Severity, String)>),
}

impl Failure {
    fn error(message: String) -> Failure {
        Failure::Told(vec![(Severity::Error, message)])
    }
}

impl Reach {
    /// Changes the graph to the one that is wished for.
    pub fn change(
        &self,
        wish: impl Fn(&Snapshot, &mut Diagnostics) -> Result<Wish, String>,
    ) -> Result<Made, Failure> {
        for _ in 0..MAX_TRIES {
            let (snapshot, prepared, diagnostics) = self.prepare(&wish)?;
            let changed = self.ask(move |world| {
                let mut diagnostics = Diagnostics::default();
                (world.change(prepared, &mut diagnostics), diagnostics)
            });
            let (changed, more) = changed.ok_or(Failure::Ended)?;
            match changed {
                Ok(changed) => {
                    let told =
                        [diagnostics, more].iter().flat_map(|all| told(&snapshot, all)).collect::<Vec<_>>();
                    let warnings = told.into_iter().map(|(_, text)| text).collect();
                    let (revision, actions) = (Some(changed.revision), changed.actions);
                    return Ok(Made { revision, actions, warnings });
                }
                Err(Refusal::Failed) => return Err(Failure::Told(told(&snapshot, &more))),
                Err(Refusal::Stale) => {}
            }
        }
        Err(Failure::error("others change the graph all the time; try again".to_string()))
    }

    /// What such a change would do.
    pub fn plan(
        &self,
        wish: impl Fn(&Snapshot, &mut Diagnostics) -> Result<Wish, String>,
    ) -> Result<Made, Failure> {
        let (snapshot, prepared, diagnostics) = self.prepare(&wish)?;
        let warnings = told(&snapshot, &diagnostics).into_iter().map(|(_, text)| text).collect();
        Ok(Made { revision: None, actions: prepared.actions, warnings })
    }

    fn prepare(
        &self,
        wish: &impl Fn(&Snapshot, &mut Diagnostics) -> Result<Wish, String>,
    ) -> Result<(Snapshot, Prepared, Diagnostics), Failure> {
        let snapshot = self.ask(|world| world.snapshot()).ok_or(Failure::Ended)?.map_err(Failure::error)?;
        let mut diagnostics = Diagnostics::default();
        let prepared = match wish(&snapshot, &mut diagnostics) {
            Ok(wish) => snapshot.prepare(wish, &mut diagnostics),
            Err(message) => {
                let message = Some((Severity::Error, message)).filter(|(_, message)| !message.is_empty());
                return Err(Failure::Told(
                    told(&snapshot, &diagnostics).into_iter().chain(message).collect(),
                ));
            }
        };
        match prepared {
            Some(prepared) => Ok((snapshot, prepared, diagnostics)),
            None => Err(Failure::Told(told(&snapshot, &diagnostics))),
        }
    }
}

/// Diagnostics as they are printed.
fn told(snapshot: &Snapshot, diagnostics: &Diagnostics) -> Vec<(Severity, String)> {
    let text = |told| snapshot.loader().text(told).trim_end().to_string();
    diagnostics.list.iter().map(|told| (told.severity, text(told))).collect()
}
