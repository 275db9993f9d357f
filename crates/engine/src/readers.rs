//! Who looks at packets behind an element: what is stored long has left the processor's caches, and is worth bringing near
//! where somebody does.

/// Whether an element behind `from` reads packets before they are stored again. `next`: the elements to which an element
/// leads; `stores`: whether it stores packets; `reads`: whether it looks at them.
pub fn is_behind(
    from: u32,
    next: impl Fn(u32) -> Vec<u32>,
    stores: impl Fn(u32) -> bool,
    reads: impl Fn(u32) -> bool,
) -> bool {
    let mut found = next(from);
    let mut at = 0;
    while let Some(&element) = found.get(at) {
        at += 1;
        if stores(element) {
            continue;
        }
        if reads(element) {
            return true;
        }
        for element in next(element) {
            if !found.contains(&element) {
                found.push(element);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(graph: &[&[u32]], stores: u32, reads: u32) -> bool {
        is_behind(
            0,
            |element| graph[element as usize].to_vec(),
            |element| element == stores,
            |element| element == reads,
        )
    }

    #[test]
    fn readers_are_found_up_to_the_next_store() {
        let line: &[&[u32]] = &[&[1], &[2], &[3], &[]];
        assert!(found(line, 9, 3));
        assert!(found(line, 3, 2));
        assert!(!found(line, 2, 3));
        assert!(!found(line, 2, 2), "what is stored is not looked at");
    }

    #[test]
    fn rings_end_where_they_began() {
        assert!(!found(&[&[1], &[2], &[1, 0]], 0, 9));
        assert!(found(&[&[1], &[2], &[1, 3], &[0]], 0, 3));
    }
}
