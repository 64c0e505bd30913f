//! Executors in files: what was saved is called again, also at other sizes, and what does not fit is refused.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use jit::executor::{ArgumentKind, GivenArgument, GivenArray, UntypedFunction};
use jit::prelude::*;
use jit::{Element as _, Result, Signature};

use crate::file::File;
use crate::on_each_device;
use crate::untyped::{layered, record_layers};
use jit_runtime::recording::file::VERSION;

#[jit]
fn saxpy(a: f32, x: &Float, y: Float) -> Float {
    a * x + y
}

// rows: O38 N02
#[test]
fn a_saved_executor_is_called_at_other_sizes_without_tracing_or_compiling() {
    on_each_device(|| {
        let file = File::new("saxpy");
        saxpy::compile(2.0, &Float::placeholder(100), Float::placeholder(100))?.save(&file)?;
        jit::cache::clear();
        let loaded = saxpy::load(&file)?;
        let before = jit::stats();
        for count in [99, 100, 101, 1000, 300_000] {
            let (x, y) = (Float::arange(count).make_opaque(), Float::full(0.5, count).make_opaque());
            jit::eval(&(&x, &y))?;
            let start = jit::stats();
            let z = loaded.call(3.0, &x, y)?.to_vec()?;
            assert!(z.iter().enumerate().all(|(lane, z)| *z == 3.0 * lane as f32 + 0.5), "{count}");
            let stats = jit::stats();
            assert_eq!((stats.traces, stats.compiles), (start.traces, start.compiles), "{count}");
        }
        assert!(jit::stats().launches > before.launches);
        Ok(())
    });
}

const FILE: &str = "JIT_TEST_SAVED_FILE";
const HAS_CODE: &str = "JIT_TEST_SAVED_CODE";

/// Writes a file for processors. Returns whether it has machine code: there is none where there is no LLVM.
fn write_with_code(path: &std::path::Path) -> Result<bool> {
    jit::with_device(Device::Cpu, || {
        let exe = saxpy::compile(2.0, &Float::placeholder(100), Float::placeholder(100))?;
        exe.save(path)?;
        Ok(exe.kernels().iter().all(|kernel| kernel.code_bytes > 0))
    })
}

#[test]
#[ignore = "run for a program without arrays, see `.ci/run`"]
fn write_a_file_for_another_program() -> Result<()> {
    let path = std::env::var_os(FILE).expect("the path of the file");
    write_with_code(path.as_ref()).map(|has_code| assert!(has_code, "this needs LLVM"))
}

// one device: a process without a compiler runs machine code of the file
// rows: N02
#[test]
fn a_process_without_a_compiler_runs_the_code_of_the_file() -> Result<()> {
    let _alone = crate::alone();
    let file = File::new("shipped");
    let has_code = write_with_code(file.as_ref())?;
    let home = File::new("home");
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["saved::in_a_process_without_a_compiler", "--exact", "--ignored", "--nocapture"]);
    command
        .env(FILE, &file.0)
        .env(HAS_CODE, if has_code { "1" } else { "0" })
        .env("HOME", &home.0)
        .env("XDG_CACHE_HOME", &home.0)
        .env("JIT_LOG", "error");
    command.env("JIT_LLVM_PATH", "/nowhere/libLLVM.so").env("JIT_CACHE", "memory").env_remove("JIT_CACHE_SHARED_DIR");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[test]
#[ignore = "run by another test in a separate process"]
fn in_a_process_without_a_compiler() -> Result<()> {
    let Some(file) = std::env::var_os(FILE) else { return Ok(()) };
    let loaded = jit::with_device(Device::Cpu, || saxpy::load(PathBuf::from(file)))?;
    for count in [100, 101, 1000] {
        let z = loaded.call(3.0, &Float::full(2.0, count), Float::full(0.5, count))?;
        assert_eq!(z.to_vec()?, vec![6.5; count]);
    }
    if std::env::var_os(HAS_CODE).is_some_and(|has_code| has_code == "1") {
        assert!(loaded.kernels().iter().all(|kernel| kernel.code_bytes > 0), "{:?}", loaded.kernels());
        let stats = jit::stats();
        assert_eq!((stats.traces, stats.llvm_loads), (0, 0));
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(!maps.contains("LLVM"), "{maps}");
    }
    Ok(())
}

/// The files of earlier versions, and of this one.
pub(crate) const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/saved");

