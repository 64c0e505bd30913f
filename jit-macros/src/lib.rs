//! The macros of `jit`.
//!
//! First step on the way of the data: the tokens of a function become Rust calls that record a graph. The crate depends
//! on no sibling; what it writes refers to `::jit::__private`. Everything it finds wrong is reported at once, at the
//! user's own tokens.

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
/// arms of an `if`, or the body of a `while` once, and the variables that change there become its state.
///
/// # What is rewritten
///
/// | Rust | becomes |
/// |---|---|
/// | operators on variables, fields and elements | the same, on clones: `x * x + y` moves nothing |
/// | comparisons | a `bool` or a mask, by the types |
/// | `&&`, `\|\|` | short circuits; on masks the right side counts, and reads memory, only on lanes where it is needed |
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
/// | `break`, `continue`, `return`, also with labels and values | Rust's, or each lane exits when it gets there |
/// | `for` over anything else, other `match`, `if let`, `let else`, `?` | Rust's |
/// | `assert!`, `assert_eq!`, `assert_ne!`, and with `debug_` | Rust's; on masks, with `JIT_DEBUG`, checked by lanes |
/// | closures; the arguments of `println!`, `vec!` and their like, and of `jit::print!` | rewritten inside |
/// | functions inside of the function, types, constants, other macros | left alone |
///
/// What a recorded `if` or `while` changes must be [`Traverse`](derive@Traverse): arrays, and tuples, lists and
/// structures of them. It is found by what is assigned, borrowed by `&mut`, or the receiver of a method and declared
/// `mut`. A closure that is `mut` and called there is state too, and therefore an error: what it has captured would
/// change unseen. A number of the host that changes there is an error that names it. A `&mut` reference that a call
/// returned is seen if the call was given a `&mut` argument, if the name of a method in it ends in `_mut`, or if it is
/// bound by `let mut`. Otherwise, bound by a plain `let` and changed by nothing but its methods, it is *not* seen, and
/// its change then holds for all lanes: write `let mut`.
///
/// Where lanes may have exited by `break`, `continue` or `return`, the code that follows is recorded for the others
/// alone: it changes nothing and writes nothing for lanes that have exited. What they leave with must be `Traverse`.
/// This also holds in loops of Rust's, each iteration of which is traced by itself. `?` decides for all lanes at once,
/// so it does not compile inside of a recorded `if` or loop, nor does a jump that some lanes take in the middle of an
/// expression. A function that calls itself under a condition that lanes decide would be traced for ever; that is
/// refused at a depth of 64.
///
/// # Warnings
///
/// The compiler warns of what compiles and surely is not meant: `panic!` under a traced condition, a number of the host
/// that counts in a traced loop, a `let` in one that was meant to assign, a comparison of arrays among the arguments of
/// an unknown macro. They are listed in [`jit::warnings`](https://docs.rs/jit/latest/jit/warnings/);
/// `#[allow(deprecated)]` silences them.
///
/// # Options
///
/// `#[jit(label = "name")]` names the function's kernels, `#[jit(crate = path)]` says where the `jit` crate is.
/// `#[jit(fast_math)]` computes the function, and those that it calls, faster and less exactly, as `jit::fast_math`
/// does; `#[jit(fast_math = false)]` computes it exactly wherever it is called.
/// On a parameter, `#[constexpr]` says that it is a host value which the trace is made for. On a statement, `#[host]`
/// leaves conditions and comparisons to Rust and `#[label("name")]` names what is traced in it.
/// On a `for`, `#[symbolic]` records a range of host integers once as well, where the counter is then an array (of
/// `u32` for `usize`); `#[unroll]` says that a loop of Rust's is meant to be traced iteration by iteration, and
/// `#[unroll(n)]` that up to `n` are: otherwise a loop that records very much is noted by a warning of `tracing`.
///
/// On a `while`, `loop` or `if` under a traced condition, `#[evaluated]` runs iterations one by one, or both arms under
/// masks, so that contents may be read there; `#[compress]` then drops lanes that are done, `#[symbolic]` asks for what
/// happens without an attribute, and `#[max_iterations(n)]` makes it an error if a lane makes more. The results are the
/// same, their widths too: what a loop changes becomes as wide as the loop, unless its condition has width 1 and
/// nothing of width 1 grows in it.
///
/// On an `impl` block the attribute applies to each method.
///
/// # Traits
///
/// `#[jit(dispatch)]` on a trait lets its methods be called on a `Ptr<dyn Trait>`, which names one of the `Instances`
/// of the trait in each lane: each lane gets what its instance gives. Every instance that can occur is traced once.
/// Methods take `&self` and any arguments: those by value are cloned for each instance, what is behind `&mut` is state,
/// changed on the lanes of each instance alone. Results are made of arrays. The trait gets `Traverse`, `Send` and
/// `Sync` as supertraits; implementations are written `#[jit] impl Trait for Type`.
#[proc_macro_attribute]
pub fn jit(options: TokenStream, item: TokenStream) -> TokenStream {
    jit::expand(options.into(), item.into()).into()
}

