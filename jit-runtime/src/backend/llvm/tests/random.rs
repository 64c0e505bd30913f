//! Random kernels.

use super::*;
use crate::backend::{Effort, loader};
use crate::ir::random::Options;

fn run(seeds: std::ops::Range<u64>, options: &Options) {
    let variants = variants();
    for seed in seeds {
        let case = Case::new(seed, options);
        for (position, target) in variants.iter().enumerate() {
            // A kernel for each variant would take long: each seed tests a few.
            if (position as u64 + seed).is_multiple_of(3) {
                let effort = if seed % 5 < 2 { Effort::Thorough } else { Effort::Quick };
                let options = CodeOptions { streaming_stores: seed % 2 == 0, effort, ..CodeOptions::default() };
                let verified = target.clone().with_verified_accesses();
                check(&case, if seed % 2 == 0 { target } else { &verified }, options)
                    .unwrap_or_else(|error| panic!("seed {seed}, {} x{:?}: {error}", target.cpu, target.interleave));
            }
        }
    }
}

#[test]
fn expressions() {
    run(0..60, &Options::expressions());
}

#[test]
fn long_expressions_with_one_body() {
    run(100..110, &Options { operations: 500, ..Options::expressions() });
}

#[test]
fn indexed_memory() {
    run(200..240, &Options { indexed_memory: true, ..Options::expressions() });
}

#[test]
fn reductions() {
    run(300..340, &Options { reductions: true, operations: 10, ..Options::expressions() });
}

#[test]
fn loops_and_branches() {
    run(400..440, &Options::structured());
}

/// Packets with more lanes than those of other kernels.
#[test]
fn narrow_types() {
    narrow([8, 6, 6, 12]);
}

/// Kernels of bytes, and of numbers of up to 16 bits: so many of each kind.
fn narrow([expressions, reductions, indexed, structured]: [u64; 4]) {
    for most_bytes in [1, 2] {
        let plain = Options { most_bytes, ..Options::expressions() };
        run(10_000..10_000 + expressions, &plain);
        run(20_000..20_000 + reductions, &Options { reductions: true, ..plain });
        run(30_000..30_000 + indexed, &Options { indexed_memory: true, ..plain });
        run(40_000..40_000 + structured, &Options { most_bytes, ..Options::structured() });
    }
}

#[test]
#[ignore = "takes minutes"]
fn many() {
    Options::many().into_iter().for_each(|(seeds, options)| run(seeds, &options));
    narrow([500, 500, 1000, 2000]);
}

/// Code for the other architecture cannot run here, but it must be generated, and its format must be loadable.
#[test]
fn arm_objects_need_only_what_the_loader_does() {
    use ::object::{Object, ObjectSection, ObjectSymbol, RelocationFlags};
    if targets().is_empty() {
        return;
    }
    let target = Target::new(Architecture::Aarch64, "generic".into(), "+neon".into());
    assert_eq!(target.lanes, 4);
    for seed in 500..520 {
        let mut kernel = Case::new(seed, &Options::structured()).kernel;
        crate::ir::passes::optimise(&mut kernel);
        let bytes = compiler::object_file(&kernel, CodeOptions::default(), &target).unwrap();
        let file = ::object::File::parse(&*bytes).unwrap();
        let names =
            file.symbols().filter(|symbol| symbol.is_undefined()).map(|symbol| symbol.name().unwrap().to_owned());
        let unknown: Vec<String> = names.filter(|name| !name.is_empty() && !loader::is_known_function(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        for section in file.sections().filter(|section| section.name() != Ok(".eh_frame")) {
            for (_, relocation) in section.relocations() {
                let RelocationFlags::Elf { r_type, .. } = relocation.flags() else { panic!("not ELF") };
                loader::relocate::aarch64::apply(r_type.0, 0, 0, 0)
                    .map_err(|reason| format!("{seed}: {reason}"))
                    .map(drop)
                    .unwrap();
            }
        }
    }
}

#[test]
fn every_width_around_a_packet() {
    for target in variants() {
        for width in [0, 1, target.lanes - 1, target.lanes, target.lanes + 1, 4 * target.lanes + 3, 1000] {
            let options = Options { width: Some(width), operations: 6, ..Options::expressions() };
            check(&Case::new(7, &options), &target, CodeOptions::default()).unwrap();
        }
    }
}

#[test]
fn a_kernel_with_very_many_reductions() {
    let sums = 70;
    let params: Vec<String> = (1..=sums).map(|sum| format!("p{sum}: reduce f32")).collect();
    let mut text = format!("kernel(p0: read f32, {}) {{ v0: f32 = load p0 ", params.join(", "));
    for sum in 1..=sums {
        text += &format!("v{sum}: f32 = add v{}, v0 reduce.add p{sum}, v{sum} ", sum - 1);
    }
    let kernel = crate::ir::parse(&(text + "}")).unwrap();
    let width = 1003;
    let column = (0..width).flat_map(|lane: u32| (lane as f32 / 7.0).to_le_bytes()).collect();
    let mut inputs = vec![crate::ir::random::Input::Buffer(column)];
    inputs.resize(sums + 1, crate::ir::random::Input::Buffer(vec![0; 4]));
    let case = Case { seed: 0, kernel, width: width as usize, inputs };
    for target in variants() {
        check(&case, &target, CodeOptions::default()).unwrap();
    }
}
