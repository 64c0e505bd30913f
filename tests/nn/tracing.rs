//! What tracing takes, decides and costs, and which lines it names: the parts of other front ends that people miss.

use std::cell::Cell;
use std::collections::BTreeMap;

use jit::nn::{Attention, BatchNorm1d, Linear, Model, Module};
use jit::prelude::*;

use crate::alone::alone;
use crate::{assert_refused, on_each_device};

#[derive(Clone, Copy, Debug, PartialEq, Traverse)]
enum Kind {
    Plain,
    Scaled { by: u32 },
}

/// An argument of each kind, nested.
#[derive(Clone, Traverse)]
struct Everything {
    number: f32,
    text: String,
    kind: Kind,
    pair: (Float, (i8, bool)),
    list: Vec<Float>,
    map: BTreeMap<String, Float>,
    boxed: Box<Option<Float>>,
    nothing: (),
}

fn everything(kind: Kind) -> Everything {
    Everything {
        number: 0.5,
        text: "twice".to_owned(),
        kind,
        pair: (Float::from([1.0, 2.0]), (3, true)),
        list: vec![Float::from([4.0, 5.0]); 2],
        map: BTreeMap::from([("a".to_owned(), Float::from([6.0, 7.0]))]),
        boxed: Box::new(Some(Float::from([8.0, 9.0]))),
        nothing: (),
    }
}

fn sum_of(all: &Everything) -> Float {
    let mut sum = &all.pair.0 * all.number + f32::from(all.pair.1.0) + &all.map["a"];
    sum = all.list.iter().fold(sum, |sum, x| sum + x);
    sum = all.boxed.as_ref().as_ref().map_or(sum.clone(), |x| &sum + x);
    if all.text == "twice" && all.pair.1.1 {
        sum *= 2.0;
    }
    match all.kind {
        Kind::Plain => sum,
        Kind::Scaled { by } => sum * by as f32,
    }
}

#[jit]
fn traced(all: &Everything) -> Float {
    sum_of(all)
}

#[freeze]
fn frozen(all: &Everything) -> Float {
    sum_of(all)
}

#[derive(Clone, Traverse)]
struct Sum;

impl Module<Everything> for Sum {
    type Output = Float;

    fn forward(&mut self, all: &Everything) -> Float {
        sum_of(all)
    }
}

// rows: P01
#[test]
fn arguments_of_every_kind_are_traced() {
    on_each_device(|| {
        let mut module = jit::trace(Sum, &everything(Kind::Plain)).unwrap();
        for (kind, factor) in [(Kind::Plain, 1.0), (Kind::Scaled { by: 2 }, 2.0), (Kind::Scaled { by: 3 }, 3.0)] {
            let (all, wanted) = (everything(kind), [25.5, 30.0].map(|sum| sum * 2.0 * factor));
            assert_eq!(traced(&all).to_vec().unwrap(), wanted);
            for _ in 0..2 {
                assert_eq!(frozen(&all).to_vec().unwrap(), wanted);
                assert_eq!(module.forward(&all).to_vec().unwrap(), wanted);
            }
        }
        assert_eq!(module.stats().recordings, 3);
    });
}

#[freeze]
fn shifted(x: &Float, by: &Option<Float>) -> Float {
    by.as_ref().map_or(x * 2.0, |by| x + by)
}

// rows: P02
#[test]
fn none_and_some_are_two_signatures() {
    on_each_device(|| {
        let before = shifted::stats().recordings;
        let (x, by) = (Float::from([1.0, 2.0]), Float::from([10.0, 20.0]));
        for _ in 0..3 {
            assert_eq!(shifted(&x, &None).to_vec().unwrap(), [2.0, 4.0]);
            assert_eq!(shifted(&x, &Some(by.clone())).to_vec().unwrap(), [11.0, 22.0]);
        }
        assert_eq!(shifted::stats().recordings - before, 2);
    });
}

/// Counts its calls on the host.
#[derive(Clone, Traverse)]
struct Counter {
    calls: u32,
}

impl Module<Float> for Counter {
    type Output = Float;

    fn forward(&mut self, x: &Float) -> Float {
        self.calls += 1;
        x + self.calls as f32
    }
}

#[freeze]
fn count(counter: &mut Counter, x: &Float) -> Float {
    counter.forward(x)
}

// rows: P03
#[test]
fn host_values_of_modules_advance() {
    on_each_device(|| {
        let x = Float::from([0.5, 1.0]).make_opaque();
        let mut counter = Counter { calls: 0 };
        let mut module = jit::trace(counter.clone(), &x).unwrap();
        for call in 1..4 {
            let wanted = [0.5 + call as f32, 1.0 + call as f32];
            assert_eq!(module.forward(&x).to_vec().unwrap(), wanted);
            assert_eq!(count(&mut counter, &x).to_vec().unwrap(), wanted);
        }
        assert_eq!((module.calls, counter.calls), (3, 3));
    });
}

#[derive(Clone, Debug, PartialEq, Traverse)]
struct Options {
    factor: f32,
    is_squared: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { factor: 1.0, is_squared: true }
    }
}

#[freeze]
fn with_options(x: &Float, options: &Options) -> Float {
    let y = x * options.factor;
    if options.is_squared { &y * &y } else { y }
}

// rows: P04
#[test]
fn options_have_defaults() {
    on_each_device(|| {
        let x = Float::from([1.0, 3.0]);
        assert_eq!(with_options(&x, &Options::default()).to_vec().unwrap(), [1.0, 9.0]);
        let doubled = Options { factor: 2.0, ..Options::default() };
        assert_eq!(with_options(&x, &doubled).to_vec().unwrap(), [4.0, 36.0]);
        // Those of layers are built in the same way.
        let attention = Attention::<f32> { is_causal: true, ..Attention::new() };
        assert_eq!(attention.scale, Attention::<f32>::new().causal().scale);
    });
}

