//! JSON, as far as traces need it.

use std::fmt::Write;

/// Appends a text in quotes.
pub(super) fn text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\u{0}'..='\u{1f}' => _ = write!(out, "\\u{:04x}", character as u32),
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// An object whose fields are appended one by one.
pub(super) struct Object<'a> {
    out: &'a mut String,
    is_first: bool,
}

impl<'a> Object<'a> {
    pub(super) fn begin(out: &'a mut String) -> Object<'a> {
        out.push('{');
        Object { out, is_first: true }
    }

    fn key(&mut self, key: &str) {
        if !self.is_first {
            self.out.push(',');
        }
        self.is_first = false;
        text(self.out, key);
        self.out.push(':');
    }

    pub(super) fn text(mut self, key: &str, value: &str) -> Object<'a> {
        self.key(key);
        text(self.out, value);
        self
    }

    pub(super) fn number(mut self, key: &str, value: u64) -> Object<'a> {
        self.key(key);
        let _ = write!(self.out, "{value}");
        self
    }

    /// A time in microseconds.
    pub(super) fn microseconds(mut self, key: &str, ns: u64) -> Object<'a> {
        self.key(key);
        let _ = write!(self.out, "{}.{:03}", ns / 1000, ns % 1000);
        self
    }

    pub(super) fn object(mut self, key: &str, fill: impl FnOnce(Object<'_>) -> Object<'_>) -> Object<'a> {
        self.key(key);
        fill(Object::begin(self.out)).end();
        self
    }

    pub(super) fn end(self) {
        self.out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let mut out = String::new();
        text(&mut out, "a\"b\\c\nd\te\u{1}ü");
        assert_eq!(out, r#""a\"b\\c\nd\u0009e\u0001ü""#);
    }

    #[test]
    fn objects_nest() {
        let mut out = String::new();
        let object = Object::begin(&mut out).text("a", "b").microseconds("t", 1_000_050);
        object.object("o", |inner| inner.number("n", 7)).end();
        assert_eq!(out, r#"{"a":"b","t":1000.050,"o":{"n":7}}"#);
    }
}
