//! `#[derive(Traverse)]`: which leaves are found in user types, which are written back, and which values stay on the
//! host.

use jit::linalg::Vec3;
use jit::prelude::*;
use jit::{HostValue, Leaf, Visitor, VisitorMut};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::marker::PhantomData;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// The paths of the arrays that are shown, of those that are lent, and the host values.
fn seen<X: Traverse>(tree: &mut X) -> (Vec<String>, Vec<String>, Vec<HostValue>) {
    let (mut shown, mut lent, mut host) = (Vec::new(), Vec::new(), Vec::new());
    tree.traverse(&mut Visitor::with_paths(&mut |path, leaf| match leaf {
        Leaf::Array(_) | Leaf::Shared(_) => shown.push(path.to_owned()),
        Leaf::Host(value) => host.push(value),
    }));
    tree.traverse_mut(&mut VisitorMut::with_paths(&mut |path, _| lent.push(path.to_owned())));
    (shown, lent, host)
}

fn paths<X: Traverse>(tree: &X) -> Vec<String> {
    jit::leaves(tree).into_iter().map(|(path, _)| path).collect()
}

#[derive(Clone, Traverse)]
struct Light {
    color: Vec3,
    strength: Float,
    casts_shadows: bool,
}

#[derive(Clone, Traverse)]
struct Scene {
    lights: Vec<Light>,
    ambient: Option<Float>,
}

fn light(strength: f32) -> Light {
    Light { color: Vec3::new(strength, 2.0, 3.0), strength: Float::from(strength), casts_shadows: true }
}

#[test]
fn fields_are_visited_in_order_under_their_names() {
    let mut scene = Scene { lights: vec![light(1.0), light(2.0)], ambient: Some(Float::from(0.5)) };
    let (shown, lent, host) = seen(&mut scene);
    let of_light = |i: usize| ["color.x", "color.y", "color.z", "strength"].map(|name| format!("lights[{i}].{name}"));
    let expected: Vec<String> = of_light(0).into_iter().chain(of_light(1)).chain(["ambient".to_owned()]).collect();
    assert_eq!(shown, expected);
    assert_eq!(lent, expected);
    let yes = HostValue::Number(<bool as jit::Element>::TYPE, 1);
    assert_eq!(host, [HostValue::Shape(2), yes.clone(), yes, HostValue::Variant("Some")]);
}

#[test]
fn tuple_and_unit_structs_have_numbers_and_nothing() {
    #[derive(Traverse)]
    struct Pair(Float, (Int, Mask));
    #[derive(Traverse)]
    struct Nothing;
    #[derive(Traverse)]
    struct Empty {}
    let mut pair = Pair(Float::from(1.0), (Int::from(1), Mask::from(true)));
    assert_eq!(
        seen(&mut pair),
        (["0", "1.0", "1.1"].map(String::from).to_vec(), ["0", "1.0", "1.1"].map(String::from).to_vec(), vec![])
    );
    assert_eq!(seen(&mut (Nothing, Empty {})), (vec![], vec![], vec![]));
}

#[derive(Clone, Traverse)]
enum Shape {
    Point,
    Circle {
        radius: Float,
        r#type: UInt,
    },
    #[traverse(rename = "Box")]
    Cuboid(Vec3, Float),
}