// rows: N02 P41
#[test]
fn files_of_earlier_versions_are_read() {
    on_each_device(|| {
        for version in 1..=VERSION {
            let loaded = saxpy::load(format!("{KEPT}/saxpy-{version}.jit"))?;
            assert_eq!(loaded.call(3.0, &Float::from([1.0, 2.0]), Float::from([5.0, 6.0]))?.to_vec()?, [8.0, 12.0]);
            let loaded = structured::load(format!("{KEPT}/structured-{version}.jit"))?;
            let list = vec![UInt::from([1, 2, 3]), UInt::from([4, 5])];
            let (shape, _, map, size) = loaded.call(&Float::from([1.0, 2.0, 3.0]), list)?;
            assert!(matches!(shape, Shape::Pair { ref pair, .. } if pair.tag == -3));
            assert_eq!((map["a \"b\""].item()?, size.get()), (6.0, 4));
            let loaded = newton::load(format!("{KEPT}/newton-{version}.jit"))?;
            let (x, table) = (Float::from([1.0, 4.0, 9.0, 100.0]), Float::from([5.0, 6.0, 7.0]));
            assert_eq!(loaded.call(&x, &table)?.1.to_vec()?, [5.0, 11.0, 18.0, 25.0]);
            frozen::load(format!("{KEPT}/frozen-{version}.jit"))?;
            let mut sum = Float::from([1.0, 2.0]);
            let found = frozen(&mut sum, &Float::from([3.0, 4.0]));
            assert_eq!((sum.to_vec()?, found.to_vec()?), (vec![4.0, 6.0], vec![0, 1]));
            assert_eq!(frozen::stats().recordings, 0);
            frozen::clear();
        }
        Ok(())
    });
}

#[freeze]
fn frozen(sum: &mut Float, x: &Float) -> UInt {
    *sum += x;
    x.gt(1.0).compress()
}

/// Writes the files of this version. Those in the repository stay: programs have such files.
#[test]
#[ignore = "run by hand when the form of files changes"]
fn write_the_files_of_this_version() -> Result<()> {
    let name = |what: &str| format!("{KEPT}/{what}-{VERSION}.jit");
    // Machine code is for this build alone.
    jit::with_device(Device::Interpreter, || {
        saxpy::compile(2.0, &Float::placeholder(100), Float::placeholder(100))?.save(name("saxpy"))?;
        let list = vec![UInt::placeholder(4), UInt::placeholder(5)];
        structured::compile(&Float::placeholder(10), list)?.save(name("structured"))?;
        newton::compile(&Float::placeholder(10), &Float::placeholder(7))?.save(name("newton"))?;
        frozen(&mut Float::from([1.0, 2.0, 3.0]), &Float::from([3.0, 0.0, 5.0]));
        frozen::save(name("frozen"))?;
        record_layers()?;
        layered::save(name("layered"))
    })
}

#[derive(Clone, Traverse)]
struct Pair {
    first: Float,
    count: u32,
    #[traverse(skip)]
    note: Option<u8>,
    #[traverse(constexpr)]
    tag: i64,
}

#[derive(Clone, Traverse)]
enum Shape<T> {
    Point,
    Pair { pair: Pair, rest: Vec<T> },
}

#[jit]
fn structured(x: &Float, list: Vec<UInt>) -> (Shape<UInt>, Option<Tensor<f32>>, BTreeMap<String, Float>, Size) {
    let pair = Pair { first: x * 2.0, count: 7, note: Some(1), tag: -3 };
    let rest = list.iter().map(|item| item + 1).collect();
    let map = BTreeMap::from([("a \"b\"".to_owned(), x.sum()), ("c\n".to_owned(), x.clone())]);
    (Shape::Pair { pair, rest }, Some(Tensor::from(x.clone())), map, x.width() + 1)
}

#[test]
fn results_of_all_kinds_are_built() {
    on_each_device(|| {
        let file = File::new("structured");
        let list = || vec![UInt::placeholder(4), UInt::placeholder(5)];
        structured::compile(&Float::placeholder(10), list())?.save(&file)?;
        let loaded = structured::load(&file)?;
        let list = vec![UInt::from([1, 2, 3]), UInt::from([4, 5])];
        let (shape, tensor, map, size) = loaded.call(&Float::from([1.0, 2.0, 3.0]), list)?;
        let Shape::Pair { pair, rest } = shape else { panic!("another variant") };
        assert_eq!((pair.first.to_vec()?, pair.count, pair.note, pair.tag), (vec![2.0, 4.0, 6.0], 7, None, -3));
        assert_eq!([rest[0].to_vec()?, rest[1].to_vec()?], [vec![2, 3, 4], vec![5, 6]]);
        let tensor = tensor.expect("some");
        assert_eq!((tensor.shape(), tensor.to_vec()?), (&[3][..], vec![1.0, 2.0, 3.0]));
        assert_eq!(map["a \"b\""].item()?, 6.0);
        assert_eq!(map["c\n"].to_vec()?, [1.0, 2.0, 3.0]);
        assert_eq!(size, 4);
        Ok(())
    });
}

