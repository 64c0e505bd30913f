//! The rows of frozen functions that are about derivatives.

use jit::ad;
use jit::freeze::Frozen;
use jit::prelude::*;

use crate::on_each_device;

fn variable(values: &[f32]) -> Float {
    let mut x = Float::from(values);
    x.enable_grad();
    x
}

fn numbers(width: usize) -> Vec<f32> {
    (0..width).map(|lane| 0.5 + lane as f32 * 0.125).collect()
}

#[track_caller]
fn assert_near(found: &Float, wanted: &[f32]) {
    let found = found.to_vec().unwrap();
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() <= 1e-5 * wanted.abs().max(1.0), "{found}, not {wanted}");
    }
}

// rows: F012
#[test]
fn a_step_enables_traverses_reads_and_writes_back() {
    #[derive(Clone, Traverse)]
    struct Parameters {
        x: Float,
        y: Float,
    }
    let optimise = Frozen::new(|parameters: &mut Parameters| {
        for value in [&mut parameters.x, &mut parameters.y] {
            value.enable_grad();
        }
        ((&parameters.x - 1.0).square() + (&parameters.y - 2.0).square() * 0.5).sum().backward().unwrap();
        for value in [&mut parameters.x, &mut parameters.y] {
            let gradient = value.grad();
            value.disable_grad();
            *value -= gradient * 0.25;
        }
    });
    on_each_device(|| {
        let mut parameters = Parameters { x: Float::zeros(3), y: Float::zeros(3) };
        for (x, y) in [(0.5, 0.5), (0.75, 0.875)] {
            optimise.call(&mut parameters);
            assert!(!parameters.x.grad_enabled() && !parameters.y.grad_enabled());
            assert_eq!(parameters.x.to_vec().unwrap(), [x; 3]);
            assert_eq!(parameters.y.to_vec().unwrap(), [y; 3]);
        }
    });
}

// rows: F042
#[test]
fn losses_are_reduced_and_traversed_in_the_body() {
    let mean = Frozen::new(|x: &Float| {
        let loss = x.square().sum() / x.width();
        ad::backward_keep(&loss).unwrap();
        loss
    });
    let product = Frozen::new(|x: &Float, seed: &Float| {
        let y = x.reduce(ReduceOp::Mul);
        y.set_grad(seed);
        ad::backward_from(&y).unwrap();
        y
    });
    on_each_device(|| {
        mean.clear();
        product.clear();
        for width in [37, 38, 39] {
            let values = numbers(width);
            let x = variable(&values);
            let loss = mean.call(&x);
            assert!(loss.grad_enabled());
            assert_eq!(loss.grad().to_vec().unwrap(), [0.0]);
            assert_near(&x.grad(), &values.iter().map(|x| 2.0 * x / width as f32).collect::<Vec<_>>());
            let values: Vec<f32> = values.iter().map(|x| 1.0 + (x - 1.0) * 0.01).collect();
            let x = variable(&values);
            let whole = product.call((&x, &Float::from([3.0]))).item().unwrap();
            assert_near(&x.grad(), &values.iter().map(|x| 3.0 * whole / x).collect::<Vec<_>>());
        }
        assert_eq!((mean.stats().recordings, product.stats().recordings), (1, 1));
    });
}

// rows: F045 F094
#[test]
fn variables_are_enabled_inside_of_the_body() {
    let square = Frozen::new(|x: &mut Float| {
        x.enable_grad();
        let y = &*x * &*x;
        y.backward().unwrap();
        y
    });
    let twice = Frozen::new(|x: &mut Float| {
        x.enable_grad();
        x.clear_grad();
        (&*x * 2.0).backward().unwrap();
    });
    on_each_device(|| {
        for is_enabled in [false, true] {
            for values in [[1.0, 2.0], [3.0, 4.0]] {
                let mut x = Float::from(values);
                if is_enabled {
                    x.enable_grad();
                }
                let y = square.call(&mut x);
                assert_eq!(y.to_vec().unwrap(), values.map(|x| x * x));
                assert_eq!(y.grad().to_vec().unwrap(), [0.0, 0.0]);
                assert!(x.grad_enabled());
                assert_eq!(x.grad().to_vec().unwrap(), values.map(|x| 2.0 * x));
                twice.call(&mut x);
                assert_eq!(x.grad().to_vec().unwrap(), [2.0, 2.0]);
            }
        }
    });
}

// rows: F046
#[test]
fn calls_inside_of_suspend_resume_in_the_body() {
    let status = Frozen::new(|x: &mut Float, is_variable: bool| {
        let y = &*x * 3.0;
        ad::resume(|| if is_variable { x.enable_grad() } else { x.disable_grad() });
        y
    });
    on_each_device(|| {
        for is_variable in [true, false, true] {
            for width in [3, 4, 5] {
                let mut x = variable(&numbers(width));
                let y = ad::suspend(|| status.call((&mut x, is_variable)));
                assert!(!y.grad_enabled());
                assert_eq!(x.grad_enabled(), is_variable);
                assert_eq!(x.grad().to_vec().unwrap(), vec![0.0; width]);
                // Not suspended, the same function has another recording.
                let y = status.call((&mut x, true));
                assert_eq!(y.grad_enabled(), is_variable);
            }
        }
    });
}

