//! Traced modules: `forward` runs once for each signature, and calls replay it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jit::nn::{self, BatchNorm1d, Dropout, Linear, Mode, Model, Module, Parameter, Relu, Traced};
use jit::optim::Adam;
use jit::prelude::*;
use jit::{ErrorKind, FloatElement};

use crate::alone::alone;
use crate::on_each_device;

/// A module that counts the runs of its `forward`, for inputs of each type.
#[derive(Clone, Traverse)]
struct Counted {
    factor: Parameter,
    #[traverse(skip)]
    runs: Arc<AtomicUsize>,
}

impl Counted {
    fn new(factor: f32) -> Counted {
        Counted { factor: Parameter::new(Tensor::from([factor])), runs: Arc::default() }
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    fn factor_twice(&self) -> Tensor<f32> {
        &*self.factor * 2.0
    }
}

impl<T: FloatElement> Module<Tensor<T>> for Counted {
    type Output = Tensor<T>;

    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        x.sin() * self.factor.cast::<T>()
    }
}

fn rows<T: FloatElement>(batch: usize) -> Tensor<T> {
    Tensor::from_array((Float::arange(batch * 3) * 0.37).sin(), [batch, 3]).cast().make_opaque()
}

// rows: O02
#[test]
fn forward_runs_once_for_each_signature() {
    on_each_device(|| {
        let mut traced = jit::trace(Counted::new(2.0), &Tensor::<f32>::zeros([4, 3])).unwrap();
        assert_eq!(traced.runs(), 1);
        for call in 0..100 {
            let x = rows::<f32>(2 + call);
            let wanted = Counted::new(2.0).forward(&x).to_vec().unwrap();
            assert_eq!(traced.forward(&x).to_vec().unwrap(), wanted);
        }
        assert_eq!((traced.runs(), traced.stats().recordings, traced.stats().replays), (1, 1, 100));
        // Another element type, another number of axes, a width of one, another device.
        traced.forward(&rows::<f64>(4));
        assert_eq!(traced.runs(), 2);
        traced.forward(&rows::<f32>(4).reshape([2, 2, 3]));
        assert_eq!(traced.runs(), 3);
        traced.forward(&Tensor::from([[1.0f32]]));
        assert_eq!(traced.runs(), 4);
        for _ in 0..3 {
            traced.forward(&rows::<f64>(7));
            traced.forward(&rows::<f32>(8).reshape([4, 2, 3]));
            traced.forward(&Tensor::from([[2.0f32]]));
        }
        assert_eq!((traced.runs(), traced.stats().recordings, traced.stats().direct), (4, 4, 0));
        let causes = traced.explain();
        assert_eq!(causes.len(), 4);
        assert!(causes.to_string().contains("`input` was f32 × 12 and is f64"), "{causes}");
    });
}

// rows: O02
#[test]
fn another_device_is_another_signature() {
    let mut traced = jit::trace(Counted::new(2.0), &rows::<f32>(4)).unwrap();
    on_each_device(|| {
        let mut moved = traced.clone();
        moved.factor = Parameter::new(Tensor::from([2.0]));
        let here = Float::from([1.0]).device();
        assert_eq!(moved.forward(&rows::<f32>(4)).array().device(), here);
    });
    traced.forward(&rows::<f32>(4));
    assert_eq!(traced.runs(), 2);
}

// rows: O01
#[test]
fn a_traced_module_has_the_interface_of_the_module() {
    on_each_device(|| {
        let mut traced: Traced<Counted> = jit::trace(Counted::new(3.0), &rows::<f32>(4)).unwrap();
        assert_eq!(traced.factor.to_vec().unwrap(), [3.0]);
        assert_eq!(traced.factor_twice().to_vec().unwrap(), [6.0]);
        assert_eq!(traced.state_dict().names().collect::<Vec<_>>(), ["factor"]);
        assert!(traced.ir().contains("sin"), "{}", traced.ir());
        assert_eq!(traced.call(&rows::<f32>(2)).unwrap().shape(), [2, 3]);
        assert_eq!(traced.infer(&rows::<f32>(2)).shape(), [2, 3]);
        assert_eq!(traced.runs(), 1, "evaluation without modes is the same signature");
        assert!(format!("{traced:?}").contains("Counted"));
        traced.clear();
        assert_eq!((traced.stats().recordings, traced.ir().as_str()), (0, ""));
        let module = traced.into_inner();
        assert_eq!(module.runs(), 1);
        // As a part of another module.
        let inner = jit::trace(module, &rows::<f32>(4)).unwrap();
        let mut outer = (inner, Relu);
        outer.forward(&rows::<f32>(5));
        assert_eq!(outer.0.runs(), 2);
    });
}