#[test]
fn what_cannot_be_built_says_where() -> Result<()> {
    let signature = Signature::of(&(Float::zeros(2), vec![Shape::<UInt>::Point]))?;
    let error = |outcome: Result<()>| outcome.unwrap_err().to_string();
    let wrong = error(signature.build::<(Float, Vec<Option<u8>>)>(signature.zeros()).map(|_| ()));
    assert!(wrong.contains("the variant `Point` at `1[0]`, where the type has an `Option`"), "{wrong}");
    let wrong = error(signature.build::<(UInt, Vec<Shape<UInt>>)>(signature.zeros()).map(|_| ()));
    assert!(wrong.contains("an array of f32 at `0`, where the type has an array of u32"), "{wrong}");
    let wrong = error(signature.build::<Float>(signature.zeros()).map(|_| ()));
    assert!(wrong.contains("more leaves"), "{wrong}");
    let (_, shapes) = signature.build::<(Float, Vec<Shape<UInt>>)>(signature.zeros())?;
    assert!(matches!(shapes[..], [Shape::Point]));
    let map = HashMap::from([(3_u8, Float::zeros(1))]);
    let signature = Signature::of(&map)?;
    assert_eq!(signature.build::<HashMap<u8, Float>>(signature.zeros())?.len(), 1);
    Ok(())
}

#[jit]
fn accumulate(total: &mut Float, counts: &mut [UInt], index: &UInt, #[constexpr] scale: u32) {
    *total += scale as f32;
    counts[0].scatter_add(UInt::from(1), index);
    counts[1] = counts[1].prefix_sum();
}

#[test]
fn arguments_are_changed_and_constexprs_are_known() {
    on_each_device(|| {
        let file = File::new("accumulate");
        let mut counts = [UInt::placeholder(8), UInt::placeholder(9)];
        let index = UInt::placeholder(100);
        accumulate::compile(&mut Float::placeholder(3), &mut counts, &index, 5)?.save(&file)?;
        let loaded = accumulate::load(&file)?;
        assert_eq!(loaded.constexprs(), [("scale", "5".to_owned())]);
        let mut total = Float::from([1.0, 2.0]);
        let mut counts = [UInt::zeros(4), UInt::from([1, 2, 3])];
        for _ in 0..2 {
            loaded.call(&mut total, &mut counts, &UInt::from([1, 1, 3]))?;
        }
        assert_eq!(total.to_vec()?, [11.0, 12.0]);
        assert_eq!((counts[0].to_vec()?, counts[1].to_vec()?), (vec![0, 4, 0, 2], vec![1, 4, 10]));
        Ok(())
    });
}

#[jit]
fn newton(x: &Float, table: &Float) -> (Float, Float) {
    let mut y = x.clone();
    while (&y * &y - x).abs() > 1e-4 {
        y = 0.5 * (&y + x / &y);
    }
    (y.clone(), table.gather(&UInt::arange(y.width()).min(2)).prefix_sum())
}

#[test]
fn loops_and_library_calls_are_replayed() {
    on_each_device(|| {
        let file = File::new("newton");
        let exe = newton::compile(&Float::placeholder(10), &Float::placeholder(7))?;
        exe.save(&file)?;
        let loaded = newton::load(&file)?;
        let (x, table) = (Float::from([1.0, 4.0, 9.0, 100.0]), Float::from([5.0, 6.0, 7.0]));
        let [own, read] = [exe.call(&x, &table)?, loaded.call(&x, &table)?];
        assert_eq!((own.0.to_vec()?, own.1.to_vec()?), (read.0.to_vec()?, read.1.to_vec()?));
        assert_eq!(read.1.to_vec()?, [5.0, 11.0, 18.0, 25.0]);
        assert_eq!(loaded.recording().dump(&|_| "n".into()), exe.recording().dump(&|_| "n".into()));
        Ok(())
    });
}

mod changed {
    use jit::prelude::*;

    #[jit]
    pub(super) fn saxpy(a: f32, x: &UInt, y: Float) -> Float {
        a * x.cast::<f32>() + y
    }
}

#[jit]
fn fewer(a: f32, x: &Float) -> Float {
    a * x
}

