//! Changes of a body to its arguments: afterwards they have the values that they would have without recordings.

use std::collections::BTreeMap;
use std::sync::Arc;

use jit::prelude::*;

use crate::{Frozen, alike, floats, frozen, values};

/// The values of a state that a test reads.
type Seen = (i64, String, Phase, Vec<(String, Vec<f32>)>, Vec<Vec<f32>>, Option<Vec<f32>>);

#[derive(Clone, Traverse)]
struct Counter {
    total: Float,
    step: u32,
    #[traverse(skip)]
    hidden: Float,
}

impl Counter {
    fn new(n: usize) -> Counter {
        Counter { total: floats(n, 1), step: 3, hidden: floats(n, 2) }
    }

    #[freeze]
    pub(crate) fn add(&mut self, x: &Float) -> Float {
        self.total += x * 2.0;
        self.total.sum()
    }

    #[freeze]
    pub(crate) fn scaled(&self, x: &Float) -> Float {
        (0..self.step).fold(x.clone(), |sum, _| sum + &self.total)
    }

    #[freeze(state = |s| (&s.hidden,))]
    pub(crate) fn with_hidden(&self, x: &Float) -> Float {
        x * &self.hidden + &self.total
    }
}

/// A frozen method, by its name.
macro_rules! method {
    ($clear:ident $set_enabled:ident $stats:ident $explain:ident) => {
        Frozen {
            clear: Counter::$clear,
            set_enabled: Counter::$set_enabled,
            stats: Counter::$stats,
            explain: Counter::$explain,
        }
    };
}

// rows: F064
#[test]
fn a_method_with_state_continues_where_it_was() {
    alike(method!(add_clear add_set_enabled add_stats add_explain), 1, || {
        let mut counter = Counter::new(6);
        [1, 2, 3, 4].map(|salt| (values(&counter.add(&floats(6, salt))), values(&counter.total)))
    });
}

// rows: F064
#[test]
fn switching_a_method_off_and_on_changes_no_result() {
    crate::on_each_device(|| {
        let (mut switched, mut plain) = (Counter::new(4), Counter::new(4));
        for (salt, is_on) in [true, false, true, true, false].into_iter().enumerate() {
            let x = floats(4, salt);
            let given = Switched(&mut switched).add(&x, is_on);
            plain.total += &x * 2.0;
            assert_eq!(given, values(&plain.total.sum()));
            assert_eq!(values(&switched.total), values(&plain.total));
        }
    });
}

/// A counter whose method is not the one that other tests count.
struct Switched<'a>(&'a mut Counter);

#[freeze]
fn add_to(counter: &mut Counter, x: &Float) -> Float {
    counter.total += x * 2.0;
    counter.total.sum()
}

impl Switched<'_> {
    fn add(&mut self, x: &Float, is_on: bool) -> Vec<f32> {
        add_to::set_enabled(is_on);
        values(&add_to(self.0, x))
    }
}

// rows: F085
#[test]
fn a_field_of_the_host_that_changes_is_recorded_anew() {
    let frozen = method!(scaled_clear scaled_set_enabled scaled_stats scaled_explain);
    alike(frozen, 4, || {
        let mut counter = Counter::new(2);
        let sizes = [3, 4, 5].map(|n| {
            counter.total = floats(n, n);
            values(&counter.scaled(&floats(n, 9)))
        });
        let steps = [4, 5, 6, 4].map(|step| {
            counter.step = step;
            values(&counter.scaled(&floats(5, 9)))
        });
        (sizes, steps)
    });
}

// rows: F069
#[test]
fn fields_that_are_not_part_of_a_value_are_named_as_state() {
    let frozen = method!(with_hidden_clear with_hidden_set_enabled with_hidden_stats with_hidden_explain);
    alike(frozen, 1, || {
        let mut counter = Counter::new(5);
        [1, 2, 3].map(|salt| {
            counter.hidden = floats(5, salt + 10);
            values(&counter.with_hidden(&floats(5, salt)))
        })
    });
}

#[freeze]
fn grown(list: &mut Vec<Float>, x: &Float) -> Float {
    list.push(x * 2.0);
    list.insert(0, x + 1.0);
    list.iter().fold(x.clone(), |sum, item| sum + item)
}