#[test]
fn the_variant_of_an_enum_belongs_to_the_host_and_to_the_paths() {
    let circle = Shape::Circle { radius: Float::from(1.0), r#type: UInt::from(1) };
    let mut shapes = [Shape::Point, circle, Shape::Cuboid(Vec3::new(1.0, 2.0, 3.0), Float::from(0.1))];
    let (shown, lent, host) = seen(&mut shapes);
    assert_eq!(
        shown,
        ["[1].Circle.radius", "[1].Circle.type", "[2].Box.0.x", "[2].Box.0.y", "[2].Box.0.z", "[2].Box.1"]
    );
    assert_eq!(lent, shown);
    assert_eq!(host, ["Point", "Circle", "Box"].map(HostValue::Variant));
}

#[test]
fn fields_can_be_left_out_compared_or_renamed() {
    struct Opaque;
    #[derive(PartialEq, Eq, Hash, Debug)]
    enum Mode {
        Fast { level: u8 },
    }
    #[derive(Traverse)]
    struct Solver {
        #[traverse(skip)]
        _handle: Opaque,
        #[traverse(constexpr)]
        mode: Mode,
        #[traverse(rename = "x")]
        position: Float,
    }
    let mut solver = Solver { _handle: Opaque, mode: Mode::Fast { level: 3 }, position: Float::from(1.0) };
    let (shown, lent, host) = seen(&mut solver);
    assert_eq!((shown, lent), (vec!["x".to_owned()], vec!["x".to_owned()]));
    assert_eq!(host, [HostValue::Text("Fast { level: 3 }".to_owned())]);
    assert_eq!(solver.mode, Mode::Fast { level: 3 });
}

#[test]
fn bounds_of_parameters_follow_from_the_fields() {
    struct NotTraversable;
    #[derive(Traverse)]
    struct Particles<T: jit::Element, P, const N: usize>
    where
        P: Clone,
    {
        positions: [Array<T>; N],
        pending: Option<Box<Particles<T, P, N>>>,
        extra: Vec<P>,
        marker: PhantomData<(T, NotTraversable)>,
    }
    // The parameter of an array need not be known to be `Traverse`.
    fn count<T: jit::Element>(tree: &Particles<T, Float, 2>) -> usize {
        jit::leaves(tree).len()
    }
    let one = || Particles {
        positions: [Float::from(1.0), Float::from(2.0)],
        pending: None,
        extra: vec![],
        marker: PhantomData,
    };
    let tree = Particles { pending: Some(Box::new(one())), extra: vec![Float::from(3.0)], ..one() };
    assert_eq!(
        paths(&tree),
        ["positions[0]", "positions[1]", "pending.positions[0]", "pending.positions[1]", "extra[0]"]
    );
    assert_eq!(count(&tree), 5);
}

#[test]
fn associated_types_skipped_parameters_and_given_bounds_work() {
    trait Kernel {
        type State;
    }
    struct Blur;
    impl Kernel for Blur {
        type State = Float;
    }
    #[derive(Traverse)]
    struct Filter<K: Kernel, F> {
        state: K::State,
        #[traverse(skip)]
        _callback: F,
    }
    #[derive(Traverse)]
    #[traverse(bound = "K: Kernel<State: Traverse>")]
    struct Chain<K: Kernel> {
        first: K::State,
        rest: Vec<Chain<K>>,
    }
    let filter: Filter<Blur, fn()> = Filter { state: Float::from(1.0), _callback: || () };
    assert_eq!(paths(&filter), ["state"]);
    let end = || Chain::<Blur> { first: Float::from(1.0), rest: vec![] };
    assert_eq!(
        paths(&Chain { first: Float::from(1.0), rest: vec![end(), end()] }),
        ["first", "rest[0].first", "rest[1].first"]
    );
}

/// A public type may contain a private one with its parameter.
pub(crate) mod privacy {
    use jit::prelude::*;

    #[derive(Traverse)]
    struct Inner<T: jit::Element>(Array<T>);

    #[derive(Traverse)]
    pub(crate) struct Outer<T: jit::Element>(Inner<T>);

    pub(crate) fn outer() -> Outer<f32> {
        Outer(Inner(Float::from(1.0)))
    }
}

#[test]
fn private_types_stay_private() {
    assert_eq!(paths(&privacy::outer()), ["0.0"]);
}

#[test]
fn containers_of_the_standard_library_are_searched() {
    let one = || Float::from(1.0);
    assert_eq!(paths(&Ok::<_, ()>((one(), one()))), ["0", "1"]);
    assert_eq!(paths(&Err::<(), _>([one()])), ["[0]"]);
    assert_eq!(paths(&(Rc::new(one()), Arc::new([one()]))), ["0", "1[0]"]);
    assert_eq!(paths(&VecDeque::from([one(), one()])), ["[0]", "[1]"]);
    assert_eq!(paths(&BTreeMap::from([("b", one()), ("a", one())])), [r#"["a"]"#, r#"["b"]"#]);
    let map: HashMap<u32, Float> = (0..100).map(|key| (key, one())).collect();
    assert_eq!(paths(&map), (0..100).map(|key| format!("[{key}]")).collect::<Vec<_>>());
    let range = Range { start: Int::from(0), end: Int::from(1) };
    assert_eq!(paths(&range), ["start", "end"]);
    assert_eq!(paths(&(PhantomData::<std::cell::Cell<u8>>, 'x', 1u128, "text", Box::<str>::from("text"))), [""; 0]);
    let cows = [Cow::Owned(vec![one()]), Cow::Borrowed(&[][..])];
    assert_eq!(paths(&cows), ["[0][0]"]);
}

#[test]
fn maps_are_lent_in_the_order_in_which_they_are_visited() {
    let mut map: HashMap<String, Float> = (0..50).map(|key| (format!("k{key}"), Float::from(key as f32))).collect();
    let (shown, lent, host) = seen(&mut map);
    assert_eq!(shown, lent);
    assert_eq!(host.len(), 51);
    let sorted = BTreeMap::from_iter(map.keys().cloned().map(|key| (key, ())));
    assert_eq!(shown, sorted.keys().map(|key| format!("[{key:?}]")).collect::<Vec<_>>());
}

#[test]
fn shared_arrays_are_visited_but_not_lent() {
    let a = Float::from([1.0, 2.0]) + 1.0;
    let mut tree = (&a, Rc::new(a.clone()), a.clone());
    let (shown, lent, host) = seen(&mut tree);
    assert_eq!((shown.len(), lent, host.len()), (3, vec!["2".to_owned()], 0));
    jit::eval(&tree).unwrap();
    assert!(a.is_evaluated());
}

/// A reference in the state does not shift the values written to its neighbours.
#[test]
fn structs_with_references_can_be_state() {
    #[derive(Traverse)]
    struct Walk<'a> {
        step: &'a Float,
        shared: Arc<Float>,
        position: Float,
    }
    #[jit]
    fn walk(walk: &mut Walk<'_>, limit: &Float) {
        while walk.position < limit {
            walk.position += *walk.step * *walk.shared;
        }
    }
    let step = Float::from([1.0, 2.0, 0.75]);
    let mut state = Walk { step: &step, shared: Arc::new(Float::from(2.0)), position: Float::from([0.0, 0.5, 3.0]) };
    walk(&mut state, &Float::from(4.0));
    assert_eq!(state.position.to_vec().unwrap(), [4.0, 4.5, 4.5]);
    assert_eq!(step.to_vec().unwrap(), [1.0, 2.0, 0.75]);
}

fn message(wrong: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(wrong).unwrap_err();
    panic.downcast::<String>().map_or_else(|_| "no text".to_owned(), |text| *text)
}

#[test]
fn a_variant_that_changes_under_a_traced_condition_is_refused() {
    #[jit]
    fn open(mut shape: Shape, x: &Float) -> Shape {
        if x > 0.0 {
            shape = Shape::Circle { radius: x.clone(), r#type: UInt::from(0) };
        }
        shape
    }
    let text = message(|| drop(open(Shape::Point, &Float::from([1.0, -1.0]))));
    assert!(text.contains("`shape` changes from `Point` to `Circle`"), "{text}");
}

#[test]
fn a_reference_that_changes_under_a_traced_condition_is_refused() {
    #[jit]
    fn choose(a: &Float, b: &Float) -> Float {
        let mut chosen = a;
        if a < b {
            chosen = b;
        }
        chosen.clone()
    }
    let text = message(|| drop(choose(&Float::from([1.0, 3.0]), &Float::from([2.0, 2.0]))));
    assert!(text.contains("`chosen` changes from a reference to the array made at"), "{text}");
}

#[test]
fn values_of_derived_types_are_chosen_and_gathered_whole() {
    let lights = |s: [f32; 3]| Light { strength: Float::from(s), ..light(1.0) };
    let (a, b) = (lights([1.0, 2.0, 3.0]), lights([4.0, 5.0, 6.0]));
    let chosen = jit::trees::select(&Mask::from([true, false, true]), &a, &b);
    assert_eq!(chosen.strength.to_vec().unwrap(), [1.0, 5.0, 3.0]);
    let gathered = jit::trees::gather(&b, &UInt::from([2, 0]));
    assert_eq!(gathered.strength.to_vec().unwrap(), [6.0, 4.0]);
    assert!(gathered.casts_shadows);
}

#[test]
fn enums_are_state_of_traced_loops_while_they_keep_their_variant() {
    #[jit]
    fn grow(shape: &mut Shape, limit: &Float) {
        if let Shape::Circle { radius, .. } = shape {
            while *radius < *limit {
                *radius *= 2.0;
            }
        }
    }
    let mut shape = Shape::Circle { radius: Float::from([1.0, 3.0, 9.0]), r#type: UInt::from(7) };
    grow(&mut shape, &Float::from(8.0));
    let Shape::Circle { radius, r#type } = &shape else { panic!("another variant") };
    assert_eq!(radius.to_vec().unwrap(), [8.0, 12.0, 9.0]);
    assert_eq!(r#type.to_vec().unwrap(), [7]);
}

/// A list of boxed nodes.
#[derive(Traverse)]
struct Node {
    value: Float,
    next: Option<Box<Node>>,
}

impl Drop for Node {
    /// One after another: dropping the whole list would recurse.
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut node) = next {
            next = node.next.take();
        }
    }
}

#[test]
fn long_lists_do_not_overflow_the_stack() {
    const LENGTH: usize = 100_000;
    let value = Float::from([1.0, 2.0]);
    let mut list = Node { value: value.clone(), next: None };
    for _ in 1..LENGTH {
        list = Node { value: value.clone(), next: Some(Box::new(list)) };
    }
    let mut count = 0;
    list.traverse(&mut Visitor::new(&mut |_, leaf| count += usize::from(matches!(leaf, Leaf::Array(_)))));
    assert_eq!(count, LENGTH);
    let other = Float::from([3.0, 4.0]);
    list.traverse_mut(&mut VisitorMut::new(&mut |_, var| *var = other.var().clone()));
    jit::eval(&list).unwrap();
    let mut last = &list;
    while let Some(next) = &last.next {
        last = next;
    }
    assert_eq!(last.value.to_vec().unwrap(), [3.0, 4.0]);
}
