//! Calls through pointers to instances of a trait.

use jit::prelude::*;

use crate::{message_of, on_each_device, resident};

/// A shape, seen from a point on a line.
#[jit(dispatch)]
trait Shape {
    /// The distance to a point.
    fn distance(&self, x: &Float) -> Float;

    /// Two results, one of which all shapes compute in the same way.
    fn both(&self, x: Float, y: Float) -> (Float, Float) {
        (self.distance(&x), x + y)
    }

    /// The size.
    fn size(&self) -> Float;

    /// A constant of all shapes of a kind.
    fn sides(&self) -> UInt {
        UInt::from(4)
    }

    /// Counts a hit.
    fn hit(&self, counts: &mut UInt, at: UInt) {
        counts.scatter_add(1, &at);
    }

    /// Draws a number.
    fn draw(&self, state: &mut UInt) -> UInt;
}

#[derive(Traverse)]
struct Sphere {
    radius: Float,
}

#[derive(Traverse)]
struct Cube {
    edge: Float,
    table: Float,
}

#[jit]
impl Shape for Sphere {
    fn distance(&self, x: &Float) -> Float {
        x.abs() - self.radius
    }

    fn size(&self) -> Float {
        self.radius.clone()
    }

    fn sides(&self) -> UInt {
        UInt::from(1)
    }

    fn draw(&self, state: &mut UInt) -> UInt {
        *state = state * 3 + 1;
        state.clone()
    }
}

#[jit]
impl Shape for Cube {
    fn distance(&self, x: &Float) -> Float {
        let mut d = x.abs() - self.edge;
        while d > 10.0 {
            d -= 10.0;
        }
        d + self.table.gather(&UInt::from(1)).sqrt().sin().exp().ln().tan()
    }

    fn size(&self) -> Float {
        self.edge.clone()
    }

    fn hit(&self, counts: &mut UInt, at: UInt) {
        counts.scatter_add(10, &at);
    }

    fn draw(&self, state: &mut UInt) -> UInt {
        let before = state.clone();
        *state += 5;
        before
    }
}

fn sphere(radius: f32) -> Box<dyn Shape> {
    Box::new(Sphere { radius: Float::opaque(radius) })
}

fn cube(edge: f32) -> Box<dyn Shape> {
    Box::new(Cube { edge: resident([edge]), table: resident([9.0, 0.0]) })
}

fn scene() -> Instances<dyn Shape> {
    Instances::from_iter([sphere(1.0), cube(2.0)])
}

// rows: C101 C102 C273
#[test]
fn each_lane_calls_its_instance() {
    on_each_device(|| {
        let shapes = scene().at(&resident([1_u32, 1, 0, 2, 2, 77]));
        let x = Float::from([3.0, -4.0, 5.0, 6.0, -25.0, 1.0]);
        assert_eq!(shapes.distance(&x).to_vec().unwrap(), [2.0, 3.0, 0.0, 4.0, 3.0, 0.0]);
        let (d, sum) = shapes.both(x.clone(), Float::from(0.5));
        assert_eq!(d.to_vec().unwrap(), [2.0, 3.0, 0.0, 4.0, 3.0, 0.0]);
        assert_eq!(sum.to_vec().unwrap(), [3.5, -3.5, 0.0, 6.5, -24.5, 0.0]);
        let mask = Mask::from([true, false, true, false, true, true]);
        assert_eq!(shapes.masked(&mask).distance(&x).to_vec().unwrap(), [2.0, 0.0, 0.0, 0.0, 3.0, 0.0]);
    });
}

// rows: C128
#[test]
fn a_mask_of_width_one_is_for_all_pointers() {
    on_each_device(|| {
        let shapes = scene().at(&resident([1_u32, 2, 0]));
        let x = Float::from([3.0, -4.0, 5.0]);
        for all in [Mask::from(true), Mask::opaque(true)] {
            assert_eq!(shapes.masked(&all).distance(&x).to_vec().unwrap(), [2.0, 2.0, 0.0]);
        }
        for none in [Mask::from(false), Mask::opaque(false)] {
            assert_eq!(shapes.masked(&none).distance(&x).to_vec().unwrap(), [0.0; 3]);
        }
    });
}