// rows: F101
#[test]
fn lists_grow_in_replays_too() {
    alike(frozen!(grown), 3, || {
        let mut all = Vec::new();
        for round in 0..3 {
            let mut list = Vec::new();
            for call in 0..3 {
                all.push(values(&grown(&mut list, &floats(4, round * 3 + call))));
            }
            all.extend(list.iter().map(values));
        }
        all
    });
}

#[derive(Clone, Traverse, PartialEq, Debug)]
enum Phase {
    Begun,
    Running { rounds: u32 },
}

#[derive(Clone, Traverse)]
struct World {
    count: i64,
    name: String,
    phase: Phase,
    table: BTreeMap<String, Float>,
    parts: Vec<Float>,
    last: Option<Float>,
}

impl World {
    fn new(salt: usize) -> World {
        let entry = |key: &str, salt: usize| (key.to_owned(), floats(3, salt));
        World {
            count: 0,
            name: "begun".into(),
            phase: Phase::Begun,
            table: BTreeMap::from([entry("old", salt), entry("kept", salt + 1)]),
            parts: vec![floats(3, salt + 2), floats(4, salt + 3), floats(5, salt + 4)],
            last: None,
        }
    }

    fn seen(&self) -> Seen {
        let table = self.table.iter().map(|(key, array)| (key.clone(), values(array))).collect();
        let parts = self.parts.iter().map(values).collect();
        (self.count, self.name.clone(), self.phase.clone(), table, parts, self.last.as_ref().map(values))
    }
}

#[freeze]
fn changed(world: &mut World) {
    world.count += 5;
    world.name.push_str(", changed");
    world.phase = Phase::Running { rounds: 2 };
    world.last = world.table.remove("old");
    world.table.insert("new".into(), &world.parts[0] * 2.0);
    world.parts.swap(0, 2);
    world.parts.pop();
}

// rows: X13
#[test]
fn everything_that_a_body_changes_is_changed_by_replays() {
    alike(frozen!(changed), 1, || {
        [1, 2, 3].map(|salt| {
            let mut world = World::new(salt);
            let aliases: Vec<Float> = world.parts.clone();
            changed(&mut world);
            (world.seen(), aliases.iter().map(values).collect::<Vec<_>>())
        })
    });
    let mut world = World::new(1);
    changed(&mut world);
    assert_eq!((world.count, world.name.as_str()), (5, "begun, changed"));
    assert_eq!(world.table.keys().collect::<Vec<_>>(), ["kept", "new"]);
    assert_eq!(values(&world.parts[0]), values(&floats(5, 5)));
}

/// There is none without its array.
#[derive(Clone, Traverse, Debug)]
struct Made {
    array: Float,
    name: &'static str,
}

impl Made {
    fn new(array: Float) -> Made {
        Made { array, name: "made" }
    }
}

#[freeze]
fn made(x: &Float) -> Made {
    Made::new(x + 1.0)
}

// rows: F102
#[test]
fn results_need_no_default() {
    alike(frozen!(made), 1, || [3, 5].map(|n| made(&floats(n, n))).map(|made| (values(&made.array), made.name)));
}

#[freeze]
fn assigned(x: &mut Float) -> Float {
    let x: &mut Float = x;
    let mut own = x.clone();
    own += 1.0;
    own
}

#[freeze]
fn added(x: &mut Float) {
    *x += 1.0;
}

#[freeze]
fn replaced(x: &mut Float) {
    *x = &*x + 1.0;
}

// rows: F105
#[test]
fn assignments_reach_the_caller_and_copies_do_not() {
    let call = |body: fn(&mut Float)| {
        [3, 4, 4, 7].map(|n| {
            let mut x = floats(n, n);
            let before = x.clone();
            body(&mut x);
            (values(&x), values(&before))
        })
    };
    alike(frozen!(assigned), 1, || call(|x| drop(assigned(x))));
    alike(frozen!(added), 1, || call(added));
    alike(frozen!(replaced), 1, || call(replaced));
    let mut x = floats(3, 3);
    added(&mut x);
    assert_eq!(values(&x), values(&(floats(3, 3) + 1.0)));
    assert_eq!(values(&assigned(&mut x)), values(&(floats(3, 3) + 2.0)));
    assert_eq!(values(&x), values(&(floats(3, 3) + 1.0)));
}

#[derive(Clone, Traverse)]
struct Named {
    list: Vec<Float>,
    #[traverse(skip)]
    name: String,
}

#[freeze]
fn pushed(named: &mut Named) {
    if named.list.len() > 2 {
        named.list.clear();
    }
    named.list.push(floats(2, 1));
}

