//! `#[traced] match`: enums whose variant differs by lane.

use jit::prelude::*;
use jit::trees;

#[derive(TracedEnum)]
enum Shape {
    Sphere { radius: Float },
    Slab(Float, Float),
    Nothing,
}

fn shapes() -> Traced<Shape> {
    let of = |value: f32| Float::from(value);
    let list = [
        Shape::Nothing,
        Shape::Sphere { radius: of(2.0) },
        Shape::Slab(of(3.0), of(0.5)),
        Shape::Slab(of(-1.0), of(4.0)),
        Shape::Sphere { radius: of(5.0) },
    ];
    list.into_iter().collect()
}

fn on_each<T: PartialEq + std::fmt::Debug>(program: impl Fn() -> T) -> T {
    let expected = jit::with_device(Device::Interpreter, &program);
    if crate::tested_devices::has_llvm() {
        assert_eq!(jit::with_device(Device::Cpu, &program), expected);
    }
    expected
}

#[jit]
fn area(shape: &Traced<Shape>) -> Float {
    #[traced]
    match shape {
        Shape::Sphere { radius } => 3.0 * radius * radius,
        Shape::Slab(a, b) if a > 0.0 => a * b,
        Shape::Slab(a, _) => a - 100.0,
        Shape::Nothing => Float::from(7.0),
    }
}

// rows: K17
#[test]
fn each_lane_takes_the_arm_of_its_variant() {
    assert_eq!(on_each(|| area(&shapes()).to_vec().unwrap()), [7.0, 12.0, 1.5, -101.0, 75.0]);
}

#[jit]
fn heavy(shape: Traced<Shape>, x: &Float) -> (Float, UInt) {
    let mut hits = UInt::from(0);
    let y = #[traced]
    match shape {
        Shape::Sphere { radius: mut r } => {
            for _ in 0..10 {
                r = r.sin() + x;
            }
            hits += 1;
            r
        }
        Shape::Slab(ref a, b) => {
            let mut n = UInt::from(0);
            let mut sum = b;
            while n < 5 {
                sum = sum.cos() * a;
                n += 1;
            }
            hits += n;
            sum
        }
        other => other.variant() as f32,
    };
    (y, hits)
}

#[test]
fn arms_change_variables_and_contain_loops() {
    let x = [0.5, 0.25, 1.0, 2.0, 0.125_f32];
    let (y, hits) = on_each(|| {
        let (y, hits) = heavy(shapes(), &Float::from(x));
        (y.to_vec().unwrap(), hits.to_vec().unwrap())
    });
    assert_eq!(hits, [0, 1, 5, 5, 1]);
    assert_eq!(y[0], 2.0);
    let expected = (0..10).fold(2.0_f32, |r, _| r.sin() + 0.25);
    assert!((y[1] - expected).abs() < 1e-5, "{y:?}");
    let expected = (0..5).fold(4.0_f32, |sum, _| -sum.cos());
    assert!((y[3] - expected).abs() < 1e-5, "{y:?}");
}

#[jit]
fn jumps(shape: &Traced<Shape>, limit: &UInt) -> UInt {
    let mut n = UInt::from(0);
    let mut shape = shape.clone();
    loop {
        n += 1;
        #[traced]
        match &shape {
            Shape::Sphere { radius } => {
                if radius < 1.0 {
                    shape = Shape::Nothing.into();
                    continue;
                }
                shape = Shape::Sphere { radius: radius * 0.5 }.into();
            }
            Shape::Slab(a, _) if a < 0.0 => return 1000 + n,
            Shape::Slab(a, b) => shape = Shape::Slab(a - 1.0, b + 1.0).into(),
            Shape::Nothing => break,
        }
        if n >= limit {
            break;
        }
        n += 100;
    }
    n
}

#[test]
fn arms_jump_and_set_the_variant_under_traced_conditions() {
    let limit = [900; 5];
    let got = on_each(|| jumps(&shapes(), &UInt::from(limit)).to_vec().unwrap());
    // Nothing; 2, 1, 0.5, then Nothing; 3, 2, 1, 0, -1; -1; 5, 2.5, 1.25, 0.625.
    assert_eq!(got, [1, 204, 1405, 1001, 305]);
    let limit = [900, 900, 103, 900, 900];
    assert_eq!(on_each(|| jumps(&shapes(), &UInt::from(limit)).to_vec().unwrap())[2], 203);
}

#[jit]
fn several(shape: &Traced<Shape>) -> Float {
    let mut seen = Float::from(0.0);
    let y;
    #[traced]
    match shape {
        Shape::Sphere { radius: x } | Shape::Slab(_, x) => {
            seen += x;
            y = x * 2.0;
        }
        _ => y = Float::from(-1.0),
    }
    y + seen * 100.0
}

#[test]
fn one_arm_binds_fields_of_several_variants() {
    assert_eq!(on_each(|| several(&shapes()).to_vec().unwrap()), [-1.0, 204.0, 51.0, 408.0, 510.0]);
}

