//! Drawings, names and listings of differentiation.

use jit::ad;
use jit::prelude::*;

use crate::{alone, on_each_device};

/// The nodes and arrows of a drawing.
type Parsed = (Vec<(usize, String)>, Vec<(usize, usize)>);

/// The nodes of a drawing, each with its number and its attributes, and its arrows.
fn parsed(text: &str) -> Parsed {
    assert_eq!(text.matches('{').count(), text.matches('}').count(), "{text}");
    assert!(text.starts_with("digraph gradients {\n") && text.ends_with("}\n"), "{text}");
    let number = |name: &str| name.trim().strip_prefix('n').and_then(|number| number.parse::<usize>().ok());
    let (mut nodes, mut arrows) = (Vec::new(), Vec::new());
    for line in text.lines().filter_map(|line| line.trim().strip_suffix(';')) {
        if let Some((from, to)) = line.split_once(" -> ") {
            arrows.push((number(from).unwrap(), number(to).unwrap()));
        } else if let Some((name, attributes)) = line.split_once(" [")
            && let Some(number) = number(name)
        {
            nodes.push((number, attributes.strip_suffix(']').unwrap().to_owned()));
        }
    }
    for (from, to) in &arrows {
        assert!([from, to].iter().all(|end| nodes.iter().any(|(number, _)| number == *end)), "{text}");
    }
    (nodes, arrows)
}

/// The node whose attributes contain all of some texts.
#[track_caller]
fn node(nodes: &[(usize, String)], texts: &[&str]) -> usize {
    let fits = |(_, attributes): &&(usize, String)| texts.iter().all(|text| attributes.contains(text));
    let found: Vec<_> = nodes.iter().filter(fits).collect();
    assert_eq!(found.len(), 1, "{texts:?} in {nodes:#?}");
    found[0].0
}

#[test]
fn a_drawing_shows_what_gradients_flow_through() {
    on_each_device(|| {
        let mut x = Float::from([1.0, 2.0, 3.0]).with_label("x");
        x.enable_grad();
        let mut y = Float::from(2.0);
        y.enable_grad();
        y.set_label("y");
        let loss = ad::scope("loss", || {
            let product = &x * &y;
            product.set_label("product");
            // A gather from an expression would evaluate it at the index.
            jit::eval(&product).unwrap();
            let read = ad::scope("read", || product.gather(&UInt::from([0, 0])));
            (read + &x.slice(..2)).sum()
        });
        let text = ad::graphviz(&loss);
        let (nodes, arrows) = parsed(&text);
        let of_x = node(&nodes, &["“x” variable", "f32 × 3,", "palegreen", "uses: 2"]);
        let of_y = node(&nodes, &["“y” variable", "f32 × 1 [s]", "palegreen", "uses: 1"]);
        let of_product = node(&nodes, &["“product” Binary(Mul)", "f32 × 3", "salmon", "uses: 1", "seeing.rs"]);
        let root = node(&nodes, &["Reduce(Add)", "cornflowerblue", "doubleoctagon", "uses: 0"]);
        assert_eq!(nodes.iter().filter(|(_, label)| label.contains("Gather") && label.contains("octagon")).count(), 2);
        assert!(arrows.contains(&(of_product, of_x)) && arrows.contains(&(of_product, of_y)), "{text}");
        assert!(arrows.iter().all(|(from, to)| *to != root && *from != of_x));
        // The inner frame is in the outer one, with the gather in it.
        let frame = text.split("subgraph \"cluster/loss\" {").nth(1).unwrap();
        let inner = frame.split("subgraph \"cluster/loss/read\" {").nth(1).unwrap();
        assert!(inner.trim_start().starts_with("label=\"read\""), "{text}");
        assert!(inner.split('}').next().unwrap().contains("Gather") && !text.contains("cluster/read"), "{text}");
        // Values outside of scopes are in no frame.
        let before = text.split("subgraph").next().unwrap();
        assert!(before.contains("“x”") && before.contains("“y”") && !before.contains("product"), "{text}");
    });
}

