//! Smaller programs that still fail.

use super::program::{Block, Mode, Program, Statement};

/// A program that fails, such that none of its next smaller ones does.
pub(super) fn smallest(mut program: Program, fails: impl Fn(&Program) -> bool) -> Program {
    'smaller: loop {
        for body in smaller(&program.body) {
            let candidate = Program { body, ..program.clone() };
            if fails(&candidate) {
                program = candidate;
                continue 'smaller;
            }
        }
        return program;
    }
}

/// Blocks with one statement less, or less of one statement.
fn smaller(block: &Block) -> Vec<Block> {
    let with = |index: usize, replacement: Block| {
        let mut block = block.clone();
        block.splice(index..=index, replacement);
        block
    };
    let mut blocks: Vec<Block> = (0..block.len()).map(|index| with(index, Vec::new())).collect();
    for (index, statement) in block.iter().enumerate() {
        blocks.extend(replacements(statement).into_iter().map(|replacement| with(index, replacement)));
    }
    blocks
}

/// The possible replacements of a statement: its inner statements, or itself with fewer of them.
fn replacements(statement: &Statement) -> Vec<Block> {
    match statement {
        Statement::If(condition, then, otherwise) => {
            let less_then = smaller(then).into_iter().map(|then| (then, otherwise.clone()));
            let less_otherwise = smaller(otherwise).into_iter().map(|otherwise| (then.clone(), otherwise));
            let less = less_then.chain(less_otherwise);
            let less = less.map(|(then, otherwise)| vec![Statement::If(condition.clone(), then, otherwise)]);
            [then.clone(), otherwise.clone()].into_iter().chain(less).collect()
        }
        Statement::While(mode, iterations, condition, body) => {
            let with = |body| vec![Statement::While(*mode, *iterations, condition.clone(), body)];
            let recorded = vec![Statement::While(Mode::Recorded, *iterations, condition.clone(), body.clone())];
            let recorded = (*mode != Mode::Recorded && !evaluates(body)).then_some(recorded);
            [body.clone()].into_iter().chain(recorded).chain(smaller(body).into_iter().map(with)).collect()
        }
        Statement::For(range, to, bounds, body) => {
            let less = smaller(body).into_iter();
            let less = less.map(|body| vec![Statement::For(*range, *to, bounds.clone(), body)]);
            [body.clone()].into_iter().chain(less).collect()
        }
        Statement::Match(value, blocks) => {
            let less = each_smaller(blocks).map(|blocks| vec![Statement::Match(value.clone(), blocks)]);
            blocks.iter().cloned().chain(less).collect()
        }
        Statement::Run(index, blocks) => {
            let less = each_smaller(blocks).map(|blocks| vec![Statement::Run(index.clone(), blocks)]);
            blocks.iter().cloned().chain(less).collect()
        }
        Statement::Loop(iterations, body) => {
            let less = smaller(body).into_iter().map(|body| vec![Statement::Loop(*iterations, body)]);
            [body.clone()].into_iter().chain(less).collect()
        }
        _ => Vec::new(),
    }
}

/// The blocks with one of them smaller.
fn each_smaller<const N: usize>(blocks: &[Block; N]) -> impl Iterator<Item = [Block; N]> {
    (0..N).flat_map(move |index| {
        smaller(&blocks[index]).into_iter().map(move |block| {
            let mut blocks = blocks.clone();
            blocks[index] = block;
            blocks
        })
    })
}

/// Whether a loop in a block is evaluated, so that none around it may be recorded.
fn evaluates(block: &Block) -> bool {
    block.iter().any(|statement| match statement {
        Statement::While(mode, .., body) => *mode != Mode::Recorded || evaluates(body),
        _ => false,
    })
}
