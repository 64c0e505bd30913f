//! Truth values: logic, comparison, selection.

use crate::agree::{Binary, Ternary, Unary, binary, ternary, unary};

#[test]
fn logic_of_masks() {
    let table: [Unary<bool, bool>; 1] = [("not", |a| !a, |a| !a)];
    unary(&table);
    let table: [Binary<bool, bool>; 9] = [
        ("and", |a, b| a & b, |a, b| a && b),
        ("or", |a, b| a | b, |a, b| a || b),
        ("xor", |a, b| a ^ b, |a, b| (a && !b) || (b && !a)),
        ("lt", |a, b| a.lt(b), |a, b| !a && b),
        ("le", |a, b| a.le(b), |a, b| !a || b),
        ("gt", |a, b| a.gt(b), |a, b| a && !b),
        ("ge", |a, b| a.ge(b), |a, b| a || !b),
        ("eq", |a, b| a.eq(b), |a, b| (a && b) || (!a && !b)),
        ("ne", |a, b| a.ne(b), |a, b| (a && !b) || (b && !a)),
    ];
    binary(&table);
    let table: [Ternary<bool, bool>; 1] = [("select", |a, b, c| a.select(b, c), |a, b, c| if a { b } else { c })];
    ternary(&table);
}
