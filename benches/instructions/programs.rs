//! The programs whose instructions are counted.

use std::cell::RefCell;
use std::rc::Rc;

use jit::prelude::*;

/// A program: its name, and the function that creates its parts.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn() -> Result<Parts, jit::Error>,
}

type Part = Box<dyn FnMut() -> Result<(), jit::Error>>;

/// The code to run, and the code before each run that is not counted.
pub(crate) struct Parts {
    pub(crate) before: Part,
    pub(crate) run: Part,
}

/// Every program there is.
pub(crate) const PROGRAMS: &[Program] = &[
    Program { name: "trace_chain", prepare: trace_chain },
    Program { name: "free_chain", prepare: free_chain },
    Program { name: "trace_equal", prepare: trace_equal },
    Program { name: "trace_control_flow", prepare: trace_control_flow },
    Program { name: "trace_calls", prepare: trace_calls },
    Program { name: "schedule_straight", prepare: schedule_straight },
    Program { name: "schedule_stages", prepare: schedule_stages },
    Program { name: "look_up_and_launch", prepare: look_up_and_launch },
    Program { name: "prepare_kernel", prepare: prepare_kernel },
    Program { name: "interpret", prepare: interpret },
    Program { name: "read_element", prepare: read_element },
    Program { name: "traverse", prepare: traverse },
    Program { name: "record", prepare: record },
    Program { name: "replay_smallest", prepare: replay_smallest },
    Program { name: "replay_chain", prepare: replay_chain },
    Program { name: "replay_sizes", prepare: replay_sizes },
    Program { name: "replay_loop", prepare: replay_loop },
    Program { name: "replay_tensor", prepare: replay_tensor },
    Program { name: "find_recording", prepare: find_recording },
    Program { name: "run_straight", prepare: run_straight },
    Program { name: "run_loop", prepare: run_loop },
    Program { name: "run_gather", prepare: run_gather },
    Program { name: "schedule_launches", prepare: schedule_launches },
];

/// A program without code before each run.
fn only(run: impl FnMut() -> Result<(), jit::Error> + 'static) -> Result<Parts, jit::Error> {
    Ok(Parts { before: Box::new(|| Ok(())), run: Box::new(run) })
}

/// Elements in memory.
fn resident(width: usize) -> Result<Float, jit::Error> {
    let x = Float::from((0..width).map(|lane| (lane % 17) as f32 * 0.0625).collect::<Vec<f32>>());
    jit::eval(&x)?;
    jit::sync()?;
    Ok(x)
}

fn evaluated(tree: &impl Traverse) -> Result<(), jit::Error> {
    jit::eval(tree)?;
    jit::sync()
}

fn chain(x: &Float, length: usize) -> Float {
    (0..length).fold(x.clone(), |sum, _| &sum + x)
}

/// A straight-line program of this many steps, with operations of several kinds.
fn straight(x: &Float, steps: usize) -> Float {
    let (mut a, mut b) = (x + 1.0, x * 0.5);
    for step in 0..steps {
        let constant = 0.25 + step as f32 / 1024.0;
        (a, b) = match step % 5 {
            0 => (a.mul_add(constant, &b), a),
            1 => (a.min(&b), a.max(&b)),
            2 => (&a * &b, a - constant),
            3 => (a.abs().sqrt(), b),
            _ => (a.lt(&b).select(&a, constant), b),
        };
    }
    a + b
}

fn trace_chain() -> Result<Parts, jit::Error> {
    let x = resident(16)?;
    let slot = Rc::new(RefCell::new(None));
    let traced = Rc::clone(&slot);
    Ok(Parts {
        before: Box::new(move || {
            slot.take();
            Ok(())
        }),
        run: Box::new(move || {
            traced.replace(Some(chain(&x, 4000)));
            Ok(())
        }),
    })
}

fn free_chain() -> Result<Parts, jit::Error> {
    let x = resident(16)?;
    let slot = Rc::new(RefCell::new(None));
    let traced = Rc::clone(&slot);
    Ok(Parts {
        before: Box::new(move || {
            traced.replace(Some(chain(&x, 4000)));
            Ok(())
        }),
        run: Box::new(move || {
            slot.take();
            Ok(())
        }),
    })
}

/// Expressions that exist already, and facts about them that need no computation.
fn trace_equal() -> Result<Parts, jit::Error> {
    let x = resident(16)?;
    let existing = straight(&x, 500);
    only(move || {
        let again = straight(&x, 500);
        let folded = straight(&Float::from(2.0), 100);
        drop((&again - &existing, folded));
        Ok(())
    })
}

