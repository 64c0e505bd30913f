//! The parameters of a launch: sizes, and the multiples of digits that are places in memory.

use crate::backend::library::{AXES, Convolution, Sought};

/// Sizes and multiples: numbers in a plan, registers in code. Distances are numbers of elements, and wrap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Geometry<T> {
    pub(super) groups: T,
    /// The rows of a group, and its columns; of the largest class, if there are classes.
    pub(super) rows: T,
    pub(super) columns: T,
    /// The products of a sum are so many lines of this length; parts begin with lines.
    pub(super) lines: T,
    pub(super) line_length: T,
    /// The last three digits of a column and of a product are below these.
    pub(super) column_radices: [T; AXES],
    pub(super) product_radices: [T; AXES],
    /// The lengths of the source, whose place along an axis is the origin and multiples of the digits of that axis.
    pub(super) lengths: [T; AXES],
    pub(super) origins: [T; AXES],
    pub(super) column_steps: [T; AXES],
    pub(super) product_steps: [T; AXES],
    /// The distances in the source from a group to the next, and those that belong to the first digits.
    pub(super) source_group: T,
    pub(super) source_column: T,
    pub(super) source_product: T,
    /// The distances in the factor: from a group and a row to the next, and those of the digits of a product.
    pub(super) factor_group: T,
    pub(super) factor_row: T,
    pub(super) factor_product: T,
    pub(super) factor_steps: [T; AXES],
    /// The distances in the target: from a part, group, row to the next, and those of the digits of a column.
    pub(super) target_part: T,
    pub(super) target_group: T,
    pub(super) target_row: T,
    pub(super) target_column: T,
    pub(super) target_steps: [T; AXES],
}

/// Calls a function with fields of one structure and with their names, and makes another one of the results.
macro_rules! each_field {
    ($all:ident, $call:ident, { $($one:ident),* }, { $($three:ident: $z:literal $y:literal $x:literal),* }) => {
        Geometry {
            $($one: $call(stringify!($one), $all.$one),)*
            $($three: {
                let [z, y, x] = $all.$three;
                [$call($z, z), $call($y, y), $call($x, x)]
            },)*
        }
    };
}

impl<T> Geometry<T> {
    /// Calls a function with each field, in the order of the parameters.
    pub(super) fn each<U>(self, mut call: impl FnMut(&'static str, T) -> U) -> Geometry<U> {
        each_field!(self, call, {
            groups, rows, columns, lines, line_length, source_group, source_column, source_product, factor_group,
            factor_row, factor_product, target_part, target_group, target_row, target_column
        }, {
            column_radices: "columns_z" "columns_y" "columns_x",
            product_radices: "products_z" "products_y" "products_x",
            lengths: "length_z" "length_y" "length_x",
            origins: "origin_z" "origin_y" "origin_x",
            column_steps: "column_step_z" "column_step_y" "column_step_x",
            product_steps: "product_step_z" "product_step_y" "product_step_x",
            factor_steps: "factor_step_z" "factor_step_y" "factor_step_x",
            target_steps: "target_step_z" "target_step_y" "target_step_x"
        })
    }
}

/// A product of sizes. It wraps only where an operand is empty, so that nothing is read.
fn product(sizes: &[usize]) -> u32 {
    sizes.iter().fold(1, |all, size| all.wrapping_mul(*size as u32))
}

fn volume(lengths: [usize; AXES]) -> usize {
    product(&lengths) as usize
}

/// The distances from an element to the next along each axis.
fn distances([_, y, x]: [usize; AXES]) -> [u32; AXES] {
    [product(&[y, x]), x as u32, 1]
}

/// Lengths as digits are below them: of nothing there is one, which is not read.
fn radices(lengths: [usize; AXES]) -> [u32; AXES] {
    lengths.map(|length| length.max(1) as u32)
}

impl Geometry<u32> {
    pub(super) fn of(convolution: &Convolution) -> Geometry<u32> {
        match convolution.sought {
            Sought::Result => Geometry::of_result(convolution),
            Sought::Input => Geometry::of_input(convolution),
            Sought::Kernel => Geometry::of_kernels(convolution),
        }
    }

