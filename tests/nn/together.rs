//! Layers of all kinds in one network: in a `#[jit]` function, and trained by a frozen step for several batches.

use jit::nn::*;
use jit::prelude::*;
use jit::random::rng;

use crate::on_each_device;

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
