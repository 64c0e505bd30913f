//! The functions of a bundle with arguments and results of all kinds, and the bundle.

use jit::bundle::{Builder, Target};
use jit::prelude::*;
use jit::{Executor, Result};

#[derive(Clone, Traverse)]
pub(crate) struct State {
    pub(crate) sum: Float,
    pub(crate) counts: Vec<UInt>,
}

#[derive(Clone, Traverse)]
pub(crate) struct Outcome<T> {
    pub(crate) value: T,
    pub(crate) width: Size,
    pub(crate) steps: u32,
}

/// A number alone, in an expression with literals, in two functions of floats, and in a cast.
#[jit]
pub(crate) fn saxpy(a: f32, n: u32, x: &Float, y: Float) -> Float {
    let half = a * 0.5;
    (a * x + half * y) + (-a).abs().max(1.5) + n as f32 * x
}

#[jit]
pub(crate) fn accumulate(
    state: &mut State,
    x: &Float,
    list: &[UInt],
    #[constexpr] scale: u32,
) -> Outcome<Option<Tensor<f32>>> {
    state.sum += x * scale as f32;
    state.counts[0].scatter_add(UInt::from(1), &list[0]);
    Outcome { value: Some(Tensor::from(x.prefix_sum())), width: x.width() + 1, steps: scale }
}

/// A number that decides, and that keeps its value.
#[jit]
pub(crate) fn powers(x: &Float, n: u32) -> (Float, Half) {
    let mut y = x.clone();
    for _ in 1..n {
        y = y * x;
    }
    (y.clone(), y.cast())
}

/// No arguments.
#[jit]
pub(crate) fn threes() -> UInt {
    UInt::arange(4) * 3
}

type Saxpy = fn(f32, u32, &Float, Float) -> Float;
type Accumulate = fn(&mut State, &Float, &[UInt]) -> Outcome<Option<Tensor<f32>>>;

pub(crate) fn compile_saxpy() -> Result<Executor<Saxpy>> {
    saxpy::compile(2.0, 3, &Float::placeholder(100), Float::placeholder(100))
}

pub(crate) fn accumulating(scale: u32) -> Result<Executor<Accumulate>> {
    let mut state = State { sum: Float::placeholder(10), counts: vec![UInt::placeholder(4), UInt::placeholder(5)] };
    accumulate::compile(&mut state, &Float::placeholder(10), &[UInt::placeholder(7)], scale)
}

/// The bundle whose module is in the repository, without machine code.
pub(crate) fn bundle() -> Builder<'static> {
    Builder::new("kernels")
        .add("saxpy", compile_saxpy)
        .add("accumulate", || accumulating(5))
        .add("cube", || powers::compile(&Float::placeholder(10), 3))
        .add("threes", threes::compile)
        .with_path::<State>("crate::functions::State")
        .with_path::<Outcome<f32>>("crate::functions::Outcome")
        .targets([] as [Target; 0])
}
