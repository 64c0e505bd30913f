//! What a program needs to call an executor of whose function it has only the file: for the generator of bundles.
//!
//! The generated function stands in for the one that `f::load` would have: it passes each argument in the form that the
//! recording knows, and computes the number expressions that are combined with arrays from its parameters.

use jit_runtime::Error;
use jit_runtime::recording::file::CodeMaker;

use super::Executor;
use crate::freeze::full_types_of;

/// A function as its callers see it, and its file.
#[derive(Debug)]
pub struct Shipped {
    /// The name of the function.
    pub name: &'static str,
    /// Its parameters, without `#[constexpr]` ones.
    pub parameters: Vec<ShippedParameter>,
    /// The type of the result, with the modules in which its parts are defined.
    pub result: String,
    /// Number expressions over the parameters, which are further arguments.
    pub lifted: Vec<&'static str>,
    /// The names and values of `#[constexpr]` parameters.
    pub constexprs: Vec<(&'static str, String)>,
    /// The file.
    pub bytes: Vec<u8>,
}

/// A parameter of a [`Shipped`] function.
#[derive(Debug)]
pub struct ShippedParameter {
    /// Its name, or its pattern.
    pub name: &'static str,
    /// Its type, as that of the result.
    pub ty: String,
    /// Whether it is a plain number that may change from call to call.
    pub is_number: bool,
}

impl<F> Executor<F> {
    /// Returns the function with its file, which has the code of a maker.
    ///
    /// # Errors
    ///
    /// As [`Executor::save`].
    #[doc(hidden)]
    pub fn shipped(&self, maker: &mut CodeMaker) -> Result<Shipped, Error> {
        let (program, (types, result)) = (&*self.program, full_types_of::<F>());
        let (own, lifted) = program.parameters().split_at(program.parameters().len() - program.lifted());
        let parameter = |(&name, ty)| ShippedParameter { name, ty, is_number: program.is_number(name) };
        Ok(Shipped {
            name: program.name(),
            parameters: own.iter().zip(types).map(parameter).collect(),
            result,
            lifted: lifted.to_vec(),
            constexprs: self.constexprs().to_vec(),
            bytes: program.to_bytes::<F>(self.constexprs(), maker)?,
        })
    }
}
