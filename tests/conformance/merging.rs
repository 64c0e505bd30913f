//! Targets that differ only in values are merged; random targets agree with plain Rust.

use jit::prelude::*;

use crate::{noise, on_each_device, resident};

/// The properties of a surface that light observes.
#[jit(dispatch)]
trait Material {
    /// The colour at a position between 0 and 1.
    fn colour(&self, u: &Float) -> Float;
    /// How bright it is.
    fn level(&self) -> Float;
}

#[derive(jit::Traverse)]
struct Plain {
    level: Float,
}

#[derive(jit::Traverse)]
struct Textured {
    level: Float,
    texels: Float,
}

#[jit]
impl Material for Plain {
    fn colour(&self, u: &Float) -> Float {
        (u * self.level).sqrt() * self.level + (u + 1).ln().exp().atan()
    }
    fn level(&self) -> Float {
        self.level.clone()
    }
}

#[jit]
impl Material for Textured {
    fn colour(&self, u: &Float) -> Float {
        let at = (u * self.texels.len() as f32).cast::<u32>();
        let mut colour = self.texels.gather(&at) * self.level;
        if u > 0.5 {
            colour += (u * self.level).sin().exp().ln().tan().atan().abs().sqrt();
        }
        colour
    }
    fn level(&self) -> Float {
        self.level.clone()
    }
}

fn plain(level: Float) -> Box<dyn Material> {
    Box::new(Plain { level })
}

fn textured(level: Float, texels: Float) -> Box<dyn Material> {
    Box::new(Textured { level, texels })
}

/// Instances of two kinds, whose values are constants, opaque, and in memory.
fn materials(count: usize) -> Instances<dyn Material> {
    let level = |i: usize| match i % 3 {
        0 => Float::from(i as f32),
        1 => Float::opaque(i as f32),
        _ => resident([i as f32]),
    };
    let texels = |i: usize| {
        let texels = Float::linspace(i as f32, i as f32 + 1.0, 2 + i % 4);
        jit::eval(&texels).unwrap();
        texels
    };
    (0..count).map(|i| if i % 2 == 0 { plain(level(i)) } else { textured(level(i), texels(i)) }).collect()
}

/// How often a text occurs in the drawing of a value's graph.
fn count(drawn: &Float, what: &str) -> usize {
    jit::graphviz(drawn).lines().filter(|line| line.contains("label=") && line.contains(what)).count()
}

/// Compares a call with successive calls of one instance each.
fn check(materials: &Instances<dyn Material>, ids: &[u32], u: &Float) -> Float {
    let called = materials.at(&resident_ids(ids)).colour(u);
    let places = u.to_vec().unwrap();
    let expected: Vec<f32> = ids
        .iter()
        .zip(&places)
        .map(|(&id, &u)| materials.get(id).map_or(0.0, |one| one.colour(&Float::from(u)).item().unwrap()))
        .collect();
    assert_eq!(called.clone().to_vec().unwrap(), expected);
    called
}

fn resident_ids(ids: &[u32]) -> UInt {
    let ids = UInt::from(ids);
    jit::eval(&ids).unwrap();
    ids
}

// rows: C098 C276
#[test]
fn instances_that_differ_in_values_alone_are_one_target() {
    on_each_device(|| {
        let ids: Vec<u32> = (0..44).collect();
        let u = Float::linspace_open(0.0, 1.0, 44);
        jit::eval(&u).unwrap();
        let mut materials = materials(40);
        let called = materials.at(&resident_ids(&ids)).colour(&u);
        assert_eq!(count(&called, "Unary(Atan)"), 2, "{}", jit::graphviz(&called));
        assert_eq!(count(&called, "Unary(Tan)"), 1);
        check(&materials, &ids, &u);
        materials.remove(7);
        materials.remove(20);
        check(&materials, &ids, &u);
        materials.push(textured(Float::from(3.0), resident([0.5, 0.25])));
        check(&materials, &ids, &u);
    });
}

