//! The key of a recording: the form, the type and the shape of the arguments, and their host values.

use std::collections::BTreeMap;

use jit::Operand;
use jit::freeze::Recordable;
use jit::linalg::{Mat4, Vec4};
use jit::prelude::*;

use crate::{alike, floats, frozen, message_of, values};

#[freeze]
fn added(x: &Float, y: &Float) -> Float {
    x + y
}

// rows: F001 F013 C01
#[test]
fn new_elements_and_new_sizes_are_replayed() {
    alike(frozen!(added), 1, || [3, 3, 64, 2, 3].map(|n| values(&added(&floats(n, n), &floats(n, 7)))));
}

#[freeze]
fn added_without_cache(x: &Float, y: &Float) -> Float {
    x + y
}

// rows: F002
#[test]
fn a_recording_retains_its_kernels() {
    alike(frozen!(added_without_cache), 1, || {
        [3, 9, 5].map(|n| {
            jit::cache::clear();
            values(&added_without_cache(&floats(n, n), &floats(n, 7)))
        })
    });
}

#[freeze]
fn scaled(x: &Float, y: &Float) -> Float {
    x * y
}

// rows: F017
#[test]
fn one_element_and_many_are_two_recordings() {
    alike(frozen!(scaled), 2, || {
        [1, 3, 1, 5].map(|n| values(&scaled(&floats(if n == 1 { 5 } else { n }, n), &floats(n, 2))))
    });
}

#[freeze]
fn scaled_by_opaque(x: &Float, y: &Float) -> Float {
    x * y
}

// rows: F017
#[test]
fn an_opaque_value_is_given_to_each_replay() {
    alike(frozen!(scaled_by_opaque), 2, || {
        let opaque = [2.0, 3.0, -1.0].map(|k| values(&scaled_by_opaque(&floats(4, 1), &Float::opaque(k))));
        (opaque, values(&scaled_by_opaque(&floats(3, 1), &floats(3, 2))))
    });
}

#[freeze]
fn called_often(x: &Float) -> Float {
    (x * 0.5 + 1.0).sqrt()
}

// rows: F018
#[test]
fn a_thousand_calls_are_one_recording() {
    alike(frozen!(called_often), 1, || {
        let mut x = floats(1024, 3).abs();
        for _ in 0..1000 {
            x = called_often(&x);
        }
        values(&x)
    });
}

#[freeze]
fn product(x: &Float, y: &Float) -> Float {
    x * 10.0 + y
}

// rows: F019 C03
#[test]
fn the_same_array_twice_is_a_recording_of_its_own() {
    alike(frozen!(product), 2, || {
        let [x, y] = [floats(4, 1), floats(4, 2)];
        [&x, &y].map(|z| values(&product(z, z))).into_iter().chain([values(&product(&x, &y))]).collect::<Vec<_>>()
    });
}

#[freeze]
fn with_number(x: &Float, y: i32) -> Float {
    if y == 1 { x * 2.0 } else { x + y as f32 }
}

// rows: F020
#[test]
fn numbers_of_the_host_decide_what_is_recorded() {
    crate::on_each_device(|| {
        with_number::clear();
        for _ in 0..2 {
            let results = [0, 1, 2, 1, 0].map(|y| (y, values(&with_number(&floats(3, 1), y))));
            for (y, result) in results {
                let x = values(&floats(3, 1));
                let wanted = x.iter().map(|x| if y == 1 { x * 2.0 } else { x + y as f32 });
                assert_eq!(result, wanted.collect::<Vec<_>>());
            }
        }
        assert!(with_number::stats().recordings <= 3, "{:?}", with_number::explain());
    });
}

#[freeze]
fn with_constant(x: &Float, c: &Float) -> (Float, Float) {
    (x * c, Float::from(5.0))
}

// rows: F021
#[test]
fn a_constant_that_changes_is_recorded_once_more() {
    alike(frozen!(with_constant), 1, || {
        [2.0, 2.0].map(|c| {
            let (scaled, five) = with_constant(&floats(3, 1), &Float::from(c));
            (values(&scaled), values(&five), five.is_literal())
        })
    });
    alike(frozen!(with_constant), 2, || {
        [2.0, 2.0, 3.0, 4.0, 2.0].map(|c| {
            let given = Float::from(c);
            let (scaled, five) = with_constant(&floats(3, 1), &given);
            (values(&scaled), values(&five), given.is_literal())
        })
    });
}

