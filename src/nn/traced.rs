//! Traced modules: `forward` runs once for each kind of input, and calls replay what it recorded.

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

use jit_core::freeze::{
    Changed, CollectArrays, Exclusive, FrozenInput, Recordable, Shared, TracedFunction, after_direct, instance, lend,
};

use super::Module;
use crate::freeze::{Explanation, Stats};
use crate::{Build, Result, Site, Traverse, Visitor, VisitorMut};

/// A module whose `forward` was recorded: the result of [`jit::trace`](crate::trace()).
///
/// It is used like the module itself, which it dereferences to: its fields and methods are there, optimisers, states
/// and [`Model`](super::Model) see its parameters, and other modules may contain it. Only [`Module::forward`], and
/// [`Module::infer`] with it, are different: they run no Rust code of the module, but replay a recording.
///
/// ```
/// use jit::nn::{Linear, Model, Module, Parameter, Relu};
/// use jit::prelude::*;
///
/// let mut rng = jit::random::rng(1);
/// let net = (Linear::new(4, 8, &mut rng), Relu, Linear::new(8, 2, &mut rng));
/// let mut traced = jit::trace(net, &Tensor::<f32>::zeros([16, 4]))?; // runs `forward`, launches nothing
/// for batch in [16, 50, 100] {
///     assert_eq!(traced.forward(&Tensor::ones([batch, 4])).shape(), [batch, 2]);
/// }
/// assert_eq!((traced.stats().recordings, traced.stats().replays), (1, 3));
///
/// traced.2.bias = Some(Parameter::new(Tensor::from([10.0f32, 20.0]))); // seen by the next call
/// let y = traced.forward(&Tensor::zeros([1, 4])); // a batch of 1 is another signature
/// assert_eq!((y.shape().to_vec(), traced.stats().recordings), (vec![1, 2], 2));
/// println!("{}", traced.explain());
/// # Ok::<(), jit::Error>(())
/// ```
///
/// # The signature
///
/// `forward` runs once for each signature, which consists of
///
/// - the structure of module and input: lengths of lists, variants, texts, element types, numbers of axes;
/// - host values in them: plain numbers, [`Mode`](super::Mode), so training and evaluation are two signatures;
/// - which arrays carry gradients, and whether gradients are suspended;
/// - the device, and fast math;
/// - what `forward` decided by a size, such as `x.shape()[0] > 100`, and whether a width is 0, 1, or more.
///
/// The contents of arrays and their other widths are none of it. A call with a new signature runs `forward` once more,
/// and so does the first derivative of one; [`Traced::explain`] lists the causes.
///
/// # What calls do
///
/// Parameters are inputs of each call, so a step of an optimiser is seen. Arrays that `forward` replaces, such as
/// running statistics and generators of random numbers, advance in each call, and so do host values. Results are
/// evaluated. Gradients flow through calls as through those of frozen functions. In a frozen function or a traced loop,
/// a call is part of that recording: `forward` runs there.
///
/// While `forward` is recorded, arrays have no contents. Printing one shows its type, shape, operation and line, and
/// evaluates nothing; reading one is an error. An array that is neither part of the module nor of its input is an
/// error, too, since later calls would not see that it has changed.
///
/// Clones share recordings. They are freed with the last clone.
pub struct Traced<M> {
    module: M,
    function: Arc<TracedFunction>,
}

/// Traces a module: runs its `forward` on an example of an input, and records and compiles it. Nothing is launched, and
/// the module stays as it is. Only types, shapes and host values of the example matter, so its tensors may be
/// placeholders.
///
/// ```
/// use jit::nn::{BatchNorm1d, Linear, Model, Module};
/// use jit::prelude::*;
///
/// let net = (Linear::new(3, 4, &mut jit::random::rng(1)), BatchNorm1d::new(4));
/// let mut traced = jit::trace(net, &Tensor::<f32>::zeros([32, 3]))?;
/// let x = Tensor::<f32>::arange(96).reshape([32, 3]);
/// traced.forward(&x);
/// let statistics = traced.state_dict();
/// assert_ne!(statistics.get::<f32>("1.running_mean").unwrap().to_vec()?, [0.0; 4]); // a replay has advanced it
/// # Ok::<(), jit::Error>(())
/// ```
///
/// # Errors
///
/// When `forward` does something that cannot be replayed: it reads contents, or has lanes print. When a kernel cannot
/// be compiled. In a frozen function, a `freeze::host` call or a traced region.
///
/// # Panics
///
/// When `forward` panics; so does an operation in it whose result has a width that depends on contents, such as
/// `filter`, or that reads an array which is neither part of the module nor of the input.
#[track_caller]
pub fn trace<X, M>(module: M, example: &X) -> Result<Traced<M>>
where
    X: FrozenInput + 'static,
    M: Module<X, Output: Recordable> + Recordable,
{
    let _line = crate::enter();
    let traced = Traced { module, function: Arc::new(TracedFunction::new(type_name::<M>(), &PARAMETERS)) };
    // The body does not touch the caller's module, which is copied for it.
    let mut copy = traced.module.clone();
    traced.function.record(&(Exclusive(&mut copy), Shared(example)), body::<X, M>)?;
    Ok(traced)
}

/// The names of the arguments.
const PARAMETERS: [&str; 2] = ["module", "input"];

/// The body that is recorded: `forward` on copies of module and input.
fn body<X, M>((module, input): &mut (M, X::Owned)) -> M::Output
where
    X: FrozenInput + 'static,
    M: Module<X>,
{
    module.forward(lend(input, PhantomData::<fn(&X)>))
}