// rows: C107
#[test]
fn getters_read_what_the_instance_holds() {
    on_each_device(|| {
        let shapes = scene().at(&resident([1_u32, 2, 0, 2, 9]));
        assert_eq!(shapes.size().to_vec().unwrap(), [1.0, 2.0, 0.0, 2.0, 0.0]);
        assert_eq!(shapes.sides().to_vec().unwrap(), [1, 4, 0, 4, 0]);
    });
}

// rows: C277
#[test]
fn instances_scatter_to_an_argument() {
    on_each_device(|| {
        let shapes = scene().at(&resident([1_u32, 2, 0, 2]));
        let mut counts = resident([100_u32, 0, 0]);
        shapes.hit(&mut counts, UInt::from([0, 1, 2, 1]));
        assert_eq!(counts.to_vec().unwrap(), [101, 20, 0]);
    });
}

#[test]
fn an_instance_that_all_lanes_call_scatters_to_an_argument() {
    on_each_device(|| {
        for ids in [UInt::full(2, 4), UInt::from(2)] {
            let mut counts = resident([100_u32, 0, 0]);
            scene().at(&ids).hit(&mut counts, UInt::from([0, 1, 2, 1]));
            assert_eq!(counts.to_vec().unwrap(), [110, 20, 10]);
        }
        let count = |mut hits: UInt, at: UInt| {
            hits.scatter_add(1, &at);
            (hits, at)
        };
        let hits = jit::switch(UInt::full(1, 4), &[count, count], (UInt::zeros(3), UInt::from([0, 1, 2, 1]))).0;
        assert_eq!(hits.to_vec().unwrap(), [1, 2, 1]);
    });
}

// rows: C119
#[test]
fn state_that_instances_change_is_merged() {
    on_each_device(|| {
        let shapes = scene().at(&resident([1_u32, 2, 0, 2]));
        let mut state = UInt::from([1, 2, 3, 4]);
        let drawn = shapes.draw(&mut state);
        assert_eq!(drawn.to_vec().unwrap(), [4, 2, 0, 4]);
        assert_eq!(state.to_vec().unwrap(), [4, 7, 3, 9]);
        let mut uniform = UInt::from(1);
        assert_eq!(shapes.draw(&mut uniform).to_vec().unwrap(), [4, 1, 0, 1]);
        assert_eq!(uniform.to_vec().unwrap(), [4, 6, 1, 6]);
    });
}

/// Moves one place to another.
#[jit(dispatch)]
trait Moves {
    fn copy(&self, from: &Float, to: &mut Float);
}

#[derive(jit::Traverse)]
struct Mover;

#[jit]
impl Moves for Mover {
    fn copy(&self, from: &Float, to: &mut Float) {
        *to = from.clone();
    }
}

#[test]
fn a_pointer_to_nothing_changes_no_state_of_any_width() {
    on_each_device(|| {
        let movers: Instances<dyn Moves> = Instances::from_iter([Box::new(Mover) as Box<dyn Moves>]);
        let from = Float::from([1.0, 2.0, 3.0]);
        for (id, expected) in [(1, [1.0, 2.0, 3.0]), (0, [-1.0; 3]), (7, [-1.0; 3])] {
            for ids in [UInt::from(id), UInt::opaque(id), UInt::full(id, 3)] {
                let mut to = Float::from(-1.0);
                movers.at(&ids).copy(&from, &mut to);
                assert_eq!((&to + Float::zeros(3)).to_vec().unwrap(), expected);
            }
        }
    });
}

