//! Format strings, in the syntax of Rust's macros.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::LitStr;

/// A piece of a format string.
pub(crate) enum Piece {
    Text(String),
    Value(Argument, Spec),
}

/// The argument of a placeholder.
#[derive(Clone, PartialEq)]
pub(crate) enum Argument {
    /// The next argument, or one by its number.
    Position(usize),
    /// An argument by its name, in the list of arguments or else a variable.
    Name(String),
}

/// The part after the colon of a placeholder.
#[derive(Default)]
pub(crate) struct Spec {
    fill: Option<char>,
    align: Option<char>,
    is_signed: bool,
    is_alternate: bool,
    is_zero_padded: bool,
    width: usize,
    precision: Option<usize>,
    kind: String,
}

/// Parses a format string, or returns an error message.
pub(crate) fn parse(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut next = 0;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '{' | '}' if rest.peek() == Some(&character) => {
                rest.next();
                plain.push(character);
            }
            '{' => {
                let inside: String = rest.by_ref().take_while(|&character| character != '}').collect();
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(placeholder(&inside, &mut next)?);
            }
            '}' => return Err("`}` without `{` in the format string: write `}}` for the character".into()),
            other => plain.push(other),
        }
    }
    if text.matches('{').count() > text.matches('}').count() {
        return Err("`{` without `}` in the format string: write `{{` for the character".into());
    }
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(pieces)
}

fn placeholder(inside: &str, next: &mut usize) -> Result<Piece, String> {
    let (argument, spec) = inside.split_once(':').unwrap_or((inside, ""));
    let argument = match argument.trim() {
        "" => {
            *next += 1;
            Argument::Position(*next - 1)
        }
        number if number.starts_with(|first: char| first.is_ascii_digit()) => {
            Argument::Position(number.parse().map_err(|_| format!("`{number}` is not the number of an argument"))?)
        }
        name if syn::parse_str::<Ident>(name).is_ok() => Argument::Name(name.to_owned()),
        other => {
            return Err(format!(
                "`{{{other}}}` in the format string: expected a name or a number; compute the value before, or pass it \
                as an argument"
            ));
        }
    };
    Ok(Piece::Value(argument, Spec::parse(spec.trim_end())?))
}

impl Spec {
    fn parse(text: &str) -> Result<Spec, String> {
        if text.contains('$') || text.contains('*') && text.contains(".*") {
            return Err(format!(
                "`{{:{text}}}`: a width or precision from an argument is not supported; write the number"
            ));
        }
        let mut spec = Spec::default();
        let mut rest: Vec<char> = text.chars().collect();
        let is_align = |character: Option<&char>| character.is_some_and(|character| "<^>".contains(*character));
        if is_align(rest.get(1)) {
            spec.fill = Some(rest.remove(0));
        }
        if is_align(rest.first()) {
            spec.align = Some(rest.remove(0));
        }
        let mut rest: &str = &rest.into_iter().collect::<String>();
        let mut take = |prefix: char| {
            let found = rest.strip_prefix(prefix);
            rest = found.unwrap_or(rest);
            found.is_some()
        };
        (spec.is_signed, spec.is_alternate, spec.is_zero_padded) = (take('+'), take('#'), take('0'));
        let (width, mut rest) = digits(rest);
        spec.width = width.unwrap_or(0);
        if let Some(behind) = rest.strip_prefix('.') {
            (spec.precision, rest) = digits(behind);
            if spec.precision.is_none() {
                return Err(format!("`{{:{text}}}`: expected a number after the point"));
            }
        }
        if !["", "?", "x", "X", "b", "o", "e", "E"].contains(&rest) {
            return Err(format!(
                "`{{:{text}}}`: `{rest}` is not a format of a value; expected `?`, `x`, `X`, `b`, `o`, `e` or `E`"
            ));
        }
        rest.clone_into(&mut spec.kind);
        Ok(spec)
    }

