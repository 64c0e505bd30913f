//! Whether a function is in an `impl` block or a trait.
//!
//! Its tokens do not show that if it has no `self` and does not mention `Self`, and no item that names a type may be in
//! such a block. So the text around it is read from the source file. Where there is none, because the function was
//! generated, it is taken to be in a module.

use proc_macro2::Span;

/// Returns whether a token of the program is in an `impl` block or a trait.
pub(super) fn is_in_block_of_items(token: Span) -> bool {
    if !proc_macro::is_available() {
        return false;
    }
    let token = token.unwrap();
    let Some(text) = token.local_file().and_then(|file| std::fs::read_to_string(file).ok()) else { return false };
    is_inside(&text, token.line(), token.column())
}

/// Returns whether a place in a text, by its line and column, both from 1, is in an `impl` block or a trait, and in no
/// other braces inside of it.
fn is_inside(text: &str, line: usize, column: usize) -> bool {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    let start: usize = lines.map(str::len).sum();
    let after = text[start..].char_indices().nth(column.saturating_sub(1)).map_or(0, |(at, _)| at);
    let mut blocks = Vec::new();
    let mut head = String::new();
    let mut rest = &text[..start + after];
    while let Some(next) = rest.chars().next() {
        let skipped = comment_or_literal(rest);
        if skipped > 0 {
            head.push(' ');
            rest = &rest[skipped..];
            continue;
        }
        match next {
            '{' => {
                // A constant among generic arguments is part of the head: `impl A<{ 1 }> for B {`.
                let is_argument = head.trim_end().ends_with(['<', ',']);
                let before = std::mem::take(&mut head);
                blocks.push(if is_argument { (false, before) } else { (is_head_of_items(&before), String::new()) });
            }
            '}' => head = blocks.pop().map(|(_, before)| before).unwrap_or_default(),
            ';' => head.clear(),
            other => head.push(other),
        }
        rest = &rest[next.len_utf8()..];
    }
    blocks.last().is_some_and(|(is_of_items, _)| *is_of_items)
}

/// Returns whether the text before a brace begins an `impl` block or a trait. `fn f() -> impl Trait` does not.
fn is_head_of_items(head: &str) -> bool {
    let mut words = head.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let is_keyword = |word: &&str| ["impl", "trait", "fn", "mod", "struct", "enum", "match", "if"].contains(word);
    matches!(words.find(is_keyword), Some("impl" | "trait"))
}

/// Returns the length of the comment or literal that a text begins with; 0 if there is none.
fn comment_or_literal(text: &str) -> usize {
    let to = |end: Option<usize>| end.unwrap_or(text.len());
    if text.starts_with("//") {
        return to(text.find('\n'));
    }
    if text.starts_with("/*") {
        return nested_comment(text);
    }
    if let Some(raw) = text.strip_prefix('r').filter(|raw| raw.starts_with(['"', '#'])) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let begin = 1 + hashes + 1;
            return to(text[begin..].find(&end).map(|at| begin + at + end.len()));
        }
    }
    if text.starts_with('"') {
        return quoted(text);
    }
    // A lifetime is no literal.
    let mut letters = text.char_indices();
    match (letters.next(), letters.next(), letters.next()) {
        (Some((_, '\'')), Some((_, '\\')), _) => quoted(text),
        (Some((_, '\'')), Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

/// Returns the length of a literal that ends with the letter that it begins with.
fn quoted(text: &str) -> usize {
    let quote = text.chars().next();
    let mut is_escaped = true; // the first quote
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if Some(letter) == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a comment in which others may nest.
fn nested_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let (step, change) = match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (2, 1),
            [b'*', b'/', ..] => (2, -1),
            _ => (1, 0),
        };
        at += step;
        depth = depth.saturating_add_signed(change);
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::is_inside;

    /// Whether the place of `HERE` is inside.
    fn at_here(text: &str) -> bool {
        let at = text.find("HERE").expect("the place");
        let line = text[..at].matches('\n').count() + 1;
        let column = text[..at].chars().rev().take_while(|letter| *letter != '\n').count() + 1;
        is_inside(text, line, column)
    }

    #[test]
    fn blocks_of_items_are_found_in_the_text() {
        for inside in [
            "impl T { HERE",
            "impl<T: A> B<{ 1 }> for C\nwhere T: D {\n  fn a() { if x { } }\n  HERE",
            "pub unsafe trait T: A { fn b() -> u8; HERE",
            "mod m { impl T { /* } /* } */ } */ const X: &str = \"}\"; const Y: char = '}'; HERE",
            "impl T { const A: &str = r#\"\"}\"#; // }\n HERE",
            "impl<'a> T<'a> { const Q: char = '\\''; HERE",
            "impl Größe { const Ü: char = '}'; HERE",
        ] {
            assert!(at_here(inside), "{inside}");
        }
        for outside in [
            "HERE",
            "mod m { HERE",
            "impl T { fn f() { HERE",
            "fn f() -> impl Trait { HERE",
            "fn f(x: impl Fn()) { HERE",
            "impl T { } HERE",
            "trait A { } mod b { HERE",
            "struct S { a: u8 } HERE",
            "// impl T {\n HERE",
            "const A: &str = \"impl T {\"; HERE",
        ] {
            assert!(!at_here(outside), "{outside}");
        }
    }
}