// rows: C107 C110 C126
#[test]
fn getters_are_tables() {
    on_each_device(|| {
        let ids: Vec<u32> = (0..44).rev().collect();
        let materials = materials(40);
        let level = materials.at(&resident_ids(&ids)).level();
        assert!(!jit::graphviz(&level).contains("Switch"));
        let expected: Vec<f32> =
            ids.iter().map(|&id| if (1..=40).contains(&id) { id as f32 - 1.0 } else { 0.0 }).collect();
        assert_eq!(level.to_vec().unwrap(), expected);
        let same: Instances<dyn Material> = (0..9).map(|_| plain(Float::from(123.0))).collect();
        let level = same.at(&resident_ids(&[1, 9, 0, 3])).level();
        assert!(!jit::graphviz(&level).contains("Gather"));
        assert_eq!(level.to_vec().unwrap(), [123.0, 123.0, 0.0, 123.0]);
    });
}

// rows: C280
#[test]
fn a_thousand_instances_are_few_targets() {
    on_each_device(|| {
        let ids: Vec<u32> = noise(3000, 7).iter().map(|bits| bits % 1002).collect();
        let materials = materials(1000);
        let u = Float::full(0.75, 3000);
        let called = materials.at(&resident_ids(&ids)).colour(&u);
        assert_eq!(count(&called, "Unary(Atan)"), 2);
        let called = called.to_vec().unwrap();
        for lane in (0..3000).step_by(131) {
            let one = materials.get(ids[lane]).map_or(0.0, |one| one.colour(&Float::from(0.75)).item().unwrap());
            assert_eq!(called[lane], one, "lane {lane} of id {}", ids[lane]);
        }
    });
}

#[test]
fn values_that_change_are_seen() {
    on_each_device(|| {
        let mut values: Instances<dyn Material> = (0..30).map(|i| plain(Float::opaque(i as f32))).collect();
        let pointers = values.at(&resident_ids(&[1, 2, 30]));
        assert_eq!(pointers.level().to_vec().unwrap(), [0.0, 1.0, 29.0]);
        values.remove(2);
        assert_eq!(values.push(plain(Float::from(70.0))), 2);
        assert_eq!(pointers.level().to_vec().unwrap(), [0.0, 70.0, 29.0]);
    });
}

/// A step of a random target.
#[derive(Clone, Copy)]
enum Step {
    Add(u32),
    Mul(u32),
    Look(u32),
    Count(u32),
    Repeat(u32),
    OnlyIf(u32),
}

const TABLE: [u32; 8] = [3, 1, 4, 1, 5, 9, 2, 6];

fn step(bits: u32) -> Step {
    let value = bits >> 8;
    match bits % 6 {
        0 => Step::Add(value),
        1 => Step::Mul(value | 1),
        2 => Step::Look(value % 8),
        3 => Step::Count(value % 4),
        4 => Step::Repeat(value % 5),
        _ => Step::OnlyIf(value % 7),
    }
}

/// The bits of a step of another kind.
fn with_kind(bits: u32, kind: u32) -> u32 {
    (bits >> 8 << 8) + (0..6).find(|low| ((bits >> 8 << 8) + low) % 6 == kind).unwrap_or(0)
}

fn on_host(steps: &[Step], mut x: u32, counts: &mut [u32]) -> u32 {
    for step in steps {
        match *step {
            Step::Add(value) => x = x.wrapping_add(value),
            Step::Mul(value) => x = x.wrapping_mul(value) ^ (x >> 7),
            Step::Look(at) => x = x.wrapping_add(TABLE[(x as usize % 4 + at as usize) % 8]),
            Step::Count(bin) => counts[bin as usize] = counts[bin as usize].wrapping_add(x),
            Step::Repeat(times) => (0..times + x % 3).for_each(|_| x = x.wrapping_mul(5).wrapping_add(1)),
            Step::OnlyIf(rest) => x = if x % 7 > rest { (x >> 3).wrapping_add(TABLE[x as usize % 8]) } else { x },
        }
    }
    x
}

