//! `&mut` references that the macro cannot know to be such: a function without `mut` in its name returned them.

use std::cell::Cell;

use jit::prelude::*;

use super::control_flow::on_each_device;

#[derive(Traverse, Clone)]
struct Walker {
    x: Float,
    steps: UInt,
}

impl Walker {
    fn step(&mut self) {
        self.x = &self.x + 1.0;
        self.steps = &self.steps + 1u32;
    }

    /// Moves it, and returns where it was.
    fn advance_by(&mut self, by: f32) -> Float {
        let before = self.x.clone();
        self.x = &self.x + by;
        before
    }
}

/// Arrays beside a value that is no state.
struct World {
    walkers: Vec<Walker>,
    name: String,
}

impl World {
    fn new() -> World {
        let walker = Walker { x: Float::from([1.0, 2.0]), steps: UInt::from(0) };
        World { walkers: vec![walker.clone(), walker], name: "flat".into() }
    }

    fn nth(&mut self, at: usize) -> &mut Walker {
        &mut self.walkers[at]
    }

    fn label(&mut self) -> &mut String {
        &mut self.name
    }
}

/// Runs a function on a world, with a mask whose first lane is set, and compares the positions and steps.
fn check(run: impl Fn(&mut World, &Mask), x: [f32; 2], steps: [u32; 2]) {
    on_each_device(|| {
        let mut world = World::new();
        run(&mut world, &Mask::from([true, false]));
        assert_eq!(world.walkers[0].x.to_vec().unwrap(), x);
        assert_eq!((&world.walkers[0].steps + UInt::from([0, 0])).to_vec().unwrap(), steps);
    });
}

#[jit]
fn branch(world: &mut World, m: &Mask) {
    let walker = world.nth(0);
    if m {
        walker.step();
    }
}

#[jit]
fn branch_without_semicolon(world: &mut World, m: &Mask) {
    let walker = world.nth(0);
    if m {
        walker.step()
    }
}

#[jit]
fn nested(world: &mut World, m: &Mask) {
    let walker = world.nth(0);
    let mut i = Int::from(0);
    while &i < 3 {
        if m {
            walker.step()
        } else {
            walker.advance_by(0.5);
        }
        i += 1;
    }
}

#[jit]
fn value(world: &mut World, m: &Mask) -> Float {
    let walker = world.nth(0);
    let mut sum = Float::from(0.0);
    if m {
        sum += walker.advance_by(2.0) + walker.advance_by(3.0);
    }
    sum
}

#[jit]
fn after_an_exit(world: &mut World, m: &Mask) -> Float {
    let walker = world.nth(0);
    if m {
        return walker.advance_by(1.0);
    }
    walker.step();
    walker.x.clone()
}

#[test]
fn a_call_for_its_effect_changes_what_it_refers_to_in_some_lanes() {
    check(branch, [2.0, 2.0], [1, 0]);
    check(branch_without_semicolon, [2.0, 2.0], [1, 0]);
    check(nested, [4.0, 3.5], [3, 0]);
}

#[test]
fn a_method_whose_name_says_that_it_changes_may_return_something() {
    let run = |world: &mut World, m: &Mask| assert_eq!(value(world, m).to_vec().unwrap(), [1.0 + 3.0, 0.0]);
    check(run, [6.0, 2.0], [0, 0]);
    let run = |world: &mut World, m: &Mask| assert_eq!(after_an_exit(world, m).to_vec().unwrap(), [1.0, 3.0]);
    check(run, [2.0, 3.0], [0, 1]);
}

fn first(walkers: &mut [Walker]) -> &mut Walker {
    &mut walkers[0]
}

fn step(walker: &mut Walker) {
    walker.step();
}

#[jit]
fn passed_on(world: &mut World, m: &Mask) -> Float {
    let walker = first(&mut world.walkers);
    let mut sum = Float::from(0.0);
    if m {
        step(walker);
        let before = walker.advance_by(0.5);
        sum += before;
    }
    sum
}

