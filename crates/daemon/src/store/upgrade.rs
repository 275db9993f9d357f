//! Functions that come, go and change while instances run.

use functions::Functions;
use yang::Data;

use super::{Store, Touched};
use crate::fault::Fault;

impl Store {
    /// Goes over to other functions; instances of those that changed go on with their new graphs and their state.
    pub fn change_functions(&mut self, functions: Functions) -> Result<(), Fault> {
        let mut data = Data::new(functions.modules());
        if let Some(function) =
            self.instances().map(|(_, function, _)| function).find(|name| functions.get(name).is_none())
        {
            return Err(Fault::in_use(format!("there are instances of `{function}`; delete them first")));
        }
        data.merge(&self.tree.0.to_string())?;
        data.check()?;
        let package = |functions: &Functions, name| functions.get(name).map(|one| one.package.clone());
        let changed = functions.iter().map(|function| function.name());
        let changed = changed.filter(|name| package(&self.functions, name) != package(&functions, name));
        let touched: Touched = changed.map(|name| (name.to_string(), None)).collect();
        let old = std::mem::replace(&mut self.functions, functions);
        let before = (self.bodies.clone(), self.topology.clone());
        let run = self.next(&touched).and_then(|next| self.run(next, "functions"));
        let kept = run.and_then(|()| {
            let kept = self.shorten_journal();
            kept.or_else(|fault| self.run(before, "undo").and(Err(fault)))
        });
        match kept {
            Ok(()) => self.data = data,
            Err(_) => self.functions = old,
        }
        kept
    }
}
