//! One rule for indices out of range: for every origin of a source, an index and a call, and every width.
//!
//! The expected results come from a host list, read and written by `get` and `get_mut`.

use jit::prelude::*;
use jit::{Local, ReduceOp};

use crate::agree::{on_each_device, resident};

/// Widths of sources and targets: nothing, the same for all lanes, and more.
const WIDTHS: [usize; 4] = [0, 1, 2, 5];

/// Indices that some lane has.
const INDICES: [i32; 10] = [0, 1, 4, 5, -1, 2, i32::MAX, i32::MIN, 0, 300];

/// The origin of a source, and its elements.
type Source = (&'static str, Int, Vec<i32>);

fn sources(width: usize) -> Vec<Source> {
    let host: Vec<i32> = (0..width as i32).map(|lane| lane * 3 + 7).collect();
    let seven = vec![7; width];
    let reversed: Vec<i32> = host.iter().rev().copied().collect();
    let mut list = vec![
        ("literal", Int::full(7, width), seven.clone()),
        ("of the host", Int::from(host.clone()), host.clone()),
        ("evaluated", resident(&host), host.clone()),
        ("an expression", Int::arange(width) * 3 + 7, host.clone()),
        ("an expression of memory", resident(&host) + 1, host.iter().map(|v| v + 1).collect()),
        ("an expression that is stored in memory", resident(&host).reverse().sort().reverse(), reversed),
        ("opaque, repeated", Int::opaque(7) + Int::zeros(width), seven),
    ];
    if width == 1 {
        list.push(("opaque", Int::opaque(-4), vec![-4]));
        list.push(("a sum", resident(&[1, 2]).sum(), vec![3]));
        list.push(("a number", Int::from(9), vec![9]));
    }
    list
}

/// Ways in which indices reach an operation: all lanes at once, or one after another.
fn indices() -> Vec<(&'static str, Vec<Int>)> {
    let single = |make: fn(i32) -> Int| INDICES.iter().map(|&index| make(index)).collect();
    let picked = Int::from(INDICES.to_vec()).gather(&Int::arange(INDICES.len()));
    vec![
        ("in memory", vec![resident(&INDICES)]),
        ("of the host", vec![Int::from(INDICES.to_vec())]),
        ("computed", vec![picked + 0]),
        ("literal", single(Int::from)),
        ("opaque", single(Int::opaque)),
    ]
}

fn element(list: &[i32], index: i32) -> i32 {
    usize::try_from(index).ok().and_then(|index| list.get(index)).copied().unwrap_or_default()
}

#[freeze]
fn frozen_gather(source: &Int, index: &Int) -> Int {
    source.gather(index)
}

#[freeze]
fn frozen_gather_masked(source: &Int, index: &Int, mask: &Mask) -> Int {
    source.gather_masked(index, mask)
}

#[freeze]
fn frozen_write(target: &mut Int, index: &Int, value: &Int) {
    target.scatter(value, index);
}

#[freeze]
fn frozen_inc(target: &mut Int, index: &Int) -> Int {
    target.scatter_inc(index)
}

#[jit]
fn in_a_branch(source: &Int, index: &Int) -> Int {
    let mut found = Int::from(0);
    if index < 3 {
        found = source[index];
    } else {
        found = source[index] + 0;
    }
    found
}

#[jit]
fn in_a_loop(source: &Int, index: &Int) -> Int {
    let (mut k, mut found) = (Int::from(0), Int::from(0));
    while k < 2 {
        found += source[index];
        k += 1;
    }
    found - source[index]
}

/// A read operation, and whether it reads the second lane.
type Read = (&'static str, fn(&Int, &Int) -> Int);

const READS: [Read; 7] = [
    ("gather", |source, index| source.gather(index)),
    ("gather_masked", |source, index| source.gather_masked(index, &index.ne(4))),
    ("gather_packet", |source, index| source.gather_packet::<1>(index)[0].clone()),
    ("a branch", in_a_branch),
    ("a loop", in_a_loop),
    ("a frozen call", frozen_gather),
    ("a frozen masked call", |source, index| frozen_gather_masked(source, index, &index.ne(4))),
];

#[test]
fn every_read_out_of_range_gives_zero() {
    on_each_device(|| {
        for width in WIDTHS {
            for (source_kind, source, host) in sources(width) {
                for (index_kind, lists) in indices() {
                    for (name, read) in READS {
                        let found: Vec<Int> = lists.iter().map(|index| read(&source, index)).collect();
                        jit::eval(&found).unwrap();
                        let found: Vec<i32> = found.iter().flat_map(|found| found.to_vec().unwrap()).collect();
                        let off = |index: i32| name.contains("masked") && index == 4;
                        let wanted: Vec<i32> =
                            INDICES.map(|index| if off(index) { 0 } else { element(&host, index) }).to_vec();
                        let device = source.device();
                        assert_eq!(found, wanted, "{name}, {source_kind} of {width}, index {index_kind}, {device:?}");
                    }
                }
            }
        }
    });
}

/// An operation that writes 50 to elements, and its host counterpart; none depends on the order of lanes.
type Write = (&'static str, fn(&mut Int, &Int), fn(&mut i32));

const WRITES: [Write; 9] = [
    ("scatter", |target, index| target.scatter(50, index), |v| *v = 50),
    ("scatter_masked", |target, index| target.scatter_masked(50, index, &index.ne(1)), |v| *v = 50),
    ("scatter_add", |target, index| target.scatter_add(5, index), |v| *v += 5),
    ("scatter_reduce", |target, index| target.scatter_reduce(ReduceOp::Max, 9, index), |v| *v = 9.max(*v)),
    ("scatter_inc", |target, index| _ = target.scatter_inc(index), |v| *v += 1),
    ("scatter_exchange", |target, index| _ = target.scatter_exchange(3, index), |v| *v = 3),
    ("scatter_cas", |target, index| _ = target.scatter_cas(7, 8, index), |v| *v = if *v == 7 { 8 } else { *v }),
    ("scatter_packet", |target, index| target.scatter_packet(&[Int::from(50)], index), |v| *v = 50),
    ("a frozen call", |target, index| frozen_write(target, index, &Int::from(50)), |v| *v = 50),
];

#[test]
fn every_write_out_of_range_writes_nothing() {
    on_each_device(|| {
        for width in WIDTHS {
            for (source_kind, source, host) in sources(width) {
                for (index_kind, lists) in indices() {
                    for (name, write, host_write) in WRITES {
                        let (mut target, mut wanted) = (source.clone(), host.clone());
                        lists.iter().for_each(|index| write(&mut target, index));
                        for index in INDICES.into_iter().filter(|&index| !name.contains("masked") || index != 1) {
                            let place = usize::try_from(index).ok().and_then(|index| wanted.get_mut(index));
                            place.into_iter().for_each(host_write);
                        }
                        let call = || format!("{name}, {source_kind} of {width}, index {index_kind}");
                        assert_eq!(target.to_vec().unwrap(), wanted, "{}, {:?}", call(), source.device());
                        assert_eq!(source.to_vec().unwrap(), host, "{}, {:?}", call(), source.device());
                    }
                }
            }
        }
    });
}

/// Operations that return the old element, and the value that each lane reads from an array with a single 7.
#[test]
fn old_elements_out_of_range_are_zero() {
    on_each_device(|| {
        for make in [Int::from as fn(i32) -> Int, Int::opaque] {
            for index in [1, -1, i32::MIN, i32::MAX] {
                let (mut one, mut none) = (resident(&[7]), Int::zeros(0));
                for target in [&mut one, &mut none] {
                    let found = [
                        target.scatter_inc(&make(index)),
                        frozen_inc(target, &make(index)),
                        target.scatter_exchange(3, &make(index)),
                        target.scatter_cas(0, 3, &make(index)).0,
                        target.scatter_cas(0, 3, &make(index)).1.cast(),
                    ];
                    assert_eq!(found.map(|found| found.item().unwrap()), [0; 5], "index {index}");
                }
                assert_eq!((one.to_vec().unwrap(), none.len()), (vec![7], 0), "index {index}");
            }
        }
    });
}

#[test]
fn local_memory_has_the_same_rule() {
    on_each_device(|| {
        for len in [1_usize, 2, 5] {
            for (kind, lists) in indices() {
                for index in &lists {
                    let mut memory = Local::<i32>::full(7, len);
                    memory.write(index, 50);
                    let found = memory.read(index).to_vec().unwrap();
                    let at = index.to_vec().unwrap();
                    let inside = |index: i32| usize::try_from(index).is_ok_and(|index| index < len);
                    let wanted: Vec<i32> = at.iter().map(|&index| if inside(index) { 50 } else { 0 }).collect();
                    assert_eq!(found, wanted, "{len} elements, index {kind}");
                    for element in 0..len as i32 {
                        let found = memory.read(&Int::from(element)).to_vec().unwrap();
                        let wanted: Vec<i32> = at.iter().map(|&at| if at == element { 50 } else { 7 }).collect();
                        assert_eq!(found, wanted, "element {element} of {len}, index {kind}");
                    }
                }
            }
        }
    });
}

#[freeze]
fn third(source: &Int) -> Int {
    source.gather(&Int::from(2)) + source.gather(&Int::from(-1))
}

#[freeze]
fn numbered(source: &Int, index: i32) -> Int {
    source.gather(&Int::from(index))
}

/// A literal index is part of frozen code for all widths, and a number is not a literal there.
#[test]
fn frozen_code_reads_as_direct_code_does_at_every_width() {
    on_each_device(|| {
        for width in [5_usize, 2, 3, 1, 0, 4, 2, 1, 7] {
            let source = Int::arange(width) + 10;
            jit::eval(&source).unwrap();
            let wanted = if width > 2 { 12 } else { 0 };
            assert_eq!(third(&source).item().unwrap(), wanted, "width {width}");
            for index in [2, 0, -1, 6] {
                let wanted = if (0..width as i32).contains(&index) { index + 10 } else { 0 };
                assert_eq!(numbered(&source, index).item().unwrap(), wanted, "element {index} of {width}");
            }
        }
    });
}
