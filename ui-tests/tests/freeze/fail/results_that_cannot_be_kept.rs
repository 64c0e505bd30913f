// wanted: `Once` cannot be an argument or the result of a `#[freeze]` function
use jit::prelude::*;

#[derive(Traverse)]
struct Once {
    x: Float,
}

struct Plain {
    n: u32,
}

#[freeze]
fn once(x: &Float) -> Once {
    Once { x: x + 1.0 }
}

#[freeze]
fn plain(x: &Float) -> (Float, Plain) {
    (x + 1.0, Plain { n: 3 })
}

#[freeze]
fn boxed(x: &Float) -> Box<dyn Fn() -> u32> {
    let n = x.len() as u32;
    Box::new(move || n)
}

fn main() {
    println!("{}", plain(&Float::from(1.0)).1.n);
}
