//! The macros of `jit`.
//!
//! This is the first stage of the pipeline: the tokens of a function become Rust calls that record a graph. The crate
//! depends on no sibling; generated code refers to `::jit::__private`. All errors are reported at once, at the user's
//! own tokens.

mod companion;
mod format;
mod freeze;
mod jit;
mod options;
mod print;
mod sink;
mod traced_enum;
mod traverse;
mod ungroup;

use proc_macro::TokenStream;

/// Makes a function traceable: operators, comparisons, `&&`, `||`, `if` and `while` work on arrays as they do on
/// numbers.
///
/// A condition that is a `bool` is decided while tracing, by Rust itself. A condition that is a mask is recorded: both
/// arms of an `if`, or the body of a `while`, once. The variables assigned there become its state.
///
/// # What is rewritten
///
/// | Rust | becomes |
/// |---|---|
/// | operators on variables, fields and elements | the same, on clones: `x * x + y` moves nothing |
/// | comparisons | a `bool` or a mask, by the types |
/// | `&&`, `\|\|` | short-circuiting; on masks the right side has effects, and reads memory, only on lanes where it is needed |
/// | `if`, `else if`, `else`, with or without a value | Rust's, or recorded |
/// | `let x; if c { x = a; } else { x = b; }` | the same, merged |
/// | `if c { return a; }` at the level of the function | the rest of the function is the other arm |
/// | `match` on numbers and truth values: literals, ranges, constants, names, guards, and a last arm that takes the rest | Rust's, or a recorded chain of `if`s |
/// | `#[traced] match` on a `Traced<E>`, by the variants of [`E`](derive@TracedEnum) | each lane chooses its arm, which binds the fields |
/// | `a[i]`, `a[i] = v`, `a[i] += v` (also `-=`, `&=`, `\|=`) | Rust's; on arrays a gather, a scatter, an atomic scatter |
/// | `&a[i]`, `a[i].x`, `a[i].f()`, `a[lo..hi]` | Rust's |
/// | `x as T` | Rust's; on arrays a conversion of each element with the same meaning |
/// | `while`, `loop` | Rust's, or recorded once |
/// | `for` over a range, also `.rev()` and `.step_by(n)` | Rust's and unrolled, or recorded once if a bound is an array |
/// | `break`, `continue`, `return`, also with labels and values | Rust's, or each lane exits when it reaches the jump |
/// | `for` over anything else, other `match`, `if let`, `let else`, `?` | Rust's |
/// | `assert!`, `assert_eq!`, `assert_ne!`, and with `debug_` | Rust's; on masks, with `JIT_DEBUG`, checked by lanes |
/// | closures; the arguments of `println!`, `vec!` and similar macros, and of `jit::print!` | rewritten inside |
/// | functions inside the function, types, constants, other macros | not rewritten |
///
/// State that a recorded `if` or `while` changes must be [`Traverse`](derive@Traverse): arrays, and tuples, lists and
/// structures of them. State is every place that is assigned, borrowed by `&mut`, or the receiver of a method and
/// declared `mut`. A closure that is `mut` and called there is state too, and therefore an error: its captures would
/// change unnoticed. A host number that changes there is an error that names it. A `&mut` reference that a call
/// returned is recognised if the call takes a `&mut` argument, if the name of a method in it ends in `_mut`, or if it
/// is bound by `let mut`. Otherwise, if it is bound by a plain `let` and changed only by its methods, it is *not*
/// recognised, and its change then holds for all lanes: write `let mut`.
///
/// Where lanes may have exited by `break`, `continue` or `return`, the code that follows is recorded for the other
/// lanes only: it changes nothing and writes nothing for lanes that have exited. The values that they exit with must be
/// `Traverse`. This also holds in Rust's own loops, each iteration of which is traced separately. `?` decides for all
/// lanes at once, so it does not compile inside a recorded `if` or loop. Nor does a jump that some lanes take in the
/// middle of an expression. Tracing a function that calls itself under a traced condition would never end; this is
/// rejected at a depth of 64.
///
/// # Warnings
///
/// The compiler warns about code that compiles but is almost certainly unintended: `panic!` under a traced condition, a
/// host number that counts in a traced loop, a `let` in one that was meant to assign, a comparison of arrays among the
/// arguments of an unknown macro. They are listed in [`jit::warnings`](https://docs.rs/jit/latest/jit/warnings/);
/// `#[allow(deprecated)]` silences them.
///
/// # Compiling and observing
///
/// Besides a function `f` there is a type `f`: `f::compile(…)` compiles the function to an
/// [`Executor`](https://docs.rs/jit/latest/jit/struct.Executor.html), `f::stats()` counts its traces and kernels, and
/// `f::explain()` returns why its kernels were compiled. For a method `m` of `T` they are `T::m_compile(…)` and so on.
/// The [guide](https://docs.rs/jit/latest/jit/guide/executors/) describes them.
///
/// # Options
///
/// `#[jit(label = "name")]` names the function's kernels; `#[jit(crate = path)]` sets the path of the `jit` crate.
/// `#[jit(fast_math)]` computes the function, and those that it calls, faster and less exactly, as `jit::fast_math`
/// does; `#[jit(fast_math = false)]` computes it exactly wherever it is called. `#[jit(lazy)]` says what holds for
/// every function: its results are computed when they are read or printed.
///
/// On a parameter, `#[constexpr]` declares a host value that the trace is specialised for. On a statement, `#[host]`
/// leaves conditions and comparisons to Rust, and `#[label("name")]` names its kernels.
///
/// On a `for`, `#[symbolic]` records a range of host integers once as well; the counter is then an array (of `u32` for
/// `usize`). `#[unroll]` declares that a loop of Rust's is meant to be traced iteration by iteration, and
/// `#[unroll(n)]` that up to `n` iterations are. Otherwise a loop that records very many nodes is reported by a warning
/// of `tracing`.
///
/// On a `while`, `loop` or `if` under a traced condition, `#[evaluated]` runs iterations one by one, or both arms under
/// masks, so that contents may be read there. `#[compress]` then removes finished lanes. `#[symbolic]` requests the
/// default behaviour, and `#[max_iterations(n)]` makes it an error if a lane needs more iterations. The results are the
/// same, including their widths: state that a loop changes becomes as wide as the loop, unless its condition has width
/// 1 and no state of width 1 becomes wider.
///
/// On an `impl` block the attribute applies to each method.
///
/// # Traits
///
/// `#[jit(dispatch)]` on a trait allows calls of its methods on a `Ptr<dyn Trait>`, which refers to one of the
/// `Instances` of the trait in each lane: each lane gets the result of its instance. Every instance that can occur is
/// traced once. Methods take `&self` and any arguments. Arguments by value are cloned for each instance; arguments
/// behind `&mut` are state, changed only on the lanes of each instance. Results are made of arrays. The trait gets
/// `Traverse`, `Send` and `Sync` as supertraits; implementations are written `#[jit] impl Trait for Type`.
#[proc_macro_attribute]
pub fn jit(options: TokenStream, item: TokenStream) -> TokenStream {
    jit::expand(options.into(), item.into()).into()
}

