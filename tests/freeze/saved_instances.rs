//! Methods, generic functions and closures in files: each instantiation has its own recordings.

use std::marker::PhantomData;

use jit::freeze::{Frozen, FrozenInput, Recordable};
use jit::prelude::*;
use jit::{Element, Result};

use crate::file::File;
use crate::saved::on_each_device;
use crate::{floats, values};

#[derive(Clone, Traverse)]
struct Scale<T: Element> {
    by: Array<T>,
}

impl<T: Element + FloatElement> Scale<T> {
    #[freeze]
    pub(crate) fn apply(&mut self, x: &Array<T>) -> Array<T> {
        let y = x * &self.by;
        self.by = &self.by + &self.by;
        y
    }
}

use jit::FloatElement;

fn scale<T: Element>(by: T) -> Scale<T>
where
    Array<T>: From<T>,
{
    Scale { by: Array::from(by).make_opaque() }
}

#[test]
fn methods_are_saved_for_each_type() {
    on_each_device(|| {
        let [single, double] = [File::new("scale-f32"), File::new("scale-f64")];
        let calls = || -> Result<_> {
            let (mut own, mut other) = (scale(2.0_f32), scale(3.0_f64));
            let y = own.apply(&floats(5, 1)).to_vec()?;
            let z = other.apply(&floats(7, 2).cast::<f64>()).to_vec()?;
            Ok((y, z, own.by.item()?, other.by.item()?))
        };
        Scale::<f32>::apply_clear();
        let wanted = calls()?;
        Scale::<f32>::apply_save(&single)?;
        Scale::<f64>::apply_save(&double)?;
        // Recordings of all types are those of one method.
        Scale::<f32>::apply_clear();
        let refused = Scale::<f64>::apply_load(&single).unwrap_err().to_string();
        assert!(refused.contains("the argument `self` is `&mut Scale<f64>`, and was `&mut Scale<f32>`"), "{refused}");
        Scale::<f32>::apply_load(&single)?;
        Scale::<f64>::apply_load(&double)?;
        assert_eq!(calls()?, wanted);
        assert_eq!((Scale::<f32>::apply_stats().recordings, Scale::<f32>::apply_stats().replays), (0, 2));
        // What no call has looked for is saved again, with its own type alone.
        Scale::<f32>::apply_clear();
        Scale::<f64>::apply_load(&double)?;
        let refused = Scale::<f32>::apply_save(&single).unwrap_err().to_string();
        assert!(refused.contains("it has no recordings"), "{refused}");
        Scale::<f64>::apply_save(&double)?;
        Scale::<f32>::apply_clear();
        Ok(())
    });
}

trait Operation: 'static {
    fn run(x: &Float) -> Float;
}

struct Doubled;
struct Negated;

impl Operation for Doubled {
    fn run(x: &Float) -> Float {
        x * 2.0
    }
}

impl Operation for Negated {
    fn run(x: &Float) -> Float {
        -x
    }
}

/// No argument depends on the type.
#[freeze]
fn operated<O: Operation, const N: usize>(x: &Float) -> Float {
    let mut y = x.clone();
    for _ in 0..N {
        y = O::run(&y);
    }
    y
}

#[test]
fn generic_functions_are_saved_for_each_type() {
    on_each_device(|| {
        let [doubled, negated] = [File::new("doubled"), File::new("negated")];
        let x = || floats(6, 3);
        let calls = || [operated::<Doubled, 3>(&x()), operated::<Negated, 3>(&x())].map(|y| values(&y));
        operated::clear();
        let wanted = calls();
        operated::save::<Doubled, 3>(&doubled)?;
        operated::save::<Negated, 3>(&negated)?;
        operated::clear();
        let refused = operated::load::<Negated, 3>(&doubled).unwrap_err().to_string();
        let message = "the generic arguments are <Negated, 3>, and were <Doubled, 3> when `operated` was saved";
        assert!(refused.contains(message), "{refused}");
        operated::load::<Negated, 3>(&negated)?;
        operated::load::<Doubled, 3>(&doubled)?;
        assert_eq!(calls(), wanted);
        assert_eq!((operated::stats().recordings, operated::stats().replays), (0, 2), "{}", operated::explain());
        // An instantiation that was not loaded is recorded.
        operated::<Doubled, 1>(&x());
        assert_eq!(operated::stats().recordings, 1);
        operated::clear();
        Ok(())
    });
}

/// Something that scales arrays.
trait Scales {
    fn scaled(&self, x: &Float) -> Float;
}

impl Scales for Scale<f32> {
    fn scaled(&self, x: &Float) -> Float {
        x * &self.by
    }
}

impl Scales for Float {
    fn scaled(&self, x: &Float) -> Float {
        x + self
    }
}

