//! Traced modules in files: another program replays what was recorded, and `forward` does not run.

use jit::nn::{self, BatchNorm1d, Dropout, Linear, Model, Module, Parameter, Relu, Traced};
use jit::prelude::*;

use crate::file::File;
use crate::on_each_device;

type Net = (Linear, BatchNorm1d, Relu, Dropout, Linear);

fn net(seed: u64) -> Net {
    let mut rng = jit::random::rng(seed);
    let dropout = Dropout::new(0.5, &mut rng);
    (Linear::new(3, 8, &mut rng), BatchNorm1d::new(8), Relu, dropout, Linear::new(8, 1, &mut rng))
}

fn rows(count: usize) -> Tensor<f32> {
    Tensor::linspace(-1.0f32, 1.0, 3 * count).reshape([count, 3])
}

// rows: O38
#[test]
fn modes_of_a_traced_module_are_loaded_and_its_buffers_advance() {
    on_each_device(|| {
        let file = File::new("modes");
        let mut traced = jit::trace(net(1), &rows(32)).unwrap();
        traced.forward(&rows(32));
        // A recording through which gradients flow is left out.
        nn::value_and_grad(&mut traced, |net| net.forward(&rows(32)).square().mean(..)).unwrap();
        traced.eval();
        traced.forward(&rows(7));
        traced.save::<Tensor<f32>>(&file).unwrap();

        let mut loaded = Traced::load::<Tensor<f32>>(net(2), &file).unwrap();
        loaded.load_state_dict(&traced.state_dict()).unwrap();
        loaded.eval();
        for count in [2, 7, 50] {
            let wanted = traced.infer(&rows(count)).to_vec().unwrap();
            assert_eq!(loaded.forward(&rows(count)).to_vec().unwrap(), wanted);
        }
        loaded.train();
        let mean = |net: &Traced<Net>| net.state_dict().get::<f32>("1.running_mean").unwrap().to_vec().unwrap();
        let before = mean(&loaded);
        let [first, second] = [0, 1].map(|_| loaded.forward(&rows(40)).to_vec().unwrap());
        assert_ne!(first, second, "the generator of the dropout has not advanced");
        assert_ne!(mean(&loaded), before, "the running mean has not advanced");
        assert_eq!((loaded.stats().recordings, loaded.stats().replays), (0, 5), "{}", loaded.explain());
        // Another signature is recorded, as ever.
        loaded.eval();
        loaded.forward(&rows(1));
        assert_eq!(loaded.stats().recordings, 1);
    });
}

/// Counts its calls by a host value.
#[derive(Clone, Traverse)]
struct Counter {
    factor: Parameter,
    calls: u32,
}

impl Module for Counter {
    type Output = Tensor<f32>;

    fn forward(&mut self, x: &Tensor<f32>) -> Tensor<f32> {
        self.calls += 1;
        x * &*self.factor
    }
}

#[test]
fn files_of_other_modules_and_host_values_that_change_are_refused() {
    on_each_device(|| {
        let file = File::new("refused");
        let counter = Counter { factor: Parameter::new(Tensor::from([2.0f32])), calls: 0 };
        let traced = jit::trace(counter, &rows(4)).unwrap();
        let refused = traced.save::<Tensor<f32>>(&file).unwrap_err().to_string();
        assert!(refused.contains("it changes lengths, variants or numbers in its arguments"), "{refused}");
        let refused = Traced::load::<Tensor<f32>>(net(1), &file).map(drop).unwrap_err().to_string();
        assert!(refused.contains("cannot be read"), "{refused}");
        let linear = jit::trace(Linear::<f32>::new(3, 2, &mut jit::random::rng(1)), &rows(4)).unwrap();
        linear.save::<Tensor<f32>>(&file).unwrap();
        let refused = Traced::load::<Tensor<f32>>(net(1), &file).map(drop).unwrap_err().to_string();
        assert!(refused.contains("was `&mut Linear"), "{refused}");
        linear.clear();
        let refused = linear.save::<Tensor<f32>>(&file).unwrap_err().to_string();
        assert!(refused.contains("it has no recordings"), "{refused}");
    });
}