/// Records the launches of a function, and replays them in later calls without running it: no tracing, no scheduling.
///
/// The function is traced as by `#[jit]`. A call whose arguments match those of an earlier one, up to the contents and
/// the widths of arrays, replays the launches of that call. Sizes are expressions: `x.width() / 2`, concatenations,
/// reversals, and the number of elements that a mask selects are right at every later width. A decision of the body by
/// a number, such as `if x.len() > 100`, is a guard of the recording; if it fails, another recording is made.
///
/// Arguments may be any type that is [`Traverse`](derive@Traverse) and `Clone`, by value, `&` or `&mut`; so may
/// results. After a replay, `&mut` arguments have the values that the body would have left: lengths, fields that are
/// not arrays, arrays that were scattered to.
///
/// The body runs only while it is recorded, so it prints, counts or reads other data only then. A foreign array, and
/// reading the contents of an array outside [`jit::freeze::host`](https://docs.rs/jit/latest/jit/freeze/fn.host.html),
/// are errors that name the line.
///
/// Besides a function `f` there is a type `f`, whose functions report on its recordings: `f::stats()`, `f::explain()`,
/// which returns why it was recorded again, and `f::clear()`. For a method `m` of `T` they are `T::m_stats()` and so
/// on, if it has a visibility (`pub(crate)`) or is in a block with `#[jit]`. Functions of traits are among
/// [`jit::freeze::functions`](https://docs.rs/jit/latest/jit/freeze/fn.functions.html).
///
/// It applies to functions, methods, and functions in `impl` blocks of traits. Parameters may be patterns and `impl
/// Trait`; `#[jit]` may be above or below it.
///
/// # Options
///
/// | option | effect |
/// |---|---|
/// | `limit = n` | at most `n` recordings are retained, the most recently used ones; 0 never records, -1 retains all, which is the default |
/// | `warn_after = n` | more than `n` recordings (default 10) are a warning, once |
/// | `budget = n` | more than `n` recordings are an error |
/// | `auto_opaque = false` | constants among the arguments are passed to each replay from the first one on, not only once they have changed |
/// | `state = \|s, x\| (&s.hidden,)` | arrays that the body uses besides its arguments |
/// | `key(n)` | each recording is made for one value of the parameter `n` |
/// | `enabled = false` | calls run the body, until `f::set_enabled(true)` |
/// | `label = "name"`, `crate = path` | as for `#[jit]` |
#[proc_macro_attribute]
pub fn freeze(options: TokenStream, item: TokenStream) -> TokenStream {
    freeze::expand(options.into(), item.into()).into()
}

