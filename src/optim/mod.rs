//! Optimisers: gradient descent and its relatives, over any value that is [`Traverse`](crate::Traverse).
//!
//! An optimiser holds its state in the form of the parameters, and its settings as arrays, most of width 1. So it is
//! itself `Traverse`: a frozen step takes and changes it like the parameters, and another rate needs no other
//! recording. A step is lazy, and fuses with what computes the gradients. Parameters that are no floats stay as they
//! are.
//!
//! ```
//! use jit::optim::Adam;
//! use jit::prelude::*;
//!
//! #[freeze]
//! fn step(x: &mut Float, adam: &mut Adam<Float>) -> Float {
//!     let loss = |x: &Float| ((x - 3.0) * (x - 3.0)).sum();
//!     let (loss, gradient) = jit::ad::value_and_grad(loss)(x).expect("it has derivatives");
//!     adam.step(x, &gradient);
//!     loss
//! }
//!
//! let mut x = Float::from(vec![0.0, 10.0]);
//! let mut adam = Adam::new(&x, 0.3);
//! for round in 0..300 {
//!     if round == 200 {
//!         adam.settings.rate = 0.1.into();
//!     }
//!     step(&mut x, &mut adam);
//! }
//! assert!(x.to_vec()?.iter().all(|x| (x - 3.0).abs() < 0.01));
//! # Ok::<(), jit::Error>(())
//! ```
//!
//! | to | write |
//! |---|---|
//! | change a setting between steps | `adam.settings.rate = 0.1.into()`, a number or an array |
//! | change a setting by a plan: warm-up, cosine, steps | [`Schedule`] |
//! | give parts of the parameters settings of their own; the others follow those of all | [`Optimizer::with_group`] |
//! | give a part a multiple of the rate of all | `part.rate = part.rate.scaled(0.1)`, [`Setting::scaled`] |
//! | leave out arrays or elements in one step | [`Optimizer::step_masked`] |
//! | leave out what had no gradient | [`Optimizer::with_skip`] |
//! | bound the gradients | [`clip_norm`], [`clip_value`] |
//! | add up the gradients of several batches | [`accumulate`], [`zeros_like`], [`scaled`] |
//! | know or penalise the size of gradients or parameters | [`norm`], [`squared_norm`] |
//! | average the parameters over many steps | [`Average`] |
//! | train in halves | [`LossScaler`] |
//! | write a method of your own | [`Method`] |
//!
//! The formulas are those of PyTorch's classes of the same names.

mod adam;
mod clip;
mod combine;
mod group;
mod leaf;
mod loss_scaler;
mod method;
mod momentum;
mod optimizer;
mod rms_prop;
mod schedule;
mod setting;
mod sgd;

pub use adam::{Adam, AdamMethod, AdamW, AdamWMethod};
pub use clip::{clip_norm, clip_value};
pub use combine::{Average, accumulate, norm, scaled, squared_norm, zeros_like};
pub use loss_scaler::LossScaler;
pub use method::Method;
pub use momentum::{Momentum, MomentumMethod};
pub use optimizer::{Optimizer, Skip};
pub use rms_prop::{RmsProp, RmsPropMethod};
pub use schedule::Schedule;
pub use setting::Setting;
pub use sgd::{Sgd, SgdMethod};
