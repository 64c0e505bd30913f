//! The trait need not be in scope, and the crate may have another name.
#![deny(warnings)]

mod tracing {
    pub use jit::*;
}

#[derive(jit::Traverse)]
#[traverse(crate = crate::tracing)]
struct State {
    r#where: jit::Float,
    #[traverse(constexpr)]
    mode: Mode,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Mode {
    Fast,
}

#[derive(jit::Traverse)]
struct Macro(list!(jit::Float));

macro_rules! list {
    ($ty:ty) => { Vec<$ty> };
}
use list;

fn main() {
    let state = State { r#where: jit::Float::from(1.0), mode: Mode::Fast };
    assert_eq!(state.mode, Mode::Fast);
    let paths = jit::leaves(&(state, Macro(vec![]))).into_iter().map(|(path, _)| path);
    assert_eq!(paths.collect::<Vec<_>>(), ["0.where"]);
}