#[jit]
fn traced(steps: &[Step], table: &UInt, x: UInt, counts: UInt) -> (UInt, UInt) {
    let (mut x, mut counts) = (x, counts);
    for step in steps {
        match *step {
            Step::Add(value) => x += value,
            Step::Mul(value) => x = (x * value) ^ (x >> 7),
            Step::Look(at) => x += table.gather(&((x % 4 + at) % 8)),
            Step::Count(bin) => counts.scatter_add(&x, &UInt::from(bin)),
            Step::Repeat(times) => {
                let (mut n, end) = (UInt::from(0), x % 3 + times);
                while n < end {
                    x = x * 5 + 1;
                    n += 1;
                }
            }
            Step::OnlyIf(rest) => {
                if x % 7 > rest {
                    x = (x >> 3) + table.gather(&(x % 8));
                }
            }
        }
    }
    (x, counts)
}

// rows: C098
#[test]
fn random_targets_agree_with_plain_rust() {
    on_each_device(|| {
        let table = resident(TABLE);
        for seed in 1..=24_u32 {
            let bits = noise(400, seed.wrapping_mul(0x9E37_79B9));
            let targets = 1 + bits[0] as usize % 9;
            let programs: Vec<Vec<Step>> = (0..targets)
                .map(|target| {
                    (0..1 + bits[target + 1] as usize % 6).map(|i| step(bits[20 + 10 * target + i])).collect()
                })
                .collect();
            let index: Vec<u32> = bits[200..300].iter().map(|bits| bits % (targets as u32 + 2)).collect();
            let x: Vec<u32> = bits[300..].to_vec();
            let mut counts = [0; 4];
            let expected: Vec<u32> = index
                .iter()
                .zip(&x)
                .map(|(&index, &x)| programs.get(index as usize).map_or(0, |steps| on_host(steps, x, &mut counts)))
                .collect();
            let callables: Vec<_> = programs
                .iter()
                .map(|steps| |x: UInt, counts: UInt| traced(steps, &table, x, counts))
                .map(|callable| Box::new(callable) as Box<dyn Fn(UInt, UInt) -> (UInt, UInt)>)
                .collect();
            let index = resident_ids(&index);
            let (got, got_counts) = jit::switch(&index, &callables, (UInt::from(&x), UInt::zeros(4)));
            assert_eq!(got.to_vec().unwrap(), expected, "seed {seed}");
            assert_eq!(got_counts.to_vec().unwrap(), counts, "seed {seed}");
        }
    });
}

/// A rule with a loop in a loop, a branch that exits it, and a call.
#[jit(dispatch)]
trait Walk {
    /// The end of a walk from a position, and its number of steps.
    fn end(&self, from: &UInt, limit: &UInt) -> (UInt, UInt);
}

#[derive(jit::Traverse)]
struct Walker {
    factor: UInt,
    table: UInt,
    materials: Ptr<dyn Material>,
}

#[jit]
impl Walk for Walker {
    fn end(&self, from: &UInt, limit: &UInt) -> (UInt, UInt) {
        let (mut at, mut steps) = (from.clone(), UInt::from(0));
        while steps < limit {
            at = at * self.factor + 1;
            let mut inner = UInt::from(0);
            while inner < at % 4 {
                at += self.table[at % 3] ^ inner;
                inner += 1;
            }
            if at % 16 == 7 {
                break;
            }
            steps += 1;
        }
        let level = self.materials.with_ids(at % 4).colour(&((at % 64).cast::<f32>() / 64.0));
        (at + (level * 100.0).cast::<u32>(), steps)
    }
}

#[test]
fn instances_with_loops_and_calls_are_one_target() {
    on_each_device(|| {
        let materials = materials(3);
        let one = |i: u32| -> Box<dyn Walk> {
            let factor = if i.is_multiple_of(2) { UInt::from(i + 3) } else { UInt::opaque(i + 3) };
            let table = resident([i, i * 7 + 1, i * i]);
            Box::new(Walker { factor, table, materials: materials.at(&UInt::from(0)) })
        };
        let walks: Instances<dyn Walk> = (0..7).map(one).collect();
        let ids: Vec<u32> = noise(200, 3).iter().map(|bits| bits % 9).collect();
        let (from, limit) = (UInt::from(noise(200, 4)), UInt::from(noise(200, 5)) % 9);
        jit::eval(&(&from, &limit)).unwrap();
        let (at, steps) = walks.at(&resident_ids(&ids)).end(&from, &limit);
        let drawn = jit::graphviz(&steps);
        let loops =
            drawn.lines().filter(|line| line.contains("label=") && line.contains("Loop") && !line.contains("Result"));
        assert_eq!(loops.count(), 2, "{drawn}");
        let (at, steps) = (at.to_vec().unwrap(), steps.to_vec().unwrap());
        for lane in 0..200_u32 {
            let place = UInt::from(lane);
            let expected = walks.get(ids[lane as usize]).map_or((0, 0), |one| {
                let (at, steps) = one.end(&from.gather(&place), &limit.gather(&place));
                (at.item().unwrap(), steps.item().unwrap())
            });
            assert_eq!((at[lane as usize], steps[lane as usize]), expected, "lane {lane}");
        }
    });
}

