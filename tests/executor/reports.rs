//! `f::stats()` and `f::explain()` of `#[jit]` functions.

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
        assert_eq!((&**before, &**now, place.line()), ("2.0", "3.0", 10));
        assert!(causes.to_string().contains("reports.rs:10 was 2.0 and is 3.0"), "{causes}");
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
        // Together larger than the processor's cache.
        jit::eval(&doubled(&Float::full(1.0, 9 << 20).make_opaque())).unwrap();
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
        let text = shifted::explain().to_string();
        assert!(text.contains("an array had elements of f32, and has i32"), "{text}");
        Ok(())
    });
}