// rows: C100 C134
#[test]
fn pointers_are_state_of_loops_and_values_of_branches() {
    #[jit]
    fn walk(start: &Ptr<dyn Shape>, ids: &[u32], steps: &UInt) -> (Ptr<dyn Shape>, Float) {
        let (mut at, mut n, mut sum) = (start.clone(), UInt::from(0), Float::from(0.0));
        let next = at.with_ids(UInt::from(ids[0]));
        while n < steps {
            sum += at.size();
            at = if at == next { at.with_ids(UInt::from(ids[1])) } else { next.clone() };
            n += 1;
        }
        (at, sum)
    }
    on_each_device(|| {
        let scene = scene();
        let (at, sum) = walk(&scene.at(&UInt::from([1, 2, 0])), &[2, 1], &UInt::from([3, 2, 2]));
        assert_eq!(at.id().to_vec().unwrap(), [2, 2, 1]);
        assert_eq!(sum.to_vec().unwrap(), [4.0, 3.0, 2.0]);
        assert_eq!(scene.null(2).is_null().to_vec().unwrap(), [true, true]);
    });
}

// rows: C116 C122
#[test]
fn without_instances_calls_give_zero() {
    on_each_device(|| {
        let none: Instances<dyn Shape> = Instances::new();
        let mut state = UInt::from([1, 2]);
        assert_eq!(none.at(&resident([1_u32, 0])).draw(&mut state).to_vec().unwrap(), [0, 0]);
        assert_eq!(state.to_vec().unwrap(), [1, 2]);
        assert!(none.at(&UInt::zeros(0)).size().to_vec().unwrap().is_empty());
        assert!(scene().at(&UInt::zeros(0)).distance(&Float::from(1.0)).to_vec().unwrap().is_empty());
        assert_eq!(scene().null(2).distance(&Float::from(1.0)).to_vec().unwrap(), [0.0, 0.0]);
    });
}

// rows: C100 C111 C114
#[test]
fn instances_come_and_go() {
    on_each_device(|| {
        let mut scene = scene();
        let shapes = scene.at(&resident([1_u32, 2, 3]));
        assert_eq!(shapes.size().to_vec().unwrap(), [1.0, 2.0, 0.0]);
        assert_eq!(scene.push(sphere(5.0)), 3);
        let before = shapes.size();
        assert!(scene.remove(1).is_some() && scene.remove(1).is_none() && scene.get(1).is_none());
        assert_eq!((scene.len(), scene.ids()), (2, vec![2, 3]));
        assert_eq!(shapes.size().to_vec().unwrap(), [0.0, 2.0, 5.0]);
        assert_eq!(before.to_vec().unwrap(), [1.0, 2.0, 5.0]);
        assert_eq!(scene.push(sphere(7.0)), 1);
        assert_eq!(shapes.size().to_vec().unwrap(), [7.0, 2.0, 5.0]);
        assert_eq!(scene.get(2).unwrap().size().item().unwrap(), 2.0);
        assert_eq!(scene.iter().map(|(id, _)| id).collect::<Vec<_>>(), [1, 2, 3]);
    });
}

#[test]
fn pointers_of_different_sets_do_not_merge() {
    let (a, b) = (scene(), scene());
    let message = message_of(|| {
        #[jit]
        fn choose(mask: &Mask, a: Ptr<dyn Shape>, b: Ptr<dyn Shape>) -> Ptr<dyn Shape> {
            if mask { a } else { b }
        }
        choose(&Mask::from([true, false]), a.at(&UInt::from(1)), b.at(&UInt::from(1)))
    });
    assert!(message.contains("different host values"), "{message}");
}

/// An instance that calls other instances.
#[jit(dispatch)]
trait Chain {
    /// A field of the next instance, accessed through this one.
    fn follow(&self, next: &Ptr<dyn Shape>, x: &Float) -> Float;
}

#[derive(jit::Traverse)]
struct Link {
    scale: Float,
}

#[jit]
impl Chain for Link {
    fn follow(&self, next: &Ptr<dyn Shape>, x: &Float) -> Float {
        next.distance(x) * self.scale + next.size()
    }
}

