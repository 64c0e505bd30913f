//! Gathers, and scatters to arrays that a frozen function receives, makes, or must not change.

use jit::prelude::*;
use jit::random::Pcg32;

use crate::{alike, floats, frozen, indices, message_of, values};

#[freeze]
fn clear(x: &mut Float) {
    x.scatter(0.0, &UInt::arange(x.width()));
}

// rows: F010
#[test]
fn a_scatter_to_an_argument_leaves_other_owners_alone() {
    alike(frozen!(clear), 1, || {
        [3, 3, 8].map(|n| {
            let mut x = floats(n, n);
            let (expression, same, copy) = (&x + 1.0, x.clone(), x.make_opaque());
            clear(&mut x);
            [x, expression, same, copy].map(|array| values(&array))
        })
    });
}

#[freeze]
fn tally(target: &mut Half, value: &Half) {
    let odd = UInt::arange(value.width()) * 2 + 1;
    target.scatter_add(value, &odd);
    target.scatter_add(value * half::f16::from_f32(2.0), &odd);
}

// rows: F011
#[test]
fn halves_are_added_to() {
    alike(frozen!(tally), 1, || {
        let mut target = floats(20, 1).cast::<half::f16>();
        [1, 2, 3].map(|salt| {
            tally(&mut target, &floats(10, salt).cast());
            values(&target)
        })
    });
}

#[freeze]
fn permuted(source: &Float, index: &UInt, active: &Mask) -> Float {
    source.gather_masked(index, active)
}

// rows: F030
#[test]
fn masked_gathers() {
    alike(frozen!(permuted), 1, || {
        [(8, 1, 1), (8, 2, 1), (5, 2, 3), (8, 1, 1)].map(|(n, salt, order)| {
            let active = floats(6, order).gt(0.0);
            values(&permuted(&floats(n, salt), &indices(6, n, order), &active))
        })
    });
}

#[freeze]
fn constant_size(a: &Float) -> Float {
    let line = Float::linspace(0.0, 1.0, 10) + a;
    let index = UInt::arange(10);
    line.gather_masked(&index, &index.lt(5))
}

// rows: F029
#[test]
fn bodies_of_constant_size() {
    alike(frozen!(constant_size), 1, || [(); 3].map(|()| values(&constant_size(&Float::from(1.0)))));
}

#[freeze]
fn written(target: &mut Float, value: &Float, index: &UInt, active: &Mask) -> Float {
    target.scatter_masked(value, index, active);
    target.clone()
}

// rows: F031
#[test]
fn a_masked_scatter_to_an_argument_that_is_returned() {
    alike(frozen!(written), 1, || {
        [(5, 1), (5, 2), (9, 3), (2, 4)].map(|(n, salt)| {
            let mut target = floats(n, salt);
            let other = target.clone();
            let result = written(&mut target, &floats(n, 7), &UInt::arange(n).reverse(), &floats(n, salt).gt(-0.5));
            let before = values(&result);
            target.scatter(50.0, &UInt::from(0));
            [before, values(&target), values(&result), values(&other)]
        })
    });
}

#[freeze]
fn exchanged(target: &mut Float, source: &Float, index: &UInt) -> (Float, Float) {
    let read = target.gather(index);
    target.scatter(source, index);
    (target.clone(), read + source)
}

// rows: F032
#[test]
fn gathers_and_scatters_of_one_argument() {
    alike(frozen!(exchanged), 2, || {
        let apart = [(6, 1), (6, 2), (9, 3)].map(|(n, salt)| {
            let mut target = floats(n, salt);
            let (after, read) = exchanged(&mut target, &floats(3, salt), &UInt::from([4, 0, 2]));
            [target, after, read].map(|array| values(&array))
        });
        // The source is the target.
        let mut target = floats(3, 5);
        let source = target.clone();
        let (after, read) = exchanged(&mut target, &source, &UInt::from([2, 0, 1]));
        (apart, [target, source, after, read].map(|array| values(&array)))
    });
}

#[derive(Clone, Traverse)]
struct Scratch {
    #[traverse(skip)]
    hidden: Float,
    size: Float,
}

#[freeze]
fn to_hidden(scratch: &Scratch) -> Float {
    let mut hidden = scratch.hidden.clone();
    hidden.scatter_add(&scratch.size, &UInt::arange(scratch.size.width()));
    hidden
}

#[freeze]
fn to_scratch(x: &Float) -> Float {
    let mut scratch = Float::zeros(x.width());
    scratch.scatter(x * 2.0, &(UInt::arange(x.width()).reverse()));
    scratch + 1.0
}

#[freeze]
fn to_scratch_and_back(x: &Float, index: &UInt) -> Float {
    let mut scratch = Float::zeros(x.width() + 1);
    scratch.scatter_add(x, index);
    scratch.gather(&(index + 1))
}

// rows: F039
#[test]
fn memory_of_the_body_is_its_own_and_hidden_memory_is_refused() {
    crate::frozen_only!();
    let scratch = Scratch { hidden: floats(4, 1), size: floats(4, 2) };
    let text = message_of(|| to_hidden(&scratch));
    assert!(text.contains("not an argument of it"), "{text}");
    assert_eq!(values(&scratch.hidden), values(&floats(4, 1)));
    alike(frozen!(to_scratch), 1, || [4, 4, 64, 3].map(|n| values(&to_scratch(&floats(n, n)))));
    alike(frozen!(to_scratch_and_back), 1, || {
        [4, 4, 64, 3].map(|n| values(&to_scratch_and_back(&floats(n, n), &indices(n, n, n))))
    });
}