/// Records what a function launches, and replays it in later calls without running it: no tracing, no scheduling.
///
/// The function is traced as by `#[jit]`. A call whose arguments are like those of an earlier one, up to the contents
/// and the widths of arrays, replays what that one launched. Sizes are expressions: `x.width() / 2`, concatenations,
/// reversals, the number of elements that a mask selects are right at every later width. What the body decides by a
/// number, as `if x.len() > 100`, is a condition of the recording, and one more is made where it does not hold.
///
/// Arguments are anything that is [`Traverse`](derive@Traverse) and `Clone`, by value, `&` or `&mut`; results too.
/// After a replay, `&mut` arguments are what the body would have left: lengths, fields that are no arrays, arrays that
/// were scattered to.
///
/// The body runs only when it is recorded: what it prints, counts or reads elsewhere happens then alone. An array that
/// is no argument, and reading the contents of one outside of
/// [`jit::freeze::host`](https://docs.rs/jit/latest/jit/freeze/fn.host.html), are errors that name the line.
///
/// Beside a function `f` there is a type `f`, whose functions report on its recordings: `f::stats()`, `f::explain()`,
/// which says why it was recorded again, and `f::clear()`. For a method `m` of `T` they are `T::m_stats()` and so on,
/// if it has a visibility (`pub(crate)`) or is in a block with `#[jit]`; functions of traits are among
/// [`jit::freeze::functions`](https://docs.rs/jit/latest/jit/freeze/fn.functions.html).
///
/// It goes on functions, methods, and functions in `impl` blocks of traits. Parameters may be patterns and
/// `impl Trait`; `#[jit]` may be above or below it. A function of a type that has no `self` and says `Self` nowhere is
/// in a block with `#[jit]`: `#[jit] impl T { #[freeze] fn f(x: &Float) -> Float { … } }`.
///
/// # Options
///
/// | option | effect |
/// |---|---|
/// | `limit = n` | at most `n` recordings are kept, those used last; 0 never records, -1 keeps all, as without it |
/// | `warn_after = n` | more than `n` recordings (10 without it) are a warning, once |
/// | `budget = n` | more than `n` recordings are an error |
/// | `auto_opaque = false` | constants among the arguments are given to each replay from the first on, not only once they have changed |
/// | `state = \|s, x\| (&s.hidden,)` | arrays that the body uses beside its arguments |
/// | `key(n)` | each recording is made for one value of the parameter `n` |
/// | `enabled = false` | calls run the body, until `f::set_enabled(true)` |
/// | `label = "name"`, `crate = path` | as for `#[jit]` |
#[proc_macro_attribute]
pub fn freeze(options: TokenStream, item: TokenStream) -> TokenStream {
    freeze::expand(options.into(), item.into()).into()
}