#[test]
fn random_targets_of_few_shapes_agree_with_plain_rust() {
    on_each_device(|| {
        let table = resident(TABLE);
        for seed in 1..=30_u32 {
            let bits = noise(700, seed.wrapping_mul(0x85EB_CA6B));
            let (targets, shapes) = (2 + bits[0] as usize % 8, 1 + bits[1] as usize % 3);
            // The kinds of steps belong to the shape, their values to the target.
            let of_target = |target: usize| -> Vec<Step> {
                let shape = target % shapes;
                let count = 1 + bits[2 + shape] as usize % 5;
                (0..count).map(|i| step(with_kind(bits[100 + 8 * target + i], bits[10 + 8 * shape + i] % 6))).collect()
            };
            let programs: Vec<Vec<Step>> = (0..targets).map(of_target).collect();
            let index: Vec<u32> = bits[300..500].iter().map(|bits| bits % (targets as u32 + 1)).collect();
            let x: Vec<u32> = bits[500..].to_vec();
            let mut counts = [0; 4];
            let expected: Vec<u32> = index
                .iter()
                .zip(&x)
                .map(|(&index, &x)| programs.get(index as usize).map_or(0, |steps| on_host(steps, x, &mut counts)))
                .collect();
            let callables: Vec<_> = programs
                .iter()
                .map(|steps| |x: UInt, counts: UInt| traced(steps, &table, x, counts))
                .map(|callable| Box::new(callable) as Box<dyn Fn(UInt, UInt) -> (UInt, UInt)>)
                .collect();
            let (index, x) = (resident_ids(&index), UInt::from(&x));
            for sorted in [false, true] {
                let arguments = (x.clone(), UInt::zeros(4));
                let (got, got_counts) = match sorted {
                    false => jit::switch(&index, &callables, arguments),
                    true => jit::switch_sorted(&index, &callables, arguments),
                };
                assert_eq!(got.to_vec().unwrap(), expected, "seed {seed}, sorted: {sorted}");
                assert_eq!(got_counts.to_vec().unwrap(), counts, "seed {seed}, sorted: {sorted}");
            }
        }
    });
}

/// Arrays of merged targets are stored one after another, yet each ends at its own end.
#[test]
fn merged_targets_read_nothing_of_one_another() {
    on_each_device(|| {
        let texels = |values: &[f32]| {
            let texels = Float::from(values);
            jit::eval(&texels).unwrap();
            textured(Float::from(1.0), texels)
        };
        let materials: Instances<dyn Material> =
            [texels(&[1.0, 2.0, 3.0]), texels(&[10.0, 20.0, 30.0, 40.0]), texels(&[100.0, 200.0])]
                .into_iter()
                .collect();
        // From 1 on there is no texel.
        let u = [0.4, 1.1, 0.3, 1.2, 0.4, 1.0, 2.5];
        let ids = [1, 1, 2, 2, 3, 3, 3];
        let colours = materials.at(&resident_ids(&ids)).colour(&resident(u));
        assert_eq!(count(&colours, "Unary(Tan)"), 1, "they are merged");
        let alone =
            |(&id, &u): (&u32, &f32)| -> Option<f32> { materials.get(id)?.colour(&Float::opaque(u)).item().ok() };
        let expected: Vec<f32> = ids.iter().zip(&u).filter_map(alone).collect();
        assert_eq!(colours.to_vec().unwrap(), expected);
        assert_eq!((expected[0], expected[2], expected[4]), (2.0, 20.0, 100.0));
    });
}
