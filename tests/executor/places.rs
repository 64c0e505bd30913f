//! Where functions may be for which there is `f::compile`.
#![allow(unreachable_pub, reason = "as in the crates of users")]

use jit::Executor;
use jit::prelude::*;

mod inner {
    use jit::prelude::*;

    #[jit]
    pub fn twice(x: &Float) -> Float {
        x * 2.0
    }
}

mod renamed {
    pub use super::inner::twice as doubled;
}

#[test]
fn functions_of_modules_are_found_through_imports() -> jit::Result<()> {
    let _alone = crate::alone();
    use inner::twice;
    let x = Float::from([1.0, 2.0]);
    assert_eq!(twice::compile(&x)?.call(&x)?.to_vec()?, [2.0, 4.0]);
    assert_eq!(renamed::doubled::compile(&x)?.call(&renamed::doubled(&x))?.to_vec()?, [4.0, 8.0]);
    Ok(())
}

#[test]
fn functions_inside_of_functions_and_generic_ones_are_compiled() -> jit::Result<()> {
    let _alone = crate::alone();
    #[derive(Clone, Traverse)]
    struct Local(Float);

    #[jit]
    fn of_local(x: &Local) -> Local {
        Local(&x.0 + 1.0)
    }

    #[jit]
    fn zeros<T: jit::Element, const N: usize>(n: &Float) -> [Array<T>; N] {
        std::array::from_fn(|_| Array::zeros(n.width()))
    }

    #[jit]
    fn shown(x: &impl Traverse, y: &Float) -> Float {
        y + jit::leaves(x).len() as f32
    }

    let exe = of_local::compile(&Local(Float::placeholder(4)))?;
    assert_eq!(exe.call(&Local(Float::from([1.0, 2.0])))?.0.to_vec()?, [2.0, 3.0]);
    let exe: Executor<fn(&Float) -> [Int; 2]> = zeros::compile::<i32, 2>(&Float::placeholder(4))?;
    assert_eq!(exe.call(&Float::arange(3))?[1].to_vec()?, [0, 0, 0]);
    let (x, y) = (Float::from([5.0, 6.0]), Float::from([1.0, 2.0]));
    assert_eq!(shown::compile(&(x.clone(), y.clone()), &y)?.call(&(y.clone(), x), &y)?.to_vec()?, [3.0, 4.0]);
    Ok(())
}

#[derive(Clone, Traverse)]
struct Affine {
    scale: Float,
    shift: Float,
}

impl Affine {
    #[jit]
    pub fn apply(&self, x: &Float, k: f32) -> Float {
        x * self.scale + self.shift * k
    }

    #[jit]
    pub fn unit(x: &Float) -> Float {
        x * 1.0
    }

    #[jit]
    fn private(&self) -> Float {
        self.scale.clone()
    }
}

#[jit]
impl Affine {
    fn moved(mut self, by: Float) -> Affine {
        self.shift += by;
        self
    }
}

#[test]
fn methods_are_compiled_by_their_type() -> jit::Result<()> {
    let _alone = crate::alone();
    let affine = |scale| Affine { scale: Float::from([scale, 3.0]), shift: Float::from([1.0, 1.0]) };
    let x = Float::from([1.0, 2.0]);
    let exe: Executor<fn(&Affine, &Float, f32) -> Float> = Affine::apply_compile(&affine(2.0), &x, 1.0)?;
    assert_eq!(exe.call(&affine(5.0), &x, 10.0)?.to_vec()?, [15.0, 16.0]);
    assert_eq!(Affine::unit_compile(&x)?.call(&x)?.to_vec()?, [1.0, 2.0]);
    let exe = Affine::moved_compile(affine(2.0), x.clone())?;
    assert_eq!(exe.call(affine(7.0), x.clone())?.shift.to_vec()?, [2.0, 3.0]);
    assert_eq!(affine(4.0).private().to_vec()?, [4.0, 3.0]);
    Ok(())
}

