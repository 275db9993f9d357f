//! The system's words for why a call failed, as the C library has them.

/// The reason alone, without the number that Rust adds.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" (os error ") {
        Some((words, _)) => words.to_string(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_number_is_left_out() {
        assert_eq!(super::reason(&std::io::Error::from_raw_os_error(2)), "No such file or directory");
        assert_eq!(super::reason(&std::io::Error::other("odd (os error)")), "odd (os error)");
    }
}