/// A module that prints what it computes.
#[derive(Clone, Traverse)]
struct Shown {
    factor: Parameter,
    #[traverse(skip)]
    text: Arc<std::sync::Mutex<Vec<String>>>,
}

impl Module for Shown {
    type Output = Tensor<f32>;

    fn forward(&mut self, x: &Tensor<f32>) -> Tensor<f32> {
        let before = jit::stats();
        let y = x.sin() * &*self.factor;
        let sum = y.array().sum().with_label("sum");
        let half = Float::from(0.5);
        *self.text.lock().unwrap() = vec![
            x.to_string(),
            format!("{y}"),
            format!("{y:?}"),
            format!("{sum}"),
            format!("{sum:?}"),
            half.to_string(),
            format!("{}", y.array().lt(0.0)),
        ];
        let after = jit::stats();
        assert_eq!((after.launches, after.evaluations), (before.launches, before.evaluations));
        y
    }
}

// rows: O03
#[test]
fn values_are_printed_without_contents_while_they_are_traced() {
    // Counters are those of the process.
    if alone("traced::values_are_printed_without_contents_while_they_are_traced", "").is_some() {
        return;
    }
    on_each_device(|| {
        let module = Shown { factor: Parameter::new(Tensor::from([2.0f32])), text: Arc::default() };
        let before = jit::stats().launches;
        let mut traced = jit::trace(module, &Tensor::<f32>::zeros([4, 3])).unwrap();
        assert_eq!(jit::stats().launches, before, "tracing launches nothing");
        let text = std::mem::take(&mut *traced.text.lock().unwrap());
        let line = |text: &str| {
            let (begin, rest) = text.split_once("tests/nn/traced.rs:").unwrap();
            (begin.to_owned(), rest.to_owned())
        };
        let product = line(&text[1]);
        assert_eq!(product.0, "<recorded f32[4, 3], mul at ");
        assert!(product.1.trim_end_matches('>').parse::<u32>().is_ok(), "{}", text[1]);
        assert_eq!(text[2], text[1], "with and without contents");
        assert!(text[0].starts_with("<recorded f32[4, 3], input at "), "{}", text[0]);
        assert!(text[3].starts_with("<recorded f32[1] “sum”, sum at "), "{}", text[3]);
        assert_eq!(text[4], text[3]);
        assert_eq!(text[5], "[0.5]", "a constant is one in each call");
        assert!(text[6].starts_with("<recorded bool[12], lt at "), "{}", text[6]);
        // Printing decided nothing: neither a width nor an element.
        let y = traced.forward(&rows(7));
        assert!(traced.text.lock().unwrap().is_empty(), "`forward` did not run again");
        assert!(y.to_string().starts_with("[["), "outside it has contents: {y}");
        // In a call that is recorded, too.
        traced.forward(&rows(1).reshape([3]));
        assert!(traced.text.lock().unwrap()[1].starts_with("<recorded f32[3], mul at "));
    });
}

#[test]
fn a_module_that_prints_has_derivatives() {
    #[derive(Clone, Traverse)]
    struct Printing {
        line: Linear,
    }
    impl Module for Printing {
        type Output = Tensor<f32>;
        fn forward(&mut self, x: &Tensor<f32>) -> Tensor<f32> {
            let y = self.line.forward(x);
            assert!(!format!("{y}").is_empty());
            y
        }
    }
    on_each_device(|| {
        let module = Printing { line: Linear::new(3, 2, &mut jit::random::rng(1)) };
        let mut traced = jit::trace(module, &rows::<f32>(4)).unwrap();
        for batch in [4, 5] {
            let loss = |traced: &mut Traced<Printing>| traced.forward(&rows(batch)).sum(..);
            let (_, gradient) = nn::value_and_grad(&mut traced, loss).unwrap();
            assert_eq!(gradient.line.bias.as_ref().unwrap().to_vec().unwrap(), [batch as f32; 2]);
        }
    });
}

