//! Transformations of configurations: one into another, or into a report about it.
//!
//! A [`Router`] is a configuration that can be changed: elements and connections in the order in which Click's tools keep
//! them, so that what is written is what they write. No tool needs to know the classes; those that ask are given facts.
#![forbid(unsafe_code)]

mod align;
mod check;
mod combine;
mod connections;
mod drawing;
mod elements;
mod expand;
pub mod fuse;
mod isomorphism;
mod liveness;
mod markup;
mod picture;
mod ports;
mod pretty;
mod router;
mod templates;
#[cfg(test)]
mod testing;
mod tunnels;
mod uncombine;
mod undead;
mod unparse;
mod wiring;
mod xform;

use graph::ClassFacts;

pub use align::{align, assert_alignment};
pub use check::{check, check_outline};
pub use combine::{combine, Component};
pub use drawing::{write_drawing, Drawing};
pub use expand::{flatten, router};
pub use pretty::{pretty, Links, Page};
pub use router::{Element, Port, Router};
pub use templates::{GRAPH_TEMPLATE, HTML_TEMPLATE};
pub use uncombine::uncombine;
pub use undead::undead;
pub use unparse::{classes, unparse, write};
pub use xform::{patterns, xform, Pattern};

/// Where the facts about a class come from; `None` if there is no such class.
pub type Facts<'a> = &'a dyn Fn(&str) -> Option<&'static ClassFacts>;

#[cfg(test)]
mod tests {
    use graph::Diagnostics;
    use proptest::prelude::*;

    use crate::testing::{facts, flat, outline};
    use crate::*;

    fn text() -> impl Strategy<Value = String> {
        let words = [
            "a",
            "b",
            "a :: Tee",
            "b :: Null",
            "->",
            "->",
            "->",
            "=>",
            ";",
            ";",
            "{",
            "}",
            "(",
            ")",
            "[1]",
            "[0]",
            "input",
            "output",
            "Queue",
            "Idle",
            "StaticSwitch(1)",
            "RoundRobinSched",
            "FromDevice(a, ALIGNMENT 4 1)",
            "Classifier(12/0800, -)",
            "Strip(14)",
            "CheckIPHeader(14)",
            "Align(4, 2)",
            "elementclass P {",
            "elementclass P_Replacement {",
            "P",
            "P($a)",
            "$a |",
            "||",
            "...",
            "RouterLink(x y Z, c, x y Z)",
            "define($a $a$a)",
            "Counter($a)",
            ",",
            "# 1 \"g\"\n",
            "//\n",
            "/*",
            "'",
            "\u{e9}",
            "a/b :: Tee",
        ];
        proptest::collection::vec(proptest::sample::select(words.to_vec()), 0..40)
            .prop_map(|list| list.join(" "))
    }

    proptest! {
        #[test]
        fn any_text_goes_through_all_tools(text in text(), other in text()) {
            let (router, _) = flat(&text);
            let written = unparse(&router);
            let (again, told) = flat(&written);
            prop_assert!(!told.contains("syntax error"), "{told}\n{written}");
            prop_assert_eq!(unparse(&again).matches("->").count(), written.matches("->").count());
            let mut diagnostics = Diagnostics::default();
            check(&router, &facts, &mut diagnostics);
            undead(&mut router.clone(), &facts, true, &mut diagnostics);
            align(&mut router.clone(), true, &mut diagnostics);
            assert_alignment(&mut router.clone(), &mut diagnostics);
            uncombine(&mut router.clone(), "x", "f", &mut diagnostics);
            let other = outline(&other, &mut diagnostics);
            for is_reversed in [false, true] {
                let mut router = router.clone();
                if patterns(&other).len() < 2 {
                    xform(&mut router, &patterns(&other), is_reversed, &mut diagnostics);
                }
            }
            let parts = [("a", router.clone()), ("b", router)];
            let parts = parts.map(|(name, router)| Component { name: name.to_string(), router });
            combine(&parts, &["a.b=b.a".to_string()], None, &mut diagnostics, &mut Diagnostics::default());
        }

        #[test]
        fn any_text_makes_a_page(text in text(), template in "[<~>a-z='\" /]{0,30}") {
            let outline = outline(&text, &mut Diagnostics::default());
            let router = router(&outline);
            let (links, definitions) = (Links { classes: Some("x/%s".to_string()) }, [("a".to_string(), "<~a><~a>".to_string())]);
            let page = Page { name: "f", text: &text, outline: &outline, router: &router, links: &links, definitions: &definitions };
            for template in [HTML_TEMPLATE, template.as_str()] {
                pretty(&page, template, &facts);
            }
            for drawing in [Drawing::Dot, Drawing::Gml, Drawing::GraphMl] {
                write_drawing(&page, drawing, GRAPH_TEMPLATE, &facts);
            }
        }
    }
}