    fn of_result(convolution: &Convolution) -> Geometry<u32> {
        let Convolution { batch, groups, channels, results, input, kernel, result, .. } = *convolution;
        let products = product(&[channels, volume(kernel)]);
        Geometry {
            groups: groups as u32,
            rows: results as u32,
            columns: product(&[batch, volume(result)]),
            lines: products,
            line_length: 1,
            column_radices: radices(result),
            product_radices: radices(kernel),
            lengths: input.map(|length| length as u32),
            origins: convolution.before.map(|before| (before as u32).wrapping_neg()),
            column_steps: convolution.strides.map(|stride| stride as u32),
            product_steps: convolution.dilations.map(|dilation| dilation as u32),
            source_group: product(&[channels, volume(input)]),
            source_column: product(&[groups, channels, volume(input)]),
            source_product: product(&input),
            factor_group: results as u32 * products,
            factor_row: products,
            factor_product: product(&kernel),
            factor_steps: distances(kernel),
            target_part: 0,
            target_group: product(&[results, volume(result)]),
            target_row: product(&result),
            target_column: product(&[groups, results, volume(result)]),
            target_steps: distances(result),
        }
    }

    /// As for the class of the first place, see [`super::class`].
    fn of_input(convolution: &Convolution) -> Geometry<u32> {
        let Convolution { batch, groups, channels, results, input, kernel, result, strides, .. } = *convolution;
        let places: [usize; AXES] = std::array::from_fn(|axis| input[axis].div_ceil(strides[axis]));
        let of_channel = product(&kernel);
        Geometry {
            groups: groups as u32,
            rows: channels as u32,
            columns: product(&[batch, volume(places)]),
            lines: results as u32,
            line_length: 1,
            column_radices: radices(places),
            product_radices: [1; AXES],
            lengths: result.map(|length| length as u32),
            origins: [0; AXES],
            column_steps: [1; AXES],
            product_steps: super::class::product_steps(convolution),
            source_group: product(&[results, volume(result)]),
            source_column: product(&[groups, results, volume(result)]),
            source_product: product(&result),
            factor_group: product(&[results, channels, volume(kernel)]),
            factor_row: of_channel,
            factor_product: product(&[channels, volume(kernel)]),
            factor_steps: distances(kernel),
            target_part: 0,
            target_group: product(&[channels, volume(input)]),
            target_row: product(&input),
            target_column: product(&[groups, channels, volume(input)]),
            target_steps: distances(input),
        }
    }

    fn of_kernels(convolution: &Convolution) -> Geometry<u32> {
        let Convolution { batch, groups, channels, results, input, kernel, result, .. } = *convolution;
        let columns = product(&[channels, volume(kernel)]);
        Geometry {
            groups: groups as u32,
            rows: results as u32,
            columns,
            lines: product(&[batch, result[0], result[1]]),
            line_length: result[2] as u32,
            column_radices: radices(kernel),
            product_radices: radices(result),
            lengths: input.map(|length| length as u32),
            origins: convolution.before.map(|before| (before as u32).wrapping_neg()),
            column_steps: convolution.dilations.map(|dilation| dilation as u32),
            product_steps: convolution.strides.map(|stride| stride as u32),
            source_group: product(&[channels, volume(input)]),
            source_column: product(&input),
            source_product: product(&[groups, channels, volume(input)]),
            factor_group: product(&[results, volume(result)]),
            factor_row: product(&result),
            factor_product: product(&[groups, results, volume(result)]),
            factor_steps: distances(result),
            target_part: product(&[groups, results, channels, volume(kernel)]),
            target_group: results as u32 * columns,
            target_row: columns,
            target_column: product(&kernel),
            target_steps: distances(kernel),
        }
    }
}

/// Whether all places along an axis are numbers of 32 bits with a sign.
pub(super) fn has_short_positions(convolution: &Convolution) -> bool {
    const MOST: usize = i32::MAX as usize;
    let is_short = |axis: usize| {
        let (stride, dilation) = (convolution.strides[axis], convolution.dilations[axis]);
        let reach = convolution.result[axis]
            .checked_mul(stride)?
            .checked_add(convolution.kernel[axis].checked_mul(dilation)?)?
            .checked_add(convolution.input[axis])?
            .checked_add(convolution.before[axis])?;
        Some(reach.max(stride).max(dilation) <= MOST)
    };
    (0..AXES).all(|axis| is_short(axis) == Some(true))
}
