// wanted: expected `&Array<f32>`, found `&Array<u32>`
use jit::prelude::*;

// The module that the tests of bundles have written.
jit::include_bundle!(kernels in "../../../../tests/bundle/golden");

// Its functions name types of their program.
mod functions {
    use jit::prelude::*;

    #[derive(Clone, Traverse)]
    pub struct State {
        pub sum: Float,
    }

    #[derive(Clone, Traverse)]
    pub struct Outcome<T> {
        pub value: T,
    }
}

fn main() -> Result<(), jit::Error> {
    kernels::cube(&UInt::zeros(3), 3)?;
    Ok(())
}

// rows: N03
