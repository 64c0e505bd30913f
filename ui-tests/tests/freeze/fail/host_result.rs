// wanted: `Instant` cannot be an argument or the result of a `#[freeze]` function
use jit::prelude::*;

#[freeze]
fn timed(x: &Float) -> Float {
    let started = jit::freeze::host(std::time::Instant::now);
    x * started.elapsed().as_secs_f32()
}

fn main() {
    timed(&Float::arange(3));
}
