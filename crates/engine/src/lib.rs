//! Builds graphs and runs them: tasks, notifiers, timers, handlers.
