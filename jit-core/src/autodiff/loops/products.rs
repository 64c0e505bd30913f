//! Arrays whose elements a loop multiplies.
//!
//! The derivative by a factor needs the product of all others, of all iterations. So the loop runs once more before its
//! derivative, and collects the factors in arrays as wide as the one that it multiplies.

use jit_runtime::Error;

use super::super::factors::Factors;
use super::history::closure;
use super::parts::Loop;
use super::{record_run, writes};
use crate::graph::Var;
use crate::graph::payload::Write;

/// Returns the factors of an array after a loop that multiplies.
#[track_caller]
pub(super) fn factors(control: &Var, position: usize) -> Result<Factors, Error> {
    let of = Loop::new(control, None);
    let before = Factors::of(&of.states()[position].init);
    collect(&of, position, before)
}

/// Adds the factors of all iterations of a loop.
#[track_caller]
fn collect(of: &Loop<'_>, position: usize, before: Factors) -> Result<Factors, Error> {
    let writes = writes::of(of.payload, position);
    let mut read = writes::inputs(of.payload, position);
    read.push(of.payload.condition.clone());
    let run = closure(of, [], &read);
    let states: Vec<Var> = run.iter().map(|&position| of.init(position)).chain(before.into_states()).collect();
    let mut after = record_run(
        &states,
        (of.site, of.bound_of_run(&run, 0)),
        |states| of.condition(&run, &states[..run.len()]),
        |mut states| {
            let mut factors = Factors::from_states(states.split_off(run.len()));
            let mut copy = of.copy_with_writes(&run, &states);
            for write in &writes {
                factors = match copy.write(write)? {
                    Write::Scatter { index, value, mask, .. } => {
                        factors.multiply(&index, &value, mask.as_ref());
                        factors
                    }
                    Write::Loop { control, position } => collect(&Loop::new(&control, None), position, factors)?,
                };
            }
            Ok(of.step(&run, &states)?.into_iter().chain(factors.into_states()).collect())
        },
    )?;
    Ok(Factors::from_states(after.split_off(run.len())))
}
