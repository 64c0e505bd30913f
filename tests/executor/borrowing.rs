//! Executors of functions whose arguments consist of references: `Option<&T>`, tuples and arrays of references.

use std::slice;

use jit::FloatElement;
use jit::prelude::*;

use crate::file::File;
use crate::on_each_device;

#[jit]
fn shifted(x: &Float, bias: Option<&Float>) -> Float {
    bias.map_or_else(|| x * 2.0, |bias| x * 2.0 + bias)
}

#[jit]
fn combined<'a>(
    scales: [&Float; 2],
    (x, state): (&'a Float, Option<&'a [Float]>),
    #[constexpr] twice: bool,
) -> Vec<Float> {
    let y = x * scales[0] + scales[1];
    let y = if twice { &y * 2.0 } else { y };
    state.unwrap_or_default().iter().map(|part| part + &y).chain([y.clone()]).collect()
}

trait Model: Traverse + Clone {
    fn of(&self, x: &Float) -> Float;
}

#[jit]
fn of_all<M: Model>(models: [Option<&M>; 2], x: &Float) -> Float {
    models.into_iter().flatten().fold(x.clone(), |x, model| model.of(&x))
}

#[derive(Clone, Traverse)]
struct Layer {
    weight: Float,
}

#[jit]
impl Layer {
    fn apply<T: FloatElement>(&self, x: &Array<T>, residual: Option<&Array<T>>) -> Array<T> {
        let y = x * self.weight.cast::<T>();
        residual.map_or(y.clone(), |residual| y + residual)
    }
}

impl Model for Layer {
    fn of(&self, x: &Float) -> Float {
        x * &self.weight + 1.0
    }
}

fn error<T>(result: jit::Result<T>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn an_optional_reference_is_there_or_not_as_in_the_compilation() {
    on_each_device(|| {
        let (x, bias) = (Float::from([1.0, 2.0, 3.0]), Float::from([0.5, 0.25, 0.0]));
        let without = shifted::compile(&Float::placeholder(2), None)?;
        let with = shifted::compile(&Float::placeholder(2), Some(&Float::placeholder(2)))?;
        assert_eq!(without.call(&x, None)?.to_vec()?, [2.0, 4.0, 6.0]);
        assert_eq!(with.call(&x, Some(&bias))?.to_vec()?, [2.5, 4.25, 6.0]);
        let (missing, another) = (error(with.call(&x, None)), error(without.call(&x, Some(&bias))));
        assert!(missing.contains("`bias`") && missing.contains("borrowing.rs"), "{missing}");
        assert!(another.contains("`bias`") && another.contains("None"), "{another}");
        let wider = error(with.call(&x, Some(&Float::from([1.0; 5]))));
        assert!(wider.contains("bias"), "{wider}");
        Ok(())
    });
}

#[test]
fn tuples_and_arrays_of_references_are_arguments() {
    on_each_device(|| {
        let of = |values: [f32; 2]| Float::from(values);
        let (a, b, x, state) = (of([2.0, 3.0]), of([1.0, 1.0]), of([4.0, 5.0]), of([10.0, 20.0]));
        for twice in [false, true] {
            let exe = combined::compile([&a, &b], (&x, Some(slice::from_ref(&state))), twice)?;
            for (x, state) in [(&x, &state), (&a, &b)] {
                let state = slice::from_ref(state);
                let read = |all: Vec<Float>| all.iter().map(Array::to_vec).collect::<jit::Result<Vec<_>>>();
                let wanted = read(combined([&b, &a], (x, Some(state)), twice))?;
                assert_eq!(read(exe.call([&b, &a], (x, Some(state)))?)?, wanted);
            }
        }
        Ok(())
    });
}

#[test]
fn methods_and_generic_functions_take_optional_references() {
    on_each_device(|| {
        let layer = Layer { weight: Float::from([2.0, 3.0]) };
        let x = Float64::from([1.0, 2.0]);
        let exe = Layer::apply_compile::<f64>(&layer, &x, Some(&x))?;
        assert_eq!(exe.call(&layer, &x, Some(&x))?.to_vec()?, [3.0, 8.0]);
        let (x, another) = (Float::from([1.0, 2.0]), Layer { weight: Float::from([0.5, 1.5]) });
        let exe = of_all::compile([Some(&layer), None], &Float::placeholder(2))?;
        assert_eq!(exe.call([Some(&another), None], &x)?.to_vec()?, [1.5, 4.0]);
        Ok(())
    });
}

#[test]
fn gradients_flow_to_optional_arguments() {
    on_each_device(|| {
        let exe = shifted::compile(&Float::placeholder(2), Some(&Float::placeholder(2)))?;
        let (mut x, mut bias) = (Float::from([1.0, 2.0]), Float::from([3.0, 4.0]));
        x.enable_grad();
        bias.enable_grad();
        for _ in 0..2 {
            let y = exe.call(&x, Some(&bias))?;
            (&y * &y).sum().backward()?;
        }
        assert_eq!(x.grad().to_vec()?, [40.0, 64.0]);
        assert_eq!(bias.grad().to_vec()?, [20.0, 32.0]);
        Ok(())
    });
}

#[test]
fn a_saved_executor_takes_optional_references() {
    on_each_device(|| {
        let file = File::new("shifted");
        shifted::compile(&Float::placeholder(2), Some(&Float::placeholder(2)))?.save(&file)?;
        let loaded = shifted::load(&file)?;
        let (x, bias) = (Float::from([1.0, 2.0, 3.0]), Float::from([0.5, 0.25, 0.0]));
        assert_eq!(loaded.call(&x, Some(&bias))?.to_vec()?, [2.5, 4.25, 6.0]);
        Ok(())
    });
}
