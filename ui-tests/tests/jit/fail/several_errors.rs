// wanted: `.await` cannot appear in a `#[jit]` function
use jit::prelude::*;

#[jit(labl = "f")]
async fn wrong(x: Float, y: std::future::Ready<Float>) -> Float {
    let __jit_x = x;
    #[symbolic]
    for _ in [__jit_x] {}
    y.await
}

fn caller() {
    // The name resolves, so that it causes no further error.
    let _ = wrong;
}

fn main() {}