// rows: O04
#[test]
fn outputs_are_evaluated() {
    on_each_device(|| {
        let mut traced = jit::trace(Counted::new(2.0), &rows::<f32>(4)).unwrap();
        for batch in [2, 3] {
            assert!(traced.forward(&rows::<f32>(batch)).array().is_evaluated());
        }
    });
}

type Net = (Linear, BatchNorm1d, Dropout, Linear);

fn net(seed: u64) -> Net {
    let mut rng = jit::random::rng(seed);
    let (first, dropout) = (Linear::new(3, 8, &mut rng), Dropout::new(0.25, &mut rng));
    (first, BatchNorm1d::new(8), dropout, Linear::new(8, 2, &mut rng))
}

/// The state of a module, bit by bit.
fn bits(module: &impl Model) -> Vec<(String, Vec<u8>)> {
    let state = nn::StateDict::checkpoint(module);
    let names: Vec<String> = state.names().map(str::to_owned).collect();
    let bytes = |name: &str| match (state.get::<f32>(name), state.get::<i64>(name), state.get::<u32>(name)) {
        (Ok(x), ..) => x.array().to_bytes().unwrap(),
        (_, Ok(x), _) => x.array().to_bytes().unwrap(),
        (.., Ok(x)) => x.array().to_bytes().unwrap(),
        _ => state.get::<u64>(name).map_or(Vec::new(), |x| x.array().to_bytes().unwrap()),
    };
    names.into_iter().map(|name| (name.clone(), bytes(&name))).collect()
}

// rows: O05
#[test]
fn parameters_are_inputs_of_each_call() {
    on_each_device(|| {
        let mut traced = jit::trace(Counted::new(2.0), &rows::<f32>(4)).unwrap();
        let x = rows::<f32>(5);
        for factor in [0.5, -3.0] {
            traced.factor.set(Tensor::from([factor]));
            let wanted = Counted::new(factor).forward(&x).to_vec().unwrap();
            assert_eq!(traced.forward(&x).to_vec().unwrap(), wanted);
        }
        // Constants, and one array in several places, are inputs, too.
        traced.factor.set(Tensor::ones([1]));
        assert_eq!(traced.forward(&x).to_vec().unwrap(), x.sin().to_vec().unwrap());
        assert_eq!(traced.forward(&Tensor::<f32>::zeros([6, 2])).to_vec().unwrap(), [0.0; 12]);
        let layer = Linear::new(3, 3, &mut jit::random::rng(1));
        let mut tied = jit::trace((layer.clone(), layer), &rows::<f32>(4)).unwrap();
        let mut plain = (tied.0.clone(), tied.1.clone());
        let other = Linear::new(3, 3, &mut jit::random::rng(2));
        (plain.1, tied.1) = (other.clone(), other);
        assert_eq!(tied.forward(&x).to_vec().unwrap(), plain.forward(&x).to_vec().unwrap());
        assert_eq!((traced.runs(), tied.stats().recordings), (1, 1));
    });
}

// rows: O06 P05
#[test]
fn buffers_advance_and_modes_are_signatures() {
    on_each_device(|| {
        let (mut plain, x) = (net(1), rows::<f32>(16));
        let mut traced = jit::trace(net(1), &x).unwrap();
        assert_eq!(bits(&traced), bits(&plain), "tracing changes nothing");
        for round in 0..4 {
            // Training, evaluation, and back: each is recorded once.
            let mode = if round % 2 == 0 { Mode::Train } else { Mode::Eval };
            plain.set_mode(mode);
            traced.set_mode(mode);
            for _ in 0..3 {
                assert_eq!(traced.forward(&x).to_vec().unwrap(), plain.forward(&x).to_vec().unwrap());
                assert_eq!(bits(&traced), bits(&plain));
            }
            assert_eq!(traced.infer(&x).to_vec().unwrap(), plain.infer(&x).to_vec().unwrap());
            assert_eq!(bits(&traced), bits(&plain), "`infer` changes nothing");
        }
        assert_eq!(traced.stats().recordings, 2);
    });
}