// rows: C109 C132 C282 C283
#[test]
fn instances_call_other_instances() {
    on_each_device(|| {
        let shapes = scene().at(&resident([1_u32, 2, 0, 2]));
        let links: Instances<dyn Chain> = [2.0, 10.0]
            .into_iter()
            .map(|scale| Box::new(Link { scale: Float::opaque(scale) }) as Box<dyn Chain>)
            .collect();
        let x = Float::from([3.0, 6.0, 5.0, -25.0]);
        let y = links.at(&resident([2_u32, 1, 1, 0])).follow(&shapes, &x);
        assert_eq!(y.to_vec().unwrap(), [21.0, 10.0, 0.0, 0.0]);
    });
}

// rows: C121
#[test]
fn instances_change_the_state_of_a_loop() {
    #[jit]
    fn draws(shapes: &Ptr<dyn Shape>, start: &UInt, times: &UInt) -> (UInt, UInt) {
        let (mut state, mut n, mut sum) = (start.clone(), UInt::from(0), UInt::from(0));
        while n < times {
            sum += shapes.draw(&mut state);
            n += 1;
        }
        (state, sum)
    }
    on_each_device(|| {
        let shapes = scene().at(&resident([1_u32, 2, 0]));
        let (state, sum) = draws(&shapes, &UInt::from(1), &UInt::from([3, 2, 1]));
        assert_eq!(state.to_vec().unwrap(), [40, 11, 1]);
        assert_eq!(sum.to_vec().unwrap(), [4 + 13 + 40, 1 + 6, 0]);
    });
}

/// The results and side effects of a pointer's calls.
fn all_calls(shapes: &Ptr<dyn Shape>, x: &Float) -> (Vec<Vec<f32>>, Vec<Vec<u32>>) {
    let (d, sum) = shapes.both(x.clone(), Float::from(0.5));
    let mut counts = resident([100_u32, 0, 0, 0]);
    shapes.hit(&mut counts, UInt::arange(x.width()) % 4);
    let (mut state, mut uniform) = (UInt::arange(x.width()), UInt::from(1));
    let drawn = [shapes.draw(&mut state), shapes.draw(&mut uniform)];
    let [a, b] = drawn;
    (
        [shapes.distance(x), d, sum, shapes.size()].map(|array| array.to_vec().unwrap()).to_vec(),
        [shapes.sides(), counts, state, uniform, a, b].map(|array| array.to_vec().unwrap()).to_vec(),
    )
}

#[test]
fn sorted_pointers_give_the_same() {
    on_each_device(|| {
        let mut scene = scene();
        scene.extend([sphere(3.0), cube(0.5)]);
        scene.remove(3);
        let x = Float::from([3.0, -4.0, 5.0, 6.0, -25.0, 1.0, 40.0]);
        let some = scene.at(&resident([1_u32, 2, 0, 4, 2, 77, 3]));
        let mask = Mask::from([true, false, true, false, true, true, true]);
        for shapes in
            [some.clone(), some.masked(&mask), scene.null(7), scene.at(&UInt::opaque(2)), scene.at(&UInt::from(1))]
        {
            assert_eq!(all_calls(&shapes.sorted(), &x), all_calls(&shapes, &x));
        }
        let uniform = Float::opaque(4.0);
        assert_eq!(some.sorted().distance(&uniform).to_vec().unwrap(), some.distance(&uniform).to_vec().unwrap());
        assert_eq!(Instances::<dyn Shape>::new().at(&some.id()).sorted().size().to_vec().unwrap(), [0.0; 7]);
        assert_eq!(some.sorted().gather(&UInt::from([3, 0])).size().to_vec().unwrap(), [0.5, 1.0]);
    });
}