#[jit]
fn control_flow(x: &Float, table: &Float) -> Float {
    let (mut y, mut rounds) = (x.clone(), UInt::from(0));
    while &y < 4.0 && rounds < 50 {
        if &y > 1.0 {
            y += table.gather(&(y.cast::<i32>() & 15));
        } else if &y < 0.25 {
            y = y * 2.0 + 0.5;
        } else {
            y += 0.75;
        }
        if &y > 3.5 {
            break;
        }
        rounds += 1;
    }
    y
}

fn trace_control_flow() -> Result<Parts, jit::Error> {
    let x = resident(16)?;
    only(move || {
        for _ in 0..20 {
            let mut bins = Float::zeros(16);
            bins.scatter_add(control_flow(&x, &x), &(UInt::arange(16) & 3));
            drop(bins);
        }
        Ok(())
    })
}

const FUNCTIONS: [fn(Float) -> Float; 4] =
    [|x| x + 1.0, |x| x.sqrt(), |x| straight(&x, 20), |x| control_flow(&x, &Float::from([1.0, 2.0, 3.0]))];

fn trace_calls() -> Result<Parts, jit::Error> {
    let x = resident(16)?;
    let index = UInt::from((0..16).map(|lane| lane % 4).collect::<Vec<u32>>());
    jit::eval(&index)?;
    only(move || {
        for _ in 0..10 {
            drop(jit::switch(&index, &FUNCTIONS, (x.clone(),)));
        }
        Ok(())
    })
}

fn schedule_straight() -> Result<Parts, jit::Error> {
    let x = resident(16)?;
    only(move || evaluated(&straight(&x, 1000)))
}

/// Reductions, prefix sums and scatters between kernels of several widths.
fn schedule_stages() -> Result<Parts, jit::Error> {
    let x = resident(48)?;
    only(move || {
        let mut bins = Float::zeros(8);
        bins.scatter_add(&x, &(UInt::arange(48) % 8));
        let centred = &x - x.mean();
        let scaled = &centred / (&centred * &centred).sum().sqrt();
        let sums = scaled.prefix_sum() + bins.gather(&(UInt::arange(48) / 6));
        let narrow = (sums.block_sum(4) * 2.0 + 1.0).prefix_sum();
        evaluated(&(sums, narrow, bins))
    })
}

/// Many kernels of one evaluation, whose number must not matter for each of them.
fn schedule_launches() -> Result<Parts, jit::Error> {
    let (x, index) = (resident(16)?, UInt::arange(16).make_opaque());
    only(move || {
        let mut sums = Float::zeros(16);
        for _ in 0..400 {
            let moved = sums.gather(&(15 - &index));
            sums.scatter_add(&(moved * 0.5 + &x), &index);
        }
        evaluated(&sums)
    })
}

fn look_up_and_launch() -> Result<Parts, jit::Error> {
    let x = resident(16)?;
    only(move || {
        for _ in 0..20 {
            evaluated(&(&x + 1.0))?;
        }
        Ok(())
    })
}

/// Kernels that are not in a cache, on the interpreter: verification, passes, preparation.
fn prepare_kernel() -> Result<Parts, jit::Error> {
    let x = resident(4)?.to(Device::Interpreter)?;
    let mut length = 200;
    only(move || {
        length += 1;
        jit::with_device(Device::Interpreter, || {
            evaluated(&(straight(&x, length), control_flow(&(&x + length as f32), &x)))
        })
    })
}

fn interpret() -> Result<Parts, jit::Error> {
    let x = resident(1000)?.to(Device::Interpreter)?;
    only(move || jit::with_device(Device::Interpreter, || evaluated(&(straight(&x, 20), control_flow(&x, &x)))))
}

fn read_element() -> Result<Parts, jit::Error> {
    let x = resident(64)?;
    only(move || {
        for _ in 0..10 {
            assert!(x.sum().item()? > 0.0 && x.get(3)? > 0.0);
        }
        Ok(())
    })
}

#[derive(Clone, Traverse)]
struct Layer {
    weights: Float,
    bias: Float,
    rate: f32,
    name: String,
}

#[derive(Clone, Traverse)]
struct Model {
    layers: Vec<Layer>,
    steps: u32,
}

impl Model {
    fn new(layers: usize) -> Result<Model, jit::Error> {
        let layer = |index: usize| {
            let name = format!("layer {index}");
            Ok(Layer { weights: resident(12 + index)?, bias: resident(8)?, rate: 0.125, name })
        };
        Ok(Model { layers: (0..layers).map(layer).collect::<Result<_, jit::Error>>()?, steps: 3 })
    }
}

fn traverse() -> Result<Parts, jit::Error> {
    let model = Model::new(50)?;
    only(move || {
        jit::eval(&model)?;
        assert!(jit::leaves(&model).len() >= 100);
        Ok(())
    })
}

#[freeze]
fn step(model: &mut Model, x: &Float) -> Float {
    let mut sum = x.sum();
    for layer in &mut model.layers {
        sum += (&layer.weights * layer.rate).sum() + layer.bias.reduce_max();
        layer.bias += &sum * 0.001;
        let _ = jit::eval(&layer.bias);
    }
    sum
}

