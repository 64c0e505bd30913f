//! Calls of other frozen functions, and of instances.

use jit::prelude::*;

use crate::{alike, floats, frozen, values};

/// The state that the program changes between calls.
trait Tune {
    fn tune(&mut self, size: Float);
}

impl<T: ?Sized> Tune for Ptr<T> {
    fn tune(&mut self, _: Float) {}
}

/// The methods that lanes call.
#[jit(dispatch)]
trait Shape: Tune {
    /// A number from one.
    fn apply(&self, x: &Float) -> Float;

    /// The fields of the shape.
    fn size(&self) -> Float;

    /// Asks another shape.
    fn ask(&self, other: &Ptr<dyn Shape>, x: &Float) -> Float;
}

#[derive(Traverse)]
struct Circle {
    radius: Float,
}

#[derive(Traverse)]
struct Square {
    edge: Float,
    table: Float,
}

#[derive(Traverse)]
struct Negated {
    radius: Float,
}

#[jit]
impl Shape for Circle {
    fn apply(&self, x: &Float) -> Float {
        x * self.radius
    }

    fn size(&self) -> Float {
        self.radius.clone()
    }

    fn ask(&self, other: &Ptr<dyn Shape>, x: &Float) -> Float {
        other.apply(&(x + 1.0)) + self.radius
    }
}

#[jit]
impl Shape for Square {
    fn apply(&self, x: &Float) -> Float {
        x + self.edge + self.table.gather(&(x.abs().cast::<u32>() % UInt::from(self.table.width())))
    }

    fn size(&self) -> Float {
        self.edge.clone()
    }

    fn ask(&self, other: &Ptr<dyn Shape>, x: &Float) -> Float {
        other.apply(x) * self.edge
    }
}

#[jit]
impl Shape for Negated {
    fn apply(&self, x: &Float) -> Float {
        -x * self.radius
    }

    fn size(&self) -> Float {
        -self.radius
    }

    fn ask(&self, _other: &Ptr<dyn Shape>, x: &Float) -> Float {
        x.clone()
    }
}

impl Tune for Circle {
    fn tune(&mut self, size: Float) {
        self.radius = size;
    }
}

impl Tune for Square {
    fn tune(&mut self, size: Float) {
        self.edge = size;
    }
}

impl Tune for Negated {
    fn tune(&mut self, size: Float) {
        self.radius = size;
    }
}

fn circle(radius: Float) -> Box<dyn Shape> {
    Box::new(Circle { radius })
}

fn square(edge: Float) -> Box<dyn Shape> {
    Box::new(Square { edge, table: floats(5, 5) })
}

#[freeze]
fn applied(shapes: &Ptr<dyn Shape>, x: &Float) -> Float {
    shapes.apply(x)
}

// rows: F024
#[test]
fn lanes_call_other_instances_than_before() {
    alike(frozen!(applied), 1, || {
        let scene = Instances::from_iter([circle(Float::opaque(2.0)), square(Float::opaque(3.0))]);
        [vec![1, 1, 0, 1, 1], vec![1, 1, 0, 2, 2], vec![2, 0, 1]].map(|ids| {
            let x = floats(ids.len(), ids.len());
            values(&applied(&scene.at(&UInt::from(ids)), &x))
        })
    });
}

#[freeze]
fn applied_to_members(shapes: &Ptr<dyn Shape>, x: &Float) -> (Float, Float) {
    (shapes.apply(x), shapes.size())
}

/// Calls with a scene whose sizes change.
fn tuned(member: fn(f32) -> Float) -> Vec<[Vec<f32>; 2]> {
    let mut scene = Instances::from_iter([circle(member(2.0)), circle(member(3.0)), square(member(4.0))]);
    let turns = [2.0, 5.0, 6.0, 2.0].into_iter().map(|turn| {
        for (id, size) in [(1, turn), (2, turn + 1.0), (3, 4.0)] {
            scene.get_mut(id).unwrap().tune(member(size));
        }
        let shapes = scene.at(&UInt::from([1, 2, 3, 0, 3]));
        let (a, b) = applied_to_members(&shapes, &floats(5, turn as usize));
        [a, b].map(|array| values(&array))
    });
    turns.collect()
}

