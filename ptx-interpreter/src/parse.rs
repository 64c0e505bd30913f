//! The parser: text of a module → entries.

use std::collections::HashMap;

use super::instruction::{Instruction, Operand, Special, decode};
use super::{AtomicSums, Entry};

/// The entries of a module.
///
/// # Errors
///
/// Text that the interpreter does not know, with its place.
pub fn parse(text: &str, sums: AtomicSums) -> Result<Vec<Entry>, String> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, next: 0, sums };
    parser.header()?;
    let mut entries = Vec::new();
    while parser.next < tokens.len() {
        entries.push(parser.entry()?);
    }
    Ok(entries)
}

fn tokens(text: &str) -> Result<Vec<&str>, String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "._%$-".contains(c);
    let mut tokens = Vec::new();
    for line in text.lines() {
        let mut rest = line.split("//").next().unwrap_or_default().trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match is_word(first) {
                true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                false if ",;:[](){}<>+@!".contains(first) => 1,
                false => return Err(format!("`{first}` in `{line}`")),
            };
            let (token, others) = rest.split_at(length);
            tokens.push(token);
            rest = others.trim_start();
        }
    }
    Ok(tokens)
}

struct Parser<'a> {
    tokens: &'a [&'a str],
    next: usize,
    sums: AtomicSums,
}

/// What the names in a body stand for.
#[derive(Default)]
struct Names {
    /// For each class of registers: the first position and the number.
    registers: HashMap<String, (usize, usize)>,
    labels: HashMap<String, usize>,
    tables: HashMap<String, Vec<String>>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a str {
        self.tokens.get(self.next).copied().unwrap_or("")
    }

    fn take(&mut self) -> &'a str {
        self.next += 1;
        self.tokens.get(self.next - 1).copied().unwrap_or("")
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        match self.take() {
            found if found == token => Ok(()),
            found => Err(format!("`{found}` instead of `{token}`, after {:?}", self.context())),
        }
    }

    fn context(&self) -> &[&'a str] {
        let end = self.next.min(self.tokens.len());
        &self.tokens[end.saturating_sub(10)..end]
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        let token = self.take();
        token.parse().map_err(|_| format!("`{token}` is no number, after {:?}", self.context()))
    }

    fn header(&mut self) -> Result<(), String> {
        self.expect(".version")?;
        let version = self.take();
        self.expect(".target")?;
        let target = self.take();
        self.expect(".address_size")?;
        self.expect("64")?;
        let is_known = version.contains('.') && target.starts_with("sm_");
        if is_known { Ok(()) } else { Err(format!("the head names {version} and {target}")) }
    }

    fn entry(&mut self) -> Result<Entry, String> {
        self.expect(".visible")?;
        self.expect(".entry")?;
        let mut entry = Entry { name: self.take().to_owned(), ..Entry::default() };
        self.expect("(")?;
        while self.peek() != ")" {
            self.parameter(&mut entry)?;
        }
        self.expect(")")?;
        if self.peek() == ".reqntid" {
            self.take();
            entry.threads = Some(self.number()?);
        }
        self.expect("{")?;
        self.body(&mut entry)?;
        Ok(entry)
    }

    fn parameter(&mut self, entry: &mut Entry) -> Result<(), String> {
        self.expect(".param")?;
        let size = size_bytes(self.take())?;
        let offset = entry.parameter_bytes.next_multiple_of(size);
        entry.parameters.insert(self.take().to_owned(), offset);
        entry.parameter_bytes = offset + size;
        if self.peek() == "," {
            self.take();
        }
        Ok(())
    }

    fn body(&mut self, entry: &mut Entry) -> Result<(), String> {
        let mut names = Names::default();
        let mut statements = Vec::new();
        while self.peek() != "}" {
            match self.peek() {
                ".reg" => self.registers(entry, &mut names)?,
                ".local" | ".shared" => self.variable(entry)?,
                _ if self.tokens.get(self.next + 1) == Some(&":") => self.label(&mut names, statements.len())?,
                _ => statements.push(self.statement()?),
            }
        }
        self.expect("}")?;
        let instructions = statements.iter().map(|statement| instruction(statement, entry, &names, self.sums));
        entry.code = instructions.collect::<Result<_, _>>()?;
        Ok(())
    }

    fn registers(&mut self, entry: &mut Entry, names: &mut Names) -> Result<(), String> {
        self.take();
        let mask = match self.take() {
            ".pred" => 1,
            ".b16" => u64::from(u16::MAX),
            ".b32" | ".f32" => u64::from(u32::MAX),
            ".b64" | ".f64" => u64::MAX,
            other => return Err(format!("registers of type `{other}`")),
        };
        let letters = self.take().to_owned();
        self.expect("<")?;
        let count = self.number()?;
        self.expect(">")?;
        self.expect(";")?;
        let first = entry.register_masks.len();
        names.registers.insert(letters, (first, count));
        entry.register_masks.resize(first + count, mask);
        Ok(())
    }

    fn variable(&mut self, entry: &mut Entry) -> Result<(), String> {
        let is_local = self.take() == ".local";
        self.expect(".align")?;
        let alignment: usize = self.number()?;
        self.expect(".b8")?;
        let name = self.take().to_owned();
        self.expect("[")?;
        let size: usize = self.number()?;
        self.expect("]")?;
        self.expect(";")?;
        let used = if is_local { &mut entry.local_bytes } else { &mut entry.shared_bytes };
        let offset = used.next_multiple_of(alignment);
        *used = offset + size;
        entry.variables.insert(name, offset as u64);
        Ok(())
    }

    fn label(&mut self, names: &mut Names, position: usize) -> Result<(), String> {
        let name = self.take().to_owned();
        self.expect(":")?;
        if self.peek() != ".branchtargets" {
            names.labels.insert(name, position);
            return Ok(());
        }
        let targets = self.statement()?;
        let targets = targets[1..].iter().filter(|token| **token != ",").map(|&token| token.to_owned());
        names.tables.insert(name, targets.collect());
        Ok(())
    }

    /// The tokens up to the next semicolon.
    fn statement(&mut self) -> Result<&'a [&'a str], String> {
        let rest = &self.tokens[self.next..];
        let end = rest.iter().position(|token| *token == ";").ok_or("the text ends within an instruction")?;
        self.next += end + 1;
        Ok(&rest[..end])
    }
}