// rows: N02
#[test]
fn files_of_other_functions_are_refused_by_argument() {
    on_each_device(|| {
        let file = File::new("refused");
        let exe = saxpy::compile(2.0, &Float::placeholder(100), Float::placeholder(100))?;
        exe.save(&file)?;
        let refused = changed::saxpy::load(&file).unwrap_err().to_string();
        let wanted = "the argument `x` is `&Array<u32>`, and was `&Array<f32>` when `saxpy` was saved";
        assert!(refused.contains(wanted) && refused.contains("saved.rs"), "{refused}");
        let refused = fewer::load(&file).unwrap_err().to_string();
        assert!(refused.contains("has 2 arguments, and had 3"), "{refused}");
        let loaded = saxpy::load(&file)?;
        let refused = loaded.call(1.0, &Float::zeros(3), Float::zeros(4)).unwrap_err().to_string();
        assert!(refused.contains("`y.width() == x.width()`"), "{refused}");
        let refused = saxpy::load("/nowhere/at/all").unwrap_err();
        assert!(refused.to_string().contains("/nowhere/at/all cannot be read"), "{refused}");
        Ok(())
    });
}

#[derive(Clone, Traverse)]
struct Counter {
    calls: u32,
    sum: Float,
}

#[jit]
fn counting(counter: &mut Counter, x: &Float) {
    counter.calls += 1;
    counter.sum += x;
}

// rows: N02
#[test]
fn what_a_file_cannot_have_is_refused_when_it_is_saved() {
    on_each_device(|| {
        let file = File::new("unsaved");
        let mut counter = Counter { calls: 0, sum: Float::placeholder(4) };
        let refused = counting::compile(&mut counter, &Float::placeholder(4))?.save(&file).unwrap_err();
        assert!(refused.to_string().contains("it changes lengths, variants or numbers in its arguments"), "{refused}");
        assert!(!file.0.exists());
        Ok(())
    });
}

#[test]
fn gradients_do_not_flow_through_a_file() {
    on_each_device(|| {
        let file = File::new("gradients");
        saxpy::compile(2.0, &Float::placeholder(4), Float::placeholder(4))?.save(&file)?;
        let loaded = saxpy::load(&file)?;
        let mut x = Float::from([1.0, 2.0]);
        x.enable_grad();
        let refused = loaded.call(2.0, &x, Float::from([3.0, 4.0])).unwrap_err().to_string();
        assert!(refused.contains("it was loaded from a file, which has no derivative"), "{refused}");
        assert_eq!(loaded.call(2.0, &x.detach(), Float::from([3.0, 4.0]))?.to_vec()?, [5.0, 8.0]);
        Ok(())
    });
}

/// Values that a program in another language does not pass: text, lengths, keys, and what the host decided by.
#[derive(Clone, Traverse)]
struct Model {
    name: String,
    layers: BTreeMap<String, Float>,
    shared: Arc<Float>,
    again: Arc<Float>,
    order: usize,
    unit: char,
}

#[jit]
fn modelled(
    model: &mut Model,
    text: &str,
    x: &Float,
    steps: isize,
    gain: Option<&Float>,
    none: Option<&Float>,
) -> Float {
    assert!(none.is_none());
    for layer in model.layers.values_mut() {
        *layer += model.name.len() as f32;
    }
    let sum = model.layers.values().fold(x.clone(), |sum, layer| sum + layer);
    let sum = if text == "an array of f32" { sum * model.order as f32 } else { sum };
    let sum = sum + steps as f32 * x;
    gain.map_or(sum.clone(), |gain| sum * gain) + &*model.shared - &*model.again
}

fn model(arrays: [Float; 3]) -> Model {
    let [a, b, shared] = arrays;
    let layers = BTreeMap::from([("an array of f32".to_owned(), a), ("b".to_owned(), b)]);
    let shared = Arc::new(shared);
    // The array at two places is passed once.
    let again = Arc::clone(&shared);
    Model { name: "é".into(), layers, shared, again, order: 3, unit: 'm' }
}