impl<M> Traced<M> {
    /// Computes the output for an input, as [`Module::forward`] does, which panics where this returns an error.
    ///
    /// # Errors
    ///
    /// When the signature is new and `forward` cannot be recorded, or when a launch fails. The module is then
    /// unchanged.
    #[track_caller]
    pub fn call<X>(&mut self, input: &X) -> Result<M::Output>
    where
        X: FrozenInput + 'static,
        M: Module<X, Output: Recordable> + Recordable,
    {
        let _line = crate::enter();
        let arguments = (Exclusive(&mut self.module), Shared(input));
        match self.function.call(arguments, body::<X, M>)? {
            Some(output) => Ok(output),
            None => Ok(self.run(input)),
        }
    }

    /// Runs `forward` as it is written: within another recording, or if recordings are switched off.
    #[track_caller]
    fn run<X>(&mut self, input: &X) -> M::Output
    where
        M: Module<X, Output: Recordable> + Recordable,
    {
        let output = self.module.forward(input);
        after_direct(|vars| {
            Changed(&self.module).collect(vars);
            Changed(&output).collect(vars);
        });
        output
    }

    /// Writes the recordings of `forward` for inputs of a type to a file. The parameters are inputs of a recording, and
    /// not in the file: save them as a [`StateDict`](super::StateDict). Recordings through which gradients flow are
    /// left out.
    ///
    /// ```
    /// use jit::nn::{Linear, Model, Module, Relu, Traced};
    /// use jit::prelude::*;
    ///
    /// let net = |seed| (Linear::new(4, 8, &mut jit::random::rng(seed)), Relu);
    /// let path = std::env::temp_dir().join(format!("net-{}.jit", std::process::id()));
    /// let mut traced = jit::trace(net(1), &Tensor::<f32>::zeros([16, 4]))?;
    /// traced.save::<Tensor<f32>>(&path)?;
    ///
    /// // In another program:
    /// let mut loaded = Traced::load::<Tensor<f32>>(net(2), &path)?;
    /// loaded.load_state_dict(&traced.state_dict())?;
    /// let x = Tensor::<f32>::ones([100, 4]);
    /// assert_eq!(loaded.forward(&x).to_vec()?, traced.forward(&x).to_vec()?);
    /// assert_eq!(loaded.stats().recordings, 0); // `forward` did not run
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// No recordings for such inputs; one that calls the host, with the line; one that changes lengths, variants or
    /// numbers in the module; a failure of the file system.
    #[track_caller]
    pub fn save<X>(&self, path: impl AsRef<Path>) -> Result<()>
    where
        X: FrozenInput + 'static,
        M: Module<X, Output: Recordable> + Recordable,
    {
        self.function.save::<fn(&mut M, &X) -> M::Output>(instance(&body::<X, M>), path.as_ref())
    }

    /// Reads what [`save`](Traced::save) has written, for a module of the same type: calls replay the recordings of the
    /// file. A call that none of them fits is recorded, as a new signature is. Machine code in the file is run, so
    /// whoever could write it is trusted, as with a shared library.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or that is foreign, too new, damaged, or of another module.
    #[track_caller]
    pub fn load<X>(module: M, path: impl AsRef<Path>) -> Result<Traced<M>>
    where
        X: FrozenInput + 'static,
        M: Module<X, Output: Recordable + Build> + Recordable,
    {
        let traced = Traced { module, function: Arc::new(TracedFunction::new(type_name::<M>(), &PARAMETERS)) };
        traced.function.load::<fn(&mut M, &X) -> M::Output, M::Output>(instance(&body::<X, M>), path.as_ref())?;
        Ok(traced)
    }

    /// Returns the module, without its recordings.
    pub fn into_inner(self) -> M {
        self.module
    }

    /// Returns the kernels of all recordings in kernel IR: as they were scheduled, and as they were compiled.
    #[must_use]
    pub fn ir(&self) -> String {
        self.function.ir()
    }

    /// Returns the counters: `recordings` is how often `forward` ran for a new signature.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.function.stats()
    }

    /// Returns the cause of each recording, oldest first.
    #[must_use]
    pub fn explain(&self) -> Explanation {
        self.function.explain()
    }

    /// Discards all recordings and counters; the next call runs `forward` again.
    pub fn clear(&self) {
        self.function.clear();
    }

    /// Returns the line that traced the module.
    #[must_use]
    pub fn site(&self) -> Site {
        self.function.site()
    }
}

impl<M> Deref for Traced<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.module
    }
}

impl<M> DerefMut for Traced<M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.module
    }
}

impl<M: Clone> Clone for Traced<M> {
    fn clone(&self) -> Self {
        Traced { module: self.module.clone(), function: Arc::clone(&self.function) }
    }
}

impl<M> fmt::Debug for Traced<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traced").field("module", &type_name::<M>()).field("stats", &self.stats()).finish()
    }
}

impl<M: Traverse> Traverse for Traced<M> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        self.module.traverse(visitor);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        self.module.traverse_mut(visitor);
    }
}

impl<X, M> Module<X> for Traced<M>
where
    X: FrozenInput + 'static,
    M: Module<X, Output: Recordable> + Recordable,
{
    type Output = M::Output;

    #[track_caller]
    fn forward(&mut self, input: &X) -> M::Output {
        let site = Site::here();
        self.call(input).unwrap_or_else(|error| jit_core::misuse::panic_at(error.site().unwrap_or(site), error))
    }
}
