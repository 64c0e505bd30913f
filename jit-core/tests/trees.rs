//! Values made of arrays, and what can be seen of arrays without evaluating them.

use jit_core::{
    Array, Float, Int, Mask, Traverse, UInt, Visitor, VisitorMut, eval, graphviz, leaves, schedule, trees, whos,
};
use jit_runtime::ErrorKind;
use jit_runtime::device::{Device, with_device};

fn on_each_device(test: impl Fn()) {
    for device in [Device::Interpreter, Device::Cpu] {
        with_device(device, &test);
    }
}

struct Light {
    color: Float,
    on: bool,
}

impl Traverse for Light {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.field("color", &self.color);
        visitor.field("on", &self.on);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        visitor.field("color", &mut self.color);
        visitor.field("on", &mut self.on);
    }
}

fn light(value: f32) -> Light {
    Light { color: Float::from([value, 2.0]) * 2.0, on: true }
}

#[test]
fn leaves_have_paths() {
    let tree = (vec![light(1.0), light(3.0)], Some(Int::from(1)), [UInt::arange(3)]);
    let found: Vec<(String, usize, &str)> =
        leaves(&tree).into_iter().map(|(path, leaf)| (path, leaf.width, leaf.state)).collect();
    let expected = [
        ("0[0].color", 2, "unevaluated"),
        ("0[1].color", 2, "unevaluated"),
        ("1", 1, "literal"),
        ("2[0]", 3, "unevaluated"),
    ];
    assert_eq!(found, expected.map(|(path, width, state)| (path.to_owned(), width, state)));
    assert!(tree.0[0].on);
}

#[test]
fn trees_are_evaluated_whole() {
    let tree = (vec![light(1.0), light(3.0)], Box::new(Float::arange(4) + 1.0), "text", 5_usize);
    eval(&tree).unwrap();
    assert!(leaves(&tree).iter().all(|(_, leaf)| leaf.state == "evaluated"));
    assert_eq!(tree.0[1].color.to_vec().unwrap(), [6.0, 4.0]);
    assert_eq!(tree.1.get(3).unwrap(), 4.0);
}

#[test]
fn arrays_in_a_tree_can_be_replaced() {
    let mut tree = vec![light(1.0), light(3.0)];
    let mut paths = Vec::new();
    tree.traverse_mut(&mut VisitorMut::with_paths(&mut |path, var| {
        paths.push(path.to_owned());
        *var = (Float::from_var(var.clone()) + 1.0).into_var();
    }));
    assert_eq!(paths, ["[0].color", "[1].color"]);
    assert_eq!(tree[1].color.to_vec().unwrap(), [7.0, 5.0]);
}

#[test]
fn a_failed_evaluation_leaves_arrays_as_they_were() {
    let (good, hopeless) = (Float::from([1.0, 2.0]) + 1.0, Float::placeholder(2) * 2.0);
    let error = eval(&(&good, &hopeless)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotEvaluated);
    assert!(!good.is_evaluated());
    schedule(&good);
    assert_eq!((&good * 3.0).to_vec().unwrap(), [6.0, 9.0]);
    assert!(good.is_evaluated());
    assert_eq!(good.to_vec().unwrap(), [2.0, 3.0]);
}

#[test]
fn labels_show_in_listings_and_drawings() {
    let weights = Float::from([0.25, 0.5, 0.75]).with_label("weights of the test");
    let scaled = (&weights * 2.0).with_label("scaled by the test");
    let table = whos();
    let line = table.lines().find(|line| line.contains("weights of the test")).unwrap();
    assert!(
        line.contains("f32") && line.contains("evaluated") && line.contains(" 12 ") && line.contains("trees.rs"),
        "{line}"
    );
    assert!(table.lines().any(|line| line.contains("scaled by the test") && line.contains("unevaluated")));
    let drawing = graphviz(&scaled);
    assert!(
        drawing.starts_with("digraph") && drawing.contains("weights of the test") && drawing.contains("Binary(Mul)")
    );
    drop((weights, scaled));
    assert!(!whos().contains("weights of the test"));
}

#[test]
fn opaque_values_are_not_folded() {
    let two = Float::from(2.0).make_opaque();
    assert!(!two.is_literal() && two.is_evaluated());
    assert!(!(&two * 3.0).is_literal());
    assert_eq!((&two * 3.0).item().unwrap(), 6.0);
    let expression = (Float::arange(3) + 1.0).make_opaque();
    assert!(expression.is_evaluated());
    let wide = Array::<u8>::full(7, 4).make_opaque();
    assert_eq!((&wide + 1).to_vec().unwrap(), [8; 4]);
    assert_eq!(wide.gather(&UInt::from([3, 0])).to_vec().unwrap(), [7, 7]);
    assert!(Mask::opaque(true).item().unwrap());
}

#[test]
fn an_evaluated_range_is_still_known_as_one() {
    let lanes = UInt::arange(5);
    eval(&lanes).unwrap();
    // A new range is an expression; it is not read back from memory.
    assert!(!UInt::arange(5).is_evaluated());
    assert_eq!((UInt::arange(5) + lanes).to_vec().unwrap(), [0, 2, 4, 6, 8]);
}

