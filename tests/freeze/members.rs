//! Methods of types and of traits, generic ones, and those that also have `#[jit]`.

use super::{alike, frozen, message_of, values};
use jit::freeze::{Function, Stats};
use jit::prelude::*;

#[derive(Clone, Traverse)]
struct Fluid<T: jit::Element> {
    cells: Array<T>,
    steps: u32,
}

trait Step {
    const WEIGHT: f32;
    fn step(&mut self, force: &Float, dt: f32) -> Float;
    fn weigh(x: &Float) -> Float;
    fn start(width: &Float) -> Self;

    #[freeze]
    fn twice(&mut self, force: &Float) -> Float
    where
        Self: Traverse + Clone + Send + Sync + Sized + 'static,
    {
        self.step(force, 1.0);
        self.step(force, 2.0) * Self::WEIGHT
    }
}

impl Step for Fluid<f32> {
    const WEIGHT: f32 = 0.5;

    #[freeze]
    fn step(&mut self, force: &Float, dt: f32) -> Float {
        if self.cells < 0.0 {
            self.cells = -self.cells.clone();
        }
        self.cells += force * dt;
        self.cells.sum()
    }

    #[freeze]
    fn weigh(x: &Float) -> Float {
        x * Self::WEIGHT
    }

    #[freeze]
    fn start(width: &Float) -> Self {
        Self { cells: Float::zeros(width.width()), steps: 3 }
    }
}

struct Heavy;

#[jit]
impl Heavy {
    /// A function for which only the block's attribute shows that it is in a block.
    #[freeze]
    fn doubled(x: &Float) -> Float {
        if x > 1.0 { x * 2.0 } else { x.clone() }
    }

    fn not_frozen(x: &Float) -> Float {
        if x > 1.0 { x * 3.0 } else { x.clone() }
    }
}

trait Weight {
    fn of(x: &Float) -> Float;
}

#[jit]
impl Weight for Heavy {
    #[freeze(label = "weight")]
    fn of(x: &Float) -> Float {
        if x > 1.0 { x * 2.0 } else { x.clone() }
    }
}

/// The counts of a function that has no siblings.
#[track_caller]
fn counts(name: &str) -> Stats {
    let named = |function: &&&Function| function.name() == name && function.site().file().ends_with("members.rs");
    let functions = jit::freeze::functions();
    let all: Vec<_> = functions.iter().filter(named).collect();
    assert_eq!(all.len(), 1, "functions by the name {name}");
    all[0].stats()
}

#[test]
fn functions_of_traits_are_replayed() {
    let run = || {
        let force = Float::arange(5).make_opaque();
        let mut fluid = Fluid::<f32>::start(&force);
        let sums: Vec<f32> = (1..6).map(|dt| fluid.step(&force, dt as f32 * 0.25).item().unwrap()).collect();
        (sums, values(&fluid.cells), fluid.steps, values(&Fluid::weigh(&force)))
    };
    let first = run();
    assert_eq!(
        first,
        (vec![2.5, 7.5, 15.0, 25.0, 37.5], vec![0.0, 3.75, 7.5, 11.25, 15.0], 3, vec![0.0, 0.5, 1.0, 1.5, 2.0])
    );
    assert_eq!(run(), first);
    let [step, start, weigh] = ["step", "start", "weigh"].map(counts);
    crate::frozen_only!();
    assert!(step.replays >= 6, "{step:?}");
    assert_eq!((start.recordings, start.replays, weigh.recordings, weigh.replays), (1, 1, 1, 1));
}

#[test]
fn bodies_that_traits_provide_are_recorded_for_each_type() {
    let force = Float::from([1.0, 2.0]).make_opaque();
    let mut fluid = Fluid { cells: Float::from([0.0, 0.0]), steps: 0 };
    let sums = [(); 3].map(|()| fluid.twice(&force).item().unwrap());
    assert_eq!((sums, fluid.steps), ([4.5, 9.0, 13.5], 0));
    crate::frozen_only!(assert_eq!((counts("twice").recordings, counts("twice").replays), (1, 2)));
}

#[test]
fn functions_in_blocks_with_jit_are_traced_once() {
    let x = Float::from([0.5, 2.0]).make_opaque();
    for _ in 0..3 {
        assert_eq!(values(&Heavy::doubled(&x)), [0.5, 4.0]);
        assert_eq!(values(&Heavy::of(&x)), [0.5, 4.0]);
        assert_eq!(values(&Heavy::not_frozen(&x)), [0.5, 6.0]);
    }
    crate::frozen_only!();
    assert_eq!((Heavy::doubled_stats().recordings, Heavy::doubled_stats().replays), (1, 2));
    assert_eq!((counts("of").recordings, counts("of").replays), (1, 2));
}

#[jit]
#[freeze]
fn above(x: &Float) -> Float {
    if x > 1.0 { x * 2.0 } else { x.clone() }
}

#[freeze(warn_after = 3)]
#[jit(label = "below")]
fn below(x: &Float) -> Float {
    if x > 1.0 { x * 2.0 } else { x.clone() }
}

#[test]
fn jit_is_accepted_above_and_below() {
    let above: (fn(&Float) -> Float, _) = (above, frozen!(above));
    for (call, function) in [above, (below, frozen!(below))] {
        alike(function, 1, || [2, 3, 5].map(|width| values(&call(&Float::arange(width).make_opaque()))));
    }
}

