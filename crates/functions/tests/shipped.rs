//! The functions that come with weir.

use functions::{Functions, Package};

#[test]
fn all_schemas_compile_together_and_each_alone() {
    let all = Functions::shipped();
    assert_eq!(all.iter().count(), Package::shipped_names().count());
    for name in Package::shipped_names() {
        assert!(Functions::shipped_one(name).is_some_and(|one| one.get(name).is_some()), "{name}");
    }
}
