// wanted: closure may outlive the current function, but it borrows `x`
use jit::prelude::*;

#[freeze]
fn sorted(x: &Float) -> Float {
    let x = x * 2.0;
    let sorted = jit::freeze::host(|| {
        let mut elements = x.to_vec().unwrap();
        elements.sort_by(f32::total_cmp);
        Float::from(elements)
    });
    sorted + &x
}

fn main() {
    sorted(&Float::arange(3));
}