thread_local! {
    static RECORDED: std::cell::RefCell<Vec<&'static str>> = const { std::cell::RefCell::new(Vec::new()) };
}

fn note(name: &'static str) {
    RECORDED.with_borrow_mut(|names| names.push(name));
}

#[jit]
fn noted(shape: &Traced<Shape>) -> Float {
    #[traced]
    match shape {
        Shape::Sphere { radius } => {
            note("sphere");
            radius + 1.0
        }
        Shape::Nothing | Shape::Slab(..) => {
            note("other");
            Float::from(0.0)
        }
    }
}

// rows: K17
#[test]
fn arms_are_recorded_once_and_those_of_other_variants_not_at_all() {
    crate::devices::on_each_device(|| {
        let recorded = |shape: &Traced<Shape>| {
            RECORDED.take();
            let y = noted(shape).to_vec().unwrap();
            (RECORDED.take(), y)
        };
        assert_eq!(recorded(&shapes()), (vec!["sphere", "other"], vec![0.0, 3.0, 0.0, 0.0, 6.0]));
        let sphere = Traced::from(Shape::Sphere { radius: Float::from([1.0, 2.0]) });
        assert_eq!(recorded(&sphere), (vec!["sphere"], vec![2.0, 3.0]));
        assert_eq!(recorded(&Shape::Nothing.into()), (vec!["other"], vec![0.0]));
    });
}

#[jit]
fn change(mut shape: Traced<Shape>, far: &Mask) -> Traced<Shape> {
    if far {
        shape = Shape::Sphere { radius: Float::from([1.0, 2.0, 3.0, 4.0, 5.0]) }.into();
    }
    shape
}

#[test]
fn the_variant_is_set_in_a_traced_branch() {
    let far = [true, false, true, false, false];
    let got = on_each(|| area(&change(shapes(), &Mask::from(far))).to_vec().unwrap());
    assert_eq!(got, [3.0, 12.0, 27.0, -101.0, 75.0]);
}

#[test]
fn lanes_are_gathered_selected_and_evaluated_as_trees_are() {
    let (index, on) = (UInt::from([1, 4, 0]), Mask::from([true, false, true]));
    let masked = on_each(|| area(&shapes().gather_masked(&index, &on)).to_vec().unwrap());
    assert_eq!(masked, [12.0, 0.0, 7.0]);
    let shapes = shapes().gather(&index);
    jit::eval(&shapes).unwrap();
    let chosen = trees::select(&on, &shapes, &Shape::Nothing.into());
    assert_eq!(area(&chosen).to_vec().unwrap(), [12.0, 7.0, 7.0]);
    let paths: Vec<String> = jit::leaves(&shapes).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["variant", "Sphere.radius", "Slab.0", "Slab.1"]);
}

#[derive(TracedEnum)]
enum Step<T: jit::Element, const N: usize> {
    Go { by: [Array<T>; N], r#type: (Array<T>, UInt) },
    Stay,
}

#[jit]
fn walk(step: &Traced<Step<i32, 2>>, at: &Int) -> Int {
    #[traced]
    match step {
        Step::Go { by, r#type: (first, _) } => at + by[0] * by[1] + first,
        Step::Stay => at.clone(),
    }
}

#[test]
fn generic_enums_with_fields_of_several_arrays() {
    let one = Int::from(1);
    let go = Step::Go { by: [Int::from(2), Int::from([3, 4])], r#type: (one, UInt::from(0)) };
    let both: Traced<Step<i32, 2>> = [go, Step::Stay].into_iter().collect();
    assert_eq!(walk(&both, &Int::from(10)).to_vec().unwrap(), [17, 19, 10]);
}

#[derive(TracedEnum)]
enum Layer {
    Empty,
    Filled(Traced<Shape>, UInt),
}

/// Writes a layer for each shape of a lane to its memory, and adds up the areas in it.
#[jit]
fn area_of_layers(shape: &Traced<Shape>, count: &UInt) -> Float {
    let mut layers = Local::<Traced<Layer>>::new(4);
    let mut at = UInt::from(0);
    while at < count {
        let layer = Traced::from(Layer::Filled(shape.clone(), &at + 1));
        layers.write(&at, layer);
        at += 1;
    }
    let mut sum = Float::from(0.0);
    for index in 0..4 {
        #[traced]
        match layers.read(&UInt::from(index)) {
            Layer::Filled(shape, times) => sum += area(&shape) * times.cast::<f32>(),
            Layer::Empty => {}
        }
    }
    sum
}

#[test]
fn enums_are_fields_of_enums_and_elements_of_local_memory() {
    let counts = UInt::from([0, 1, 2, 3, 4]);
    let areas = on_each(|| area_of_layers(&shapes(), &counts).to_vec().unwrap());
    assert_eq!(areas, [0.0, 12.0, 4.5, -606.0, 750.0]);
}

#[test]
fn the_default_is_the_first_variant_with_zeros() {
    let sphere = Traced::<Shape>::default();
    assert_eq!(sphere.variant().to_vec().unwrap(), [0]);
    assert_eq!(area(&sphere).to_vec().unwrap(), [0.0]);
}