#[freeze]
fn of_any_type<K: Operand<f32> + Recordable>(x: &Float, k: K) -> Float {
    x.max(k)
}

// rows: F035
#[test]
fn types_have_their_own_recordings_and_freezing_can_be_switched_off() {
    crate::on_each_device(|| {
        of_any_type::clear();
        let x = floats(4, 1);
        let wanted: Vec<f32> = values(&x).into_iter().map(|x| x.max(2.0)).collect();
        for _ in 0..2 {
            assert_eq!(values(&of_any_type(&x, 2.0_f32)), wanted);
            assert_eq!(values(&of_any_type(&x, Float::opaque(2.0))), wanted);
        }
        crate::frozen_only!();
        assert_eq!((of_any_type::stats().recordings, of_any_type::stats().replays), (2, 2));
        of_any_type::set_enabled(false);
        assert_eq!(values(&of_any_type(&x, 2.0_f32)), wanted);
        of_any_type::set_enabled(true);
        assert_eq!(values(&of_any_type(&x, 2.0_f32)), wanted);
        let stats = of_any_type::stats();
        assert_eq!((stats.recordings, stats.replays, stats.direct), (2, 3, 1));
    });
}

#[freeze]
fn either(x: &Float, is_sum: bool) -> Float {
    if is_sum { x + 1.0 } else { x * 2.0 }
}

// rows: F053
#[test]
fn each_branch_of_the_host_is_a_recording() {
    alike(frozen!(either), 2, || {
        [true, false, true, false, true, false].map(|is_sum| values(&either(&floats(3, 5), is_sum)))
    });
}

#[derive(Clone, Traverse)]
struct Camera {
    to_world: Mat4,
    lens: Lens,
}

#[derive(Clone, Traverse)]
struct Lens {
    scale: f32,
    offset: Float,
}

#[freeze]
fn through(camera: &Camera, p: &Vec4) -> (Camera, Vec4) {
    let moved = &camera.to_world * p;
    let lens = Lens { scale: camera.lens.scale, offset: camera.lens.offset + 1.0 };
    let camera = Camera { to_world: camera.to_world.transpose(), lens };
    (camera.clone(), moved * camera.lens.scale)
}

// rows: F037
#[test]
fn structs_in_structs_with_matrices() {
    alike(frozen!(through), 1, || {
        [1, 2, 3, 4].map(|salt| {
            let entry = |i: usize| floats(5, salt * 16 + i);
            let rows =
                [0, 1, 2, 3].map(|i| Vec4::new(entry(4 * i), entry(4 * i + 1), entry(4 * i + 2), entry(4 * i + 3)));
            let lens = Lens { scale: 0.5, offset: entry(99) };
            let camera = Camera { to_world: Mat4::from_rows(rows), lens };
            let p = Vec4::new(entry(3), entry(5), entry(7), entry(1));
            let (camera, p) = through(&camera, &p);
            (camera.to_world.to_vec().unwrap(), camera.lens.scale, values(&camera.lens.offset), p.to_vec().unwrap())
        })
    });
}

#[derive(Clone, Traverse)]
struct Record {
    field: Float,
}

#[freeze]
fn grow(record: &mut Record) {
    record.field += 2.0;
}

// rows: F038
#[test]
fn a_field_adds_up_over_the_calls() {
    alike(frozen!(grow), 1, || {
        let mut record = Record { field: floats(3, 1) };
        (0..12).for_each(|_| grow(&mut record));
        values(&record.field)
    });
}

#[freeze]
fn replace(record: &mut Record) -> Float {
    let before = record.field.clone();
    record.field = &before + 1.0;
    before
}

// rows: F015
#[test]
fn a_field_is_replaced_in_the_callers_value() {
    alike(frozen!(replace), 1, || {
        [3, 5, 3].map(|n| {
            let mut record = Record { field: floats(n, n) };
            let before = replace(&mut record);
            (values(&before), values(&record.field))
        })
    });
}

