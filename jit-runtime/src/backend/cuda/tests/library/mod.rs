//! Compares the kernels of library calls with the functions of the host, on the interpreter of PTX.

mod combine;
mod compress;
mod convolve;
mod fill;
mod matmul;
mod prefix;
mod sort;

use std::collections::{HashMap, HashSet};

use super::*;
use crate::backend::cuda::library::{Device, Plan, Routine, count_true, list_true};
use crate::config;
use crate::ir::ReduceOp;
use crate::launch::native::{self, Call, Operand, Sorted};
use crate::memory::Buffer;
use ptx_interpreter::{self, AtomicSums, Entry, Global, Launch};

/// A device that interprets PTX. Temporary memory has arbitrary contents, and ends where it was asked to end.
struct Emulator {
    target: Target,
    rng: Rng,
    global: Global,
    temporaries: Vec<Vec<u64>>,
    entries: HashMap<Routine, Entry>,
}

impl Emulator {
    fn new(target: Target, seed: u64) -> Emulator {
        let (global, temporaries, entries) = (Global::default(), Vec::new(), HashMap::new());
        Emulator { target, rng: Rng::new(seed), global, temporaries, entries }
    }

    /// Makes an operand accessible.
    fn add(&mut self, operand: &Operand) -> u64 {
        let address = operand.buffer.address();
        // SAFETY: the tests hold the operands while they run, and nothing else accesses them.
        unsafe { self.global.add(address, (operand.len * operand.ty.size_bytes()) as u64) };
        address
    }

    fn run(&mut self, plan: &Plan, inputs: &[Operand], outputs: &[Operand]) {
        let [inputs, outputs] = [inputs, outputs].map(|all| all.iter().map(|one| self.add(one)).collect::<Vec<_>>());
        if let Err(reason) = plan.run(self, &inputs, &outputs) {
            panic!("{reason}, in {plan:?}");
        }
    }
}

impl Device for Emulator {
    type Error = String;

    fn allocate(&mut self, size_bytes: u64) -> Result<u64, String> {
        // A multiple of 64 in memory that is aligned to 8.
        let mut memory: Vec<u64> = (0..size_bytes.div_ceil(8) + 8).map(|_| self.rng.bits()).collect();
        let address = (memory.as_mut_ptr() as u64).next_multiple_of(64);
        // SAFETY: the memory is as long as the device is.
        unsafe { self.global.add(address, size_bytes) };
        self.temporaries.push(memory);
        Ok(address)
    }

    fn launch(&mut self, routine: Routine, blocks: u32, parameters: &[u8]) -> Result<(), String> {
        let target = self.target;
        let entry = self.entries.entry(routine).or_insert_with(|| {
            let text = routine.module(target).to_string();
            let entries =
                ptx_interpreter::parse(&text, AtomicSums::Exact).unwrap_or_else(|error| panic!("{error} in\n{text}"));
            entries.into_iter().next().expect("an entry")
        });
        assert_eq!(entry.name, routine.name());
        let (threads, global, seed) = (routine.threads(), &self.global, self.rng.bits());
        ptx_interpreter::launch(&Launch { entry, blocks, threads, parameters, global, seed })
    }
}

fn operand(ty: Type, values: &[u64]) -> Operand {
    let bytes: Vec<u8> = values.iter().flat_map(|bits| bits.to_le_bytes()[..ty.size_bytes()].to_vec()).collect();
    Operand { buffer: Buffer::from_bytes(&bytes).unwrap(), ty, len: values.len() }
}

/// The elements. All NaNs are the same.
fn values(operand: &Operand) -> Vec<u64> {
    let mut bytes = vec![0; operand.len * operand.ty.size_bytes()];
    operand.buffer.read(0, &mut bytes).unwrap();
    let value = |bytes: &[u8]| bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    let ty = operand.ty;
    let is_nan = |bits: u64| ty.is_float() && f64::from_bits(scalar::cast(ty, Type::F64, bits)).is_nan();
    bytes.chunks(ty.size_bytes()).map(value).map(|bits| if is_nan(bits) { u64::MAX } else { bits }).collect()
}