#[freeze]
fn doubled(named: &mut Named) {
    named.list.iter_mut().for_each(|array| *array *= 2.0);
}

#[test]
fn skipped_fields_remain_the_callers() {
    let run = || {
        ["a", "b", "c", "d", "e", "f"].map(|name| {
            let mut named = Named { list: vec![floats(2, 3)], name: name.to_owned() };
            pushed(&mut named);
            doubled(&mut named);
            (named.name, named.list.iter().map(values).collect::<Vec<_>>())
        })
    };
    let given = run();
    pushed::set_enabled(false);
    doubled::set_enabled(false);
    assert_eq!(given, run());
    crate::frozen_only!();
    assert_eq!((pushed::stats().recordings, pushed::stats().replays, pushed::stats().direct), (1, 0, 11));
    assert_eq!((doubled::stats().recordings, doubled::stats().replays), (1, 5));
}

#[derive(Clone, Traverse)]
struct Shared {
    weights: Arc<Float>,
    others: Arc<Float>,
    list: Vec<Float>,
}

impl Shared {
    fn new(salt: usize) -> Shared {
        Shared { weights: Arc::new(floats(3, salt)), others: Arc::new(floats(3, salt + 20)), list: Vec::new() }
    }

    fn seen(&self) -> (Vec<f32>, Vec<f32>, usize) {
        (values(&self.weights), values(&self.others), self.list.len())
    }
}

#[freeze]
fn toggled(shared: &mut Shared) -> Float {
    match shared.list.pop() {
        Some(last) => last + &*shared.others,
        None => {
            let doubled = &*shared.weights * 2.0;
            shared.list.push(doubled.clone());
            doubled
        }
    }
}

#[test]
fn shared_arrays_are_not_replaced_while_a_list_grows() {
    // If the host changes more than arrays, a recording is for the arrays that are shared.
    alike(frozen!(toggled), 6, || {
        [1, 2, 3].map(|salt| {
            let mut shared = Shared::new(salt);
            [(); 4].map(|()| (values(&toggled(&mut shared)), shared.seen()))
        })
    });
    crate::frozen_only!();
    toggled::clear();
    let mut shared = Shared::new(1);
    toggled(&mut shared);
    toggled(&mut Shared::new(2));
    toggled(&mut shared);
    let text: String = toggled::explain().iter().map(|retrace| format!("{retrace}\n")).collect();
    assert!(text.contains("`shared.weights` was an array behind `&`, `Rc` or `Arc` and is a different one"), "{text}");
    assert!(text.contains("`shared.list` was 0 elements and is 1 element ("), "{text}");
    assert!(!text.contains("a host number"), "{text}");
}

#[freeze]
fn exchanged(shared: &mut Shared) {
    std::mem::swap(&mut shared.weights, &mut shared.others);
}

#[freeze]
fn renewed(shared: &mut Shared, x: &Float) {
    shared.weights = Arc::new(&*shared.others * x);
}

#[freeze]
fn written_to(shared: &mut [Shared]) {
    *Arc::make_mut(&mut shared[1].others) += 1.0;
}

#[test]
fn shared_arrays_cannot_be_replaced() {
    crate::frozen_only!();
    let mut all = [Shared::new(1), Shared::new(2)];
    let before = all.clone().map(|shared| shared.seen());
    for (message, place) in [
        (crate::message_of(|| exchanged(&mut all[0])), "at `shared.weights`"),
        (crate::message_of(|| renewed(&mut all[0], &floats(3, 5))), "at `shared.weights`"),
        (crate::message_of(|| written_to(&mut all)), "at `shared[1].others`"),
    ] {
        assert!(message.contains("replaces or changes an array behind `&`, `Rc` or `Arc`"), "{message}");
        assert!(message.contains(place) && message.contains("state.rs"), "{message}");
    }
    assert_eq!(all.map(|shared| shared.seen()), before, "arguments are as they were");
}

#[freeze(state = |counter, x| (&counter.hidden, x))]
fn add_hidden(counter: &mut Counter, x: &Float, times: u32) -> Float {
    for _ in 0..times {
        counter.total += x * &counter.hidden;
    }
    counter.total.sum()
}