#[freeze]
fn insert(map: &mut BTreeMap<String, Float>) {
    let y = &map["x"] + 1.0;
    map.insert("y".to_owned(), y);
    map.remove("z");
}

// rows: F014
#[test]
fn entries_of_a_map_come_and_go() {
    alike(frozen!(insert), 1, || {
        [3, 4, 9].map(|n| {
            let mut map = BTreeMap::from([("x".to_owned(), floats(n, 1)), ("z".to_owned(), floats(n, 2))]);
            insert(&mut map);
            map.iter().map(|(key, value)| (key.clone(), values(value))).collect::<Vec<_>>()
        })
    });
}

#[freeze]
fn reads(x: &Float) -> Float {
    let first = x.get(1).unwrap_or_default();
    x * first
}

// rows: F055
#[test]
fn reading_an_element_in_the_body_is_refused() {
    crate::frozen_only!();
    crate::on_each_device(|| {
        reads::clear();
        for _ in 0..2 {
            let text = message_of(|| reads(&floats(3, 1)));
            assert!(text.contains("reads the contents"), "{text}");
        }
        assert_eq!(reads::stats().cached, 0);
    });
}

#[freeze]
fn uploads(x: &Float) -> Float {
    let dead = (x * 3.0).make_opaque();
    drop(dead);
    x / Float::from([10.0, 20.0, 30.0])
}

// rows: F056
#[test]
fn arrays_that_the_host_fills_are_part_of_the_recording() {
    alike(frozen!(uploads), 1, || [1, 2, 3, 4].map(|salt| values(&uploads(&floats(3, salt)))));
}

#[derive(Clone, Traverse)]
struct Settings {
    gain: std::sync::Arc<Float>,
}

#[freeze]
fn amplified(x: &Float, settings: &Settings) -> Float {
    x * &*settings.gain
}

#[test]
fn arrays_behind_shared_references_are_inputs() {
    alike(frozen!(amplified), 1, || {
        [2.0, 3.0, 4.0].map(|gain| values(&amplified(&floats(3, 1), &Settings { gain: Float::opaque(gain).into() })))
    });
    alike(frozen!(amplified), 1, || {
        [2, 3, 4].map(|salt| values(&amplified(&floats(3, 1), &Settings { gain: floats(3, salt).into() })))
    });
    // A constant behind a shared reference stays one.
    alike(frozen!(amplified), 3, || {
        [2.0, 3.0, 4.0, 3.0].map(|gain| values(&amplified(&floats(3, 1), &Settings { gain: Float::from(gain).into() })))
    });
}

#[freeze]
fn lengthened(x: &Float, times: usize, by: isize) -> Float {
    let mut x = x.clone();
    for _ in 0..times {
        x = x + 1.0;
    }
    if by < 0 { -x } else { x }
}

#[test]
fn lengths_among_the_arguments_decide_what_is_recorded() {
    for (times, by, recordings) in [(1, 2, 1), (2, 2, 2), (2, -2, 3), (1, 2, 3), (2, -2, 3), (2, -3, 4)] {
        let wanted = times as f32 + 3.0;
        let given = values(&lengthened(&Float::from([3.0]).make_opaque(), times, by));
        assert_eq!(given, [if by < 0 { -wanted } else { wanted }]);
        crate::frozen_only!(assert_eq!(lengthened::stats().recordings, recordings, "{:?}", lengthened::explain()));
    }
}

#[freeze]
fn put(target: &mut Float, at: &UInt) -> Float {
    target.scatter(5.0, at);
    &*target + 1.0
}

// rows: F082
#[test]
fn a_scatter_to_an_array_without_memory_is_replayed() {
    alike(frozen!(put), 1, || {
        [0_u32, 3, 2].map(|at| {
            let mut target = Float::zeros(4);
            let result = values(&put(&mut target, &UInt::opaque(at)));
            (values(&target), result)
        })
    });
    let mut target = Float::zeros(4);
    drop(put(&mut target, &UInt::opaque(1)));
    assert_eq!(target.to_vec().unwrap(), [0.0, 5.0, 0.0, 0.0]);
}