    /// Generates the specification as an expression.
    fn tokens(&self, private: &TokenStream, span: Span) -> TokenStream {
        let Spec { is_alternate, is_zero_padded, width, .. } = self;
        let fill = self.fill.unwrap_or(' ');
        let align = match self.align {
            None => quote_spanned!(span=> ::core::option::Option::None),
            Some(align) => {
                let name = match align {
                    '<' => "Left",
                    '^' => "Centre",
                    _ => "Right",
                };
                let name = Ident::new(name, span);
                quote_spanned!(span=> ::core::option::Option::Some(#private::Align::#name))
            }
        };
        let sign = Ident::new(if self.is_signed { "Plus" } else { "Minus" }, span);
        let precision = match self.precision {
            None => quote_spanned!(span=> ::core::option::Option::None),
            Some(precision) => quote_spanned!(span=> ::core::option::Option::Some(#precision)),
        };
        let radix = match &self.kind[..] {
            "?" => "Debug",
            "x" => "LowerHex",
            "X" => "UpperHex",
            "b" => "Binary",
            "o" => "Octal",
            "e" => "LowerExp",
            "E" => "UpperExp",
            _ => "Display",
        };
        let radix = Ident::new(radix, span);
        quote_spanned! {span=> #private::Spec {
            fill: #fill,
            align: #align,
            sign: #private::Sign::#sign,
            is_alternate: #is_alternate,
            is_zero_padded: #is_zero_padded,
            width: #width,
            precision: #precision,
            radix: #private::Radix::#radix,
        }}
    }
}

/// Splits a text into its leading number and the rest.
fn digits(text: &str) -> (Option<usize>, &str) {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].parse().ok(), &text[end..])
}

/// The arguments of a format string, resolved.
pub(crate) struct Resolved {
    /// The pieces, as an expression.
    pub(crate) pieces: TokenStream,
    /// Variables that the string names and that are not arguments; they follow the arguments.
    pub(crate) captured: Vec<Ident>,
    /// The arguments that are used.
    pub(crate) used: Vec<bool>,
}

/// Resolves the placeholders of a format string: `names` are those of the arguments, if they have one.
pub(crate) fn resolve(
    format: &LitStr,
    pieces: &[Piece],
    names: &[Option<String>],
    private: &TokenStream,
) -> Result<Resolved, String> {
    let span = format.span();
    let mut captured: Vec<Ident> = Vec::new();
    let mut used = vec![false; names.len()];
    let mut tokens = Vec::new();
    for piece in pieces {
        let (argument, spec) = match piece {
            Piece::Text(text) => {
                tokens.push(quote_spanned!(span=> #private::Piece::Text(#text)));
                continue;
            }
            Piece::Value(argument, spec) => (argument, spec),
        };
        let number = match argument {
            Argument::Position(number) if *number < names.len() => *number,
            Argument::Position(number) => {
                return Err(format!("the format string refers to argument {number}, but there are {}", names.len()));
            }
            Argument::Name(name) => match names.iter().position(|other| other.as_ref() == Some(name)) {
                Some(number) => number,
                None => names.len() + position_of(&mut captured, name, span),
            },
        };
        used.iter_mut().skip(number).take(1).for_each(|used| *used = true);
        let spec = spec.tokens(private, span);
        tokens.push(quote_spanned!(span=> #private::Piece::Value(#number, #spec)));
    }
    Ok(Resolved { pieces: quote_spanned!(span=> &[#(#tokens),*]), captured, used })
}

/// Returns the position of a name in a list, adding it if necessary.
fn position_of(names: &mut Vec<Ident>, name: &str, span: Span) -> usize {
    names.iter().position(|other| other == name).unwrap_or_else(|| {
        names.push(Ident::new(name, span));
        names.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse(text).err().unwrap_or_default()
    }

    #[test]
    fn placeholders_are_found() {
        let pieces = parse("a {} {{{x:>+#08.3?}}} {1}").unwrap();
        assert_eq!(pieces.len(), 6);
        assert!(matches!(&pieces[1], Piece::Value(Argument::Position(0), _)));
        let Piece::Value(Argument::Name(name), spec) = &pieces[3] else { panic!("no value") };
        assert_eq!((&name[..], spec.align, spec.width, spec.precision), ("x", Some('>'), 8, Some(3)));
        assert!(spec.is_signed && spec.is_alternate && spec.is_zero_padded && spec.kind == "?");
        assert!(matches!(&pieces[2], Piece::Text(text) if text == " {"));
        assert!(matches!(&pieces[5], Piece::Value(Argument::Position(1), _)));
    }

    #[test]
    fn errors_in_a_format_string_are_reported() {
        assert!(refusal("{:q}").contains("`q` is not a format of a value"));
        assert!(refusal("{:w$}").contains("write the number"));
        assert!(refusal("a } b").contains("`}}`"));
        assert!(refusal("a { b").contains("`{{`"));
        assert!(refusal("{x.y}").contains("expected a name or a number"));
        assert!(refusal("{:.}").contains("after the point"));
    }
}