#[test]
fn functions_agree_with_rust() {
    let values = [-3.7_f32, -2.5, -0.5, -0.3, -0.0, 0.0, 0.2, 0.5, 1.5, 2.4, 100.7, f32::INFINITY];
    let x = Float::from(values);
    let check = |name: &str, array: &Float, function: fn(f32) -> f32, tolerance: f32| {
        for (value, input) in array.to_vec().unwrap().into_iter().zip(values) {
            let expected = function(input);
            let same = value.to_bits() == expected.to_bits() || (value - expected).abs() <= tolerance * expected.abs();
            assert!(same, "{name}({input}) is {value}, expected {expected}");
        }
    };
    check("round", &x.round(), f32::round, 0.0);
    check("round_ties_even", &x.round_ties_even(), f32::round_ties_even, 0.0);
    check("sign", &x.sign(), f32::signum, 0.0);
    check("tanh", &x.tanh(), |x| f64::from(x).tanh() as f32, 3e-7);
    check("sigmoid", &x.sigmoid(), |x| (1.0 / (1.0 + (-f64::from(x)).exp())) as f32, 3e-7);
    check("hypot", &x.hypot(2.0), |x| f64::from(x).hypot(2.0) as f32, 3e-7);
    check("powi", &x.abs().powi(-3), |x| x.abs().powi(-3), 3e-7);
    let double = Array::<f64>::from([-2.0, -0.1, 1e-9, 0.3, 0.7, 3.0]);
    for (value, input) in double.tanh().to_vec().unwrap().into_iter().zip(double.to_vec().unwrap()) {
        assert!((value - f64::tanh(input)).abs() <= 1e-15 * value.abs(), "tanh({input}) is {value}");
    }
    let half = Array::<half::f16>::from([half::f16::from_f32(0.5)]);
    assert_eq!(half.tanh().item().unwrap(), half::f16::from_f32(0.5_f32.tanh()));
}

#[derive(Clone)]
struct Ray {
    origin: [Float; 2],
    hit: Mask,
    kind: &'static str,
}

impl Traverse for Ray {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.field("origin", &self.origin);
        visitor.field("hit", &self.hit);
        visitor.field("kind", &self.kind);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        visitor.field("origin", &mut self.origin);
        visitor.field("hit", &mut self.hit);
        visitor.field("kind", &mut self.kind);
    }
}

fn rays(values: [f32; 3]) -> Ray {
    let origin = [Float::from(values), Float::from(values) * 10.0];
    Ray { hit: origin[0].gt(1.5), origin, kind: "ray" }
}

// rows: C159
#[test]
fn a_struct_of_arrays_is_gathered_whole() {
    on_each_device(|| {
        let picked = trees::gather(&rays([1.0, 2.0, 3.0]), &UInt::from([2, 0]));
        assert_eq!(picked.origin[0].to_vec().unwrap(), [3.0, 1.0]);
        assert_eq!(picked.origin[1].to_vec().unwrap(), [30.0, 10.0]);
        assert_eq!(picked.hit.to_vec().unwrap(), [true, false]);
        assert_eq!(picked.kind, "ray");
        let some = Mask::from([false, true]);
        let (a, (b,)) = trees::gather_masked(&(Int::from([7, 8]), (UInt::from([1, 2]),)), &UInt::from([99, 1]), &some);
        assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![0, 8], vec![0, 2]));
    });
}

#[test]
fn a_struct_of_arrays_is_selected_whole() {
    let mask = Mask::from([true, false, true]);
    let chosen = trees::select(&mask, &rays([1.0, 2.0, 3.0]), &rays([4.0, 5.0, 6.0]));
    assert_eq!(chosen.origin[1].to_vec().unwrap(), [10.0, 50.0, 30.0]);
    assert_eq!(chosen.hit.to_vec().unwrap(), [false, true, true]);
}

#[test]
#[should_panic(expected = "two values have different structures")]
fn values_of_different_structure_cannot_be_selected_from() {
    let _ = trees::select(&Mask::from(true), &vec![Float::from(1.0)], &vec![]);
}

#[test]
#[should_panic(expected = "a mask cannot select between values that differ on the host: ray and beam")]
fn values_that_differ_on_the_host_cannot_be_selected_from() {
    let beam = Ray { kind: "beam", ..rays([4.0, 5.0, 6.0]) };
    let _ = trees::select(&Mask::from([true, false, true]), &rays([1.0, 2.0, 3.0]), &beam);
}

#[test]
#[should_panic(expected = "values that differ on the host: a reference to the array made at")]
fn references_cannot_be_selected_from() {
    let (a, b) = (Float::from([1.0, 2.0]), Float::from([3.0, 4.0]));
    let _ = trees::select(&Mask::from([true, false]), &(&a, a.clone()), &(&b, b.clone()));
}

#[test]
#[should_panic(expected = "the value only borrows its arrays")]
fn borrowed_arrays_cannot_be_gathered_whole() {
    let (a, b) = (Float::from([1.0, 2.0]), Float::from([3.0, 4.0]));
    let _ = trees::gather(&(&a, &b), &UInt::from([1]));
}
