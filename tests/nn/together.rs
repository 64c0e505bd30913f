//! Layers of all kinds in one network: in a `#[jit]` function, and trained by a frozen step for several batches.

use jit::nn::*;
use jit::prelude::*;
use jit::random::rng;

use crate::{assert_refused, on_each_device};

type Pictures = (Conv2d, GroupNorm, MaxPool2d, ConvTransposed2d, InstanceNorm2d, AdaptiveAvgPool2d);
type Rows = (LayerNorm, MultiHeadAttention, RmsNorm, Lstm);

#[derive(Clone, Traverse)]
struct Net {
    pictures: Pictures,
    rows: Rows,
}

impl Module for Net {
    type Output = Tensor<f32>;

    fn forward(&mut self, x: &Tensor<f32>) -> Tensor<f32> {
        let y = self.pictures.forward(x);
        self.rows.forward(&y.reshape([y.size(0), y.size(1), y.size(2) * y.size(3)]))
    }
}

fn net() -> Net {
    let mut rng = rng(1);
    let (first, back) = (Conv2d::new(1, 4, [3, 3], &mut rng), ConvTransposed2d::new(4, 3, [2, 2], &mut rng));
    let (norm, pool) = (InstanceNorm2d::new(3).with_affine(), AdaptiveAvgPool2d::new([2, 2]));
    let pictures = (first, GroupNorm::new(2, 4), MaxPool2d::new([2, 2]), back, norm, pool);
    let attention = MultiHeadAttention::new(4, 2, &mut rng);
    Net { pictures, rows: (LayerNorm::new(4), attention, RmsNorm::new(4), Lstm::new(4, 2, &mut rng)) }
}

fn pictures(batch: usize) -> Tensor<f32> {
    Tensor::from_array((Float::arange(batch * 64) * 0.7).sin(), [batch, 1, 8, 8]).make_opaque()
}

#[jit]
fn apply(net: &mut Net, x: &Tensor<f32>, is_doubled: Mask) -> Tensor<f32> {
    let y = net.forward(x);
    let mut factor = Float::from(1.0);
    if is_doubled {
        factor = Float::from(2.0);
    }
    y * factor
}

#[test]
fn layers_are_called_in_jit_functions() {
    on_each_device(|| {
        let wanted: Vec<f32> = net().infer(&pictures(3)).to_vec().unwrap().into_iter().map(|y| y * 2.0).collect();
        let got = apply(&mut net(), &pictures(3), Mask::opaque(true));
        assert_eq!(got.to_vec().unwrap(), wanted);
    });
}

fn step(net: &mut Net, x: &Tensor<f32>) -> (Tensor<f32>, Net) {
    value_and_grad(net, |net| net.forward(x).map(|y| y.square()).mean(..)).unwrap()
}

#[test]
fn a_frozen_step_has_the_derivatives_of_all_layers_for_all_batches() {
    #[freeze]
    fn frozen(net: &mut Net, x: &Tensor<f32>) -> (Tensor<f32>, Net) {
        step(net, x)
    }
    on_each_device(|| {
        frozen::clear();
        let mut net = net();
        for batch in [2, 5, 3] {
            let (got, wanted) = (frozen(&mut net, &pictures(batch)), step(&mut net.clone(), &pictures(batch)));
            assert_eq!(got.0.item().unwrap(), wanted.0.item().unwrap());
            let (got, wanted) = (got.1.state_dict(), wanted.1.state_dict());
            for name in wanted.names() {
                let of = |state: &StateDict| state.get::<f32>(name).unwrap().to_vec().unwrap();
                assert_eq!(of(&got), of(&wanted), "{name}");
            }
            assert!(wanted.get::<f32>("pictures.0.weight").unwrap().to_vec().unwrap().iter().any(|x| *x != 0.0));
        }
        assert_eq!(frozen::stats().recordings, 1, "{}", frozen::explain());
    });
}

#[test]
fn no_gradients_flow_through_inference() {
    on_each_device(|| {
        let (x, mut line) = (Tensor::<f32>::ones([4, 3]), Linear::new(3, 2, &mut rng(1)));
        let difference = |line: &mut Linear| line.forward(&x).sum(..) - line.infer(&x).sum(..) * 2.0;
        let (_, gradient) = value_and_grad(&mut line, difference).unwrap();
        assert_eq!(gradient.weight.to_vec().unwrap(), [4.0; 6]);
        let inferred = value_and_grad(&mut line, |line| line.infer(&x).sum(..));
        assert!(inferred.unwrap_err().message().contains("does not depend on a variable"));
        let copied = value_and_grad(&mut line, |line| jit::ad::detach(line).forward(&x).sum(..));
        assert!(copied.is_err());
    });
}

