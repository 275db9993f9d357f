//! What a client takes as an answer (RFC 8040, section 5.2; RFC 9110, section 12.5.1).

use super::{Request, DATA};
use crate::fault::Fault;

/// Types by which the only form of data is asked for.
const TYPES: [&str; 2] = [DATA, "application/json"];

/// Refuses requests whose answer would be in a form that is not accepted.
pub fn check(request: &Request) -> Result<(), Fault> {
    let given = request.headers.iter().filter(|(name, _)| name == "accept");
    let ranges = given.flat_map(|(_, value)| value.split(',')).map(str::trim);
    let ranges: Vec<&str> = ranges.filter(|range| !range.is_empty()).collect();
    if ranges.is_empty() || TYPES.iter().any(|media_type| is_accepted(media_type, &ranges)) {
        return Ok(());
    }
    Err(Fault::not_acceptable(format!("{} is not among what is told here; accept {DATA}", ranges.join(", "))))
}

/// Whether the most specific of the ranges that hold a type has a weight above 0.
fn is_accepted(media_type: &str, ranges: &[&str]) -> bool {
    let weights = ranges.iter().filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let range = parts.next().unwrap_or_default().to_ascii_lowercase();
        let specificity = match range.as_str() {
            range if range == media_type => 2,
            "application/*" => 1,
            "*/*" => 0,
            _ => return None,
        };
        let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        Some((specificity, weight.and_then(|weight| weight.parse().ok()).unwrap_or(1.0)))
    });
    let best = weights.max_by_key(|(specificity, _)| *specificity);
    best.is_some_and(|(_, weight): (u8, f64)| weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_taken(values: &[&str]) -> bool {
        let headers = values.iter().map(|value| ("accept".to_string(), value.to_string())).collect();
        check(&Request { headers, ..Request::default() }).is_ok()
    }

    #[test]
    fn the_most_specific_range_decides() {
        for taken in [
            &[][..],
            &[""],
            &["*/*"],
            &["application/*;q=0.1"],
            &["Application/YANG-Data+JSON"],
            &["application/json"],
            &["application/yang-data+xml", "application/yang-data+json; q=0.5"],
            &["*/*;q=0, application/yang-data+json"],
            &["application/yang-data+json;q=0, */*"],
        ] {
            assert!(is_taken(taken), "{taken:?}");
        }
        for refused in [
            &["application/yang-data+xml"][..],
            &["text/*, application/yang-data+xml;q=0.9"],
            &["application/yang-data+json;q=0"],
            &["application/yang-data+json;q=0, application/json ; q=0.0, */*"],
            &["application/*;q=0, */*"],
        ] {
            assert!(!is_taken(refused), "{refused:?}");
        }
    }
}
