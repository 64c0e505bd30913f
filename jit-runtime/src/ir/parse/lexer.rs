//! Splits text into tokens with their positions.

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Letters, digits, `_` and `.`: names, numbers and operations; a number may start with a sign.
    Word,
    /// One other character.
    Mark,
    /// Behind the last token.
    End,
}

/// A token and where it starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) line: usize,
    pub(super) column: usize,
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '.'
}

/// Splits text into tokens; the last one is [`Kind::End`]. White space and comments (`//` to the end of the line) are
/// only separators.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let content = content.split_once("//").map_or(content, |(before, _)| before);
        let mut rest = content.trim_start();
        while let Some(first) = rest.chars().next() {
            let column = content[..content.len() - rest.len()].chars().count() + 1;
            let length = token_length(rest, first);
            let kind = if is_word(first) || length > first.len_utf8() { Kind::Word } else { Kind::Mark };
            tokens.push(Token { kind, text: &rest[..length], line: line + 1, column });
            rest = rest[length..].trim_start();
        }
    }
    let line = text.lines().count().max(1);
    let column = text.lines().last().map_or(0, |line| line.chars().count()) + 1;
    tokens.push(Token { kind: Kind::End, text: "", line, column });
    tokens
}

/// Bytes of the token at the start of the text: a word with an optional sign (also within exponents), or one character.
fn token_length(text: &str, first: char) -> usize {
    let start = if matches!(first, '-' | '+') { 1 } else { 0 };
    let is_number = text[start..].starts_with(|c: char| c.is_ascii_digit()) && !text[start..].starts_with("0x");
    let mut length = start;
    let mut previous = ' ';
    for character in text[start..].chars() {
        let is_exponent_sign = is_number && previous == 'e' && matches!(character, '-' | '+');
        if !is_word(character) && !is_exponent_sign {
            break;
        }
        length += character.len_utf8();
        previous = character;
    }
    length.max(first.len_utf8())
}
