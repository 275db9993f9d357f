//! Data that a schema describes, as libyang holds and checks it.

use std::sync::Arc;

use self_cell::self_cell;
use yang5::context::Context;
use yang5::data::{DataFormat, DataParserFlags, DataTree, DataValidationFlags};

use crate::raw::{self, KNOWN_TO_BE_VALID};
use crate::{Modules, Problem};

self_cell!(
    struct Tree {
        owner: Arc<Context>,
        #[covariant]
        dependent: DataTree,
    }
);

/// A step to a node: its module, its name, and the keys of a list's entry or the value of a leaf-list's.
pub type Step = (String, String, Vec<String>);

/// Configuration data in libyang's form.
///
/// [`Data::merge`] and [`Data::remove`] may leave it in any state; [`Data::check`] tells whether it is valid.
pub struct Data(Tree);

impl Data {
    /// No data.
    pub fn new(modules: &Modules) -> Data {
        Data(Tree::new(modules.context.clone(), |context| DataTree::new(context)))
    }

    /// Data in JSON (RFC 7951), from the top on, that was valid once: as what was there before, it makes room in [`Data::check`].
    pub fn of_valid(modules: &Modules, json: &str) -> Result<Data, Problem> {
        Tree::try_new(modules.context.clone(), |context| parse(context, json, KNOWN_TO_BE_VALID)).map(Data)
    }

    /// Adds data in JSON (RFC 7951), from the top on, to what is there. Its values are checked, what they have to do with each
    /// other is not.
    pub fn merge(&mut self, json: &str) -> Result<(), Problem> {
        let context = self.0.borrow_owner().clone();
        let part = parse(&context, json, DataParserFlags::empty())?;
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

    /// Checks everything, and adds what is there by default. What was valid before and has no place beside the rest any more goes:
    /// nodes whose `when` became false (RFC 7950, section 7.21.5), and the cases of a choice that another one follows (section 7.9).
    /// The ways to what has gone, but for what a node held that has gone itself.
    pub fn check(&mut self) -> Result<Vec<Vec<Step>>, Problem> {
        let flags = DataValidationFlags::NO_STATE | DataValidationFlags::PRESENT;
        self.0.with_dependent_mut(|context, tree| raw::validate(context, tree, flags)).map_err(Problem::of)
    }
}

fn parse<'c>(context: &'c Context, json: &str, flags: DataParserFlags) -> Result<DataTree<'c>, Problem> {
    if json.contains('\0') {
        return Err(Problem::new("a text holds a null character"));
    }
    let flags = flags | DataParserFlags::NO_VALIDATION | DataParserFlags::STRICT | DataParserFlags::NO_STATE;
    DataTree::parse_string(context, json, DataFormat::JSON, flags, DataValidationFlags::NO_STATE)
        .map_err(Problem::of)
}