fn instruction(tokens: &[&str], entry: &Entry, names: &Names, sums: AtomicSums) -> Result<Instruction, String> {
    let text = tokens.join(" ");
    let fail = |reason: String| format!("{reason} in `{text}`");
    let (guard, rest) = match tokens {
        ["@", "!", predicate, rest @ ..] => (Some((register(predicate, names).map_err(fail)?, false)), rest),
        ["@", predicate, rest @ ..] => (Some((register(predicate, names).map_err(fail)?, true)), rest),
        rest => (None, rest),
    };
    let (opcode, rest) = rest.split_first().ok_or_else(|| fail("no opcode".to_owned()))?;
    let operands = separated(rest).into_iter().map(|tokens| operand(tokens, entry, names));
    let operands = operands.collect::<Result<_, _>>().map_err(fail)?;
    let operation = decode(opcode, sums).ok_or_else(|| fail("an instruction that is not known".to_owned()))?;
    Ok(Instruction { guard, operation, operands, text })
}

/// The parts between commas that are not in braces.
fn separated<'a, 'b>(tokens: &'a [&'b str]) -> Vec<&'a [&'b str]> {
    let mut is_inside = false;
    let is_separator = |token: &&str| {
        is_inside = (is_inside || *token == "{") && *token != "}";
        *token == "," && !is_inside
    };
    tokens.split(is_separator).filter(|tokens| !tokens.is_empty()).collect()
}

fn register(name: &str, names: &Names) -> Result<usize, String> {
    let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (letters, number) = name.split_at(digits);
    let (first, count) = names.registers.get(letters).ok_or_else(|| format!("`{name}` is not declared"))?;
    match number.parse::<usize>() {
        Ok(number) if number < *count => Ok(first + number),
        _ => Err(format!("`{name}` is not declared")),
    }
}

fn operand(tokens: &[&str], entry: &Entry, names: &Names) -> Result<Operand, String> {
    let label = |name: &str| names.labels.get(name).copied().ok_or_else(|| format!("`{name}` is no label"));
    match tokens {
        ["{", inner @ .., "}"] => {
            let elements = separated(inner).into_iter().map(|tokens| operand(tokens, entry, names));
            Ok(Operand::Vector(elements.collect::<Result<_, _>>()?))
        }
        ["[", base, "]"] => memory(base, 0, entry, names),
        ["[", base, "+", offset, "]"] => {
            memory(base, offset.parse().map_err(|_| format!("offset `{offset}`"))?, entry, names)
        }
        [name] if name.starts_with('%') => match Special::named(name) {
            Some(special) => Ok(Operand::Special(special)),
            None => Ok(Operand::Register(register(name, names)?)),
        },
        [name] if entry.variables.contains_key(*name) => Ok(Operand::Literal(entry.variables[*name])),
        [name] if names.labels.contains_key(*name) => Ok(Operand::Target(label(name)?)),
        [name] if names.tables.contains_key(*name) => {
            Ok(Operand::Table(names.tables[*name].iter().map(|name| label(name)).collect::<Result<_, _>>()?))
        }
        [number] => literal(number).map(Operand::Literal).ok_or_else(|| format!("operand `{number}`")),
        _ => Err(format!("operand {tokens:?}")),
    }
}

fn memory(base: &str, offset: u64, entry: &Entry, names: &Names) -> Result<Operand, String> {
    if let Some(parameter) = entry.parameters.get(base) {
        return Ok(Operand::Parameter(parameter + offset as usize));
    }
    Ok(Operand::Memory(register(base, names)?, offset))
}

fn literal(text: &str) -> Option<u64> {
    if let Some(bits) = text.strip_prefix("0f") {
        return u32::from_str_radix(bits, 16).ok().filter(|_| bits.len() == 8).map(u64::from);
    }
    if let Some(bits) = text.strip_prefix("0d") {
        return u64::from_str_radix(bits, 16).ok().filter(|_| bits.len() == 16);
    }
    text.parse::<i64>().ok().map(i64::cast_unsigned)
}

fn size_bytes(ty: &str) -> Result<usize, String> {
    match ty {
        ".u8" | ".s8" => Ok(1),
        ".u16" | ".s16" | ".b16" => Ok(2),
        ".u32" | ".s32" | ".f32" => Ok(4),
        ".u64" | ".s64" | ".f64" => Ok(8),
        _ => Err(format!("parameters of type `{ty}`")),
    }
}