/// Types without a name: alone, in an option, beside generics.
#[freeze]
fn scaled_by<const N: usize>(
    by: &(impl Scales + FrozenInput),
    x: &Float,
    more: Option<&(impl Scales + FrozenInput + 'static)>,
) -> Float {
    let y = more.map_or_else(|| x.clone(), |more| more.scaled(x));
    (0..N).fold(y, |y, _| by.scaled(&y))
}

impl Scale<f32> {
    #[freeze]
    pub(crate) fn change(&mut self, by: impl Scales + Recordable, x: &Float) -> Float {
        self.by = by.scaled(&self.by);
        self.scaled(x)
    }
}

#[test]
fn functions_of_impl_trait_are_saved_for_each_type() {
    on_each_device(|| {
        let [first, second, third] = [File::new("impl-1"), File::new("impl-2"), File::new("impl-3")];
        let (one, other) = (scale(2.0_f32), Float::opaque(5.0));
        let calls = || -> Result<_> {
            let (x, mut own) = (floats(6, 3), scale(3.0_f32));
            let first = scaled_by::<2>(&one, &x, Some(&other)).to_vec()?;
            let second = scaled_by::<2>(&other, &x, Some(&other)).to_vec()?;
            Ok((first, second, own.change(other.clone(), &x).to_vec()?, own.by.item()?))
        };
        let clear = || {
            scaled_by::clear();
            Scale::<f32>::change_clear();
        };
        clear();
        let wanted = calls()?;
        scaled_by::save::<2, Scale<f32>, Float>(&first)?;
        scaled_by::save::<2, Float, Float>(&second)?;
        Scale::change_save::<Float>(&third)?;
        clear();
        let refused = scaled_by::load::<2, Float, Float>(&first).unwrap_err().to_string();
        assert!(refused.contains("the argument `by` is `&Array<f32>`, and was `&Scale<f32>`"), "{refused}");
        let refused = scaled_by::load::<1, Float, Float>(&second).unwrap_err().to_string();
        assert!(refused.contains("the generic arguments are <1, Array<f32>, Array<f32>>"), "{refused}");
        scaled_by::load::<2, Scale<f32>, Float>(&first)?;
        scaled_by::load::<2, Float, Float>(&second)?;
        Scale::change_load::<Float>(&third)?;
        assert_eq!(calls()?, wanted);
        assert_eq!((scaled_by::stats().recordings, scaled_by::stats().replays), (0, 2), "{}", scaled_by::explain());
        assert_eq!((Scale::<f32>::change_stats().recordings, Scale::<f32>::change_stats().replays), (0, 1));
        clear();
        Ok(())
    });
}

/// Lifetimes, a constant of the type, and a skipped marker do not stand in the way.
#[derive(Clone, Traverse)]
struct Marked<T: Send + Sync + 'static> {
    x: Float,
    #[traverse(skip)]
    of: PhantomData<T>,
}

#[freeze]
fn marked<'a, T: Clone + Send + Sync + 'static>(one: &'a Marked<T>, two: &'a Float) -> Marked<T> {
    Marked { x: &one.x + two, of: PhantomData }
}

#[test]
fn functions_with_lifetimes_are_saved() {
    on_each_device(|| {
        let file = File::new("marked");
        let one = Marked::<u8> { x: floats(4, 1), of: PhantomData };
        marked::clear();
        let wanted = values(&marked(&one, &floats(4, 2)).x);
        marked::save::<u8>(&file)?;
        marked::clear();
        marked::load::<u8>(&file)?;
        assert_eq!(values(&marked(&one, &floats(4, 2)).x), wanted);
        assert_eq!(marked::stats().recordings, 0);
        marked::clear();
        Ok(())
    });
}

#[test]
fn closures_are_saved() {
    on_each_device(|| {
        let [first, second] = [File::new("closure"), File::new("captures")];
        let step = || {
            Frozen::new(|sum: &mut Float, x: &Float, scale: f32| {
                *sum += x * scale;
                (sum.clone(), x.width())
            })
        };
        let run = |step: &Frozen<_, _>, width: usize| -> Result<(Vec<f32>, Size)> {
            let mut sum = Float::zeros(width).make_opaque();
            let (own, size) = step.call((&mut sum, &floats(width, 1), 2.0_f32));
            assert_eq!(values(&own), values(&sum));
            Ok((values(&sum), size))
        };
        let recorded = step();
        let wanted = run(&recorded, 9)?;
        recorded.save(&first)?;
        let loaded = step();
        loaded.load(&first)?;
        assert_eq!(run(&loaded, 9)?, wanted);
        assert_eq!(run(&loaded, 12)?.1, 12);
        assert_eq!((loaded.stats().recordings, loaded.stats().replays), (0, 2));

        let with = |by: f32| Frozen::with(Float::opaque(by), |by: &Float, x: &Float| x * by);
        let recorded = with(2.0);
        recorded.call(&floats(5, 1));
        recorded.save(&second)?;
        let loaded = with(3.0);
        loaded.load(&second)?;
        assert_eq!(values(&loaded.call(&floats(5, 1))), values(&(floats(5, 1) * 3.0)));
        assert_eq!(loaded.stats().recordings, 0);
        let refused = loaded.load(&first).unwrap_err().to_string();
        assert!(refused.contains("was `&mut Array<f32>` when"), "{refused}");
        Ok(())
    });
}

#[freeze]
fn squared(x: &Float) -> Float {
    x * x
}

/// A function that was differentiated could not be saved at all.
#[test]
fn recordings_through_which_gradients_flow_are_left_out() {
    on_each_device(|| {
        let file = File::new("differentiated");
        squared::clear();
        let mut x = floats(4, 1);
        x.enable_grad();
        squared(&x).sum().backward()?;
        let refused = squared::save(&file).unwrap_err().to_string();
        assert!(refused.contains("gradients flow through it"), "{refused}");
        let wanted = values(&squared(&x.detach()));
        squared::save(&file)?;
        squared::clear();
        squared::load(&file)?;
        assert_eq!(values(&squared(&x.detach())), wanted);
        assert_eq!(squared::stats().recordings, 0);
        squared::clear();
        Ok(())
    });
}
