//! Convolutions and their transposes, in the order of [`crate::backend::library`].
//!
//! All three are products of matrices, one for each group of channels, whose second factor is never made: blocks read
//! its elements from the source where they are, and zeros outside of it ("implicit GEMM", as Chetlur and others,
//! "cuDNN: Efficient primitives for deep learning", 2014).
//!
//! | computed | rows | columns | products of a sum |
//! |---|---|---|---|
//! | result | result channels | images, places of the result | channels, elements of a kernel |
//! | input | channels | images, places of the input | result channels, elements of a kernel |
//! | kernels | result channels | channels, elements of a kernel | images, places of the result |
//!
//! Columns and products are numbers with four digits: a channel or an image, and a place along each axis. Where the
//! source is read, and what the other factor and the target are, is a sum of multiples of these digits. So one kernel
//! computes all three; the multiples are its parameters.
//!
//! In the transposes by the input, places at the distance of the stride meet results by the same elements of the
//! kernels, others by other ones. Places with the same remainders belong to the same *class*, and each block computes a
//! tile of one class, so it multiplies nothing that is not a product.
//!
//! | part | file |
//! |---|---|
//! | the parameters of a launch | `geometry` |
//! | the code of a tile | `body` |
//! | numbers with four digits | `digits` |
//! | copies of both factors to shared memory | `factors` |
//! | classes of places | `class` |

mod body;
mod class;
mod digits;
mod factors;
mod geometry;

use super::super::Target;
use super::Routine;
use super::builder::Builder;
use super::element::combined_type;
use super::matmul::{self, Tiles};
use super::plan::{Argument, Plan};
use crate::backend::library::{AXES, Convolution, MatMul, Sought};
use crate::ir::Type;
use class::Window;
use geometry::Geometry;

/// A kernel of convolutions: computes tiles.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Convolve {
    /// The type of the elements.
    pub ty: Type,
    /// The size of tiles.
    pub tiles: Tiles,
    /// Whether places are computed in classes: in transposes by the input.
    pub has_classes: bool,
    /// Whether the results are parts of sums, which are stored in the type in which they are combined.
    pub is_in_parts: bool,
}

impl Convolve {
    /// Each kernel of convolutions, also those that are in no plan.
    pub(super) fn all() -> impl Iterator<Item = Convolve> {
        let forms = [(false, false), (false, true), (true, false), (true, true)];
        let of_type = |ty| Tiles::ALL.map(|tiles| (ty, tiles));
        Type::ALL.into_iter().flat_map(of_type).flat_map(move |(ty, tiles)| {
            forms.map(|(has_classes, is_in_parts)| Convolve { ty, tiles, has_classes, is_in_parts })
        })
    }

    pub(super) fn threads(self) -> u32 {
        self.tiles.size(self.ty).threads()
    }

    pub(super) fn name(self) -> String {
        let Convolve { ty, tiles, has_classes, is_in_parts } = self;
        let classes = if has_classes { "_classes" } else { "" };
        let parts = if is_in_parts { "_parts" } else { "" };
        format!("convolve_{}_{ty}{classes}{parts}", tiles.name())
    }

    /// The type of what is stored.
    fn stored(self) -> Type {
        if self.is_in_parts { combined_type(self.ty) } else { self.ty }
    }
}

/// The plan of a convolution; none if it reaches too far for numbers of 32 bits.
pub(super) fn plan(convolution: Convolution, ty: Type) -> Option<Plan> {
    plan_in(None, convolution, ty)
}

/// The plan with tiles of a size, or of the best one.
pub(in crate::backend::cuda) fn plan_in(tiles: Option<Tiles>, convolution: Convolution, ty: Type) -> Option<Plan> {
    if !geometry::has_short_positions(&convolution) {
        return None;
    }
    let mut plan = Plan::default();
    let len = convolution.operand_lens()?[2];
    if len == 0 {
        return Some(plan);
    }
    let (parts, lanes, geometry) = (convolution.parts(), convolution.lanes(), Geometry::of(&convolution));
    let [rows, columns] = [geometry.rows, geometry.columns].map(|length| length as usize);
    let batch = convolution.groups * class::count(&convolution) * parts * lanes;
    let tiles = tiles.unwrap_or_else(|| Tiles::of(&MatMul { batch, ..MatMul::new(rows, 0, columns) }, ty));
    let [down, across] = [rows, columns].map(|length| length.div_ceil(tiles.size(ty).items as usize));
    let is_in_parts = parts * lanes > 1;
    let sums = match is_in_parts {
        false => Argument::Output(0),
        true => plan.temporary((len * parts * lanes * combined_type(ty).size_bytes()) as u64),
    };
    // The results come first if they are an operand.
    let (factor, source) = if convolution.sought == Sought::Kernel { (0, 1) } else { (1, 0) };
    let mut arguments = vec![Argument::Input(factor), Argument::Input(source), sums];
    let mut add = |word: u32| arguments.push(Argument::Word(word));
    [down, across, parts, lanes].into_iter().for_each(|size| add(size as u32));
    geometry.each(|_, word| add(word));
    let has_classes = convolution.sought == Sought::Input;
    if has_classes {
        (0..AXES).for_each(|axis| Window::of(&convolution, axis).each(&mut add));
    }
    let routine = Convolve { ty, tiles, has_classes, is_in_parts };
    let blocks = down.checked_mul(across)?.checked_mul(batch)?;
    plan.launch(Routine::Convolve(routine), blocks, arguments);
    if is_in_parts {
        add_lanes_and_parts(&mut plan, sums, ty, len, [lanes, parts]);
    }
    Some(plan)
}

/// Adds the lanes of each part of so many sums, and then the parts.
fn add_lanes_and_parts(plan: &mut Plan, sums: Argument, ty: Type, len: usize, [lanes, parts]: [usize; 2]) {
    let combined = combined_type(ty);
    let sums = match lanes {
        1 => sums,
        _ if parts == 1 => return matmul::add_parts(plan, [sums, Argument::Output(0)], ty, len, lanes),
        _ => {
            let of_parts = plan.temporary((len * parts * combined.size_bytes()) as u64);
            matmul::add_parts(plan, [sums, of_parts], combined, len * parts, lanes);
            of_parts
        }
    };
    matmul::add_parts(plan, [sums, Argument::Output(0)], ty, len, parts);
}

pub(super) fn body(convolve: Convolve, target: Target) -> Builder {
    body::convolve(convolve, target)
}
