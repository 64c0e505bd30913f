//! A module of Python with the four-quadrant arctangent and its derivatives, for `atan2.py`, which makes a function of
//! PyTorch of them. Tensors come and go as capsules of DLPack: elements in aligned memory are read in place, results
//! are lent without a copy.

mod capsule;

use jit::Element;
use jit::ad;
use jit::interop::dlpack::{self, ManagedTensor, Transfer};
use jit::prelude::*;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The element types of this function.
trait Real: Element {
    fn angle(y: &Tensor<Self>, x: &Tensor<Self>) -> Tensor<Self>;
    fn slopes(inputs: &Pair<Self>, gradient: &Tensor<Self>) -> Pair<Self>;
}

type Pair<T> = (Tensor<T>, Tensor<T>);

/// Implements the functions for a type of elements. They are frozen: later calls trace nothing and launch one kernel.
macro_rules! real {
    ($element:ty, $angle:ident, $slopes:ident) => {
        #[freeze]
        fn $angle(y: &Tensor<$element>, x: &Tensor<$element>) -> Tensor<$element> {
            y.atan2(x)
        }

        #[freeze]
        fn $slopes(inputs: &Pair<$element>, gradient: &Tensor<$element>) -> Pair<$element> {
            let (_, pull_back) =
                ad::vjp(|(y, x): &Pair<$element>| y.atan2(x), inputs).expect("the arctangent has a derivative");
            pull_back(gradient).expect("the gradient has the shape of the result")
        }

        impl Real for $element {
            fn angle(y: &Tensor<Self>, x: &Tensor<Self>) -> Tensor<Self> {
                $angle(y, x)
            }

            fn slopes(inputs: &Pair<Self>, gradient: &Tensor<Self>) -> Pair<Self> {
                $slopes(inputs, gradient)
            }
        }
    };
}

real!(f32, angle_f32, slopes_f32);
real!(f64, angle_f64, slopes_f64);

/// Refuses what the function cannot compute, as an exception of Python: the same for all errors of the library.
fn refused(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn import<T: Element>(tensor: ManagedTensor) -> PyResult<Tensor<T>> {
    Ok(dlpack::import(tensor).map_err(refused)?.0)
}

fn export<'py, T: Element>(py: Python<'py>, tensor: &Tensor<T>) -> PyResult<Bound<'py, PyCapsule>> {
    capsule::give(py, dlpack::export(tensor).map_err(refused)?)
}

fn angle<'py, T: Real>(py: Python<'py>, y: ManagedTensor, x: ManagedTensor) -> PyResult<Bound<'py, PyCapsule>> {
    export(py, &T::angle(&import(y)?, &import(x)?))
}

type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

fn slopes<'py, T: Real>(
    py: Python<'py>,
    y: ManagedTensor,
    x: ManagedTensor,
    gradient: ManagedTensor,
) -> PyResult<Capsules<'py>> {
    let (of_y, of_x) = T::slopes(&(import(y)?, import(x)?), &import(gradient)?);
    Ok((export(py, &of_y)?, export(py, &of_x)?))
}

fn other_type(tensor: &ManagedTensor) -> PyErr {
    refused(format!("atan2 takes tensors of float32 or float64, and got one of {}: convert it before", tensor.dtype()))
}

/// Returns the angles of the points `(x, y)`, in radians. Both tensors have elements of one type, `float32` or
/// `float64`, and shapes that broadcast.
#[pyfunction]
fn forward<'py>(y: &Bound<'py, PyCapsule>, x: &Bound<'py, PyCapsule>) -> PyResult<Bound<'py, PyCapsule>> {
    let (py, y, x) = (y.py(), capsule::take(y)?, capsule::take(x)?);
    match y.dtype().to_string().as_str() {
        "f32" => angle::<f32>(py, y, x),
        "f64" => angle::<f64>(py, y, x),
        _ => Err(other_type(&y)),
    }
}

/// Returns the gradients of `y` and `x` for a gradient of the angles.
#[pyfunction]
fn backward<'py>(
    y: &Bound<'py, PyCapsule>,
    x: &Bound<'py, PyCapsule>,
    gradient: &Bound<'py, PyCapsule>,
) -> PyResult<Capsules<'py>> {
    let (py, y, x, gradient) = (y.py(), capsule::take(y)?, capsule::take(x)?, capsule::take(gradient)?);
    match y.dtype().to_string().as_str() {
        "f32" => slopes::<f32>(py, y, x, gradient),
        "f64" => slopes::<f64>(py, y, x, gradient),
        _ => Err(other_type(&y)),
    }
}

/// Returns whether the library reads a tensor of `float32` where it is, and if not, why it copies it.
#[pyfunction]
fn transfer(tensor: &Bound<'_, PyCapsule>) -> PyResult<String> {
    let (_, transfer): (Tensor<f32>, Transfer) = dlpack::import(capsule::take(tensor)?).map_err(refused)?;
    Ok(transfer.to_string())
}

/// Returns how often the functions were recorded so far.
#[pyfunction]
fn recordings() -> u64 {
    let all = [angle_f32::stats(), angle_f64::stats(), slopes_f32::stats(), slopes_f64::stats()];
    all.iter().map(|stats| stats.recordings).sum()
}

#[pymodule]
fn jit_torch(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(forward, module)?)?;
    module.add_function(wrap_pyfunction!(backward, module)?)?;
    module.add_function(wrap_pyfunction!(transfer, module)?)?;
    module.add_function(wrap_pyfunction!(recordings, module)?)
}
