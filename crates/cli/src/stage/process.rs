//! What the processes of stages do.

/// Whether the process runs, even if it is stopped: one whose parent has not heard of its end does not.
pub fn runs(id: u32) -> bool {
    state(id).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Whether the process does something, or would if there were a processor for it.
pub fn is_busy(id: u32) -> bool {
    matches!(state(id), Some('R' | 'D'))
}

/// Whether a signal, or who follows it, has stopped the process.
pub fn is_stopped(id: u32) -> bool {
    matches!(state(id), Some('T' | 't'))
}

/// The letter that tells what a process does.
fn state(id: u32) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of its program, in parentheses, is before its state.
    text.rsplit_once(") ")?.1.chars().next()
}
