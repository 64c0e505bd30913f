//! How a generated module names the types of functions that were written in another crate.
//!
//! The compiler knows a type by the module that defines it, which is often private. Types of this library and of the
//! standard library have public names, which are known here; for others the path of the definition is used unless the
//! build script states another one.

use std::any::type_name;
use std::collections::BTreeMap;

use crate::{Array, Error, ErrorKind, Instances, Local, Ptr, Size};

/// Words that are no identifiers.
const KEYWORDS: &str = " as async await break const continue crate dyn else enum extern false fn for gen if impl in \
    let loop match mod move mut pub ref return self Self static struct super trait true try type union unsafe use \
    where while abstract become box do final macro override priv typeof unsized virtual yield _ ";

/// Returns whether a name can be that of a function in generated code.
pub(super) fn is_identifier(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphabetic() || letter == '_';
    let is_right = name.starts_with(is_letter) && name.chars().all(|letter| is_letter(letter) || letter.is_numeric());
    // Names of this library in the module.
    let is_ours = name == "jit" || name.to_lowercase().starts_with("__jit");
    is_right && !is_ours && !KEYWORDS.contains(&format!(" {name} "))
}

/// The paths of types, by those of their definitions.
pub(super) struct Paths(BTreeMap<String, String>);

impl Paths {
    /// The types of this library and of the standard library that arguments and results may have.
    pub(super) fn new() -> Paths {
        let mut paths = Paths(BTreeMap::new());
        paths.add::<Array<f32>>("jit::Array".to_owned());
        paths.add::<Local<f32>>("jit::Local".to_owned());
        paths.add::<Size>("jit::Size".to_owned());
        paths.add::<Ptr<u8>>("jit::Ptr".to_owned());
        paths.add::<Instances<u8>>("jit::Instances".to_owned());
        paths.add::<half::f16>("__jit::f16".to_owned());
        paths.add::<half::bf16>("__jit::bf16".to_owned());
        paths.add::<BTreeMap<u8, u8>>("::std::collections::BTreeMap".to_owned());
        paths.add::<std::collections::HashMap<u8, u8>>("::std::collections::HashMap".to_owned());
        paths.add::<std::ops::Range<u8>>("::std::ops::Range".to_owned());
        paths
    }

    /// Adds the path of a type. Its parameters do not matter.
    pub(super) fn add<T: ?Sized>(&mut self, path: String) {
        let name = type_name::<T>();
        self.0.insert(name.split('<').next().unwrap_or_default().to_owned(), path);
    }

    /// Returns a type in terms of these paths, for a program outside of the crates that define its parts; and what is
    /// to be said where it cannot be found there.
    pub(super) fn public(&self, ty: &str) -> Result<(String, String), Error> {
        if ty.contains('{') || ty.contains("dyn ") {
            let message = format!("`{ty}` has no name outside of the function that defines it");
            let hint = "give the function arguments and a result of types that have a path";
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_hint(hint));
        }
        let (mut text, mut note, mut rest) = (String::new(), String::new(), ty);
        let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
        while let Some(first) = rest.chars().next() {
            let end = match is_of_word(first) {
                true => rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len()),
                false => first.len_utf8(),
            };
            let (word, after) = rest.split_at(end);
            text += &if is_of_word(first) { self.path(word, &mut note)? } else { word.to_owned() };
            rest = after;
        }
        Ok((text, note))
    }

    fn path(&self, word: &str, note: &mut String) -> Result<String, Error> {
        if let Some(path) = self.0.get(word) {
            return Ok(path.clone());
        }
        let segments: Vec<&str> = word.split("::").collect();
        match segments[..] {
            [_] => Ok(word.to_owned()),
            ["core" | "alloc" | "std", ref rest @ ..] => Ok(format!("::std::{}", rest.join("::"))),
            // The modules of this library have their types at their root.
            ["jit", module, .., last] => Ok(format!("jit::{module}::{last}")),
            ["jit_core" | "jit_runtime", .., last] => {
                let message = format!("the type `{last}` of this library cannot be named by a bundle");
                let hint = "use arrays, tensors, numbers, and structs of them in the signature of the function";
                Err(Error::new(ErrorKind::InvalidArgument, message).with_hint(hint))
            }
            [krate, ..] => {
                // Short enough to be shown with the line.
                *note = format!("of the crate `{krate}`: depend on it; if the path is private, see `with_path`");
                Ok(format!("::{word}"))
            }
            [] => Ok(String::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public<T: ?Sized>() -> String {
        Paths::new().public(type_name::<T>()).unwrap().0
    }

    #[test]
    fn types_of_the_library_have_their_public_names() {
        assert_eq!(public::<Array<f32>>(), "jit::Array<f32>");
        assert_eq!(public::<[(crate::Half, crate::Mask); 2]>(), { "[(jit::Array<__jit::f16>, jit::Array<bool>); 2]" });
        // Parameters that have their default are not written.
        assert_eq!(public::<crate::linalg::Vec3<f32>>(), "jit::linalg::Vec3");
        assert_eq!(public::<crate::linalg::Vec3<f64>>(), "jit::linalg::Vec3<f64>");
        assert_eq!(public::<crate::linalg::Mat4<f64>>(), "jit::linalg::Matrix<f64, 4>");
        assert_eq!(public::<crate::tensor::Tensor<f64>>(), "jit::tensor::Tensor<f64>");
        assert_eq!(public::<crate::nn::Linear<f64>>(), "jit::nn::Linear<f64>");
        assert_eq!(public::<crate::random::Pcg32>(), "jit::random::Pcg32");
        assert_eq!(public::<crate::texture::Texture2<f64>>(), "jit::texture::Texture<f64, 2>");
    }

    #[test]
    fn types_of_the_standard_library_have_their_public_names() {
        type Map = std::collections::HashMap<String, Vec<Option<BTreeMap<u8, std::ops::Range<u32>>>>>;
        let map = "::std::collections::HashMap<::std::string::String, ::std::vec::Vec<::std::option::Option<\
            ::std::collections::BTreeMap<u8, ::std::ops::Range<u32>>>>>";
        assert_eq!(public::<Map>(), map);
        assert_eq!(public::<&str>(), "&str");
    }

    #[test]
    fn types_of_other_crates_have_the_stated_path_or_that_of_their_definition() {
        let mut paths = Paths::new();
        let (text, note) = paths.public("&mut scene::inner::Camera<f32>").unwrap();
        assert_eq!(text, "&mut ::scene::inner::Camera<f32>");
        assert!(note.contains("the crate `scene`"), "{note}");
        paths.add::<proptest::string::Error>("::scene::Failure".to_owned());
        assert_eq!(
            paths.public(type_name::<proptest::string::Error>()).unwrap(),
            ("::scene::Failure".into(), "".into())
        );
        for unnamed in ["a::f::{{closure}}", "alloc::boxed::Box<dyn a::Trait>", "jit_core::graph::Hidden"] {
            let refused = paths.public(unnamed).unwrap_err();
            assert!(refused.hint().is_some(), "{unnamed}");
        }
    }

    #[test]
    fn keywords_and_punctuation_are_no_identifiers() {
        assert!(["saxpy", "_x1", "größe"].into_iter().all(is_identifier));
        assert!(
            !["", "_", "1x", "a-b", "a b", "type", "Self", "__JIT_BUNDLE", "jit", "a.b", "a::b"]
                .into_iter()
                .any(is_identifier)
        );
    }
}