trait Scaled<T> {
    fn scaled(&self, x: &Float) -> Float;
}

#[derive(Clone, Traverse)]
struct By<T: jit::Element>(Array<T>);

#[jit]
impl<T: jit::Element> Scaled<T> for By<T> {
    fn scaled(&self, x: &Float) -> Float {
        self.0.cast::<f32>() * x
    }
}

#[jit]
impl Scaled<u8> for Affine {
    fn scaled(&self, x: &Float) -> Float {
        &self.scale * x
    }
}

/// The type is not this crate's, and the parameter of the trait is not the type's.
#[jit]
impl<T> Scaled<T> for Vec<Float> {
    fn scaled(&self, x: &Float) -> Float {
        self.iter().fold(x.clone(), |product, factor| product * factor)
    }
}

#[test]
fn methods_of_traits_are_counted() -> jit::Result<()> {
    let _alone = crate::alone();
    let x = Float::from([3.0, 5.0]);
    By::<i32>::scaled_clear();
    let by = By(Int::from([2, 7]));
    for _ in 0..2 {
        assert_eq!(by.scaled(&x).to_vec()?, [6.0, 35.0]);
    }
    assert_eq!(By::<i32>::scaled_stats().traces, 2);
    assert_eq!(By::<i32>::scaled_explain().len() as u64, By::<i32>::scaled_stats().compiles);
    let affine = Affine { scale: Float::from([2.0, 3.0]), shift: Float::from([1.0, 1.0]) };
    assert_eq!(affine.scaled(&x).to_vec()?, [6.0, 15.0]);
    assert_eq!(Affine::scaled_stats().traces, 1, "those of another block are separate");
    assert_eq!(<Vec<Float> as Scaled<u8>>::scaled(&vec![Float::from(2.0); 2], &x).to_vec()?, [12.0, 20.0]);
    Ok(())
}

/// A module and a function of one name: the module is the user's.
mod sharing {
    use jit::prelude::*;

    pub mod blur {
        pub fn radius() -> usize {
            2
        }
    }

    #[jit]
    pub fn blur(x: &Float) -> Float {
        x * blur::radius() as f32
    }
}

#[test]
fn modules_of_the_same_name_take_precedence() {
    let _alone = crate::alone();
    assert_eq!(sharing::blur::radius(), 2);
    assert_eq!(sharing::blur(&Float::from([1.0, 2.0])).to_vec().unwrap(), [2.0, 4.0]);
}

/// Functions that cannot be compiled to executors still compile, if nobody asks for one.
mod others {
    use jit::prelude::*;
    use std::rc::Rc;

    pub struct Borrowing<'a>(pub &'a Float);

    #[jit]
    pub fn of_borrowing(x: Borrowing<'_>, seen: &mut dyn FnMut()) -> Float {
        seen();
        x.0 + 1.0
    }

    #[jit]
    pub fn reference(x: &Float, shared: Rc<u8>) -> &Float {
        let _ = shared;
        x
    }

    #[jit]
    pub fn unnamed(x: &Float) -> impl Fn() -> Float + use<> {
        let x = x.clone();
        move || x.clone()
    }

    #[jit]
    pub fn shared(x: Rc<Float>) -> Float {
        &*x + 1.0
    }
}

#[test]
fn functions_of_all_signatures_are_traced() -> jit::Result<()> {
    let _alone = crate::alone();
    let (x, mut seen) = (Float::from([1.0]), 0);
    assert_eq!(others::of_borrowing(others::Borrowing(&x), &mut || seen += 1).to_vec()?, [2.0]);
    assert_eq!(others::reference(&x, std::rc::Rc::new(1)).to_vec()?, [1.0]);
    assert_eq!(others::unnamed(&x)().to_vec()?, [1.0]);
    assert_eq!(others::shared(std::rc::Rc::new(x)).to_vec()?, [2.0]);
    assert_eq!(seen, 1);
    Ok(())
}