// rows: O05 O06
#[test]
fn training_through_a_traced_module_matches_the_module() {
    on_each_device(|| {
        let (mut plain, x) = (net(1), rows::<f32>(16));
        let mut traced = jit::trace(net(1), &x).unwrap();
        let y = Tensor::from_array((Float::arange(32) * 0.1).cos(), [16, 2]).make_opaque();
        let (mut adam, mut other) = (Adam::new(&plain, 0.01), Adam::new(&plain, 0.01));
        for _ in 0..5 {
            let (wanted, gradient) = nn::value_and_grad(&mut plain, |net| nn::mse_loss(&net.forward(&x), &y)).unwrap();
            adam.step(&mut plain, &gradient);
            let (loss, gradient) = nn::value_and_grad(&mut traced, |net| nn::mse_loss(&net.forward(&x), &y)).unwrap();
            other.step(&mut traced, &gradient);
            assert!((loss.item().unwrap() - wanted.item().unwrap()).abs() < 1e-5);
        }
        let [traced_weights, weights] = [&traced.3, &plain.3].map(|layer| layer.weight.to_vec().unwrap());
        let largest = traced_weights.iter().zip(&weights).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(largest < 1e-4, "{largest}");
        assert_eq!(traced.infer(&x).shape(), [16, 2]);
        // The example, the calls with gradients, and evaluation.
        assert_eq!(traced.stats().recordings, 3, "{}", traced.explain());
    });
}

// rows: O05
#[test]
fn a_traced_module_in_a_frozen_step_is_part_of_its_recording() {
    on_each_device(|| {
        let step = jit::freeze::Frozen::new(|net: &mut Traced<Counted>, x: &Tensor<f32>| {
            let (loss, gradient) = nn::value_and_grad(net, |net| net.forward(x).map(|y| y * y).mean(..)).unwrap();
            let factor = &*net.factor - &*gradient.factor * 0.1;
            net.factor.set(factor);
            loss
        });
        let mut traced = jit::trace(Counted::new(2.0), &rows::<f32>(4)).unwrap();
        let losses: Vec<f32> = (0..6).map(|_| step.call((&mut traced, &rows::<f32>(8))).item().unwrap()).collect();
        assert!(losses.windows(2).all(|pair| pair[1] < pair[0]), "{losses:?}");
        assert_eq!((step.stats().recordings, traced.stats().recordings), (1, 1));
    });
}

#[derive(Clone, Debug, PartialEq, Traverse)]
enum Kind {
    Small,
    Large { by: u32 },
}

#[derive(Clone, Traverse)]
struct Parts {
    sum: Float,
    rows: Vec<Float>,
    absent: Option<Float>,
    present: Option<(Float, u32)>,
    kind: Kind,
    name: String,
    nested: (Tensor<f32>, Box<[Int; 2]>),
}

#[derive(Clone, Traverse)]
struct Divides {
    rows: usize,
}

impl Module<(Float, Option<Float>)> for Divides {
    type Output = Parts;

    fn forward(&mut self, (x, y): &(Float, Option<Float>)) -> Parts {
        let rows = (0..self.rows).map(|row| x + row as f32).collect();
        Parts {
            sum: y.as_ref().map_or_else(|| x.clone(), |y| x * y).sum(),
            rows,
            absent: None,
            present: Some((x.sqrt(), 7)),
            kind: if y.is_some() { Kind::Large { by: 3 } } else { Kind::Small },
            name: "parts".to_owned(),
            nested: (Tensor::from(x.clone()), Box::new([x.cast(), x.cast::<i32>() + 1])),
        }
    }
}

impl Module<Float> for Divides {
    type Output = ();

    fn forward(&mut self, _: &Float) {
        self.rows += 1;
    }
}

