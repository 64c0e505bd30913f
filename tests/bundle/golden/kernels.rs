// The functions of the bundle `kernels`, written by `jit::bundle` when the program was built.
static __JIT_BUNDLE: __jit::Bundle = __jit::Bundle::new(include_bytes!("kernels.jit"));

/// The function `saxpy`, as it is compiled at tests/bundle/functions.rs:70.
///
/// # Errors
///
/// Arguments that do not fit what was compiled; a failure of a launch.
#[track_caller]
pub fn saxpy(
    a: f32,
    n: u32,
    x: &jit::Array<f32>,
    y: jit::Array<f32>,
) -> ::core::result::Result<
    jit::Array<f32>,
    __jit::Error,
> {
    saxpy::executor()?.call(a, n, x, y)
}

/// The executor of the function [`saxpy`](fn@saxpy).
pub mod saxpy {
    use super::{__jit, jit};

    type Returned = jit::Array<f32>;
    type Call = fn(
        f32,
        u32,
        &jit::Array<f32>,
        jit::Array<f32>,
    ) -> Returned;

    const WHAT: __jit::Compiled = __jit::Compiled {
        name: "saxpy",
        parameters: &[
            "a",
            "n",
            "x",
            "y",
            "(- a).abs().max(1.5)",
            "a",
            "(a * 0.5)",
            "(n as f32)",
        ],
        lifted: 4,
        traced: None,
    };

    const CALL: Call = |a, n, x, y| {
        __jit::run((
            __jit::Number(&a),
            __jit::Number(&n),
            __jit::Shared(x),
            __jit::ByValue(&y),
            __jit::lifted((- a).abs().max(1.5)),
            __jit::lifted(a),
            __jit::lifted((a * 0.5)),
            __jit::lifted((n as f32)),
        ))
    };

    /// Returns the executor for the current device. It is read from the bundle once.
    ///
    /// # Errors
    ///
    /// A bundle that another version of the library has written.
    #[track_caller]
    pub fn executor() -> ::core::result::Result<&'static __jit::Executor<Call>, __jit::Error> {
        static LOADED: __jit::Loaded<Call> = __jit::Loaded::new();
        LOADED.get::<Returned>(&super::__JIT_BUNDLE, "saxpy", WHAT, &[], CALL)
    }
}

/// The function `accumulate`, with `scale` = `5`, as it is compiled at tests/bundle/functions.rs:71.
///
/// # Errors
///
/// Arguments that do not fit what was compiled; a failure of a launch.
#[track_caller]
pub fn accumulate(
    state: &mut crate::functions::State,
    x: &jit::Array<f32>,
    list: &[jit::Array<u32>],
) -> ::core::result::Result<
    crate::functions::Outcome<::std::option::Option<jit::tensor::Tensor<f32>>>,
    __jit::Error,
> {
    accumulate::executor()?.call(state, x, list)
}

/// The executor of the function [`accumulate`](fn@accumulate).
pub mod accumulate {
    use super::{__jit, jit};

    type Returned = crate::functions::Outcome<::std::option::Option<jit::tensor::Tensor<f32>>>;
    type Call = fn(
        &mut crate::functions::State,
        &jit::Array<f32>,
        &[jit::Array<u32>],
    ) -> Returned;

    const WHAT: __jit::Compiled = __jit::Compiled {
        name: "accumulate",
        parameters: &[
            "state",
            "x",
            "list",
        ],
        lifted: 0,
        traced: None,
    };

    const CALL: Call = |state, x, list| {
        __jit::run((
            __jit::Exclusive(&mut *state),
            __jit::Shared(x),
            __jit::Shared(list),
        ))
    };

    /// Returns the executor for the current device. It is read from the bundle once.
    ///
    /// # Errors
    ///
    /// A bundle that another version of the library has written.
    #[track_caller]
    pub fn executor() -> ::core::result::Result<&'static __jit::Executor<Call>, __jit::Error> {
        static LOADED: __jit::Loaded<Call> = __jit::Loaded::new();
        LOADED.get::<Returned>(&super::__JIT_BUNDLE, "accumulate", WHAT, &["scale"], CALL)
    }
}

/// The function `powers`, as it is compiled at tests/bundle/functions.rs:72.
///
/// # Errors
///
/// Arguments that do not fit what was compiled; a failure of a launch.
#[track_caller]
pub fn cube(
    x: &jit::Array<f32>,
    n: u32,
) -> ::core::result::Result<
    (jit::Array<f32>, jit::Array<__jit::f16>),
    __jit::Error,
> {
    cube::executor()?.call(x, n)
}

/// The executor of the function [`cube`](fn@cube).
pub mod cube {
    use super::{__jit, jit};

    type Returned = (jit::Array<f32>, jit::Array<__jit::f16>);
    type Call = fn(
        &jit::Array<f32>,
        u32,
    ) -> Returned;

    const WHAT: __jit::Compiled = __jit::Compiled {
        name: "powers",
        parameters: &[
            "x",
            "n",
        ],
        lifted: 0,
        traced: None,
    };

    const CALL: Call = |x, n| {
        __jit::run((
            __jit::Shared(x),
            __jit::ByValue(&n),
        ))
    };

    /// Returns the executor for the current device. It is read from the bundle once.
    ///
    /// # Errors
    ///
    /// A bundle that another version of the library has written.
    #[track_caller]
    pub fn executor() -> ::core::result::Result<&'static __jit::Executor<Call>, __jit::Error> {
        static LOADED: __jit::Loaded<Call> = __jit::Loaded::new();
        LOADED.get::<Returned>(&super::__JIT_BUNDLE, "cube", WHAT, &[], CALL)
    }
}

/// The function `threes`, as it is compiled at tests/bundle/functions.rs:73.
///
/// # Errors
///
/// Arguments that do not fit what was compiled; a failure of a launch.
#[track_caller]
pub fn threes(
) -> ::core::result::Result<
    jit::Array<u32>,
    __jit::Error,
> {
    threes::executor()?.call()
}

/// The executor of the function [`threes`](fn@threes).
pub mod threes {
    use super::{__jit, jit};

    type Returned = jit::Array<u32>;
    type Call = fn(
    ) -> Returned;

    const WHAT: __jit::Compiled = __jit::Compiled {
        name: "threes",
        parameters: &[
        ],
        lifted: 0,
        traced: None,
    };

    const CALL: Call = || {
        __jit::run((
        ))
    };

    /// Returns the executor for the current device. It is read from the bundle once.
    ///
    /// # Errors
    ///
    /// A bundle that another version of the library has written.
    #[track_caller]
    pub fn executor() -> ::core::result::Result<&'static __jit::Executor<Call>, __jit::Error> {
        static LOADED: __jit::Loaded<Call> = __jit::Loaded::new();
        LOADED.get::<Returned>(&super::__JIT_BUNDLE, "threes", WHAT, &[], CALL)
    }
}
