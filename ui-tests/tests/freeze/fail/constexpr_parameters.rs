// wanted: a `#[constexpr]` parameter must be known while tracing; `&Array<f32>` is not
use jit::prelude::*;

#[freeze]
fn of_an_array(x: &Float, #[constexpr] factor: &Float) -> Float {
    x * factor
}

#[freeze]
fn of_a_pattern(x: &Float, #[constexpr] (n, m): (u32, u32)) -> Float {
    x * (n + m) as f32
}

#[freeze]
fn of_a_function(x: &Float, #[constexpr] f: impl Fn(&Float) -> Float) -> Float {
    f(x)
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Mode {
    Twice,
}

#[freeze]
fn of_an_enum(x: &Float, #[constexpr] mode: Mode) -> Float {
    match mode {
        Mode::Twice => x + x,
    }
}

fn main() {}