// rows: O07
#[test]
fn any_value_is_an_input_and_an_output() {
    on_each_device(|| {
        let x = Float::from([1.0, 4.0, 9.0]);
        let mut traced = jit::trace(Divides { rows: 2 }, &(x.clone(), None)).unwrap();
        for input in [(x.clone(), None), (x.clone(), Some(Float::from([2.0, 2.0, 2.0])))] {
            for _ in 0..2 {
                let (got, wanted) = (traced.forward(&input), Divides { rows: 2 }.forward(&input));
                assert_eq!(got.sum.to_vec().unwrap(), wanted.sum.to_vec().unwrap());
                let rows = |parts: &Parts| parts.rows.iter().map(|row| row.to_vec().unwrap()).collect::<Vec<_>>();
                assert_eq!(rows(&got), rows(&wanted));
                assert!(got.absent.is_none());
                let (root, number) = got.present.unwrap();
                assert_eq!((root.to_vec().unwrap(), number), (vec![1.0, 2.0, 3.0], 7));
                assert_eq!((got.kind, got.name), (wanted.kind, wanted.name));
                assert_eq!(got.nested.0.to_vec().unwrap(), [1.0, 4.0, 9.0]);
                assert_eq!(got.nested.1[1].to_vec().unwrap(), [2, 5, 10]);
            }
        }
        assert_eq!(traced.stats().recordings, 2);
        // A host value that `forward` changes advances, and is another signature.
        traced.forward(&x);
        traced.forward(&x);
        assert_eq!((traced.rows, traced.stats().recordings), (4, 4));
        assert_eq!(traced.forward(&(x.clone(), None)).rows.len(), 4);
    });
}

/// What cannot be traced, by number.
#[derive(Clone, Traverse)]
struct Wrong {
    case: u32,
    #[traverse(skip)]
    elsewhere: Option<Float>,
}

impl Module<Float> for Wrong {
    type Output = Float;

    fn forward(&mut self, x: &Float) -> Float {
        match self.case {
            0 => x * x.sum().item().unwrap_or(0.0),
            1 => x.filter(&x.gt(2.0)),
            2 => x * self.elsewhere.as_ref().unwrap(),
            3 => {
                jit::print!("{x}");
                x + 1.0
            }
            4 => panic!("a mistake in `forward`"),
            _ => x + 1.0,
        }
    }
}

// rows: P03
#[test]
fn what_cannot_be_replayed_is_an_error() {
    on_each_device(|| {
        let x = Float::from([1.0, 2.0, 3.0]).make_opaque();
        let elsewhere = Some(Float::from([4.0, 5.0, 6.0]).make_opaque());
        for (case, wanted) in [
            (0, "a traced module reads the contents of an array of f32"),
            (3, "lanes print, or are checked, which a replay cannot reproduce"),
        ] {
            let error = jit::trace(Wrong { case, elsewhere: None }, &x).unwrap_err();
            let text = error.to_string();
            assert_eq!(error.kind(), ErrorKind::NotRecordable);
            assert!(text.contains(wanted) && text.contains("tests/nn/traced.rs:"), "{case}: {text}");
        }
        let counts = || jit::trace(Wrong { case: 1, elsewhere: None }, &x).map(drop).unwrap();
        crate::assert_refused(counts, "a traced module counts the true lanes of a mask");
        let foreign = || jit::trace(Wrong { case: 2, elsewhere: elsewhere.clone() }, &x).map(drop).unwrap();
        crate::assert_refused(foreign, "a traced module uses an array that is not part of it, nor of its input");
        // A new signature that cannot be recorded: the module is unchanged, and other calls still work.
        let mut traced = jit::trace(Wrong { case: 5, elsewhere }, &x).unwrap();
        traced.case = 3;
        let error = traced.call(&x).unwrap_err().to_string();
        assert!(error.contains("the module `") && error.contains("cannot be traced: lanes print"), "{error}");
        traced.case = 5;
        assert_eq!(traced.forward(&x).to_vec().unwrap(), [2.0, 3.0, 4.0]);
        // Inside of another recording.
        let error = jit::freeze::Frozen::new(|x: &Float| {
            let error = jit::trace(Wrong { case: 5, elsewhere: None }, x).unwrap_err();
            assert!(error.to_string().contains("cannot be traced while something else is recorded"), "{error}");
            x + 1.0
        });
        error.call(&x);
    });
}

// rows: O51 O54
#[test]
fn a_panic_in_forward_leaves_nothing() {
    on_each_device(|| {
        let x = Float::from([1.0, 2.0, 3.0]).make_opaque();
        let trace = |case| jit::trace(Wrong { case, elsewhere: None }, &x);
        crate::assert_panics(|| drop(trace(4)), "a mistake in `forward`");
        let mut traced = trace(5).unwrap();
        traced.case = 4;
        crate::assert_panics(|| drop(traced.forward(&x)), "a mistake in `forward`");
        traced.case = 5;
        assert_eq!(traced.stats().cached, 1, "only that of the example");
        assert_eq!(traced.forward(&x).to_vec().unwrap(), [2.0, 3.0, 4.0]);
        assert_eq!((&x + 1.0).to_vec().unwrap(), [2.0, 3.0, 4.0]);
    });
}

