//! Classes of places of the input that meet results by the same elements of the kernels: in the transposes by the
//! input.
//!
//! Along an axis, the place `p` of the input meets the result `(p + before - k dilation) / stride` by the element `k`
//! of a kernel, if that is a whole number. With `g` the greatest common divisor of stride and dilation, and if `g`
//! divides `p + before`, these are each `stride / g`-th element from a first one on, and from one to the next the
//! result is `dilation / g` earlier. All of that depends on the remainder of `p` by the stride alone: a class is such a
//! remainder for each axis. The first element is a quotient by `dilation / g` modulo `stride / g`, which a plan
//! inverts.

use super::super::super::ptx::{Class as RegisterClass, Register};
use super::super::builder::Builder;
use super::geometry::Geometry;
use crate::backend::library::{AXES, Convolution, Sought};

/// What the classes along an axis follow from: numbers in a plan, registers in code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<T> {
    /// The length of the input.
    length: T,
    stride: T,
    kernel: T,
    before: T,
    dilation: T,
    /// The greatest common divisor of stride and dilation.
    divisor: T,
    /// The distance of the elements of a kernel that places of a class use: the stride by the divisor.
    apart: T,
    /// The inverse of the dilation by the divisor, modulo that distance.
    inverse: T,
}

/// The names of the parameters for each axis.
const NAMES: [[&str; 8]; AXES] = [
    ["input_z", "stride_z", "kernel_z", "before_z", "dilation_z", "divisor_z", "apart_z", "inverse_z"],
    ["input_y", "stride_y", "kernel_y", "before_y", "dilation_y", "divisor_y", "apart_y", "inverse_y"],
    ["input_x", "stride_x", "kernel_x", "before_x", "dilation_x", "divisor_x", "apart_x", "inverse_x"],
];

impl Window<u32> {
    pub(super) fn of(convolution: &Convolution, axis: usize) -> Window<u32> {
        let (stride, dilation) = (convolution.strides[axis] as u32, convolution.dilations[axis] as u32);
        let divisor = greatest_common_divisor(stride, dilation);
        let apart = stride / divisor;
        Window {
            length: convolution.input[axis] as u32,
            stride,
            kernel: convolution.kernel[axis] as u32,
            before: convolution.before[axis] as u32,
            dilation,
            divisor,
            apart,
            inverse: inverse(dilation / divisor, apart),
        }
    }

