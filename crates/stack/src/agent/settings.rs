//! The settings of one device under `/proc/sys/net`, read and written again.

use std::fmt::Write;
use std::path::Path;

const ROOT: &str = "/proc/sys/net";
const TOPICS: [&str; 4] = ["ipv4/conf", "ipv4/neigh", "ipv6/conf", "ipv6/neigh"];

/// All settings of device `name`, a line each: its path and its value.
pub(super) fn read(name: &str) -> String {
    let mut lines = String::new();
    if !is_plain(name) {
        return lines;
    }
    for topic in TOPICS {
        let folder = Path::new(ROOT).join(topic).join(name);
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let file = entry.file_name();
            // Some, such as a secret that was never set, cannot be read.
            if let (Some(file), Ok(value)) = (file.to_str(), std::fs::read_to_string(entry.path())) {
                let _ = writeln!(lines, "{topic}/{name}/{file} {}", value.trim_end());
            }
        }
    }
    lines
}

/// Writes those of `lines` whose value is another now.
pub(super) fn write(lines: &str) {
    for (setting, value) in lines.lines().filter_map(|line| line.split_once(' ')) {
        let is_known = TOPICS.iter().any(|topic| {
            let rest = setting.strip_prefix(topic).and_then(|rest| rest.strip_prefix('/'));
            rest.and_then(|rest| rest.split_once('/'))
                .is_some_and(|(name, file)| is_plain(name) && is_plain(file))
        });
        let path = Path::new(ROOT).join(setting);
        if is_known && std::fs::read_to_string(&path).is_ok_and(|now| now.trim_end() != value) {
            // Some only tell a state.
            let _ = std::fs::write(&path, value);
        }
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && name != "." && name != ".."
}
