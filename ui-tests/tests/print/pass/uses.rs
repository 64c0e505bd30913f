use jit::prelude::*;

#[derive(Debug, PartialEq)]
enum Color {
    Red,
}

#[jit]
fn check(x: Float, n: f32, color: Color) -> Float {
    assert!(n > 0.0, "{:?} {n:1$}", color, 5);
    assert!(x > 0.0, "{x:?} {:.3} {name}", x * 2.0, name = "x");
    assert_eq!(color, Color::Red, "{x}");
    assert_ne!(x, n,);
    #[host]
    assert_eq!(color, Color::Red);
    debug_assert!(x < 9.0);
    let y = if x > 1.0 {
        jit::print!("{{{x:>8.2}}} {0} {color}", x + n, color = "red", limit = 2 + 1);
        x + 1.0
    } else {
        x.clone()
    };
    match n as u32 {
        0 => assert!(y > x),
        _ => assert_eq!(y, y, "the same"),
    }
    y
}

fn main() {
    check(Float::from(2.0), 1.0, Color::Red);
    jit::print!("");
    jit::print!("{}", (1, "a"),);
}
