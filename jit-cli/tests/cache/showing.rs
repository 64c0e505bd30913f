//! `show`, and hashes that lead to no kernel.

use std::process::{Command, Stdio};

use super::shared::{self, command, failure, has_llvm, json, text};
use super::{entries, filled, hash_of};

#[test]
fn show_has_header_key_ir_and_code() {
    if !has_llvm() {
        return;
    }
    let cache = filled("show", "100");
    let hash = hash_of(&entries(&cache)[0]);
    let shown = text(&cache, &["cache", "show", &hash[..8]], &[], 0);
    let digest = jit_runtime::backend::CODE_DIGEST;
    let wanted =
        [&hash, "label             short", "operations        30", &format!("  code {digest}\n"), "  effort quick\n"];
    wanted.iter().for_each(|wanted| assert!(shown.contains(*wanted), "{wanted}: {shown}"));
    assert!(shown.contains("kernel(") && shown.contains("jit_kernel_") && shown.contains("ret"), "{shown}");
    // The hash of messages leads to it, too.
    let as_json = json(&cache, &["cache", "show", &hash], &[], 0);
    let message_hash = as_json["message_hash"].as_str().unwrap();
    assert_eq!(message_hash.len(), 16);
    assert_eq!(json(&cache, &["cache", "show", message_hash], &[], 0)["hash"], hash.as_str());
    let mut program = Command::new(std::env::current_exe().unwrap());
    shared::clean(&mut program);
    program.args(["child", "--exact", "--ignored", "--nocapture"]).env("JIT_CACHE_DIR", &cache);
    let log = program.env("OPS", "100").env("JIT_LOG", "info").output().unwrap();
    let log = String::from_utf8_lossy(&log.stderr).into_owned();
    assert!(log.contains(&format!("read `short` ({message_hash}) from disk")), "{log}");
}

#[test]
fn show_says_what_is_missing_without_llvm() {
    if !has_llvm() {
        return;
    }
    let cache = filled("show-without", "100");
    let hash = hash_of(&entries(&cache)[0]);
    let shown = text(&cache, &["cache", "show", &hash], &[("JIT_LLVM_PATH", "/nonexistent")], 0);
    assert!(shown.contains("kernel("), "the IR needs no LLVM: {shown}");
    assert!(shown.contains("the code cannot be shown: no LLVM 22 library was found"), "{shown}");
    assert!(!shown.contains("jit_kernel_"), "{shown}");
}

#[test]
fn a_hash_that_names_nothing_or_too_much_is_an_error() {
    if !has_llvm() {
        return;
    }
    let cache = filled("hashes", "100,101,102,103,104,105,106,107,108,109,110,111,112,113,114,115,116");
    let text = failure(&cache, &["cache", "show", "0123456789abcdef0123"], &[], 1);
    assert!(text.starts_with("error: no entry has a hash that begins with `0123456789abcdef0123` in "), "{text}");
    assert!(text.contains("help: `jit cache ls` lists all entries"), "{text}");
    let text = failure(&cache, &["cache", "show", "quick"], &[], 2);
    assert!(text.contains("`quick` is no hash"), "{text}");
    // Two of seventeen hashes begin with the same digit.
    let mut digits: Vec<String> = entries(&cache).iter().map(|path| hash_of(path)[..1].to_owned()).collect();
    digits.sort();
    let twice = digits.windows(2).find(|pair| pair[0] == pair[1]).unwrap()[0].clone();
    let text = failure(&cache, &["cache", "why", &twice], &[], 1);
    assert!(text.contains(&format!("entries have a hash that begins with `{twice}`")), "{text}");
    assert!(text.contains("help: give more digits: "), "{text}");
    let text = failure(&cache, &["cache", "clear", "--older-than", "soon"], &[], 2);
    assert!(text.contains("`soon` is no time"), "{text}");
}

#[test]
fn it_ends_quietly_when_nobody_reads() {
    if !has_llvm() {
        return;
    }
    let cache = filled("pipe", "900");
    let hash = hash_of(&entries(&cache)[0]);
    let mut command = command(&cache, &["cache", "show", &hash]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}
