//! Operations across lanes: gathers, interleaved arrays, and reading back.

use jit_core::misuse::Misuse;

use super::{Complex, Quaternion, Vec2, Vec3, Vec4, for_each_composite};
use crate::Site;
use crate::{Array, Element, Error, Integer, Mask, UInt, eval};

macro_rules! lanes {
    ($Type:ident $n:literal [$($c:ident $index:literal),*]) => {
        impl<T: Element> $Type<T> {
            /// Returns the values at some lanes: see [`Array::gather`]. A component of width 1 next to wider ones
            /// has the same value at all lanes.
            #[must_use]
            #[track_caller]
            pub fn gather<I: Integer>(&self, index: &Array<I>) -> Self {
                let width = self.width();
                $Type { $($c: self.$c.gather_repeated(width, index, None)),* }
            }

            /// Like [`gather`](Self::gather) where the mask is true; zero, without reading, where it is false.
            #[must_use]
            #[track_caller]
            pub fn gather_masked<I: Integer>(&self, index: &Array<I>, mask: &Mask) -> Self {
                let width = self.width();
                $Type { $($c: self.$c.gather_repeated(width, index, Some(mask))),* }
            }

            /// Returns the values at some positions of a flat array that stores the components of each value one after
            /// another:
            #[doc = concat!("component `k` reads position `index * ", $n, " + k`, see [`Array::gather_packet`].")]
            #[must_use]
            #[track_caller]
            pub fn gather_interleaved<I: Integer>(source: &Array<T>, index: &Array<I>) -> Self {
                let [$($c),*] = source.gather_packet::<$n>(index);
                $Type { $($c),* }
            }

            /// Like [`gather_interleaved`](Self::gather_interleaved) where the mask is true; zero, reading nothing,
            /// where it is false.
            #[must_use]
            #[track_caller]
            pub fn gather_interleaved_masked<I: Integer>(source: &Array<T>, index: &Array<I>, mask: &Mask) -> Self {
                let [$($c),*] = source.gather_packet_masked::<$n>(index, mask);
                $Type { $($c),* }
            }

            /// Writes the values to some positions of a flat array that stores the components of each value one after
            /// another:
            #[doc = concat!("component `k` is written to position `index * ", $n, " + k`, see \
                [`Array::scatter_packet`].")]
            #[track_caller]
            pub fn scatter_interleaved<I: Integer>(&self, target: &mut Array<T>, index: &Array<I>) {
                target.scatter_packet(&[$(self.$c.clone()),*], index);
            }

            /// Like [`scatter_interleaved`](Self::scatter_interleaved) on the lanes where the mask is true; the others
            /// may have any index.
            #[track_caller]
            pub fn scatter_interleaved_masked<I: Integer>(&self, target: &mut Array<T>, index: &Array<I>, mask: &Mask) {
                target.scatter_packet_masked(&[$(self.$c.clone()),*], index, mask);
            }

            #[doc = concat!("Returns the values of a flat array that stores the ", $n, " components of each value one \
                after another.")]
            ///
            /// # Panics
            ///
            #[doc = concat!("When the width is not a multiple of ", $n, ".")]
            #[must_use]
            #[track_caller]
            pub fn from_interleaved(flat: &Array<T>) -> Self {
                if !flat.len().is_multiple_of($n) {
                    refuse_ragged(flat, $n);
                }
                Self::gather_interleaved(flat, &UInt::arange(flat.len() / $n))
            }

            #[doc = concat!("Returns a flat array, ", $n, " times as wide, that stores the components of each value \
                one after another.")]
            /// Components of width 1 are repeated.
            ///
            /// # Panics
            ///
            /// When the components have several widths other than 1.
            #[must_use]
            #[track_caller]
            pub fn to_interleaved(&self) -> Array<T> {
                let full = self.at_full_width();
                let position = UInt::arange(self.len() * $n);
                let (lane, component) = (&position / $n, &position % $n);
                let values = [$(full.$c.gather(&lane)),*];
                let [first, rest @ ..] = values;
                let mut flat = first;
                for (index, value) in (1..).zip(rest) {
                    flat = component.eq(index).select(value, flat);
                }
                flat
            }

            /// Returns the elements, one value for each lane. Evaluates, and waits for the result.
            ///
            /// # Errors
            ///
            /// See [`Array::to_vec`].
            #[track_caller]
            pub fn to_vec(&self) -> Result<Vec<[T; $n]>, Error> {
                eval(self)?;
                let width = self.len();
                $(let $c = self.$c.to_vec()?;)*
                Ok((0..width).map(|lane| [$($c[if $c.len() == 1 { 0 } else { lane }]),*]).collect())
            }

            /// Returns the value of one lane. Evaluates, and waits for the result.
            ///
            /// # Errors
            ///
            /// See [`Array::get`].
            #[track_caller]
            pub fn get(&self, lane: usize) -> Result<[T; $n], Error> {
                eval(self)?;
                let is_everywhere = lane < self.len();
                Ok([$(self.$c.get(if is_everywhere && self.$c.len() == 1 { 0 } else { lane })?),*])
            }

            /// Returns the only value. Evaluates, and waits for the result.
            ///
            /// # Errors
            ///
            /// See [`Array::item`]: when there are more lanes, or none.
            #[track_caller]
            pub fn item(&self) -> Result<[T; $n], Error> {
                eval(self)?;
                Ok([$(self.$c.item()?),*])
            }
        }
    };
}

for_each_composite!(lanes);

#[cold]
#[track_caller]
fn refuse_ragged<T: Element>(flat: &Array<T>, components: usize) -> ! {
    Misuse::new(
        format!("{} elements are not a whole number of vectors of {components} components", flat.len()),
        Site::here(),
    )
    .value("the flat array", flat.var())
    .hint("slice or pad the array")
    .panic()
}

/// Panics if arrays have several widths other than 1.
#[track_caller]
pub(super) fn refuse_uneven<T: Element>(components: &[(&'static str, &Array<T>)]) {
    let mut wide = components.iter().filter(|(_, array)| array.len() != 1);
    let Some(first) = wide.next() else { return };
    let Some(other) = wide.find(|(_, array)| array.len() != first.1.len()) else { return };
    let [(a, b), (c, d)] = [first, other].map(|(name, array)| (name, array.len()));
    Misuse::new(format!("component `{a}` has {b} elements and component `{c}` has {d}"), Site::here())
        .value("one component", first.1.var())
        .value("the other component", other.1.var())
        .hint("components must have the same width, or width 1")
        .panic()
}
