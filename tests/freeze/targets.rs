//! Calls of instances and of closures by number, in frozen functions.

use jit::prelude::*;

use crate::{alike, floats, frozen, message_of, values};

/// A lens that lanes call.
#[jit(dispatch)]
trait Lens {
    /// The number, bent.
    fn bend(&self, x: &Float) -> Float;

    /// The fields of the lens.
    fn strength(&self) -> Float;

    /// Asks another lens, too.
    fn with(&self, other: &Ptr<dyn Lens>, x: &Float) -> Float;
}

#[derive(Traverse)]
struct Plain {
    factor: Float,
}

/// Calls the lens behind it.
#[derive(Traverse)]
struct Stacked {
    behind: Ptr<dyn Lens>,
    offset: Float,
}

/// Has no result for anybody.
#[derive(Traverse)]
struct Broken {
    is_broken: bool,
}

#[jit]
impl Lens for Plain {
    fn bend(&self, x: &Float) -> Float {
        x * self.factor
    }

    fn strength(&self) -> Float {
        self.factor.clone()
    }

    fn with(&self, other: &Ptr<dyn Lens>, x: &Float) -> Float {
        other.bend(x) + self.factor
    }
}

#[jit]
impl Lens for Stacked {
    fn bend(&self, x: &Float) -> Float {
        self.behind.bend(x) + self.offset
    }

    fn strength(&self) -> Float {
        self.offset.clone()
    }

    fn with(&self, other: &Ptr<dyn Lens>, x: &Float) -> Float {
        other.bend(&self.behind.bend(x)) - self.offset
    }
}

#[jit]
impl Lens for Broken {
    fn bend(&self, x: &Float) -> Float {
        assert!(!self.is_broken, "the lens is broken");
        x.clone()
    }

    fn strength(&self) -> Float {
        Float::from(0.0)
    }

    fn with(&self, _other: &Ptr<dyn Lens>, x: &Float) -> Float {
        x.clone()
    }
}

/// Two plain lenses and one before them.
fn lenses(salt: usize) -> Instances<dyn Lens> {
    let plain = |at: usize| Box::new(Plain { factor: Float::opaque((salt + at) as f32) }) as Box<dyn Lens>;
    let first: Instances<dyn Lens> = Instances::from_iter([plain(1), plain(2)]);
    let behind = first.at(&UInt::opaque(1));
    Instances::from_iter([plain(3), Box::new(Stacked { behind, offset: Float::opaque(salt as f32 * 0.5) })])
}

#[freeze]
fn asked(lens: &Ptr<dyn Lens>, other: &Ptr<dyn Lens>, x: &Float) -> (Float, Float, Float) {
    (lens.bend(x), lens.with(other, x), lens.strength())
}

// rows: F089 F090 F110
#[test]
fn instances_ask_those_that_they_are_given_and_those_that_they_hold() {
    // Each set of instances has a recording.
    alike(frozen!(asked), 3, || {
        [(1, 4), (2, 5), (3, 9)].map(|(salt, n)| {
            let lenses = lenses(salt);
            [n, n + 3].map(|n| {
                let ids = |salt: usize| crate::indices(n, 2, salt) + 1;
                let (bent, with, strength) = asked(&lenses.at(&ids(salt)), &lenses.at(&ids(salt + 1)), &floats(n, n));
                [bent, with, strength].map(|array| values(&array))
            })
        })
    });
}

#[freeze]
fn broken(lens: &Ptr<dyn Lens>, x: &mut Float) -> Float {
    let y = lens.bend(&(&*x * 2.0));
    *x += 1.0;
    y
}

// rows: F061 F098
#[test]
fn a_panic_in_a_target_leaves_everything_as_it_was() {
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            let lenses = |is_broken: bool| -> Instances<dyn Lens> {
                Instances::from_iter([
                    Box::new(Plain { factor: Float::opaque(3.0) }) as Box<dyn Lens>,
                    Box::new(Broken { is_broken }),
                ])
            };
            let mut x = floats(4, 1);
            for _ in 0..2 {
                let broken_one = lenses(true);
                let text = message_of(|| broken(&broken_one.at(&UInt::from([1, 2, 1, 2])), &mut x));
                assert!(text.contains("the lens is broken"), "{text}");
                assert_eq!(values(&x), values(&floats(4, 1)));
            }
            let whole = lenses(false);
            for _ in 0..2 {
                let mut x = floats(4, 1);
                let y = broken(&whole.at(&UInt::from([1, 2, 1, 2])), &mut x);
                let wanted = values(&floats(4, 1));
                assert_eq!(values(&y), [wanted[0] * 6.0, wanted[1] * 2.0, wanted[2] * 6.0, wanted[3] * 2.0]);
                assert_eq!(values(&x), values(&(floats(4, 1) + 1.0)));
            }
        });
    }
}

#[freeze]
fn chosen(outer: &UInt, inner: &UInt, x: &Float, a: &Float, b: &Float) -> Float {
    type Inner<'a> = Box<dyn Fn(Float) -> Float + 'a>;
    type Outer<'a> = Box<dyn Fn(Float, UInt) -> Float + 'a>;
    let first = |x: Float, inner: UInt| {
        let targets: [Inner<'_>; 2] = [Box::new(|x| x * b), Box::new(|x| x - b)];
        jit::switch(&inner, &targets, (x,)) + a
    };
    let targets: [Outer<'_>; 2] = [Box::new(first), Box::new(|x, _| x * a)];
    jit::switch(outer, &targets, (x.clone(), inner.clone()))
}

// rows: F109
#[test]
fn closures_by_number_use_values_that_change() {
    alike(frozen!(chosen), 1, || {
        [(4, 1.0, 2.0), (7, 3.0, 5.0), (4, 0.5, -1.0)].map(|(n, a, b)| {
            let (outer, inner) = (crate::indices(n, 2, 1), crate::indices(n, 2, 2));
            values(&chosen(&outer, &inner, &floats(n, n), &Float::opaque(a), &Float::opaque(b)))
        })
    });
}
