//! Rules of IPFilter, from command lines and files.

use super::values::wrong;

/// A rule: what it does with packets that match, and the pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Whether packets that match pass.
    pub allows: bool,
    /// The pattern.
    pub pattern: String,
}

/// Reads the rules in a word of a command line; commas separate them.
pub fn parse(text: &str) -> Result<Vec<Rule>, String> {
    args::split_args(text).iter().filter(|rule| !rule.is_empty()).map(|rule| parse_one(rule)).collect()
}

/// Whether a word holds rules.
pub fn check(text: &str) -> Result<(), String> {
    parse(text).map(drop)
}

/// Reads a file of rules: a rule a line, `#` begins a comment.
pub fn read(flag: &str, path: &str) -> Result<Vec<Rule>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        wrong(flag, path, &format!("cannot be read: {}", element::output::reason(&error)))
    })?;
    let mut rules = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let parsed =
            parse(line).map_err(|message| wrong(flag, path, &format!("line {}: {message}", i + 1)))?;
        rules.extend(parsed);
    }
    Ok(rules)
}

fn parse_one(text: &str) -> Result<Rule, String> {
    let (action, pattern) = args::next_word(text.trim());
    let allows = match action {
        "allow" => true,
        "deny" | "drop" => false,
        _ => return Err(format!("`{text}` begins with `{action}`, not with allow, deny or drop")),
    };
    let pattern = if pattern.trim().is_empty() { "all" } else { pattern.trim() };
    let rule = [format!("{} {pattern}", u8::from(!allows))];
    let (_, diagnostics) = filter::IpFilter::parse(&rule, 2, &filter::BuiltInNames);
    if let Some(error) = diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        let message = error.message.trim();
        return Err(format!("`{text}`: {message} (`weir help IPClassifier` describes patterns)"));
    }
    Ok(Rule { allows, pattern: pattern.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn commas_separate_rules() {
        let rules = parse("allow tcp && dst port 80, deny all,").unwrap();
        let rule = |allows, pattern: &str| Rule { allows, pattern: pattern.to_string() };
        assert_eq!(rules, [rule(true, "tcp && dst port 80"), rule(false, "all")]);
        assert_eq!(parse("drop").unwrap(), [rule(false, "all")]);
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn what_is_no_rule_is_told() {
        let errors = ["permit tcp", "1 tcp", "allow tcp prt 80", "deny src host 10.0.0", "allow $x"]
            .map(|text| parse(text).unwrap_err());
        expect![[r#"
            `permit tcp` begins with `permit`, not with allow, deny or drop
            `1 tcp` begins with `1`, not with allow, deny or drop
            `allow tcp prt 80`: empty term near 'prt' (`weir help IPClassifier` describes patterns)
            `deny src host 10.0.0`: 'src ip host': address missing (`weir help IPClassifier` describes patterns)
            `allow $x`: empty term near '$' (`weir help IPClassifier` describes patterns)"#]].assert_eq(&errors.join("\n"));
    }
}