#[test]
fn a_drawing_shows_operations_of_their_own_and_what_has_no_derivative() {
    on_each_device(|| {
        let mut x = Float::from([1.0, 2.0]);
        x.enable_grad();
        let (nodes, arrows) = parsed(&ad::graphviz(&x.prefix_sum()));
        let call = node(&nodes, &["prefix\\n", "doubleoctagon"]);
        let result = node(&nodes, &["result of prefix", "cornflowerblue"]);
        assert_eq!(arrows, [(result, call), (call, node(&nodes, &["variable"]))]);
        let mut y = x.clone();
        let old = y.scatter_exchange(Float::from(1.0), &UInt::from([0]));
        let (nodes, arrows) = parsed(&ad::graphviz(&old));
        node(&nodes, &["Scatter(Atomic(Exchange))", "red"]);
        assert!(arrows.is_empty());
        // Nothing flows: an empty drawing.
        assert_eq!(parsed(&ad::graphviz(&(x.detach(), UInt::from(1)))), (Vec::new(), Vec::new()));
        // Released.
        let z = &x * 2.0;
        z.backward().unwrap();
        assert_eq!(parsed(&ad::graphviz(&z)).0.len(), 0);
    });
}

// rows: A005
#[test]
fn variables_and_gradients_are_listed() {
    let _turn = alone();
    on_each_device(|| {
        let mut pair = (Float::from([1.0, 2.0]), Float::from(3.0));
        ad::set_label(&pair, "listed");
        let labels: Vec<_> = jit::leaves(&pair).into_iter().map(|(_, leaf)| leaf.label.unwrap()).collect();
        assert_eq!(labels, ["listed.0", "listed.1"]);
        let list = vec![Float::from(1.0), Float::from(2.0)];
        ad::set_label(&list, "list");
        assert_eq!(jit::leaves(&list)[1].1.label.as_deref(), Some("list[1]"));
        pair.0.enable_grad();
        pair.1.enable_grad();
        (&pair.0 * &pair.1.exp()).sum().backward().unwrap();
        let row = |name: &str| {
            let table = ad::whos();
            table.lines().rfind(|line| line.contains(&format!("“{name}”"))).unwrap_or_default().to_owned()
        };
        assert!(row("listed.0").contains("unevaluated"), "{}", row("listed.0"));
        jit::eval(&pair.0.grad()).unwrap();
        let listed = row("listed.0");
        assert!(listed.contains(" evaluated") && listed.contains("f32") && listed.contains("seeing.rs"), "{listed}");
        let table = jit::whos();
        assert!(table.lines().any(|line| line.contains("“listed.0.grad”")), "{table}");
        let variable = |line: &str| line.contains("“listed.0”") && line.ends_with("(variable)");
        assert!(table.lines().any(variable), "{table}");
        drop(pair);
        assert!(!ad::whos().contains("“listed.0”"));
    });
}

/// What values of this file keep, from the line of the marker.
fn kept(line: u32) -> (usize, usize) {
    let lines = ad::retained();
    let found = lines.iter().filter(|kept| kept.site.file().ends_with("seeing.rs") && kept.site.line() == line);
    found.fold((0, 0), |(values, bytes), line| (values + line.values, bytes + line.bytes))
}

#[test]
fn results_that_are_kept_are_found_with_their_memory() {
    let _turn = alone();
    on_each_device(|| {
        let mut x = Float::linspace(0.0, 1.0, 1000).make_opaque();
        x.enable_grad();
        let mut total = Float::from(0.0);
        let line = line!() + 2;
        for round in 0..5 {
            total += (x.sin() * round as f32).sum();
            jit::eval(&total).unwrap();
        }
        // The variable is in memory, and so are the totals before; the first of them is a constant.
        let (values, bytes) = kept(line);
        assert_eq!(values, 10, "{:?}", ad::retained());
        assert!(bytes >= 4000, "{bytes}");
        assert!(ad::whos().lines().any(|row| row.contains("kept") && row.ends_with(&format!("seeing.rs:{line}"))));
        total.backward().unwrap();
        assert_eq!(kept(line), (0, 0));
        let y = x.prefix_sum();
        jit::eval(&y).unwrap();
        assert_eq!(kept(line!() - 2), (1, 4000));
        drop(y);
        assert_eq!(kept(line!() - 4), (0, 0));
    });
}
