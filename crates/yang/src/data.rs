//! Data that a schema describes, as libyang holds and checks it.

use std::sync::Arc;

use self_cell::self_cell;
use yang5::context::Context;
use yang5::data::{DataFormat, DataParserFlags, DataTree, DataValidationFlags};

use crate::{Modules, Problem};

self_cell!(
    struct Tree {
        owner: Arc<Context>,
        #[covariant]
        dependent: DataTree,
    }
);

/// Configuration data in libyang's form.
///
/// [`Data::merge`] and [`Data::remove`] may leave it in any state; [`Data::check`] tells whether it is valid.
pub struct Data(Tree);

impl Data {
    /// No data.
    pub fn new(modules: &Modules) -> Data {
        Data(Tree::new(modules.context.clone(), |context| DataTree::new(context)))
    }

    /// Adds data in JSON (RFC 7951), from the top on, to what is there. Its values are checked, what they have to do with each
    /// other is not.
    pub fn merge(&mut self, json: &str) -> Result<(), Problem> {
        if json.contains('\0') {
            return Err(Problem::new("a text holds a null character"));
        }
        let context = self.0.borrow_owner().clone();
        let part = DataTree::parse_string(
            &context,
            json,
            DataFormat::JSON,
            DataParserFlags::NO_VALIDATION | DataParserFlags::STRICT | DataParserFlags::NO_STATE,
            DataValidationFlags::NO_STATE,
        )
        .map_err(Problem::of)?;
        if part.reference().is_none() {
            return Ok(());
        }
        self.0.with_dependent_mut(|_, tree| tree.merge(&part)).map_err(Problem::of)
    }

    /// Removes a node, if it is there; `path` is one of libyang's (`/module:list[key='value']/leaf`).
    pub fn remove(&mut self, path: &str) {
        let is_sound = !path.contains('\0');
        self.0.with_dependent_mut(|_, tree| {
            if is_sound && tree.reference().is_some() {
                // An error says that it is not there.
                let _ = tree.remove(path);
            }
        });
    }

    /// Checks everything, and adds what is there by default.
    pub fn check(&mut self) -> Result<(), Problem> {
        let flags = DataValidationFlags::NO_STATE | DataValidationFlags::PRESENT;
        self.0.with_dependent_mut(|_, tree| tree.validate(flags)).map_err(Problem::of)
    }
}