#[test]
fn state_is_named_through_a_mutable_argument() {
    let mut counter = Counter::new(3);
    let mut total = values(&counter.total);
    for (call, hidden) in [2.0, 2.0, 5.0, -1.0].into_iter().enumerate() {
        counter.hidden = Float::opaque(hidden);
        let x = floats(3, call);
        let sum = add_hidden(&mut counter, &x, 2);
        for (total, x) in total.iter_mut().zip(values(&x)) {
            *total = (*total + x * hidden) + x * hidden;
        }
        assert_eq!(values(&counter.total), total);
        assert_eq!(values(&sum), [total[0] + total[1] + total[2]]);
    }
    crate::frozen_only!();
    assert_eq!((add_hidden::stats().recordings, add_hidden::stats().replays), (1, 3), "{:?}", add_hidden::explain());
}

impl Counter {
    #[freeze(state = |s| (&s.hidden,))]
    fn scale_by_hidden(&mut self) {
        self.total *= &self.hidden;
    }
}

#[test]
fn methods_that_change_their_receiver_name_its_state() {
    let mut counter = Counter { total: Float::from([1.0, 3.0]), ..Counter::new(2) };
    for hidden in [2.0, 3.0, 0.5] {
        counter.hidden = Float::opaque(hidden);
        counter.scale_by_hidden();
    }
    assert_eq!(values(&counter.total), [3.0, 9.0]);
}

/// Arrays named as state, in addition to arrays of the arguments.
#[derive(Clone, Traverse)]
struct Weights {
    bias: Float,
    #[traverse(skip)]
    hidden: Float,
}

#[freeze(state = |w| (&w.hidden,))]
fn weighted(w: &Weights, x: &Float) -> Float {
    x * &w.hidden + &w.bias
}

#[freeze(state = |w| (&w.hidden,))]
fn joined(w: &Weights, x: &Float) -> (Float, Float) {
    (Float::concat(&[x, &w.hidden]), w.hidden.prefix_sum() * w.bias.sum())
}

#[freeze(state = |w| (&w.hidden,))]
fn picked(w: &Weights, index: &UInt) -> Float {
    w.hidden.gather(index) + w.hidden.sum() * UInt::from(w.hidden.width()).cast::<f32>()
}

/// A new array in memory in each call, of the width of the argument or another one.
fn weights(hidden: usize, salt: usize) -> Weights {
    Weights { bias: floats(1, salt), hidden: floats(hidden, salt + 1) }
}

#[test]
fn state_of_any_width_has_one_recording() {
    alike(frozen!(weighted), 1, || {
        [(3, 1), (8, 2), (50, 3), (3, 4), (1000, 5)]
            .map(|(n, salt)| values(&weighted(&weights(n, salt), &floats(n, salt))))
    });
    alike(frozen!(joined), 1, || {
        [(3, 5), (4, 2), (60, 7), (2, 60)].map(|(n, hidden)| {
            let (all, sums) = joined(&weights(hidden, n), &floats(n, hidden));
            (values(&all), values(&sums))
        })
    });
    alike(frozen!(picked), 1, || {
        [5, 2, 9, 400].map(|hidden| values(&picked(&weights(hidden, 3), &UInt::from([0, 1, 4, 7]))))
    });
}

/// Widths of 0 and 1 have special meanings, and a recording each; the lines are those of the program.
#[test]
fn explanations_of_state_name_lines_of_the_program() {
    crate::frozen_only!();
    #[freeze(state = |w| (&w.hidden,))]
    fn decided(w: &Weights, x: &Float) -> Float {
        if w.hidden.len() > 4 { x * &w.hidden } else { x + &w.hidden }
    }
    for width in [2, 1, 6] {
        assert_eq!(values(&decided(&weights(width, 1), &floats(width, 2))).len(), width);
    }
    let explained = decided::explain();
    assert!(explained.len() > 1, "{explained:#?}");
    for why in &explained[1..] {
        let text = why.to_string();
        assert_eq!(text.matches("tests/freeze/state.rs").count(), 2, "{text}");
    }
}

#[freeze(state = |w| (&w.hidden,))]
fn grows(w: &Weights, all: &mut Float, x: &Float) -> Float {
    *all = Float::concat(&[&*all, &w.hidden]);
    &w.hidden * x + &w.bias
}

#[test]
fn state_that_grows_with_the_argument_is_replayed() {
    alike(frozen!(grows), 1, || {
        let mut all = floats(2, 1);
        [3, 4, 10, 5].map(|n| {
            let y = values(&grows(&weights(n, n), &mut all, &floats(n, 7)));
            (y, values(&all))
        })
    });
}
