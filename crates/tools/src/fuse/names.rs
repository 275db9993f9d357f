//! Names of interfaces in the arguments of their elements, and of elements that become others.

use graph::Graph;

/// The keyword of the argument that names the interface.
const NAME: &str = "NAME";
/// The other keyword that these elements take.
const BURST: &str = "BURST";

/// The interface that the arguments of an interface's element name; empty if they name none.
pub fn interface_of(config: &str) -> String {
    let words = args::split_args(config);
    let text = place_of(&words).map_or("", |idx| {
        let word = words[idx].as_str();
        keyword(word, NAME).unwrap_or(word)
    });
    args::unquote_text(text.trim())
}

/// Puts another interface into such arguments.
pub fn rename(config: &mut String, name: &str) {
    let mut words = args::split_args(config);
    if let Some(idx) = place_of(&words) {
        words[idx] = name.to_string();
        *config = args::join_args(&words);
    }
}

/// Which argument names the interface.
fn place_of(words: &[String]) -> Option<usize> {
    let by_keyword = words.iter().position(|word| keyword(word, NAME).is_some());
    by_keyword.or_else(|| words.iter().position(|word| keyword(word, BURST).is_none()))
}

fn keyword<'w>(word: &'w str, name: &str) -> Option<&'w str> {
    let (first, rest) = args::next_word(word);
    (first == name && !rest.trim().is_empty()).then(|| rest.trim())
}

/// Makes an element one of another class. A name that the language gave it, such as `nat/ToInterface@3`, follows.
pub fn become_class(graph: &mut Graph, idx: usize, class: &str, config: String) {
    let element = &graph.elements[idx];
    let (folder, own) = element.name.rsplit_once('/').unwrap_or(("", &element.name));
    let number = own.strip_prefix(element.class.as_str()).and_then(|rest| rest.strip_prefix('@'));
    if let Some(number) = number {
        let mut name = format!("{folder}/{class}@{number}");
        while graph.find(&name).is_some() {
            name.push('_');
        }
        graph.elements[idx].name = name;
    }
    let element = &mut graph.elements[idx];
    element.class = class.to_string();
    element.config = config;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_is_found_among_the_arguments() {
        for config in
            ["left", "left, BURST 3", "BURST 3, left", "NAME left", "BURST 3, NAME \"left\"", "\"left\""]
        {
            assert_eq!(interface_of(config), "left", "{config}");
        }
        assert_eq!(interface_of(""), "");
        assert_eq!(interface_of("BURST 3"), "");
    }

    #[test]
    fn renaming_keeps_the_other_arguments() {
        let renamed = |config: &str| {
            let mut config = config.to_string();
            rename(&mut config, "nat.aux");
            config
        };
        assert_eq!(renamed("aux, BURST 3"), "nat.aux, BURST 3");
        assert_eq!(renamed("BURST 3, NAME aux"), "BURST 3, nat.aux");
        assert_eq!(renamed("BURST 3"), "BURST 3");
    }
}