/// Lets `jit` find the arrays in a type of yours: evaluate them together, carry them through traced loops and branches,
/// gather, scatter and choose whole values lane by lane.
///
/// It goes on structs and enums, generic ones too. Fields are visited in their order; each must be `Traverse`, as
/// arrays, numbers, text, and tuples, lists, maps, boxes, options and references of those are. What a field does not
/// share with arrays is decided by the host, which includes the variant of an `enum`: it is the same for all lanes, and
/// may not change under a traced condition.
///
/// In paths, as [`leaves`](https://docs.rs/jit/latest/jit/fn.leaves.html) gives them, a field has its name, or its
/// number in a tuple struct, behind the name of its variant: `scene.lights[3].color`, `shape.Circle.radius`.
///
/// # Options
///
/// On a field:
///
/// | option | effect |
/// |---|---|
/// | `#[traverse(skip)]` | the field is left out; its type need not be `Traverse`. It is yours alone: nobody saves or restores it |
/// | `#[traverse(constexpr)]` | the field is a value of the host of any type that is `Eq + Hash + Debug`; it is compared by its `Debug` form |
/// | `#[traverse(rename = "name")]` | its name in paths; also on variants |
///
/// On the type, `#[traverse(bound = "T: Traverse")]` replaces the bounds that follow from the types of the fields, and
/// `#[traverse(crate = path)]` says where the `jit` crate is.
#[proc_macro_derive(Traverse, attributes(traverse))]
pub fn derive_traverse(item: TokenStream) -> TokenStream {
    traverse::expand(item.into()).into()
}

/// Lets the variant of an enum differ by lane: `Traced<E>` holds one in each lane.
///
/// It goes on enums with variants of every form, generic ones too. Fields are arrays, and what is made of them: each
/// lane has the fields of all variants, so a field must be `Traverse`, `Clone` and `Default`. `Traced::from(value)`
/// gives all lanes the same variant, `collect` one to each; under a traced condition `shape = Shape::Plane.into();`
/// changes it on some.
///
/// In `#[jit]` functions, `#[traced] match` chooses an arm in each lane, which binds the fields:
/// `Shape::Sphere { r } if r > 0.0 => r * r`. The compiler checks, in the words of the program, that no variant is left
/// out. Each arm is recorded once, and not at all if no lane can have its variants, because the variant is the same
/// constant in all lanes. Patterns are variants, whose fields are bound by names, `|`, and names or `_` for the whole.
/// `break`, `continue` and `return` in arms are those of the lanes there. What is bound is a copy of the fields, or a
/// reference if what is matched is one; to change a value, a new one is assigned.
///
/// `#[traced_enum(crate = path)]` says where the `jit` crate is.
#[proc_macro_derive(TracedEnum, attributes(traced_enum))]
pub fn derive_traced_enum(item: TokenStream) -> TokenStream {
    traced_enum::expand(item.into()).into()
}

/// Prints a line for each lane, when the kernel runs: `jit::print!("x = {} y = {:.3}", x, y)`.
///
/// It prints with the next evaluation on this thread, `jit::eval`, `jit::sync` or the reading of anything, once,
/// whether or not anything else uses the values; what several of them print comes in their order. Inside of a traced
/// `if` the lanes that take it print, inside of a traced loop each lane prints in each of its iterations. Lines come in
/// the order of lanes, those of a lane in the order of its iterations, each with the number of the lane; a single value
/// outside of loops is printed without one. As many lines as `limit` says are shown, 20 if it is not given, and the
/// others are counted: `jit::print!("{x}", limit = 50)`. They are the lowest lanes of those that were kept: the first
/// 65536 lines, and in a loop the first 16384, in the order in which the lanes come.
///
/// The format string is one of Rust's, with `{name}` for variables, but for widths and precisions that arguments give.
/// Values are arrays, numbers, texts, and what is made of them, whose parts are printed as a list. A loop has at least
/// as many lanes as what is printed in it. `jit::print::set_sink` has a function receive what is printed.
#[proc_macro]
pub fn print(tokens: TokenStream) -> TokenStream {
    print::expand(tokens.into()).into()
}
