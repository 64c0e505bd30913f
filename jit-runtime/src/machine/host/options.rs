//! The options for the code of a launch on the host: how it stores results, and how it combines scatters.

use crate::backend::{CodeOptions, Effort};
use crate::cache::cost;
use crate::config::{self, Tier};
use crate::ir::{Kernel, Op, Param};
use crate::machine::Argument;

use super::private;

/// Targets of scatters are private where that is faster. Results bypass the cache if the arrays of the launch would not
/// fit into it. That helps kernels that stream: in a kernel with a loop, the arithmetic takes longer than the stores.
pub(super) fn code_options(kernel: &Kernel, width: usize, arguments: &[Argument]) -> CodeOptions {
    let each = kernel.params.iter().zip(arguments).map(|(param, argument)| traffic(param, argument));
    let bytes = each.fold(0_usize, usize::saturating_add);
    let streaming_stores =
        bytes > cost::streaming_threshold() && width > 1 && stores_by_lane(kernel) && !kernel.has_loop();
    CodeOptions { streaming_stores, scatters: private::choose(kernel, width, arguments), effort: effort() }
}

/// The time that code generation may take.
pub(crate) fn effort() -> Effort {
    match config::get().tier {
        Tier::Auto => Effort::Quick,
        Tier::Always(effort) => effort,
    }
}

/// All options that [`code_options`] may choose for a kernel, with the most effort.
pub(crate) fn all_code_options(kernel: &Kernel) -> Vec<CodeOptions> {
    let plain = CodeOptions { effort: Effort::Thorough, ..CodeOptions::default() };
    let mut all = vec![plain];
    if stores_by_lane(kernel) && !kernel.has_loop() {
        all.push(CodeOptions { streaming_stores: true, ..plain });
    }
    let each: Vec<CodeOptions> = all.clone();
    for scatters in private::choices(kernel) {
        all.extend(each.iter().map(|options| CodeOptions { scatters, ..*options }));
    }
    all
}

fn stores_by_lane(kernel: &Kernel) -> bool {
    kernel.regions.first().is_some_and(|top| top.insts.iter().any(|inst| matches!(inst.op, Op::Store { .. })))
}

fn traffic(param: &Param, argument: &Argument) -> usize {
    argument.elements().saturating_mul(param.ty().size_bytes())
}
