//! Gives up the rights of a program that runs as its owner.
//!
//! Sets the effective user and group of the process to the real ones, as soon as the elements that need rights have opened their
//! devices.
//!
//! ```click
//! ChangeUID; Idle -> Discard;
//! ```

use element::{output, Class, Configure, Ctx, Element, Failed, Phase};

/// The class.
pub const CLASS: Class =
    Class::new::<ChangeUID>("ChangeUID", "0/0", "a/a", "x/x").phase(Phase(Phase::PRIVILEGED.0 + 1));

/// See the page above.
pub struct ChangeUID;

impl Element for ChangeUID {
    fn configure(conf: &mut Configure<'_>) -> Result<ChangeUID, Failed> {
        conf.finish()?;
        Ok(ChangeUID)
    }

    fn initialize(&mut self, _ctx: &mut Ctx<'_>) -> Result<(), String> {
        sys::privileges::give_up()
            .map_err(|error| format!("could not drop privilege: {}", output::reason(&error)))
    }
}
