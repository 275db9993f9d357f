//! What is behind an element up to the next stores. Who looks at packets there matters as what is stored long has left the processor's
//! caches, and is worth bringing near where somebody does.

use std::collections::HashSet;

/// The elements that packets come to behind `from`, as far as those that store them, which are among these. `next`: the elements to which
/// an element leads; `stores`: whether it stores packets.
pub fn behind(from: u32, next: impl Fn(u32) -> Vec<u32>, stores: impl Fn(u32) -> bool) -> Vec<u32> {
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    let mut leads_on = vec![from];
    while let Some(element) = leads_on.pop() {
        for element in next(element) {
            if known.insert(element) {
                found.push(element);
                if !stores(element) {
                    leads_on.push(element);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(graph: &[&[u32]], stores: u32, reads: u32) -> bool {
        let next = |element: u32| graph[element as usize].to_vec();
        behind(0, next, |element| element == stores)
            .into_iter()
            .any(|element| element != stores && element == reads)
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
