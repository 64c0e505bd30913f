//! Why there are no executors of some functions: messages for `f::compile(…)` of those.

macro_rules! obstacles {
    ($($(#[$doc:meta])* $name:ident: $why:literal, $hint:literal;)*) => {$(
        $(#[$doc])*
        #[doc(hidden)]
        #[diagnostic::on_unimplemented(message = $why, label = "it has no executors", note = $hint)]
        pub trait $name {}
    )*};
}

obstacles! {
    /// A condition of `f::compile` for a generic function with a parameter that has no bounds.
    HasUnboundedParameter: "a function with a type parameter without bounds cannot be compiled to an executor",
        "give the parameter the bounds that its arguments need, such as `T: Element` or `T: Traverse + Clone`";
    /// A condition of `T::m_compile` for a method of a trait.
    IsOfTrait: "a method of a trait cannot be compiled to an executor",
        "call the method in a `#[jit]` function, and compile that function";
    /// A condition of `f::compile` for an `unsafe` function.
    IsUnsafe: "an `unsafe` function cannot be compiled to an executor",
        "its calls would not uphold the safety conditions of the function";
    /// A condition of `f::compile` for a function that returns something that borrows.
    ReturnsReference: "a function that returns a reference cannot be compiled to an executor",
        "each call constructs a new result: return values that own their data";
    /// A condition of `f::compile` for a function that returns `impl Trait`.
    ReturnsUnnamed: "a function that returns `impl Trait` cannot be compiled to an executor",
        "the type of the executor names the type of the result";
    /// A condition of `f::compile` for a function with references inside of an argument.
    TakesReferenceInside: "a function with references inside of an argument cannot be compiled to an executor",
        "each call passes other data: own the data in the argument, or take all of it by `&`";
    /// A condition of `f::compile` for a function with an argument of type `dyn Trait`.
    TakesTraitObject: "a function that takes `dyn Trait` cannot be compiled to an executor",
        "it is compiled with a copy of the argument: take a type that is `Traverse` and `Clone`";
    /// A condition of `f::compile` for a function with more parameters than calls take.
    TakesTooMany: "a function with more than 12 parameters cannot be compiled to an executor",
        "combine some in a struct with `#[derive(Clone, Traverse)]`; `#[constexpr]` ones do not count";
}