/// The first call of a frozen function whose kernels are in the cache.
fn record() -> Result<Parts, jit::Error> {
    let (mut model, x) = (Model::new(5)?, resident(16)?);
    Ok(Parts {
        before: Box::new(|| {
            step::clear();
            Ok(())
        }),
        run: Box::new(move || evaluated(&step(&mut model, &x))),
    })
}

#[freeze]
fn increment(x: &Float) -> Float {
    x + 1.0
}

fn replay_smallest() -> Result<Parts, jit::Error> {
    let x = resident(16)?;
    only(move || {
        for _ in 0..20 {
            evaluated(&increment(&x))?;
        }
        Ok(())
    })
}

#[freeze]
fn kernel_after_kernel(x: &Float) -> Float {
    let mut x = x.clone();
    for _ in 0..50 {
        x = straight(&x, 10);
        // A failed evaluation is reported when the result is read.
        let _ = jit::eval(&x);
    }
    x
}

fn replay_chain() -> Result<Parts, jit::Error> {
    let x = resident(64)?;
    only(move || evaluated(&kernel_after_kernel(&x)))
}

#[freeze]
fn resampled(x: &Float) -> (Float, Float, Float) {
    let n = x.width();
    let third = x.gather(&(UInt::arange(n / 3) * 3));
    let many = x.gather(&(UInt::arange(n * 5) / 5));
    (&third + third.sum(), many.prefix_sum(), x.block_sum(2))
}

/// Replays, each on sizes that no call has had before.
fn replay_sizes() -> Result<Parts, jit::Error> {
    let mut arrays = Vec::new();
    for width in 10..60 {
        arrays.push(resident(width * 2)?);
    }
    only(move || {
        for _ in 0..3 {
            let x = arrays.pop().unwrap_or_default();
            evaluated(&resampled(&x))?;
        }
        Ok(())
    })
}

#[freeze]
fn rounds_of_lanes(x: &Float, rounds: &UInt) -> Float {
    let (mut x, mut rest) = (x.clone(), rounds.clone());
    #[evaluated]
    while rest > 0 {
        x = x * 1.5 + 1.0;
        rest -= 1;
    }
    x
}

fn replay_loop() -> Result<Parts, jit::Error> {
    let x = resident(16)?;
    let rounds = UInt::from((5..21).collect::<Vec<u32>>());
    jit::eval(&rounds)?;
    only(move || evaluated(&rounds_of_lanes(&x, &rounds)))
}

#[freeze]
fn softmax(x: &Tensor<f32>) -> Tensor<f32> {
    let exponentials = (x - x.reduce_max(jit::tensor::keep_dims(1))).exp();
    &exponentials / exponentials.sum(jit::tensor::keep_dims(1))
}

fn replay_tensor() -> Result<Parts, jit::Error> {
    let x = Tensor::from_array(resident(240)?, [20, 12]);
    only(move || evaluated(softmax(&x).array()))
}

#[freeze]
fn of_many(model: &Model, x: &Float, flavour: &str) -> Float {
    let sum = model.layers.iter().fold(x.sum(), |sum, layer| sum + layer.bias.sum() * layer.rate);
    if flavour.len() > 3 { sum + 1.0 } else { sum * 2.0 }
}

/// Look-up among recordings, by an argument with many leaves.
fn find_recording() -> Result<Parts, jit::Error> {
    let (model, x) = (Model::new(30)?, resident(16)?);
    let flavours = ["a", "bc", "def", "ghij", "klmno", "pqrstu"];
    only(move || {
        for flavour in flavours {
            evaluated(&of_many(&model, &x, flavour))?;
        }
        Ok(())
    })
}

fn run_straight() -> Result<Parts, jit::Error> {
    let x = resident(100_000)?;
    only(move || evaluated(&(straight(&x, 20).exp(), x.sin().sum())))
}

fn run_loop() -> Result<Parts, jit::Error> {
    let (x, table) = (resident(10_000)?, resident(16)?);
    only(move || evaluated(&control_flow(&x, &table)))
}

fn run_gather() -> Result<Parts, jit::Error> {
    let x = resident(100_000)?;
    let index = UInt::from((0..100_000).map(|lane| lane * 7919 % 100_000).collect::<Vec<u32>>());
    jit::eval(&index)?;
    only(move || {
        let neighbours = UInt::arange(99_998);
        let stencil = x.gather(&neighbours) + x.gather(&(&neighbours + 1)) + x.gather(&(&neighbours + 2));
        let mut bins = Float::zeros(64);
        bins.scatter_add(&x, &(&index & 63));
        evaluated(&(x.gather(&index), stencil, bins))
    })
}
