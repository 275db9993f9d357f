//! The handlers of a socket's task where nothing is pulled, so that there is none: Click has them all the same.

use element::{Ctx, HandlerKind};

/// The methods for these handlers of an element whose queue is at `self` and what is given, such as `.queue`.
macro_rules! handlers {
    ($($queue:tt)*) => {
        fn own_handler(&self, name: &str) -> Option<element::HandlerKind> {
            let handlers = self $($queue)*.idle.handlers();
            handlers.into_iter().find(|(own, _)| own == name).map(|(_, kind)| kind)
        }

        fn own_handlers(&self) -> Vec<(String, element::HandlerKind)> {
            self $($queue)*.idle.handlers()
        }

        fn read(&mut self, _: &mut element::Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
            self $($queue)*.idle.read(name)
        }

        fn write(&mut self, ctx: &mut element::Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
            self $($queue)*.idle.write(ctx, name, value)
        }
    };
}
pub(crate) use handlers;

const MOST_TICKETS: i32 = 1 << 15;
/// The tickets of a task that is none.
const NO_TICKETS: i32 = -1;

/// What the handlers of a task tell that there is not.
#[derive(Default)]
pub struct IdleTask {
    /// Its tickets, once it is known that there is no task.
    tickets: Option<i32>,
}

impl IdleTask {
    /// There is no task.
    pub fn settle(&mut self) {
        self.tickets = Some(NO_TICKETS);
    }

    /// The handlers, the last first.
    pub fn handlers(&self) -> Vec<(String, HandlerKind)> {
        let handlers = [("tickets", HandlerKind::ReadWrite), ("scheduled", HandlerKind::Read)];
        match self.tickets {
            Some(_) => handlers.map(|(name, kind)| (name.to_string(), kind)).to_vec(),
            None => Vec::new(),
        }
    }

    /// Reads one of them.
    pub fn read(&self, name: &str) -> Result<String, String> {
        match (name, self.tickets) {
            ("tickets", Some(tickets)) => Ok(tickets.to_string()),
            ("scheduled", Some(_)) => Ok("false".to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    /// Writes one of them.
    pub fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let Some(tickets) = self.tickets.as_mut().filter(|_| name == "tickets") else {
            return Err(format!("no {name} write handler"));
        };
        let wanted = args::saturating_integer::<i32>(value).map_err(|_| "syntax error")?;
        *tickets = wanted.clamp(1, MOST_TICKETS);
        if *tickets != wanted {
            ctx.warn(&format!("tickets pinned at {tickets}"));
        }
        Ok(())
    }
}