#[test]
fn threads_run_forward_once_for_a_new_signature() {
    on_each_device(|| {
        let traced = jit::trace(Counted::new(2.0), &rows::<f32>(4)).unwrap();
        let wanted = Counted::new(2.0).forward(&rows::<f64>(40)).to_vec().unwrap();
        let on = Float::from([1.0]).device();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let mut own = traced.clone();
                    scope.spawn(move || jit::with_device(on, || own.forward(&rows::<f64>(40)).to_vec().unwrap()))
                })
                .collect();
            for thread in threads {
                assert_eq!(thread.join().unwrap(), wanted);
            }
        });
        assert_eq!((traced.runs(), traced.stats().direct), (2, 0));
    });
}

// rows: O71
#[test]
fn recordings_are_freed_with_the_last_clone() {
    on_each_device(|| {
        let module = Counted::new(2.0);
        let runs = Arc::clone(&module.runs);
        let traced = jit::trace(module, &rows::<f32>(4)).unwrap();
        let mut other = traced.clone();
        drop(traced);
        other.forward(&rows::<f32>(5));
        assert_eq!((other.runs(), other.stats().replays), (1, 1));
        drop(other);
        assert_eq!(Arc::strong_count(&runs), 1, "recordings hold copies of the module");
    });
}

#[test]
fn placeholders_are_examples() {
    on_each_device(|| {
        let module = (Linear::new(3, 2, &mut jit::random::rng(1)), Relu);
        let example = Tensor::from_array(Float::placeholder(12), [4, 3]);
        let mut traced = jit::trace(module.clone(), &example).unwrap();
        assert_eq!(traced.forward(&rows(9)).to_vec().unwrap(), module.clone().forward(&rows(9)).to_vec().unwrap());
        assert_eq!(traced.stats().recordings, 1);
    });
}

// rows: O20
#[test]
fn a_traced_module_has_the_same_bits_on_each_device() {
    let outputs = std::cell::RefCell::new(Vec::new());
    on_each_device(|| {
        let mut traced = jit::trace(net(1), &rows::<f32>(16)).unwrap();
        let y: Vec<Vec<f32>> = (0..3).map(|call| traced.forward(&rows::<f32>(16 + call)).to_vec().unwrap()).collect();
        outputs.borrow_mut().push((y, bits(&traced)));
    });
    let outputs = outputs.into_inner();
    assert!(outputs.len() > 1 && outputs.iter().all(|output| *output == outputs[0]));
}

// rows: O22
#[test]
fn the_operations_of_a_traced_module_are_fused() {
    if alone("traced::the_operations_of_a_traced_module_are_fused", "").is_some() {
        return;
    }
    on_each_device(|| {
        let module = nn::Function::new(|x: &Tensor<f32>| (x.sin() * 2.0 + x.cos()).map(|y| y.sqrt() - 1.0).sum(..));
        let mut traced = jit::trace(module, &rows::<f32>(100)).unwrap();
        let x = rows::<f32>(200);
        jit::eval(&x).unwrap();
        let before = jit::stats().launches;
        traced.forward(&x);
        assert_eq!(jit::stats().launches - before, 1);
    });
}

#[test]
fn without_recordings_the_module_runs_as_it_is_written() {
    if alone("traced::without_recordings_the_module_runs_as_it_is_written", "export JIT_FREEZE=off;").is_some() {
        return;
    }
    on_each_device(|| {
        let mut traced = jit::trace(Counted::new(2.0), &rows::<f32>(4)).unwrap();
        for call in 0..3 {
            assert_eq!(traced.runs(), call);
            let y = traced.forward(&rows::<f32>(4));
            assert!(y.array().is_evaluated());
            assert_eq!(y.to_vec().unwrap(), Counted::new(2.0).forward(&rows::<f32>(4)).to_vec().unwrap());
        }
        assert_eq!((traced.stats().recordings, traced.stats().direct), (0, 3));
    });
}
