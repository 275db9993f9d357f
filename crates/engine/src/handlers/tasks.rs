//! The handlers that elements with a task have.

use element::{ElementIdx, Runtime, TaskId};

use crate::world::World;

/// The task that they are about.
pub fn first_task(world: &World, idx: ElementIdx) -> Option<TaskId> {
    world.tasks.of_element(idx).next()
}

/// Reads one, if it is such a handler.
pub fn read_task(world: &World, idx: ElementIdx, handler: &str) -> Option<String> {
    let task = first_task(world, idx)?;
    Some(match handler {
        "scheduled" => world.is_scheduled(task).to_string(),
        "tickets" => world.tickets(task).to_string(),
        "home_thread" => world.tasks.get(task)?.home_thread.to_string(),
        _ => return None,
    })
}

/// Writes one, if it is such a handler.
pub fn write_task(
    world: &mut World,
    idx: ElementIdx,
    handler: &str,
    value: &str,
) -> Option<Result<(), String>> {
    let task = first_task(world, idx)?;
    Some(match handler {
        "scheduled" => args::boolean(value).map_err(|_| "syntax error".to_string()).map(|on| match on {
            true => world.schedule(task),
            false => world.tasks.unschedule(task, true),
        }),
        "tickets" => {
            args::saturating_integer::<i32>(value).map_err(|_| "syntax error".to_string()).map(|n| {
                let pinned = n.clamp(1, crate::MAX_TICKETS as i32);
                if n != pinned {
                    world.tell(&format!("warning: tickets pinned at {pinned}"));
                }
                world.set_tickets(task, pinned as u32);
            })
        }
        "home_thread" => {
            // As in Click, the number of threads is let pass.
            let is_thread = |thread: &i32| i64::from(*thread) <= world.n_threads as i64;
            let thread = args::integer::<i32>(value).ok().filter(is_thread);
            thread.ok_or_else(|| "bad thread".to_string()).map(|thread| world.set_home_thread(task, thread))
        }
        _ => return None,
    })
}
