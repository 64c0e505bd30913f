//! `f::stats()` and `f::explain()` of `#[jit]` functions.

use jit::Element;
use jit::freeze::{Cause, CodeChange};
use jit::prelude::*;

use crate::on_each_device;

#[jit]
fn scaled(x: &Float, by: f32) -> Float {
    x * by
}

#[jit]
fn shifted<T>(x: &Array<T>, by: &Array<T>) -> Array<T>
where
    T: jit::Number,
    for<'a> &'a Array<T>: std::ops::Add<&'a Array<T>, Output = Array<T>>,
{
    x + by
}

#[test]
fn each_compilation_has_its_cause() {
    on_each_device(|| {
        jit::cache::clear();
        scaled::clear();
        let x = Float::from([1.0, 2.0]);
        for by in [2.0, 3.0, 3.0, 2.0] {
            jit::eval(&scaled(&x, by))?;
        }
        let stats = scaled::stats();
        assert_eq!((stats.traces, stats.compiles, stats.cache_hits), (4, 2, 2));
        let causes = scaled::explain();
        assert_eq!(causes.len(), 2);
        assert_eq!(causes[0].cause, Cause::Code(CodeChange::First));
        let Cause::Code(CodeChange::Literal { place: Some(place), before, now }) = &causes[1].cause else {
            panic!("{causes:?}");
        };
        assert_eq!((&**before, &**now, place.line()), ("2.0", "3.0", 11));
        assert!(causes.to_string().contains("reports.rs:11 was 2.0 and is 3.0"), "{causes}");
        scaled::clear();
        assert_eq!(scaled::stats(), Default::default());
        Ok(())
    });
}

