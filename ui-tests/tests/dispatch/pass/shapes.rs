//! Traits with lifetimes, default bodies, parameters and supertraits are dispatched.
#![deny(warnings)]

use jit::prelude::*;

#[jit(dispatch)]
pub trait Named {
    fn number(&self) -> UInt;

    fn describe(&self) -> String
    where
        Self: Sized,
    {
        "something".into()
    }
}

#[jit(dispatch)]
pub trait Shape: Named {
    fn area<'a>(&'a self, scale: &'a Float, (x, y): (Float, Float)) -> Float {
        let mut area = scale * self.number().cast::<f32>();
        if x < y {
            area += x;
        }
        area
    }

    fn count(&self, hits: &mut UInt);
}

#[derive(jit::Traverse)]
pub struct Square {
    edge: UInt,
}

#[jit]
impl Named for Square {
    fn number(&self) -> UInt {
        self.edge.clone()
    }
}

#[jit]
impl Shape for Square {
    fn count(&self, hits: &mut UInt) {
        *hits += 1;
    }
}

fn main() -> Result<(), jit::Error> {
    let shapes: Instances<dyn Shape> = Instances::from_iter([Box::new(Square {
        edge: UInt::from(3) }) as Box<dyn Shape>]);
    let pointers = shapes.at(&UInt::from([1, 0]));
    let mut hits = UInt::from(0);
    pointers.count(&mut hits);
    assert_eq!(hits.to_vec()?, [1, 0]);
    assert_eq!(pointers.number().to_vec()?, [3, 0]);
    assert_eq!(pointers.area(&Float::from(2.0), (Float::from(1.0), Float::from(2.0))).to_vec()?, [7.0, 0.0]);
    Ok(())
}