#[jit]
fn large(x: &Float, y: &Float) -> (Float, Float) {
    let mut z = x * y;
    for _ in 0..3 {
        z = z.sin() + x.gather(&UInt::arange(x.width()));
    }
    (z.sum(), z)
}

// rows: P06
// no device: no kernel runs
#[test]
fn tracing_computes_nothing_and_takes_no_memory() {
    if alone("tracing::tracing_computes_nothing_and_takes_no_memory", "").is_some() {
        return;
    }
    let before = (jit::stats(), jit::memory());
    let example = || Float::placeholder(1 << 31);
    let _compiled = large::compile(&example(), &example()).unwrap();
    let examples = Tensor::from_array(Float::placeholder(1 << 29), [1 << 26, 8]);
    let mut rng = jit::random::rng(1);
    let net = (Linear::new(8, 16, &mut rng), BatchNorm1d::new(16));
    let traced = jit::trace(net, &examples).unwrap();
    let (stats, memory) = (jit::stats(), jit::memory());
    assert_eq!((stats.launches, traced.stats().recordings), (before.0.launches, 1));
    assert!(memory.peak_bytes.max(memory.live_bytes) < before.1.peak_bytes + (1 << 20), "{memory:?}");
}

thread_local! {
    static RUNS: Cell<u32> = const { Cell::new(0) };
}

#[jit]
fn counted(x: &Float) -> Float {
    RUNS.set(RUNS.get() + 1);
    let mut y = x.clone();
    while y < 100.0 {
        y = &y * 2.0 + 1.0;
    }
    y
}

#[freeze]
fn counted_frozen(x: &Float) -> Float {
    counted(x)
}

// rows: P07
#[test]
fn the_body_runs_once_for_each_trace() {
    on_each_device(|| {
        let runs = |call: &dyn Fn()| {
            let before = RUNS.get();
            call();
            RUNS.get() - before
        };
        let x = Float::from([1.0, 60.0]).make_opaque();
        assert_eq!(runs(&|| assert_eq!(counted(&x).to_vec().unwrap(), [127.0, 121.0])), 1);
        let mut compiled = None;
        let cell = std::cell::RefCell::new(&mut compiled);
        assert_eq!(runs(&|| **cell.borrow_mut() = Some(counted::compile(&x).unwrap())), 1);
        let compiled = compiled.unwrap();
        assert_eq!(runs(&|| assert_eq!(compiled.call(&x).unwrap().to_vec().unwrap(), [127.0, 121.0])), 0);
        counted_frozen::clear();
        assert_eq!(runs(&|| (0..5).for_each(|_| drop(counted_frozen(&x)))), 1);
    });
}

/// Asserts that the width is known before the elements are.
#[track_caller]
fn known<T: jit::Element>(x: &Array<T>) {
    let is_evaluated = x.is_evaluated();
    let width = x.width().get();
    assert_eq!(x.is_evaluated(), is_evaluated, "the width is known without the elements");
    assert_eq!(width, x.to_vec().unwrap().len());
}

// rows: P08
#[test]
fn widths_are_known_without_contents() {
    on_each_device(|| {
        for n in [1, 2, 7, 100] {
            let x = (Float::arange(n) * 0.1).make_opaque();
            let i = UInt::arange(n).make_opaque();
            let tensor = Tensor::from_array(x.clone(), [1, n]);
            known(&(&x + &i));
            known(&x.lt(0.3).select(&x, &i));
            known(&x.sin().mul_add(&x, 1.0));
            known(&x.gather(&(&i / 2)));
            known(&x.sum());
            known(&x.argmax());
            known(&x.prefix_sum());
            known(&x.block_sum(1));
            known(&x.reverse());
            known(&x.tile(3));
            known(&x.repeat(2));
            known(&x.slice(0..n / 2));
            known(&x.shift(1));
            known(&Float::concat(&[x.clone(), x.clone()]));
            known(&x.sort());
            known(&x.argsort());
            known(&x.cast::<f64>());
            known(&x.bitcast::<u32>());
            known(tensor.matmul(&tensor.transpose()).array());
            known(tensor.transpose().matmul(&tensor).array());
            known(tensor.mean(0).array());
            known(tensor.roll(1, 1).array());
            known::<f32>(&jit::random::rng(1).normal(0.0, 1.0, n));
        }
    });
}

fn deep(net: &mut Net, x: &Tensor<f32>, depth: u32) -> Tensor<f32> {
    if depth == 0 { net.forward(x) } else { deep(net, x, depth - 1) }
}

type Net = (Linear, BatchNorm1d, Linear);

// rows: P20
// no device: nothing is computed
#[test]
fn operations_inside_of_layers_have_a_line_of_the_program() {
    let mut rng = jit::random::rng(1);
    let mut net = (Linear::new(2, 3, &mut rng), BatchNorm1d::new(3), Linear::new(4, 1, &mut rng));
    assert_refused(|| drop(deep(&mut net, &Tensor::ones([4, 2]), 5)), "a linear layer of 4 inputs got");
    // A tuple is called as one layer is, so the line is that of the call in `deep`.
    let mut net = (Linear::new(2, 3, &mut rng), BatchNorm1d::new(3), Linear::new(3, 1, &mut rng));
    net.eval();
    let y = deep(&mut net, &Tensor::ones([4, 2]), 5);
    let line = format!("{}:{}", file!(), line!() - 16);
    let shown = format!("{:?}", y.array());
    assert!(shown.contains(&line), "{shown} is not of {line}");
    let graph = jit::graphviz(&y);
    assert!(!graph.contains("src/nn/"), "{graph}");
}