#[freeze]
fn chained(x: &Float) -> Float {
    let mut y = x + 1.0;
    for _ in 0..6 {
        jit::eval(&y).unwrap();
        y = y.reverse() * 0.5 + &y;
    }
    y
}

// rows: F044 O24
#[test]
fn memory_is_used_again_within_a_replay() {
    alike(frozen!(chained), 1, || {
        let mut x = floats(16, 1);
        (0..10)
            .map(|turn| {
                x = chained(&x) + turn as f32;
                values(&x)
            })
            .collect::<Vec<_>>()
    });
}

#[freeze]
fn deposit(target: &mut Float, source: &Float) {
    target.scatter_add(source, &(UInt::arange(source.width()) % UInt::from(target.width())));
}

#[freeze]
fn deposited(source: &Float) -> Float {
    let mut target = Float::zeros(5);
    target.scatter_add(source, &(UInt::arange(source.width()) % 5));
    target
}

#[freeze]
fn deposited_on_fives(source: &Float, target: &Float) -> (Float, Float) {
    let mut full = Float::full(5.0, 5);
    full.scatter_add(source, &(UInt::arange(source.width()) % 5));
    let mut given = target.clone();
    given.scatter_add(source, &UInt::zeros(source.width()));
    (full, given)
}

// rows: F050 F051 F052 C09
#[test]
fn sums_are_scattered_to_targets_of_every_size() {
    alike(frozen!(deposit), 1, || {
        [1, 2, 3, 4, 500, 70_000].map(|i| {
            let mut target = floats(i + 2, i);
            let other = (i % 2 == 0).then(|| target.clone());
            deposit(&mut target, &floats(10 + i, i));
            (values(&target), other.map(|other| values(&other)))
        })
    });
    alike(frozen!(deposited), 1, || [10, 11, 12, 7].map(|n| values(&deposited(&floats(n, n)))));
    alike(frozen!(deposited_on_fives), 1, || {
        [10, 11, 12, 7].map(|n| {
            let target = floats(1, n);
            let (full, given) = deposited_on_fives(&floats(n, n), &target);
            [full, given, target].map(|array| values(&array))
        })
    });
}

#[freeze]
fn queued(x: &Float, room: &mut Float) -> (UInt, Float) {
    let mut counter = UInt::zeros(1);
    let wanted = x.gt(0.0);
    let place = counter.scatter_inc_masked(&UInt::zeros(x.width()), &wanted);
    let fits = &wanted & place.lt(UInt::from(room.width()));
    room.scatter_masked(x, &place, &fits);
    (counter, room.sum())
}

// rows: F054
#[test]
fn places_in_a_queue_are_counted_anew() {
    alike(frozen!(queued), 1, || {
        [20, 30, 7, 64].map(|n| {
            let mut room = Float::full(-1.0, 1024).make_opaque();
            let x = floats(n, n);
            let (count, _) = queued(&x, &mut room);
            let count_of_lanes = values(&count)[0] as usize;
            let mut room = values(&room);
            // Lanes take their positions in any order.
            room[..count_of_lanes].sort_by(f32::total_cmp);
            assert!(room[..count_of_lanes].iter().all(|&x| x > 0.0));
            (values(&count), room)
        })
    });
}

#[freeze]
fn counted(counter: &mut UInt, index: &UInt) -> UInt {
    counter.scatter_inc(index)
}

// rows: F054
#[test]
fn counters_continue_over_the_calls() {
    alike(frozen!(counted), 1, || {
        let mut counter = UInt::from([0, 0, 0, 0]);
        [9, 5, 17].map(|n| {
            let mut places = values(&counted(&mut counter, &(UInt::arange(n) % 4)));
            places.sort_unstable();
            (places, values(&counter))
        })
    });
}

#[freeze]
fn sampled(sampler: &mut Pcg32) -> (Float, Float) {
    let first = sampler.next_f32();
    (sampler.next_f32(), first)
}

// rows: F009
#[test]
fn a_sampler_continues_where_it_was() {
    alike(frozen!(sampled), 1, || {
        let mut sampler = Pcg32::new(16, 7);
        [(); 3].map(|()| {
            let (a, b) = sampled(&mut sampler);
            (values(&a), values(&b))
        })
    });
}

#[freeze]
fn add_to_shared(x: &mut Float, index: &UInt) -> Float {
    let before = x.clone();
    x.scatter_add(1.0, index);
    x.scatter_add(&before, index);
    before
}

// rows: C10
#[test]
fn a_scatter_copies_a_shared_array() {
    alike(frozen!(add_to_shared), 1, || {
        [4, 9, 4, 70_000].map(|n| {
            let mut x = floats(n, n);
            let holders = [x.clone(), x.clone()];
            let index = indices(n, n, 2);
            let before = add_to_shared(&mut x, &index);
            let first = values(&x);
            // It has no other owner now, but is given back.
            let again = add_to_shared(&mut x, &index);
            (first, values(&x), [before, again].map(|array| values(&array)), holders.map(|holder| values(&holder)))
        })
    });
}

#[freeze]
fn to_two(a: &mut Float, b: &mut Float, index: &UInt) {
    a.scatter_add(1.0, index);
    b.scatter_add(2.0, index);
}

#[test]
fn two_arguments_that_are_one_array_are_written_apart() {
    alike(frozen!(to_two), 2, || {
        [(4, true), (9, true), (4, false), (5, false)].map(|(n, is_one)| {
            let mut a = floats(n, n);
            let mut b = if is_one { a.clone() } else { floats(n, 3) };
            to_two(&mut a, &mut b, &indices(7, n, 2));
            [a, b].map(|array| values(&array))
        })
    });
}