#[test]
fn sorted_pointers_are_for_code_that_runs() {
    #[jit]
    fn inside(shapes: &Ptr<dyn Shape>, mut x: Float) -> Float {
        while x < 10.0 {
            x += shapes.size();
        }
        x
    }
    #[jit]
    fn one_by_one(shapes: &Ptr<dyn Shape>, mut x: Float) -> Float {
        #[evaluated]
        while x < 10.0 {
            x += shapes.size();
        }
        x
    }
    on_each_device(|| {
        let (scene, x) = (scene(), Float::from([3.0, 4.0, 11.0]));
        let shapes = scene.at(&resident([1_u32, 2, 2])).sorted();
        let message = message_of(|| inside(&shapes, x.clone()));
        assert!(message.contains("a call cannot be sorted inside of a traced"), "{message}");
        assert!(message.contains("without `sorted`") && message.contains("instances.rs"), "{message}");
        assert_eq!(one_by_one(&shapes, x).to_vec().unwrap(), [10.0, 10.0, 11.0]);
    });
}

/// A lamp, which the host dims between launches.
#[jit(dispatch)]
trait Lamp {
    fn light(&self, x: &Float) -> Float;

    /// Changes it.
    #[host]
    fn dim(&mut self, by: f32);

    /// Returns a value that no lane could.
    #[host]
    fn name(&self) -> &str;

    #[host]
    fn describe(&self) -> String {
        format!("a lamp called {}", self.name())
    }
}

#[derive(Traverse)]
struct Bulb {
    power: Float,
    #[traverse(skip)]
    name: String,
}

#[derive(Traverse)]
struct Tube(Float, u32);

#[jit]
impl Lamp for Bulb {
    fn light(&self, x: &Float) -> Float {
        if *x > 1.0 { self.power / x } else { self.power.clone() }
    }

    #[host]
    fn dim(&mut self, by: f32) {
        self.power = &self.power * by;
    }

    fn name(&self) -> &str {
        &self.name
    }
}

#[jit]
impl Lamp for Tube {
    fn light(&self, x: &Float) -> Float {
        self.0 + x
    }

    fn dim(&mut self, by: f32) {
        self.0 *= by;
        self.1 += 1;
    }

    #[host]
    fn name(&self) -> &str {
        if self.1 > 0 { "dimmed tube" } else { "tube" }
    }
}

#[test]
fn host_methods_change_instances_without_another_implementation() {
    on_each_device(|| {
        let bulb = Bulb { power: Float::opaque(8.0), name: "bulb".into() };
        let mut lamps: Instances<dyn Lamp> = Instances::new();
        let ids = [lamps.push(Box::new(bulb)), lamps.push(Box::new(Tube(Float::opaque(4.0), 0)))];
        let pointers = lamps.at(&resident([ids[0], ids[1], ids[0], 0]));
        let x = resident([2.0_f32, 2.0, 1.0, 5.0]);
        assert_eq!(pointers.light(&x).to_vec().unwrap(), [4.0, 6.0, 8.0, 0.0]);
        let names = |lamps: &Instances<dyn Lamp>| ids.map(|id| lamps.get(id).unwrap().describe());
        assert_eq!(names(&lamps), ["a lamp called bulb", "a lamp called tube"]);
        ids.iter().for_each(|&id| lamps.get_mut(id).unwrap().dim(0.5));
        assert_eq!(pointers.light(&x).to_vec().unwrap(), [2.0, 4.0, 4.0, 0.0]);
        assert_eq!(names(&lamps), ["a lamp called bulb", "a lamp called dimmed tube"]);
    });
}

#[test]
fn host_methods_are_refused_through_a_pointer() {
    let lamps: Instances<dyn Lamp> = Instances::new();
    let mut pointers = lamps.null(3);
    let line = line!() + 1;
    let message = message_of(|| pointers.dim(0.5));
    assert!(message.contains("`Lamp::dim` is called through a pointer"), "{message}");
    assert!(
        message.contains("instances.get_mut(id)") && message.contains(&format!("instances.rs:{line}")),
        "{message}"
    );
}
