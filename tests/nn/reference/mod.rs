//! Layers and losses, and their derivatives, against the numbers of PyTorch in double precision: `make.py` and
//! `make_layers.py`.

use std::collections::BTreeMap;

use jit::nn::{self, Model, Module, StateDict};
use jit::prelude::*;

use crate::on_each_device;

mod activations;
mod attention;
mod layers;
mod losses;
mod norms;
mod pools;
mod recurrent;

/// An array of a case: its shape and elements.
#[derive(Clone)]
pub(crate) struct Numbers {
    shape: Vec<usize>,
    elements: Vec<f64>,
}

impl Numbers {
    pub(crate) fn tensor(&self) -> Tensor<f64> {
        Tensor::from_array(self.elements.clone(), self.shape.as_slice()).make_opaque()
    }

    pub(crate) fn whole(&self) -> Tensor<i64> {
        let elements: Vec<i64> = self.elements.iter().map(|&x| x as i64).collect();
        Tensor::from_array(elements, self.shape.as_slice()).make_opaque()
    }
}

/// A case: arrays by name.
pub(crate) struct Case {
    name: String,
    arrays: BTreeMap<String, Numbers>,
}

impl Case {
    pub(crate) fn named(name: &str) -> Case {
        let prefix = format!("{name} ");
        let mut arrays = BTreeMap::new();
        let all = [include_str!("cases.txt"), include_str!("layer_cases.txt")];
        for line in all.into_iter().flat_map(str::lines).filter_map(|line| line.strip_prefix(&prefix)) {
            let mut words = line.split(' ').filter(|word| !word.is_empty());
            let (key, shape) = (words.next().unwrap(), words.next().unwrap());
            let shape = shape.split('x').filter(|length| *length != "-").map(|length| length.parse().unwrap());
            let numbers = Numbers { shape: shape.collect(), elements: words.map(|x| x.parse().unwrap()).collect() };
            arrays.insert(key.to_owned(), numbers);
        }
        assert!(!arrays.is_empty(), "there is no case {name}");
        Case { name: name.to_owned(), arrays }
    }

    pub(crate) fn get(&self, name: &str) -> &Numbers {
        self.arrays.get(name).unwrap_or_else(|| panic!("{} has no {name}", self.name))
    }

    /// Asserts that a result is near to an array of the case.
    #[track_caller]
    pub(crate) fn check(&self, name: &str, got: &Tensor<f64>) {
        let wanted = self.get(name);
        assert_eq!(got.shape(), wanted.shape, "{} {name}", self.name);
        for (place, (got, wanted)) in got.to_vec().unwrap().into_iter().zip(&wanted.elements).enumerate() {
            let is_near = (got - wanted).abs() <= 1e-9 * (1.0 + wanted.abs());
            assert!(is_near, "{} {name}, element {place}: {got} instead of {wanted}", self.name);
        }
    }

    /// The state of the module: the arrays with a prefix.
    fn state(&self, prefixes: &[&str]) -> StateDict {
        let mut state = StateDict::default();
        for (name, numbers) in &self.arrays {
            let Some(name) = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)) else { continue };
            match name.ends_with("num_batches_tracked") {
                true => state.insert(name, &numbers.whole()),
                false => state.insert(name, &numbers.tensor()),
            }
        }
        state
    }
}

/// The weight of each result: the sine of its number.
fn weighted(out: &Tensor<f64>) -> Tensor<f64> {
    let weights = Tensor::<f64>::arange(out.sizes().as_slice()).sin();
    (out * weights).sum(..)
}

/// Checks a function of tensors, whose arguments are inputs of the case: the result, derivatives by all of them, and
/// these against central differences.
#[track_caller]
pub(crate) fn check_function(name: &str, inputs: &[&str], function: impl Fn(&[Tensor<f64>]) -> Tensor<f64>) {
    let case = Case::named(name);
    on_each_device(|| {
        let x: Vec<Tensor<f64>> = inputs.iter().map(|input| case.get(input).tensor()).collect();
        case.check("out", &function(&x));
        let loss = |x: &Vec<Tensor<f64>>| weighted(&function(x)).into_array();
        let gradients = jit::ad::grad(loss)(&x).unwrap();
        for (input, gradient) in inputs.iter().zip(&gradients) {
            case.check(&format!("grad.{input}"), gradient);
        }
    });
}

/// Checks a module: result, derivatives by inputs and parameters, and buffers after the call.
#[track_caller]
pub(crate) fn check_module<M, X>(name: &str, module: &M, input: impl Fn(&Case) -> X)
where
    M: Module<X, Output = Tensor<f64>> + Clone,
    X: Traverse + Clone,
{
    let case = Case::named(name);
    on_each_device(|| {
        let mut both = (module.clone(), input(&case));
        both.0.load_state_dict(&case.state(&["param.", "buffer."])).unwrap();
        case.check("out", &both.0.clone().forward(&both.1));
        let (_, gradient) = nn::value_and_grad(&mut both, |(module, x)| weighted(&module.forward(x))).unwrap();
        for (path, _) in jit::leaves(&module.state_dict()) {
            if case.arrays.contains_key(&format!("grad.{path}")) {
                case.check(&format!("grad.{path}"), &gradient.0.state_dict().get(&path).unwrap());
            } else if !path.ends_with("num_batches_tracked") {
                case.check(&format!("after.{path}"), &both.0.state_dict().get(&path).unwrap());
            }
        }
        // By the inputs, with the module as it was.
        let mut module = both.0.clone();
        module.load_state_dict(&case.state(&["param.", "buffer."])).unwrap();
        let loss = |x: &X| weighted(&module.clone().forward(x)).into_array();
        let gradients = jit::ad::grad(loss)(&input(&case)).unwrap();
        let gradients = StateDict::checkpoint(&gradients);
        for (position, name) in gradients.names().enumerate() {
            let wanted = format!("grad.x{position}");
            // Inputs of integers have no gradients.
            match gradients.get(name) {
                Ok(gradient) => case.check(&wanted, &gradient),
                Err(_) => assert!(!case.arrays.contains_key(&wanted)),
            }
        }
    });
}

/// Checks a module with one input.
#[track_caller]
pub(crate) fn check_layer<M: Module<Tensor<f64>, Output = Tensor<f64>> + Clone>(name: &str, module: &M) {
    check_module(name, module, |case| case.get("x0").tensor());
}
