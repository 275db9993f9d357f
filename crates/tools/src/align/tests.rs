use expect_test::{expect, Expect};

use super::*;
use crate::testing::{flat, unparse};

fn check(text: &str, expected: Expect) {
    let (mut router, _) = flat(text);
    let mut diagnostics = Diagnostics::default();
    align(&mut router, true, &mut diagnostics);
    expected.assert_eq(&format!("{}{}", unparse(&router), lang::click_texts(&diagnostics.list)));
}

#[test]
fn frames_whose_header_would_lie_askew_are_aligned_once() {
    check(
        "src :: Whatever -> c :: Classifier(12/0800) -> s :: Strip(14) -> ch :: CheckIPHeader -> d :: Discard",
        expect![[r#"
            src :: Whatever;
            c :: Classifier(12/0800);
            s :: Strip(14);
            ch :: CheckIPHeader;
            d :: Discard;
            Align@click_align@6 :: Align(4, 2);
            AlignmentInfo@click_align@9 :: AlignmentInfo(c  4 2,
              ch  4 0);
            src -> Align@click_align@6
                -> c
                -> s
                -> ch
                -> d;
            c[0]: adding Align(4, 2) to fix EMPTY
            s[0]: adding Align(4, 2) to fix EMPTY
            ch[0]: adding Align(4, 0) to fix EMPTY
            warning: added 1 Align element
        "#]],
    );
    check(
        "FromDevice(a) -> c :: Classifier(12/0800, -) -> ch :: CheckIPHeader(14) -> d :: Discard; c[1] -> d",
        expect![[r#"
            FromDevice@1 :: FromDevice(a);
            c :: Classifier(12/0800, -);
            ch :: CheckIPHeader(14);
            d :: Discard;
            AlignmentInfo@click_align@5 :: AlignmentInfo(c  4 2,
              ch  4 2);
            FromDevice@1 -> c
                -> ch
                -> d;
            c [1] -> d;
        "#]],
    );
}

#[test]
fn branches_that_want_different_alignments_get_their_own() {
    check(
        "x :: FromDevice(eth0) -> t :: Tee; t -> Strip(1) -> a :: CheckIPHeader -> Discard;
         t[1] -> b :: CheckIPHeader(7) -> Discard; Idle -> c :: CheckIPHeader -> Discard",
        expect![[r#"
            x :: FromDevice(eth0);
            t :: Tee;
            Strip@3 :: Strip(1);
            a :: CheckIPHeader;
            Discard@5 :: Discard;
            b :: CheckIPHeader(7);
            Discard@7 :: Discard;
            Idle@8 :: Idle;
            c :: CheckIPHeader;
            Discard@10 :: Discard;
            Align@click_align@11 :: Align(4, 3);
            Align@click_align@13 :: Align(4, 1);
            AlignmentInfo@click_align@14 :: AlignmentInfo(a  4 0,
              b  4 1,
              c  1 0);
            x -> t
                -> Align@click_align@11
                -> Strip@3
                -> a
                -> Discard@5;
            t [1] -> Align@click_align@13
                -> b
                -> Discard@7;
            Idle@8 -> c
                -> Discard@10;
            Strip@3[0]: adding Align(4, 3) to fix 4/2
            a[0]: adding Align(4, 0) to fix 4/3
            b[0]: adding Align(4, 1) to fix 4/2
            warning: added 2 Align elements
        "#]],
    );
}

#[test]
fn of_aligns_in_a_row_the_needed_stay() {
    for (text, expected) in [
        (
            "x :: X -> Align(8, 0) -> Align(4, 2) -> y :: Y",
            expect![[r#"
            x :: X;
            Align@3 :: Align(4, 2);
            y :: Y;
            x -> Align@3
                -> y;
        "#]],
        ),
        (
            "x :: X -> a :: Align(8, 2) -> b :: Align(4, 2) -> y :: Y; a -> z :: Z; w :: W -> b",
            expect![[r#"
            x :: X;
            a :: Align(8, 2);
            b :: Align(4, 2);
            y :: Y;
            z :: Z;
            w :: W;
            x -> a
                -> z;
            w -> b
                -> y;
            a -> y;
        "#]],
        ),
        (
            "x :: X -> a :: Align(4, 2) -> b :: Align(8, 0) -> y :: Y; z :: Z -> a; w :: W -> b",
            expect![[r#"
            x :: X;
            b :: Align(8, 0);
            y :: Y;
            z :: Z;
            w :: W;
            x -> b
                -> y;
            z -> b;
            w -> b;
        "#]],
        ),
    ] {
        check(text, expected);
    }
}

#[test]
fn what_is_wrong_or_runs_in_circles_is_left_alone() {
    check("x :: X -> s :: Strip(-1) -> a :: Align(4, 4) -> t :: Tee; t -> Strip(1) -> s; t[1] -> c :: CheckIPHeader -> Discard", expect![[r#"
        x :: X;
        s :: Strip(-1);
        t :: Tee;
        Strip@5 :: Strip(1);
        c :: CheckIPHeader;
        Discard@7 :: Discard;
        Align@click_align@8 :: Align(4, 0);
        AlignmentInfo@click_align@9 :: AlignmentInfo(c  4 0);
        x -> s
            -> t
            -> Strip@5
            -> s;
        t [1] -> Align@click_align@8
            -> c
            -> Discard@7;
        While analyzing alignment for 's :: Strip':
          LENGTH: invalid number
        While analyzing alignment for 'a :: Align':
          OFFSET must be smaller than MODULUS
        c[0]: adding Align(4, 0) to fix EMPTY
        warning: added 1 Align element
    "#]]);
}

#[test]
fn assertions_stand_before_who_wants_alignment() {
    let (mut router, _) =
        flat("FromDevice(a) -> Strip(14) -> CheckIPHeader -> UDPIPEncap(1.1.1.1, 1, 2.2.2.2, 2) -> Discard");
    assert_alignment(&mut router, &mut Diagnostics::default());
    expect![[r#"
        FromDevice@1 :: FromDevice(a);
        Strip@2 :: Strip(14);
        CheckIPHeader@3 :: CheckIPHeader;
        UDPIPEncap@4 :: UDPIPEncap(1.1.1.1, 1, 2.2.2.2, 2);
        Discard@5 :: Discard;
        CheckAlign@click_align@6 :: CheckAlign(4, 0, ASSERT true);
        CheckAlign@click_align@7 :: CheckAlign(4, 0, ASSERT true);
        FromDevice@1 -> Strip@2
            -> CheckAlign@click_align@6
            -> CheckIPHeader@3
            -> CheckAlign@click_align@7
            -> UDPIPEncap@4
            -> Discard@5;
    "#]]
    .assert_eq(&unparse(&router));
}