// rows: F047 F048
#[test]
fn gradients_of_gathers_are_scattered_in_the_body() {
    let scattered = Frozen::new(|table: &Float, index: &UInt, weight: &Float| {
        ad::resume(|| {
            let mut table = table.detach();
            table.enable_grad();
            let y = table.gather(index) * weight;
            y.set_grad(&Float::from(2.0));
            ad::backward_from(&y).unwrap();
            (table.grad(), y.detach())
        })
    });
    on_each_device(|| {
        let table = variable(&[1.0, 2.0, 4.0]);
        for width in 4..10 {
            let weights = numbers(width);
            let index: Vec<u32> = (0..width as u32).map(|lane| lane % 3).collect();
            let mut wanted = [0.0; 3];
            index.iter().zip(&weights).for_each(|(at, weight)| wanted[*at as usize] += 2.0 * weight);
            let weight = Float::from(&weights[..]);
            let (gradient, y) = ad::suspend(|| scattered.call((&table, &UInt::from(&index[..]), &weight)));
            assert_near(&gradient, &wanted);
            assert!(!y.grad_enabled() && !weight.grad_enabled());
        }
    });
}

// rows: F057
#[test]
fn traversals_in_the_body_go_on_behind_arguments() {
    let body = |y: &Float| {
        let loss = (y * y).sum();
        loss.backward().unwrap();
        loss.detach()
    };
    let frozen = Frozen::new(body);
    on_each_device(|| {
        for values in [[1.0, 2.0], [-1.0, 0.5], [3.0, 0.0]] {
            let (x, reference) = (variable(&values), variable(&values));
            frozen.call(&x.sin());
            ad::isolate(|| body(&reference.sin())).unwrap();
            assert_near(&x.grad(), &reference.grad().to_vec().unwrap());
        }
    });
}

// rows: F058
#[test]
fn tangents_flow_in_the_body() {
    let frozen = Frozen::new(|x: &Float| {
        let mut x = x.detach();
        x.enable_grad();
        let y = &x * &x * &x;
        x.forward().unwrap();
        y.grad()
    });
    on_each_device(|| {
        for values in [[1.0, 2.0], [-1.0, 0.5]] {
            assert_eq!(frozen.call(&Float::from(values)).to_vec().unwrap(), values.map(|x| 3.0 * x * x));
        }
    });
}

// rows: F059
#[test]
fn one_of_two_arguments_gets_gradients() {
    let frozen = Frozen::new(|x: &Float, y: &Float| {
        (x * 2.0).sum().backward().unwrap();
        y * 3.0
    });
    on_each_device(|| {
        for _ in 0..3 {
            let p = variable(&[1.0, 2.0]);
            let (x, y) = (&p * 5.0, &p * 7.0);
            let result = frozen.call((&x, &y));
            assert_eq!(p.grad().to_vec().unwrap(), [10.0, 10.0]);
            result.sum().backward().unwrap();
            assert_eq!(p.grad().to_vec().unwrap(), [31.0, 31.0]);
            assert!(y.grad().to_vec().unwrap() == [0.0, 0.0]);
        }
    });
}

// rows: F100
#[test]
fn weights_of_a_network_get_gradients_for_batches_of_several_sizes() {
    #[derive(Clone, Traverse)]
    struct Network {
        hidden: Tensor<f32>,
        output: Tensor<f32>,
    }
    impl Network {
        fn loss(&self, x: &Tensor<f32>) -> Float {
            x.matmul(&self.hidden).tanh().matmul(&self.output).array().square().sum()
        }
    }
    fn network() -> Network {
        let weights = |rows: usize, columns: usize| {
            Tensor::from_array(Float::arange(rows * columns) * 0.01 + 0.02, [rows, columns])
        };
        let mut network = Network { hidden: weights(4, 8), output: weights(8, 2) };
        ad::enable_grad(&mut network);
        network
    }
    let frozen = Frozen::new(|network: &Network, x: &Tensor<f32>| network.loss(x));
    on_each_device(|| {
        for batch in [3, 5, 8] {
            let x = Tensor::from_array(Float::arange(batch * 4) * 0.1, [batch, 4]);
            let (trained, reference) = (network(), network());
            let (loss, wanted) = (frozen.call((&trained, &x)), reference.loss(&x));
            assert_near(&loss, &wanted.to_vec().unwrap());
            loss.backward().unwrap();
            wanted.backward().unwrap();
            let (found, wanted) = (ad::grad_of(&trained), ad::grad_of(&reference));
            assert_near(found.hidden.array(), &wanted.hidden.to_vec().unwrap());
            assert_near(found.output.array(), &wanted.output.to_vec().unwrap());
        }
    });
}

/// A gradient that is stored between calls is an input: one recording without it, one with it.
#[test]
fn a_stored_gradient_costs_one_recording() {
    #[freeze]
    fn adds(x: &Float) {
        (x * x).sum().backward().expect("it depends on the argument");
    }
    on_each_device(|| {
        adds::clear();
        let mut x = Float::from([1.0, 2.0]);
        x.enable_grad();
        for call in 1..6_u8 {
            adds(&x);
            let times = f32::from(call);
            assert_eq!(x.grad().to_vec().unwrap(), [2.0 * times, 4.0 * times]);
        }
        x.clear_grad();
        adds(&x);
        assert_eq!(adds::stats().recordings, 2);
    });
}