/// The outputs of a call on the host.
fn on_host(call: Call, inputs: &[Operand], outputs: &[(Type, usize)]) -> Vec<Operand> {
    let outputs: Vec<Operand> = outputs.iter().map(|&(ty, len)| Operand::alloc(ty, len).unwrap()).collect();
    let launch = native::Launch {
        device: config::Device::Cpu,
        call,
        inputs: inputs.to_vec(),
        outputs: outputs.clone(),
        site: None,
    };
    native::launch(launch).unwrap();
    outputs
}

/// Runs a call here and on the host, and compares the outputs.
fn check_call(call: Call, inputs: &[Operand], outputs: &[(Type, usize)], seed: u64) {
    let wanted = on_host(call, inputs, outputs);
    let noise = |&(ty, len): &(Type, usize)| operand(ty, &vec![0xa5a5_a5a5_a5a5_a5a5 & ty.bit_mask(); len]);
    let outputs: Vec<Operand> = outputs.iter().map(noise).collect();
    let first = inputs.first().unwrap_or(&outputs[0]);
    compare(&Plan::of(call, first.ty, first.len).unwrap(), inputs, &outputs, &wanted, &format!("{call:?}"), seed);
}

/// Runs a plan, and compares the outputs.
fn compare(plan: &Plan, inputs: &[Operand], outputs: &[Operand], wanted: &[Operand], what: &str, seed: u64) {
    let target = TARGETS[seed as usize % TARGETS.len()];
    Emulator::new(target, seed).run(plan, inputs, outputs);
    for (number, (output, wanted)) in outputs.iter().zip(wanted).enumerate() {
        let (got, wanted) = (values(output), values(wanted));
        if let Some(index) = (0..got.len()).find(|index| got[*index] != wanted[*index]) {
            let (got, wanted) = (got[index], wanted[index]);
            panic!("{what}, seed {seed}, output {number}, element {index}: {got:#x} instead of {wanted:#x}");
        }
    }
}

/// Every call, in each of its forms, on each type.
fn calls() -> impl Iterator<Item = (Call, Type)> {
    Type::ALL.into_iter().flat_map(|ty| {
        let calls = prefix::calls(ty)
            .chain(sort::calls())
            .chain(matmul::calls(ty))
            .chain(convolve::calls(ty))
            .chain([Call::Fill(0)]);
        calls.map(move |call| (call, ty))
    })
}

/// The kernels of plans, without repetition.
fn routines_of(plans: impl Iterator<Item = Plan>) -> Vec<Routine> {
    let mut known = HashSet::new();
    let all = plans.flat_map(|plan| plan.steps).map(|step| step.routine);
    all.filter(|routine| known.insert(*routine)).collect()
}

/// All kernels of library calls.
pub(super) fn routines() -> Vec<Routine> {
    let lens = [1000, 100_000];
    let plans = calls().flat_map(|(call, ty)| lens.map(|len| Plan::of(call, ty, len).unwrap()));
    let combined = prefix::operations().map(|(op, ty)| Plan::combine(op, ty, 10, 10));
    routines_of(plans.chain(combined).chain([count_true(1000).0, list_true(1000)]))
}

/// Kernels of library calls for the table of registers.
pub(super) fn examples() -> Vec<Routine> {
    let calls = calls().filter(|(call, ty)| match call {
        Call::Prefix(prefix) => prefix.op == ReduceOp::Add && !prefix.is_exclusive && !prefix.is_reverse,
        Call::MatMul(product) => !product.is_a_transposed && !product.is_b_transposed,
        Call::Convolve(_) => true,
        Call::Sort(sort) => !sort.is_descending && sort.gives == Sorted::Both,
        _ => *ty == Type::F32,
    });
    let types = [Type::F32, Type::F64, Type::U32];
    let calls = calls.filter(|(_, ty)| types.contains(ty));
    let plans = calls.map(|(call, ty)| Plan::of(call, ty, 100_000).unwrap());
    let combined = Plan::combine(ReduceOp::Add, Type::F32, 10, 10);
    routines_of(plans.chain([combined, count_true(1000).0, list_true(1000)]))
}

#[test]
fn each_routine_is_read_back_from_its_key() {
    for routine in routines() {
        assert_eq!(Routine::of_key(&routine.key()), Some(routine));
    }
    assert_eq!(Routine::of_key("Fill("), None);
}