#[freeze]
fn scaled<const BY: u32, T: Named>(x: &Float) -> Float {
    x * Float::from(BY as f32) + T::SHIFT
}

trait Named {
    const SHIFT: f32;
}

#[derive(Clone)]
struct One;
struct Two<'a>(std::marker::PhantomData<&'a u8>);

impl Named for One {
    const SHIFT: f32 = 1.0;
}

impl Named for Two<'_> {
    const SHIFT: f32 = 2.0;
}

#[test]
fn generic_parameters_that_no_argument_names_distinguish_recordings() {
    alike(frozen!(scaled), 4, || {
        let x = Float::from([1.0, 2.0]).make_opaque();
        let all = || [scaled::<1, One>(&x), scaled::<2, One>(&x), scaled::<1, Two<'_>>(&x), scaled::<2, Two<'_>>(&x)];
        let first = all().map(|x| values(&x));
        assert_eq!(first, [vec![2.0, 3.0], vec![3.0, 5.0], vec![3.0, 4.0], vec![4.0, 6.0]]);
        (first, all().map(|x| values(&x)))
    });
}

trait Extent: Traverse {
    fn extent(&self) -> Float;
}

#[derive(Clone, Traverse)]
struct Disk {
    radius: Float,
}

impl Extent for Disk {
    fn extent(&self) -> Float {
        &self.radius * 2.0
    }
}

#[freeze]
fn taken_apart<'a, 'b>(
    (x, y): (Float, &'static str),
    mut n: u32,
    _: &'b Float,
    shape: &'a (impl Extent + Clone + Send + Sync + 'static),
    Disk { radius }: &Disk,
    own: impl Extent + Clone + Send + Sync + 'static,
) -> (Float, u32)
where
    'b: 'a,
{
    n += y.len() as u32;
    (x + shape.extent() + radius + own.extent(), n)
}

#[test]
fn patterns_lifetimes_and_unnamed_types_are_parameters() {
    alike(frozen!(taken_apart), 1, || {
        let call = |by: f32| {
            let disk = |radius: f32| Disk { radius: Float::full(radius, 3).make_opaque() };
            let x = Float::full(by, 3).make_opaque();
            let (sum, n) = taken_apart((x.clone(), "abc"), 2, &x, &disk(1.0), &disk(2.0), disk(by));
            (values(&sum), n)
        };
        assert_eq!(call(4.0), (vec![16.0; 3], 5));
        [call(1.0), call(2.0)]
    });
}

impl<T: jit::Element> Fluid<T> {
    #[freeze]
    pub(crate) fn turned<'a>(&'a self, other: &'a Array<T>, (by,): (u32,)) -> (Array<T>, u32) {
        fn plus(n: u32) -> u32 {
            n + 1
        }
        (Array::concat(&[other, &self.cells]).reverse(), plus(by) + self.steps)
    }

    #[freeze]
    fn into_cells(self, format: &str) -> (Array<T>, String) {
        assert!(self.steps < 100, "{} steps: {}", self.steps, Self::NAME);
        (self.cells, format!("{format}{}", self.steps))
    }

    const NAME: &'static str = "fluid";
}

#[test]
fn methods_of_generic_types_are_replayed_for_each() {
    let floats = || Fluid { cells: Float::arange(3).make_opaque(), steps: 7 };
    let ints = || Fluid { cells: Int::arange(3).make_opaque(), steps: 7 };
    for _ in 0..3 {
        let (turned, n) = floats().turned(&Float::from([8.0, 9.0]).make_opaque(), (1,));
        assert_eq!((values(&turned), n), (vec![2.0, 1.0, 0.0, 9.0, 8.0], 9));
        let (turned, n) = ints().turned(&Int::from([8, 9]).make_opaque(), (1,));
        assert_eq!((values(&turned), n), (vec![2, 1, 0, 9, 8], 9));
        let (cells, text) = floats().into_cells("x");
        assert_eq!((values(&cells), text.as_str()), (vec![0.0, 1.0, 2.0], "x7"));
    }
    crate::frozen_only!();
    let stats = Fluid::<f32>::turned_stats();
    assert_eq!((stats.recordings, stats.replays), (2, 4));
    assert_eq!((counts("into_cells").recordings, counts("into_cells").replays), (1, 2));
}

#[test]
fn functions_inside_of_functions_have_their_own_counts() {
    #[freeze]
    fn inner(x: &Float) -> Float {
        x + 1.0
    }
    alike(frozen!(inner), 1, || [2, 3].map(|width| values(&inner(&Float::arange(width).make_opaque()))));
}

impl Fluid<f32> {
    #[freeze]
    fn reads(&mut self) -> f32 {
        self.cells += 1.0;
        self.cells.to_vec().map_or(0.0, |all| all[0])
    }
}

#[test]
fn messages_of_methods_name_the_line_and_leave_the_receiver_as_it_was() {
    let mut fluid = Fluid { cells: Float::arange(3).make_opaque(), steps: 1 };
    crate::frozen_only!();
    let message = message_of(std::panic::AssertUnwindSafe(|| fluid.reads()));
    assert!(message.contains("members.rs"), "{message}");
    assert_eq!(values(&fluid.cells), [0.0, 1.0, 2.0]);
}