// rows: F025
#[test]
fn members_of_instances_are_inputs() {
    alike(frozen!(applied_to_members), 1, || tuned(Float::opaque));
    alike(frozen!(applied_to_members), 1, || tuned(|size| Float::from(vec![size])));
    // A constant of an instance is part of the code.
    alike(frozen!(applied_to_members), 3, || tuned(Float::from));
}

#[freeze]
fn applied_twice(shapes: &Ptr<dyn Shape>, x: &Float) -> Float {
    let once = shapes.apply(x);
    jit::eval(&once).unwrap();
    shapes.apply(&once)
}

// rows: F026
#[test]
fn a_call_of_the_result_of_a_call() {
    alike(frozen!(applied_twice), 1, || {
        let scene = Instances::from_iter([circle(Float::opaque(2.0)), square(floats(1, 3))]);
        [5, 8, 3].map(|n| {
            let ids = UInt::from((0..n as u32).map(|i| i % 3).collect::<Vec<_>>());
            values(&applied_twice(&scene.at(&ids), &floats(n, n)))
        })
    });
}

#[freeze]
fn asked(shapes: &Ptr<dyn Shape>, others: &Ptr<dyn Shape>, x: &Float) -> Float {
    shapes.ask(others, x)
}

// rows: F060
#[test]
fn instances_call_instances() {
    alike(frozen!(asked), 1, || {
        let scene = Instances::from_iter([circle(Float::opaque(2.0)), square(floats(1, 3)), circle(floats(1, 9))]);
        [1_u32, 2, 3].map(|shift| {
            let ids = |by: u32| UInt::from((0..6).map(|i| (i * by + shift) % 4).collect::<Vec<_>>());
            values(&asked(&scene.at(&ids(1)), &scene.at(&ids(3)), &floats(6, shift as usize)))
        })
    });
}

#[freeze]
fn applied_to_scenes(shapes: &Ptr<dyn Shape>, x: &Float) -> Float {
    shapes.apply(x)
}

#[test]
fn instances_come_and_go() {
    alike(frozen!(applied_to_scenes), 4, || {
        let mut scene = Instances::from_iter([circle(Float::opaque(2.0)), circle(Float::opaque(3.0))]);
        let ids = UInt::from([1, 2, 3, 2]);
        let call = |scene: &Instances<dyn Shape>, salt| {
            [salt, salt + 1].map(|salt| values(&applied_to_scenes(&scene.at(&ids), &floats(4, salt))))
        };
        let two = call(&scene, 1);
        scene.push(square(Float::opaque(1.0)));
        let three = call(&scene, 2);
        scene.remove(2);
        let without = call(&scene, 3);
        // An instance of another type with the fields of the one before.
        scene.push(Box::new(Negated { radius: Float::opaque(3.0) }));
        [two, three, without, call(&scene, 4)]
    });
}

#[freeze]
fn inner<T: jit::Number>(x: &Array<T>) -> Array<T> {
    x + x
}

#[freeze]
fn outer(x: &Float, i: &Int) -> (Float, Int) {
    (inner(x) * 2.0, inner(i))
}

// rows: F028
#[test]
fn a_frozen_function_in_another_is_part_of_it() {
    let run = || {
        let (a, b) = outer(&floats(3, 1), &Int::from([1, 2]));
        (values(&a), values(&b))
    };
    alike(frozen!(outer), 1, || [(); 3].map(|()| run()));
    inner::clear();
    // Recorded before, alone.
    alike(frozen!(outer), 1, || {
        let alone = [3, 4].map(|n| values(&inner(&floats(n, n))));
        (alone, run(), run(), values(&inner(&Int::from([4, 5, 6]))), run())
    });
}

#[freeze]
fn chosen(index: &UInt, x: &Float, a: &Float, b: &Float) -> Float {
    let [scale, offset]: [Box<dyn Fn(Float) -> Float>; 2] = {
        let (a, b) = (a.clone(), b.clone());
        [Box::new(move |x| x * &a), Box::new(move |x| x + &b)]
    };
    jit::switch(index, &[scale, offset], (x.clone(),))
}

#[test]
fn closures_by_number_capture_inputs() {
    alike(frozen!(chosen), 1, || {
        [(5, 2.0), (9, 3.0), (4, -1.0)].map(|(n, k)| {
            let index = UInt::from((0..n).map(|i| (i % 3) as u32).collect::<Vec<_>>());
            values(&chosen(&index, &floats(n, n), &Float::opaque(k), &floats(n, 3)))
        })
    });
}