/// Lets `jit` find the arrays in a user-defined type: evaluate them together, carry them through traced loops and
/// branches, and gather, scatter and select whole values lane by lane.
///
/// It applies to structs and enums, including generic ones. Fields are visited in their order; each must be `Traverse`,
/// such as arrays, numbers, text, and tuples, lists, maps, boxes, options and references of those. Leaves that are not
/// arrays are host values, including the variant of an `enum`: they are the same for all lanes, and may not change
/// under a traced condition.
///
/// In paths, as returned by [`leaves`](https://docs.rs/jit/latest/jit/fn.leaves.html), a field has its name, or its
/// number in a tuple struct, after the name of its variant: `scene.lights[3].color`, `shape.Circle.radius`.
///
/// # Options
///
/// On a field:
///
/// | option | effect |
/// |---|---|
/// | `#[traverse(skip)]` | the field is not visited, and its type need not be `Traverse`; it is neither saved nor restored |
/// | `#[traverse(constexpr)]` | the field is a host value of any type that is `Eq + Hash + Debug`; it is compared by its `Debug` form |
/// | `#[traverse(rename = "name")]` | its name in paths; also on variants. Parts of a field named `""` are as its own |
///
/// On the type, `#[traverse(bound = "T: Traverse")]` replaces the bounds that follow from the types of the fields, and
/// `#[traverse(crate = path)]` sets the path of the `jit` crate.
#[proc_macro_derive(Traverse, attributes(traverse))]
pub fn derive_traverse(item: TokenStream) -> TokenStream {
    traverse::expand(item.into()).into()
}

/// Gives a module a form with parameters of another element type, for `net.half()` and `net.to::<T>()`.
///
/// The type has one parameter `T: FloatElement`. Fields whose type mentions it are converted, all others are cloned.
///
/// On the type, `#[traverse(crate = path)]` sets the path of the `jit` crate.
#[proc_macro_derive(Convert, attributes(traverse))]
pub fn derive_convert(item: TokenStream) -> TokenStream {
    traverse::convert::expand(item.into()).into()
}

/// Lets the variant of an enum differ by lane: `Traced<E>` holds one variant in each lane.
///
/// It applies to enums with variants of every form, including generic ones. Fields are arrays, and types made of them.
/// Each lane has the fields of all variants, so a field must be `Traverse`, `Clone` and `Default`.
/// `Traced::from(value)` has the same variant in all lanes; `collect` assigns one to each lane. Under a traced
/// condition `shape = Shape::Plane.into();` changes it on some lanes.
///
/// In `#[jit]` functions, `#[traced] match` selects an arm in each lane, which binds the fields: `Shape::Sphere { r }
/// if r > 0.0 => r * r`. The compiler checks that the match is exhaustive, in terms of the user's program. Each arm is
/// recorded once, but not at all if no lane can have its variants, because the variant is the same constant in all
/// lanes. Patterns are variants, whose fields are bound by names, `|`, and names or `_` for the whole. `break`,
/// `continue` and `return` in arms apply to the lanes of the arm. A binding is a copy of the field, or a reference if
/// the matched expression is one; to change a value, assign a new one.
///
/// `#[traced_enum(crate = path)]` sets the path of the `jit` crate.
#[proc_macro_derive(TracedEnum, attributes(traced_enum))]
pub fn derive_traced_enum(item: TokenStream) -> TokenStream {
    traced_enum::expand(item.into()).into()
}

/// Prints a line for each lane when the kernel runs: `jit::print!("x = {} y = {:.3}", x, y)`.
///
/// It prints once, with the next evaluation on this thread: `jit::eval`, `jit::sync` or any read, whether or not
/// anything else uses the values. Several prints appear in program order. Inside a traced `if` only the active lanes
/// print; inside a traced loop each lane prints in each of its iterations. Lines are sorted by lane, those of a lane by
/// iteration, each with the lane number; a single value outside loops is printed without it. At most `limit` lines are
/// shown, 20 by default, and the others are counted: `jit::print!("{x}", limit = 50)`. They are the lowest lanes among
/// the stored lines: the first 65536 lines, or in a loop the first 16384, in the order in which the lanes run.
///
/// The format string is one of Rust's, with `{name}` for variables; only widths and precisions taken from arguments are
/// unsupported. Values are arrays, numbers, texts, and types made of them, whose parts are printed as a list. A loop
/// has at least as many lanes as the values printed in it. `jit::print::set_sink` sets a function that receives the
/// printed lines.
#[proc_macro]
pub fn print(tokens: TokenStream) -> TokenStream {
    print::expand(tokens.into()).into()
}
