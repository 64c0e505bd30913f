use jit::prelude::*;

#[jit]
fn host<T: Clone + PartialOrd + std::ops::Add<Output = T>>(name: String, a: T, b: T) -> (String, T, bool) {
    let both = name.clone() + &name;
    let sum = a + b;
    let less = a < b && sum > a;
    (both, sum, less || name == "x")
}

fn main() {
    assert_eq!(host("x".to_owned(), 2, 1), ("xx".to_owned(), 3, true));
    assert_eq!(host("y".to_owned(), 2.0, 1.0), ("yy".to_owned(), 3.0, false));
}
