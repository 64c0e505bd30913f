//! Parameters that are fixed while tracing: which values they may have, and what they decide.

use half::f16;
use jit::freeze::{Cause, CodeChange};
use jit::prelude::*;

use crate::on_each_device;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Shape {
    Disc,
    Square { twice: bool },
}

type Nested = Option<(u8, [f32; 2], &'static str)>;

#[jit]
fn of_each_kind(
    x: &Float,
    #[constexpr] shape: Shape,
    #[constexpr] factor: f32,
    #[constexpr] half: f16,
    #[constexpr] names: (char, String),
    #[constexpr] weights: &[f64],
    #[constexpr] nested: Nested,
) -> Float {
    let mut y = x * factor + half.to_f32();
    if let Shape::Square { twice } = shape {
        y = y * if twice { 2.0 } else { 1.0 };
    }
    for weight in weights {
        y += *weight as f32;
    }
    if let Some((times, [from, to], _)) = nested {
        y += f32::from(times) * (to - from);
    }
    if names.0 == '-' || names.1 == "negative" { -y } else { y }
}

// rows: K150
#[test]
fn values_of_each_kind_are_constexpr() {
    on_each_device(|| {
        let (x, half) = (Float::from([1.0, 2.0]), f16::from_f32(0.5));
        let square = Shape::Square { twice: true };
        let nested: Nested = Some((3, [1.0, 1.5], "range"));
        let direct = of_each_kind(&x, square, 3.0, half, ('-', String::new()), &[0.25, 0.25], nested);
        assert_eq!(direct.to_vec()?, [-9.0, -15.0]);
        let example = Float::placeholder(2);
        let exe = of_each_kind::compile(&example, square, 3.0, half, ('-', String::new()), &[0.25, 0.25], nested)?;
        assert_eq!(exe.call(&x)?.to_vec()?, [-9.0, -15.0]);
        let shown: Vec<&str> = exe.constexprs().iter().map(|(_, value)| value.as_str()).collect();
        let wanted =
            ["Square { twice: true }", "3.0", "0.5", "('-', \"\")", "[0.25, 0.25]", "Some((3, [1.0, 1.5], \"range\"))"];
        assert_eq!(shown, wanted);
        let plain = of_each_kind::compile(&example, Shape::Disc, 1.0, half, ('+', "negative".into()), &[], None)?;
        assert_eq!(plain.call(&x)?.to_vec()?, [-1.5, -2.5]);
        Ok(())
    });
}

#[jit]
fn divided(x: &Float, #[constexpr] by: f32) -> Float {
    x / by
}

// rows: K150
#[test]
fn floats_differ_by_their_bits() {
    on_each_device(|| {
        jit::cache::clear();
        divided::clear();
        let x = Float::from([1.0, -2.0]);
        let result = |by: f32| divided(&x, by).to_vec();
        assert_eq!(result(0.0)?, [f32::INFINITY, f32::NEG_INFINITY]);
        assert_eq!(result(-0.0)?, [f32::NEG_INFINITY, f32::INFINITY]);
        assert_eq!(result(-0.0)?, [f32::NEG_INFINITY, f32::INFINITY]);
        assert!(result(f32::NAN)?.iter().all(|lane| lane.is_nan()));
        let causes: Vec<_> = divided::explain().iter().map(|retrace| retrace.cause.clone()).collect();
        let change = |before: &str, now: &str| {
            let (before, now) = (before.to_owned(), now.to_owned());
            Cause::Code(CodeChange::ConstexprParameter { name: "by", before, now })
        };
        assert_eq!(causes, [Cause::Code(CodeChange::First), change("0.0", "-0.0")]);
        Ok(())
    });
}

#[jit]
fn with_epilogue(x: &Float, y: &Float, #[constexpr] epilogue: impl Fn(&Float) -> Float) -> Float {
    epilogue(&(x * y + 1.0))
}

#[jit]
fn of_parameter<F>(x: &Float, #[constexpr] f: &F, #[constexpr] times: u32) -> Float
where
    F: Fn(Float) -> Float,
{
    let mut y = x.clone();
    for _ in 0..times {
        y = f(y);
    }
    y
}

fn relu(x: &Float) -> Float {
    x.max(0.0)
}

// rows: K151
#[test]
fn functions_and_closures_are_constexpr() {
    on_each_device(|| {
        jit::cache::clear();
        with_epilogue::clear();
        let [x, y] = [[1.0, -2.0], [3.0, 4.0]].map(Float::from);
        for _ in 0..2 {
            assert_eq!(with_epilogue(&x, &y, relu).to_vec()?, [4.0, 0.0]);
            assert_eq!(with_epilogue(&x, &y, |x| x.clone()).to_vec()?, [4.0, -7.0]);
        }
        assert_eq!(with_epilogue::stats().compiles, 2, "one kernel for each epilogue");
        let text = with_epilogue::explain().to_string();
        assert!(text.contains("the constexpr parameter `epilogue` was"), "{text}");
        let (scale, offset) = (2.0_f32, Float::from([0.5, 0.25]));
        assert_eq!(
            with_epilogue(&x, &y, |x| x * scale + &offset).to_vec()?,
            [8.5, -13.75],
            "what they capture is traced"
        );

        let executors = [
            with_epilogue::compile(&Float::placeholder(2), &Float::placeholder(2), relu)?,
            with_epilogue::compile(&Float::placeholder(2), &Float::placeholder(2), |x| -x)?,
        ];
        let results: Vec<_> = executors.iter().map(|exe| exe.call(&x, &y).unwrap().to_vec().unwrap()).collect();
        assert_eq!(results, [[4.0, 0.0], [-4.0, 7.0]]);
        assert_eq!(of_parameter(&x, &|x| x * scale, 3).to_vec()?, [8.0, -16.0]);
        let exe = of_parameter::compile(&Float::placeholder(2), &|x: Float| x + 1.0, 3)?;
        assert_eq!(exe.call(&x)?.to_vec()?, [4.0, 1.0]);
        Ok(())
    });
}

#[jit]
fn chosen(x: &Float, #[constexpr] is_root: bool, #[constexpr] steps: u32, swap: bool) -> Float {
    let mut y = if is_root { x.sqrt() } else { x.exp() };
    for _ in 0..steps {
        y = y * 1.5;
    }
    if swap { -y } else { y }
}

// rows: K152
#[test]
fn what_constexpr_values_do_not_choose_is_not_in_the_code() {
    on_each_device(|| {
        let root = chosen::compile(&Float::placeholder(4), true, 0, false)?;
        let text = root.ir();
        assert!(text.contains("sqrt") && !text.contains("exp") && !text.contains("select"), "{text}");
        let other = chosen::compile(&Float::placeholder(4), false, 0, false)?;
        assert!(!other.ir().contains("sqrt"), "{}", other.ir());
        assert_eq!(root.call(&Float::from([4.0, 9.0]), false)?.to_vec()?, [2.0, 3.0]);
        Ok(())
    });
}

// rows: K154
#[test]
fn loops_over_constexpr_ranges_are_unrolled_and_others_recorded_once() {
    #[jit]
    fn powers(x: &Float, #[constexpr] unrolled: u32, lanes: &UInt) -> Float {
        let mut y = x.clone();
        for _ in 0..unrolled {
            y = y * x;
        }
        for _ in 0..lanes {
            y = y * 0.5;
        }
        y
    }
    on_each_device(|| {
        let products = |unrolled: u32| -> jit::Result<(usize, Vec<f32>)> {
            let exe = powers::compile(&Float::placeholder(2), unrolled, &UInt::placeholder(2))?;
            let result = exe.call(&Float::from([2.0, 3.0]), &UInt::from([unrolled, 1]))?.to_vec()?;
            let ir = exe.ir();
            let (scheduled, _) = ir.split_once("// as compiled").unwrap();
            assert_eq!(scheduled.matches(" = loop ").count(), 1, "{ir}");
            Ok((scheduled.matches(" mul ").count(), result))
        };
        let ((two, first), (five, second)) = (products(2)?, products(5)?);
        assert_eq!(five - two, 3, "one product for each iteration that is unrolled");
        assert_eq!((first, second), (vec![2.0, 13.5], vec![2.0, 364.5]));
        Ok(())
    });
}

#[jit]
fn of_a_constant(x: &Float, #[constexpr] name: &'static str, #[constexpr] weights: &'static [f32]) -> Float {
    let sum: f32 = weights.iter().sum();
    if name == "negative" { -x * sum } else { x * sum }
}

#[test]
fn references_to_constants_are_kept() {
    on_each_device(|| {
        let exe = of_a_constant::compile(&Float::placeholder(8), "negative", &[1.0, 2.0])?;
        assert_eq!(exe.call(&Float::from([1.0, 2.0]))?.to_vec()?, [-3.0, -6.0]);
        assert_eq!(of_a_constant(&Float::from(1.0), "", &[4.0]).item()?, 4.0);
        Ok(())
    });
}