#[test]
fn texts_keys_and_shared_arrays_are_among_the_arguments_of_other_languages() {
    on_each_device(|| {
        let file = File::new("modelled");
        let arrays = |n: usize| [0, 1, 2].map(|k| Float::from((0..n).map(|i| (i + k) as f32).collect::<Vec<_>>()));
        let (mut own, x) = (model(arrays(5)), Float::placeholder(5));
        modelled::compile(&mut own, "an array of f32", &x, 2, Some(&Float::placeholder(5)), None)?.save(&file)?;
        let bytes = std::fs::read(&file).unwrap();
        // SAFETY: the file is ours.
        let executor = unsafe { UntypedFunction::from_bytes(&bytes, Device::Interpreter) }?;
        let known: Vec<(&str, bool, String)> = executor
            .arguments()
            .iter()
            .map(|one| {
                let is_changed = matches!(one.kind, ArgumentKind::Array { is_changed: true, .. });
                (one.path.as_str(), is_changed, one.ty.to_string())
            })
            .collect();
        let layer = |key: &str| format!("model.layers[{key:?}]");
        let (first, second) = (layer("an array of f32"), layer("b"));
        let float = || "f32".to_owned();
        let wanted = [(&*first, true), (&second, true), ("model.shared", false), ("x", false)];
        let wanted = wanted.into_iter().map(|(path, is_changed)| (path, is_changed, float()));
        let wanted = wanted.chain([("steps", false, "i64".to_owned()), ("gain", false, float())]);
        assert_eq!(known, wanted.collect::<Vec<_>>());
        let floats = |array: &[f32]| array.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let given = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [0.5, 2.0]].map(|array| floats(&array));
        let array = |at: usize| GivenArgument::Array(f32::TYPE, GivenArray { bytes: &given[at], shape: &[] });
        let steps = GivenArgument::Number(i64::TYPE, -3_i64 as u64);
        let results = executor.call(&[array(0), array(1), array(2), array(3), steps, array(4)])?;
        let read = |at: usize| {
            let mut bytes = vec![0; 8];
            results[at].read(&mut bytes)?;
            Ok::<_, jit::Error>(bytes)
        };
        assert_eq!((read(0)?, read(1)?), (floats(&[3.0, 4.0]), floats(&[5.0, 6.0])));
        let sum = |x: f32, a: f32, b: f32, gain: f32| ((x + a + b) * 3.0 + -3.0 * x) * gain;
        assert_eq!(read(2)?, floats(&[sum(7.0, 3.0, 5.0, 0.5), sum(8.0, 4.0, 6.0, 2.0)]));
        Ok(())
    });
}

/// A list.
#[derive(Clone, Traverse)]
struct Chain {
    value: Float,
    next: Option<Box<Chain>>,
}

/// A tree, in which a variant contains the type within other types.
#[derive(Clone, Traverse)]
enum Tree<T: jit::Element> {
    Leaf(Array<T>),
    Fork([Box<Self>; 2]),
    Named(BTreeMap<String, (u32, Vec<Tree<T>>)>),
}

#[jit]
fn grown(x: &Float, #[constexpr] length: usize) -> (Chain, Tree<f32>) {
    let end = Chain { value: x.clone(), next: None };
    let chain = (1..length).fold(end, |next, at| Chain { value: x + at as f32, next: Some(Box::new(next)) });
    let fork = Tree::Fork([Tree::Leaf(x * 2.0), Tree::Leaf(x * 3.0)].map(Box::new));
    (chain, Tree::Named(BTreeMap::from([("a".to_owned(), (7, vec![fork, Tree::Leaf(x.clone())]))])))
}

#[test]
fn types_that_contain_themselves_are_built() {
    on_each_device(|| {
        let file = File::new("grown");
        grown::compile(&Float::placeholder(4), 30)?.save(&file)?;
        let (chain, tree) = grown::load(&file)?.call(&Float::from([1.0, 2.0]))?;
        let mut found = vec![];
        let mut part = Some(&chain);
        while let Some(Chain { value, next }) = part {
            found.push(value.get(1)?);
            part = next.as_deref();
        }
        assert_eq!(found, (0..30).rev().map(|at| 2.0 + at as f32).collect::<Vec<_>>());
        let Tree::Named(named) = tree else { panic!("another variant") };
        let (7, [Tree::Fork([left, right]), Tree::Leaf(x)]) = (named["a"].0, &named["a"].1[..]) else {
            panic!("other parts")
        };
        let (Tree::Leaf(left), Tree::Leaf(right)) = (&**left, &**right) else { panic!("other leaves") };
        assert_eq!([left.to_vec()?, right.to_vec()?, x.to_vec()?], [vec![2.0, 4.0], vec![3.0, 6.0], vec![1.0, 2.0]]);
        Ok(())
    });
}

#[test]
fn long_lists_are_built_on_any_stack() -> Result<()> {
    let end = Chain { value: Float::zeros(1), next: None };
    let chain = (1..5000).fold(end, |next, _| Chain { value: Float::zeros(1), next: Some(Box::new(next)) });
    let signature = Signature::of(&chain)?;
    let built: Chain = signature.build(signature.zeros())?;
    assert_eq!(Signature::of(&built)?, signature);
    Ok(())
}
