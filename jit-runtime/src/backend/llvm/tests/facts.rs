//! The results of the analyses of a kernel, and the accesses and divisions in its code, as text for file tests.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::analysis::{Analysis, Shape};
use super::super::hints::Hint;
use super::super::interleave;
use super::*;
use crate::ir::{Inst, Op, TOP, Value};

/// A processor with packets of 8 lanes, whatever processor runs the tests.
fn target() -> Target {
    let features = "+sse4.2,+popcnt,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe";
    Target::new(Architecture::X86_64, "x86-64-v3".into(), features.into())
}

/// The results of the analyses, one line for each value and access, and the number of packets.
pub(crate) fn facts(kernel: &Kernel) -> String {
    let target = target();
    let analysis = Analysis::new(kernel, target.lanes);
    let mut text = String::new();
    region(&mut text, kernel, &analysis, TOP, 0);
    for (number, row) in analysis.rows.rows.iter().enumerate() {
        let columns: Vec<String> = row.columns.iter().map(|column| list(column)).collect();
        let _ =
            writeln!(text, "row {number}: {} from {} {:+}: {}", row.buffer, row.index, row.start, columns.join(" | "));
    }
    let packets = |effort| interleave::choose(kernel, &target, CodeOptions { effort, ..CodeOptions::default() });
    let (quick, thorough) = (packets(crate::backend::Effort::Quick), packets(crate::backend::Effort::Thorough));
    let _ = writeln!(text, "packets: {quick}, with more effort {thorough}");
    text
}

fn list(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(" ")
}

/// The instructions of a region, and the facts about each.
fn region(text: &mut String, kernel: &Kernel, analysis: &Analysis, id: crate::ir::RegionId, depth: usize) {
    let region_ = kernel.region(id);
    for &param in &region_.params {
        let _ = writeln!(text, "{:depth$}{param}: {}", "", shape(analysis, param));
    }
    for (position, inst) in region_.insts.iter().enumerate() {
        let code = kernel.display_inst(inst);
        let code = code.lines().next().unwrap_or_default().trim_end();
        let mut facts: Vec<String> = inst.values().map(|value| shape(analysis, value).to_owned()).collect();
        facts.extend(access(kernel, analysis, id, inst));
        if id == TOP && analysis.hoisted[position] {
            facts.push("once per launch".to_owned());
        }
        let _ = writeln!(text, "{:depth$}{code}   // {}", "", facts.join(", "));
        inst.op.regions().for_each(|nested| region(text, kernel, analysis, nested, depth + 4));
    }
}

fn shape(analysis: &Analysis, value: Value) -> &'static str {
    match (analysis.shape(value), analysis.hints[value.index()]) {
        (Shape::Uniform, _) => "uniform",
        (Shape::Packet, _) => "uniform in a packet",
        (Shape::Linear { aligned: true }, _) => "consecutive, aligned",
        (Shape::Linear { aligned: false }, _) => "consecutive",
        (Shape::Varying, Some(Hint::Shared)) => "probably uniform in a packet",
        (Shape::Varying, Some(Hint::Consecutive)) => "probably consecutive",
        (Shape::Varying, Some(Hint::Descending)) => "probably consecutive, descending",
        (Shape::Varying, None) => "varying",
    }
}

/// The facts about the index of an access.
fn access(kernel: &Kernel, analysis: &Analysis, region: crate::ir::RegionId, inst: &Inst) -> Option<String> {
    let (Op::Gather { buffer, index, .. } | Op::Scatter { buffer, index, .. }) = inst.op else { return None };
    let range = if analysis.ranges.is_proven(region, buffer, index) { "in range" } else { "checked" };
    let part = analysis.index_pattern(kernel, index, kernel.param(buffer).ty(), target().lanes as u32);
    let is_alone = analysis.rows.role(inst.first).is_none() && analysis.streams.number(inst.first).is_none();
    let looks = is_alone && analysis.index_hint(kernel, index).is_some();
    let hint = match part {
        _ if !matches!(inst.op, Op::Gather { .. }) => String::new(),
        Some(part) => format!(", reads {} elements at once", part.part(target().lanes as u32).count),
        None if looks => ", looks at run time".to_owned(),
        None => String::new(),
    };
    let stream = if analysis.streams.number(inst.first).is_some() { ", advances by one" } else { "" };
    Some(format!("{range}{hint}{stream}"))
}

/// The number of accesses of each kind, divisions and switches in the LLVM IR of a kernel; none without libLLVM.
pub(crate) fn code(kernel: &Kernel) -> Option<String> {
    if !crate::tested_devices::has_llvm() {
        return None;
    }
    let mut kernel = kernel.clone();
    passes::optimise(&mut kernel);
    let text = compiler::llvm_text(&kernel, CodeOptions::default(), &target()).unwrap();
    let mut counts = BTreeMap::new();
    for kind in text.lines().filter_map(kind) {
        *counts.entry(kind).or_insert(0) += 1;
    }
    Some(counts.into_iter().map(|(kind, count)| format!("{count} x {kind}\n")).collect())
}

/// The instruction and its type, if it is of a kind that is counted.
fn kind(line: &str) -> Option<String> {
    let line = line.trim();
    let code = line.split_once(" = ").map_or(line, |(_, code)| code);
    let code = code.strip_prefix("tail ").unwrap_or(code);
    let (name, rest) = code.split_once(' ')?;
    match name {
        // The table of arguments.
        "load" if rest.starts_with("ptr") => None,
        "load" => Some(format!("load {}", rest.split_once(',')?.0)),
        "store" => Some(format!("store {}", type_of(rest)?)),
        "udiv" | "sdiv" | "urem" | "srem" | "fdiv" | "frem" => Some(format!("{name} {}", type_of(rest)?)),
        "switch" => Some("switch".to_owned()),
        "atomicrmw" | "cmpxchg" => Some(name.to_owned()),
        "call" => {
            let function = rest.split_once('@')?.1.split_once('(')?.0;
            function.starts_with("llvm.masked").then(|| format!("call {function}"))
        }
        _ => None,
    }
}

/// The type at the start of a text: a vector type has spaces.
fn type_of(text: &str) -> Option<&str> {
    if text.starts_with('<') { Some(&text[..=text.find('>')?]) } else { Some(text.split_once(' ')?.0) }
}