    /// Calls a function with each field, in the order of the parameters.
    pub(super) fn each(self, mut call: impl FnMut(u32)) {
        let Window { length, stride, kernel, before, dilation, divisor, apart, inverse } = self;
        [length, stride, kernel, before, dilation, divisor, apart, inverse].into_iter().for_each(&mut call);
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The inverse of a number modulo another one without a common divisor, by Euclid's algorithm; 0 modulo 1.
fn inverse(number: u32, modulus: u32) -> u32 {
    let modulus = i64::from(modulus);
    let (mut rest, mut next_rest) = (modulus, i64::from(number) % modulus);
    let (mut factor, mut next_factor) = (0, 1);
    while next_rest != 0 {
        let quotient = rest / next_rest;
        (rest, next_rest) = (next_rest, rest - quotient * next_rest);
        (factor, next_factor) = (next_factor, factor - quotient * next_factor);
    }
    factor.rem_euclid(modulus) as u32
}

/// The number of classes.
pub(super) fn count(convolution: &Convolution) -> usize {
    if convolution.sought != Sought::Input {
        return 1;
    }
    (0..AXES).map(|axis| convolution.strides[axis].min(convolution.input[axis])).product()
}

/// The distance in the results from an element of a kernel that a class uses to the next.
pub(super) fn product_steps(convolution: &Convolution) -> [u32; AXES] {
    std::array::from_fn(|axis| {
        let window = Window::of(convolution, axis);
        (window.dilation / window.divisor).wrapping_neg()
    })
}

/// The places of a class along an axis.
struct Line {
    places: Register,
    /// The first place, and the first element of a kernel; the number of elements.
    first: Register,
    first_element: Register,
    elements: Register,
    /// The result that the first place meets by the first element.
    origin: Register,
}

/// Replaces the sizes and distances of a convolution by those of a class. Returns the distance of the first element in
/// the factor, and of the first place in the target.
pub(super) fn choose(b: &mut Builder, geometry: &mut Geometry<Register>, class: Register) -> [Register; 2] {
    let windows = NAMES.map(|names| Window::parameters(b, names));
    let mut rest = class;
    let [mut in_factor, mut in_target] = [0, 0].map(|zero: u32| b.variable(zero));
    let (mut of_largest, mut places) = (b.variable(1), b.variable(1));
    for axis in (0..AXES).rev() {
        let window = &windows[axis];
        let classes = b.min(window.stride, window.length);
        let remainder = b.rem(rest, classes);
        rest = b.div(rest, classes);
        let line = window.line(b, remainder);
        in_factor = b.mad(line.first_element, geometry.factor_steps[axis], in_factor);
        in_target = b.mad(line.first, geometry.target_steps[axis], in_target);
        geometry.factor_steps[axis] = b.mul(geometry.factor_steps[axis], window.apart);
        geometry.target_steps[axis] = b.mul(geometry.target_steps[axis], window.stride);
        of_largest = b.mul(of_largest, geometry.column_radices[axis]);
        places = b.mul(places, line.places);
        geometry.lines = b.mul(geometry.lines, line.elements);
        geometry.column_radices[axis] = line.places;
        geometry.product_radices[axis] = b.max(line.elements, 1);
        geometry.origins[axis] = line.origin;
    }
    let images = b.div(geometry.columns, of_largest);
    geometry.columns = b.mul(images, places);
    [in_factor, in_target]
}

impl Window<Register> {
    fn parameters(b: &mut Builder, names: [&'static str; 8]) -> Window<Register> {
        let [length, stride, kernel, before, dilation, divisor, apart, inverse] = names.map(|name| b.size(name));
        Window { length, stride, kernel, before, dilation, divisor, apart, inverse }
    }

    /// The places with a remainder.
    fn line(&self, b: &mut Builder, first: Register) -> Line {
        let places = self.steps(b, self.length, first, self.stride);
        let place = b.add(first, self.before);
        let (quotient, remainder) = (b.div(place, self.divisor), b.rem(place, self.divisor));
        let quotient = b.rem(quotient, self.apart);
        let first_element = self.product_modulo(b, quotient);
        let (divides, is_inside) = (b.is_equal(remainder, 0), b.is_less(first_element, self.kernel));
        let has_elements = b.both(divides, is_inside);
        let elements = self.steps(b, self.kernel, first_element, self.apart);
        let elements = b.choose(has_elements, elements, 0);
        // It is whole, but may be negative.
        let used = b.mul(first_element, self.dilation);
        let distance = b.sub(place, used);
        let origin = b.register(RegisterClass::Word);
        b.write("div.s32", origin, &[distance.into(), self.stride.into()]);
        Line { places, first, first_element, elements, origin }
    }

    /// The number of steps of a length from a first place that are below an end, which is behind that place.
    fn steps(&self, b: &mut Builder, end: Register, first: Register, step: Register) -> Register {
        let last = b.sub(end, 1);
        let reach = b.sub(last, first);
        let steps = b.div(reach, step);
        b.add(steps, 1)
    }

    fn product_modulo(&self, b: &mut Builder, number: Register) -> Register {
        let product = b.compute("mul.wide.u32", RegisterClass::Long, &[number.into(), self.inverse.into()]);
        let modulus = b.compute("cvt.u64.u32", RegisterClass::Long, &[self.apart.into()]);
        let rest = b.compute("rem.u64", RegisterClass::Long, &[product, modulus]);
        let result = b.register(RegisterClass::Word);
        b.write("cvt.u32.u64", result, &[rest]);
        result
    }
}