#[test]
fn parameters_are_constants_after_an_error_and_after_a_panic() {
    let mut line = Linear::new(3, 2, &mut rng(1));
    let x = Tensor::<f32>::ones([4, 3]);
    let failed = value_and_grad(&mut line, |line| line.forward(&x).sum(..).detach());
    assert!(failed.is_err() && !line.weight.grad_enabled());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = value_and_grad(&mut line, |line| -> Tensor<f32> { panic!("{:?}", line.forward(&x).sizes()) });
    }));
    assert!(panicked.is_err() && !line.weight.grad_enabled());
}

#[test]
fn smooth_functions_have_their_derivative_at_zero() {
    type Function = fn(&Tensor<f64>) -> Tensor<f64>;
    let one = || Tensor::from([1.0_f64]);
    let functions: [(Function, f64); 8] = [
        (|x| silu(x), 0.5),
        (|x| softplus(x, 2.0), 0.5),
        (|x| mish(x), 0.6),
        (|x| gelu(x), 0.5),
        (|x| gelu_tanh(x), 0.5),
        (|x| elu(x, 1.0), 1.0),
        (|x| x.sigmoid(), 0.25),
        (|x| x.tanh(), 1.0),
    ];
    on_each_device(|| {
        for (number, (function, wanted)) in functions.into_iter().enumerate() {
            let slope = jit::ad::grad(|x: &Tensor<f64>| function(x).sum(..))(&Tensor::from([0.0])).unwrap();
            assert!((slope.item().unwrap() - wanted).abs() < 1e-12, "{number}: {slope}");
        }
        let slope = jit::ad::grad(|x: &Tensor<f64>| bce_with_logits_loss(x, &one()))(&Tensor::from([0.0])).unwrap();
        assert_eq!(slope.item().unwrap(), -0.5);
    });
}

#[test]
fn activations_keep_what_is_not_a_number_and_do_not_overflow() {
    on_each_device(|| {
        let x = Tensor::from([f32::NEG_INFINITY, -0.0, f32::INFINITY, f32::NAN]);
        let of = |y: Tensor<f32>| format!("{:?}", y.to_vec().unwrap());
        assert_eq!(of(relu(&x)), "[0.0, 0.0, inf, NaN]");
        assert_eq!(of(softplus(&x, 1.0)), "[0.0, 0.6931472, inf, NaN]");
        assert_eq!(of(x.sigmoid()), "[0.0, 0.5, 1.0, NaN]");
    });
}

#[test]
fn a_dropout_of_no_probability_is_refused() {
    for probability in [1.5, -1.0, f64::NAN] {
        assert_refused(|| drop(Dropout::new(probability, &mut rng(1))), "a probability from 0 to 1, not");
    }
    assert_eq!(Dropout::new(1.0, &mut rng(1)).forward(&Tensor::<f32>::ones([3])).to_vec().unwrap(), [0.0; 3]);
}

#[test]
fn numbers_of_rows_with_64_bits_are_not_cut() {
    on_each_device(|| {
        let far = [1_i64, (1 << 32) + 1, -1];
        let mut table: Embedding = Embedding::new(3, 2, &mut rng(1));
        let rows = table.forward(&Tensor::from(far)).to_vec().unwrap();
        assert_eq!(rows[..2], table.weight.to_vec().unwrap()[2..4]);
        assert_eq!(rows[2..], [0.0; 4]);
        let unsigned = table.forward(&Tensor::from([(1_u64 << 32) + 1])).to_vec().unwrap();
        assert_eq!(unsigned, [0.0; 2]);
    });
}

type Small = (Linear<f64>, Tanh, Linear<f64>);

#[test]
fn a_checkpoint_of_a_module_trains_it() {
    on_each_device(|| {
        let mut rng = rng(2);
        let mut net: Small = (Linear::new(2, 3, &mut rng), Tanh, Linear::new(3, 1, &mut rng));
        let x = Tensor::linspace(-1.0, 1.0, 6).reshape([3, 2]);
        let (_, wanted) = value_and_grad(&mut net, |net| net.forward(&x).square().sum(..)).unwrap();
        let kept = |net: &mut Small| {
            let net = net.clone();
            jit::ad::checkpoint(move |x: &Tensor<f64>| net.clone().forward(x), &x).square().sum(..)
        };
        let (_, gradient) = value_and_grad(&mut net, kept).unwrap();
        assert_eq!(gradient.0.weight.to_vec().unwrap(), wanted.0.weight.to_vec().unwrap());
        assert_eq!(gradient.2.bias.unwrap().to_vec().unwrap(), wanted.2.bias.unwrap().to_vec().unwrap());
    });
}
