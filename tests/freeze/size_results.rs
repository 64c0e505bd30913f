//! Sizes as results and arguments of frozen functions.

use jit::Size;
use jit::prelude::*;

#[derive(Clone, Traverse)]
struct Part {
    elements: Float,
    width: Size,
    padded: Option<Size>,
}

#[freeze]
fn part(x: &Float, log: &mut Vec<Size>) -> (Part, Size) {
    let half = x.gather(&UInt::arange(x.width() / 2));
    log[0] = x.width() * 3;
    let kept = x.filter(&x.gt(2.5)).width();
    (Part { width: half.width(), padded: Some(x.width().div_ceil(4) * 4), elements: half }, kept)
}

#[test]
fn sizes_that_are_given_back_are_those_of_the_call() {
    for width in [10_usize, 23, 7, 1000] {
        let x = Float::arange(width).make_opaque();
        let mut log = vec![Size::from(0), Size::from(5)];
        let (part, kept) = part(&x, &mut log);
        assert_eq!((part.width.get(), part.elements.len()), (width / 2, width / 2));
        assert_eq!(part.padded.unwrap(), width.div_ceil(4) * 4);
        assert_eq!((kept.get(), log[0].get(), log[1].get()), (width - 3, 3 * width, 5));
    }
    crate::frozen_only!();
    assert_eq!(part::stats().recordings, 1, "{:?}", part::explain());
}

#[freeze]
fn padded(x: &Float, to: Size) -> Float {
    Float::zeros(x.width().max(to))
}

#[test]
fn sizes_that_are_given_are_numbers_of_the_host() {
    for (width, to, recordings) in [(4, 8, 1), (6, 8, 1), (6, 7, 2), (4, 8, 2)] {
        let x = Float::arange(width).make_opaque();
        assert_eq!(padded(&x, Size::from(to)).len(), to);
        crate::frozen_only!(assert_eq!(padded::stats().recordings, recordings));
    }
}