#[jit]
fn assigned(world: &mut World, m: &Mask) {
    let walker = world.nth(0);
    if m {
        walker.x += 1.0;
        walker.steps += 1;
    }
}

#[jit]
fn assigned_and_passed_on(world: &mut World, m: &Mask) {
    let walker = world.nth(0);
    let mut i = UInt::from(0);
    while i < 2 {
        if m && i < 1 {
            walker.x += 1.0;
            step(walker);
            walker.steps -= 1;
        }
        i += 1;
    }
}

#[jit]
fn assigned_after_an_exit(world: &mut World, m: &Mask) {
    let walker = world.nth(0);
    if !m {
        return;
    }
    walker.x += 1.0;
    walker.steps += 1;
}

struct View<'a> {
    walker: &'a mut Walker,
}

#[jit]
fn in_a_structure(world: &mut World, m: &Mask) {
    let view = View { walker: world.nth(0) };
    view.walker.x -= 1.0;
    if m {
        view.walker.x += 1.0;
        view.walker.steps += 1;
    }
}

#[jit]
fn called_in_a_structure(world: &mut World, m: &Mask) {
    let view = View { walker: world.nth(0) };
    if m {
        view.walker.step();
    }
}

#[jit]
fn in_an_option(world: &mut World, m: &Mask) {
    let mut walker = Some(world.nth(0));
    if m {
        walker.as_mut().unwrap().step();
    }
}

#[test]
fn references_change_at_the_end_of_a_function_too() {
    let run = |world: &mut World, m: &Mask| assert_eq!(passed_on(world, m).to_vec().unwrap(), [2.0, 0.0]);
    check(run, [2.5, 2.0], [1, 0]);
    check(assigned, [2.0, 2.0], [1, 0]);
    check(assigned_and_passed_on, [3.0, 2.0], [0, 0]);
    check(assigned_after_an_exit, [2.0, 2.0], [1, 0]);
    check(in_a_structure, [1.0, 1.0], [1, 0]);
    check(called_in_a_structure, [2.0, 2.0], [1, 0]);
    check(in_an_option, [2.0, 2.0], [1, 0]);
}

fn joined(parts: [String; 2]) -> String {
    parts.concat()
}

#[jit]
fn moved(world: &mut World, m: &Mask) -> Float {
    let (text, walker) = (joined(["a".into(), "b".into()]), world.nth(0).clone());
    let number: Result<u32, String> = "3".parse().map_err(|_| String::new());
    let (reference, first) = (world.nth(1), UInt::from(0));
    let x = &reference.x;
    let mut sum = x.zeros_like();
    if m {
        sum += text.into_bytes().len() as f32;
        drop(walker);
        number.unwrap();
        reference.clone().step();
        sum += x + first.cast::<f32>();
    }
    sum
}

#[test]
fn values_may_be_moved_in_a_region() {
    on_each_device(|| {
        let sum = moved(&mut World::new(), &Mask::from([true, false]));
        assert_eq!(sum.to_vec().unwrap(), [3.0, 0.0]);
    });
}

#[jit]
fn other_types(world: &mut World, m: &Mask) -> Float {
    let names = ["a".to_owned(), "b".to_owned()];
    let (all, boxed, number, cell) = (names.iter(), Box::new(3i32), names.len(), Cell::new(0));
    let x = world.walkers[0].x.clone();
    let mut sum = x.zeros_like();
    if m {
        all.for_each(|name| assert!(!name.is_empty()));
        let power = boxed.pow(2);
        sum += x + power as f32;
    } else {
        cell.set(number);
        sum -= 1.0;
    }
    let label = world.label();
    if number > 1 {
        label.push('!');
    }
    assert_eq!(cell.get(), 2);
    sum
}

#[test]
fn values_of_other_types_are_left_to_rust() {
    on_each_device(|| {
        let mut world = World::new();
        assert_eq!(other_types(&mut world, &Mask::from([true, false])).to_vec().unwrap(), [10.0, -1.0]);
        assert_eq!(world.name, "flat!");
    });
}