#[jit]
fn doubled(x: &Float) -> Float {
    x * 2.0
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Shape {
    Round,
    Square,
}

/// Without `Debug`.
#[derive(PartialEq, Eq, Hash)]
struct Unnamed(u32);

#[jit]
fn area(x: &Float, #[constexpr] shape: Shape, #[constexpr] order: usize, #[constexpr] plain: &Unnamed) -> Float {
    let scale = if shape == Shape::Round { 3.25 } else { 4.0 };
    let mut y = x * scale;
    for _ in 1..order + plain.0 as usize {
        y = &y * x;
    }
    y
}

#[test]
fn constexpr_parameters_are_causes() {
    on_each_device(|| {
        jit::cache::clear();
        area::clear();
        let x = Float::from([1.0, 2.0]);
        for (shape, order) in [(Shape::Round, 2), (Shape::Round, 2), (Shape::Square, 2), (Shape::Square, 3)] {
            let scale = if shape == Shape::Round { 3.25 } else { 4.0 };
            let wanted = [scale, scale * f32::powi(2.0, order)];
            assert_eq!(area(&x, shape, order as usize, &Unnamed(0)).to_vec()?, wanted);
        }
        let change = |name, before: &str, now: &str| {
            Cause::Code(CodeChange::ConstexprParameter { name, before: before.into(), now: now.into() })
        };
        let causes: Vec<_> = area::explain().iter().map(|retrace| retrace.cause.clone()).collect();
        let first = Cause::Code(CodeChange::First);
        assert_eq!(causes, [first, change("shape", "Round", "Square"), change("order", "2", "3")]);
        let text = area::explain().to_string();
        assert!(text.contains("the constexpr parameter `order` was 2 and is 3"), "{text}");
        Ok(())
    });
}

#[test]
fn other_options_and_eviction_are_causes() {
    let _alone = crate::alone();
    jit::with_device(Device::Cpu, || {
        jit::cache::clear();
        doubled::clear();
        jit::eval(&doubled(&Float::full(1.0, 100).make_opaque())).unwrap();
        jit::cache::clear();
        jit::eval(&doubled(&Float::full(1.0, 100).make_opaque())).unwrap();
        // Larger than the 64 MiB of cache that launches count on at most, even if the result overwrites the operand.
        jit::eval(&doubled(&Float::full(1.0, 17 << 20).make_opaque())).unwrap();
        jit::sync().unwrap();
        let causes: Vec<_> = doubled::explain().iter().map(|retrace| retrace.cause.clone()).collect();
        let options = CodeChange::Options { before: "ordinary stores".into(), now: "streaming stores".into() };
        let expected = [CodeChange::First, CodeChange::Same, options].map(Cause::Code);
        assert_eq!(causes, expected);
        let text = doubled::explain().to_string();
        assert!(text.contains("was compiled with the option streaming stores instead of ordinary stores"), "{text}");
    });
}

#[test]
fn another_element_type_is_a_cause() {
    on_each_device(|| {
        jit::cache::clear();
        shifted::clear();
        jit::eval(&shifted(&Float::from([1.0, 2.0]), &Float::from([1.0, 2.0])))?;
        jit::eval(&shifted(&Int::from([1, 2]), &Int::from([1, 2])))?;
        let causes: Vec<_> = shifted::explain().iter().map(|retrace| retrace.cause.clone()).collect();
        let change = CodeChange::ArgumentType { path: "x".into(), before: f32::TYPE, now: i32::TYPE };
        assert_eq!(causes, [CodeChange::First, change].map(Cause::Code));
        let text = shifted::explain().to_string();
        assert!(text.contains("`x` had elements of f32, and has i32"), "{text}");
        Ok(())
    });
}

#[test]
fn another_class_of_widths_is_a_cause() {
    on_each_device(|| {
        jit::cache::clear();
        shifted::clear();
        let (x, one, two) = (Float::from([3.0, 4.0]), Float::from([1.0]).make_opaque(), Float::from([1.0, 2.0]));
        jit::eval(&(&x, &one, &two))?;
        for by in [&two, &one, &two] {
            jit::cache::clear();
            jit::eval(&shifted(&x, by))?;
        }
        let causes: Vec<_> = shifted::explain().iter().map(|retrace| retrace.cause.clone()).collect();
        let change = CodeChange::ArrayWidth { array: 1, is_for_each_lane: false };
        assert_eq!(causes, [CodeChange::First, change, CodeChange::Same].map(Cause::Code));
        let text = shifted::explain().to_string();
        assert!(text.contains("array 1 of the kernel had one element for each lane, and has one for all"), "{text}");
        Ok(())
    });
}

#[derive(Clone, Traverse)]
struct Bodies<T: Element> {
    name: String,
    mass: Float,
    velocity: Vec<Array<T>>,
}

/// A type that is not `Traverse`.
struct Rate(f32);

#[jit]
fn advanced<T: Element>(rate: &Rate, bodies: &mut Bodies<T>, _unused: u32) -> Float
where
    Array<T>: Clone,
{
    assert!(!bodies.name.is_empty());
    &bodies.mass * bodies.velocity[1].cast::<f32>() * rate.0
}

fn bodies<T: Element>(velocity: [T; 2]) -> Bodies<T> {
    let velocity = vec![Array::from(velocity), Array::from(velocity)];
    jit::eval(&velocity).unwrap();
    Bodies { name: "bodies".into(), mass: Float::from([1.0, 2.0]), velocity }
}

#[test]
fn the_place_in_the_argument_is_named_against_the_nearest_key() {
    on_each_device(|| {
        jit::cache::clear();
        advanced::clear();
        let (rate, other_rate) = (Rate(2.0), Rate(3.0));
        let mut floats = bodies([1.0_f32, 2.0]);
        let mut ints = bodies([1_i32, 2]);
        let mut doubles = bodies([1.0_f64, 2.0]);
        jit::eval(&advanced(&rate, &mut floats, 0))?;
        jit::eval(&advanced(&rate, &mut ints, 0))?;
        jit::eval(&advanced(&rate, &mut doubles, 0))?;
        // Nearest to the one with the same types.
        jit::eval(&advanced(&other_rate, &mut ints, 0))?;
        let causes: Vec<_> = advanced::explain().iter().map(|retrace| retrace.cause.clone()).collect();
        let change =
            |before, now| Cause::Code(CodeChange::ArgumentType { path: "bodies.velocity[0]".into(), before, now });
        assert_eq!(causes.len(), 4, "{causes:?}");
        assert_eq!(causes[..2], [Cause::Code(CodeChange::First), change(f32::TYPE, i32::TYPE)]);
        assert!(matches!(&causes[2], Cause::Code(CodeChange::ArgumentType { now, .. }) if *now == f64::TYPE));
        assert!(matches!(&causes[3], Cause::Code(CodeChange::Literal { now, .. }) if now == "3.0"), "{causes:?}");
        Ok(())
    });
}

#[test]
fn another_device_is_a_cause() {
    let _alone = crate::alone();
    jit::cache::clear();
    doubled::clear();
    let x = Float::full(1.0, 100).make_opaque();
    for device in [Device::Cpu, Device::Interpreter, Device::Cpu] {
        jit::with_device(device, || jit::eval(&doubled(&x))).unwrap();
    }
    let causes: Vec<_> = doubled::explain().iter().map(|retrace| retrace.cause.clone()).collect();
    let (path, before, now) = ("x".to_owned(), Device::Cpu, Device::Interpreter);
    assert_eq!(causes, [CodeChange::First, CodeChange::ArgumentDevice { path, before, now }].map(Cause::Code));
    let text = doubled::explain().to_string();
    assert!(text.contains("`x` was on the device `cpu`, and is on `interpreter`"), "{text}");
}
